"""Journal entries as bytes, exactly as they were folded, and as lines of a run file."""

from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from sidecar.adapters.convert.decisions import decision_in, decision_out, rejection_out
from sidecar.adapters.convert.openings import closing_out, command_out, limits_out, opening_out
from sidecar.adapters.convert.turns_out import turn_out
from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Decision, decision_id
from sidecar.core.opening import (
    Beginning,
    Closing,
    Continue,
    Idle,
    Opening,
    Reset,
    Succession,
    Verdict,
)
from sidecar.core.reading import Reading, Severity
from sidecar.core.turn import Turn
from sidecar.core.value import replace, value
from sidecar.ports import Entry, Event, Rejected
from sidecar.v1 import convergence_service_pb2 as wire_pb
from sidecar.v1 import run_pb2 as pb


@value
class _KeptDecision:
    """A decision, and what of it is not on the wire."""

    state_before: State
    wire: bytes = b""
    """The message; empty for a plain proceed, which the three fields below and the entry make."""
    signal: str = ""
    state: State = State.HEALTHY
    sequence: int = 0
    policy_revision: str = ""
    below: tuple[tuple[str, float, float], ...] = ()
    """Signal, value and threshold of the readings of severity NONE."""


class EntryBytes:
    """Encodes and decodes entries by MessagePack, whose decoder checks every type.

    The event's bytes hold keyed digests, so they can be folded again after a crash; a run file
    (`line_out`) is for other eyes, and is keyed once more when it is read.
    """

    def __init__(self) -> None:
        kinds: tuple[type, ...] = (
            Beginning, Succession, Opening,
            Turn, Rejected, Closing, Continue, Reset, Idle, Verdict,
        )  # fmt: skip
        self._encoder = msgspec.msgpack.Encoder()
        self._decoders = {
            kind.__name__.lower(): msgspec.msgpack.Decoder[Any](kind) for kind in kinds
        }
        self._decisions = msgspec.msgpack.Decoder(_KeptDecision)

    def encode(self, entry: Entry) -> tuple[str, bytes, bytes]:
        """The entry's kind, its event and its decision (empty: none)."""
        decision = entry.decision
        kept = b"" if decision is None else self._encoder.encode(_kept(decision))
        return type(entry.event).__name__.lower(), self._encoder.encode(entry.event), kept

    def decode(
        self,
        session_id: str,
        number: int,
        time_s: float,
        kind: str,
        line: bytes,
        decision: bytes,
        content: bytes,
    ) -> Entry:
        """The entry. Raises ValueError for bytes that are none."""
        decoder = self._decoders.get(kind)
        if decoder is None:
            raise ValueError(f"unknown kind of journal entry: {kind!r}")
        event: Event = decoder.decode(line)
        return Entry(
            session_id=session_id,
            number=number,
            time_s=time_s,
            event=event,
            decision=self._decision(decision, session_id) if decision else None,
            content=content,
        )

    def _decision(self, kept: bytes, session_id: str) -> Decision:
        found = self._decisions.decode(kept)
        if not found.wire:
            return Decision(
                decision_id=decision_id(
                    session_id, found.sequence, Cause.TURN, found.policy_revision
                ),
                sequence=found.sequence,
                cause=Cause.TURN,
                state=found.state,
                state_before=found.state_before,
                below=_below(found),
                policy_revision=found.policy_revision,
            )
        wire = pb.Decision()
        try:
            wire.ParseFromString(found.wire)
        except DecodeError as fault:
            raise ValueError("the decision is no message") from fault
        decision = decision_in(wire, state_before=found.state_before, signal=found.signal)
        return replace(decision, below=_below(found))


def _kept(decision: Decision) -> _KeptDecision:
    below = tuple((each.signal, each.value, each.threshold) for each in decision.below)
    if decision.is_plain:
        return _KeptDecision(
            state_before=decision.state_before,
            state=decision.state,
            sequence=decision.sequence,
            policy_revision=decision.policy_revision,
            below=below,
        )
    return _KeptDecision(
        state_before=decision.state_before,
        wire=decision_out(decision).SerializeToString(),
        signal=decision.signal,
        below=below,
    )


def _below(kept: _KeptDecision) -> tuple[Reading, ...]:
    return tuple(
        Reading(severity=Severity.NONE, value=value, threshold=threshold, signal=signal)
        for signal, value, threshold in kept.below
    )


def line_out(entry: Entry, *, after_sequence: int) -> wire_pb.RunFileLine:
    """The entry as a line of a run file; `after_sequence`: the last turn before it."""
    match entry.event:
        case Opening() as opening:
            return wire_pb.RunFileLine(open=opening_out(opening))
        case Beginning(opening=opening, limits=limits):
            granted = limits_out(limits) or pb.Limits()
            return wire_pb.RunFileLine(open=opening_out(opening), granted_limits=granted)
        case Succession(opening=opening, inherited=inherited):
            return wire_pb.RunFileLine(open=opening_out(opening), inherited_json=inherited)
        case Turn() as turn:
            return wire_pb.RunFileLine(turn=turn_out(turn))
        case Rejected() as rejected:
            return wire_pb.RunFileLine(
                rejected=wire_pb.RejectedTurn(
                    sequence=rejected.sequence,
                    id=rejected.id,
                    rejection=rejection_out(rejected.rejection),
                )
            )
        case Closing() as closing:
            return wire_pb.RunFileLine(close=closing_out(closing))
        case command:
            return wire_pb.RunFileLine(command=command_out(command, after_sequence=after_sequence))
