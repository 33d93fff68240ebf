"""How a report is cut to what may be sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.client.ring import Ring
from sidecar.client.shrink import TEXT_BYTES_MAX, cut, shrink
from tests.edges.test_client_report import composed

KIB_64 = 64 * 1024


def test_texts_are_cut_to_64_kib_at_their_middle() -> None:
    long = "é" * 100_000 + "the end"
    turn, faults = composed(text=long, tool_calls=[{"name": "f", "result": long}])

    assert faults == []
    for text in (turn.text, turn.tool_calls[0].result_text):
        assert KIB_64 - 100 < len(text.encode()) <= KIB_64
        assert text.startswith("ééé")
        assert text.endswith("the end")
        assert "100007 characters" in text


def test_arguments_too_long_to_send_are_told_apart_by_a_digest() -> None:
    calls = [{"name": "write", "arguments": {"text": letter * KIB_64}} for letter in "aab"]
    turn, _ = composed(tool_calls=calls)
    first, second, third = (call.arguments_digest for call in turn.tool_calls)

    assert first == second != third
    assert len(first) == 16
    assert not turn.tool_calls[0].arguments_json


@given(st.text(max_size=300), st.integers(min_value=0, max_value=200))
def test_a_cut_text_is_never_longer_than_its_bound(text: str, bytes_max: int) -> None:
    encodable = text.encode("utf-8", "replace").decode()

    assert len(cut(encodable, bytes_max).encode()) <= bytes_max


def test_a_text_within_its_bound_is_left_alone() -> None:
    assert cut("x" * TEXT_BYTES_MAX) == "x" * TEXT_BYTES_MAX


def test_of_a_turn_that_was_cut_another_message_is_kept_with_the_same_content() -> None:
    ring = Ring(turns_max=2)
    entry = ring.add(composed(text="t" * 60_000, input_tokens=5)[0])
    whole = entry.turn
    shrink(whole, 2000)
    ring.resized(entry)

    assert entry.turn == whole
    assert entry.turn is not whole
    assert entry.bytes == entry.turn.ByteSize() <= 2000


@pytest.mark.parametrize("bytes_max", [1024, 5_000, 50_000, 500_000])
def test_a_turn_is_cut_until_it_fits_and_its_measurements_stay(bytes_max: int) -> None:
    call = {"name": "f", "arguments": {"a": "x" * 60_000}, "result": "y" * 60_000}
    turn, _ = composed(
        tool_calls=[call] * 256,
        failures=["z" * 60_000] * 256,
        text="t" * 60_000,
        final_answer="a" * 60_000,
        input_tokens=5,
        files_changed=0,
    )
    shrink(turn, bytes_max)

    assert turn.ByteSize() <= bytes_max
    assert turn.usage.input_tokens == 5
    assert turn.progress.HasField("files_changed")
    assert turn.final_answer
