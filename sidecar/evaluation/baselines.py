"""Other detectors to compare with: the founding rule, and programs of any kind.

A program is started once. It gets the paths of the run files on standard input, one a line, and
writes JSON Lines to standard output, an object a finding:
`{"session_id": "...", "sequence": 7, "severity": "warning" or "break", "rule": "...",
"summary": "..."}` (the summary may be missing), then exits with 0. A run file whose `open` names no
session has its file's name without the suffix as session_id.
"""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Annotated, Final, Literal

import msgspec

from sidecar.core.limits import Limits
from sidecar.core.reading import Severity
from sidecar.evaluation.cases import Case
from sidecar.evaluation.detecting import Mark, PolicyDetector
from sidecar.presets import GAIA

RUN: Final = "run"
"""Name of a baseline's executable in its folder."""

EXPECTED: Final = (
    '{"session_id": "...", "sequence": 7, "severity": "warning" or "break", "rule": "..."}'
)

FOUNDING: Final = PolicyDetector(
    policy=replace(
        GAIA,
        name="founding",
        watches=tuple(watch for watch in GAIA.watches if watch.signal.name == "loop"),
        limits=Limits(),
        revision="",
    )
)
"""The loop rule of the system this project is founded on, without its budgets."""


class BaselineUnknownError(ValueError):
    """No such baseline; the text says which there are."""


class BaselineFailedError(RuntimeError):
    """A program did not do what is asked of it; the text says what."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A line that a program writes."""

    session_id: Annotated[str, msgspec.Meta(min_length=1)]
    sequence: Annotated[int, msgspec.Meta(ge=1)]
    severity: Literal["warning", "break"]
    rule: Annotated[str, msgspec.Meta(min_length=1)]
    summary: str = ""

    @property
    def mark(self) -> Mark:
        """As detectors say it."""
        severity = Severity.BREAK if self.severity == "break" else Severity.WARNING
        return Mark(
            sequence=self.sequence, severity=severity, signal=self.rule, summary=self.summary
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A detector outside of this project."""

    name: str
    command: tuple[str, ...]

    def marks(self, files: Iterable[Path]) -> Iterator[tuple[str, Mark]]:
        """What it finds in these run files, in its own order. Raises BaselineFailedError."""
        with tempfile.TemporaryFile("w+b") as paths, tempfile.TemporaryFile("w+b") as complaints:
            # A file, and no pipe: so neither side waits for the other to read.
            paths.write(b"".join(os.fsencode(path.resolve()) + b"\n" for path in files))
            paths.seek(0)
            with self._started(paths, complaints) as process:
                try:
                    yield from self._read(process)
                except BaselineFailedError:
                    process.kill()
                    raise
            if process.returncode:
                last = _last_line(complaints) or "it said nothing on standard error"
                raise BaselineFailedError(
                    f"baseline {self.name} ended with exit code {process.returncode}: {last}"
                )

    def _started(self, paths: IO[bytes], complaints: IO[bytes]) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(  # noqa: S603 - what the user named, and no shell
                self.command, stdin=paths, stdout=subprocess.PIPE, stderr=complaints
            )
        except OSError as error:
            raise BaselineFailedError(
                f"baseline {self.name} cannot be started: {shlex.join(self.command)}: "
                f"{error.strerror or error}"
            ) from None

    def _read(self, process: "subprocess.Popen[bytes]") -> Iterator[tuple[str, Mark]]:
        decoder = msgspec.json.Decoder(Finding)
        for number, line in enumerate(process.stdout or (), start=1):
            if not line.strip():
                continue
            try:
                finding = decoder.decode(line)
                yield finding.session_id, finding.mark
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise BaselineFailedError(
                    f"baseline {self.name}, line {number} of its output: {error}; "
                    f"expected {EXPECTED}"
                ) from None


def baselines_of(text: str, folder: Path) -> tuple[PolicyDetector | Program, ...]:
    """The baselines that NAME, or NAME=COMMAND, means: the one of this name, else all whose names
    begin with it and a dash. Raises BaselineUnknownError."""
    name, equals, command = text.partition("=")
    if equals:
        words = _words(text, command)
        if not name or not words:
            raise BaselineUnknownError(f"baseline {text!r}: expected NAME=COMMAND")
        return (Program(name=name, command=words),)
    if name == FOUNDING.name:
        return (FOUNDING,)
    runs = {path.parent.name: path.resolve() for path in sorted(folder.glob(f"*/{RUN}"))}
    meant = [name] if name in runs else [each for each in runs if each.startswith(f"{name}-")]
    found = tuple(
        Program(name=each, command=(str(runs[each]),))
        for each in meant
        if name and os.access(runs[each], os.X_OK)
    )
    if not found:
        raise BaselineUnknownError(
            f"baseline {name!r}: there is no executable {folder.absolute() / name / RUN}, and no "
            f"{name}-*; there are {', '.join((FOUNDING.name, *runs))}, and NAME=COMMAND for any "
            "other; --baselines names another folder"
        )
    return found


def with_marks(
    cases: Sequence[Case], name: str, found: Iterable[tuple[str, Mark]]
) -> tuple[list[Case], int]:
    """The cases with the marks, by session, of the detector named, and how many of them were on
    runs or turns that are not there."""
    by_session: dict[str, list[Mark]] = {case.session_id: [] for case in cases}
    turns: Mapping[str, int] = {case.session_id: case.turns for case in cases}
    strays = 0
    for session_id, mark in found:
        if mark.sequence <= turns.get(session_id, 0):
            by_session[session_id].append(mark)
        else:
            strays += 1
    marked = [
        replace(case, marks={**case.marks, name: _ordered(by_session[case.session_id])})
        for case in cases
    ]
    return marked, strays


def _ordered(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    return tuple(sorted(marks, key=lambda mark: (mark.sequence, -mark.severity)))


def _words(text: str, command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise BaselineUnknownError(f"baseline {text!r}: {error}") from None


def _last_line(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    lines = complaints.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""
