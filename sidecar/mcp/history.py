"""What this process saw of its run: the latest turns, what was decided on them, and the story.

It is told in the form in which an operator gets a session, so that the explanation is that of
`sidecar explain`.
"""

import secrets
from collections import deque
from dataclasses import replace
from typing import Final

from google.protobuf.duration_pb2 import Duration

from sidecar.adapters.convert import TurnReader
from sidecar.client import Directive
from sidecar.core.policy import Lens
from sidecar.core.story import Story, Totals
from sidecar.core.turn import Turn
from sidecar.explaining import CONTINUE, explain
from sidecar.explaining_markdown import markdown
from sidecar.v1 import run_pb2 as pb
from sidecar.v1 import session_service_pb2 as admin_pb

TURNS_MAX: Final = 1_000
"""Turns told of."""

COMMANDS_MAX: Final = 100
TOOLS_MAX: Final = 16
ERROR_DIGITS: Final = 4
"""As in a TurnRecord."""

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
        totals, story = self._totals, self._story
        session = admin_pb.Session(
            session_id=session_id,
            policy=self._policy or POLICY_UNSAID,
            policy_revision=self.latest.policy_revision,
            state=self.latest.state,
            last_sequence=self.sequence,
            totals=admin_pb.Totals(
                turns=totals.turns,
                files_changed=totals.files_changed,
                errors_distinct=totals.errors_distinct,
                input_tokens=totals.input_tokens,
                output_tokens=totals.output_tokens,
                cost_usd=totals.cost_usd,
            ),
            approaches=[
                admin_pb.Approach(
                    name=approach.name,
                    first_sequence=approach.first_sequence,
                    last_sequence=approach.last_sequence,
                    outcome=approach.outcome,
                )
                for approach in story.approaches
            ],
            rotations=[
                admin_pb.Rotation(
                    sequence=rotation.sequence,
                    signal=rotation.signal,
                    previous=rotation.previous,
                    next=rotation.next,
                )
                for rotation in story.rotations
            ],
        )
        return admin_pb.GetSessionResponse(
            session=session, turns=self._turns, commands=self._commands
        )

    def explanation(self, session_id: str) -> str:
        """The run explained, as Markdown. How a person sets it free is not told: a model reads
        this."""
        way_out = CONTINUE.format(session_id=session_id)
        explanation = explain(self.session(session_id))
        panels = tuple(
            replace(panel, facts=tuple(fact for fact in panel.facts if way_out not in fact[1]))
            for panel in explanation.panels
        )
        return markdown(replace(explanation, panels=panels))

    def _record(self, wire: pb.Turn, sequence: int) -> admin_pb.TurnRecord:
        read = self._reader.read(wire)
        record = admin_pb.TurnRecord(sequence=sequence, time=wire.end_time)
        match read:
            case Turn() as turn:
                self._count(turn, sequence)
                record.approach = turn.approach
                record.tools.extend(call.name for call in turn.tool_calls[:TOOLS_MAX])
                if turn.failures:
                    record.error = turn.failures[0].fingerprint.hex()[:ERROR_DIGITS]
                if turn.progress.files_changed is not None:
                    record.files_changed = turn.progress.files_changed
                if turn.output_lines is not None:
                    record.output_lines = turn.output_lines
            case _:
                pass  # its decision says why it was not counted
        return record

    def _count(self, turn: Turn, sequence: int) -> None:
        numbered = replace(turn, sequence=sequence)
        self._totals = self._totals.after(numbered)
        if numbered.approach:
            self._story = self._story.after(numbered)

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
            command.idle.waited.CopyFrom(self._waited())
        record = admin_pb.CommandRecord(
            command=command, state_before=self.latest.state, decision=decision
        )
        self._commands.append(record)

    def _waited(self) -> Duration:
        """How long the last rotate let the agent wait."""
        return self.latest.rotate.wait_max

    def _tell(self, decision: pb.Decision) -> None:
        signal = decision.readings[0].signal if decision.readings else ""
        match decision.WhichOneof("directive"):
            case "rotate":
                self._story = self._story.rotated(decision.sequence, signal)
            case "commit" | "halt":
                self._story = self._story.ended(signal)
            case _:
                pass
