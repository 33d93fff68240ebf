"""The breaker: every line of its table, and the ways out that the table does not hold."""

from itertools import product

import pytest

from sidecar.core.breaker import ON_CONTINUE, TRANSITIONS, Breaker, Patience, State
from sidecar.core.reading import Severity

FOUNDING = Patience()
DEFAULT = Patience(trip_turns=3)

LETTERS = {
    State.HEALTHY: "h",
    State.WARNING: "w",
    State.TRIPPED: "T",
    State.RECOVERY: "r",
}
SEVERITIES = {".": Severity.NONE, "+": Severity.NONE, "w": Severity.WARNING, "b": Severity.BREAK}


def states(severities: str, start: State, patience: Patience) -> str:
    """The states after each turn; `+` is a quiet turn that made progress."""
    breaker, path = Breaker(state=start), ""
    for letter in severities:
        breaker = breaker.after(SEVERITIES[letter], progressed=letter == "+", patience=patience)
        path += LETTERS[breaker.state]
    return path


def test_the_tables_are_total() -> None:
    assert set(TRANSITIONS) == set(product(State, Severity))
    assert set(ON_CONTINUE) == set(State)


@pytest.mark.parametrize(
    ("start", "severity", "after"),
    [
        (State.HEALTHY, ".", "h"),
        (State.HEALTHY, "w", "w"),
        (State.HEALTHY, "b", "T"),
        (State.WARNING, ".", "h"),
        (State.WARNING, "w", "w"),
        (State.WARNING, "b", "T"),
        (State.TRIPPED, ".", "T"),
        (State.TRIPPED, "w", "T"),
        (State.TRIPPED, "b", "T"),
        (State.RECOVERY, ".", "r"),
        (State.RECOVERY, "w", "T"),
        (State.RECOVERY, "b", "T"),
    ],
)
def test_each_severity_leads_from_each_state_where_the_table_says(
    start: State, severity: str, after: str
) -> None:
    assert states(severity, start, FOUNDING) == after


@pytest.mark.parametrize(
    ("why", "patience", "start", "severities", "path"),
    [
        ("two quiet turns end recovery", FOUNDING, State.RECOVERY, "..", "rh"),
        ("recovery trips at its first warning", FOUNDING, State.RECOVERY, ".w", "rT"),
        ("a founding trip stands for ever", FOUNDING, State.TRIPPED, "++++++", "TTTTTT"),
        ("three turns without a break, one with progress", DEFAULT, State.TRIPPED, ".+.", "TTr"),
        ("three idle turns prove nothing", DEFAULT, State.TRIPPED, ".....", "TTTTT"),
        ("progress after three idle turns", DEFAULT, State.TRIPPED, "...+", "TTTr"),
        ("a warning is no break", DEFAULT, State.TRIPPED, "w+w", "TTr"),
        ("a break starts the count again", DEFAULT, State.TRIPPED, "++b++.", "TTTTTr"),
        ("out of a trip, all the way", DEFAULT, State.TRIPPED, "+....", "TTrrh"),
    ],
)
def test_the_ways_back(
    why: str, patience: Patience, start: State, severities: str, path: str
) -> None:
    assert states(severities, start, patience) == path, why


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (State.HEALTHY, State.HEALTHY),
        (State.WARNING, State.HEALTHY),
        (State.TRIPPED, State.RECOVERY),
        (State.RECOVERY, State.RECOVERY),
    ],
)
def test_continue_forgets_a_warning_and_gives_a_trip_a_second_chance(
    before: State, after: State
) -> None:
    assert Breaker(state=before).after_continue().state is after


def test_continue_in_recovery_keeps_the_quiet_turns() -> None:
    breaker = Breaker(state=State.RECOVERY, quiet=1)

    assert breaker.after_continue() == breaker


@pytest.mark.parametrize("before", list(State))
def test_reset_leads_to_recovery_from_anywhere(before: State) -> None:
    assert Breaker(state=before).after_reset() == Breaker(state=State.RECOVERY)
