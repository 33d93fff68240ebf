"""Texts of others, shown so that they can only be read."""

import json

import pytest

from sidecar.printable import printable, printable_json, printable_lines

STEERING = ["\x1b[31m", "\x7f", "\x9b", "\u2028", "\u202e", "\ufeff", "\U000e0001", "\ud800"]


@pytest.mark.parametrize("text", STEERING)
def test_what_would_steer_a_terminal_is_shown_as_an_escape(text: str) -> None:
    assert printable(f"a{text}b").isprintable()
    assert printable_lines(f"a{text}\nb").count("\n") == 1


@pytest.mark.parametrize("text", [*STEERING, "caf\u00e9 \u2713 \U0001f600", "two\nlines"])
def test_json_without_what_would_steer_a_terminal_means_the_same(text: str) -> None:
    for indent in (None, 2):
        written = json.dumps({text: [text]}, ensure_ascii=False, indent=indent)
        shown = printable_json(written)

        assert json.loads(shown) == {text: [text]}
        assert all(line.isprintable() for line in shown.split("\n"))


def test_what_can_be_read_is_left_as_it_is() -> None:
    text = json.dumps({"caf\u00e9": "\u65e5\u672c"}, ensure_ascii=False)

    assert printable_json(text) is text
