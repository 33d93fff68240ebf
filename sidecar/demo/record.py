"""What is known of one agent's run: what the board shows and the closing table sums up."""

from dataclasses import dataclass, replace
from enum import StrEnum

from sidecar.client import Directive, Kind
from sidecar.demo.cast import Part
from sidecar.demo.measuring import Spent


class Ending(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    ANSWERED = "answered"
    HALTED = "halted"
    CANCELLED = "cancelled"
    """The demo was over before it was."""
    LEFT_OUT = "left out"
    """It could not safely be begun here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A directive that is more than a proceed."""

    kind: Kind
    turn: int
    """The turn it answers, which is not the latest where it came late."""
    signal: str
    why: str
    """The evidence in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run so far."""

    part: Part
    session_id: str
    ending: Ending = Ending.RUNNING
    turns: int = 0
    state: str = ""
    """As the sidecar last said it; empty: it has said nothing."""
    told: tuple[Told, ...] = ()
    """Every directive that was more than a proceed, in the order they came."""
    readings: int = 0
    """Turns with a signal above none."""
    unanswered: int = 0
    """Turns that the agent went on from without a decision."""
    last_turn_tokens: int = 0
    """Input and output of the latest turn."""
    answer: str = ""
    remark: str = ""
    """What else became of it last, in a few words: an answer that was forced, a verdict."""
    fault: str = ""
    """What went wrong with it; empty: nothing."""

    def after(self, directive: Directive, spent: Spent, answer: str) -> "Record":
        """The record after one more turn."""
        told = told_of(directive)
        return replace(
            self,
            turns=self.turns + 1,
            state=directive.state or self.state,
            told=self.told if told is None else (*self.told, told),
            readings=self.readings + bool(directive.readings),
            unanswered=self.unanswered + (directive.fail_open_reason is not None),
            last_turn_tokens=spent.input + spent.output,
            answer=answer,
        )

    def first(self, kind: Kind) -> Told | None:
        """The first directive of a kind."""
        return next((told for told in self.told if told.kind is kind), None)

    @property
    def turns_saved(self) -> int | None:
        """Turns that the script had left when it was told; None: it was not, or still runs."""
        trouble = self.part.role.trouble
        if trouble is None or not self.told or self.ending is not Ending.ANSWERED:
            return None
        return trouble.turns_unwatched - self.turns

    @property
    def tokens_saved(self) -> int | None:
        """The turns saved at the price of the last one; too low, since contexts grow."""
        turns = self.turns_saved
        return None if turns is None else turns * self.last_turn_tokens

    @property
    def complaint(self) -> str:
        """What is not as it is expected of this role; empty: all is."""
        name, trouble = self.part.name, self.part.role.trouble
        rotate = self.first(Kind.ROTATE)
        if self.fault:
            return f"{name} {self.fault}"
        if self.ending is Ending.LEFT_OUT:
            return ""
        if self.ending is not Ending.ANSWERED:
            return f"{name} has no answer: it is {self.ending.value}"
        if 2 * self.unanswered > self.turns:
            return f"{name} went on without a decision in {self.unanswered} of {self.turns} turns"
        if trouble is None:
            disturbed = self.told or self.readings
            return f"{name} was disturbed, and does well" if disturbed else ""
        if rotate is None:
            return f"{name} was not rotated"
        if rotate.signal != trouble.signal:
            return f"{name} was rotated by {rotate.signal}, not by {trouble.signal}"
        return ""


def told_of(directive: Directive) -> Told | None:
    """A directive as it is remembered; None: a proceed."""
    if directive.kind is Kind.PROCEED:
        return None
    gravest = directive.readings[0] if directive.readings else None
    return Told(
        kind=directive.kind,
        turn=directive.decision.sequence if directive.decision else 0,
        signal=gravest.signal if gravest else "",
        why=gravest.summary if gravest else directive.instruction,
    )
