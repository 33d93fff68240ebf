"""Gemini CLI: the sessions below `~/.gemini/tmp/*/chats`, one JSON object or JSON Lines.

In JSON Lines a message may come again under its id, `$rewindTo` takes back the messages from one
on, and `$set` replaces fields of the whole.
"""

import re
from collections.abc import Iterator, Mapping
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

EXPECTED: Final = "a session of Gemini CLI: sessionId and messages, or its lines"

_SHELL: Final = "run_shell_command"
_EXIT_CODE: Final = re.compile(r"^Exit Code: (-?\d+)$", re.MULTILINE)
"""Of a command that failed: the client, which says `success` of any that ended, adds it then."""

_IGNORED: Final = ("/", "?", "<session_context>")
"""How a message begins that is a command to the client or its own."""


class _Call(msgspec.Struct, frozen=True):
    name: str
    id: str = ""
    args: Any = None
    result: Any = None
    status: str = "success"
    timestamp: datetime | None = None


class _Tokens(msgspec.Struct, frozen=True):
    input: Count = 0
    output: Count = 0
    cached: Count | None = None
    thoughts: Count | None = None
    total: Count | None = None


class _Message(msgspec.Struct, frozen=True, rename={"tool_calls": "toolCalls"}):
    id: str
    type: str
    content: Any = None
    timestamp: datetime | None = None
    model: str | None = None
    tokens: _Tokens | None = None
    tool_calls: list[_Call] | None = None


def convert(document: Document) -> Iterator[Finding]:
    """The recording in the file."""
    session = _Session()
    for record in document.records:
        yield from session.read(record)
    messages = list(session.messages.values())
    if not any(message.type == "gemini" for message in messages):
        return
    for message in messages:
        if message.type in ("info", "warning"):
            yield Skipped(kind=message.type)
    yield Recording(
        session_id=session.id or document.stem,
        agent="gemini-cli",
        model=next((message.model for message in messages if message.model), ""),
        moves=tuple(_moves(messages)),
    )


class _Session:
    """The session as its lines so far have it."""

    def __init__(self) -> None:
        self.id = ""
        self.messages: dict[str, _Message] = {}

    def read(self, record: Record) -> Iterator[Broken | Skipped]:
        try:
            known = self._take(record.value)
        except msgspec.ValidationError as error:
            yield broken(record, error, EXPECTED)
            return
        if not known:
            yield Skipped(kind="line of an unknown kind")

    def _take(self, value: Any) -> bool:
        match value:
            case {"$rewindTo": str(first)}:
                self._rewind(first)
            case {"$set": Mapping() as fields}:
                self._replace(fields)
            case {"id": str(), "type": str()}:
                message = msgspec.convert(value, _Message)
                self.messages[message.id] = message
            case {"sessionId": str()}:
                self._replace(value)
            case _:
                return False
        return True

    def _replace(self, fields: Mapping[str, Any]) -> None:
        self.id = self.id or str(fields.get("sessionId") or "")
        if "messages" in fields:
            messages = msgspec.convert(fields["messages"], list[_Message])
            self.messages = {message.id: message for message in messages}

    def _rewind(self, first: str) -> None:
        """Takes back the message and those after it; all, where there is none of this id."""
        ids = list(self.messages)
        for gone in ids[ids.index(first) :] if first in self.messages else ids:
            del self.messages[gone]


def _moves(messages: list[_Message]) -> Iterator[Move]:
    for message in messages:
        text = _plain(message.content)
        match message.type:
            case "user" if text.strip() and not text.lstrip().startswith(_IGNORED):
                yield Person()
            case "error":
                yield Fault(kind="api error", message=text)
            case "gemini":
                calls = message.tool_calls or ()
                yield Said(
                    text=text,
                    calls=tuple(
                        Call(id=call.id, name=call.name, arguments=call.args) for call in calls
                    ),
                    usage=_tokens(message.tokens),
                    at_s=seconds(message.timestamp),
                )
                yield from map(_answered, calls)


def _answered(call: _Call) -> Answered:
    denied, text = call.status == "cancelled", _plain(call.result)
    codes = _EXIT_CODE.findall(text) if call.name == _SHELL else []
    failed = call.status == "error" or (codes and codes[-1] != "0")
    return Answered(
        text=text,
        outcome=outcome(failed, denied=denied),
        call_id=call.id,
        at_s=seconds(call.timestamp),
    )


def _plain(parts: Any) -> str:
    """The text of content as the API has it: texts and answers of functions, one or several."""
    match parts:
        case str():
            return parts
        case list():
            texts: list[str] = []
            for part in parts:  # A loop takes one frame for each level (see NESTED_MAX).
                texts.append(_plain(part))  # noqa: PERF401
            return "\n".join(filter(None, texts))
        case {"text": str(text)}:
            return text
        case {"functionResponse": {"response": Mapping() as response}}:
            for key in ("output", "error"):
                if isinstance(response.get(key), str):
                    return str(response[key])
            return msgspec.json.encode(response).decode()
    return ""


def _tokens(tokens: _Tokens | None) -> Usage | None:
    """Cached tokens are among the input; thoughts are counted apart from the output."""
    if tokens is None:
        return None
    return Usage(
        input_tokens=tokens.input,
        output_tokens=total(tokens.output, tokens.thoughts),
        cache_read_input_tokens=tokens.cached,
        context_tokens=tokens.total,
    )
