"""What of a result is compared: the masks, one by one and as their specification has them."""

import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.core.digests.digest import result_digest, text_digest
from sidecar.core.digests.error_masks import ERROR_MASKS
from sidecar.core.digests.masks import Mask, Masking, substitution
from sidecar.core.digests.message_masks import MESSAGE_MASKS, PATH_MASKS
from sidecar.core.digests.result_masks import RESULT_MASKS, masked_result
from tests.core import mask_reference
from tests.core.fragments import TEXTS, recorded_runs, recorded_texts, shipped_texts

LISTS = {
    "result": RESULT_MASKS,
    "message": MESSAGE_MASKS,
    "path": PATH_MASKS,
    "error": ERROR_MASKS,
}
BEFORE_A_NUMBER = (
    *(b"errno", b"code", b"Code", b"status", b"SQLSTATE", b"sqlcode", b"WinError", b"hresult"),
    *(b"exit", b"exited", b" with", b"error", b"Err", b"msg", b"number", b"port", b"Ports"),
    *(b"version ", b"Python ", b"node ", b"<ip>", b"AB-", b"1234-", b"123", b"a", b"Z", b" "),
    *(b"OperationalError", b"dataerror", b"DataError)", b"Error: (", b"Exception"),
    *(b":", b"=", b"#", b"(", b"[", b"]", b")", b"-", b"<", b">", b"/", b'"', b"'", b"\t", b"\n"),
)


