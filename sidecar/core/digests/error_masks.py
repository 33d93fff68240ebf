"""What two tellings of one error may differ in: where it stood, when, and what it was about.

Kept: the error's type, the words of the message, the file's base name, the port, the exit code and
whatever else is a code. Masked: line and column numbers, times, durations, ids, addresses, hosts,
directories, temp names and numbers of four digits and more. Names in quotes, directories and temp
names are gone already when the masks here are applied.
"""

from typing import Final

from sidecar.core.digests.kept_numbers import CODE, CODE_BACKWARDS, PORT, PORT_BACKWARDS
from sidecar.core.digests.masks import SOME_DIGIT, Mask, Sketch, not_in_word, words
from sidecar.core.digests.process_masks import LOG_MASKS, NUMBERED
from sidecar.core.digests.result_masks import (
    AFTER_HOUR,
    DIGIT,
    FRACTION,
    MIXED,
    MONTH,
    SECONDS,
    ZONE,
)

_EXTENSION = (
    rb"(?:pyx?|pyi|ipynb|[cm]?jsx?|[cm]?tsx?|vue|svelte|java|kts?|scala|groovy|gradle|go|rs|cc?|cpp"
    rb"|cxx|hh?|hpp|hxx|mm?|swift|rb|erb|php|p[lm]|sh|bash|zsh|ps1|lua|[rR]|jl|exs?|erl|hs|mli?"
    rb"|clj|cs|fs|vb|sql|html?|s?css|less|xml|json|ya?ml|toml|ini|cfg|conf|md|rst|txt|csv|tf|proto"
    rb"|cmake|mk|log|[sS]|asm|dart?|zig|nim|sol|f90|tex|properties|csproj|mod|sum|env|graphql|gql"
    rb"|prisma|mdx|astro|hbs|ejs|jsonl|jsonc|tsv|nix|bats|cljs|edn|cuh?|bzl|bazel|gemspec|rake|sass"
    rb"|jinja2?|j2|adoc|patch|diff|hrl|elm|bat|cmd|glsl|hlsl|wgsl|lean|ino|pyw|vhdl?|pas|rc|idl)"
)
"""Endings of files with lines, so that `main.go:14` is a place and `example.com:443` a port."""
_MONTH_STAMP = (
    rb" +[0-9]{1,2},?(?: [0-9]{4},?)? +[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}" + FRACTION + rb")?"
    rb"(?: ?[AaPp][Mm])?(?: [A-Z]{3,4})?(?: [0-9]{4})?\b"
)
_AFTER_YEAR = (
    rb"(?:[-/][0-9]{2}[-/][0-9]{2}(?:[T _][0-9]{2}[:_-][0-9]{2}(?:[:_-][0-9]{2}"
    rb"(?:[.,_][0-9]{1,9})?)?" + ZONE + rb")?|[0-9]{4}T[0-9]{6}" + ZONE + rb")"
)
_AFTER_DAY = rb"[ /-]" + MONTH + rb"[ /-][0-9]{4}[: ][0-9]{2}:[0-9]{2}:[0-9]{2}" + FRACTION + ZONE
_DATE_REST = (
    rb"(?:/[0-9]{1,2}/[0-9]{4}|\.[0-9]{1,2}\.(?:19|20)[0-9]{2}|-[0-9]{1,2}-(?:19|20)[0-9]{2}),?"
    rb" [0-9]{1,2}"
)
_DOTTED_REST = rb"\.[0-9]{2}\.[0-9]{2} [0-9]{1,2}"
_SPAN = rb"(?:" + SECONDS + rb"|(?:milli|micro|nano)seconds?|msecs?|hrs?|hours?|days?|weeks?)\b"
_CLOCK_SPAN = rb":[0-9]{2} (?:min|h)\b"
"""After the minutes or hours: how Maven tells that a build took 01:12 min."""
_SIZE = rb"(?:,[0-9]{3}){0,6}(?:\.[0-9]+)? ?(?:bytes?|[KMGTPk]i?B)\b"
_PLACES = tuple(
    b"lines? Lines? LINE columns? Columns? col Col chars? Chars? characters? Characters? position "
    b"Position pos Pos offset Offset row Row Ln FNR lineno colno lineNumber LineNumber columnNumber"
    b" ColumnNumber BytePositionInLine Zeile ZEILE ligne Ligne LIGNE".split()
)
_PLACE_NUMBER = rb"(?: number| no\.?)?[ :=#(]{1,3})([0-9]+(?:[-,.:][0-9]+)*)"
_IN_A_FILE = (
    _EXTENSION + rb")((?::[0-9]+){1,2}(?:-[0-9]+(?::[0-9]+)?)?\b"
    rb"|\([0-9]+(?:,[0-9]+)*\)|: ?[\[(][0-9]+, ?[0-9]+[\])](?:-[\[(][0-9]+, ?[0-9]+[\])])?"
    rb"| [0-9]+:[0-9]+(?:-[0-9]+(?::[0-9]+)?)?\b)"
)

