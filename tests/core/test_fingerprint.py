"""Error fingerprints: the same error is one, told by whatever tool, wherever and whenever."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from sidecar.core.digests.digest import (
    Fingerprint,
    error_fingerprint,
    error_position,
    error_text,
)
from sidecar.core.digests.error_masks import ERROR_MASKS
from sidecar.core.digests.fingerprint import masked_error
from sidecar.core.digests.message_masks import MESSAGE_MASKS, PATH_MASKS
from sidecar.core.digests.subjects import Subjects
from tests.core import mask_reference
from tests.core.fragments import TEXTS, recorded_runs, recorded_texts, shipped_texts

DATA = Path(__file__).parents[1] / "data"
PAIRS = [
    json.loads(line)
    for name in ("errors.jsonl", "more_errors.jsonl", "tool_errors.jsonl")
    for line in (DATA / name).read_text("utf-8").splitlines()
]

NPM = """npm error code ERESOLVE
npm error ERESOLVE unable to resolve dependency tree
npm error Found: a@1.0.0
npm error peer b@2 from c@3.0.0
npm error
npm error A complete log of this run can be found in: /root/.npm/_logs/x.log"""
MAVEN = """[ERROR] COMPILATION ERROR :
[ERROR] /a/B.java:[3,1] cannot find symbol
[ERROR] [Help 1] http://cwiki.apache.org/x"""


def fingerprint(message: str, subjects: Subjects = Subjects.MASKED) -> str:
    return error_fingerprint(message, subjects=subjects).masked


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: str(pair["name"]))
def test_two_tellings_of_one_error_are_one(pair: dict[str, Any]) -> None:
    same = fingerprint(pair["a"]) == fingerprint(pair["b"])
    assert same == pair["same"], pair["why"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No module named 'numpy'", "No module named 'pandas'"),
        ("KeyError: 'name'", "KeyError: 'age'"),
        ("module 'np' has no attribute 'int'", "module 'np' has no attribute 'float'"),
        ('The argument "ami" is required', 'The argument "type" is required'),
        ("name 'foo' is not defined", "name 'bar' is not defined"),
        ("Error: Cannot find module 'express'", "Error: Cannot find module 'lodash'"),
        ("a.ts(1,2): TS2304: Cannot find name 'a'.", "a.ts(3,4): TS2304: Cannot find name 'b'."),
        ("cannot find value `x` in this scope", "cannot find value `total` in this scope"),
        ("a.c:1:2: error: 'foo' undeclared", "a.c:3:4: error: 'bar' undeclared"),
        ("undefined reference to `foo'", "undefined reference to `bar'"),
        ("cannot import name 'a' from 'm'", "cannot import name 'b' from 'm'"),
        ("undefined local variable or method `a'", "undefined local variable or method `b'"),
        ("CANNOT FIND MODULE 'a'", "CANNOT FIND MODULE 'b'"),
        ('unknown field "spec.replica"', 'unknown field "metadata.label"'),
        ('{"field": "taxCode", "error": "missing"}', '{"field": "unit", "error": "missing"}'),
        (
            'process "/bin/sh -c npm ci" did not complete successfully: exit code: 1',
            'process "/bin/sh -c make" did not complete successfully: exit code: 1',
        ),
    ],
)
def test_the_subject_of_a_missing_name_is_kept_where_it_is_asked_for(one: str, other: str) -> None:
    assert fingerprint(one, Subjects.KEPT) != fingerprint(other, Subjects.KEPT)
    assert fingerprint(one, Subjects.MASKED) == fingerprint(other, Subjects.MASKED)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Cannot read property 'id' of undefined", "Cannot read property 'name' of undefined"),
        ("'A' object has no attribute 'x'", "'B' object has no attribute 'y'"),
        ("No module named 'a'\nin 'b'", "No module named 'a'\nin 'c'"),
    ],
)
def test_no_other_name_is_kept(one: str, other: str) -> None:
    assert fingerprint(one, Subjects.KEPT) == fingerprint(other, Subjects.KEPT)


