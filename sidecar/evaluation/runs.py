"""Recorded runs, read from run files and kept as their turns."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sidecar.adapters.convert import TurnBounds, TurnReader, opening_in
from sidecar.adapters.run_file import BrokenLine, Line, read_lines
from sidecar.core.limits import Limits
from sidecar.core.opening import Opening
from sidecar.core.policy import Lens
from sidecar.core.turn import Turn
from sidecar.ports import Rejected
from sidecar.replaying.recorded import NOT_OPEN, REPLAY_KEY, session_name
from sidecar.sessions.repeats import gap
from sidecar.v1 import run_pb2


class RunUnreadableError(ValueError):
    """A file holds no run, or a broken one; the text names file, line and what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """One run as its agent reported it."""

    session_id: str
    source: str
    """The folder it lies in, unless a label says otherwise."""
    limits: Limits
    turns: tuple[run_pb2.Turn, ...]
    """As recorded, numbered from 1 where the file does not number them."""
    bounds: TurnBounds = TurnBounds()
    _events: dict[Lens, tuple[Turn | Rejected, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def events(self, lens: Lens) -> tuple[Turn | Rejected, ...]:
        """The turns as a policy with this lens sees them; read once for each lens."""
        found = self._events.get(lens)
        if found is None:
            reader = TurnReader(key=REPLAY_KEY, lens=lens, bounds=self.bounds)
            found = self._events[lens] = tuple(reader.read(turn) for turn in self.turns)
        return found


def run_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The run files named, and those below the folders named (labels.jsonl apart), in order.

    Raises RunUnreadableError for a path that is not there.
    """
    for path in paths:
        if path.is_dir():
            yield from sorted(
                found for found in path.rglob("*.jsonl") if found.name != "labels.jsonl"
            )
        elif path.exists():
            yield path
        else:
            raise RunUnreadableError(f"{path}: there is no such file or folder")


def read_run(path: Path) -> RecordedRun:
    """The run in a file. Raises RunUnreadableError and OSError."""
    opening: Opening | None = None
    turns: list[run_pb2.Turn] = []
    last = 0
    for line in read_lines(str(path)):
        match line:
            case BrokenLine(number=number, problem=problem):
                raise RunUnreadableError(f"{path}:{number}: {problem}")
            case Line(number=number, message=message):
                which = message.WhichOneof("message")
                if which == "open":
                    opened = opening_in(message.open)
                    opening = opening or opened
                    # The turns before it are lost, and said to be.
                    last = max(last, opened.first_available_sequence - 1)
                elif opening is None:
                    raise RunUnreadableError(f"{path}:{number}: {NOT_OPEN}")
                elif which == "turn":
                    last = _sequence(path, number, message.turn, last)
                    turns.append(message.turn)
                elif which == "rejected":
                    last = max(last, _next(path, number, message.rejected.sequence, last))
    if opening is None:
        raise RunUnreadableError(f"{path}: {NOT_OPEN}")
    return RecordedRun(
        session_id=opening.session_id or session_name(str(path)),
        source=path.parent.name,
        limits=opening.limits,
        turns=tuple(turns),
    )


def _sequence(path: Path, number: int, turn: run_pb2.Turn, last: int) -> int:
    """The turn's, which is given to it where it has none."""
    turn.sequence = turn.sequence or last + 1
    if turn.sequence <= last:
        raise RunUnreadableError(
            f"{path}:{number}: turn {turn.sequence} comes after turn {last}: turns are in order"
        )
    return _next(path, number, turn.sequence, last)


def _next(path: Path, number: int, sequence: int, last: int) -> int:
    if sequence > last + 1:
        raise RunUnreadableError(f"{path}:{number}: {gap(expected=last + 1, given=sequence)}")
    return sequence
