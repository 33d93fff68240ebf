"""Files and pages that are not quite as they say: their rows, cells, titles and character sets."""

import io
import re
import sys
import zipfile
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from sidecar.codeagent.runner.step import ToolRefused
from sidecar.codeagent.tools.pages import WebPages
from sidecar.codeagent.tools.parsing import ERROR_CHARS_MAX, Form, ParseError, parse
from sidecar.codeagent.tools.read_file import ReadFile
from sidecar.codeagent.tools.web import VisitWebpage
from tests.codeagent.loopback import Reply, site

pytestmark = pytest.mark.process

LOOPBACK = (ip_network("127.0.0.0/8"),)
RUSSIAN = "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440"


def workbook(cells: dict[str, float | str | None], dimension: str | None = None) -> bytes:
    """With one sheet, S, which says that it has that dimension."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "S"
    for place, content in cells.items():
        sheet[place] = content
        if content is None:
            sheet[place].number_format = "0.00"
    written = io.BytesIO()
    book.save(written)
    if dimension is None:
        return written.getvalue()
    claiming = io.BytesIO()
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(claiming, "w") as target:
        for name in source.namelist():
            said = f'<dimension ref="{dimension}"'.encode()
            target.writestr(name, re.sub(rb'<dimension ref="[^"]*"', said, source.read(name)))
    return claiming.getvalue()


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (
            "echo one >&2; echo 'ImportError: no reader' >&2; exit 1",
            "the reader failed: ImportError: no reader",
        ),
        (
            "yes | head -c 1000000 | tr -d '\\n' >&2; exit 3",
            f"the reader failed: {'y' * ERROR_CHARS_MAX}",
        ),
        ("exit 1", "the reader failed: exit code 1"),
        (
            "echo nothing >&2; kill -9 $$",
            "it could not be read within the bounds of memory and time",
        ),
    ],
)
async def test_a_reader_that_ends_early_says_why_where_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str, said: str
) -> None:
    reader = tmp_path / "reader"
    reader.write_text(f"#!/bin/sh\n{ends}\n")
    reader.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(reader))
    with pytest.raises(ParseError) as fault:
        await parse(b"x" * 1_000_000, Form.TEXT)
    assert str(fault.value) == said


QUOTED = [f'{n},"plain, text {n}"' for n in range(300)]


@pytest.mark.parametrize(
    ("lines", "last"),
    [
        ([*QUOTED, '300,"He said ""hi"", then left"'], ["300", 'He said "hi", then left']),
        ([*["1;2;'tis"] * 300, "3;4;o'clock; or so"], ["3", "4", "o'clock", " or so"]),
        (['a, "b, c"'] * 9, ["a", "b, c"]),
        (["time", *['"10:30 am, sharp"'] * 9], ["10:30 am, sharp"]),
        (["a|b", '1|"2 ""|"" 3"'], ["1", '2 "|" 3']),
    ],
)
async def test_rows_are_parted_by_their_delimiter_and_quoted_as_csv_is(
    lines: list[str], last: list[str]
) -> None:
    rows = await ReadFile().call({"path": "a.csv"}, "\n".join(lines).encode())
    assert (len(rows), rows[-1]) == (len(lines), last)


@pytest.mark.parametrize("dimension", [None, "A1", "A1:XFD1048576", "C3:D4"])
async def test_a_sheet_has_the_cells_it_has_whatever_it_says(dimension: str | None) -> None:
    content = workbook({"A1": 0, "C2": "c", "B4": 2.5}, dimension)
    assert await ReadFile().call({"path": "a.xlsx"}, content) == {
        "S": [[0, None, None], [None, None, "c"], [None, None, None], [None, 2.5, None]]
    }


async def test_cells_without_a_value_after_the_last_one_are_left_out() -> None:
    empty = {f"{column}{row}": None for column in ("B", "XFD") for row in (1, 1_048_576)}
    content = workbook({"A1": 1, "A2": 2, **empty})
    assert await ReadFile().call({"path": "a.xlsx"}, content) == {"S": [[1], [2]]}


async def test_a_sheet_with_too_many_cells_says_how_to_read_a_part() -> None:
    content = workbook({"A1": 1, "A1048576": 2})
    with pytest.raises(ToolRefused, match=r"more than 500,000 cells.* zipfile"):
        await ReadFile().call({"path": "a.xlsx"}, content)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (b"<head><style>x</style><title>On\n towers</title></head><p>High", "On towers\nHigh"),
        (b"<title>On towers</title><p>High", "On towers\nHigh"),
        (b"<svg><title>Logo</title></svg><p>High", "High"),
    ],
)
async def test_a_page_begins_with_its_title(html: bytes, text: str) -> None:
    assert await parse(html, Form.HTML) == text


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/html; charset=windows-1251", RUSSIAN.encode("cp1251"), RUSSIAN),
        ('text/plain; Charset="Windows-1251"', RUSSIAN.encode("cp1251"), RUSSIAN),
        ("text/plain; charset=utf-16le", RUSSIAN.encode("utf-16le"), RUSSIAN),
        ("text/plain; charset=utf-8", RUSSIAN.encode("utf-8-sig"), RUSSIAN),
        ("text/html; charset=utf-8", RUSSIAN.encode("utf-8-sig"), RUSSIAN),
        ("text/html; charset=utf-8", RUSSIAN.encode("utf-16"), RUSSIAN),
        ("text/plain; charset=koi8-r", RUSSIAN.encode("utf-16"), RUSSIAN),
        ("text/html; charset=no-such", RUSSIAN.encode(), RUSSIAN),
        ("text/plain; charset=no-such", RUSSIAN.encode(), RUSSIAN),
        ("text/plain; charset=rot13", b"abc", "abc"),
        ("text/plain; charset=idna", b"\xe9", "\u00e9"),
        ("text/plain; charset=utf-8", b"\xe9", "\u00e9"),
        ("text/plain; charset=iso-8859-1", "\u201cx\u201d".encode("cp1252"), "\u201cx\u201d"),
        ("text/html; charset=ISO-8859-1", "\u201cx\u201d".encode("cp1252"), "\u201cx\u201d"),
        ("text/html; charset=us-ascii", "\u201cx\u201d".encode("cp1252"), "\u201cx\u201d"),
        ("text/html", b'<meta charset="koi8-r">' + RUSSIAN.encode("koi8-r"), RUSSIAN),
    ],
)
async def test_a_page_is_in_the_character_set_that_its_server_says(
    kind: str, body: bytes, text: str
) -> None:
    reply = Reply(body=body, headers={"Content-Type": kind})
    with site(lambda _: reply) as here:
        assert await VisitWebpage(WebPages(opened=LOOPBACK)).call({"url": here.url("/")}, None) == (
            text
        )


@pytest.mark.parametrize("kind", ["application/rss+xml", "application/feed+json; v=1", "image/x"])
async def test_xml_and_json_by_any_name_are_pages_and_pictures_are_not(kind: str) -> None:
    reply = Reply(body=b"<rss>news</rss>", headers={"Content-Type": kind})
    with site(lambda _: reply) as here:
        visited: Any = VisitWebpage(WebPages(opened=LOOPBACK)).call({"url": here.url("/")}, None)
        if kind.startswith("image/"):
            with pytest.raises(ToolRefused, match="it is no page but image/x"):
                await visited
        else:
            assert await visited == "<rss>news</rss>"