@pytest.mark.parametrize(
    ("quoted", "masked"),
    [
        ("'Failed to connect'", "<'Failed to connect'>"),
        ("'Failed connecting'", "<<q>>"),
        ("'not a word of it'", "<<q>>"),
        ("'invalid'", "<<q>>"),
    ],
)
def test_a_quoted_sentence_about_an_error_is_the_error(quoted: str, masked: str) -> None:
    text = masked_error(f"<{quoted}>", subjects=Subjects.MASKED, places=[])
    assert text.decode() == masked


def test_a_moved_line_changes_the_strict_fingerprint_and_the_position_alone() -> None:
    here = error_fingerprint("main.go:14:2: undefined: foo", subjects=Subjects.MASKED)
    there = error_fingerprint("main.go:15:2: undefined: foo", subjects=Subjects.MASKED)
    assert here.masked == there.masked
    assert here.strict != there.strict
    assert here.position != there.position
    assert here == error_fingerprint("/a/main.go:14:2: undefined: foo", subjects=Subjects.MASKED)


def test_of_a_long_error_its_ends_are_compared() -> None:
    def fingerprint(message: str) -> Fingerprint:
        return error_fingerprint(message, subjects=Subjects.MASKED)

    frames = "in a frame\n" * 500
    assert fingerprint(f"{frames}more") != fingerprint(f"{frames}less")
    assert fingerprint(f"more{frames}") != fingerprint(f"less{frames}")
    assert fingerprint(f"{frames}x{frames}") == fingerprint(f"{frames}y{frames}")
    short = "x" * 8_192
    assert fingerprint(short) != fingerprint(short[:4_096] + "y" + short[4_097:])


@pytest.mark.parametrize(
    "form", ["a.c:{}: bad", "a.c:{}:1: bad", "line {}", "lines {}-9", "a.ts({},1)", "b.f90:{}:1"]
)
def test_a_moved_line_is_another_position(form: str) -> None:
    assert error_position(form.format(7)) != error_position(form.format(8))


@pytest.mark.parametrize("form", ["2024-01-01 10:00:{:02}", "10.0.0.1:80:{}", "localhost:{}"])
def test_a_time_of_day_and_a_port_are_no_position(form: str) -> None:
    assert error_position(form.format(7)) == ""


def test_a_place_after_a_thousand_others_is_not_looked_at() -> None:
    places = "a.c:7:3\n" * 1_024
    assert error_position(f"{places}a.c:8:3") == error_position(places)
    assert error_position(f"a.c:8:3\n{places}") != error_position(places)


def test_an_error_that_names_no_place_has_no_position() -> None:
    nowhere = error_fingerprint("bad value 12345", subjects=Subjects.MASKED)
    assert nowhere.position == ""
    assert nowhere.strict == nowhere.masked


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        ("line 7, column 3", "7,3"),
        ("LINE 1: SELECT", "1"),
        ("a.py:31: AssertionError", "31"),
        ("a.ts(12,5): error", "12,5"),
        ("A.java:[12,8] error", "12,8"),
        ("  --> src/a.rs:4:5\n   |\n4  | let x\n   |     ^", "4,4,5"),
        ("<stdin>:3: error", "3"),
        ("Unexpected token (12:5)", "12,5"),
        ("@@ -1,2 +3,4 @@", "1,2,3,4"),
        ("Makefile:12: bad", "12"),
        ("dial tcp 127.0.0.1:5432: refused", ""),
        ("HTTP 404 at 10:04:31", ""),
    ],
)
def test_the_numbers_of_places_are_told_from_other_numbers(message: str, numbers: str) -> None:
    places: list[bytes] = []
    masked_error(message, subjects=Subjects.MASKED, places=places)
    assert b",".join(places).decode() == numbers


@given(TEXTS)
@settings(deadline=None, max_examples=400)
def test_hints_and_quick_patterns_change_nothing(text: str) -> None:
    assert_as_written(text)


def test_shipped_texts_are_masked_as_the_page_says() -> None:
    for text in shipped_texts():
        assert_as_written(text)


