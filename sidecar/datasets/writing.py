"""Run files and their labels, written into a folder."""

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec

from sidecar.adapters.run_file import Line, read_lines, write_line
from sidecar.core.answers.messages import sendable
from sidecar.datasets.moves import Recording
from sidecar.datasets.shapes import ascii_name, short_digest, slug
from sidecar.datasets.turns import Folded, run_lines

LABELS_FILE: Final = "labels.jsonl"
"""Where `sidecar eval` looks for labels."""

_NAME_CHARACTERS: Final = 100
"""Of a session in a file's name with a digest. A session that is its name has 128 bytes at most,
and file systems take 255."""
_SESSION_BYTES_MAX: Final = 128
"""Of UTF-8, as of every identifier of a run."""
_SESSION_BYTES: Final = 100
"""Of a session that gets a digest or a number, so that both are within the 128 bytes of one."""
_RESERVED: Final = Path(LABELS_FILE).stem
"""No session's file, in any case: some file systems hold `Labels` and `labels` to be one."""


class LabelsBrokenError(ValueError):
    """The labels that are in the folder cannot be read, so they cannot be added to."""


class RunWriter:
    """Writes runs into a folder, one file each, and what is known of them into labels.jsonl.

    A run that was there before under the same session is replaced, others stay, and so does what
    somebody has added to a label. Two runs of one session in one conversion are told apart by a
    number. A session has the same file in every conversion.
    """

    def __init__(self, directory: Path) -> None:
        """Raises OSError and LabelsBrokenError."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._before = _labels_in(directory / LABELS_FILE)
        self._labels: dict[str, Mapping[str, Any]] = {}

    def write(self, recording: Recording, folded: Folded, *, source: str) -> Path:
        """Writes one run. Raises OSError."""
        session_id = self._session(recording)
        path = self._path(session_id)
        lines = run_lines(recording, folded, session_id=session_id)
        _replace(path, "".join(f"{write_line(line)}\n" for line in lines))
        self._labels[session_id] = {
            "session_id": session_id,
            "source": source,
            "turns": len(folded.turns),
            "solved": recording.solved,
            # It may be the name of a file, which need not be UTF-8.
            "task": sendable(recording.task),
            **recording.facts,
        }
        return path

    def finish(self) -> Path:
        """Writes the labels. Raises OSError."""
        path = self._directory / LABELS_FILE
        labels = self._before | {
            session_id: {**self._before.get(session_id, {}), **label}
            for session_id, label in self._labels.items()
        }
        lines = (msgspec.json.encode(labels[session_id]).decode() for session_id in sorted(labels))
        _replace(path, "".join(f"{line}\n" for line in lines))
        return path

    def _session(self, recording: Recording) -> str:
        """The session of a run, which no other run of this conversion has."""
        own = recording.session_id or slug(recording.agent) or "run"
        session_id, number = _bounded(own, _SESSION_BYTES_MAX), 1
        while session_id in self._labels:
            number += 1
            session_id = f"{_bounded(own, _SESSION_BYTES)}-{number}"
        return session_id

    def _path(self, session_id: str) -> Path:
        """The file of a session: never one that holds something else."""
        for name in _file_names(session_id):
            path = self._directory / f"{name}.jsonl"
            if not path.exists() or (path.is_file() and _session_in(path) == session_id):
                return path
        raise AssertionError  # There is no last name.


def _bounded(session_id: str, most: int) -> str:
    """A session as it is; where it is longer than `most` bytes or cannot be sent, its beginning and
    a digest of it."""
    text = sendable(session_id).encode()
    if len(text) <= most and text.decode() == session_id:
        return session_id
    return f"{text[:_SESSION_BYTES].decode('utf-8', 'ignore')}-{short_digest(session_id)}"


def _file_names(session_id: str) -> Iterator[str]:
    """Names for the file of a session, the best first.

    The session where it can be one, else its words and a digest. The others are for folders in
    which somebody else's file has that name, or that hold `A` and `a` to be one.
    """
    words = ascii_name(session_id).lstrip(".")
    if words == session_id and words.casefold() != _RESERVED:
        yield words
    name = f"{words[:_NAME_CHARACTERS] or 'run'}-{short_digest(session_id)}"
    yield name
    for number in count(2):
        yield f"{name}-{number}"


def _session_in(path: Path) -> str | None:
    """The session of the run in a file; None where there is no run in it. Raises OSError."""
    match next(read_lines(str(path)), None):
        case Line(message=message) if message.WhichOneof("message") == "open":
            return message.open.session_id
    return None


def _labels_in(path: Path) -> dict[str, Mapping[str, Any]]:
    """Labels of an earlier conversion, by session."""
    found: dict[str, Mapping[str, Any]] = {}
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return found
    for number, line in enumerate(lines, start=1):
        try:
            label = msgspec.json.decode(line, type=dict[str, Any])
            found[label["session_id"]] = label
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            raise LabelsBrokenError(
                f'{path}:{number}: no label; expected {{"session_id": ..., "solved": ...}}'
            ) from None
    return found


def _replace(path: Path, text: str) -> None:
    """Writes a file so that it is whole or as it was."""
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
