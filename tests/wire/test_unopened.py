"""Streams that never send their `open`: they hold nothing, so they get a time and no more."""

from collections.abc import AsyncIterator
from dataclasses import replace

import grpc
import pytest

from sidecar.testing.recorder import WasRefused
from tests.wire.served import Agent, Served, World, connected, opening, served, turning

OPEN_TIMEOUT_S = 1.0
"""Long enough for an agent that sends its `open` at once, however busy the machine is."""


@pytest.fixture
async def hasty(world: World) -> AsyncIterator[Served]:
    """Services that wait for an `open` for a moment, and serve two streams."""
    world.stream_bounds = replace(world.stream_bounds, open_timeout_s=OPEN_TIMEOUT_S, streams_max=2)
    async with served(world) as running:
        yield running


async def test_a_stream_without_open_is_refused_when_its_time_is_over(hasty: Served) -> None:
    code, info = await Agent(hasty).refused()

    assert (code, info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "OPEN_REQUIRED")
    assert hasty.world.recorder.of(WasRefused) == [WasRefused(reason="OPEN_REQUIRED")]


async def test_streams_without_open_make_room_for_others(hasty: Served) -> None:
    silent = [Agent(hasty) for _ in range(2)]
    for agent in silent:
        await agent.refused()

    for name in ("a", "b"):
        assert (await Agent(hasty).ask(opening(name))).opened.session_id == name


async def test_a_stream_that_was_opened_may_be_silent_for_longer(hasty: Served) -> None:
    agent = Agent(hasty)
    await agent.ask(opening())
    # The other came later, so the time of the first is over too.
    await Agent(hasty).refused()

    assert (await agent.ask(turning(1))).decision.sequence == 1


async def test_draining_ends_a_stream_without_open_at_once(server: Served) -> None:
    silent, opened = Agent(server), Agent(server)
    await opened.ask(opening())
    await connected(server, streams=2)
    server.sessions.drain()
    server.service.drain()
    code, info = await silent.refused()

    assert (code, info.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
    assert (await opened.hear()).HasField("draining")


async def test_a_stream_that_comes_while_it_drains_is_refused_before_its_open(
    server: Served,
) -> None:
    server.service.drain()
    code, info = await Agent(server).refused()

    assert (code, info.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
