"""stall: turns in a row without movement."""

from typing import Any

import pytest

from sidecar.core.turn import CallKind, Progress, ResultKind, ToolCall, Turn
from sidecar.signals.stall import STALL, StallEvidence, StallThresholds
from tests.signals.tables import check_signal, fold, turns

AUTONOMOUS = StallThresholds(warning=3, break_=5, evidence=StallEvidence.FILES)
DEBUG = StallThresholds(warning=5, break_=8, evidence=StallEvidence.FILES)
NEWS, STALE = (True,), (False,)


@pytest.mark.parametrize(
    ("why", "files_changed", "readings"),
    [
        ("three idle turns warn, five break", [0, 0, 0, 0, 0], "..wwb"),
        ("past the break it stands", [0] * 7, "..wwbbb"),
        ("one changed file starts the count again", [0, 0, 1, 0, 0, 0], ".....w"),
        ("a changed file ends a warning", [0, 0, 0, 500, 0], "..w.."),
        ("an unmeasured turn neither adds nor resets", [0, 0, None, 0, 0, 0], "...wwb"),
        ("a run that never measures is never stalled", [None] * 9, "........."),
        ("what is no count is not measured", [0, 0, -1, float("nan"), 0], "....w"),
        ("however many files, it is one change", [10**400, 0, 0, 0], "...w"),
    ],
)
def test_autonomous(why: str, files_changed: list[Any], readings: str) -> None:
    check_signal(STALL, turns(files_changed=files_changed), readings, AUTONOMOUS)


@pytest.mark.parametrize(
    ("why", "files_changed", "readings"),
    [
        ("diagnosis has five turns, and breaks at eight", [0] * 8, "....wwwb"),
        ("many idle turns, never enough in a row", [0, 0, 1] * 8, "." * 24),
    ],
)
def test_debug(why: str, files_changed: list[int], readings: str) -> None:
    check_signal(STALL, turns(files_changed=files_changed), readings, DEBUG)


@pytest.mark.parametrize(
    ("why", "files_changed", "news", "readings"),
    [
        (
            "eight turns with neither warn, sixteen break",
            [0] * 16,
            [STALE] * 16,
            "." * 7 + "wwwwwwwwb",
        ),
        ("no call at all is no news either", [0] * 8, [None] * 8, "." * 7 + "w"),
        ("reading something new is movement", [0] * 20, [NEWS] * 20, "." * 20),
        ("one news among many calls is enough", [0] * 8, [(False, True, False)] * 8, "." * 8),
        (
            "news starts the count again",
            [0] * 16,
            [*[STALE] * 7, NEWS, *[STALE] * 8],
            "." * 15 + "w",
        ),
        (
            "also where files were not measured",
            [*[0] * 7, None, 0],
            [*[STALE] * 7, NEWS, STALE],
            "." * 9,
        ),
        ("a stale unmeasured turn holds the count", [*[0] * 7, None, 0], [STALE] * 9, "........w"),
        ("a changed file starts the count again", [*[0] * 7, 1, 0], [STALE] * 9, "." * 9),
        ("never measured, never stalled", [None] * 20, [STALE] * 20, "." * 20),
    ],
)
def test_default(why: str, files_changed: list[int | None], news: list[Any], readings: str) -> None:
    check_signal(STALL, turns(files_changed=files_changed, news=news), readings)


def test_answering_a_person_holds_the_count() -> None:
    talks = [False] * 3 + [True] * 6 + [False] * 5
    run = turns(files_changed=[0] * 14, user_input=talks)
    check_signal(STALL, run, "." * 13 + "w")
    check_signal(STALL, run[:5], "..wwb", AUTONOMOUS)


def test_by_files_alone_news_is_no_movement() -> None:
    check_signal(STALL, turns(files_changed=[0] * 3, news=[NEWS] * 3), "..w", AUTONOMOUS)


def test_either_severity_can_be_switched_off() -> None:
    run = turns(files_changed=[0] * 5)
    files = StallEvidence.FILES
    check_signal(STALL, run, "....b", StallThresholds(warning=None, break_=5, evidence=files))
    check_signal(STALL, run, "..www", StallThresholds(warning=3, break_=None, evidence=files))


def test_the_summary_names_the_turns() -> None:
    run = turns(files_changed=[2, 0, None, 0, 0, 0, 0])
    readings = fold(STALL, run, AUTONOMOUS)
    assert readings[-1].summary == "no file changed in the last 5 turns (2 to 7)"
    assert (readings[-1].value, readings[-1].threshold) == (5, 5)
    once = fold(STALL, turns(files_changed=[0]), StallThresholds(warning=1))
    assert once[0].summary == "no file changed and no call brought anything new in the last 1 turn"


def test_thresholds_below_one_turn_are_refused() -> None:
    with pytest.raises(ValueError, match="warning is 0: it must be at least 1"):
        StallThresholds(warning=0)


@pytest.mark.parametrize(
    "wait", [{"kind": CallKind.WAIT}, {"result_kind": ResultKind.RUNNING}], ids=str
)
def test_waiting_for_a_job_is_not_stalling(wait: dict[str, Any]) -> None:
    poll = ToolCall(name="poll", call=bytes(8), result=bytes(8), **wait)
    polls = [
        Turn(
            sequence=sequence,
            tool_calls=(poll,),
            repeated=(True,),
            progress=Progress(files_changed=0),
        )
        for sequence in range(1, 21)
    ]

    check_signal(STALL, polls, "." * 20)
    check_signal(STALL, polls[:3], "..w", AUTONOMOUS)


def test_a_write_made_for_the_first_time_is_movement_even_in_silence() -> None:
    def written(sequence: int, *, again: bool) -> Turn:
        close = ToolCall(
            name="close_ticket",
            call=sequence.to_bytes(8),
            result=bytes(8),
            result_kind=ResultKind.EMPTY,
            kind=CallKind.WRITE,
        )
        return Turn(
            sequence=sequence,
            tool_calls=(close,),
            repeated=(again,),
            progress=Progress(files_changed=0),
        )

    check_signal(STALL, [written(number, again=False) for number in range(1, 21)], "." * 20)
    check_signal(STALL, [written(number, again=True) for number in range(1, 9)], ".......w")
