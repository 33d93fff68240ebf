"""spin: one error, again and again."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from sidecar.core.reading import QUIET
from sidecar.core.snapshot import SnapshotInvalid, decode, encode
from sidecar.core.turn import Failure, Outcome, ToolCall, Turn
from sidecar.signals.spin import ERRORS_MAX, EXECUTE, FOUNDING, SPIN, SpinThresholds
from tests.signals.calls import call, digest, run
from tests.signals.tables import check_signal, fold, restored, turns


def failing(*errors: str) -> list[Turn]:
    """Turns with these errors, each a word of fingerprints; empty: none."""
    return turns(
        failures=[tuple(failure(name) for name in named.split()) for named in errors],
        text=[digest("hm")] * len(errors),
    )


def failure(name: str, *, line: int = 0) -> Failure:
    """The error of this name at a line."""
    return Failure(kind=name, fingerprint=digest(name), strict=digest(f"{name}:{line}"))


@pytest.mark.parametrize(
    ("why", "errors", "readings"),
    [
        ("three turns of the run warn, five break", ["E", "E", "E", "E", "E"], "..wwb"),
        ("however far apart", ["E", *[""] * 40, "E", *[""] * 40, "E"], "." * 82 + "w"),
        ("another error in between does not reset", ["E", "F", "E", "F", "E"], "....w"),
        ("it is read only in turns that have it", ["E", "E", "E", "", "F"], "..w.."),
        ("one vote a turn", ["E E E", "E E"], ".."),
        ("the worst error decides", ["E F", "E F", "E", "E F", "E F"], "..wwb"),
        ("errors are counted apart", ["E", "F", "G", "H", "I"], "....."),
    ],
)
def test_founding_spin(why: str, errors: list[str], readings: str) -> None:
    check_signal(SPIN, failing(*errors), readings, FOUNDING)


def test_execute_breaks_at_the_third_without_a_warning() -> None:
    check_signal(SPIN, failing("E", "", "E", "F", "E"), "....b", EXECUTE)


@pytest.mark.parametrize(
    ("why", "errors", "readings"),
    [
        ("four turns warn, five break", ["E", "E", "E", "E", "E"], "...wb"),
        ("four of six warn", ["E", "", "E", "E", "", "E"], ".....w"),
        ("four of seven do not", ["E", "", "", "E", "E", "", "E"], "......."),
        ("five of eight break", ["E", "", "E", "", "E", "E", "", "E"], ".....w.b"),
        ("five of nine do not", ["E", "", "E", "", "E", "", "", "E", "E"], "........."),
    ],
)
def test_spin_in_a_window(why: str, errors: list[str], readings: str) -> None:
    check_signal(SPIN, failing(*errors), readings)


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("whatever the arguments it warns", "t(1):E! t(2):E! t(3):E! t(4):E! t(5):E!", "...ww"),
        ("and breaks where a call comes again", "t(1):E! t(2):E! t(3):E! t(3):E! t(4):E!", "...wb"),
        ("or writes", "e(1):E!^ e(2):E!^ e(3):E!^ e(4):E!^ e(5):E!^", "...wb"),
        ("a success of the failed call resets it", "t:E! t:E! t:E! t t:E!", "....."),
        ("nothing of it is left", "t:E! t t:E! t:E! t:E!", "....."),
        ("a success of another call does not", "t:E! t:E! t:E! u t:E!", "....w"),
        ("nor one with other arguments", "t:E! t:E! t:E! t(1) t:E!", "....w"),
        ("one denied is none", "t:E! t:E! t:E! t# t:E!", "....w"),
        ("it resets that error alone", "t:E! u:F!+t:E! u:F!+t:E! u:F!+t t:E! u:F!", ".....w"),
        (
            "another line of the same call does not count",
            "t:E@1! t:E@2! t:E@3! t:E@4! t:E@5!",
            ".....",
        ),
        ("the same line again does", "t:E@1! t:E@2! t:E@2! t:E@2! t:E@2!", "....w"),
        ("another line of another call does", "t(1):E@1! t(2):E@2! t(3):E@3! t(4):E@4!", "...w"),
        ("a person's word starts the window afresh", "t(1):E! t(2):E! t(3):E! >t(4):E!", "...."),
        ("a wait that fails is not over yet", "w:E~! w:E~! w:E~! w:E~! w:E~!", "....."),
        ("the error of another call beside it counts", "w:E~!+t:F! " * 4, "...w"),
        ("a look again after a pause is a wait", "w~+t:E! " * 5, "....."),
        ("in turns of their own too", "t:E! w~ t:E! w~ t:E! w~ t:E! w~ t:E!", "." * 9),
        ("a pause before work is none", "w~+e(1)^+t:E! w~+e(2)^+t:E! " * 2 + "t:E!", "...wb"),
        ("nor is one after work", "e(1)^ w~+t:E! e(2)^ w~+t:E! " * 2, ".......w"),
        ("what still does not run is waited for", "t:E!& t:E!& t:E!& t:E!& t:E!&", "....."),
        ("but not after work", "e(1)^ t:E!& e(2)^ t:E!& " * 2, ".......w"),
        ("a pause that fails is none", "w~!+t:E! " * 5, "...wb"),
        ("nothing before it counts", "t(1):E! t(2):E! >t(3):E! t(4):E! t(5):E!", "....."),
        ("a person's word alone does so too", "t(1):E! t(2):E! t(3):E! > t(4):E!", "....."),
    ],
)
def test_spin_and_calls(why: str, words: str, readings: str) -> None:
    check_signal(SPIN, run(words), readings)


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        (
            "turns that only write are none",
            "e(1)^ t:E! e(2)^ t:E! e(3)^ t:E! e(4)^ t:E!",
            ".......w",
        ),
        ("however many", "t:E! " + "e(1)^ e(2)^ e(3)^ e(4)^ t:E! " * 3, "." * 15 + "w"),
        ("nor do turns that only talk", 't:E! "one" "two" ' * 4, ".........w.."),
        ("the break counts turns", "t:E! e(1)^ " * 7, "......w.w.w.w."),
        ("a write that fails is one", "t:E! e:F!^ e:G!^ t:E! e:H!^ t:E! t:E!", "......."),
        (
            "so is a write beside another call",
            "t:E! " + "e(1)^+r(1) e(2)^+r(2) t:E! " * 3,
            "." * 10,
        ),
        ("so is a look", "t:E! " + "r(1) r(2) t:E! " * 3, "." * 10),
        (
            "what lies beyond 32 turns is forgotten",
            "t:E! " + "e(1)^ " * 30 + "t:E! t:E! t:E!",
            "." * 34,
        ),
    ],
)
def test_a_window_counts_tries(why: str, words: str, readings: str) -> None:
    check_signal(SPIN, run(words), readings)


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("after three messages it warns", ">t:E! >t:E! >t:E! >t:E!", "..ww"),
        ("with other turns in between", '>t:E! "no" >"hm" >t:E! "no" >t:E!', ".....w"),
        ("twice after one message is once", ">t:E! t:E! >t:E!", "..."),
        ("a success in between resets it", ">t:E! >t:E! t >t:E!", "...."),
        ("within twelve turns", ">t:E! >t:E! " + '"a" ' * 9 + ">t:E!", "." * 11 + "w"),
        ("not beyond", ">t:E! >t:E! " + '"a" ' * 10 + ">t:E!", "." * 13),
    ],
)
def test_an_error_that_comes_back_after_a_person_spoke(why: str, words: str, readings: str) -> None:
    check_signal(SPIN, run(words), readings)


def test_an_error_does_not_count_in_a_turn_after_which_fewer_tests_fail() -> None:
    fewer = [replace(turn, improved=True) for turn in run("t(1):E! t(1):F! " * 5)]
    same = run("t(1):E! t(1):E! t(1):E! t(1):E! t(1):E!")
    check_signal(SPIN, [replace(turn, improved=True) for turn in same], ".....")
    check_signal(SPIN, fewer, "." * 10)


def test_neither_success_nor_line_nor_person_matters_over_the_run() -> None:
    check_signal(SPIN, run("t:E@1! t >t:E@2! t t:E@3!"), "....w", FOUNDING)


def test_a_line_that_only_the_result_names_is_another_line() -> None:
    moving = [
        replace(turn, failures=(failure("E"),))
        for turn in run("t:E@1! t:E@2! t:E@3! t:E@4! t:E@5!")
    ]
    check_signal(SPIN, moving, ".....")


def test_failures_without_failed_calls_belong_to_the_only_call() -> None:
    reported = [
        replace(turn, failures=(failure("E"),), tool_calls=(call("t"),)) for turn in run("a a a")
    ]
    healthy = run("t t t t")[3]
    again = [replace(turn, sequence=turn.sequence + 4) for turn in reported]
    check_signal(SPIN, [*reported, healthy, *again], "." * 7)


def test_failures_of_one_of_several_calls_belong_to_none() -> None:
    reported = [
        replace(turn, failures=(failure("E"),), tool_calls=(call("t"), call("u")))
        for turn in run("a a a - a")
    ]
    reported[3] = run("- - - t")[3]
    check_signal(SPIN, reported, "....w")


def test_a_turn_that_reports_a_failure_shows_no_success() -> None:
    reported = [
        replace(turn, failures=(failure("E"),), tool_calls=(call("t"), call("u")))
        for turn in run("a a a a")
    ]
    check_signal(SPIN, reported, "...w")


def test_the_evidence_says_where_each_time_another_call_failed() -> None:
    reading = check_signal(SPIN, run("t(1):E! t(2):E! t(3):E! t(4):E!"), "...w")[-1]
    assert reading.summary == (
        "the same error (`tool_error`) came in 4 of the last 4 tries, each from another call "
        "(turns 1, 2, 3, 4)"
    )


def test_the_evidence_of_a_window_names_error_count_and_turns() -> None:
    reading = check_signal(SPIN, failing("E", "", "E", "E", "", "E"), ".....w")[-1]
    assert reading.summary == (
        "the same error (`E`) came in 4 of the last 6 tries (turns 1, 3, 4, 6)"
    )
    assert (reading.value, reading.threshold) == (4, 4)


def test_the_evidence_over_a_run_names_the_latest_turns() -> None:
    errors = ["E", *[""] * 40, "E", "E"]
    reading = check_signal(SPIN, failing(*errors), "." * 42 + "w", FOUNDING)[-1]
    assert reading.summary == (
        "the same error (`E`) came in 3 turns of this run (the latest in turns 42, 43)"
    )


def test_the_evidence_of_messages_names_count_and_turns() -> None:
    reading = check_signal(SPIN, run(">t:E! t:E! >t:E! >t:E!"), "...w", SpinThresholds(warning=9))[
        -1
    ]
    assert reading.summary == (
        "the same error (`tool_error`) came back after each of 3 messages of a person "
        "(turns 2, 3, 4)"
    )


def test_the_kind_of_an_error_cannot_dress_up_the_evidence() -> None:
    odd = Failure(kind="`\n" + "x" * 500, fingerprint=digest("E"), strict=digest("E"))
    reading = fold(SPIN, turns(failures=[(odd,)] * 4), SPIN.defaults)[-1]
    assert reading.summary.startswith("the same error (`" + "x" * 62 + "`) came")


def test_an_error_without_a_kind_is_just_an_error() -> None:
    odd = Failure(fingerprint=digest("E"), strict=digest("E"))
    reading = fold(SPIN, turns(failures=[(odd,)] * 4), SPIN.defaults)[-1]
    assert reading.summary.startswith("the same error came in 4")


def test_the_error_that_came_longest_ago_is_forgotten_first() -> None:
    others = [f"F{place}" for place in range(ERRORS_MAX)]
    check_signal(SPIN, failing("E", "E", *others, "E"), "." * (ERRORS_MAX + 3), FOUNDING)
    check_signal(SPIN, failing("E", "E", *others[1:], "E"), "." * (ERRORS_MAX + 1) + "w", FOUNDING)


def test_healthy_turns_before_the_first_error_leave_the_state_as_it_was() -> None:
    turn = run("a")[0]
    assert SPIN.step(SPIN.initial, turn, SPIN.defaults) == (SPIN.initial, QUIET)


def test_turns_are_not_counted_beyond_the_widest_window() -> None:
    state = SPIN.initial
    for turn in failing("E", *[""] * 50):
        state, _ = SPIN.step(state, turn, SPIN.defaults)
    assert state.turns == 33
    later, _ = SPIN.step(state, failing("")[0], SPIN.defaults)
    assert later is state


def test_an_error_that_comes_back_after_long_starts_its_window_anew() -> None:
    check_signal(SPIN, failing("E", "E", "E", *[""] * 50, "E", "E", "E"), "." * 56)


def random_turns(seed: int, count: int) -> list[Turn]:
    """Turns of all kinds with errors of all kinds."""
    dice = random.Random(seed)
    digests = [dice.randbytes(8) for _ in range(90)]

    def made() -> ToolCall:
        return ToolCall(
            name="t",
            call=dice.choice([*digests[:5], b"", b"long" * 9]),
            outcome=dice.choice(list(Outcome)),
        )

    def failed() -> Failure:
        return Failure(
            kind=dice.choice(["", "E", "x" * 900]),
            fingerprint=dice.choice([*digests, b"", b"longer" * 9]),
            strict=dice.choice([*digests, b""]),
        )

    return [
        Turn(
            sequence=dice.choice([place + 1, 2**70]),
            user_input=dice.random() < 0.1,
            text=dice.choice([None, digests[0]]),
            tool_calls=tuple(made() for _ in range(dice.choice([0, 1, 3]))),
            failures=tuple(failed() for _ in range(dice.choice([0, 0, 1, 4]))),
        )
        for place in range(count)
    ]


@pytest.mark.parametrize("limits", [SpinThresholds(), FOUNDING, EXECUTE])
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_reported_is_folded_alike_in_one_go_and_through_snapshots(
    seed: int, limits: SpinThresholds
) -> None:
    state = SPIN.initial
    whole = fold(SPIN, random_turns(seed, 300), limits)
    for turn, expected in zip(random_turns(seed, 300), whole, strict=True):
        state, reading = SPIN.step(restored(state), turn, limits)
        assert reading == expected


def test_the_state_stays_within_its_bound() -> None:
    state = SPIN.initial
    for turn in random_turns(5, 10_000):
        state, _ = SPIN.step(state, turn, SPIN.defaults)
    written = len(json.dumps(encode(state), separators=(",", ":")))
    assert 2000 < written <= SPIN.state_bytes_max


@pytest.mark.parametrize("field", ["errors", "sequences"])
def test_a_cut_snapshot_is_refused(field: str) -> None:
    state, _ = SPIN.step(SPIN.initial, failing("E")[0], SPIN.defaults)
    written: Any = encode(state)
    written[field] = "QUJD"
    with pytest.raises(SnapshotInvalid):
        decode(type(state), written)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("warning", 0, "at least 1"),
        ("break_", -3, "at least 1"),
        ("talk_warning", 0, "at least 1"),
        ("warning_window", 0, "at least 1"),
        ("break_window", 33, "at most 32"),
        ("talk_window", 99, "at most 32"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_by_name(
    name: str, value: int, expected: str
) -> None:
    changes: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"{name} is .*: it must be {expected}"):
        SpinThresholds(**changes)


@pytest.mark.parametrize("kind", ["context_window", "ContextWindowExceededError", "context_length"])
def test_a_full_context_has_ten_tries_to_be_made_to_fit(kind: str) -> None:
    full = Failure(kind=kind, fingerprint=digest("full"), strict=digest("full"))
    run = [Turn(sequence=number, failures=(full,)) for number in range(1, 12)]
    check_signal(SPIN, run, ".........bb")
    check_signal(SPIN, run[:6], "..wwbb", FOUNDING)
    spoken = [replace(turn, user_input=True) for turn in run]
    check_signal(SPIN, spoken, ".........ww")
