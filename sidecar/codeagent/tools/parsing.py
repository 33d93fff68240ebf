"""Files of many forms as text and tables, in a process of its own: what they hold is hostile.

`parse` starts `python -m sidecar.codeagent.tools.parsing FORM BASE CHARSET` with the content on
standard input and gets JSON back. That process bounds its memory and time before it looks at
anything, and can write no file.
"""

import asyncio
import codecs
import contextlib
import csv
import functools
import importlib
import io
import json
import resource
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
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
STDERR_BYTES_KEPT: Final = 4_096
"""Of the end of standard error; its last line is cut to ERROR_CHARS_MAX."""
SNIFFED_CHARS: Final = 4_096
"""Of a csv, where its delimiter is looked for: the guess takes time with the square of them."""

MARKS: Final = (
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)
LATIN: Final = ("ascii", "iso8859-1")
"""What servers say, by its name in Python, and mean Windows' Latin ("windows-1252" in the WHATWG's
Encoding Standard)."""


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
    content: bytes,
    form: Form,
    *,
    base: str = "",
    charset: str = "",
    timeout_s: float = PARSE_TIMEOUT_S,
) -> Any:
    """The content: text, rows (csv), a value (json), or rows by sheet (xlsx). Raises ParseError.

    `base` is the address that links of a page (html) start from; without it they stay as they are.
    `charset` is what is said elsewhere of the bytes of a text or page; it may be wrong.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-m",
        "sidecar.codeagent.tools.parsing",
        form.value,
        base,
        charset,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"LANG": "C.UTF-8"},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout_s):
            written, said = await _answer(process, content)
    except TimeoutError as error:
        raise ParseError(f"it takes longer than {timeout_s:g} s to read") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    match process.returncode:
        case 0:
            pass
        case int(code) if code > 0:
            raise ParseError(f"the reader failed: {said or f'exit code {code}'}")
        case _:  # a signal, which is how the kernel ends what goes beyond a bound
            raise ParseError("it could not be read within the bounds of memory and time")
    outcome = json.loads(written)
    if "error" in outcome:
        raise ParseError(outcome["error"])
    return outcome["value"]


async def _answer(process: asyncio.subprocess.Process, content: bytes) -> tuple[bytes, str]:
    """What the reader writes, and the last line of what it says on standard error."""
    pipes: Any = process  # That it has all three its type does not know.
    _, written, said = await asyncio.gather(
        _give(pipes.stdin, content), pipes.stdout.read(), _last_line(pipes.stderr)
    )
    await process.wait()
    return written, said


async def _give(stream: asyncio.StreamWriter, content: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # It ended before it had all.
        stream.write(content)
        await stream.drain()
    stream.close()


async def _last_line(stream: asyncio.StreamReader) -> str:
    """The last line of a stream, cut to ERROR_CHARS_MAX. All of it is read, and little kept: a
    library may be made to say any amount."""
    end = b""
    while part := await stream.read(STDERR_BYTES_KEPT):
        end = (end + part)[-STDERR_BYTES_KEPT:]
    lines = end.decode("utf-8", "replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")[:ERROR_CHARS_MAX]


def decoded(content: bytes, charset: str = "") -> str:
    """Text as its byte order mark says; in that character set, if it is; in UTF-8, or else in
    Windows' Latin. Raises ParseError."""
    if marked := _marked(content):
        return content.decode(marked, "replace")
    for encoding in (charset, "utf-8"):
        with contextlib.suppress(LookupError, ValueError):  # There is none such, or it is another.
            text = content.decode(encoding)
            break
    else:
        text = content.decode("cp1252", "replace")
    if "\0" in text:
        raise ParseError("it is not text")
    return text


def _marked(content: bytes) -> str:
    """The character set that its byte order mark says; empty: it has none."""
    return next((encoding for mark, encoding in MARKS if content.startswith(mark)), "")


