"""The rules together: what they promise, and healthy work that they leave alone."""

import json
import random
from dataclasses import fields, replace
from typing import Any

import pytest

from sidecar.core.reading import QUIET, Severity
from sidecar.core.snapshot import SnapshotInvalid, decode, encode
from sidecar.core.turn import (
    CallKind,
    Outcome,
    Progress,
    ResultKind,
    ToolCall,
    Turn,
    Usage,
)
from sidecar.signals.loop import FOUNDING, LOOP, LoopThresholds
from tests.signals.calls import run, with_news
from tests.signals.tables import check_signal, fold, restored


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ("reading file after file", " ".join(f"read({n})" for n in range(30))),
        ("silent searches", " ".join(f"grep({n})=" for n in range(30))),
        ("edits and a test that moves", " ".join(f"e({n})^* test:{n}!" for n in range(12))),
        (
            "silent edits and a test that stands still",
            " ".join(f"e({n})^= test!" for n in range(5)),
        ),
        ("a board that changes between work", " ".join(f"poll:{n % 2} w({n})" for n in range(16))),
        ("a frozen board between work", " ".join(f"poll w({n}) v({n})" for n in range(8))),
        ("edits and a test that goes on passing", " ".join(f"e({n})^* t" for n in range(20))),
        ("a build that is waited for", " ".join(f"tail:{n}~" for n in range(20))),
        ("scrolling without an answer", "scroll/= " * 20),
        ("stepping through what changes", " ".join(f"step:{n}/" for n in range(20))),
        ("a person who asks the same again", ">read >read >read >read >read"),
        ("two looks at the same", "ls pwd ls pwd"),
        ("empty answers to a sweep", " ".join(f"search({n})=" for n in range(14))),
        ("plans that change", '"a" "b" "c" "a" "d" "a"'),
    ],
)
def test_healthy_work_is_left_alone(why: str, words: str) -> None:
    turns = run(words)
    check_signal(LOOP, turns, "." * len(turns))


@pytest.mark.parametrize(
    ("why", "words", "breaks_at"),
    [
        ("the same call", "a a a a", 4),
        ("the same failure in new words", "a:x! a:y! a:z! a:w!", 4),
        ("an edit that fails, and looking again", "e! e! r e! e! r e! e! r", 7),
        ("two calls in turn", "a b a b a b", 6),
        ("the same batch", "a+b a+b a+b a+b", 3),
        ("a frozen board and the same work", "poll w* poll w* poll w*", 6),
        ("refusals that come as text", "f(1):x f(2):x f(3):x f(4):x", 4),
        ("a monologue", '"a" "a" "a"', 3),
        ("a denied call", "rm# ls rm# pwd rm#", 5),
    ],
)
def test_loops_break(why: str, words: str, breaks_at: int) -> None:
    readings = fold(LOOP, run(words), LOOP.defaults)
    levels = [reading.severity for reading in readings]
    assert levels.index(Severity.BREAK) == breaks_at - 1


def test_the_worst_finding_of_a_turn_is_its_reading() -> None:
    readings = fold(LOOP, run("a+a+a+b#+b#+b#"), LOOP.defaults)
    assert readings[0].severity is Severity.BREAK
    assert "denied" in readings[0].summary


def test_the_first_of_two_findings_alike_is_the_reading() -> None:
    reading = fold(LOOP, run("a! a! a!"), LOOP.defaults)[-1]
    assert "with the same arguments and the same result" in reading.summary


def test_a_loop_found_before_breaks_one_step_sooner() -> None:
    check_signal(LOOP, run("a= a= a= n a= a= a="), "..w...b")


def test_a_break_lapses_with_other_work() -> None:
    check_signal(LOOP, run('a a a a b "well" c'), "..wb...")


def test_a_turn_without_measurements_hands_the_state_back() -> None:
    state, _ = LOOP.step(LOOP.initial, run("a")[0], LOOP.defaults)
    assert LOOP.step(state, Turn(sequence=2), LOOP.defaults) == (state, QUIET)
    assert LOOP.step(state, Turn(sequence=2), LOOP.defaults)[0] is state


def test_the_name_of_a_tool_cannot_dress_up_the_evidence() -> None:
    name = "x`\n\x1b[31m" + "y" * 500
    turns = [
        replace(turn, tool_calls=tuple(replace(c, name=name) for c in turn.tool_calls))
        for turn in run("a a a")
    ]
    summary = fold(LOOP, turns, LOOP.defaults)[-1].summary
    assert summary.startswith("`x[31m" + "y" * 56 + "` was called")
    assert summary.isprintable()


