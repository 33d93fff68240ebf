"""The object that a model was to write."""

import time

import pytest

from sidecar.core.answers.json_reply import only_object

PASS = {"verdict": "PASS"}


@pytest.mark.parametrize(
    ("why", "text", "found"),
    [
        ("alone", '{"verdict": "PASS"}', PASS),
        ("fenced", '```json\n{"verdict": "PASS"}\n```', PASS),
        ("among words", 'I think: {"verdict": "PASS"} as said.', PASS),
        ("in a list", '[{"verdict": "PASS"}]', PASS),
        ("said twice", '{"verdict": "PASS"} {"verdict": "PASS"}', PASS),
        ("beside braces", 'f{x} {"verdict": "PASS"} {', PASS),
        ("beside another object", '{"a": 1} {"verdict": "PASS"}', PASS),
        ("with keys in any case", '{"Verdict": "PASS"}', PASS),
        ("with a line break in a string", '{"verdict": "PA\nSS"}', {"verdict": "PA\nSS"}),
        ("two that differ", '{"verdict": "PASS"} {"verdict": "FAIL"}', None),
        ("only inside another", '{"quoted": {"verdict": "PASS"}}', None),
        ("in a string of another", '{"quoted": "{\\"verdict\\": \\"PASS\\"}"}', None),
        ("cut", '{"verdict": "PASS", "reasoning": "the ans', None),
        ("with a trailing comma", '{"verdict": "PASS",}', None),
        ("in words alone", "verdict: PASS", None),
        ("nothing", "", None),
    ],
)
def test_an_object_is_found_where_it_is_clear_which(
    why: str, text: str, found: dict[str, str] | None
) -> None:
    assert only_object(text, "verdict") == found, why


def test_no_text_takes_long() -> None:
    began_s = time.monotonic()
    for hostile in ('{"a":' * 200_000, "{" * 1_000_000, '{"a":"' + "x" * 1_000_000):
        assert only_object(hostile, "verdict") is None
    assert time.monotonic() - began_s < 10
