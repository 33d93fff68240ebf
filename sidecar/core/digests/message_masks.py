"""What is done to an error's message before its numbers are looked at.

MESSAGE_MASKS take out what is not the message and unwrap what is, then names in quotes are masked
(`sidecar.core.digests.fingerprint`), then PATH_MASKS leave of a path its base name.
"""

from typing import Final

from sidecar.core.digests.masks import Mask, Sketch

_KEYS = (
    rb"(messages?|msg|errors?|code|type|reason|details?|title|status|description|cause|exception"
    rb"|error_?[Cc]ode|error_?[Tt]ype|error_?[Mm]essage|error_description|__type|statusText"
    rb"|faultstring)"
)
"""Keys of a JSON error whose text is the message itself, not a name in it."""
_HOST = rb"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|localhost"
_HOST_OF_TUPLE = rb"(" + _HOST + rb"|(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}|)"
_PORT = rb"(?:[0-9]{2,4}|[12][0-9]{4}|3[01][0-9]{3})"
"""One that somebody has chosen: those above are handed out anew for each connection."""
_SEGMENT = rb"(?:<f>|[0-9A-Za-z_.@+~%$#\x80-\xff-]+)"
_CHOSEN_NAME = (
    rb"(?:[a-su-z_]|t[a-ln-z_])[a-z_]*"
    rb"\.(?:py|[jt]s|c|cpp|rs|go|java|sh|rb|txt|json|md|ya?ml|html|csv|sql)"
)
"""A name that somebody gave, and no program."""
_PATH_BEGINS = rb"(^|[^0-9A-Za-z_./~<\\-])"
_PATH_BEGAN = rb"(?<![0-9A-Za-z_./~<\\-]%b)"

MESSAGE_MASKS: Final = (
    Mask(
        name="code frame",
        pattern=rb"(?m)^[> ]*(?:([0-9]+) *)?\|[^\n]*$",
        put=b"",
        place=1,
        hints=(b"|",),
    ),
    Mask(
        name="drawn code frame",
        pattern=rb"(?m)^(?:\[[A-Za-z]{4,5}\])?[> ]*([0-9]+) *(?:\xe2\x94\x82|\|)[^\n]*$",
        put=b"",
        place=1,
        hints=(b"\xe2\x94\x82", b"|"),
    ),
    Mask(name="underline", pattern=rb"[~^]{2,}", put=b"^", hints=(b"^", b"~~")),
    Mask(
        name="request id",
        pattern=rb"((?:[Rr]equest[ _-]?(?:id|Id|ID)|HostId|[Hh]ost id)[\"']? ?[:=>] ?[\"']?)"
        rb"(?:[0-9A-F]{2,8}(?::[0-9A-F]{2,8}){2,}|[0-9A-Za-z+/=_.-]{6,})",
        put=rb"\1<n>",
        hints=(b"equest", b"HostId", b"ost id"),
    ),
    Mask(
        name="id in a sentence",
        pattern=rb"((?:[Rr]equest|[Cc]orrelation|[Ss]ession|Ray)[ _-]?(?:id|Id|ID)"
        rb"(?:[:=] ?| ))(?:[0-9A-F]{2,8}(?::[0-9A-F]{2,8}){2,}"
        rb"|[A-Za-z_-]{0,16}[0-9][0-9A-Za-z+/=_-]{5,})",
        put=rb"\1<n>",
        hints=(b"equest", b"ession", b"relation", b"Ray"),
    ),
    Mask(
        name="request id by its prefix",
        pattern=rb"\breq_[A-Za-z]{0,24}[0-9][0-9A-Za-z]{6,}",
        put=b"<n>",
        hints=(b"req_",),
    ),
    Mask(
        name="digest",
        pattern=rb"\b(?:sha(?:1|256|384|512)[:-]|SHA256:|h1:)[0-9A-Za-z+/]{20,}=*",
        put=b"<n>",
        hints=(b"sha", b"SHA256:", b"h1:"),
    ),
    Mask(
        name="values of a row",
        pattern=rb"(\b(?:Key \([^()\n]*\)=|Failing row contains |parameters: ))\([^()\n]*\)",
        put=rb"\1<q>",
        hints=(b")=(", b"row contains", b"parameters: ("),
    ),
    Mask(
        name="JSON text",
        pattern=rb"\"" + _KEYS + rb"\": ?\"((?:[^\"\\\n]|\\.)*)\"",
        put=rb"\1: \2",
        within=(Sketch.TEXT, b'"'),
        hints=(b'":',),
    ),
    Mask(name="escaped quote", pattern=rb"\\\"", put=b'"', within=(Sketch.TEXT, b'"')),
    Mask(
        name="JSON number",
        pattern=rb"[\"'](?:(?:[Ee]rror|[Ee]xit|[Ss]tatus|http|response)_?)?"
        rb"([Cc]ode|status|errno|line|column|col|lineNumber|columnNumber)[\"']: ?(-?[0-9])",
        put=rb"\1: \2",
        hints=(b'":', b"':"),
    ),
    Mask(
        name="JSON port",
        pattern=rb"[\"']port[\"']: ?(" + _PORT + rb")\b",
        put=rb"port: \1",
        hints=(b"port",),
    ),
    Mask(
        name="port of a host in a tuple",
        pattern=rb"\([\"']" + _HOST_OF_TUPLE + rb"[\"'], (" + _PORT + rb")\b",
        put=rb"([\1]:\2",
        hints=(b"',", b'",'),
    ),
    Mask(
        name="port of a host",
        pattern=rb"\b(" + _HOST + rb"), (" + _PORT + rb")\b",
        put=rb"\1:\2",
        hints=(b", ",),
    ),
    Mask(
        name="file of a frame",
        pattern=rb"File \"([^\"\n]*)\"",
        put=rb"File \1",
        within=(Sketch.TEXT, b'"'),
    ),
    Mask(
        name="quoted JSON text",
        pattern=rb"'" + _KEYS + rb"': ?'((?:[^'\\\n]|\\.)*)'",
        put=rb"\1: \2",
        within=(Sketch.TEXT, b"'"),
        hints=(b"':",),
    ),
    Mask(
        name="panic",
        pattern=rb"panicked at '([^'\n]*)'",
        put=rb"panicked at \1",
        within=(Sketch.TEXT, b"'"),
        hints=(b"panicked",),
    ),
    Mask(
        name="bare key",
        pattern=rb"\b(code|syscall): '([^'\n]*)'",
        put=rb"\1: \2",
        within=(Sketch.TEXT, b"'"),
        hints=(b"code: '", b"syscall: '"),
    ),
)