@pytest.mark.skipif(not any(recorded_runs()), reason="SIDECAR_RUNS names no recorded runs")
def test_recorded_texts_are_masked_as_the_page_says() -> None:
    # The page's masks, which are written to be read, take 20 s for all of them.
    for text in islice(recorded_texts(), 0, None, 5):
        assert_as_written(text)


@pytest.mark.parametrize(
    ("name", "masks"),
    [("message", MESSAGE_MASKS), ("path", PATH_MASKS), ("error", ERROR_MASKS)],
)
def test_every_mask_of_errors_is_on_the_page(name: str, masks: Any) -> None:
    written = mask_reference.page().masks[name]
    assert [mask.name for mask in masks] == [mask.name for mask in written]


@pytest.mark.parametrize(
    ("why", "result", "text"),
    [
        ("an empty result says nothing", " \n", ""),
        ("the only line", "it broke", "it broke"),
        ("nothing looks like an error", "one\ntwo\nthree", "one\nthree"),
        (
            "the end of a traceback",
            'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nKeyError: 1',
            "KeyError: 1",
        ),
        (
            "an exception whose name does not say so",
            "python a.py\ndjango.core.exceptions.AppRegistryNotReady: Apps first.\nbye",
            "django.core.exceptions.AppRegistryNotReady: Apps first.",
        ),
        (
            "the first and the last of several",
            "cc a.c\na.c:1:2: error: x\na.c:3:4: error: y\nmake: *** [all] Error 1\n",
            "a.c:1:2: error: x\na.c:3:4: error: y",
        ),
        (
            "an editor's findings, not the code it shows",
            "ERRORS:\n- E999 SyntaxError: bad\n- F401 unused\nYour edit:\nraise ValueError",
            "- E999 SyntaxError: bad\n- F401 unused",
        ),
        (
            "what a tool hands over as JSON",
            '{"output":"collected 3\\nE   KeyError: 1\\n","metadata":{"exit_code":1}}',
            "E   KeyError: 1",
        ),
        ("both streams", '{"stdout": "start", "stderr": "rm: no such file"}', "rm: no such file"),
        (
            "nothing that was printed",
            '{"output": " ", "error": "x"}',
            '{"output": " ", "error": "x"}',
        ),
        ("what is no JSON", '{"output": broken', '{"output": broken'),
        (
            "not a tool's frame",
            "<returncode>1</returncode>\n<output>\nwould reformat a.py\n2 files left\n</output>",
            "would reformat a.py\n2 files left",
        ),
        (
            "not another tool's",
            "Stdout: 3 left\nStderr: (empty)\nError: (none)\nExit Code: 1\nSignal: (none)",
            "3 left",
        ),
        (
            "not a third one's",
            "7 differ\n[The command completed with exit code 1.]\n[Current working directory: /w]",
            "7 differ",
        ),
        ("but where there is nothing else", "Exit code: 1\nOutput:\n", "Exit code: 1\nOutput:"),
        ("a heading is no error", "ERROR:\nold_str not found in a.py", "old_str not found in a.py"),
        (
            "what npm says each time is none",
            NPM,
            "npm error Found: a@1.0.0\nnpm error peer b@2 from c@3.0.0",
        ),
        (
            "nor what Maven says",
            MAVEN,
            "[ERROR] /a/B.java:[3,1] cannot find symbol",
        ),
        ("terminal colours are none", "\x1b[31mError: x\x1b[0m\r\n", "Error: x"),
        ("the beginning of a long line", f"Error: {'x' * 5_000}", f"Error: {'x' * 993}"),
    ],
)
def test_the_lines_that_tell_of_an_error_are_taken(why: str, result: str, text: str) -> None:
    assert error_text(result) == text, why


def assert_as_written(text: str) -> None:
    """The code masks the text as proto/digests.md says."""
    for subjects in Subjects:
        places: list[bytes] = []
        masked = masked_error(text, subjects=subjects, places=places)
        written, numbers = mask_reference.masked_error(text, kept=subjects is Subjects.KEPT)
        assert masked == written.encode("utf-8", "surrogatepass"), text
        assert b",".join(places).decode() == ",".join(numbers), text
