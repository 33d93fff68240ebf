"""The last turns of the run, to be sent, or sent again."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from sidecar.v1 import run_pb2 as pb

# The protocol: an agent keeps its last 256 turns, answered ones too.
TURNS_MAX = 256
# 256 turns of the usual 2 to 50 kB are below 13 MiB; huge ones must not become the agent's memory.
TURN_BYTES_SUM_MAX = 32 * 1024 * 1024

# Half of what the wire's uint32 can count: whoever says more leaves no room for this run's turns.
SEQUENCE_MAX = 2**31


@dataclass(slots=True, kw_only=True)
class Entry:
    """One turn and what has become of it."""

    turn: pb.Turn
    position: int
    """1, 2, 3 ... in the order of reports; never changes."""
    bytes: int
    sequence: int = 0
    """Its number on the wire; 0: none yet. Numbered when first sent, since a session that is
    resumed tells only then where its count stands."""
    stream: int = 0
    """Number of the stream that it was last sent on; 0: not sent."""
    sent_s: float = 0.0
    answered: bool = False
    decision: pb.Decision | None = None
    """The answer, until somebody takes it."""
    given_up: bool = False
    """Whether nobody waits for its answer any more."""


class Ring:
    """Turns by position and by sequence; the oldest go first."""

    def __init__(self, *, turns_max: int) -> None:
        self._turns_max = turns_max
        self._entries: deque[Entry] = deque()
        self._by_sequence: dict[int, Entry] = {}
        self._bytes = 0
        self._reported = 0
        self._lost = 0
        self.last_sequence = 0
        """The last number that was given to a turn, or that the sidecar has."""

    def __repr__(self) -> str:
        return f"Ring({len(self._entries)} turns, last_sequence={self.last_sequence})"

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def add(self, turn: pb.Turn) -> Entry:
        """Takes a turn in; the oldest may fall out."""
        self._reported += 1
        entry = Entry(turn=turn, position=self._reported, bytes=turn.ByteSize())
        self._entries.append(entry)
        self._bytes += entry.bytes
        while len(self._entries) > self._turns_max or (
            self._bytes > TURN_BYTES_SUM_MAX and len(self._entries) > 1
        ):
            self._drop_first()
        return entry

    def _drop_first(self) -> None:
        entry = self._entries.popleft()
        self._bytes -= entry.bytes
        self._lost += 1
        if entry.sequence:
            self._by_sequence.pop(entry.sequence, None)
        else:
            self.last_sequence += 1  # it keeps its place, so that the sidecar can tell it is lost

    @property
    def first_sequence(self) -> int:
        """The earliest sequence that can still be sent."""
        if self._entries and self._entries[0].sequence:
            return self._entries[0].sequence
        return self.last_sequence + 1

    def resized(self, entry: Entry) -> None:
        """The entry's turn was cut down; it is kept as another message, since one keeps the memory
        of what was cut until it is gone itself."""
        self._bytes -= entry.bytes
        entry.turn = pb.Turn.FromString(entry.turn.SerializeToString())
        entry.bytes = entry.turn.ByteSize()
        self._bytes += entry.bytes

    def at_or_after(self, position: int) -> Entry | None:
        """The first turn at the position or after it."""
        if not self._entries:
            return None
        index = max(0, position - self._entries[0].position)
        return self._entries[index] if index < len(self._entries) else None

    def find(self, sequence: int) -> Entry | None:
        """The turn with that number on the wire."""
        return self._by_sequence.get(sequence)

    def number(self, entry: Entry) -> None:
        """Gives the turn the next number."""
        self.last_sequence += 1
        entry.sequence = entry.turn.sequence = self.last_sequence
        self._by_sequence[entry.sequence] = entry

    def skip_to(self, sequence: int) -> None:
        """The sidecar holds turns up to here, whoever sent them: the next number is above.

        Raises ValueError for a number that no run can have reached.
        """
        if sequence > SEQUENCE_MAX:
            raise ValueError(f"last_sequence {sequence} leaves no numbers")
        self.last_sequence = max(self.last_sequence, sequence)

    def begin_again(self) -> int:
        """Numbers all turns anew from 1, for a new session; returns by how much they fell."""
        return self._renumber(lost=self._lost)

    def begin_with_unanswered(self) -> int:
        """As begin_again, with only the turns that no decision has answered."""
        while self._entries and self._entries[0].answered:
            self._bytes -= self._entries.popleft().bytes
        self._lost = 0
        return self._renumber(lost=0)

    def _renumber(self, *, lost: int) -> int:
        fall = self.first_sequence - (lost + 1)
        self._by_sequence.clear()
        self.last_sequence = lost
        for entry in self._entries:
            entry.sequence = entry.turn.sequence = 0
            entry.turn.directive_seen = max(0, entry.turn.directive_seen - fall)
        return fall