def test_a_tool_without_a_name_is_called_a_tool() -> None:
    turns = [
        replace(turn, tool_calls=tuple(replace(c, name="") for c in turn.tool_calls))
        for turn in run("a a a")
    ]
    assert fold(LOOP, turns, LOOP.defaults)[-1].summary.startswith("a tool was called 3 times")


def random_turns(seed: int, count: int) -> list[Turn]:
    """Turns of all kinds, with values that no agent should send among them."""
    dice = random.Random(seed)
    digests = [dice.randbytes(8) for _ in range(12)]

    def made() -> ToolCall:
        return ToolCall(
            name=dice.choice(["a", "b", ""]),
            tool=dice.choice(digests),
            call=dice.choice(digests),
            result=dice.choice([*digests, None]),
            outcome=dice.choice(list(Outcome)),
            result_kind=dice.choice(list(ResultKind)),
            kind=dice.choice(list(CallKind)),
            error_position=dice.choice([b"", *digests]),
        )

    def some(*values: Any) -> Any:
        return dice.choice(values)

    return with_news(
        Turn(
            sequence=place + 1,
            user_input=dice.random() < 0.02,
            tool_calls=tuple(made() for _ in range(some(0, 1, 1, 2, 5))),
            text=some(None, *digests),
            text_length=some(0, 50, 10**18),
            text_repeats=some(0, 0, 7, 10**18),
            start_s=some(None, 0.0, float("nan"), float("inf"), -1e308, place * 60.0),
            end_s=some(None, 1.0, float("nan"), float("-inf"), 1e308, place * 60.0 + 1),
            usage=Usage(context_tokens=some(None, 0, 10, 2**63 - 1, -(2**63))),
            progress=Progress(files_changed=some(None, 0, 1, 2**63 - 1, -5)),
        )
        for place in range(count)
    )


@pytest.mark.parametrize("limits", [LoopThresholds(), FOUNDING])
@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_reported_is_folded_alike_in_one_go_and_through_snapshots(
    seed: int, limits: LoopThresholds
) -> None:
    state = LOOP.initial
    whole = fold(LOOP, random_turns(seed, 300), limits)
    for turn, expected in zip(random_turns(seed, 300), whole, strict=True):
        state, reading = LOOP.step(restored(state), turn, limits)
        assert reading == expected


def test_the_state_stays_within_its_bound() -> None:
    state = LOOP.initial
    largest = 0
    for turn in random_turns(9, 10_000):
        state, _ = LOOP.step(state, turn, LOOP.defaults)
        if turn.sequence % 50 == 0:
            largest = max(largest, len(json.dumps(encode(state), separators=(",", ":"))))
    assert 1000 < largest <= LOOP.state_bytes_max


@pytest.mark.parametrize(
    "path",
    [
        ("look_back", "window", "pairs"),
        ("look_back", "window", "records"),
        ("strikes", "packed"),
        ("monologue", "turns"),
        ("conversation", "messages"),
        ("recent",),
    ],
)
def test_a_cut_snapshot_is_refused(path: tuple[str, ...]) -> None:
    limits = replace(LoopThresholds(), founding_break=3)
    state = LOOP.initial
    for turn in run('a a a >"a long enough answer to somebody" "a"'):
        state, _ = LOOP.step(state, turn, limits)
    for turn in run("a a a") if path[0] in ("look_back", "strikes") else []:
        state, _ = LOOP.step(state, turn, limits)
    written: Any = encode(state)
    part = written
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = "QUJD"
    with pytest.raises(SnapshotInvalid):
        decode(type(state), written)


def test_without_limits_nothing_is_ever_found() -> None:
    never = replace(FOUNDING, founding_break=None)
    readings = fold(LOOP, random_turns(3, 500), never)
    assert set(readings) == {QUIET}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("repeat_warning", 1, "at least 2"),
        ("cycle_period_max", 1, "at least 2"),
        ("nearby_window", 65, "at most 64"),
        ("echo_window", 0, "at least 2"),
        ("waiting_max_s", -1.0, "at least 0"),
        ("strike_discount", -1, "at least 0"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_by_name(
    name: str, value: float, expected: str
) -> None:
    changes: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"{name} is .*: it must be {expected}"):
        LoopThresholds(**changes)


def test_a_loop_goes_unread_with_every_limit_switched_off() -> None:
    never: dict[str, Any] = {
        field.name: None
        for field in fields(LoopThresholds)
        if field.name.endswith(("_warning", "_break", "_max_s"))
    }
    turns = run("a a a a a a b! b! b! b! b! " + " ".join("c d" for _ in range(12)))
    check_signal(LOOP, turns, "." * len(turns), LoopThresholds(**never))
