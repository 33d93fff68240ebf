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
    r"|</?(?:output|stdout|stderr|tool_use_error|error|results?|tool_results?|function_results?"
    r"|response|tool_response|observation)>"
    r"|<tool_name>[^\n<]{0,128}</tool_name>"
    r"|```[a-z]{0,12}"
    r"|[(\[]?(?:the )?(?:command |process )?exit(?:ed with)?(?: ?code| status)?[ :=]*"
    r"(-?[0-9]{1,10})(?: \([a-z ]*\))?[)\]]?\.?"
    r"|\[?(?:the )?command (?:completed|finished) with exit code (-?[0-9]{1,10})\.?\]?"
    r"|\[(?:current working directory|python interpreter):[^\]\n]*\]"
    r"|(?:wall time|process group pgid): ?[0-9.]+(?: s[a-z]*)?"
    r"|(?:(?:code |tool |command )?output|(?:tool )?result|observation):"
    r"|(?:error|signal|output|stdout|stderr|background pids|exit code): \((?:none|empty)\)"
    r"|directory: (?:\(root\)|/[^\n]{1,256})"
    r"|\((?:open file|current directory): [^\n]{1,256}\)|bash-\$"
    r"|\[[a-z_]{1,48} for '[^\n]{0,256}'\] result:|command executed\.",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"[(\[]?(?:(?:finished|completed|done|executed|took|elapsed|duration|(?:execution|total) time)"
    r"[a-z :=]{0,12})?[0-9.]{1,12} ?(?:ms|s|secs?|seconds|m|min|minutes)[)\]]?\.?"
    r"|[(\[]?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{5,15}(?:Z|[+-][0-9:]{5,6})?[)\]]?"
    r"|[(\[]?(?:request|trace|span|call|session|correlation|pid|process|seed)(?:[ _-]?id)?"
    r"[ :=]{1,2}[0-9a-f-]{1,36}[)\]]?",
    re.IGNORECASE,
)
"""A line that says how long it took, when it was or by which id: of the frame where something else
is there."""
_ERROR_TAGS: Final = frozenset({"<error>", "<tool_use_error>"})
"""Lines after which follows what went wrong, whatever the call's outcome is said to be."""
_LABEL = re.compile(
    r"(?:code output|stdout|output|observation|tool (?:output|result)):[ \t]+(?=\S)", re.IGNORECASE
)
_INLINE: Final = ("stdout", "output", "result", "tool_result", "response")
_AFTER_INLINE = re.compile(r"(?:<stderr></stderr>|<exit_code>(-?[0-9]{1,10})</exit_code>|\s)*")
_REMINDER: Final = ("<system-reminder>", "</system-reminder>")
_LANGCHAIN: Final = ("content='", 'content="')
"""How LangChain writes a tool's message out."""
_AFTER_CONTENT: Final = (" name=", " tool_call_id=", " id=", " response_metadata=")
_PRINTED: Final = ("output", "stdout", "stderr")
"""Fields of JSON in which a tool hands over what was printed; Codex's `shell` has the first."""
_CODES: Final = ("exit_code", "exitCode", "returncode", "return_code")
_TOLD: Final = ("content", "result", "llmContent", "text")
"""Fields of JSON in which a protocol hands over what a tool said: MCP and Anthropic have the first,
Gemini CLI the third."""
_AROUND: Final = frozenset(
    "type role id name tool_call_id tool_use_id toolUseId call_id success ok isError is_error "
    "error returnDisplay structuredContent _meta meta annotations timestamp artifact".split()
)
"""What stands beside such a field and tells nothing of its own."""
_FAILED: Final = (("isError", True), ("is_error", True), ("success", False), ("ok", False))


@value
class Framed:
    """A result taken apart."""

    printed: str
    """Without white space at its ends."""
    exit_code: int | None
    """None: none was told."""


def framed(text: str) -> Framed:
    """What was printed, and with what it ended. Never raises; text without a frame was printed."""
    text = text.strip().removeprefix("\ufeff")
    if text.startswith(("{", "[")) and (told := _of_json(text)) is not None:
        return told
    if _REMINDER[0] in text:
        text = _without_reminders(text).strip()
    if text.startswith(_LANGCHAIN):
        text = _content_of(text).strip()
    codes: list[int] = []
    if text.startswith("<"):
        text = _without_tags(text, codes)
    text = _without_first_lines(text, codes)
    text = _without_last_lines(text, codes)
    if label := _LABEL.match(text):
        text = text[label.end() :]
    return Framed(printed=text, exit_code=max(codes, key=abs) if codes else None)


