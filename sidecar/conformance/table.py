"""The tables: cases of steps, read from the JSON lines of proto/conformance."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sidecar.conformance.faults import TableError
from sidecar.conformance.filling import fill

SERVER_TABLE: Final = "server.jsonl"
"""The one table that is played against a service; all others are played against a client."""

_FIELDS: Final = frozenset({"name", "about", "rules", "transport", "tls", "each", "steps"})
_TRANSPORTS: Final = frozenset({"", "unix", "tcp"})
_TLS: Final = frozenset({"", "server", "mutual"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that is done or awaited."""

    word: str
    argument: Any

    def __str__(self) -> str:
        return json.dumps({self.word: self.argument}, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of a table."""

    name: str
    table: str
    """Name of the file, without its ending."""
    about: str
    rules: tuple[int, ...]
    """Rules of the README that it shows."""
    transport: str
    """"unix" or "tcp" where it makes sense over one of them only; else empty."""
    tls: str
    """"server": the sidecar shows a certificate; "mutual": and asks for one; empty: no TLS."""
    steps: tuple[Step, ...]


def folder() -> Path:
    """Where the tables are: beside this file where installed, in proto/ in the repository."""
    packaged = Path(__file__).with_name("tables")
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "proto" / "conformance"


def client_cases(where: Path | None = None) -> tuple[Case, ...]:
    """All cases for clients, file by file. Raises TableError."""
    paths = sorted((where or folder()).glob("*.jsonl"))
    return _unique(case for path in paths if path.name != SERVER_TABLE for case in cases_of(path))


def server_cases() -> tuple[Case, ...]:
    """All cases for services. Raises TableError."""
    return _unique(cases_of(folder() / SERVER_TABLE))


def cases_of(path: Path) -> Iterator[Case]:
    """The cases of one file. Raises TableError with the line at fault."""
    try:
        # Not splitlines: it takes U+2028 within a text for the end of a line.
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{path}: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield from _cases(json.loads(line), path.stem)
            except (ValueError, TypeError) as error:
                raise TableError(f"{path.name}:{number}: {error}") from error


def steps_of(rows: Any) -> tuple[Step, ...]:
    """Steps as the table writes them: objects of one key. Raises TableError."""
    match rows:
        case [*_] if all(isinstance(row, Mapping) and len(row) == 1 for row in rows):
            return tuple(Step(word=word, argument=row[word]) for row in rows for word in row)
        case _:
            raise TableError("steps are a list of objects with one key each")


def _cases(row: Any, table: str) -> Iterator[Case]:
    if not isinstance(row, Mapping) or not {"name", "about", "rules", "steps"} <= row.keys():
        raise TableError("a case has name, about, rules and steps")
    if unknown := row.keys() - _FIELDS:
        raise TableError(f"unknown fields {sorted(unknown)}")
    if row.get("transport", "") not in _TRANSPORTS:
        raise TableError(f"transport is unix or tcp, not {row['transport']!r}")
    if row.get("tls", "") not in _TLS:
        raise TableError(f"tls is server or mutual, not {row['tls']!r}")
    for variables in row.get("each", [{}]):
        yield Case(
            name=_name(row["name"], variables),
            table=table,
            about=row["about"],
            rules=tuple(row["rules"]),
            transport=row.get("transport", ""),
            tls=row.get("tls", ""),
            steps=_with(steps_of(row["steps"]), variables),
        )


def _with(steps: Sequence[Step], variables: Mapping[str, Any]) -> tuple[Step, ...]:
    return (Step(word="let", argument=variables), *steps) if variables else tuple(steps)


def _name(name: str, variables: Mapping[str, Any]) -> str:
    """The name with its variables; where it has none, the first of the row's is added."""
    filled: str = fill(name, variables)
    first = next((str(value) for value in variables.values()), "")
    return f"{name} [{first}]" if filled == name and first else filled


def _unique(cases: Iterator[Case]) -> tuple[Case, ...]:
    found: dict[str, Case] = {}
    for case in cases:
        if case.name in found:
            raise TableError(f"two cases are named {case.name!r}")
        found[case.name] = case
    return tuple(found.values())
