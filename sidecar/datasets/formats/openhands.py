"""OpenHands: its events, as a list in one JSON file, as lines, or under `history` of output.jsonl.

Version 0 writes actions and observations, version 1 events with a `kind`. A line of `output.jsonl`
is one instance of an evaluation.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import msgspec

from sidecar.datasets.formats.openhands_events import (
    Event,
    Event1,
    ToolCall,
    acted,
    event_id,
    observed,
    observed1,
    own_arguments,
)
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
from sidecar.datasets.shapes import (
    broken,
    each,
    seconds,
    slug,
    words,
)
from sidecar.v1 import run_pb2

EXPECTED: Final = "an event of OpenHands: source with action, observation or kind"
INSTANCE: Final = "a line of output.jsonl of OpenHands: history, and mostly instance_id"

_QUIET: Final = frozenset(
    "system recall change_agent_state null agent_state_changed condensation condensation_request "
    "loop_recovery".split()
)
"""Actions and observations that are the framework's own."""


class _Instance(msgspec.Struct, frozen=True):
    history: list[Any]
    instance_id: str = ""
    resolved: bool | None = None
    report: dict[str, Any] | None = None
    test_result: dict[str, Any] | None = None


def convert(document: Document) -> Iterator[Finding]:
    """The recordings in the file: one for each instance, or the one that its events are."""
    if any(isinstance(r.value, Mapping) and "history" in r.value for r in document.records):
        for record in document.records:
            stand_in = slug(document.stem, record.place)
            yield from each((record,), _Instance, INSTANCE, partial(_instance, stand_in))
        return
    history = _History()
    for record in document.records:
        yield from history.read(record)
    if history.begun:
        yield history.recording(document.stem)


def _instance(stand_in: str, instance: _Instance) -> Iterator[Finding]:
    name = instance.instance_id or stand_in
    history = _History()
    for number, event in enumerate(_flat(instance.history), start=1):
        yield from history.read(Record(place=f"{name}, event {number}", value=event))
    if history.begun:
        yield replace(history.recording(name), solved=_solved(instance))


def _flat(history: Iterable[Any]) -> Iterator[Any]:
    """Early versions wrote pairs of action and observation."""
    for event in history:
        if isinstance(event, list):
            yield from event
        else:
            yield event


def _solved(instance: _Instance) -> bool | None:
    reports = ({"resolved": instance.resolved}, instance.report, instance.test_result)
    for report in reports:
        for table in (report or {}, (report or {}).get("report")):
            found = table.get("resolved") if isinstance(table, Mapping) else None
            if isinstance(found, bool):
                return found
    return None


class _History:
    """What the events so far came to."""

    def __init__(self) -> None:
        self._moves: list[Move] = []
        self._answers: dict[str, int] = {}
        """Where each answer of the model stands among the moves, by the id of the response."""
        self._asked: set[str] = set()
        """Ids of the calls of version 0."""
        self._model = ""

    @property
    def begun(self) -> bool:
        return any(isinstance(move, Said) for move in self._moves)

    def recording(self, name: str) -> Recording:
        return Recording(
            session_id=slug("openhands", name),
            agent="openhands",
            model=self._model,
            task=name,
            moves=tuple(self._moves),
        )

    def read(self, record: Record) -> Iterator[Broken | Skipped]:
        newer = isinstance(record.value, Mapping) and "kind" in record.value
        try:
            if newer:
                skipped = self._newer(msgspec.convert(record.value, Event1))
            else:
                skipped = self._older(msgspec.convert(record.value, Event))
        except msgspec.ValidationError as error:
            yield broken(record, error, EXPECTED)
            return
        if skipped:
            yield Skipped(kind=skipped)

    def _say(self, response: str | None, said: Said) -> None:
        """Adds an action; those of one response are one answer of the model."""
        known = self._answers.get(response) if response else None
        before = None if known is None else self._moves[known]
        if known is not None and isinstance(before, Said):
            self._moves[known] = replace(before, calls=before.calls + said.calls)
            return
        if response:
            self._answers[response] = len(self._moves)
        self._moves.append(said)

    def _older(self, event: Event) -> str:
        """The kind of an event that says nothing of a turn, else nothing."""
        kind = event.observation or event.action or "event without action"
        if kind in _QUIET or (event.action is None and event.observation is None):
            return kind
        if event.observation == "error" and event_id(event.cause) not in self._asked:
            text = words(event.content) or event.message or ""
            self._moves.append(Fault(kind="agent error", message=text))
        elif event.observation is not None:
            self._moves.append(observed(event))
        elif event.source == "user" or (event.source is None and event.action == "message"):
            self._moves.append(Person())
        else:
            self._acted(event)
        return ""

    def _acted(self, event: Event) -> None:
        found = acted(event)
        self._model = self._model or found.model
        self._asked.update(call.id for call in found.said.calls)
        self._say(found.response, found.said)

    def _newer(self, event: Event1) -> str:
        at_s = seconds(event.timestamp)
        match event.kind:
            case "ActionEvent":
                asked = event.tool_call or ToolCall(name=event.tool_name)
                name = event.tool_name or asked.name
                call = Call(
                    id=event.tool_call_id, name=name, arguments=own_arguments(asked.arguments)
                )
                said = Said(text=words(event.thought), calls=(call,), at_s=at_s)
                self._say(event.llm_response_id, said)
            case "ObservationEvent":
                self._moves.append(observed1(event))
            case "AgentErrorEvent":
                self._reject(event, event.error, run_pb2.OUTCOME_ERROR)
            case "UserRejectObservation":
                self._reject(event, event.rejection_reason, run_pb2.OUTCOME_DENIED)
            case "MessageEvent" if event.source == "user":
                self._moves.append(Person())
            case "MessageEvent" if event.llm_message is not None:
                text = words(event.llm_message.content)
                self._say(event.llm_response_id, Said(text=text, at_s=at_s))
            case _:
                return event.kind
        return ""

    def _reject(self, event: Event1, text: str | None, became: run_pb2.Outcome) -> None:
        if event.tool_call_id:
            at_s, call_id = seconds(event.timestamp), event.tool_call_id
            self._moves.append(
                Answered(text=text or "", outcome=became, call_id=call_id, at_s=at_s)
            )
        else:
            self._moves.append(Fault(kind="agent error", message=text or ""))
