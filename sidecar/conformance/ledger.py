"""What the sidecar under the table's script holds of each session."""

from collections.abc import Iterable
from typing import Final

from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import run_pb2

_HELD_MAX: Final = 10_000


class Ledger:
    """Turns by session, as they came."""

    def __init__(self) -> None:
        self._held: dict[str, set[int]] = {}

    def note(self, session_id: str, sequence: int) -> None:
        """A turn came. Only so many are kept of a session; no table needs more."""
        held = self._held.setdefault(session_id, set())
        if len(held) < _HELD_MAX:
            held.add(sequence)

    def last_sequence(self, session_id: str) -> int:
        """The last sequence of a session; 0: none."""
        return max(self._held.get(session_id, ()), default=0)

    def has(self, session_id: str, first: int, last: int) -> bool:
        """Whether every sequence from one to another is held."""
        return self._held.get(session_id, set()).issuperset(range(first, last + 1))

    def sequences(self, session_id: str) -> list[list[int]]:
        """Runs of the sequences held, as [first, last]."""
        return _runs(sorted(self._held.get(session_id, ())))


def _runs(sequences: Iterable[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for sequence in sequences:
        if runs and runs[-1][1] == sequence - 1:
            runs[-1][1] = sequence
        else:
            runs.append([sequence, sequence])
    return runs


def proceed_to(sequence: int) -> wire.ObserveResponse:
    """The plainest answer to a turn."""
    response = wire.ObserveResponse()
    response.decision.decision_id = f"{sequence:016x}"
    response.decision.sequence = sequence
    response.decision.cause = run_pb2.CAUSE_TURN
    response.decision.state = run_pb2.STATE_HEALTHY
    response.decision.proceed.SetInParent()
    return response
