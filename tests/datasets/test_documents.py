"""How files are read, and what is said of those that cannot be."""

from pathlib import Path

import pytest

from sidecar.datasets.documents import read_records, read_text, stem_of


def _file(folder: Path, content: bytes, name: str = "a.json") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("why", "content", "places"),
    [
        ("an object is one record, in line 1", b'{"a": 1}', ["1"]),
        ("a list is its parts", b'[{"a": 1}, 2]', ["record 1", "record 2"]),
        ("lines are numbered with the blank ones", b'{"a": 1}\n\n{"a": 2}\n', ["1", "3"]),
        ("a byte order mark is no content", b'\xef\xbb\xbf{"a": 1}', ["1"]),
        ("Python writes NaN", b'{"a": NaN}', ["1"]),
        ("a pretty object has many lines", b'{\n"a": 1\n}', ["1"]),
    ],
)
def test_json_and_json_lines_are_read(
    tmp_path: Path, why: str, content: bytes, places: list[str]
) -> None:
    read = read_records(_file(tmp_path, content), {})
    assert read.document is not None, why
    assert [record.place for record in read.document.records] == places, why
    assert read.broken == (), why


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        (b"", "1", "the file is empty"),
        (b" \n\t\n", "1", "the file is empty"),
        (b"\x7fELF\x00\x00", "1", "binary; expected text"),
        (b"not JSON", "1", "not JSON: Expecting value"),
        (b'{\n"a": 1,\n}', "3", "not JSON: "),
        (b'{\n"a": "\xff"\n}', "2", "is not UTF-8"),
        (b"[" * 100_000, "1", "nested too deeply"),
    ],
)
def test_a_file_that_is_no_json_is_named_by_line(
    tmp_path: Path, content: bytes, place: str, problem: str
) -> None:
    (found,) = read_records(_file(tmp_path, content), {}).broken
    assert found.place == place
    assert problem in found.problem


def test_half_a_surrogate_pair_is_read_as_a_question_mark(tmp_path: Path) -> None:
    read = read_records(_file(tmp_path, b'{"\\ud800": ["\\udfff", "\\ud83d\\ude00"]}'), {})
    assert read.document is not None
    assert read.document.records[0].value == {"?": ["?", "\U0001f600"]}


def test_a_broken_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    read = read_records(_file(tmp_path, b'{"a": 1}\n{"a": \n{"b": "\xff"}\n{"a": 2}\n{"cut'), {})
    assert read.document is not None
    assert [record.place for record in read.document.records] == ["1", "4"]
    assert [broken.place for broken in read.broken] == ["2", "3", "5"]


def test_a_broken_first_line_of_a_jsonl_file_is_one_broken_line(tmp_path: Path) -> None:
    read = read_records(_file(tmp_path, b'cut"}\n{"a": 1}\n', "a.jsonl"), {})
    assert read.document is not None
    assert [record.place for record in read.document.records] == ["2"]
    assert [broken.place for broken in read.broken] == ["1"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    read = read_records(tmp_path / "gone.json", {})
    assert read.document is None
    assert "cannot be read: No such file" in read.broken[0].problem


def test_a_text_keeps_what_is_utf_8(tmp_path: Path) -> None:
    read = read_text(_file(tmp_path, b"a\xffb\n", "a.log"), {})
    assert read.document is not None
    assert read.document.text == "a\ufffdb\n"


def test_files_beside_are_read_where_they_are(tmp_path: Path) -> None:
    beside = {"there": _file(tmp_path, b"x", "x"), "gone": tmp_path / "gone"}
    read = read_text(_file(tmp_path, b"a"), beside)
    assert read.document is not None
    assert read.document.beside == {"there": "x"}


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("gpt-4.1-airline.json", "gpt-4.1-airline"),
        ("x.traj.json", "x"),
        ("a__b-1.traj", "a__b-1"),
        ("Chart_5", "Chart_5"),
        (".json", ".json"),
    ],
)
def test_the_stem_is_the_name_without_what_says_its_form(name: str, stem: str) -> None:
    assert stem_of(name) == stem
