"""Files of many forms as text and tables, in a process of its own: what they hold is hostile.

`parse` starts `python -m sidecar.codeagent.tools.parsing FORM BASE` with the content on standard
input and gets JSON back. That process bounds its memory and time before it looks at anything, and
can write no file.
"""

import asyncio
import contextlib
import csv
import functools
import importlib
import io
import json
import resource
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urljoin

PARSE_TIMEOUT_S: Final = 20.0
"""A report of 300 pages takes half of it."""
MEMORY_BYTES_MAX: Final = 1024 * 1024 * 1024
"""Of the process's addresses."""
UNPACKED_BYTES_MAX: Final = 256 * 1024 * 1024
"""What a compressed file may say that it holds; it cannot hold more than it says."""
RESULT_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of the result in JSON."""
DEPTH_MAX: Final = 100
"""Of lists in lists: whatever handles a value goes down into it, and Python only so far."""
PAGES_MAX: Final = 500
CELLS_MAX: Final = 500_000
ERROR_CHARS_MAX: Final = 300


class Form(StrEnum):
    """Of a file."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"
    XLSX = "xlsx"
    PDF = "pdf"
    HTML = "html"


class ParseError(Exception):
    """A file could not be read; the text says why."""


async def parse(
    content: bytes, form: Form, *, base: str = "", timeout_s: float = PARSE_TIMEOUT_S
) -> Any:
    """The content: text, rows (csv), a value (json), or rows by sheet (xlsx). Raises ParseError.

    `base` is the address that links of a page (html) start from; without it they stay as they are.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-m",
        "sidecar.codeagent.tools.parsing",
        form.value,
        base,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"LANG": "C.UTF-8"},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout_s):
            written, _ = await process.communicate(content)
    except TimeoutError as error:
        raise ParseError(f"it takes longer than {timeout_s:g} s to read") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode:
        raise ParseError("it could not be read within the bounds of memory and time")
    outcome = json.loads(written)
    if "error" in outcome:
        raise ParseError(outcome["error"])
    return outcome["value"]


def decoded(content: bytes) -> str:
    """Text in UTF-8, UTF-16 with a byte order mark, or else Windows' Latin. Raises ParseError."""
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    if b"\0" in content:
        raise ParseError("it is not text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _csv(content: bytes) -> list[list[str]]:
    text = decoded(content)
    csv.field_size_limit(RESULT_BYTES_MAX)
    try:
        dialect = csv.Sniffer().sniff(text[:4096], ",;\t|")
    except csv.Error:
        return list(csv.reader(io.StringIO(text)))
    return list(csv.reader(io.StringIO(text), dialect))


def _json(content: bytes) -> Any:
    text = decoded(content)
    try:
        return _shallow(json.loads(text))
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2:
            raise
        return _shallow([json.loads(line) for line in lines])


def _shallow(value: Any) -> Any:
    """The value, if it is not nested deeper than DEPTH_MAX. Raises ParseError."""
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [inner for each in level for inner in _inner(each)]
        if not level:
            return value
    raise ParseError(f"it is nested deeper than {DEPTH_MAX}: read it with json.load()")


def _inner(value: object) -> Iterable[object]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
    return ()


def _xlsx(content: bytes) -> Mapping[str, list[list[Any]]]:
    openpyxl = importlib.import_module("openpyxl")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > UNPACKED_BYTES_MAX:
            raise ParseError(f"unpacked it has more than {UNPACKED_BYTES_MAX:,} bytes")
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    sheets: dict[str, list[list[Any]]] = {}
    cells = 0
    for sheet in book.worksheets:
        rows = sheets[sheet.title] = []
        for row in sheet.iter_rows(values_only=True):
            cells += len(row)
            if cells > CELLS_MAX:
                raise ParseError(f"it has more than {CELLS_MAX:,} cells")
            rows.append([_cell(each) for each in row])
    return sheets


def _cell(each: object) -> object:
    return each if isinstance(each, str | int | float | bool | None) else str(each)


def _pdf(content: bytes) -> str:
    pypdf = importlib.import_module("pypdf")
    reader = pypdf.PdfReader(io.BytesIO(content))
    parts: list[str] = []
    for number, page in enumerate(reader.pages, 1):
        if number > PAGES_MAX:
            parts.append(f"[only the first {PAGES_MAX} pages]")
            break
        parts.append(f"[page {number}]\n{page.extract_text()}")
    return "\n\n".join(parts)


def _html(content: bytes, *, base: str) -> str:
    bs4 = importlib.import_module("bs4")
    markdownify = importlib.import_module("markdownify")
    soup = bs4.BeautifulSoup(content, "html.parser")
    own = soup.find("base", href=True)
    base = _whole(own["href"], base) if own else base
    for link in soup("a", href=True):
        link["href"] = _whole(link["href"], base)
    for element in soup(["script", "style", "noscript", "template", "svg", "head"]):
        element.decompose()
    title = soup.title.get_text(strip=True) if soup.title else ""
    text = markdownify.MarkdownConverter(strip=["img"]).convert_soup(soup)
    lines = [line.rstrip() for line in f"{title}\n{text}".splitlines()]
    kept = [line for line, after in zip(lines, [*lines[1:], ""], strict=True) if line or after]
    return "\n".join(kept).strip()


def _whole(link: str, base: str) -> str:
    """The address that a link leads to; one that is none stays as it is."""
    try:
        return urljoin(base, link)
    except ValueError:
        return link


def _readers(base: str) -> Mapping[Form, Callable[[bytes], Any]]:
    return {
        Form.TEXT: decoded,
        Form.CSV: _csv,
        Form.JSON: _json,
        Form.XLSX: _xlsx,
        Form.PDF: _pdf,
        Form.HTML: functools.partial(_html, base=base),
    }


def _outcome(content: bytes, form: Form, base: str) -> str:
    """The result, or what is wrong, as JSON."""
    try:
        written = json.dumps({"value": _readers(base)[form](content)})
    except MemoryError:
        written = json.dumps({"error": "it takes too much memory to read"})
    except Exception as error:  # noqa: BLE001 - the libraries raise anything on hostile files
        text = str(error) if isinstance(error, ParseError) else f"{type(error).__name__}: {error}"
        written = json.dumps({"error": text[:ERROR_CHARS_MAX]})
    if len(written) > RESULT_BYTES_MAX:
        too_much = f"its content has more than {RESULT_BYTES_MAX:,} bytes: read a part with open()"
        written = json.dumps({"error": too_much})
    return written


def _main(form: Form, base: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    seconds = int(PARSE_TIMEOUT_S)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Nothing is written and nothing started, whatever a library could be talked into.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    sys.stdout.write(_outcome(sys.stdin.buffer.read(), form, base))


if __name__ == "__main__":
    _main(Form(sys.argv[1]), sys.argv[2])
