"""Whether a result tells that its call failed, for agents that do not say so themselves.

Few say it: the four lines of a first integration hand over name, arguments and result. The protocol
takes such a call as one that worked, and so no rule about errors would ever see it. Only what a
result says as a whole is believed: the exit code in the frame that a tool puts around its output,
the error of an API's envelope, the first words of the tool itself. An error somewhere in the text
is content: a log that was read, a test that was listed.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from sidecar.core.result_kind import result_kind
from sidecar.core.turn import ResultKind

TEXT_MAX: Final = 8_192
"""Characters of a result that is read for it. A longer one has more to tell than that it failed."""
FRAME_MAX: Final = 400
"""Characters at the beginning and at the end in which a frame stands."""
FIELDS_MAX: Final = 5
"""Fields of an object whose `error` is its own. One that has more describes something else."""

_CODE: Final = r"-?[1-9][0-9]{0,9}"
_BEGINS = re.compile(
    rf"exit code: {_CODE}\b|<returncode>{_CODE}</returncode>|<(?:tool_use_)?error>"
    rf"|(?:the )?(?:command|process) (?:failed|exited) with (?:exit )?(?:code|status):? {_CODE}\b"
    r"|traceback \(most recent call last\):"
    r"|(?:fatal(?: error)?|panic|[a-z_][a-z0-9_.]{0,60}(?:error|exception)|error(?:\[\w{1,12}\])?"
    r"|exception)(?: (?:in|at|on|for|from|of|with) [^\n:]{1,80})?: "
    r"(?!(?:0|none|null|no(?: errors?)?)[. ]*(?:\n|\Z))"
    r"|(?:error|exception) (?:executing|calling|running|while|during|when) "
    r"|an? (?:unexpected )?(?:error|exception) (?:has )?occurred\b"
    r"|(?:tool|command)(?: call)?(?: execution)? failed\b"
)
_ENDS = re.compile(
    rf"\[(?:the )?command (?:completed|finished) with exit code {_CODE}\.?\]"
    rf"|^exit code: {_CODE}$|<returncode>{_CODE}</returncode>",
    re.MULTILINE,
)
_TRACEBACK: Final = "Traceback (most recent call last):"
_LAST_WORD = re.compile(r"[a-z_][a-z0-9_.]{0,80}?(?:error|exception|exit|interrupt)(?::|\Z)")
_CUES: Final = ('"error"', '"is_error"', '"isError"', '"success"', '"ok"', "code")


def says_failed(text: str) -> bool:
    """Whether the result says as a whole that its call failed. Never raises.

    One that says nothing but that the exit code is 1 does not: so answers a search without a match.
    """
    if not text or len(text) > TEXT_MAX:
        return False
    said = text.strip()
    if said.startswith("{"):
        failed = said.endswith("}") and any(cue in said for cue in _CUES) and _fails(said)
    else:
        failed = _is_framed(said)
    return failed and result_kind(text) is not ResultKind.EMPTY


def _is_framed(said: str) -> bool:
    if _BEGINS.match(said[:FRAME_MAX].lower()):
        return True
    end = said[-FRAME_MAX:].lower()
    if "code" in end and _ENDS.search(end):
        return True
    return _LAST_WORD.match(end, end.rfind("\n") + 1) is not None and _TRACEBACK in said


def _fails(said: str) -> bool:
    try:
        answer = json.loads(said)
    except (ValueError, RecursionError):
        return False
    if not isinstance(answer, dict):
        return False
    if answer.get("success") is False or answer.get("ok") is False:
        return True
    if True in (answer.get("isError"), answer.get("is_error")):
        return True
    if answer.get("error") and len(answer) <= FIELDS_MAX:
        return True
    frame = answer.get("metadata")
    return _exited(answer) or (isinstance(frame, dict) and _exited(frame))


def _exited(frame: Mapping[str, Any]) -> bool:
    """Whether there is an exit code that is not 0."""
    codes = (frame.get(name) for name in ("exit_code", "exitCode", "returncode", "return_code"))
    return any(type(code) is int and code != 0 for code in codes)