def _without_tags(text: str, codes: list[int]) -> str:
    """What stands between tags in the line of what was printed."""
    for tag in _INLINE:
        opening, closing = f"<{tag}>", f"</{tag}>"
        end = text.rfind(closing)
        if text.startswith(opening) and end > 0:
            after = _AFTER_INLINE.fullmatch(text, end + len(closing))
            if after is None:
                return text
            codes += [int(after[1])] if after[1] else []
            return text[len(opening) : end].strip()
    return text


def _without_reminders(text: str) -> str:
    opening, closing = _REMINDER
    parts, at = [], 0
    while (start := text.find(opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
        parts.append(text[at:start])
        at = end + len(closing)
    return "".join(parts) + text[at:]


def _content_of(text: str) -> str:
    quote = text[len(_LANGCHAIN[0]) - 1]
    ends = [text.find(quote + name, len(_LANGCHAIN[0])) for name in _AFTER_CONTENT]
    ends += [len(text) - 1] if text.endswith(quote) else []
    found = [end for end in ends if end >= 0]
    return text[len(_LANGCHAIN[0]) : min(found)].replace("\\n", "\n") if found else text


def _without_first_lines(text: str, codes: list[int]) -> str:
    for _ in range(LINES_MAX):
        line, _, rest = text.partition("\n")
        if not line or not _is_of_frame(line, codes, beside=rest):
            break
        text = rest.lstrip()
    return text


def _without_last_lines(text: str, codes: list[int]) -> str:
    for _ in range(LINES_MAX):
        rest, _, line = text.rpartition("\n")
        if not line or not _is_of_frame(line, codes, beside=rest):
            break
        text = rest.rstrip()
    return text


def _is_of_frame(line: str, codes: list[int], *, beside: str) -> bool:
    line = line.strip()
    found = _LINE.fullmatch(line)
    if found is None:
        return bool(beside) and _BESIDE.fullmatch(line) is not None
    if line in _ERROR_TAGS and not beside.lstrip().startswith("</"):
        codes.append(1)
    codes += (int(code) for code in found.groups() if code)
    return True


def _of_json(text: str) -> Framed | None:
    """Of JSON that hands over what was printed; None: it is something else."""
    if not any(f'"{name}"' in text for name in (*_PRINTED, *_TOLD)):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match value:
        case dict():
            return _of_streams(value) or _of_message(value)
        case [{"type": _}, *_]:
            return None if (said := _said(value)) is None else framed(said)
        case _:
            return None


def _of_streams(answer: Mapping[str, Any]) -> Framed | None:
    """Of an object with what was printed, and the code with which it ended."""
    parts = [part.strip() for name in _PRINTED if isinstance(part := answer.get(name), str)]
    code = next(_codes(answer), None)
    if not parts or (code is None and not any(parts)):
        return None
    return Framed(printed="\n".join(part for part in parts if part), exit_code=code)


def _codes(answer: Mapping[str, Any]) -> Iterator[int]:
    for told in (answer, answer.get("metadata")):
        if isinstance(told, dict):
            yield from (told[name] for name in _CODES if type(told.get(name)) is int)


def _of_message(answer: Mapping[str, Any]) -> Framed | None:
    """Of an object that hands over one text, and says nothing else but whether all went well."""
    told = [name for name in _TOLD if name in answer]
    beside = {name: value for name, value in answer.items() if name not in told}
    if len(told) != 1 or beside.keys() - _AROUND or beside.get("error"):
        return None
    said = _said(answer[told[0]])
    if said is None:
        return None
    failed = any(beside.get(name) is value for name, value in _FAILED)
    inner = framed(said)
    return Framed(printed=inner.printed, exit_code=inner.exit_code or (1 if failed else None))


def _said(value: object) -> str | None:
    """A text, or the texts of a list of contents; None: something else is there too."""
    match value:
        case str():
            return value
        case [*contents]:
            told = (each.get("text") for each in contents if isinstance(each, dict))
            texts = [text for text in told if isinstance(text, str)]
            return "\n".join(texts) if len(texts) == len(contents) else None
        case _:
            return None
