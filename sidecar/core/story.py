"""What a run tells of itself: sums, approaches, rotations. Nothing here decides anything."""

from sidecar.core.bounds import counted_cost
from sidecar.core.turn import Turn
from sidecar.core.value import replace, value

APPROACHES_MAX = 32
"""Approaches and rotations kept; the oldest go first. A run that named more is past explaining."""

ERRORS_MAX = 64
"""Distinct error fingerprints that are told apart; further ones are not counted."""

ERROR_BYTES = 8


@value
class Totals:
    """Sums over the run."""

    turns: int = 0
    """Turns counted; rejected and missing ones are not."""
    turns_missing: int = 0
    tool_calls: int = 0
    files_changed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    errors: bytes = b""
    """Distinct error fingerprints, packed."""

    def after(self, turn: Turn) -> "Totals":
        """The sums with this turn's amounts."""
        usage = turn.usage
        return Totals(
            turns=self.turns + 1,
            turns_missing=self.turns_missing,
            tool_calls=self.tool_calls + len(turn.tool_calls),
            files_changed=self.files_changed + (turn.progress.files_changed or 0),
            input_tokens=self.input_tokens + (usage.input_tokens or 0),
            output_tokens=self.output_tokens + (usage.output_tokens or 0),
            cost_usd=self.cost_usd + counted_cost(usage.cost_usd),
            errors=_with_errors(self.errors, turn) if turn.failures else self.errors,
        )

    @property
    def errors_distinct(self) -> int:
        """Distinct errors, at most ERRORS_MAX."""
        return len(self.errors) // ERROR_BYTES


@value
class Approach:
    """An approach and the turns it was tried in."""

    name: str
    first_sequence: int
    last_sequence: int
    outcome: str = ""
    """How it ended, in a few words; empty while it is being tried."""


@value
class Rotation:
    """A change of approach that a rotate asked for."""

    sequence: int
    signal: str
    previous: str = ""
    next: str = ""
    """Empty until the agent names another approach."""


@value
class Story:
    """The approaches tried and the rotations applied, oldest first."""

    approaches: tuple[Approach, ...] = ()
    rotations: tuple[Rotation, ...] = ()

    def after(self, turn: Turn) -> "Story":
        """The story with the approach that this turn names."""
        last = self.approaches[-1] if self.approaches else None
        if last is not None and last.name == turn.approach:
            held = replace(last, last_sequence=turn.sequence)
            return replace(self, approaches=(*self.approaches[:-1], held))
        new = Approach(
            name=turn.approach, first_sequence=turn.sequence, last_sequence=turn.sequence
        )
        earlier = self.approaches
        if last is not None and not last.outcome:
            earlier = (*earlier[:-1], replace(last, outcome="left for another"))
        return Story(
            approaches=(*earlier, new)[-APPROACHES_MAX:],
            rotations=tuple(
                replace(rotation, next=turn.approach)
                if not rotation.next and rotation.previous != turn.approach
                else rotation
                for rotation in self.rotations
            ),
        )

    def rotated(self, sequence: int, signal: str) -> "Story":
        """The story once a rotate was given."""
        previous = self.approaches[-1].name if self.approaches else ""
        rotation = Rotation(sequence=sequence, signal=signal, previous=previous)
        return replace(
            self._ended(f"rotated: {signal}"),
            rotations=(*self.rotations, rotation)[-APPROACHES_MAX:],
        )

    def ended(self, signal: str) -> "Story":
        """The story once the run was told to end."""
        return self._ended(f"ended: {signal}")

    @property
    def names(self) -> tuple[str, ...]:
        """The approaches' names, oldest first, each once."""
        return tuple(dict.fromkeys(approach.name for approach in self.approaches))

    def _ended(self, outcome: str) -> "Story":
        if not self.approaches:
            return self
        last = replace(self.approaches[-1], outcome=outcome)
        return replace(self, approaches=(*self.approaches[:-1], last))


def _with_errors(errors: bytes, turn: Turn) -> bytes:
    for failure in turn.failures:
        known = {errors[at : at + ERROR_BYTES] for at in range(0, len(errors), ERROR_BYTES)}
        if failure.fingerprint not in known and len(known) < ERRORS_MAX:
            errors += failure.fingerprint
    return errors