ERROR_MASKS: Final = (
    Mask(
        name="month stamp",
        pattern=rb"\b" + MONTH + _MONTH_STAMP,
        put=b"<t>",
        within=(Sketch.NUMBERS, b"00"),
        sketch=Sketch.NUMBERS,
        hints=(b"0:00",),
        quick=not_in_word(MONTH, 3) + _MONTH_STAMP,
    ),
    Mask(
        name="stamp",
        pattern=rb"\b(?:[0-9]{4}"
        + _AFTER_YEAR
        + rb"|[0-9]{1,2}"
        + _AFTER_DAY
        + rb"|(?:[0-9]{4}"
        + _DOTTED_REST
        + rb"|[0-9]{1,2}"
        + _DATE_REST
        + rb"|[0-9]{1,2})"
        + AFTER_HOUR
        + rb")\b",
        put=b"<t>",
        within=(Sketch.NUMBERS, b"00"),
        sketch=Sketch.NUMBERS,
        hints=(b"0:00", b"0000,00,00", b"00000000000000"),
        quick=DIGIT
        + rb"(?:[0-9]{3}"
        + _AFTER_YEAR
        + rb"|[0-9]?"
        + _AFTER_DAY
        + rb"|(?:[0-9]{3}"
        + _DOTTED_REST
        + rb"|[0-9]?"
        + _DATE_REST
        + rb"|[0-9]?)"
        + AFTER_HOUR
        + rb")\b",
    ),
    Mask(
        name="time in Python",
        pattern=rb"\bdatetime\.[a-z]+\([0-9a-z_=, -]*",
        put=b"<t>",
        within=SOME_DIGIT,
        hints=(b"datetime.",),
    ),
    *LOG_MASKS,
    Mask(
        name="duration",
        pattern=rb"\b(?:(?:[0-9]+[dhm] ?){0,3}[0-9]+(?:\.[0-9]+)? ?"
        + _SPAN
        + rb"|[0-9]{1,2}"
        + _CLOCK_SPAN
        + rb"|(?:[0-9]+[dh]){0,2}[0-9]+[hm]\b)",
        put=b"<d>",
        within=SOME_DIGIT,
        quick=DIGIT
        + rb"[0-9]*+(?:(?:[dhm] ?[0-9]++){0,3}+(?:\.[0-9]++)?+ ?+"
        + _SPAN
        + rb"|(?<![0-9]{3})"
        + _CLOCK_SPAN
        + rb"|(?:[dh][0-9]++){0,2}+[hm]\b)",
    ),
    Mask(
        name="wait",
        pattern=rb"([Rr]etry[-_ ]?[Aa]fter[\"']?(?: ?[:=] ?| )[\"']?)[0-9]+(?:\.[0-9]+)?\b",
        put=rb"\1<d>",
        within=SOME_DIGIT,
        hints=(b"etry",),
    ),
    Mask(
        name="attempt",
        pattern=rb"\b([Aa]ttempt[ :=#(]{1,2}|[Rr]etry[ =#(]{1,2}"
        rb"|Retry\(total=)[0-9]+(?:(?:/| of | out of )[0-9]+)?\b",
        put=rb"\1<n>",
        within=SOME_DIGIT,
        hints=(b"ttempt", b"etry"),
    ),
    Mask(
        name="attempts",
        pattern=rb"\b[0-9]+( (?:more )?(?:attempts?|retries|tries)\b)",
        put=rb"<n>\1",
        within=SOME_DIGIT,
        hints=(b"ttempt", b"tries"),
    ),
    Mask(
        name="events",
        pattern=rb"\(x[0-9]+ over[ ]",
        put=b"(",
        within=SOME_DIGIT,
        hints=(b"(x",),
    ),
    Mask(
        name="version that npm could not fit in",
        pattern=rb"( from @?[a-z0-9][a-z0-9._/-]*@)[0-9][0-9A-Za-z.+-]*",
        put=rb"\1<n>",
        within=SOME_DIGIT,
        hints=(b" from ",),
    ),
    Mask(
        name="size",
        pattern=rb"\b[0-9]+" + _SIZE,
        put=b"<n>",
        within=SOME_DIGIT,
        hints=(b"B", b"byte"),
        quick=DIGIT + rb"[0-9]*+" + _SIZE,
    ),
    Mask(
        name="pod",
        pattern=rb"-(?:[0-9]{8}|[2-9bcdfghj-np-tv-xz]{6,10})-[2-9bcdfghj-np-tv-xz]{5}(?:\b|_)",
        put=b"-<n>",
        hints=(b"-",),
    ),
    Mask(
        name="address",
        pattern=rb"\b0x[0-9A-Fa-f]+\b",
        put=b"<n>",
        spared=rb"0x(?:80|[Cc]0)[0-9A-Fa-f]{6}",
        not_after=CODE,
        not_after_backwards=CODE_BACKWARDS,
        within=SOME_DIGIT,
        quick=not_in_word(rb"0x", 2)
        + rb"(?!(?:80|[Cc]0)[0-9A-Fa-f]{6}(?![0-9A-Fa-f]))[0-9A-Fa-f]++\b",
    ),
    Mask(
        name="identity hash",
        pattern=rb"@[0-9a-f]{5,16}\b",
        put=b"@<n>",
        within=(Sketch.TEXT, b"@"),
    ),
    Mask(
        name="uuid",
        pattern=rb"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b",
        put=b"<n>",
        within=(Sketch.HEX, b"hhhhhhh"),
        sketch=Sketch.HEX,
        hints=(b"hhhh-hhhhhhhhhhhh",),
    ),
    Mask(
        name="ULID",
        pattern=rb"\b01[0-9A-HJKMNP-TV-Z]{24}\b",
        put=b"<n>",
        within=SOME_DIGIT,
        hints=(b"01",),
    ),
    Mask(
        name="hex id",
        pattern=rb"\b[0-9A-Fa-f]{7,}\b",
        put=b"<n>",
        spared=rb"[0-9]+|[A-Fa-f]+",
        not_after=CODE,
        not_after_backwards=CODE_BACKWARDS,
        within=(Sketch.HEX, b"hhhhhhh"),
        quick=not_in_word(rb"[0-9A-Fa-f]", 1) + MIXED + rb"[0-9A-Fa-f]{6,}+\b",
    ),
    Mask(
        name="hex name",
        pattern=rb"_[0-9a-f]{12,}\b",
        put=b"_<n>",
        spared=rb"_[0-9]+|_[a-f]+",
        within=(Sketch.HEX, b"hhhhhhh"),
        quick=rb"_(?![0-9]+\b|[a-f]+\b)[0-9a-f]{12,}+\b",
    ),
    Mask(
        name="hash of a Rust symbol",
        pattern=rb"::h[0-9a-f]{16}\b",
        put=b"",
        within=(Sketch.HEX, b"hhhhhhh"),
        hints=(b"::h",),
    ),
    Mask(
        name="IPv4 host",
        pattern=rb"(?:::ffff:|\b)[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b",
        put=b"<ip>",
        within=(Sketch.NUMBERS, b"0.0"),
    ),
    Mask(
        name="epoch",
        pattern=rb"\b1[5-9][0-9]{8}(?:[0-9]{3}|\.[0-9]+)?\b",
        put=b"<n>",
        within=(Sketch.NUMBERS, b"0000000000"),
        quick=not_in_word(rb"1[5-9]", 2) + rb"[0-9]{8}(?:[0-9]{3}|\.[0-9]+)?\b",
    ),
    Mask(
        name="decimal",
        pattern=rb"\b[0-9]+(?:\.[0-9]+)+(?:[KMGT]i?B)?\b",
        put=b"<n>",
        spared=rb"[0-9]+(?:\.[0-9]+){2,}",
        not_after=rb"[=<>~^@:/-]|[0-9A-Za-z]\.|(?:[Vv]ersion|[Pp]ython|[Nn]ode)[ ]",
        not_after_backwards=rb"[=<>~^@:/-]|\.[0-9A-Za-z]|[ ](?:noisre[Vv]|nohty[Pp]|edo[Nn])",
        within=(Sketch.NUMBERS, b"0.0"),
    ),
    Mask(
        name="own port",
        pattern=rb":[0-9]{2,5}( ?->)",
        put=rb":<n>\1",
        within=(Sketch.TEXT, b"->"),
    ),
    Mask(
        name="IPv6 host in brackets",
        pattern=rb"\[[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(?:%[0-9A-Za-z]+)?\]",
        put=b"<ip>",
        within=(Sketch.TEXT, b"["),
    ),
    Mask(
        name="IPv6 host",
        pattern=rb"(^|[^0-9A-Za-z_:.])(?:::1\b|(?:[0-9][0-9A-Fa-f]{0,3}|f[ed][0-9a-f]{2})"
        rb"(?::[0-9A-Fa-f]{1,4}){0,6}::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?)",
        put=rb"\1<ip>",
        within=(Sketch.TEXT, b"::"),
        quick=rb"[:0-9f](?<![0-9A-Za-z_:.].)(?:(?<=:):1\b|(?:(?<=[0-9])[0-9A-Fa-f]{0,3}"
        rb"|(?<=f)[ed][0-9a-f]{2})(?::[0-9A-Fa-f]{1,4}){0,6}"
        rb"::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?)()",
    ),
    Mask(
        name="any IPv6 host",
        pattern=rb"(^|[^0-9A-Za-z_:.])::(:[0-9])",
        put=rb"\1<ip>\2",
        within=(Sketch.TEXT, b":::"),
        quick=rb"()::(?<![0-9A-Za-z_:.]::)(:[0-9])",
    ),
    Mask(
        name="named place",
        pattern=rb"\b((?:" + b"|".join(_PLACES) + rb")" + _PLACE_NUMBER,
        put=rb"\1<l>",
        place=2,
        within=SOME_DIGIT,
        quick=rb"(" + words(*_PLACES) + _PLACE_NUMBER,
    ),
    Mask(
        name="place in a file",
        pattern=rb"(\." + _IN_A_FILE,
        put=rb"\1<l>",
        place=2,
        within=SOME_DIGIT,
        quick=rb"(\.(?=[A-Za-z])" + _IN_A_FILE,
    ),
    Mask(
        name="hunk",
        pattern=rb"@@ (-[0-9,]+ \+[0-9,]+) @@",
        put=b"<l>",
        place=1,
        within=SOME_DIGIT,
    ),
    Mask(
        name="place in a named file",
        pattern=rb"\b((?:[Mm]ake|Docker|Jenkins|Gem|Rake|Vagrant|Proc|[Jj]ust|Pip)file"
        rb"|sh|dash|bash|ksh|zsh|known_hosts):( ?[0-9]+)\b",
        put=rb"\1<l>",
        place=2,
        within=SOME_DIGIT,
        hints=(b"file:", b"sh:", b"known_hosts:"),
    ),
    Mask(
        name="place in a test",
        pattern=rb"\b([A-Z][0-9A-Za-z_$]*(?:Tests?|TestCase|IT|Spec)\.[0-9A-Za-z_]+)"
        rb":([0-9]+(?:->[0-9A-Za-z_.$]+:[0-9]+)*)\b",
        put=rb"\1<l>",
        place=2,
        within=(Sketch.NUMBERS, b":0"),
        hints=(b"Test", b"IT.", b"Spec."),
    ),
    Mask(
        name="line and column",
        pattern=rb":([0-9]+:[0-9]+)\b",
        put=b"<l>",
        place=1,
        within=(Sketch.NUMBERS, b":0"),
    ),
    Mask(
        name="place in an unnamed file",
        pattern=rb"<(stdin|string|anonymous|unknown|module|eval|console|input|template)>:([0-9]+)",
        put=rb"\1<l>",
        place=2,
        within=(Sketch.NUMBERS, b":0"),
    ),
    Mask(
        name="pair",
        pattern=rb"(?m)(\([0-9]+:[0-9]+\)|\[[0-9]+:[0-9]+\]|\bat [0-9]+:[0-9]+\b"
        rb"|^ *[0-9]+:[0-9]+ )",
        put=b"<l>",
        place=1,
        within=(Sketch.NUMBERS, b":0"),
        sketch=Sketch.NUMBERS,
        hints=(b"0:0",),
    ),
    Mask(
        name="line of a listing",
        pattern=rb"(?m)^((?:\xe2\x94\x82 ?)? {1,8})([0-9]+):[ ]",
        put=rb"\1<l>:",
        place=2,
        within=(Sketch.NUMBERS, b"0:,"),
    ),
    Mask(
        name="labelled number",
        pattern=rb"((?:\b|_)(?:id|user|key|count|size|len|length|bytes|time|ts|seq|order|item|row"
        rb"|num|number|amount|total|value|account):)[0-9]{4,}\b",
        put=rb"\1<n>",
        within=(Sketch.NUMBERS, b":0"),
        sketch=Sketch.NUMBERS,
        hints=(b":0000",),
    ),
    Mask(
        name="amount of money",
        pattern=rb"(\b(?:paid|price|balance|budget|cost|fee|refund|deposit|owed|charged)"
        rb"(?: (?:is|was|of|by|only))?[ :=]{1,3}|[$]|\xe2\x82\xac|\xc2\xa3)[0-9]+\b",
        put=rb"\1<n>",
        within=SOME_DIGIT,
        hints=(
            *(b"paid", b"price", b"balance", b"budget", b"cost", b"fee", b"refund", b"deposit"),
            *(b"owed", b"charged", b"$", b"\xe2\x82\xac", b"\xc2\xa3"),
        ),
    ),
    *NUMBERED,
    Mask(
        name="long number",
        pattern=rb"\b(?:[0-9]{4,5}|[0-9]{1,3}(?:,[0-9]{3})+)(?:[KMGT]?i?B)?\b",
        quick=DIGIT + rb"(?:[0-9]{3,4}|[0-9]{0,2}(?:,[0-9]{3})+)(?:[KMGT]?i?B)?\b",
        put=b"<n>",
        not_after=CODE + rb"|" + PORT,
        not_after_backwards=CODE_BACKWARDS + rb"|" + PORT_BACKWARDS,
        within=(Sketch.NUMBERS, b"000"),
    ),
    Mask(
        name="longer number",
        pattern=rb"\b[0-9]{6,}(?:[KMGT]?i?B)?\b",
        put=b"<n>",
        not_after=CODE,
        not_after_backwards=CODE_BACKWARDS,
        within=(Sketch.NUMBERS, b"000"),
        sketch=Sketch.NUMBERS,
        hints=(b"000000",),
    ),
)
