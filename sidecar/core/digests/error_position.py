"""Where an error stands: the line and column numbers anywhere in a failed call's result.

The same call failing again is a loop, unless the place of its error moved, or it came further
before its time was over. The line that names the place is often not the one that names the error,
so the whole result is read.
"""

import re
from itertools import groupby, islice
from typing import Final

from sidecar.core.digests.measured import bounded, hex16, utf8

PLACES_MAX: Final = 1_024
"""Places read of a result: one that names more is a listing, and 16,000 would cost 5 ms."""

_EXTENSIONS = (
    "c h m r R cc hh cs fs ts js go rs rb py pl pm ml jl hs ex kt sh tf vb mm cpp cxx "
    "hpp hxx pyx pyi jsx tsx mjs cjs mts cts vue php lua exs erl mli clj kts nim zig sol "
    "sql css xml yml csv tex ipynb java dart html scss json yaml toml scala swift groovy "
    "gradle svelte proto feature"
).split()
"""Of files whose lines are named without a column. Those of a build's own files are not among them:
they move with whatever is built."""
_IN_A_FILE = "|".join(
    rf"(?<=\.(?:{'|'.join(same)}):)" for _, same in groupby(sorted(_EXTENSIONS, key=len), key=len)
).encode()
_PLACE = re.compile(
    rb"ine(?<=\b[Ll]ine)s? (\d+)"
    rb"|:(?=\d)(?:(?<![0-9:]:)(?:(?=\d+:\d)|" + _IN_A_FILE + rb")|(?<=\.f[0-9]{2}:))"
    rb"(\d+)(?::(\d+))?\b"
    rb"|\((\d+),(\d+)\)"
)
"""`line 7`, `a.c:7`, `a.c:7:3`, `Makefile:7:3`, `a.ts(7,3)`: how compilers and interpreters name a
place. With a digit before it `:7:3` is of a time of day, or a port, if it is no `a.f90`. In the
form that Python searches by first letters."""


_CUT_SHORT = re.compile(rb"[Tt]imed[ -]?out|\b124\b|\bResuming\b")
"""How a command says that its time was over, or that it goes on where it was cut; 124 is what
`timeout` ends with."""
_HOW_FAR = re.compile(
    rb"([0-9]{1,3}(?:\.[0-9]{1,3})?) ?%|([0-9]{1,9})/([0-9]{1,9})\b"
    rb"|([0-9]{1,15}) (?:out of|bytes|of [0-9])|position ([0-9]{1,15})"
)


def error_position(result_text: str) -> str:
    """16 hex digits over the first places that a failed call's result names, and over how far it
    came where its time was over; empty: none."""
    text = utf8(bounded(result_text))
    named = _named(_PLACE, text)
    if _CUT_SHORT.search(text):
        named += _named(_HOW_FAR, text)
    return hex16(named) if named else ""


def _named(pattern: re.Pattern[bytes], text: bytes) -> bytes:
    places = islice(pattern.finditer(text), PLACES_MAX)
    return b",".join(b":".join(place.groups(b"")) for place in places)
