"""What the fold costs by itself, without the wire."""

import json
import time
from typing import NamedTuple

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


class TurnCost(NamedTuple):
    """Microseconds a turn."""

    read_us: float
    fold_us: float


def turn_cost(kind: str) -> TurnCost:
    """Reading turns off their messages, and folding them; each the best of some rounds."""
    wires, reader = _wires(kind, TURNS), _reader()
    read_s = fold_s = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        turns = [turn for wire in wires if isinstance(turn := reader.read(wire), Turn)]
        read = time.perf_counter()
        run = Run.start("s", POLICY)
        for turn in turns:
            run, _decision = run.advance(turn)
        read_s = min(read_s, read - began)
        fold_s = min(fold_s, time.perf_counter() - read)
    return TurnCost(read_us=1e6 * read_s / TURNS, fold_us=1e6 * fold_s / TURNS)


def state_bytes(turns: int) -> int:
    """Bytes of a run's snapshot as compact JSON."""
    reader, run = _reader(), Run.start("s", POLICY)
    for wire in _wires("texts", turns):
        turn = reader.read(wire)
        assert not isinstance(turn, Rejected)
        run, _decision = run.advance(turn)
    return len(json.dumps(run.encode(), separators=(",", ":")))
