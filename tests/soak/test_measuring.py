"""What the soak is judged by finds what it is to find."""

import pytest

from sidecar.v1 import run_pb2
from tests.process.uninterrupted import turns, uninterrupted
from tests.soak.ledger import Ledger
from tests.soak.measuring import growth, slope_per_hour, total

PAGE = [
    "# HELP lost what was lost",
    'lost{what="span",reason="full"} 3.0',
    'lost{what="entry",reason="full"} 4.0',
    "lost_other 9.0",
]


def heard(count: int = 8) -> Ledger:
    """A session of which everything was heard once."""
    ledger = Ledger("s")
    ledger.sent = turns(count, 3)
    for decision in uninterrupted("s", ledger.sent):
        ledger.hear_turn(decision, expected=decision.sequence)
    return ledger


def test_an_uninterrupted_run_has_no_fault() -> None:
    ledger = heard()
    ledger.hear_turn(ledger.heard[3], expected=4)
    ledger.settle()

    assert ledger.faults == []
    assert ledger.heard_again == 1


def test_a_command_counts_after_the_turn_it_names() -> None:
    ledger = Ledger("s")
    ledger.sent = turns(40, 3)
    reset = run_pb2.ResetCommand(reason="afresh")
    ledger.commands = [run_pb2.Command(after_sequence=20, reset=reset)]
    for decision in uninterrupted("s", ledger.sent, ledger.commands):
        if decision.cause == run_pb2.CAUSE_TURN:
            ledger.hear_turn(decision, expected=decision.sequence)
        else:
            assert decision.sequence == 20
            ledger.hear_unasked(decision)
    ledger.settle()
    assert ledger.faults == []

    ledger.commands = []
    ledger.settle()
    assert any("nobody commanded" in fault for fault in ledger.faults)


def test_a_decision_that_is_missing_doubled_or_not_due_is_a_fault() -> None:
    ledger = heard()
    last = ledger.heard[-1]
    ledger.hear_turn(last, expected=last.sequence + 1)
    ledger.hear_unasked(last)

    assert ["instead of one on 9" in ledger.faults[0], "not due" in ledger.faults[1]] == [True] * 2


def test_another_decision_than_before_or_than_the_fold_s_is_a_fault() -> None:
    ledger = heard()
    other = run_pb2.Decision()
    other.CopyFrom(ledger.heard[4])
    other.overridden = not other.overridden
    ledger.hear_turn(other, expected=5)
    ledger.heard[4] = other
    ledger.settle()

    assert "another decision than before" in ledger.faults[0]
    assert "the fold decides otherwise" in ledger.faults[1]


def test_growth_compares_the_ends_and_does_not_see_a_single_peak() -> None:
    assert growth([1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) == 0
    assert growth([1, 1, 1, 9, 1, 1, 1, 1, 1, 1]) == 0
    assert growth([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) == 8


def test_a_slope_is_that_of_an_hour() -> None:
    assert slope_per_hour([(0, 50), (1800, 51), (3600, 52)]) == pytest.approx(2)


def test_a_total_is_of_one_metric_and_its_labels() -> None:
    assert total(PAGE, "lost") == 7
    assert total(PAGE, "lost", 'what="span"') == 3
    assert total(PAGE, "lost", 'what="other"') == 0
