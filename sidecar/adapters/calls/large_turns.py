"""Turns, read step by step, with the event loop free for other agents after each millisecond.

Not in a thread: hashing gives up the interpreter's lock so often that the event loop, which waits
for it by a timer, was seen to get it back after 480 ms.
"""

import asyncio
import time
from typing import Final

from sidecar.adapters.calls.cohort import Cohort
from sidecar.adapters.convert import Doubts, Steps, TurnReader
from sidecar.core.turn import Turn
from sidecar.ports import Rejected
from sidecar.v1 import run_pb2 as pb

READ_AT_ONCE_S: Final = 0.001
"""Time after which others come first. An ordinary turn takes a tenth of it, 4 MiB made to be slow
take seconds. No step of a text takes more than 5 ms where nothing else runs; some arguments, read
as JSON in one step, take 15."""


async def read_turn(
    reader: TurnReader,
    wire: pb.Turn,
    doubts: Doubts,
    *,
    cohort: Cohort,
    at_once_s: float = READ_AT_ONCE_S,
) -> Turn | Rejected:
    """What `reader.read` makes of the turn, without keeping others waiting, of the `cohort` too;
    `doubts` gets what was wrong with its measurements.

    A turn that is rejected is cut to its bounds, lest what is beyond them be gone through again.
    """
    steps = reader.steps(wire, doubts)
    event = _read_for(at_once_s, steps)
    if event is None:
        with cohort.lagging():
            while event is None:
                await asyncio.sleep(0)
                event = _read_for(at_once_s, steps)
    match event:
        case Rejected():
            del wire.tool_calls[reader.bounds.tool_calls_max :]
            del wire.failures[reader.bounds.tool_calls_max :]
        case Turn():
            pass
    return event


def _read_for(seconds: float, steps: Steps[Turn | Rejected]) -> Turn | Rejected | None:
    """What the steps come to; None where it takes more than so many seconds."""
    until = time.monotonic() + seconds
    try:
        next(steps)
        while time.monotonic() < until:
            next(steps)
    except StopIteration as end:
        event: Turn | Rejected = end.value
        return event
    return None
