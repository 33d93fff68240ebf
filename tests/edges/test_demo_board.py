"""What the demo shows: lines for a pipe, rows for a terminal, and what it came to."""

import io
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from rich.console import Console, RenderableType

from sidecar.client import Kind
from sidecar.demo.board import LinesBoard, LiveBoard, picture
from sidecar.demo.cast import cast
from sidecar.demo.record import Ending, Record, Told
from sidecar.demo.summary import closing_table, complaints, remarks, totals

STEADY, PATIENT, BETWEEN, LOOPER = cast(4)

ROTATE = Told(kind=Kind.ROTATE, turn=4, signal="loop", why="the same call 3 times")
COMMIT = Told(kind=Kind.COMMIT, turn=5, signal="loop", why="the same call 4 times")

WELL = Record(part=STEADY, session_id="s-1", ending=Ending.ANSWERED, turns=29, state="healthy")
LOOPED = Record(
    part=LOOPER,
    session_id="l-1",
    ending=Ending.ANSWERED,
    turns=6,
    state="tripped",
    told=(ROTATE, COMMIT),
    readings=2,
    last_turn_tokens=100,
    answer="nine\nand more",
)


def printed(thing: RenderableType, *, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(thing)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def rows(text: str) -> list[list[str]]:
    """The cells of a table's rows, told apart by two blanks or more."""
    return [[cell for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]


def test_the_closing_table_says_when_each_run_was_told_and_what_was_saved() -> None:
    _, well, looped = rows(printed(closing_table([WELL, LOOPED])))
    assert [cell.strip() for cell in well] == [
        "steady",
        "29",
        "-",
        "-",
        "answered",
        "undisturbed",
    ]
    assert [cell.strip() for cell in looped] == [
        "looper",
        "6",
        "turn 4, loop",
        "turn 5",
        "answered",
        "36 turns, 3,600 tokens",
    ]


WIDEST = replace(
    LOOPED,
    part=replace(LOOPER, name="coder-again"),
    told=(replace(ROTATE, turn=11, signal="token_overflow"), COMMIT),
    last_turn_tokens=15_124,
)


@pytest.mark.parametrize("width", [40, 60])
def test_a_narrow_terminal_costs_the_closing_table_no_figure(width: int) -> None:
    _, _, rows = printed(closing_table([WIDEST]), width=width).rpartition("\nrun")
    first, *others = rows.splitlines()[1:]
    begins = [found.start() for found in re.finditer(r"(?<=  )\S|^\S", first)]
    # The one column that is set to the right, whose width no cell of the row shows.
    begins[1] = first.index("6") - 4
    columns = [
        "".join(line[begin:end].replace(" ", "") for line in (first, *others))
        for begin, end in pairwise([*begins, width])
    ]

    assert columns == [
        "coder-again",
        "6",
        "turn11,token_overflow",
        "turn5",
        "answered",
        "36turns,544,464tokens",
    ]


def test_eighty_columns_are_enough_for_the_closing_table() -> None:
    text = printed(closing_table([WELL, WIDEST]), width=80)

    assert "…" not in text
    assert {"answered", "undisturbed", "token_overflow", "544,464"} <= set(text.split())


def test_eighty_columns_are_enough_for_the_state_and_for_which_signal_spoke() -> None:
    recovering = replace(LOOPED, part=replace(LOOPER, name="coder-again"), state="recovery")
    text = printed(picture([recovering], rows_max=5), width=80)

    assert {"coder-again", "recovery", "why", "loop:"} <= set(text.split())


def test_the_totals_add_up_and_name_turns_without_a_decision_only_if_there_are_any() -> None:
    assert totals([WELL, LOOPED]) == "2 runs, 35 turns; saved: 36 turns, 3,600 tokens."
    missed = replace(WELL, unanswered=3)
    assert totals([missed]).endswith("; 3 turns went on without a decision.")


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (WELL, None),
        (LOOPED, None),
        (replace(WELL, told=(ROTATE,)), "steady was disturbed, and does well"),
        (replace(WELL, readings=1), "steady was disturbed, and does well"),
        (replace(WELL, unanswered=14), None),
        (replace(WELL, unanswered=15), "steady went on without a decision in 15 of 29 turns"),
        (replace(LOOPED, told=()), "looper was not rotated"),
        (replace(LOOPED, told=(COMMIT,)), "looper was not rotated"),
        (
            replace(LOOPED, told=(replace(ROTATE, signal="stall"),)),
            "looper was rotated by stall, not by loop",
        ),
        (replace(LOOPED, ending=Ending.HALTED), "looper has no answer: it is halted"),
    ],
)
def test_what_is_not_as_expected_of_a_mind_is_said(record: Record, complaint: str | None) -> None:
    assert complaints([record]) == ([] if complaint is None else [complaint])


