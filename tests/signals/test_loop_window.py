"""The look-back: what is packed, and what is found in it."""

from dataclasses import replace

import pytest

from sidecar.core.packed import position
from sidecar.core.turn import ToolCall
from sidecar.signals.loop.window import LOOK_BACK, Window
from tests.signals.calls import call


def window(words: str) -> Window:
    """The look-back after these calls, one a turn, none of them news."""
    after = Window()
    for place, word in enumerate(words.split()):
        after = after.with_call(call(word), place + 1, news=False)
    return after


def test_a_key_that_stands_across_two_entries_is_not_there() -> None:
    assert position(b"0123456789abcdef", b"4567", 8) == -1
    assert position(b"0123456789abcdef", b"89ab", 8) == 8
    assert position(b"01230123abcdefgh", b"123a", 4) == -1
    assert position(b"abcdabcdxbcdabxx", b"abcd", 4) == 4


def test_a_result_that_equals_a_call_is_no_call() -> None:
    told = replace(call("a"), result=call("b").call)
    after = Window().with_call(told, 1, news=False).with_call(call("b"), 2, news=False)
    assert after.repeats == 1
    assert not after.holds_pair(replace(call("b"), result=b"other   "))


def test_a_call_is_found_behind_a_result_that_equals_it() -> None:
    told = replace(call("a"), result=call("b").call)
    after = window("b").with_call(told, 2, news=False).with_call(call("b"), 3, news=False)
    assert after.repeats == 2


def test_the_look_back_ends() -> None:
    after = window("a " + "b " * LOOK_BACK)
    assert not after.holds_pair(call("a"))
    assert window("a " + "b " * (LOOK_BACK - 1)).holds_pair(call("a"))


def test_a_count_beyond_a_byte_stays_at_its_largest() -> None:
    assert window("a! " * 300).repeats == 255
    assert window("a! " * 300).failures == 255


def test_a_sequence_beyond_four_bytes_does_no_harm() -> None:
    assert Window().with_call(call("a"), 2**40 + 7, news=False).turns_of_last(1) == (7,)


@pytest.mark.parametrize("length", [0, 3, 20])
def test_digests_of_another_length_do_no_harm(length: int) -> None:
    odd = ToolCall(
        name="odd",
        tool=b"t" * length,
        call=b"c" * length,
        result=b"r" * length,
        error_position=b"p" * length,
    )
    after = Window()
    for sequence in range(1, 5):
        after = after.with_call(odd, sequence, news=False)
    assert after.repeats == 4


@pytest.mark.parametrize("field", ["pairs", "answers", "records"])
def test_strings_that_do_not_run_in_parallel_are_refused(field: str) -> None:
    full = window("a b")
    with pytest.raises(ValueError, match="cut"):
        replace(full, **{field: getattr(full, field)[:-1]})
