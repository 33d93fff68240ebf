"""What one threshold trades: a policy with it at each of its values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sidecar.config.changes import with_thresholds
from sidecar.core.policy import Policy
from sidecar.evaluation.cases import Case
from sidecar.evaluation.detecting import PolicyDetector
from sidecar.evaluation.measures import After, Share, measure

THRESHOLD: Final = ("loop", "answer_break")
"""The same answer whatever is asked: of all rules the one that finds most of the recorded stuck
runs, so the one whose threshold trades most."""

VALUES: Final = range(2, 9)
"""From the least that the signal takes to the calls in which it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The policy with the threshold at one value."""

    value: int
    saved: After
    lost: After
    solved: Share
    """With BREAK."""
    stuck: Share
    """With BREAK."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A threshold from its least value to its largest."""

    policy: str
    threshold: str
    value: int
    """The policy's own."""
    points: tuple[Point, ...]


def sweep_detectors(policy: Policy) -> tuple[tuple[int, PolicyDetector], ...]:
    """The policy with the threshold at each value; none where it does not use the threshold."""
    if _value(policy) is None:
        return ()
    return tuple((value, PolicyDetector(policy=_with(policy, value))) for value in VALUES)


def sweep(cases: Sequence[Case], policy: Policy) -> Sweep | None:
    """The figures of `sweep_detectors`, by which the cases were marked."""
    own = _value(policy)
    if own is None:
        return None
    return Sweep(
        policy=policy.name,
        threshold=".".join(THRESHOLD),
        value=own,
        points=tuple(
            _point(value, cases, detector.name) for value, detector in sweep_detectors(policy)
        ),
    )


def _point(value: int, cases: Sequence[Case], detector: str) -> Point:
    measures = measure(cases, detector)
    return Point(
        value=value,
        saved=measures.saved,
        lost=measures.lost,
        solved=measures.solved.break_,
        stuck=measures.stuck.break_,
    )


def _value(policy: Policy) -> int | None:
    signal, name = THRESHOLD
    thresholds = (watch.thresholds for watch in policy.in_force if watch.signal.name == signal)
    value: int | None = getattr(next(thresholds, None), name, None)
    return value


def _with(policy: Policy, value: int) -> Policy:
    label = f"{policy.name} {'.'.join(THRESHOLD)}={value}"
    return replace(with_thresholds(policy, {THRESHOLD: value}), name=label)
