"""What a reading measured, in a few words and in its own unit.

A signal may measure several things (a budget in tokens, one in US dollars, how full a window is),
and a reading has two plain numbers. Which of them it was stands in its summary, which the signal
worded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from sidecar.v1 import run_pb2 as pb

Unit = Callable[[float], str]
"""A number as a person reads it."""


def count(number: float) -> str:
    """1,234,567; ten digits are more than any budget has."""
    return f"{number:,.10g}"


def percent(share: float) -> str:
    """0.96 as 96 %."""
    return f"{100 * share:.4g} %"


def _seconds(number: float) -> str:
    return f"{count(number)} s"


def _us_dollars(number: float) -> str:
    return f"{number:,.8g} US dollars"


def _points(number: float) -> str:
    return f"{number:.4g} points"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One of the things that a signal measures."""

    within: str = ""
    """What its summaries have, and those of the measures after it do not."""
    words: str
    """A few that fit into a table, with `{value}` and `{threshold}`."""
    unit: Unit = count


MEASURES: Final[Mapping[str, tuple[Measure, ...]]] = MappingProxyType(
    {
        "max_turns": (
            Measure(within=" s of its ", words="time {value} of {threshold}", unit=_seconds),
            Measure(words="turn {value} of {threshold}"),
        ),
        "token_overflow": (
            Measure(within="context window", words="context window {value} full", unit=percent),
            Measure(within="US dollars", words="spent {value} of {threshold}", unit=_us_dollars),
            Measure(words="{value} of {threshold} input tokens"),
        ),
        "loop": (Measure(words="repeated {value}x"),),
        "spin": (Measure(words="same error {value}x"),),
        "stall": (Measure(words="no progress {value}x"),),
        "decline": (
            Measure(within="the score fell", words="score fell {value}x"),
            Measure(words="output down {value}", unit=percent),
        ),
        "divergence": (Measure(words="confidence up, results down"),),
        "circling": (Measure(words="judged to go round {value}x"),),
        # In the signal's own order: its first breach has the numbers.
        "drift": (
            Measure(within="completed tasks", words="off the plan", unit=percent),
            Measure(within="changed files", words="off the plan", unit=percent),
            Measure(words="off the plan", unit=_points),
        ),
    }
)
"""By signal; the last of each is what the others are not."""


def in_few_words(reading: pb.Reading) -> str:
    """Why a state was taken on; the signal's name where it is of a later version."""
    measure = _measure(reading)
    return measure.words.format(
        value=measure.unit(reading.value), threshold=measure.unit(reading.threshold)
    )


def against_limit(reading: pb.Reading) -> str:
    """The value and the threshold, each in its unit."""
    unit = _measure(reading).unit
    return f"{unit(reading.value)} / {unit(reading.threshold)}"


def _measure(reading: pb.Reading) -> Measure:
    for measure in MEASURES.get(reading.signal, ()):
        if measure.within in reading.summary:
            return measure
    return Measure(words=reading.signal.replace("{", "{{").replace("}", "}}"))
