"""The ring of texts: what fits is kept, in memory and for as long as the session goes on."""

import sys

from sidecar.core.texts import CallTexts, TurnTexts
from sidecar.kept_texts import TURNS_KEPT_MAX, KeptTexts


def texts(sequence: int, said: str = "x" * 100) -> TurnTexts:
    return TurnTexts(sequence=sequence, said=said)


ONE = sys.getsizeof("x" * 100)


def sequences(kept: KeptTexts, session_id: str) -> list[int]:
    return [each.sequence for each in kept.of(session_id)]


def test_without_room_nothing_is_kept() -> None:
    kept = KeptTexts()
    kept.keep("a", texts(1))
    assert not kept.keeps
    assert kept.of("a") == ()


def test_a_turn_without_texts_is_not_kept() -> None:
    kept = KeptTexts(10_000)
    kept.keep("a", TurnTexts(sequence=1, calls=(CallTexts(name=""),)))
    assert kept.of("a") == ()


def test_exactly_the_room_that_there_is_can_be_filled_and_a_byte_more_drops_the_oldest() -> None:
    kept = KeptTexts(2 * ONE)
    kept.keep("a", texts(1))
    kept.keep("a", texts(2))
    assert sequences(kept, "a") == [1, 2]
    tight = KeptTexts(2 * ONE - 1)
    tight.keep("a", texts(1))
    tight.keep("a", texts(2))
    assert sequences(tight, "a") == [2]


def test_the_session_that_is_silent_for_longest_gives_way_first() -> None:
    kept = KeptTexts(3 * ONE)
    for session_id, sequence in (("a", 1), ("b", 1), ("a", 2), ("c", 1)):
        kept.keep(session_id, texts(sequence))
    assert [sequences(kept, each) for each in "abc"] == [[1, 2], [], [1]]


def test_what_is_larger_than_the_room_is_not_kept_and_leaves_nothing_behind() -> None:
    kept = KeptTexts(ONE)
    kept.keep("a", texts(1, "y" * 1_000))
    assert kept.of("a") == ()
    kept.keep("b", texts(1))
    assert sequences(kept, "b") == [1]


def test_of_one_session_so_many_turns_are_kept() -> None:
    kept = KeptTexts(10**6)
    for sequence in range(1, TURNS_KEPT_MAX + 3):
        kept.keep("a", texts(sequence))
    assert sequences(kept, "a") == list(range(3, TURNS_KEPT_MAX + 3))
    assert set(kept.by_sequence("a")) == set(sequences(kept, "a"))


def test_a_session_that_is_over_gives_its_room_back() -> None:
    kept = KeptTexts(ONE)
    kept.keep("a", texts(1))
    kept.forget("a")
    kept.forget("a")
    assert kept.of("a") == ()
    kept.keep("b", texts(1))
    assert sequences(kept, "b") == [1]
