"""How a signal is told of, to agents and to people, beside the evidence of its readings."""

from enum import Enum
from typing import Final

from sidecar.core.value import value


class Unit(Enum):
    """What a reading's two numbers count."""

    COUNT = "count"
    SHARE = "share"
    """From 0 to 1, told in per cent."""
    SECONDS = "seconds"
    US_DOLLARS = "US dollars"
    POINTS = "points"


@value
class Measure:
    """One of the things that a signal measures.

    A reading has two plain numbers; which of the measures they are of stands in its summary, which
    the signal words in the same module.
    """

    within: str = ""
    """What its summaries have, and those of the measures after it do not."""
    words: str
    """A few that fit into a table, with `{value}` and `{threshold}`."""
    unit: Unit = Unit.COUNT


@value
class Words:
    """All that is said of one signal."""

    measured: str = ""
    """What it measures, for the table of signals."""
    raised_by: str = ""
    """What raises it, for the same."""
    diagnosis: str = "See the evidence."
    """One sentence on a run that it has stopped."""
    suggestions: tuple[str, ...] = ("take a step that differs in kind from the last ones",)
    """What has helped, in the order in which it is suggested; those of spin, stall, decline,
    divergence and drift are the founding lists."""
    measures: tuple[Measure, ...] = ()
    """The last is what the others are not."""


UNKNOWN: Final = Words()
"""Of a signal of which nothing is said."""
