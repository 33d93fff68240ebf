"""Where a turn begins, what belongs to it, and how much of a long text is kept."""

import json

import pytest

from sidecar.adapters.convert import TurnReader
from sidecar.core.turn import Turn
from sidecar.datasets.moves import Answered, Call, Fault, Move, Person, Recording, Said
from sidecar.datasets.turns import MARK, Bounds, arguments_json, cut, fold
from sidecar.presets import preset
from sidecar.replaying.recorded import REPLAY_KEY
from sidecar.v1.run_pb2 import Usage
from tests.datasets.telling import told


def _recording(*moves: Move) -> Recording:
    return Recording(session_id="s", agent="a", moves=moves)


def test_a_person_who_speaks_twice_before_an_answer_is_one_word_to_it() -> None:
    run = _recording(Person(), Person(), Said(text="a"), Said(text="b"), Person())
    assert told(run) == ["user> 'a'", "'b'"]


def test_an_answer_finds_the_waiting_call_before_an_older_one_of_the_same_id() -> None:
    calls = (Call(name="a", id="same"), Call(name="b", id="same"))
    run = _recording(
        Said(calls=calls[:1]),
        Answered(text="1", call_id="same"),
        Said(calls=calls),
        Answered(text="2", call_id="same"),
        Answered(text="3", call_id="same"),
    )
    assert told(run) == ["'' a() = ok '1'", "'' a() = ok '2' b() = ok '3'"]


def test_an_answer_may_come_after_further_turns() -> None:
    late = Answered(text="late", call_id="c", at_s=9.0)
    run = _recording(
        Said(calls=(Call(name="a", id="c"),), at_s=1.0), Said(text="b", at_s=5.0), late
    )
    assert told(run) == ["'' a() = ok 'late'", "'b'"]
    assert [turn.end_time.seconds for turn in fold(run).turns] == [9, 5]


def test_an_answer_to_no_call_is_counted() -> None:
    run = _recording(Answered(text="x"), Said(text="a"), Answered(text="y", call_id="unknown"))
    assert fold(run).strays == 2


def test_a_fault_before_any_turn_is_a_turn() -> None:
    assert told(_recording(Fault(kind="api error", message="529"))) == ["'' ! api error: 529"]


def test_what_was_not_measured_is_not_there() -> None:
    (turn,) = fold(_recording(Said(usage=Usage(output_tokens=0)))).turns
    assert turn.usage.HasField("output_tokens")
    assert not turn.usage.HasField("input_tokens")
    assert not turn.HasField("output_lines")
    assert not turn.HasField("start_time")


@pytest.mark.parametrize("length", [0, 1, 2_000, 2_001, 5_000])
def test_a_text_is_kept_whole_up_to_its_bound(length: int) -> None:
    kept = cut("x" * length, 2_000)
    assert (kept == "x" * length) == (length <= 2_000)
    assert len(kept) <= 2_000


def test_a_cut_text_keeps_its_beginning_and_its_end() -> None:
    kept = cut("a" * 4_000 + "b" * 4_000, 2_000)
    assert kept == "a" * 1_700 + MARK + "b" * 280


def test_a_result_of_ten_megabytes_is_cut_to_the_bound() -> None:
    huge = "a" * 5_000_000 + "b" * 5_000_000
    run = _recording(Said(text=huge, calls=(Call(name="cat"),)), Answered(text=huge))
    (turn,) = fold(run, Bounds(result_max=3_000, text_max=2_500)).turns
    assert len(turn.tool_calls[0].result_text) <= 3_000
    assert len(turn.text) <= 2_500
    assert turn.ByteSize() < 6_000


def test_arguments_that_differ_only_where_they_are_cut_stay_different() -> None:
    texts = ["x" * 20_000 + middle + "y" * 20_000 for middle in ("1", "2")]
    one, other = (arguments_json({"edits": [{"new": text}]}, 8_192) for text in texts)
    assert one != other
    assert len(json.loads(one)["edits"][0]["new"]) <= 8_192


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ('{"b": 1, "a": "é"}', '{"a": "é", "b": 1}'),
        ({"b": 1, "a": None}, '{"a": null, "b": 1}'),
        ("no JSON", '"no JSON"'),
        ("", "{}"),
        (["ls"], '["ls"]'),
    ],
)
def test_arguments_are_written_as_json(arguments: object, written: str) -> None:
    assert arguments_json(arguments, 8_192) == written


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    call = Call(name="a\ud800", id="c\udfff", arguments={"x": "\ud83d"})
    run = _recording(
        Said(text="\ud83d!", calls=(call,)), Answered(text="\udc00", call_id="c\udfff")
    )
    assert told(run) == ["'?!' a?(x='?') = ok '?'"]


def test_a_sidecar_reads_the_turns() -> None:
    run = _recording(
        Person(),
        Said(text="a", calls=(Call(name="x" * 500, arguments={}),), usage=Usage(input_tokens=3)),
        Answered(text="b"),
    )
    reader = TurnReader(key=REPLAY_KEY, lens=preset("default").lens)
    assert all(isinstance(reader.read(turn), Turn) for turn in fold(run).turns)
