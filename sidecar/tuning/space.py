"""Which thresholds are tried, and at which values.

Only what breaks is searched, and the windows that its counts are held in: a false stop, a caught
run and a saved turn are all a matter of breaks. Warnings stay where the policy has them, unless a
break comes to lie below its warning; then it takes the warning along.

The values are those between "a second time is no habit yet" and "so patient that it comes too late
to save anything" (the runs that were read end after some 10 to 80 turns). What a policy has off
stays off, and its own value is always among those tried.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from sidecar.config.changes import with_thresholds
from sidecar.config.given import ConfigError
from sidecar.config.thresholds import threshold_values
from sidecar.core.policy import Policy

Threshold: TypeAlias = tuple[str, str]
"""Signal, and the name that the threshold is written under."""

Number: TypeAlias = int | float

Configuration: TypeAlias = tuple[tuple[Threshold, Number], ...]
"""The thresholds that differ from the policy's own, in the order of SPACE; empty: the policy."""

UNCHANGED: Final[Configuration] = ()

SPACE: Final[Mapping[Threshold, tuple[Number, ...]]] = MappingProxyType(
    {
        ("loop", "repeat_break"): (3, 4, 5, 6),
        ("loop", "failing_break"): (3, 4, 5, 6),
        ("loop", "nearby_break"): (4, 5, 6, 8),
        ("loop", "nearby_window"): (8, 12, 16, 24),
        ("loop", "far_break"): (6, 7, 9, 12),
        ("loop", "far_window"): (20, 30, 40, 60),
        ("loop", "answer_break"): (4, 5, 6, 7, 8),
        ("loop", "answer_break_window"): (5, 6, 8, 10, 12),
        ("loop", "answer_fruitless_break"): (3, 4, 5, 6),
        ("loop", "cycle_break"): (2, 3, 4),
        ("loop", "cycle_period_max"): (4, 6, 8),
        ("loop", "stale_break"): (6, 7, 8, 9, 12, 15),
        ("loop", "overview_break"): (5, 6, 8, 10),
        ("loop", "waiting_break"): (6, 8, 10, 15, 20),
        ("loop", "refusal_break"): (3, 4, 5),
        ("loop", "compaction_break"): (2, 3, 4),
        ("loop", "monologue_break"): (2, 3, 4, 5),
        ("loop", "chant_break"): (6, 8, 10, 15),
        ("loop", "strike_discount"): (0, 1),
        ("loop", "founding_break"): (3, 4, 5, 6),
        ("loop", "founding_window"): (4, 5, 6, 8),
        ("spin", "break"): (3, 4, 5, 6, 8),
        ("spin", "break_window"): (5, 6, 8, 12, 16),
        ("stall", "break"): (5, 8, 12, 16, 20, 24),
        ("decline", "break_ratio"): (0.5, 0.6, 0.7, 0.8, 0.9),
        ("decline", "low_turns"): (1, 2, 3, 4),
        ("decline", "score_break"): (3, 4, 5, 6, 8),
        ("divergence", "window"): (3, 4, 5, 6),
        ("divergence", "persistence"): (1, 2, 3, 4),
        ("drift", "persistence_tasks"): (1, 2, 3, 4),
        ("token_overflow", "window_break_turns"): (3, 5, 8, 12),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One threshold that a policy has, and the values that it is tried at."""

    threshold: Threshold
    own: Number
    """The policy's."""
    values: tuple[Number, ...]
    """Ascending, `own` among them."""


class Space:
    """What can be tried of one policy."""

    def __init__(self, policy: Policy) -> None:
        """The declared space around a policy."""
        self.policy = policy
        self.knobs = _knobs(policy)
        self._places = {knob.threshold: place for place, knob in enumerate(self.knobs)}
        self._policies: dict[Configuration, Policy | None] = {}

    def at(self, configuration: Configuration) -> Policy | None:
        """The policy in a configuration; None where its thresholds contradict one another."""
        if configuration not in self._policies:
            self._policies[configuration] = self._made(configuration)
        return self._policies[configuration]

    def moved(self, configuration: Configuration, knob: Knob, value: Number) -> Configuration:
        """The configuration with one threshold at another value."""
        values = {**dict(configuration), knob.threshold: value}
        if value == knob.own:
            del values[knob.threshold]
        return tuple(sorted(values.items(), key=lambda item: self._places[item[0]]))

    def steps(self, configuration: Configuration) -> int:
        """How far a configuration lies from the policy, in steps from one tried value to the
        next."""
        knobs = {knob.threshold: knob for knob in self.knobs}
        return sum(
            abs(knobs[name].values.index(value) - knobs[name].values.index(knobs[name].own))
            for name, value in configuration
        )

    def _made(self, configuration: Configuration) -> Policy | None:
        try:
            return with_thresholds(self.policy, dict(configuration))
        except ConfigError:
            return None


def _knobs(policy: Policy) -> tuple[Knob, ...]:
    own = {
        (watch.signal.name, name): value
        for watch in policy.in_force
        for name, value in threshold_values(watch.thresholds).items()
    }
    return tuple(
        Knob(threshold=threshold, own=own[threshold], values=_values(declared, own[threshold]))
        for threshold, declared in SPACE.items()
        if own.get(threshold) is not None and _holds_a_break(threshold, own)
    )


def _holds_a_break(threshold: Threshold, own: Mapping[Threshold, object]) -> bool:
    """Whether a window, if it is one, is of a count that breaks."""
    signal, name = threshold
    if not name.endswith("_window"):
        return True
    stem = name.removesuffix("_window")
    return any(own.get((signal, count)) is not None for count in (stem, f"{stem}_break"))


def _values(declared: tuple[Number, ...], own: Number) -> tuple[Number, ...]:
    return tuple(sorted({*declared, own}))
