"""Pages of sessions: each is on one, whatever is done while they are fetched."""

from base64 import urlsafe_b64encode
from typing import Any

import grpc
import pytest

from sidecar.sessions.sessions import SessionBounds
from sidecar.v1 import convergence_service_pb2 as record
from sidecar.v1 import run_pb2
from sidecar.v1 import session_service_pb2 as pb
from tests.wire.served import Agent, Served, World, looping, opening, reason_of, served, turning


async def opened(server: Served, *session_ids: str) -> list[Agent]:
    """Sessions that were opened one after the other, in this order."""
    agents = []
    for session_id in session_ids:
        server.world.clock.advance(1)
        agents.append(Agent(server))
        await agents[-1].ask(opening(session_id))
    return agents


async def page(server: Served, token: str = "", **asked: Any) -> tuple[list[str], str]:
    """The ids on a page, and where to go on."""
    asked.setdefault("page_size", 2)
    found = await server.control.ListSessions(pb.ListSessionsRequest(page_token=token, **asked))
    return [session.session_id for session in found.sessions], found.next_page_token


async def test_a_session_that_is_active_between_two_pages_is_on_one_of_them(
    server: Served,
) -> None:
    agents = await opened(server, "s0", "s1", "s2", "s3")
    first, token = await page(server)
    await agents[0].ask(turning(1))
    second, end = await page(server, token)

    assert (first, second, end) == (["s3", "s2"], ["s1", "s0"], "")


async def test_sessions_opened_at_one_time_are_each_on_one_page(server: Served) -> None:
    for session_id in ("b", "c", "a"):
        await Agent(server).ask(opening(session_id))
    first, token = await page(server)
    second, _ = await page(server, token)

    assert (first, second) == (["c", "b"], ["a"])


async def test_a_session_that_changes_its_state_moves_no_other(server: Served) -> None:
    agents = await opened(server, "s0", "s1", "s2", "s3")
    healthy: dict[str, Any] = {"states": [run_pb2.STATE_HEALTHY]}
    first, token = await page(server, **healthy)
    for sequence in range(1, 4):
        await agents[3].ask(looping(sequence))
    second, _ = await page(server, token, **healthy)

    assert (first, second) == (["s3", "s2"], ["s1", "s0"])


async def test_a_session_that_returns_from_the_store_has_the_place_of_its_opening(
    world: World,
) -> None:
    world.bounds = SessionBounds(sessions_max=3)
    async with served(world) as server:
        for session_id in ("s0", "s1", "s2", "s3"):
            server.world.clock.advance(1)
            turn = record.RecordTurnRequest(open=run_pb2.Open(session_id=session_id))
            await server.convergence.RecordTurn(turn)
        before, token = await page(server)
        await server.control.GetSession(pb.GetSessionRequest(session_id="s0"))
        after, _ = await page(server, token)

    assert (before, after) == (["s3", "s2"], ["s0"])


@pytest.mark.parametrize(
    "token",
    [
        "100",
        "!",
        "é",
        "A" * 1000,
        *(urlsafe_b64encode(text).decode() for text in (b"1.0", b"x s", b"nan s", b"1.0 \xff")),
    ],
)
async def test_what_no_page_gave_is_no_token(server: Served, token: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await page(server, token)

    assert reason_of(raised.value).reason == "REQUEST_INVALID"
