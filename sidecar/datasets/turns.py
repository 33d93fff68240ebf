"""Moves into turns: the one place that knows where a turn begins and what belongs to it."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.adapters.convert import identifier
from sidecar.core.answers.messages import sendable
from sidecar.datasets.json_text import decode
from sidecar.datasets.moves import Answered, Call, Fault, Move, Person, Recording, Said
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

MARK: Final = "\n...[cut]...\n"
TAIL_CHARACTERS: Final = 280
"""The end of a long text is kept too: that is where a tool says how it went."""
_MARK_CHARACTERS: Final = 20
_TIMES: Final = (-62_135_596_800, 253_402_300_799)
"""The years 1 to 9999 in seconds since 1970: what a Timestamp holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much of a long text is kept, in characters, the mark of the cut included."""

    result_max: int = 2_000
    text_max: int = 8_192
    argument_max: int = 8_192
    """Of one text within the arguments of a call."""


DEFAULT_BOUNDS: Final = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What became of a recording."""

    turns: tuple[run_pb2.Turn, ...]
    strays: int
    """Answers that belong to no call."""


def fold(recording: Recording, bounds: Bounds = DEFAULT_BOUNDS) -> Folded:
    """The turns of a recording, numbered from 1."""
    folding = _Folding(bounds=bounds)
    for move in recording.moves:
        folding.take(move)
    return Folded(turns=tuple(folding.turns), strays=folding.strays)


def run_lines(recording: Recording, folded: Folded, *, session_id: str) -> Iterator[pb.RunFileLine]:
    """The run file of a recording, under this session."""
    opening = run_pb2.Open(
        session_id=session_id,
        agent_name=_name(recording.agent),
        model=_name(recording.model),
    )
    yield pb.RunFileLine(open=opening)
    for turn in folded.turns:
        yield pb.RunFileLine(turn=turn)


def cut(text: str, most: int, mark: str = MARK) -> str:
    """The text, or its beginning and end where it is longer than `most` characters."""
    if len(text) <= most:
        return text
    tail = min(TAIL_CHARACTERS, most // 4)
    head = max(0, most - tail - max(_MARK_CHARACTERS, len(mark)))
    return text[:head] + mark + text[len(text) - tail :]


def _name(text: str) -> str:
    return identifier(sendable(text))


_Asked: TypeAlias = tuple[run_pb2.Turn, run_pb2.ToolCall]


class _Folding:
    """The turns so far."""

    def __init__(self, *, bounds: Bounds) -> None:
        self.turns: list[run_pb2.Turn] = []
        self.strays = 0
        self._bounds = bounds
        self._spoken = False
        self._calls: dict[str, _Asked] = {}
        self._waiting: list[_Asked] = []
        """Calls of the last turn without an answer, oldest first."""

    def take(self, move: Move) -> None:
        match move:
            case Person():
                self._spoken = True
            case Said():
                self._begin(move)
            case Answered():
                self._answer(move)
            case Fault():
                self._fail(move)

    def _begin(self, said: Said) -> None:
        turn = run_pb2.Turn(
            sequence=len(self.turns) + 1, actor=_name(said.actor), user_input=self._spoken
        )
        self._spoken = False
        if said.at_s is not None:
            _set_time(turn.start_time, said.at_s)
            _set_time(turn.end_time, said.until_s or said.at_s)
        if said.text:
            turn.text = sendable(cut(said.text, self._bounds.text_max))
            turn.output_lines = len(said.text.splitlines())
        if said.usage is not None and said.usage.ListFields():
            turn.usage.CopyFrom(said.usage)
        self.turns.append(turn)
        self._waiting = [self._ask(turn, call) for call in said.calls]

    def _ask(self, turn: run_pb2.Turn, call: Call) -> _Asked:
        asked = turn.tool_calls.add(id=_name(call.id), name=_name(call.name))
        if call.arguments is not None:
            asked.arguments_json = arguments_json(call.arguments, self._bounds.argument_max)
        if asked.id:
            self._calls[asked.id] = turn, asked
        return turn, asked

    def _answer(self, answered: Answered) -> None:
        found = self._asked(_name(answered.call_id))
        if found is None:
            self.strays += 1
            return
        turn, call = found
        self._waiting = [waiting for waiting in self._waiting if waiting[1] is not call]
        call.result_text = sendable(cut(answered.text, self._bounds.result_max))
        call.outcome = answered.outcome
        if answered.at_s is not None:
            _set_time(turn.end_time, answered.at_s)

    def _asked(self, call_id: str) -> _Asked | None:
        """The call of this id. Some sources use an id again, so one that waits comes first."""
        for waiting in self._waiting:
            if call_id in ("", waiting[1].id):
                return waiting
        return self._calls.get(call_id)

    def _fail(self, fault: Fault) -> None:
        if not self.turns:
            self._begin(Said())
        message = sendable(cut(fault.message, self._bounds.result_max))
        self.turns[-1].failures.add(kind=_name(fault.kind), message=message)


def arguments_json(arguments: Any, most: int) -> str:
    """Arguments as JSON text; texts in them that are longer than `most` characters are cut.

    The mark of such a cut holds a digest of the whole, since two calls that differ must not come
    to look alike: an edit is often told from the next one by its middle.
    """
    value = _parsed(arguments) if isinstance(arguments, str) else arguments
    text: str = sendable(json.dumps(_shortened(value, most), ensure_ascii=False, sort_keys=True))
    return text


def _parsed(text: str) -> Any:
    try:
        return decode(text) if text.strip() else {}
    except ValueError:
        return text


def _shortened(value: Any, most: int) -> Any:
    match value:
        case str() if len(value) > most:
            whole = hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:16]
            return cut(value, most, f"\n...[cut {whole}]...\n")
        # Loops: in a comprehension each level would take two frames (see NESTED_MAX).
        case dict():
            named: dict[str, Any] = {}
            for key, part in value.items():
                named[str(key)] = _shortened(part, most)
            return named
        case list():
            listed: list[Any] = []
            for part in value:
                listed.append(_shortened(part, most))  # noqa: PERF401
            return listed
    return value


def _set_time(stamp: Timestamp, seconds: float) -> None:
    if _TIMES[0] <= seconds <= _TIMES[1]:
        stamp.FromMicroseconds(round(seconds * 1e6))
