"""What a tool puts around what was printed, told from what was printed.

Shells for agents add an exit code, a folder, a time: as long as a confirmation may be, and the same
whatever happened, so neither the kind of a result nor its error is to be read from it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sidecar.core.value import value

LINES_MAX: Final = 8
"""Lines of a frame at one end; the longest that is known has 6."""

_LINE = re.compile(
    r"<returncode>(-?[0-9]{1,10})</returncode>"
    r"|</?(?:output|stdout|stderr|tool_use_error|error)>"
    r"|[(\[]?(?:the )?(?:command |process )?exit(?:ed with)?(?: ?code| status)?[ :=]*"
    r"(-?[0-9]{1,10})(?: \([a-z ]*\))?[)\]]?\.?"
    r"|\[?(?:the )?command (?:completed|finished) with exit code (-?[0-9]{1,10})\.?\]?"
    r"|\[(?:current working directory|python interpreter):[^\]\n]*\]"
    r"|(?:wall time|process group pgid): ?[0-9.]+(?: s[a-z]*)?"
    r"|(?:code )?output:"
    r"|(?:error|signal|output|stdout|stderr|background pids): \((?:none|empty)\)"
    r"|directory: (?:\(root\)|/[^\n]{1,256})",
    re.IGNORECASE,
)
_PRINTED: Final = ("output", "stdout", "stderr")
"""Fields of JSON in which a tool hands over what was printed; Codex's `shell` has the first."""
_CODES: Final = ("exit_code", "exitCode", "returncode", "return_code")


@value
class Framed:
    """A result taken apart."""

    printed: str
    """Without white space at its ends."""
    exit_code: int | None
    """None: none was told."""


def framed(text: str) -> Framed:
    """What was printed, and with what it ended. Never raises; text without a frame was printed."""
    text = text.strip()
    if text.startswith("{") and any(f'"{name}"' in text for name in _PRINTED):
        return _of_json(text)
    codes: list[int] = []
    text = _without_first_lines(text, codes)
    text = _without_last_lines(text, codes)
    return Framed(printed=text, exit_code=max(codes, key=abs) if codes else None)


def _without_first_lines(text: str, codes: list[int]) -> str:
    for _ in range(LINES_MAX):
        line, _, rest = text.partition("\n")
        if not line or not _is_of_frame(line, codes):
            break
        text = rest.lstrip()
    return text


def _without_last_lines(text: str, codes: list[int]) -> str:
    for _ in range(LINES_MAX):
        rest, _, line = text.rpartition("\n")
        if not line or not _is_of_frame(line, codes):
            break
        text = rest.rstrip()
    return text


def _is_of_frame(line: str, codes: list[int]) -> bool:
    found = _LINE.fullmatch(line.strip())
    if found is None:
        return False
    codes += (int(code) for code in found.groups() if code)
    return True


def _of_json(text: str) -> Framed:
    whole = Framed(printed=text, exit_code=None)
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return whole
    if not isinstance(answer, dict):
        return whole
    parts = [part.strip() for name in _PRINTED if isinstance(part := answer.get(name), str)]
    code = next(_codes(answer), None)
    if not parts or (code is None and not any(parts)):
        return whole
    return Framed(printed="\n".join(part for part in parts if part), exit_code=code)


def _codes(answer: Mapping[str, Any]) -> Iterator[int]:
    for told in (answer, answer.get("metadata")):
        if isinstance(told, dict):
            yield from (told[name] for name in _CODES if type(told.get(name)) is int)