@pytest.mark.parametrize(
    ("changing", "masked"),
    [
        ("2026-02-11T10:04:31.120Z up", "<t> up"),
        ("2026-02-11 10:04:31,120 +01:00 up", "<t> up"),
        ("2026/02/11 10:04 UTC up", "<t> up"),
        ("-rw-r--r-- 1 root 1447 Nov 21 11:01 a", "-rw-r--r-- 1 root 1447 <t> a"),
        ("Jan  5 09:00:01 host", "<t> host"),
        ("[10:04:31.120] ready", "[<t>] ready"),
        ("posted at 4:51 PM by x", "posted at <t> by x"),
        ("10:00:00-11:30:00", "<t>-<t>"),
        ('{"timestamp": 1715767471.25, "n": 3}', '{"timestamp": <t>, "n": 3}'),
        ('{"ts":"1715767471123"}', '{"ts":"<t>"}'),
        ("1 failed, 3 passed in 0.42s", "1 failed, 3 passed in <d>"),
        ("real\t0m1.234s", "real\t<d>"),
        ("pod-a Running 5m12s", "pod-a Running <d>"),
        ("done in 1h 2m 3s", "done in <d>"),
        ("took 12 ms, 7 \u00b5s and 8 \u03bcs", "took <d>, <d> and <d>"),
        ("18 minutes ago, 46 seconds ago", "<d> ago, <d> ago"),
        ("ok works (12 ms)\nok", "ok works\nok"),
        ("job 123e4567-e89b-12d3-a456-426614174000 done", "job <x> done"),
        ("container 4f66ad9a0b2e up", "container <x> up"),
        ("groupchat/tmp_code_74ffb15cc50968cb.py", "groupchat/tmp_code_<x>.py"),
        ("<User object at 0x7f3a2c1b4d90>", "<User object at <x>>"),
        ("com.acme.User@1b6d3586", "com.acme.User@<x>"),
        ("/tmp/tmpab12cd/x.py", "/tmp/<f>/x.py"),
        ("/private/tmp/x.log", "/private/tmp/<f>"),
        ("/tmp/pytest-of-root/pytest-12/test_x0", "/tmp/<f>/test_x0"),
        ("/var/folders/ab/cd/T/tmpx1y2/a", "/var/folders/ab/cd/T/<f>/a"),
        ("started (pid 1234), PID: 99", "started (pid <p>), PID: <p>"),
        ('{"duration_seconds":3.1}', '{"duration_seconds":<d>}'),
        ("total_duration = 95", "total_duration = <d>"),
        ('{"took": 36, "hits": 0}', '{"took": <d>, "hits": 0}'),
        ("Randomized with seed 4711", "Randomized with seed <d>"),
        ("retry-after: 30", "retry-after: <d>"),
        ("load average: 0.52, 0.58, 0.59", "load average: <n>"),
        ("RequestId: 7XK2PQ81", "RequestId: <x>"),
        ('"request_id": "req_011CQxyz"', '"request_id": "<x>"'),
        ("link [ref=e31] to [ref=12]", "link [ref=<n>] to [ref=<n>]"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[1;31mred\x1b[0m\x1b]0;title\x07 x\x1b(B", "red x"),
        ("  \n text \t\n", "text"),
    ],
)
def test_what_changes_without_being_news_is_masked(changing: str, masked: str) -> None:
    assert masked_result(changing).decode() == masked


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 passed, 1 failed", "4 passed, 1 failed"),
        ("[ 7%] Building", "[14%] Building"),
        ("a.py:12:34: error", "a.py:13:34: error"),
        ("  12:34  error  unused", "  12:35  error  unused"),
        ("error at line 3", "error at line 4"),
        ("flights on 2024-05-15", "flights on 2024-05-16"),
        ("rows 0..999: sum=11", "rows 1000..1999: sum=11"),
        ("order 123456789012", "order 123456789013"),
        ("[1] 42", "[1] 43"),
        ("version 1.2.3", "version 1.2.4"),
        ('"elapsed_s": 30', '"elapsed_s": 60'),
        ("request id missing", "request id unknown"),
        ("href=a1", "href=a2"),
        ("5 users, 12 items", "6 users, 12 items"),
        ("main.py", "test.py"),
        ("0x10", "0x20"),
        ("\u00e9t\u00e9", "ete"),
    ],
)
def test_counts_places_and_dates_are_news(one: str, other: str) -> None:
    assert result_digest(one) != result_digest(other)


def test_of_a_mask_s_matches_the_first_four_thousand_are_masked() -> None:
    one, other = "took 1s, ", "took 2s, "
    assert masked_result(one * 4_096) == masked_result(other * 4_096)
    assert masked_result(one * 4_097) != masked_result(other * 4_097)


def test_of_a_long_result_its_ends_are_compared() -> None:
    log = "row of a log\n" * 10_000
    assert result_digest(f"{log}more") != result_digest(f"{log}less")
    assert result_digest(f"more{log}") != result_digest(f"less{log}")
    assert result_digest(f"{log}x{log}") == result_digest(f"{log}y{log}")


@given(TEXTS)
@settings(deadline=None, max_examples=400)
def test_hints_and_quick_patterns_change_nothing(text: str) -> None:
    assert masked_result(text) == mask_reference.masked_result(text).encode(
        "utf-8", "surrogatepass"
    )


def test_shipped_texts_are_masked_as_the_page_says() -> None:
    for text in shipped_texts():
        expected = mask_reference.masked_result(text).encode("utf-8", "surrogatepass")
        assert masked_result(text) == expected, text


@pytest.mark.skipif(not any(recorded_runs()), reason="SIDECAR_RUNS names no recorded runs")
def test_recorded_texts_are_masked_as_the_page_says() -> None:
    for text in recorded_texts():
        expected = mask_reference.masked_result(text).encode("utf-8", "surrogatepass")
        assert masked_result(text) == expected, text


def test_every_mask_of_results_is_on_the_page() -> None:
    assert [mask.name for mask in RESULT_MASKS] == [
        mask.name for mask in mask_reference.page().masks["result"]
    ]


@given(TEXTS)
@settings(deadline=None, max_examples=200)
def test_a_mask_alone_does_what_it_does_in_a_list(text: str) -> None:
    content = text.encode("utf-8", "surrogatepass")
    for mask in RESULT_MASKS:
        assert Masking([mask]).masked(content, []) == substitution(mask).masked(content, [])


@given(TEXTS)
@settings(deadline=None, max_examples=200)
def test_a_mask_alone_does_what_the_page_says(text: str) -> None:
    for name, masks in LISTS.items():
        for mask, written in zip(masks, mask_reference.page().masks[name], strict=True):
            places: list[bytes] = []
            numbers: list[str] = []
            masked = substitution(mask).masked(text.encode("utf-8", "surrogatepass"), places)
            expected = written.applied(text, numbers).encode("utf-8", "surrogatepass")
            assert masked == expected, mask.name
            assert [place.decode() for place in places] == numbers, mask.name


@pytest.mark.parametrize("mask", ERROR_MASKS, ids=lambda mask: mask.name)
def test_what_a_number_follows_is_the_same_read_backwards(mask: Mask) -> None:
    @given(st.lists(st.sampled_from(BEFORE_A_NUMBER), max_size=6).map(b"".join))
    @settings(deadline=None, max_examples=300)
    def same(before: bytes) -> None:
        follows = re.search(b"(?:" + mask.not_after + rb")\Z", before)
        assert bool(follows) == bool(re.match(mask.not_after_backwards, before[::-1])), before

    assert bool(mask.not_after) == bool(mask.not_after_backwards)
    if mask.not_after:
        same()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hello  world", "Hello\n\tworld "),
        ("attempt 9 of 10", "attempt 10 of 10"),
        ("Retry #3, then", "Retry #12, then"),
        ("a\u00a0b", "a b"),
        ("x\u2028y\u3000z", "x y z"),
    ],
)
def test_texts_that_differ_in_blanks_and_counted_tries_are_one(one: str, other: str) -> None:
    assert text_digest(one) == text_digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I will look", "I will not look"),
        ("Hello", "hello"),
        ("a b", "ab"),
        ("1 2", "12"),
        ("attempt 1", "attempt"),
        ("Room 100 is ready.", "Room 101 is ready."),
        ("Correct! Next: what is 7 x 8?", "Correct! Next: what is 6 x 9?"),
        ("\u0663 apples", "\u0664 apples"),
    ],
)
def test_texts_that_say_something_else_are_not(one: str, other: str) -> None:
    assert text_digest(one) != text_digest(other)


def test_counted_tries_are_what_the_page_says() -> None:
    counted = mask_reference.compiled(mask_reference.page().lines["re2"][2])
    for text in ("attempt 9", "Retry #12", "Iteration: 3", "try 4", "attempts 5", "step 6"):
        masked = counted.sub(r"\g<1>0", text)
        assert text_digest(text) == hashlib.sha256(masked.encode()).hexdigest()[:16]


def test_white_space_is_what_the_page_lists() -> None:
    listed = mask_reference.compiled(mask_reference.page().lines["re2"][1])
    for code in range(0x1_1000):
        if code not in range(0xD800, 0xE000):
            assert chr(code).isspace() == bool(listed.fullmatch(chr(code))), hex(code)
