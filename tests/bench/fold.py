"""What the fold costs by itself, without the wire."""

import json
import time

from sidecar.adapters.convert import TurnBounds, TurnReader
from sidecar.core.run import Run
from sidecar.core.turn import Turn
from sidecar.ports import Rejected
from sidecar.presets import preset
from sidecar.v1 import run_pb2
from tests.bench.load import turn_of

TURNS = 2000
ROUNDS = 5
POLICY = preset("default")


def _wires(kind: str, count: int) -> list[run_pb2.Turn]:
    wires = []
    for number in range(count):
        wire = turn_of(kind, number)
        wire.sequence = number + 1
        wires.append(wire)
    return wires


def _reader() -> TurnReader:
    return TurnReader(key=b"bench", lens=POLICY.lens, bounds=TurnBounds())


def fold_cost(kind: str) -> float:
    """Microseconds a turn, the best of some rounds: reading it off its message, and folding."""
    wires, reader = _wires(kind, TURNS), _reader()
    best = float("inf")
    for _ in range(ROUNDS):
        run = Run.start("s", POLICY)
        began = time.perf_counter()
        for wire in wires:
            turn = reader.read(wire)
            if isinstance(turn, Turn):
                run, _decision = run.advance(turn)
        best = min(best, time.perf_counter() - began)
    return 1e6 * best / TURNS


def state_bytes(turns: int) -> int:
    """Bytes of a run's snapshot as compact JSON."""
    reader, run = _reader(), Run.start("s", POLICY)
    for wire in _wires("texts", turns):
        turn = reader.read(wire)
        assert not isinstance(turn, Rejected)
        run, _decision = run.advance(turn)
    return len(json.dumps(run.encode(), separators=(",", ":")))
