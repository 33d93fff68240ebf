"""What is said of a line that is none of a run file's."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.adapters.run_file import EXPECTED, NOTHING, BrokenLine, Line, read_lines


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('\ufeff{"open": {}}\n{"turn": {}}\n', encoding="utf-8")

    assert [type(line) for line in read_lines(str(path))] == [Line, Line]


def test_a_byte_order_mark_alone_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("\ufeff\n", encoding="utf-8")

    assert list(read_lines(str(path))) == [BrokenLine(number=1, problem=NOTHING)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"turn": 3}', "turn: expected an object, found 3"),
        ('{"turn": []}', "turn: expected an object, found an array"),
        ('{"close": ""}', 'close: expected an object, found ""'),
        ('{"turn": {"usage": []}}', "turn.usage: expected an object, found an array"),
        ('{"open": {"labels": []}}', "open.labels: expected an object, found an array"),
        (
            '{"turn": {"toolCalls": [{}, ""]}}',
            'turn.tool_calls[1]: expected an object, found ""',
        ),
        ('{"turn": {"tool_calls": {}}}', "turn.tool_calls: expected an array, found an object"),
        ('{"turn": {"tool_calls": [{}, 2]}}', "turn.tool_calls[1]: expected an object, found 2"),
        (
            '{"turn": {"toolCalls": [{"name": 2}]}}',
            "turn.tool_calls[0].name: expected a text in Unicode, found 2",
        ),
        ('{"turn": {"id": "\\ud800"}}', 'turn.id: expected a text in Unicode, found "\ud800"'),
        (
            '{"turn": {"usage": {"input_tokens": "x"}}}',
            'turn.usage.input_tokens: expected a whole number of 64 bits, found "x"',
        ),
        (
            '{"turn": {"usage": {"cost_usd": NaN}}}',
            "turn.usage.cost_usd: expected a number, found NaN",
        ),
        (
            '{"turn": {"sequence": -1}}',
            "turn.sequence: expected a whole number from 0 to 4294967295, found -1",
        ),
        (
            '{"turn": {"start_time": "today"}}',
            'turn.start_time: expected a time like "2026-03-01T10:00:00Z", found "today"',
        ),
        (
            '{"open": {"limits": {"duration_max": 3}}}',
            'open.limits.duration_max: expected a duration like "1.5s", found 3',
        ),
        (
            '{"open": {"labels": {"a": {}}}}',
            "open.labels: expected an object of texts, found an object",
        ),
        (
            '{"turn": {"end_time": "' + "y" * 5000 + '"}}',
            'turn.end_time: expected a time like "2026-03-01T10:00:00Z", found "'
            + "y" * 76
            + "...",
        ),
        ('{"turn": {}, "open": {}}', "the line: expected only one of open, turn"),
        (
            '{"turn": {"text": "a", "text_digest": "b"}}',
            "turn: expected only one of text, text_digest",
        ),
        (
            '{"turn": {"id": "a", "id": "b"}}',
            f"no JSON: 'id' is twice in an object; expected {EXPECTED}",
        ),
        ('{"turn": ', f"no JSON at column 10: Expecting value; expected {EXPECTED}"),
        ('{"turn": {"later": ' + "9" * 5000 + "}}", "a number of more than 4,300 digits"),
        ("null", f"expected {EXPECTED}"),
        ('"turn"', f"expected {EXPECTED}"),
        ('{"trun": {}}', f"nothing known in it; expected {EXPECTED}"),
        ('{"turn": ' + "[" * 100_000, "nested too deeply to be read"),
    ],
)
def test_a_line_that_cannot_be_read_says_where_and_what_would_be_right(
    tmp_path: Path, line: str, problem: str
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(line + "\n")

    assert list(read_lines(str(path))) == [BrokenLine(number=1, problem=problem)]


@pytest.mark.parametrize(
    ("pack", "program"), [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz")]
)
def test_a_compressed_file_is_said_to_be_one_and_is_read_no_further(
    tmp_path: Path, pack: Callable[[bytes], bytes], program: str
) -> None:
    path = tmp_path / "run.jsonl.packed"
    path.write_bytes(pack(b'{"open": {}}\n' + b'{"turn": {}}\n' * 99) + b"\n\n")

    problem = f"compressed by {program}: unpack it first; expected {EXPECTED}"
    assert list(read_lines(str(path))) == [BrokenLine(number=1, problem=problem)]
