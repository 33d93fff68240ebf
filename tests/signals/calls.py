"""Turns with tool calls for the tables of loop and spin, written as words.

A table's run is a text with a word a turn:

    read            a call of `read` with a plain result of its own
    read(a)         the same with other arguments
    read:old        with this result
    read:old@3      with an error that names line 3
    read+list       two calls in one turn
    "hello"         a turn that only says this
    >read           a person had spoken before this turn; ">" alone: and nothing was done
    -               a turn without calls or text

and marks at the end of a call: `!` failed, `#` denied, `=` empty result, `*` acknowledgement,
`&` still running, `?` result not reported, `~` a call that waits, `%` an overview, `^` a write,
`/` a step of a navigation, `$` a control that is pressed.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, Final

from sidecar.core.novelty import Memory
from sidecar.core.turn import CallKind, Failure, Outcome, ResultKind, ToolCall, Turn
from sidecar.signals.loop import FOUNDING, LoopThresholds

CALL: Final = re.compile(
    r"(?P<tool>\w+)(?:\((?P<arguments>\w*)\))?(?::(?P<result>\w*))?(?:@(?P<line>\d+))?"
    r"(?P<marks>[!#=*&?~%^/$]*)"
)
OUTCOMES: Final = MappingProxyType({"!": Outcome.ERROR, "#": Outcome.DENIED})
RESULT_KINDS: Final = MappingProxyType(
    {"=": ResultKind.EMPTY, "*": ResultKind.ACKNOWLEDGEMENT, "&": ResultKind.RUNNING}
)
CALL_KINDS: Final = MappingProxyType(
    {
        "~": CallKind.WAIT,
        "%": CallKind.OVERVIEW,
        "^": CallKind.WRITE,
        "/": CallKind.NAVIGATION,
        "$": CallKind.PRESS,
    }
)


def digest(text: str) -> bytes:
    """Eight bytes that stand for the text."""
    return hashlib.sha256(text.encode()).digest()[:8]


def run(words: str) -> list[Turn]:
    """Turns 1, 2, 3 ... from words, each with its news."""
    tokens = re.findall(r'>?"[^"]*"|\S+', words)
    return with_news(_turn(place + 1, token) for place, token in enumerate(tokens))


def with_news(turns: Iterable[Turn]) -> list[Turn]:
    """The turns as the fold hands them to signals."""
    memory, known = Memory(), []
    for turn in turns:
        memory, turn_with_news = memory.look(turn)
        known.append(turn_with_news)
    return known


def call(word: str) -> ToolCall:
    """One call from its word."""
    match = CALL.fullmatch(word)
    assert match, f"{word} is no call"
    tool, arguments, marks = match["tool"], match["arguments"] or "", match["marks"]
    kinds: Mapping[str, ResultKind] = RESULT_KINDS
    result_kind = next((kinds[mark] for mark in marks if mark in kinds), ResultKind.PLAIN)
    text = match["result"]
    if text is None:
        text = "" if result_kind is ResultKind.EMPTY else f"the result of {tool}({arguments})"
    return ToolCall(
        name=tool,
        tool=digest(tool),
        call=digest(f"{tool}({arguments})"),
        result=None if "?" in marks else digest(text),
        outcome=next((OUTCOMES[mark] for mark in marks if mark in OUTCOMES), Outcome.OK),
        result_kind=result_kind,
        kind=next((CALL_KINDS[mark] for mark in marks if mark in CALL_KINDS), CallKind.PLAIN),
        error_position=digest(match["line"]) if match["line"] else b"",
    )


def _turn(sequence: int, token: str) -> Turn:
    spoken, token = token.startswith(">"), token.removeprefix(">")
    turn = Turn(sequence=sequence, user_input=spoken)
    if token in ("", "-"):
        return turn
    if token.startswith('"'):
        text = token.strip('"')
        return replace(turn, text=digest(text), text_length=len(text))
    words = token.split("+")
    calls = tuple(call(word) for word in words)
    failures = tuple(
        _failure(word, made) for word, made in zip(words, calls, strict=True) if _failed(made)
    )
    return replace(turn, tool_calls=calls, failures=failures)


def _failed(made: ToolCall) -> bool:
    return made.outcome is Outcome.ERROR


def _failure(word: str, made: ToolCall) -> Failure:
    """The error of a failed call: its fingerprint is that of the result, the line beside it."""
    return Failure(
        kind="tool_error",
        fingerprint=made.result or bytes(8),
        strict=digest(f"{made.result!r} {made.error_position!r}"),
    )


def only(*rules: str, **limits: Any) -> LoopThresholds:
    """The default limits of these rules and no others, with changes."""
    default = LoopThresholds()
    chosen = {
        field.name: getattr(default, field.name)
        for field in fields(LoopThresholds)
        if field.name.split("_")[0] in rules
    }
    nothing = replace(FOUNDING, founding_break=None, strike_discount=0)
    return replace(nothing, **{**chosen, **limits})
