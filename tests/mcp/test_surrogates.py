"""Halves of surrogate pairs in a JSON text: replaced, and nothing else is touched."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.mcp.surrogates import without_halves


@pytest.mark.parametrize(
    ("why", "message", "read"),
    [
        ("the first half alone", rb'"cut \ud83d"', rb'"cut \ufffd"'),
        ("the second half alone", rb'"\ude00 cut"', rb'"\ufffd cut"'),
        ("in capitals", rb'"\uD83D"', rb'"\ufffd"'),
        ("a pair", rb'"\ud83d\ude00"', rb'"\ud83d\ude00"'),
        ("the halves in the wrong order", rb'"\ude00\ud83d"', rb'"\ufffd\ufffd"'),
        ("a half before a pair", rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"'),
        ("a half after a pair", rb'"\ud83d\ude00\ude00"', rb'"\ud83d\ude00\ufffd"'),
        ("a backslash and letters", rb'"\\ud83d"', rb'"\\ud83d"'),
        ("a backslash, then a half", rb'"\\\ud83d"', rb'"\\\ufffd"'),
        ("a half, a backslash, letters", rb'"\ud83d\\ude00"', rb'"\ufffd\\ude00"'),
        ("letters, then a half", rb'"\\ud83d\ude00"', rb'"\\ud83d\ufffd"'),
        ("another escape", rb'"\n\u00e9\ud7ff\ue000"', rb'"\n\u00e9\ud7ff\ue000"'),
        ("a name", rb'{"\ud83d": 1}', rb'{"\ufffd": 1}'),
        ("no JSON", b'\\\\\\ud8\\u\xff"', b'\\\\\\ud8\\u\xff"'),
    ],
)
def test_a_half_without_its_other_is_replaced(why: str, message: bytes, read: bytes) -> None:
    assert without_halves(message) == read, why


TEXTS = st.text(st.sampled_from('\ud83d\udbff\ude00\udc00\\ua"\n\U0001f600') | st.characters())


@given(TEXTS)
def test_it_reads_any_text_as_utf_16_with_replacements_does(text: str) -> None:
    units = text.encode("utf-16-le", "surrogatepass")

    assert json.loads(without_halves(json.dumps(text).encode())) == units.decode(
        "utf-16-le", "replace"
    )
