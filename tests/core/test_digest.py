"""The public face: test vectors for clients in other languages, and bounds that always hold."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.core.digests import digest
from sidecar.core.digests.canonical import canonical_arguments
from sidecar.core.digests.fingerprint import masked_error
from sidecar.core.digests.measured import TEXT_MAX
from sidecar.core.digests.result_masks import masked_result
from sidecar.core.digests.subjects import Subjects
from tests.core import mask_reference

VECTORS = Path(__file__).parents[2] / "proto" / "digests.jsonl"
SECONDS_MAX = 0.5
"""For 64 Ki characters: several times what a slow machine takes, a tenth of what squares take."""


def result_vector(text: str, times: int = 1) -> dict[str, Any]:
    vector = {"digest": digest.result_digest(text * times)}
    return vector if times > 1 else {"masked": masked_result(text).decode(), **vector}


def error_vector(message: str, subjects: str, times: int = 1) -> dict[str, Any]:
    found = digest.error_fingerprint(message * times, subjects=Subjects(subjects))
    masked = masked_error(message, subjects=Subjects(subjects), places=[])
    return {
        **({} if times > 1 else {"masked_text": masked.decode()}),
        "fingerprint": found.masked,
        "strict": found.strict,
        "position": found.position,
    }


FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "arguments_digest": lambda arguments_json: {
        "canonical": canonical_arguments(arguments_json),
        "digest": digest.arguments_digest(arguments_json),
    },
    "result_digest": result_vector,
    "text_digest": lambda text: {"digest": digest.text_digest(text)},
    "text_repeats": lambda text: {"repeats": digest.text_repeats(text)},
    "result_kind": lambda text: {"kind": digest.result_kind(text).value},
    "call_kind": lambda name, arguments_json: {
        "kind": digest.call_kind(name, arguments_json).value
    },
    "error_fingerprint": error_vector,
    "error_text": lambda text: {"lines": digest.error_text(text)},
    "error_position": lambda text: {"position": digest.error_position(text)},
}
GIVEN = ("arguments_json", "name", "arguments_digest", "text", "times", "message", "subjects")


def vectors() -> list[dict[str, Any]]:
    return [json.loads(line) for line in VECTORS.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_vectors_hold(function: str) -> None:
    rows = [row for row in vectors() if row.pop("function") == function]
    assert rows
    for row in rows:
        asked = {key: row.pop(key) for key in GIVEN if key in row}
        assert FUNCTIONS[function](**asked) == row, asked


def test_the_vectors_are_of_functions_that_the_page_lists() -> None:
    page = mask_reference.PAGE.read_text("utf-8")
    listed = page[page.index("## Test vectors") :]
    for function in {row["function"] for row in vectors()} | set(FUNCTIONS):
        assert f"| `{function}` |" in listed


def test_what_the_page_writes_of_places_is_what_is_computed() -> None:
    pattern = mask_reference.compiled(mask_reference.page().lines["place"][0])
    for text in ("line 7, a.c:7:3 and a.ts(7,3) Line 9", "no place", "at 10:04:31"):
        written = ",".join(":".join(found) for found in pattern.findall(text))
        expected = mask_reference.digest(written) if written else ""
        assert digest.error_position(text) == expected


@given(st.text(st.characters(), max_size=60))
@settings(deadline=None)
def test_digests_have_16_digits_and_nothing_raises(text: str) -> None:
    found = digest.error_fingerprint(text, subjects=Subjects.KEPT)
    for value in (
        digest.arguments_digest(text),
        digest.result_digest(text),
        digest.text_digest(text),
        found.masked,
        found.strict,
        found.position or "0" * 16,
        digest.error_position(text) or "0" * 16,
    ):
        assert len(value) == 16
        int(value, 16)
    assert len(digest.error_text(text).splitlines()) >= 0


PIECES = (
    *("a", "1", "0", " ", "\n", "'", '"', "`", "\\", "/", "./", "/a", ":", "1:", "::", "::1", "["),
    *("(", "-", "1-", "1.", "1,", "1,1", "1d ", "0x", "@a", "_a1", "deadbeef1", "\x1b[", "\x1b]"),
    *("\r", "<t> ", "<t>[", " (<d>)", "Nov 1 ", "2026-02-11 ", "10:04:", "line 1,", 'File "', "> "),
    *('"error": "', '"error": "\\', "'code': '\\", "request id: a", "1 |", "pid=", "error 1 ("),
    *("AB-1234-", "/tmp/a", "file://", "C:\\a\\", ":1->", "fe80::1:", "(1:1)", "\u2019", "\u0301"),
    *("\ud800", "x\u0301", "tmp", "no ", "- a\n", "a|b|", "abcde", "{", "[1,", '{"a":', "1e"),
    *('"\\', "sleep ", "a;", "a>", "'a", "git diff a..", "E  a\n", "Error\n", "key: v,", "open(, "),
    *("import time\n", "a" * 100 + "b", "1 day ", "<stdin>:", "\t|", "~^", "panicked at '"),
    *(":1234 ", "1.5)", "2026-02-11", "/T/", "C:/a ", "In[1]", "::1]", "\U0001f600", "\rg", "1.5,"),
)
"""What each text of the next test is made of: beginnings of what patterns look for, and no end."""
TEXT_FUNCTIONS: dict[str, Callable[[str], object]] = {
    "arguments": digest.arguments_digest,
    "result": digest.result_digest,
    "kind": digest.result_kind,
    "text": digest.text_digest,
    "repeats": digest.text_repeats,
    "error": lambda text: digest.error_fingerprint(text, subjects=Subjects.KEPT),
    "error text": digest.error_text,
    "position": digest.error_position,
    "command": lambda text: digest.call_kind("bash", text),
    "code": lambda text: digest.call_kind("run", json.dumps({"code": text})[:TEXT_MAX]),
    "tool": lambda text: digest.call_kind(text, "{}"),
    "echo": lambda text: digest.without_echo(text, text),
}


@pytest.mark.parametrize("name", TEXT_FUNCTIONS)
def test_no_text_takes_more_than_linear_time(name: str) -> None:
    function = TEXT_FUNCTIONS[name]
    for piece in PIECES:
        for begin, end in (("", ""), ("", "\x00!"), ("{" * 101 + '"', "")):
            middle = (piece * (TEXT_MAX // len(piece) + 1))[: TEXT_MAX - len(begin) - len(end)]
            text = begin + middle + end
            started = time.process_time()
            function(text)
            assert time.process_time() - started < SECONDS_MAX, (begin, piece, end)
