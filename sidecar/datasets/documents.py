"""Reading files of other tools into records: JSON, JSON Lines or text."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sidecar.datasets.json_text import check_nesting, decode, parse
from sidecar.datasets.moves import Broken, Document, Record

MIB: Final = 1024 * 1024
FILE_BYTES_MAX: Final = 512 * MIB
"""Twice the largest of the public datasets; a file is read whole."""
_LOOKED_AT_BYTES: Final = 1024

_SUFFIXES: Final = (".json", ".jsonl", ".traj", ".txt", ".log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One file, as far as it could be read."""

    document: Document | None
    broken: tuple[Broken, ...] = ()


def read_records(path: Path, beside: Mapping[str, Path]) -> Read:
    """A JSON or JSON Lines file. Never raises for what is in it, nor for a file that is not there.

    The records of a JSON file are the parts of its list, else the whole.
    """
    content = _content(path)
    if isinstance(content, Broken):
        return Read(document=None, broken=(content,))
    records: list[Record] = []
    broken: list[Broken] = []
    for found in _records(content.removeprefix(b"\xef\xbb\xbf"), lined=path.suffix == ".jsonl"):
        if isinstance(found, Record):
            records.append(found)
        else:
            broken.append(found)
    return Read(document=_document(path, beside, records=tuple(records)), broken=tuple(broken))


def read_text(path: Path, beside: Mapping[str, Path]) -> Read:
    """A file of text, such as a terminal's; bytes that are not UTF-8 become U+FFFD."""
    content = _content(path)
    if isinstance(content, Broken):
        return Read(document=None, broken=(content,))
    return Read(document=_document(path, beside, text=content.decode("utf-8", "replace")))


def stem_of(name: str) -> str:
    """The name of a file without the suffixes that say what is in it."""
    while (stem := name.removesuffix(_suffix(name))) and stem != name:
        name = stem
    return name


def _suffix(name: str) -> str:
    return next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), "")


def _document(
    path: Path, beside: Mapping[str, Path], *, records: tuple[Record, ...] = (), text: str = ""
) -> Document:
    texts = {}
    for role, other in beside.items():
        content = _content(other)
        if isinstance(content, bytes):
            texts[role] = content.decode("utf-8", "replace")
    return Document(
        stem=stem_of(path.name), parts=path.parts, records=records, text=text, beside=texts
    )


def _content(path: Path) -> bytes | Broken:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        return Broken(place="1", problem=f"cannot be read: {error.strerror or error}")
    if len(content) > FILE_BYTES_MAX:
        return Broken(place="1", problem=f"longer than {FILE_BYTES_MAX} bytes")
    if not content.strip():
        return Broken(place="1", problem="the file is empty")
    if b"\0" in content[:_LOOKED_AT_BYTES]:
        return Broken(place="1", problem="binary; expected text")
    return content


def _records(content: bytes, *, lined: bool) -> Iterator[Record | Broken]:
    """The records; `lined` where the name says that there is one in each line."""
    try:
        whole = parse(content)
    except ValueError as error:
        if content.strip().count(b"\n"):
            yield from _lines(content, None if lined else error)
        else:
            yield _broken(1, error)
        return
    if isinstance(whole, list):
        for number, value in enumerate(whole, start=1):
            yield _record(f"record {number}", value)
    else:
        yield _record("1", whole)


def _record(place: str, value: Any) -> Record | Broken:
    """A record of a whole that could be parsed; one that is nested too deeply is broken alone."""
    try:
        check_nesting(value)
    except ValueError as error:
        return Broken(place=place, problem=_problem(error))
    return Record(place=place, value=value)


def _lines(content: bytes, whole_error: ValueError | None) -> Iterator[Record | Broken]:
    """The lines. Where an error of the whole is given and the first line is no JSON by itself
    either, that error."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            yield Record(place=str(number), value=decode(line))
        except ValueError as error:
            if whole_error is not None:
                yield _broken(_line_of(whole_error), whole_error)
                return
            yield _broken(number, error)
        whole_error = None


def _line_of(error: ValueError) -> int:
    match error:
        case json.JSONDecodeError():
            return error.lineno
        case UnicodeDecodeError():
            return error.object.count(b"\n", 0, error.start) + 1
    return 1


def _broken(line: int, error: ValueError) -> Broken:
    return Broken(place=str(line), problem=_problem(error))


def _problem(error: ValueError) -> str:
    match error:
        case UnicodeDecodeError():
            return f"byte {error.start} is not UTF-8"
        case json.JSONDecodeError():
            return f"not JSON: {error.msg} (column {error.colno})"
    return f"not JSON: {error}"
