"""Work in steps: the same as at once, and no step with more than its share of matches."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.core.digest import Subjects, error_fingerprint, result_digest
from sidecar.core.fingerprint import _SUBJECT, SUBJECT
from sidecar.core.steps import LARGE_BYTES, MATCHES_AT_ONCE, Steps, finished, replacing

TEXT_LENGTH = 65_536
WORDS = [
    *(b"undefined", b"Undefined", b": ", b" ", b"x", b"_", b"reference", b"Symbol", b"no"),
    *(b"No module named", b"cannot find", b"CAN'T Resolve", b"not defined", b"\xc3\x9c", b"\n"),
    *(b"unknown ", b"import", b"uninitialized constant", b"no member named"),
]


def counted(steps: Steps[object]) -> int:
    """How many steps it takes."""
    return sum(1 for _ in steps)


@pytest.mark.parametrize("pattern", [rb"a", rb"a*", rb"\b", rb"(?<=a)b?", rb"$", rb"ab|b"])
@given(text=st.lists(st.sampled_from([b"a", b"b", b" "])).map(b"".join))
@settings(deadline=None)
def test_replacing_in_steps_is_what_replacing_at_once_is(pattern: bytes, text: bytes) -> None:
    text += b" ab" * (LARGE_BYTES // 3)
    compiled = re.compile(pattern)

    def put(match: re.Match[bytes]) -> bytes:
        return b"<%b>" % match[0]

    assert finished(replacing(compiled, put, text)) == compiled.sub(put, text)
    assert finished(replacing(compiled, b"-", text)) == compiled.sub(b"-", text)


def test_so_many_matches_are_replaced_in_one_step_and_no_more() -> None:
    text = b"a" * TEXT_LENGTH
    replaced = 0

    def put(match: re.Match[bytes]) -> bytes:
        nonlocal replaced
        replaced += 1
        return b""

    by_step = [replaced for _ in replacing(re.compile(b"a"), put, text)]
    assert by_step == list(range(MATCHES_AT_ONCE, TEXT_LENGTH + 1, MATCHES_AT_ONCE))


@pytest.mark.parametrize(
    ("piece", "matches"),
    [
        ('""', TEXT_LENGTH // 2),
        ("''", TEXT_LENGTH // 2),
        (":1:2", TEXT_LENGTH // 4),
        ("C:/", TEXT_LENGTH // 3),
        ("1,000 ", TEXT_LENGTH // 6),
    ],
)
@pytest.mark.parametrize("subjects", Subjects)
def test_an_error_of_nothing_but_matches_is_read_in_as_many_steps(
    piece: str, matches: int, subjects: Subjects
) -> None:
    text = (piece * TEXT_LENGTH)[:TEXT_LENGTH]
    assert counted(error_fingerprint(text, subjects=subjects)) >= matches // MATCHES_AT_ONCE


def test_lines_that_may_be_about_a_name_are_looked_at_in_steps() -> None:
    text = ("not defined\n" * TEXT_LENGTH)[:TEXT_LENGTH]
    assert counted(error_fingerprint(text, subjects=Subjects.KEPT)) >= 20


def test_a_result_is_read_in_steps_and_has_the_same_digest() -> None:
    text = ("12:34:56 5 ms /tmp/a " * TEXT_LENGTH)[:TEXT_LENGTH]
    # Each piece has a clock, a duration and a temporary name.
    assert counted(result_digest(text)) >= 3 * (TEXT_LENGTH // 21) // MATCHES_AT_ONCE


@given(st.lists(st.sampled_from(WORDS), max_size=8).map(b"".join))
@settings(deadline=None, max_examples=500)
def test_a_missing_name_is_found_in_lower_case_where_it_is_in_either(text: bytes) -> None:
    assert bool(_SUBJECT.search(text.lower())) == bool(re.search(SUBJECT, text))
