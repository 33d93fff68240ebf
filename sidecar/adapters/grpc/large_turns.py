"""Large turns, read call by call, with the event loop free for other agents in between.

Not in a thread: hashing gives up the interpreter's lock so often that the event loop, which waits
for it by a timer, was seen to get it back after 480 ms.
"""

import asyncio
from dataclasses import replace
from itertools import chain
from typing import Final

from sidecar.adapters.convert import TurnReader
from sidecar.core.turn import Failure, ToolCall, Turn
from sidecar.ports import Rejected
from sidecar.v1 import run_pb2 as pb

READ_AT_ONCE_BYTES_MAX: Final = 32 * 1024
"""Turns up to this size are read at once. The slowest text known takes 1.3 ms a kilobyte, ordinary
ones a tenth of it; 4 MiB made to be slow took 5 s."""


async def read_turn(reader: TurnReader, wire: pb.Turn) -> Turn | Rejected:
    """What `reader.read` makes of the turn; of a large one without keeping others waiting."""
    if wire.ByteSize() <= READ_AT_ONCE_BYTES_MAX:
        return reader.read(wire)
    most = reader.bounds.tool_calls_max
    if len(wire.tool_calls) > most or len(wire.failures) > most:
        return reader.read(wire)
    return await _read_in_parts(reader, wire)


async def _read_in_parts(reader: TurnReader, wire: pb.Turn) -> Turn | Rejected:
    rest = pb.Turn()
    rest.CopyFrom(wire)
    del rest.tool_calls[:]
    del rest.failures[:]
    calls: list[ToolCall] = []
    failures: list[Failure] = []
    parts = chain(
        (pb.Turn(tool_calls=[call]) for call in wire.tool_calls),
        (pb.Turn(failures=[failure]) for failure in wire.failures),
    )
    for part in parts:
        await asyncio.sleep(0)
        match reader.read(part):
            case Turn() as read:
                calls += read.tool_calls
                # Failures that the turn names stand in place of those read off its calls.
                failures += read.failures if part.failures or not wire.failures else ()
            case Rejected():
                raise AssertionError("one call is within every bound")
    await asyncio.sleep(0)
    whole = reader.read(rest)
    match whole:
        case Turn():
            return replace(whole, tool_calls=tuple(calls), failures=tuple(failures))
        case Rejected():
            return whole