PATH_MASKS: Final = (
    Mask(
        name="bare temp name",
        pattern=rb"\btmp(?:[0-9a-z_]{8}|\.[0-9A-Za-z]{6,10})\b",
        put=b"<f>",
        hints=(b"tmp",),
    ),
    Mask(
        name="Windows temp name",
        pattern=rb"(\\Temp\\)[0-9A-Za-z_.+-]+",
        put=rb"\1<f>",
        within=(Sketch.TEXT, b"\\"),
    ),
    Mask(
        name="file URL of a drive",
        pattern=rb"file:///([A-Za-z]:)",
        put=rb"\1",
        within=(Sketch.TEXT, b"/"),
        hints=(b"file:///",),
    ),
    Mask(
        name="Windows share",
        pattern=_PATH_BEGINS
        + rb"\\\\[0-9A-Za-z][0-9A-Za-z.-]+(?:\\"
        + _SEGMENT
        + rb"){1,16}\\("
        + _SEGMENT
        + rb")",
        put=rb"\1\2",
        within=(Sketch.TEXT, b"\\"),
        hints=(b"\\\\",),
    ),
    Mask(
        name="Windows directory",
        pattern=_PATH_BEGINS
        + rb"[A-Za-z]:(?:[/\\]{1,2}"
        + _SEGMENT
        + rb")*[/\\]{1,2}("
        + _SEGMENT
        + rb")",
        put=rb"\1\2",
        hints=(b":\\", b":/"),
    ),
    Mask(name="file URL", pattern=rb"file://", put=b"", within=(Sketch.TEXT, b"/")),
    Mask(
        name="temp name",
        pattern=rb"(/tmp/|/T/)(?:pytest-of-[0-9A-Za-z_]+/pytest-[0-9]+|[0-9A-Za-z_.+-]+)",
        put=rb"\1<f>",
        spared=rb"/tmp/" + _CHOSEN_NAME,
        within=(Sketch.TEXT, b"/"),
        quick=rb"(/(?:T/|tmp/(?!"
        + _CHOSEN_NAME
        + rb"(?![0-9A-Za-z_.+-]))))(?:pytest-of-[0-9A-Za-z_]+/pytest-[0-9]+|[0-9A-Za-z_.+-]+)",
    ),
    Mask(
        name="directory",
        pattern=_PATH_BEGINS + rb"/(?:" + _SEGMENT + rb"/)*(" + _SEGMENT + rb")",
        put=rb"\1\2",
        within=(Sketch.TEXT, b"/"),
        quick=rb"()/" + _PATH_BEGAN % rb"." + rb"(?:" + _SEGMENT + rb"/)*(" + _SEGMENT + rb")",
    ),
    Mask(
        name="home or here",
        pattern=_PATH_BEGINS + rb"(?:\./|~/(?:" + _SEGMENT + rb"/)*)",
        put=rb"\1",
        within=(Sketch.TEXT, b"/"),
        hints=(b"./", b"~/"),
        quick=rb"[.~]" + _PATH_BEGAN % rb"." + rb"(?:(?<=\.)/|(?<=~)/(?:" + _SEGMENT + rb"/)*)()",
    ),
)
