"""Run files and their labels, written into a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from sidecar.adapters.convert import identifier
from sidecar.adapters.run_file import write_line
from sidecar.datasets.moves import Recording
from sidecar.datasets.shapes import slug
from sidecar.datasets.turns import Folded, run_lines

LABELS_FILE: Final = "labels.jsonl"
"""Where `sidecar eval` looks for labels."""

_NAME_CHARACTERS_MAX: Final = 128
"""Of a file's name without its suffix; file systems take 255 bytes."""
_SESSION_CHARACTERS: Final = 100
"""Of a session that gets a number, so that the number is within the 128 bytes of a session."""


class LabelsBrokenError(ValueError):
    """The labels that are in the folder cannot be read, so they cannot be added to."""


class RunWriter:
    """Writes runs into a folder, one file each, and what is known of them into labels.jsonl.

    A run that was there before under the same session is replaced, others stay, and so does what
    somebody has added to a label. Two runs of one session in one conversion are told apart by a
    number.
    """

    def __init__(self, directory: Path) -> None:
        """Raises OSError and LabelsBrokenError."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._before = _labels_in(directory / LABELS_FILE)
        self._labels: dict[str, Mapping[str, Any]] = {}
        self._names: set[str] = set()

    def write(self, recording: Recording, folded: Folded, *, source: str) -> Path:
        """Writes one run. Raises OSError."""
        session_id, path = self._place(recording)
        lines = run_lines(recording, folded, session_id=session_id)
        _replace(path, "".join(f"{write_line(line)}\n" for line in lines))
        self._labels[session_id] = {
            "session_id": session_id,
            "source": source,
            "turns": len(folded.turns),
            "solved": recording.solved,
            "task": recording.task,
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

    def _place(self, recording: Recording) -> tuple[str, Path]:
        """The session and the file of a run, neither of which another run has."""
        wanted = identifier(recording.session_id) or slug(recording.agent)
        session_id, number = wanted, 1
        while session_id in self._labels or _file_name(session_id) in self._names:
            number += 1
            session_id = f"{wanted[:_SESSION_CHARACTERS]}-{number}"
        self._names.add(_file_name(session_id))
        return session_id, self._directory / f"{_file_name(session_id)}.jsonl"


def _file_name(session_id: str) -> str:
    return slug(session_id)[:_NAME_CHARACTERS_MAX].lstrip(".") or "run"


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
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
            raise LabelsBrokenError(
                f'{path}:{number}: no label; expected {{"session_id": ..., "solved": ...}}'
            ) from None
    return found


def _replace(path: Path, text: str) -> None:
    """Writes a file so that it is whole or as it was."""
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
