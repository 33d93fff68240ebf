"""P4: at each bound it works; beyond it there is the documented answer, and its counter moves by
one. A key that ends in `_max` without a row here fails the last test."""

from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2

from sidecar.adapters.convert import TurnBounds
from sidecar.config import Config, bounds
from sidecar.sessions import SessionBounds
from sidecar.testing.recorder import WasDetached, WasRefused
from sidecar.v1 import run_pb2
from tests.wire.served import Agent, World, detail_of, opening, served, turning

ROOT = Path(__file__).parents[2]
ELSEWHERE = {
    "label_values_max": "tests/edges/test_metrics.py",
    "span_queue_max": "tests/fault/test_exporter.py",
    "journal_bytes_max": "tests/edges/test_sqlite_retention.py",
    "journal_queue_max": "tests/edges/test_sqlite_faults.py",
    "snapshot_bytes_max": "tests/edges/test_stores.py",
    "watchers_max": "tests/wire/test_admin.py",
    "streams_max": "tests/wire/test_protocol.py",
    "client_instances_max": "tests/edges/test_give_ups.py",
    "loop_files_max": "tests/edges/test_loop_files.py",
    "labels_max": "tests/wire/test_bad_input.py",
    "decisions_kept_max": "tests/wire/test_protocol.py",
}
"""Bounds whose rows are beside what they bound."""

HERE = frozenset({"sessions_max", "message_bytes_max", "tool_calls_max", "text_bytes_max"})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(directory=tmp_path)


async def test_sessions_max_evicts_the_longest_idle_session_first(world: World) -> None:
    world.bounds = SessionBounds(sessions_max=2)
    async with served(world) as server:
        for name in ("a", "b"):
            agent = Agent(server)
            await agent.ask(opening(name))
            await agent.ask(turning(1))
            await agent.half_close()
            await agent.ended()
        await Agent(server).ask(opening("c"))

        assert [session.id for session in server.sessions.held()] == ["c", "b"]
        detached = world.recorder.of(WasDetached)
        assert [(gone.session.opening.session_id, gone.reason) for gone in detached] == [
            ("a", "evicted")
        ]
        assert (await Agent(server).ask(opening("a"))).opened.last_sequence == 1


async def test_sessions_max_refuses_when_every_session_is_attached(world: World) -> None:
    world.bounds = SessionBounds(sessions_max=2)
    async with served(world) as server:
        for name in ("a", "b"):
            await Agent(server).ask(opening(name))
        third = server.convergence.Observe(timeout=5)
        await third.write(opening("c"))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await third.read()

        metadata = refused.value.trailing_metadata()
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert detail_of(metadata, error_details_pb2.ErrorInfo).reason == "SESSIONS_MAX"
        assert detail_of(metadata, error_details_pb2.RetryInfo).retry_delay.seconds == 1
        assert world.recorder.of(WasRefused) == [WasRefused(reason="SESSIONS_MAX")]


async def test_message_bytes_max_ends_only_the_stream_that_went_beyond(world: World) -> None:
    world.stream_bounds = replace(world.stream_bounds, message_bytes_max=10_000)
    async with served(world) as server:
        other, agent = Agent(server), Agent(server)
        await other.ask(opening("other"))
        opened = (await agent.ask(opening("s"))).opened
        assert opened.turn_bytes_max == 10_000
        assert (await agent.ask(turning(1, text="x" * 9_000))).decision.sequence == 1
        await agent.say(turning(2, text="x" * 11_000))
        code, _ = await agent.refused()

        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await other.ask(turning(1))).decision.sequence == 1
        assert (await Agent(server).ask(opening("s"))).opened.last_sequence == 1


async def test_tool_calls_max_rejects_the_turn(world: World) -> None:
    world.turn_bounds = TurnBounds(tool_calls_max=2)
    async with served(world) as server:
        agent = Agent(server)
        await agent.ask(opening())
        call = run_pb2.ToolCall(name="tool", arguments_json="{}")
        at = (await agent.ask(turning(1, tool_calls=[call] * 2))).decision
        beyond = (await agent.ask(turning(2, tool_calls=[call] * 3))).decision

        assert not at.HasField("rejection")
        assert beyond.rejection.reason == "TOOL_CALLS_MAX"


@pytest.mark.parametrize(("length", "alike"), [(1000, False), (1001, True)])
async def test_text_bytes_max_reads_so_much_and_no_more(
    world: World, length: int, alike: bool
) -> None:
    world.turn_bounds = TurnBounds(text_bytes_max=1000)
    text = "y" * (length - 1)
    async with served(world) as server:
        agent = Agent(server)
        await agent.ask(opening())
        for sequence in range(1, 5):
            call = run_pb2.ToolCall(name="t", arguments_json="{}", result_text=f"{text}{sequence}")
            answer = await agent.ask(turning(sequence, tool_calls=[call]))

        assert bool(answer.decision.readings) is alike


@pytest.mark.parametrize("bound", sorted(bounds(Config())))
def test_every_bound_has_a_row(bound: str) -> None:
    assert bound in HERE or (ROOT / ELSEWHERE[bound]).exists()
