"""The load: agents that send prepared bytes, so that their own cost is small and the same."""

import asyncio
import json
import random
import sys
import time
from typing import Any

import grpc
import psutil

from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

METHOD = "/sidecar.v1.ConvergenceService/Observe"
PLACEHOLDER = 0x0FFFFFFF
"""A sequence whose varint has four bytes, as every sequence written in its place has."""

RESULT = "\n".join(
    f"tests/test_part_{number}.py::test_case_{number * 7} PASSED [{number} %] in 0.0{number} s"
    for number in range(24)
)
VARIANTS = 500
"""More than any look-back reaches, since an agent at work does not go round."""

SAYING = (
    "The failing case comes from the parser: it keeps the trailing blank of the last token. "
    "I will strip it where the token is made and run the tests of the module again."
)


def turn_of(kind: str, number: int) -> run_pb2.Turn:
    """A turn as a busy coding agent makes it: digests only, or about 2 kB with texts."""
    turn = run_pb2.Turn(sequence=PLACEHOLDER, output_lines=20 + number % 7)
    turn.usage.input_tokens, turn.usage.output_tokens = 12_000 + number, 300
    turn.usage.context_tokens, turn.usage.context_window = 40_000, 200_000
    turn.progress.files_changed = number % 2
    call = turn.tool_calls.add(id=f"call_{number}", name=("edit", "pytest", "grep")[number % 3])
    if kind == "digests":
        call.arguments_digest = f"{number * 2654435761 % 2**64:016x}"
        call.result_digest = f"{number * 40503 % 2**64:016x}"
        turn.text_digest = f"{number * 69069 % 2**64:016x}"
        turn.text_length = len(SAYING)
    else:
        call.arguments_json = json.dumps({"path": f"src/part_{number}.py", "line": number})
        call.result_text = f"{RESULT}\nrun {number}"
        turn.text = f"{SAYING} Attempt {number}."
    return turn


def prepared(kind: str) -> list[tuple[bytes, bytes]]:
    """Requests as the bytes before and after their sequence."""
    found = []
    mark = bytes([0x08]) + _varint(PLACEHOLDER)
    for number in range(VARIANTS):
        raw = pb.ObserveRequest(turn=turn_of(kind, number)).SerializeToString()
        before, _, after = raw.partition(mark)
        found.append((before + bytes([0x08]), after))
    return found


def _varint(number: int) -> bytes:
    """Four bytes for any number below 2^28: leading zeros are legal."""
    return bytes(
        [
            number & 0x7F | 0x80,
            number >> 7 & 0x7F | 0x80,
            number >> 14 & 0x7F | 0x80,
            number >> 21 & 0x7F,
        ]
    )


class Agent:
    """One stream."""

    def __init__(self, channel: Any, session_id: str, requests: list[tuple[bytes, bytes]]) -> None:
        method = channel.stream_stream(METHOD)
        self._call = method()
        self._session_id = session_id
        self._requests = requests
        self.sequence = 0

    async def open(self) -> None:
        request = pb.ObserveRequest(open=run_pb2.Open(session_id=self._session_id))
        await self._call.write(request.SerializeToString())
        await self._call.read()

    async def turn(self) -> float:
        """Send the next turn; the seconds until its answer."""
        self.sequence += 1
        before, after = self._requests[self.sequence % len(self._requests)]
        began = time.perf_counter()
        await self._call.write(before + _varint(self.sequence) + after)
        await self._call.read()
        return time.perf_counter() - began

    async def close(self) -> None:
        await self._call.done_writing()
        while await self._call.read() is not grpc.aio.EOF:
            pass


async def closed_loop(address: str, kind: str, streams: int, seconds: float) -> dict[str, Any]:
    """Every agent sends its next turn as soon as it has an answer."""
    requests = prepared(kind)
    channels = [
        grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        for _ in range(4)
    ]
    prefix = f"{random.getrandbits(48):x}"
    agents = [
        Agent(channels[number % 4], f"{prefix}-{number}", requests) for number in range(streams)
    ]
    await asyncio.gather(*(agent.open() for agent in agents))
    began = time.perf_counter()
    until = began + seconds

    async def drive(agent: Agent) -> None:
        while time.perf_counter() < until:
            await agent.turn()

    await asyncio.gather(*(drive(agent) for agent in agents))
    took = time.perf_counter() - began
    turns = sum(agent.sequence for agent in agents)
    await asyncio.gather(*(agent.close() for agent in agents))
    return {"turns": turns, "seconds": took}


async def paced(
    address: str, kind: str, agents: int, seconds: float, process_id: int
) -> dict[str, Any]:
    """Every agent takes a turn a second, at its own moment; with what the server's process spends
    on the turns, opening and closing apart."""
    server = psutil.Process(process_id)
    requests = prepared(kind)
    channel = grpc.aio.insecure_channel(address)
    prefix = f"{random.getrandbits(48):x}"
    fleet = [Agent(channel, f"{prefix}-{number}", requests) for number in range(agents)]
    for agent in fleet:
        await agent.open()
    latencies: list[float] = []
    await asyncio.sleep(0.5)  # what opening has left to do, snapshots and spans, is not the turns'
    before = server.cpu_times()
    began = time.perf_counter()

    async def drive(agent: Agent) -> None:
        due = began + random.random()
        while due < began + seconds:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            latencies.append(await agent.turn())
            due += 1.0

    await asyncio.gather(*(drive(agent) for agent in fleet))
    after = server.cpu_times()
    await asyncio.gather(*(agent.close() for agent in fleet))
    cpu_s = after.user + after.system - before.user - before.system
    return {"latencies": latencies, "cpu_s": cpu_s}


async def many_sessions(
    address: str, kind: str, sessions: int, turns: int, at_once: int
) -> dict[str, Any]:
    """Sessions one after the other, `at_once` at a time, each with so many turns."""
    requests = prepared(kind)
    channels = [grpc.aio.insecure_channel(address) for _ in range(2)]
    prefix = f"{random.getrandbits(48):x}"
    numbers = iter(range(sessions))

    async def drive(channel: Any) -> None:
        for number in numbers:
            agent = Agent(channel, f"{prefix}-{number}", requests)
            await agent.open()
            for _ in range(turns):
                await agent.turn()
            await agent.close()

    began = time.perf_counter()
    await asyncio.gather(*(drive(channels[number % 2]) for number in range(at_once)))
    return {"turns": sessions * turns, "seconds": time.perf_counter() - began}


LOADS = {"closed_loop": closed_loop, "paced": paced, "many_sessions": many_sessions}


def main() -> None:
    name, address, kind, *numbers = sys.argv[1:]
    arguments = [float(number) if "." in number else int(number) for number in numbers]
    load: Any = LOADS[name]
    sys.stdout.write(json.dumps(asyncio.run(load(address, kind, *arguments))))


if __name__ == "__main__":
    main()
