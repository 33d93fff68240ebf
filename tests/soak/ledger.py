"""One session as its agent knows it, and what is wrong with what the agent was told.

P3 in a page: exactly one decision for every turn, in order, the same whenever the turn is sent
again, and the one that an uninterrupted fold of the same turns and commands comes to.
"""

import asyncio

from sidecar.v1 import run_pb2
from tests.process.uninterrupted import uninterrupted


class Ledger:
    """What was sent, what was heard, and what was done to the session meanwhile."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.sent: list[run_pb2.Turn] = []
        self.heard: list[run_pb2.Decision] = []
        """Decisions on turns: that on sequence N at N - 1."""
        self.unasked: list[run_pb2.Decision] = []
        self.commands: list[run_pb2.Command] = []
        self.steering = asyncio.Lock()
        """Held while a command is under way, since only its answer says where it came."""
        self.faults: list[str] = []
        self.heard_again = 0
        """Decisions that were heard more than once, the turn having been sent again."""

    @property
    def is_halted(self) -> bool:
        """Whether the agent was last told to stop."""
        return bool(self.heard) and self.heard[-1].HasField("halt")

    def fault(self, what: str) -> None:
        """Note what should not have happened."""
        self.faults.append(f"{self.session_id} at {len(self.heard)} of {len(self.sent)}: {what}")

    def hear_turn(self, decision: run_pb2.Decision, *, expected: int) -> None:
        """A decision that came where that on `expected` should."""
        if decision.sequence != expected:
            self.fault(f"a decision on {decision.sequence} came instead of one on {expected}")
        elif decision.HasField("rejection"):
            self.fault(f"turn {expected} was rejected: {decision.rejection}")
        elif expected <= len(self.heard):
            self.heard_again += 1
            if decision != self.heard[expected - 1]:
                self.fault(f"turn {expected} has another decision than before: {decision}")
        else:
            self.heard.append(decision)

    def hear_unasked(self, decision: run_pb2.Decision) -> None:
        """A decision that came while none was due."""
        if decision.cause == run_pb2.CAUSE_TURN:
            self.fault(f"a decision on {decision.sequence} came that was not due")
        else:
            self.unasked.append(decision)

    def settle(self) -> None:
        """Hold all that was heard against the fold, once the session is over."""
        if len(self.heard) != len({decision.decision_id for decision in self.heard}):
            self.fault("two turns have one decision")
        turns = self.sent[: len(self.heard)]
        expected = uninterrupted(self.session_id, turns, self.commands)
        on_turns = [one for one in expected if one.cause == run_pb2.CAUSE_TURN]
        for decision, folded in zip(self.heard, on_turns, strict=True):
            if decision != folded:
                self.fault(f"the fold decides otherwise: {folded}\nheard: {decision}")
                break
        known = [one.decision_id for one in expected if one.cause != run_pb2.CAUSE_TURN]
        told = [one.decision_id for one in self.unasked]
        if told != [each for each in known if each in told]:
            self.fault(f"was told what nobody commanded, or in another order: {self.unasked}")
