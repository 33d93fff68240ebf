"""What this process saw of its run: the latest turns, what was decided on them, and the story.

It is told in the form in which an operator gets a session, so that the explanation is that of
`sidecar explain`.
"""

import secrets
from collections import deque
from dataclasses import replace
from typing import Final

from sidecar.adapters.convert import TurnReader, story_out, totals_out, turn_record
from sidecar.client import Directive
from sidecar.core.policy import Lens
from sidecar.core.story import Story, Totals
from sidecar.core.turn import Turn
from sidecar.explaining.explanation import explain
from sidecar.explaining.markdown import markdown
from sidecar.explaining.ways import going_on
from sidecar.v1 import run_pb2 as pb
from sidecar.v1 import session_service_pb2 as admin_pb

TURNS_MAX: Final = 1_000
"""Turns told of."""

COMMANDS_MAX: Final = 100
KEY_BYTES: Final = 32
POLICY_UNSAID: Final = "(the sidecar's default)"


class History:
    """One session as its agent saw it."""

    def __init__(self, *, policy: str, turns_max: int = TURNS_MAX) -> None:
        """`policy` is the name that was asked for; empty: none."""
        self.sequence = 0
        """Of the last turn."""
        self.latest = pb.Decision()
        """The decision that came last."""
        self._policy = policy
        # Error hashes are equal where errors are, within this process, and tell nothing outside.
        self._reader = TurnReader(key=secrets.token_bytes(KEY_BYTES), lens=Lens())
        self._turns: deque[admin_pb.TurnRecord] = deque(maxlen=turns_max)
        self._commands: deque[admin_pb.CommandRecord] = deque(maxlen=COMMANDS_MAX)
        self._story = Story()
        self._totals = Totals()

    def add(self, wire: pb.Turn, directive: Directive) -> None:
        """A turn that was reported, and the directive that its report returned."""
        decision = directive.decision
        is_own = decision is not None and decision.cause == pb.CAUSE_TURN and not directive.late
        sequence = decision.sequence if decision is not None and is_own else self.sequence + 1
        self.sequence = sequence
        record = self._record(wire, sequence)
        record.state_before = self.latest.state
        self._turns.append(record)
        if decision is not None:
            self._decided(decision)

    def session(self, session_id: str) -> admin_pb.GetSessionResponse:
        """The session as an operator would get it, as far as it is known here."""
        session = admin_pb.Session(
            session_id=session_id,
            policy=self._policy or POLICY_UNSAID,
            policy_revision=self.latest.policy_revision,
            state=self.latest.state,
            last_sequence=self.sequence,
            totals=totals_out(self._totals),
            **story_out(self._story),
        )
        return admin_pb.GetSessionResponse(
            session=session, turns=self._turns, commands=self._commands
        )

    def explanation(self, session_id: str) -> str:
        """The run explained, as Markdown. How a person sets it free is not told: a model reads
        this."""
        way_out = going_on(session_id)
        explanation = explain(self.session(session_id))
        panels = tuple(
            replace(panel, facts=tuple(fact for fact in panel.facts if way_out not in fact[1]))
            for panel in explanation.panels
        )
        return markdown(replace(explanation, panels=panels))

    def _record(self, wire: pb.Turn, sequence: int) -> admin_pb.TurnRecord:
        # One that is not counted is told by its decision.
        record = admin_pb.TurnRecord(sequence=sequence)
        read = self._reader.read(wire)
        if isinstance(read, Turn):
            turn = replace(read, sequence=sequence)
            self._totals = self._totals.after(turn)
            if turn.approach:
                self._story = self._story.after(turn)
            record = turn_record(turn)
        record.time.CopyFrom(wire.end_time)
        return record

    def _decided(self, decision: pb.Decision) -> None:
        if decision.cause == pb.CAUSE_TURN:
            # A late one belongs to an earlier turn, which may be too far back to be told of.
            for record in reversed(self._turns):
                if record.sequence == decision.sequence:
                    record.decision.CopyFrom(decision)
                    break
        else:
            self._command(decision)
        self._tell(decision)
        self.latest = decision

    def _command(self, decision: pb.Decision) -> None:
        command = pb.Command(after_sequence=decision.sequence)
        if decision.cause == pb.CAUSE_IDLE:
            # How long the last rotate let the agent wait.
            command.idle.waited.CopyFrom(self.latest.rotate.wait_max)
        record = admin_pb.CommandRecord(
            command=command, state_before=self.latest.state, decision=decision
        )
        self._commands.append(record)

    def _tell(self, decision: pb.Decision) -> None:
        signal = decision.readings[0].signal if decision.readings else ""
        match decision.WhichOneof("directive"):
            case "rotate":
                self._story = self._story.rotated(decision.sequence, signal)
            case "commit" | "halt":
                self._story = self._story.ended(signal)
            case _:
                pass
