"""Numbers that a system hands out anew each time: of processes, threads and what they open.

LOG_MASKS find them by where they stand, at the head of a line of a log next to its time; NUMBERED
by the word before them.
"""

from typing import Final

from sidecar.core.digests.masks import SOME_DIGIT, Mask, Sketch

_WEEKDAY = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?"
_DIED = (
    rb"(?:Killed|Terminated|Aborted|Segmentation fault|Bus error|Illegal instruction"
    rb"|Floating point exception|Trace/breakpoint trap|Hangup|Quit)"
)
"""How a shell says by which signal a process died."""

LOG_MASKS: Final = (
    Mask(
        name="weekday",
        pattern=rb"\b" + _WEEKDAY + rb" <t>",
        put=b"<t>",
        within=(Sketch.TEXT, b"<t>"),
    ),
    Mask(
        name="log head",
        pattern=rb"\b[DEFIW][0-9]{4} <t>(?: +[0-9]+)?|\b[0-9]+:[CMSX] <t>",
        put=b"<t>",
        within=(Sketch.TEXT, b"<t>"),
    ),
    Mask(
        name="log process",
        pattern=rb"(<t>\]?(?: [0-9A-Za-z_.-]+ [0-9A-Za-z_./-]+| ?[A-Z]{0,5} ?))"
        rb"\[[0-9]+(?:-[0-9]+)?\]",
        put=rb"\1[<n>]",
        within=(Sketch.TEXT, b"<t>"),
    ),
    Mask(
        name="log process before a dash",
        pattern=rb"(<t> +[A-Z]+ +)[0-9]+( ---)",
        put=rb"\1<n>\2",
        within=(Sketch.TEXT, b"<t>"),
        hints=(b" ---",),
    ),
    Mask(
        name="log process and connection",
        pattern=rb"(<t> \[[a-z]+\] )[0-9]+#[0-9]+:(?: \*[0-9]+)?",
        put=rb"\1<n>:",
        within=(Sketch.TEXT, b"<t>"),
    ),
    Mask(
        name="Chromium's log head",
        pattern=rb"\[(?:[0-9]+:[0-9]+:)?[0-9]{4}/[0-9]{6}\.[0-9]+:",
        put=b"[<t>:",
        within=(Sketch.NUMBERS, b"00"),
        sketch=Sketch.NUMBERS,
        hints=(b"0000,000000.",),
    ),
)

NUMBERED: Final = (
    Mask(
        name="number of a process",
        pattern=rb"((?:\b(?:goroutine |transaction |[Ss]tream |exec-"
        rb"|(?:pid|PID|tid|TID|LWP|fd|[Ss]eed)[ =:#]{1,2}|node:"
        rb"|g?make\[|In ?\[|ipython-input-|thread <q> \(|[Pp]rocess \[)|\[gw"
        rb"|(?:\bpool|Pool)-|(?:\b[Tt]hread|\b[Ww]orker|\b[Pp]rocess|Thread|Worker|Process)[- #:]))"
        rb"[0-9]+",
        put=rb"\1<n>",
        within=SOME_DIGIT,
        # The bytes before the number first: where there are many numbers, few have these.
        quick=rb"[0-9](?<![0-9].)"
        rb"(?:(?<=[cdeglmnrstDP][- #:=\[w].)|(?<=[dDP][ =:#]{2}.)|(?<=[ns>] [\[(].))"
        rb"(?:(?<=\bgoroutine .)|(?<=\btransaction .)|(?<=\b[Ss]tream .)"
        rb"|(?<=\bexec-.)|(?<=\bpool-.)|(?<=Pool-.)"
        rb"|(?<=\b(?:pid|PID|tid|TID|LWP)[ =:#].)|(?<=\b(?:pid|PID|tid|TID|LWP)[ =:#]{2}.)"
        rb"|(?<=\bfd[ =:#].)|(?<=\bfd[ =:#]{2}.)"
        rb"|(?<=\b[Ss]eed[ =:#].)|(?<=\b[Ss]eed[ =:#]{2}.)"
        rb"|(?<=\bnode:.)|(?<=\bmake\[.)|(?<=\bgmake\[.)|(?<=\bIn\[.)|(?<=\bIn \[.)"
        rb"|(?<=\bipython-input-.)|(?<=\bthread <q> \(.)|(?<=\[gw.)"
        rb"|(?<=\bthread[- #:].)|(?<=\bworker[- #:].)|(?<=\bprocess[- #:].)|(?<=\b[Pp]rocess \[.)"
        rb"|(?<=Thread[- #:].)|(?<=Worker[- #:].)|(?<=Process[- #:].))[0-9]*+()",
    ),
    Mask(
        name="Erlang process",
        pattern=rb"((?:PID|[Pp]rocess )<)[0-9]+\.[0-9]+\.[0-9]+>",
        put=rb"\1<n>>",
        within=SOME_DIGIT,
        hints=(b"PID<", b"rocess <"),
    ),
    Mask(
        name="process between signs",
        pattern=rb"==[0-9]+==",
        put=b"==<n>==",
        within=SOME_DIGIT,
        hints=(b"==",),
    ),
    Mask(
        name="step of a build",
        pattern=rb"(?m)^#[0-9]+( )",
        put=rb"#<n>\1",
        within=SOME_DIGIT,
        hints=(b"#",),
    ),
    Mask(
        name="progress",
        pattern=rb"(?m)^\[ *[0-9]+/[0-9]+\]",
        put=b"[<n>]",
        within=SOME_DIGIT,
        hints=(b"/",),
        quick=rb"\[(?<![^\n].) *[0-9]+/[0-9]+\]",
    ),
    Mask(
        name="frames left out",
        pattern=rb"(?m)(\.\.\. |repeated )[0-9]+( more$| common frames omitted$| more times)",
        put=rb"\1<n>\2",
        within=SOME_DIGIT,
        hints=(b" more", b"omitted"),
    ),
    Mask(
        name="process with an address",
        pattern=rb"\[[0-9]+(:<n>\])",
        put=rb"[<n>\1",
        within=SOME_DIGIT,
        hints=(b":<n>]",),
    ),
    Mask(
        name="process that died",
        pattern=rb"((?:\bline <l>:|\[[0-9]+\][-+]?) +)[0-9]+( +" + _DIED + rb"\b)",
        put=rb"\1<n>\2",
        within=SOME_DIGIT,
        hints=(b"]", b"<l>: "),
    ),
    Mask(
        name="generated name",
        pattern=rb"(\$\$Lambda\$|\bGenerated(?:Method|Constructor)Accessor|\$Proxy|_pid)[0-9]+",
        put=rb"\1<n>",
        within=SOME_DIGIT,
        hints=(b"$", b"Accessor", b"_pid"),
    ),
)