def test_nothing_is_saved_on_a_run_that_nobody_told_anything_or_that_has_no_end() -> None:
    assert replace(LOOPED, told=()).turns_saved is None
    assert replace(LOOPED, ending=Ending.RUNNING).turns_saved is None
    assert WELL.tokens_saved is None


def test_lines_tell_each_directive_once_and_the_end() -> None:
    console = Console(file=io.StringIO(), width=120)
    board = LinesBoard(console)
    running = replace(LOOPED, ending=Ending.RUNNING, turns=4, told=(ROTATE,))
    board.take(replace(running, told=(), turns=3))
    board.take(running)
    board.take(replace(running, told=(ROTATE, COMMIT), turns=5))
    board.take(LOOPED)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    lines = [line.split(" s  ", 1)[1] for line in text.splitlines()]
    assert [line.split(None, 1)[1] for line in lines] == [
        "turn   4  rotate    loop: the same call 3 times",
        "turn   5  commit    loop: the same call 4 times",
        "turn   6  answered  nine",
    ]
    assert all(line.startswith("looper ") for line in lines)


def test_lines_tell_a_remark_once_and_in_place_of_the_end_that_it_tells_of() -> None:
    console = Console(file=io.StringIO(), width=120)
    board = LinesBoard(console)
    board.take(replace(WELL, remark="answered by force: 9"))
    board.take(replace(WELL, remark="9 was reviewed: PASS."))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    lines = [line.split(" s  ", 1)[1] for line in text.splitlines()]
    assert [line.split(None, 1)[1] for line in lines] == [
        "turn  29  answered by force: 9",
        "turn  29  9 was reviewed: PASS.",
    ]


def test_remarks_stand_in_full_behind_the_table() -> None:
    remarked = replace(LOOPED, remark="9 was reviewed: PASS.")
    assert remarks([WELL, remarked]) == ["looper: 9 was reviewed: PASS."]


def test_a_remark_is_the_last_word_on_a_run() -> None:
    text = printed(picture([replace(LOOPED, remark="9 was reviewed: PASS.")], rows_max=5))
    assert rows(text)[1][-1].strip() == "9 was reviewed: PASS."


def test_a_run_that_could_not_safely_begin_is_shown_and_is_no_complaint() -> None:
    left_out = Record(part=LOOPER, session_id="l-1", ending=Ending.LEFT_OUT)
    assert complaints([left_out]) == []
    assert "left out" in printed(picture([left_out], rows_max=5))
    assert "left out" in printed(closing_table([left_out]))
    console = Console(file=io.StringIO(), width=120)
    LinesBoard(console).take(left_out)
    assert "left out" in console.file.getvalue()  # type: ignore[attr-defined]


def test_what_a_run_says_went_wrong_with_it_is_the_complaint() -> None:
    assert complaints([replace(WELL, fault="was reviewed as PASS")]) == [
        "steady was reviewed as PASS"
    ]


def test_the_picture_has_a_row_for_each_run_that_fits_and_counts_the_rest() -> None:
    records = [Record(part=part, session_id="", turns=2) for part in cast(20)]
    lines = printed(picture(records, rows_max=5)).splitlines()
    assert [line.split()[0] for line in lines[1:6]] == [part.name for part in cast(5)]
    assert lines[6:] == ["20 at work, 0 done, 40 turns, 0 told; 15 rows do not fit"]


def test_the_picture_says_where_a_run_stands_and_what_it_was_last_told() -> None:
    text = printed(picture([replace(LOOPED, ending=Ending.RUNNING, answer="")], rows_max=5))
    cells = [cell.strip() for cell in rows(text)[1]]
    assert cells == [
        "looper",
        "searches for the same thing",
        "6",
        "tripped",
        "commit at 5",
        "loop: the same call 4 times",
    ]


def test_a_live_board_leaves_its_last_picture_standing() -> None:
    console = Console(file=io.StringIO(), width=120, height=40, force_terminal=True)
    board = LiveBoard(console)
    board.tick()
    board.take(WELL)
    board.tick()
    board.take(replace(WELL, answer="nine"))
    board.settle()
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    assert "answered: nine" in text.rsplit("what it does", 1)[1]
    assert text.endswith("\n") or "\x1b[?25h" in text.rsplit("\n", 1)[1]
