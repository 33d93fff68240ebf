"""Codex: the rollouts below `~/.codex/sessions`, JSON Lines of `{timestamp, type, payload}`.

A rollout lists the items of each answer of the model and, in a `token_count` event, what the answer
cost. Early versions wrote the event before the items, later ones after them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import msgspec

from sidecar.datasets.json_text import decode
from sidecar.datasets.moves import (
    Answered,
    Broken,
    Call,
    Document,
    Fault,
    Finding,
    Move,
    Person,
    Record,
    Recording,
    Said,
    Skipped,
)
from sidecar.datasets.shapes import Content, Count, broken, outcome, seconds, words
from sidecar.v1.run_pb2 import Usage

EXPECTED: Final = "a line of a Codex rollout: timestamp, type and payload"

_HEAD: Final = re.compile(
    r"\A(?:(?:Exit code|Wall time|Total output lines|Chunk ID|Original token count): ?[^\n]*\n"
    r"|Process (?:exited|running) with [^\n]*\n|\n)+Output:\n"
)
"""What newer versions put before the output of a command."""
_EXIT_CODE: Final = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)$", re.MULTILINE)
_REFUSED: Final = re.compile(r"rejected by user|denied by the user", re.IGNORECASE)
_FAILED: Final = ("err: ", "failed to parse ", "unsupported call: ", "exec_command failed")
_NO_SPEECH: Final = ("<", "# AGENTS.md instructions")
"""How the client's own messages in the person's name begin."""


class _Line(msgspec.Struct, frozen=True):
    type: str
    payload: dict[str, Any]
    timestamp: datetime | None = None


class _Message(msgspec.Struct, frozen=True):
    role: str = ""
    content: Content = None


class _Asked(msgspec.Struct, frozen=True):
    type: str
    name: str = ""
    call_id: str | None = None
    id: str | None = None
    arguments: str | None = None
    input: str | None = None
    action: dict[str, Any] | None = None


class _Output(msgspec.Struct, frozen=True):
    call_id: str
    output: Any = None


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: Count = 0
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count = 0
    total_tokens: Count | None = None


class _Info(msgspec.Struct, frozen=True):
    total_token_usage: _Usage | None = None
    last_token_usage: _Usage | None = None
    model_context_window: Count | None = None


class _Counted(msgspec.Struct, frozen=True):
    info: _Info | None = None


class _Meta(msgspec.Struct, frozen=True):
    id: str | None = None


_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")


def convert(document: Document) -> Iterator[Finding]:
    """The recording in the file."""
    rollout = _Rollout(people_named=_has_people(document))
    for record in document.records:
        yield from rollout.read(record)
    if rollout.begun:
        yield rollout.recording(document.stem)


def _has_people(document: Document) -> bool:
    """Whether events say when a person spoke; where none does, messages have to."""
    return any(
        isinstance(record.value, Mapping)
        and isinstance(payload := record.value.get("payload"), Mapping)
        and payload.get("type") == "user_message"
        for record in document.records
    )


class _Rollout:
    """What the lines so far came to."""

    def __init__(self, *, people_named: bool) -> None:
        self._people_named = people_named
        self._moves: list[Move] = []
        self._turn: int | None = None
        """Where the answer that goes on stands among the moves."""
        self._counts: Usage | None = None
        """What the next answer cost, where that was said first."""
        self._total: _Usage | None = None
        self._counted = False
        self._session = ""
        self._model = ""

    @property
    def begun(self) -> bool:
        return any(isinstance(move, Said) for move in self._moves)

    def recording(self, stem: str) -> Recording:
        return Recording(
            session_id=self._session or stem,
            agent="codex",
            model=self._model,
            moves=tuple(self._moves),
        )

    def read(self, record: Record) -> Iterator[Broken | Skipped]:
        try:
            line = msgspec.convert(record.value, _Line)
            known = self._take(line)
        except msgspec.ValidationError as error:
            yield broken(record, error, EXPECTED)
            return
        if not known:
            kind = line.payload.get("type")
            yield Skipped(kind=f"{line.type} {kind}" if kind else line.type)

    def _take(self, line: _Line) -> bool:
        """Whether the line says something of a turn. Raises ValidationError."""
        match line.type, line.payload.get("type"):
            case "session_meta", _:
                self._session = self._session or msgspec.convert(line.payload, _Meta).id or ""
            case "turn_context", _:
                self._model = self._model or str(line.payload.get("model") or "")
            case "response_item", kind:
                return self._item(line, str(kind))
            case "event_msg", "token_count":
                self._count(msgspec.convert(line.payload, _Counted).info)
            case "event_msg", "user_message":
                self._speak()
            case "event_msg", "error":
                message = str(line.payload.get("message") or "")
                self._moves.append(Fault(kind="api error", message=message))
            case _:
                return False
        return True

    def _item(self, line: _Line, kind: str) -> bool:
        at_s = seconds(line.timestamp)
        if kind in _OUTPUTS:
            self._moves.append(_answered(msgspec.convert(line.payload, _Output), at_s))
            if not self._counted:
                self._turn = None
        elif kind in _CALLS:
            asked = msgspec.convert(line.payload, _Asked)
            self._say(Said(calls=(_call(asked),), at_s=at_s))
        elif kind == "message":
            message = msgspec.convert(line.payload, _Message)
            text = words(message.content)
            if message.role == "assistant":
                self._say(Said(text=text, at_s=at_s))
            elif message.role == "user" and not text.startswith(_NO_SPEECH):
                if not self._people_named:
                    self._speak()
            else:
                return False
        else:
            return False
        return True

    def _speak(self) -> None:
        self._turn = None
        self._moves.append(Person())

    def _say(self, said: Said) -> None:
        going_on = None if self._turn is None else self._moves[self._turn]
        if self._turn is not None and isinstance(going_on, Said):
            self._moves[self._turn] = replace(
                going_on,
                text="\n".join(filter(None, (going_on.text, said.text))),
                calls=going_on.calls + said.calls,
                until_s=said.at_s,
            )
            return
        self._turn = len(self._moves)
        self._moves.append(replace(said, usage=self._counts))
        self._counts = None

    def _count(self, info: _Info | None) -> None:
        # Sent again without news when a limit of the account changes.
        if info is None or info.last_token_usage is None or info.total_token_usage == self._total:
            return
        self._counted = True
        self._total = info.total_token_usage
        tokens = _tokens(info.last_token_usage, info.model_context_window)
        going_on = None if self._turn is None else self._moves[self._turn]
        if self._turn is not None and isinstance(going_on, Said) and going_on.usage is None:
            self._moves[self._turn] = replace(going_on, usage=tokens)
        else:
            self._counts = tokens
        self._turn = None


def _call(asked: _Asked) -> Call:
    name = asked.name or asked.type.removesuffix("_call")
    arguments: Any = asked.arguments if asked.arguments is not None else asked.action
    if asked.input is not None:
        arguments = {"input": asked.input}
    return Call(id=asked.call_id or asked.id or "", name=name, arguments=arguments)


def _answered(output: _Output, at_s: float | None) -> Answered:
    text, failed = _plain(output.output)
    head = _HEAD.match(text)
    code = _EXIT_CODE.search(head[0]) if head else None
    failed = failed or (code is not None and code[1] != "0") or text.startswith(_FAILED)
    denied = _REFUSED.search(text[:200]) is not None
    return Answered(
        text=text[head.end() :] if head else text,
        outcome=outcome(failed, denied=denied),
        call_id=output.call_id,
        at_s=at_s,
    )


def _plain(output: Any) -> tuple[str, bool]:
    """The text of an output, and whether it says that the call failed."""
    if isinstance(output, str):
        wrapped = _wrapped(output)
        return (output, False) if wrapped is None else _plain(wrapped)
    if isinstance(output, list):
        parts = (part.get("text") for part in output if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str)), False
    if isinstance(output, dict):
        metadata = output.get("metadata")
        code = metadata.get("exit_code", 0) if isinstance(metadata, dict) else 0
        text = output.get("output", output.get("content", ""))
        return str(text), code != 0 or output.get("success") is False
    return "", False


def _wrapped(output: str) -> dict[str, Any] | None:
    """The object that older versions wrote as JSON in the text."""
    if not output.startswith('{"output":'):
        return None
    try:
        found = decode(output)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("output"), str) else None


def _tokens(usage: _Usage, window: int | None) -> Usage:
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_input_tokens=usage.cached_input_tokens,
        cache_write_input_tokens=usage.cache_write_input_tokens,
        context_tokens=usage.total_tokens or usage.input_tokens + usage.output_tokens,
        context_window=window or None,
    )
