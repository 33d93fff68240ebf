"""Digests and kinds: everything that turns content from the wire into something to compare.

Nothing after this keeps content: the core knows that two calls, two results, two texts or two
errors are the same, and never what they say. proto/digests.md is the specification for clients in
other languages, proto/digests.jsonl its test vectors. All functions are pure, never raise for
any text, take linear time, and read at most `measured.TEXT_MAX` characters of a text.
"""

import re

from sidecar.core.digests.call_kind import call_kind
from sidecar.core.digests.canonical import canonical_arguments
from sidecar.core.digests.chant import text_repeats
from sidecar.core.digests.echo import without_echo
from sidecar.core.digests.error_position import error_position
from sidecar.core.digests.error_text import error_text
from sidecar.core.digests.fingerprint import Fingerprint, error_fingerprint
from sidecar.core.digests.measured import bounded, hex16, utf8
from sidecar.core.digests.result_kind import result_kind
from sidecar.core.digests.result_masks import result_digest

__all__ = [
    "Fingerprint",
    "arguments_digest",
    "call_kind",
    "error_fingerprint",
    "error_position",
    "error_text",
    "result_digest",
    "result_kind",
    "text_digest",
    "text_repeats",
    "without_echo",
]

_FOLDED = bytes.maketrans(b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f", b" " * 9)
"""ASCII white space as a space."""
_COUNTED_TRY = re.compile(rb"((?:[Aa]ttempt|[Rr]etry|[Ii]teration)[ #:]{1,3})[0-9]+")
"""Who counts how often it says the same says the same. Other numbers tell one message from another:
the room that is ready, the next sum of a quiz. With all of them masked 6 of 207 runs that went well
and were written without knowledge of the rules were disturbed, and no stuck one was found by it."""
_TRY_WORDS = (b"ttempt", b"etry", b"teration")
"""Parts of what counts a try: to look for them costs a tenth of what the pattern does."""


def arguments_digest(arguments_json: str) -> str:
    """16 hex digits over a tool's canonical arguments; an empty text is the same as `{}`.

    Arguments are read whole: two writes of a long file that differ at its end are different calls.
    """
    return hex16(utf8(canonical_arguments(arguments_json)))


def text_digest(text: str) -> str:
    """16 hex digits over what the assistant said: white space folded, the number of a try as 0."""
    text = bounded(text)
    if not text.isascii():
        text = " ".join(text.split())
    folded = utf8(text).translate(_FOLDED).strip(b" ")
    while b"  " in folded:
        folded = folded.replace(b"  ", b" ")
    if any(word in folded for word in _TRY_WORDS):
        folded = _COUNTED_TRY.sub(rb"\g<1>0", folded)
    return hex16(folded)
