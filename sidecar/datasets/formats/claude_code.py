"""Claude Code: the session transcripts below `~/.claude/projects`, JSON Lines.

One answer of the model is several lines, one for each block of its content, all with the message's
id and each with the usage so far. `agent-*.jsonl` is the transcript of one subagent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import msgspec

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
from sidecar.datasets.shapes import Count, broken, outcome, seconds, total
from sidecar.v1.run_pb2 import Usage

EXPECTED: Final = "a line of a Claude Code transcript: type, sessionId and message"

SUBAGENT_FILE: Final = "agent-"
SYNTHETIC: Final = "<synthetic>"
"""The model that is named where the client itself speaks: when the API failed, or to stand for an
answer where none was asked for."""
_API_ERRORS: Final = (
    "API Error",
    "Please run /login",
    "Invalid API key",
    "OAuth token",
    "Credit balance is too low",
    "Prompt is too long",
    "Claude AI usage limit reached",
    "You've hit your ",
)
"""How the client tells of an error of the API, in versions that did not mark it."""
_REFUSED: Final = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "Permission to use ",
    "[Request interrupted by user for tool use]",
)
_NO_SPEECH: Final = ("<local-command-stdout>", "<local-command-caveat>", "<system-reminder>")


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None


class _Block(msgspec.Struct, frozen=True):
    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None


class _Message(msgspec.Struct, frozen=True):
    content: str | list[_Block]
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None


class _Line(msgspec.Struct, frozen=True, rename="camel"):
    message: _Message
    uuid: str | None = None
    session_id: str | None = None
    timestamp: datetime | None = None
    is_sidechain: bool = False
    agent_id: str | None = None
    is_meta: bool = False
    is_compact_summary: bool = False
    is_api_error_message: bool | None = None
    """None: a version that did not say."""

    @property
    def is_api_error(self) -> bool:
        """Whether the client says that the API failed; of an old version, whether it reads so."""
        if self.is_api_error_message is None:
            synthetic = self.message.model == SYNTHETIC
            return synthetic and _text(self.message.content).startswith(_API_ERRORS)
        return self.is_api_error_message


def convert(document: Document) -> Iterator[Finding]:
    """The recording in the file."""
    transcript = _Transcript(alone=document.stem.startswith(SUBAGENT_FILE))
    for record in document.records:
        yield from transcript.read(record)
    if transcript.begun:
        yield transcript.recording(document.stem)


class _Transcript:
    """What the lines so far came to."""

    def __init__(self, *, alone: bool) -> None:
        self._alone = alone
        self._moves: list[Move] = []
        self._answers: dict[str, int] = {}
        """Where each answer of the model stands among the moves, by the id of its message."""
        self._seen: set[str] = set()
        self._session = ""
        self._model = ""

    @property
    def begun(self) -> bool:
        return bool(self._answers)

    def recording(self, stem: str) -> Recording:
        """A subagent's file names the session of its parent, so its own name counts."""
        session = stem if self._alone or not self._session else self._session
        return Recording(
            session_id=session, agent="claude-code", model=self._model, moves=tuple(self._moves)
        )

    def read(self, record: Record) -> Iterator[Broken | Skipped]:
        kind = record.value.get("type") if isinstance(record.value, Mapping) else None
        if kind not in ("user", "assistant"):
            yield Skipped(kind=kind if isinstance(kind, str) else "line without a type")
            return
        try:
            line = msgspec.convert(record.value, _Line)
        except msgspec.ValidationError as error:
            yield broken(record, error, EXPECTED)
            return
        # A resumed session begins with a copy of the lines before.
        if line.uuid is not None and line.uuid in self._seen:
            yield Skipped(kind="line seen before")
            return
        self._seen.add(line.uuid or "")
        self._session = self._session or line.session_id or ""
        if kind == "user":
            self._heard(line)
        elif line.is_api_error:
            self._moves.append(Fault(kind="api error", message=_text(line.message.content)))
        elif line.message.model == SYNTHETIC:
            yield Skipped(kind="word of the client")
        else:
            self._answered(line, record.place)

    def _heard(self, line: _Line) -> None:
        content = line.message.content
        blocks = [_Block(type="text", text=content)] if isinstance(content, str) else content
        spoken = False
        for block in blocks:
            if block.type == "tool_result":
                self._moves.append(_result(block, line))
            elif block.text and not block.text.startswith(_NO_SPEECH):
                spoken = True
        synthetic = line.is_meta or line.is_compact_summary or line.is_sidechain
        if spoken and not synthetic:
            self._moves.append(Person())

    def _answered(self, line: _Line, place: str) -> None:
        message = line.message
        self._model = self._model or message.model or ""
        said = Said(
            text=_text(message.content),
            calls=tuple(_calls(message.content)),
            usage=_tokens(message.usage),
            at_s=seconds(line.timestamp),
            actor="" if self._alone or not line.is_sidechain else line.agent_id or "subagent",
        )
        known = self._answers.get(message.id or "")
        if known is None:
            self._answers[message.id or f"line {place}"] = len(self._moves)
            self._moves.append(said)
        else:
            self._moves[known] = _joined(self._moves[known], said)
        if not isinstance(message.content, str):
            results = (block for block in message.content if block.type.endswith("_tool_result"))
            self._moves.extend(_result(block, line) for block in results)


def _joined(before: Move, said: Said) -> Said:
    """One answer of two lines. The usage of the later one is the whole answer's."""
    if not isinstance(before, Said):
        return said
    return replace(
        before,
        text="\n".join(filter(None, (before.text, said.text))),
        calls=before.calls + said.calls,
        usage=said.usage or before.usage,
        until_s=said.at_s,
    )


def _text(content: str | list[_Block]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if block.type == "text" and block.text)


def _calls(content: str | list[_Block]) -> Iterator[Call]:
    if isinstance(content, str):
        return
    for block in content:
        if block.type in ("tool_use", "server_tool_use") and block.name:
            yield Call(id=block.id or "", name=block.name, arguments=block.input)


def _result(block: _Block, line: _Line) -> Answered:
    text = _plain(block.content)
    denied = bool(block.is_error) and text.startswith(_REFUSED)
    return Answered(
        text=text,
        outcome=outcome(block.is_error, denied=denied),
        call_id=block.tool_use_id or "",
        at_s=seconds(line.timestamp),
    )


def _plain(content: Any) -> str:
    """The text of a result, whatever a server-side tool made of it."""
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            texts: list[str] = []
            for part in content:  # A loop takes one frame for each level (see NESTED_MAX).
                texts.append(_plain(part))  # noqa: PERF401
            return "\n".join(filter(None, texts))
        case {"text": str(text)}:
            return text
        case {"title": str(title), "url": str(url)}:
            return f"{title} {url}"
        case {"type": str(kind)}:
            return f"[{kind}]"
    return str(content)


def _tokens(usage: _Usage | None) -> Usage | None:
    """The API counts cached tokens apart."""
    if usage is None:
        return None
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    sent = total(usage.input_tokens, read, written)
    return Usage(
        input_tokens=sent,
        output_tokens=usage.output_tokens,
        cache_read_input_tokens=read,
        cache_write_input_tokens=written,
        context_tokens=total(sent, usage.output_tokens),
    )