def _csv(content: bytes) -> list[list[str]]:
    text = decoded(content)
    csv.field_size_limit(RESULT_BYTES_MAX)
    delimiter, blanks_skipped = ",", False
    # How it is quoted is not asked: the guess would rest on what the first rows happen to quote.
    with contextlib.suppress(csv.Error):
        found = csv.Sniffer().sniff(text[:SNIFFED_CHARS], ",;\t|")
        delimiter, blanks_skipped = found.delimiter, found.skipinitialspace
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=blanks_skipped)
    return list(rows)


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
    left = CELLS_MAX
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # It may say less or more than there is.
        sheets[sheet.title] = rows = _rows(sheet.iter_rows(values_only=True), left)
        left -= sum(len(row) for row in rows)
    return sheets


def _rows(sheet: Iterable[Sequence[object]], cells_max: int) -> list[list[Any]]:
    """Rows of one length up to the last value, and no column after it. Raises ParseError."""
    rows: list[list[Any]] = []
    width = empty = 0
    for row in sheet:
        values = [_cell(each) for each in row]
        while values and values[-1] is None:
            values.pop()
        if not values:
            empty += 1
            continue
        width = max(width, len(values))
        if width * (len(rows) + empty + 1) > cells_max:
            raise ParseError(
                f"it has more than {CELLS_MAX:,} cells, empty ones before the last included: read "
                "what you need of its xl/worksheets with zipfile"
            )
        rows += [[] for _ in range(empty)]
        rows.append(values)
        empty = 0
    return [row + [None] * (width - len(row)) for row in rows]


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


def _html(content: bytes, *, base: str, charset: str) -> str:
    bs4 = importlib.import_module("bs4")
    markdownify = importlib.import_module("markdownify")
    # It would take what is said elsewhere before the mark.
    said = None if _marked(content) else charset or None
    soup = bs4.BeautifulSoup(content, "html.parser", from_encoding=said)
    own = soup.find("base", href=True)
    base = _whole(own["href"], base) if own else base
    for link in soup("a", href=True):
        link["href"] = _whole(link["href"], base)
    for element in soup(["script", "style", "noscript", "template", "svg"]):
        element.decompose()
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    for element in soup(["head", "title"]):
        element.decompose()
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


def _meant(charset: str) -> str:
    """The character set that is meant where this one is said; empty: none that is known."""
    with contextlib.suppress(LookupError, ValueError):
        name = codecs.lookup(charset).name
        return "cp1252" if name in LATIN else name
    return ""


def _readers(base: str, charset: str) -> Mapping[Form, Callable[[bytes], Any]]:
    return {
        Form.TEXT: functools.partial(decoded, charset=charset),
        Form.CSV: _csv,
        Form.JSON: _json,
        Form.XLSX: _xlsx,
        Form.PDF: _pdf,
        Form.HTML: functools.partial(_html, base=base, charset=charset),
    }


def _outcome(content: bytes, reader: Callable[[bytes], Any]) -> str:
    """The result, or what is wrong, as JSON."""
    try:
        written = json.dumps({"value": reader(content)})
    except MemoryError:
        written = json.dumps({"error": "it takes too much memory to read"})
    except Exception as error:  # noqa: BLE001 - the libraries raise anything on hostile files
        text = str(error) if isinstance(error, ParseError) else f"{type(error).__name__}: {error}"
        written = json.dumps({"error": text[:ERROR_CHARS_MAX]})
    if len(written) > RESULT_BYTES_MAX:
        too_much = f"its content has more than {RESULT_BYTES_MAX:,} bytes: read a part yourself"
        written = json.dumps({"error": too_much})
    return written


def _main(form: Form, base: str, charset: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    seconds = int(PARSE_TIMEOUT_S)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Nothing is written and nothing started, whatever a library could be talked into.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    reader = _readers(base, _meant(charset))[form]
    sys.stdout.write(_outcome(sys.stdin.buffer.read(), reader))


if __name__ == "__main__":
    _main(Form(sys.argv[1]), *sys.argv[2:])
