"""A fleet of agents in a process of its own, told what to do by lines on standard input:

    python -m tests.soak.load DIRECTORY AGENTS PAUSE_S

`cut` breaks the connections of half of the agents, `operate` steers some sessions, `end` ends all.
Each is answered by a line of JSON; the last is the report.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import grpc

from tests.soak.agents import Fleet, HookAgent, StreamAgent
from tests.soak.operator import Operator
from tests.soak.relay import Relay

CONNECTIONS: Final = 4
"""Every other one by the relay."""
HOOKS_EVERY: Final = 10
"""One agent in so many reports by single calls."""
FAULTS_SHOWN: Final = 20
OPTIONS: Final = [
    ("grpc.use_local_subchannel_pool", 1),  # a connection for each channel
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
]


async def lines() -> AsyncIterator[str]:
    """What comes on standard input."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        yield line.decode().strip()


def say(**answer: Any) -> None:
    """One line, now."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def obey(fleet: Fleet, relay: Relay, operator: Operator) -> None:
    """Do what is asked, until the end."""
    async for line in lines():
        match line:
            case "cut":
                say(cut=relay.cut())
            case "operate":
                say(steered=await operator.act())
            case _:
                break
    fleet.ending.set()


async def load(directory: Path, agents: int, pause_s: float) -> None:
    """Let the fleet work until it is told to end, and report."""
    fleet = Fleet(pause_s=pause_s)
    relay = Relay(directory / "relay.sock", directory / "agent.sock")
    paths = [directory / "agent.sock", relay.path] * (CONNECTIONS // 2)
    async with AsyncExitStack() as stack:
        await relay.start()
        stack.push_async_callback(relay.stop)
        to_agents = [
            await stack.enter_async_context(grpc.aio.insecure_channel(f"unix:{path}", OPTIONS))
            for path in paths
        ]
        admin = await stack.enter_async_context(
            grpc.aio.insecure_channel(f"unix:{directory}/admin.sock", OPTIONS)
        )
        async with asyncio.TaskGroup() as tasks:
            for number in range(agents):
                kind = HookAgent if number % HOOKS_EVERY == 0 else StreamAgent
                channel = to_agents[number // HOOKS_EVERY % CONNECTIONS]
                tasks.create_task(kind(fleet, channel, number).work())
            tasks.create_task(obey(fleet, relay, Operator(fleet, admin)))
    say(counts=fleet.counts, fault_count=len(fleet.faults), faults=fleet.faults[:FAULTS_SHOWN])


if __name__ == "__main__":
    asyncio.run(load(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
