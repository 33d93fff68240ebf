"""What a judge is shown: labels for what is equal, counts, names; texts where they are given."""

import json
from typing import Any

import pytest

from sidecar.core.run_digest import CALLS_MAX, TURNS_MAX, digest_of
from sidecar.core.texts import CallTexts, TurnTexts, messages_of
from sidecar.core.turn import Failure, Outcome, Progress, ResultKind, ToolCall, Turn


def visit(page: int, result: int | None = 1, **facts: Any) -> ToolCall:
    return ToolCall(
        name="visit_webpage",
        call=page.to_bytes(8),
        result=None if result is None else result.to_bytes(8),
        **facts,
    )


def test_equal_digests_get_equal_labels_and_none_is_shown() -> None:
    digest = digest_of(
        [
            Turn(sequence=1, tool_calls=(visit(7, 900),), text=b"11111111"),
            Turn(sequence=2, tool_calls=(visit(8, 900), visit(7, None)), text=b"22222222"),
            Turn(sequence=3, text=b"11111111"),
        ]
    )
    assert digest.data == {
        "shown": "names, labels and counts only",
        "turns_left_out": 0,
        "turns": [
            {
                "turn": 1,
                "said": "m1",
                "calls": [
                    {"tool": "visit_webpage", "call": "c1", "result": "r1", "result_kind": "plain"}
                ],
            },
            {
                "turn": 2,
                "said": "m2",
                "calls": [
                    {"tool": "visit_webpage", "call": "c2", "result": "r1", "result_kind": "plain"},
                    {"tool": "visit_webpage", "call": "c1"},
                ],
            },
            {"turn": 3, "said": "m1"},
        ],
    }
    assert visit(7, 900).call.hex() not in json.dumps(digest.data)


def test_a_count_of_nothing_is_shown_and_an_absent_one_is_not() -> None:
    progress = Progress(files_changed=0, tests_failed=2)
    turn = Turn(
        sequence=1,
        progress=progress,
        user_input=True,
        approach="by hand",
        failures=(Failure(fingerprint=bytes(8), strict=bytes(8)),),
        tool_calls=(visit(1, outcome=Outcome.DENIED, result_kind=ResultKind.EMPTY),),
    )
    (shown,) = digest_of([turn]).turns
    assert (shown["files_changed"], shown["tests_failed"]) == (0, 2)
    assert (shown["approach"], shown["errors"], shown["a_person_spoke"]) == (
        "by hand",
        ["e1"],
        True,
    )
    assert (shown["calls"][0]["outcome"], shown["calls"][0]["result_kind"]) == ("denied", "empty")
    assert shown.keys().isdisjoint({"tests_passed", "calls_left_out", "final_answer", "actor"})


def test_texts_are_shown_cut_where_they_are_given() -> None:
    texts = {
        2: TurnTexts(
            sequence=2,
            said="I go on",
            calls=(CallTexts(name="visit_webpage", arguments='{"u": 1}', result="x" * 9_000),),
        )
    }
    digest = digest_of([Turn(sequence=1), Turn(sequence=2, tool_calls=(visit(1), visit(2)))], texts)
    _, shown = digest.turns
    assert digest.texts_shown
    assert shown["said_text"] == "I go on"
    assert shown["calls"][0]["arguments"] == '{"u": 1}'
    assert 700 < len(shown["calls"][0]["result_text"]) <= 800
    assert "result_text" not in shown["calls"][1]


def test_the_last_turns_are_shown_and_the_rest_is_counted() -> None:
    turns = [Turn(sequence=number, text=bytes(8)) for number in range(1, TURNS_MAX + 11)]
    digest = digest_of(turns)
    assert (digest.left_out, digest.last, len(digest.turns)) == (10, TURNS_MAX + 10, TURNS_MAX)
    assert digest.turns[0]["turn"] == 11
    tight = digest_of(turns, bytes_max=200)
    assert 0 < len(tight.turns) < 10
    assert tight.turns[-1]["turn"] == tight.last
    assert tight.left_out == tight.last - len(tight.turns)
    assert sum(len(json.dumps(turn)) for turn in tight.turns) <= 200


def test_a_turn_of_many_calls_is_cut_and_says_so() -> None:
    (shown,) = digest_of([Turn(sequence=1, tool_calls=tuple(map(visit, range(100))))]).turns
    assert (len(shown["calls"]), shown["calls_left_out"]) == (CALLS_MAX, 100 - CALLS_MAX)


def test_a_run_without_turns_has_an_empty_digest() -> None:
    digest = digest_of([])
    assert (digest.turns, digest.last, digest.left_out) == ((), 0, 0)


@pytest.mark.parametrize(
    ("turn", "quote", "there"),
    [
        (2, "visit_webpage", True),
        (2, "c2", True),
        (2, "nothing  new\non this page", True),
        (1, "c2", False),
        (99, "visit_webpage", False),
        (2, "", False),
        (2, "n", False),
        (2, "   \n ", False),
        (2, "result_text", False),
        (2, "something new", False),
        (2, "vi", False),
        (2, "webpage", False),
        (2, "visit_we", True),
        (2, "new on", False),
        (2, "plain", True),
        (10, "c1", False),
        (10, "c10", True),
    ],
)
def test_a_quote_is_there_where_its_words_are_in_that_turn(
    turn: int, quote: str, there: bool
) -> None:
    texts = {
        2: TurnTexts(
            sequence=2, calls=(CallTexts(name="visit_webpage", result="nothing new on this page"),)
        )
    }
    turns = [Turn(sequence=at, tool_calls=(visit(at),)) for at in range(1, 11)]
    assert digest_of(turns, texts).holds(turn, quote) is there


def test_texts_become_messages_whose_roles_alternate_as_the_run_did() -> None:
    call = CallTexts(name="read", arguments='{"path": "a"}', result="seven")
    turns = [
        TurnTexts(sequence=1, said="I read it", calls=(call, CallTexts(name="wait"))),
        TurnTexts(sequence=2),
        TurnTexts(sequence=3, said="FINAL_ANSWER: 7"),
    ]
    assert messages_of(turns) == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I read it"},
                {"type": "tool_use", "id": "0", "name": "read", "input": '{"path": "a"}'},
                {"type": "tool_use", "id": "1", "name": "wait", "input": ""},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "0", "content": "seven"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "FINAL_ANSWER: 7"}]},
    ]
