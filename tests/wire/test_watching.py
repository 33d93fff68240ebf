"""Watching sessions: what is heard of them, once for each change, and how a watch ends."""

from typing import Any

import grpc
import pytest

from sidecar.adapters.grpc.watching import Watching
from sidecar.core.opening import Opening
from sidecar.core.turn import Turn
from sidecar.sessions.sessions import SessionBounds
from sidecar.v1 import convergence_service_pb2 as record
from sidecar.v1 import run_pb2
from sidecar.v1 import session_service_pb2 as pb
from tests.wire.served import Served, World, reason_of, served


async def recorded(server: Served, session_id: str) -> None:
    turn = run_pb2.Turn(output_lines=1)
    opening = run_pb2.Open(session_id=session_id)
    await server.convergence.RecordTurn(record.RecordTurnRequest(open=opening, turn=turn))


async def watching(server: Served, session_id: str) -> Any:
    """A watch that has heard how the session is."""
    watch = server.control.WatchSession(pb.WatchSessionRequest(session_id=session_id))
    await watch.read()
    return watch


async def test_who_watches_a_session_that_makes_room_for_others_is_told_that_it_is_gone(
    world: World,
) -> None:
    world.bounds = SessionBounds(sessions_max=2)
    async with served(world) as server:
        await recorded(server, "a")
        watch = await watching(server, "a")
        await recorded(server, "b")
        await recorded(server, "c")
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await watch.read()

        assert ended.value.code() is grpc.StatusCode.NOT_FOUND
        assert reason_of(ended.value).reason == "SESSION_NOT_FOUND"


async def test_a_session_that_is_back_before_its_watcher_looks_is_watched_on(world: World) -> None:
    world.bounds = SessionBounds(sessions_max=1)
    async with served(world) as server:
        await recorded(server, "a")
        watch = await watching(server, "a")
        server.sessions.open(Opening(session_id="b"), None)
        back = server.sessions.get("a")
        heard = await watch.read()
        server.sessions.turn(back, Turn(sequence=2), bytes(8))

        assert heard.session.last_sequence == 1
        assert (await watch.read()).session.last_sequence == 2


async def test_a_session_that_expires_is_closed_for_its_watcher(world: World) -> None:
    async with served(world) as server:
        await recorded(server, "a")
        watch = await watching(server, "a")
        world.clock.advance(world.bounds.session_idle_ttl_s)
        server.sessions.sweep()
        last = await watch.read()

        assert (last.session.closed, last.session.close_reason) == (True, "expired")
        assert await watch.read() is grpc.aio.EOF


async def test_a_turn_without_a_stream_is_one_change(server: Served) -> None:
    await recorded(server, "a")
    changes: list[int] = []
    server.sessions.watch(lambda session: changes.append(session.last_sequence))
    for _ in range(3):
        await recorded(server, "a")

    assert changes == [2, 3, 4]


async def test_a_change_is_made_a_message_once_for_all_who_watch(server: Served) -> None:
    await recorded(server, "a")
    session = server.sessions.get("a")
    watching = Watching(server.sessions, watchers_max=2)
    watches = [watching.changes([session], only=only) for only in ("", "a")]
    for watch in watches:
        await anext(watch)
    await recorded(server, "a")
    (one, _), (other, _) = [await anext(watch) for watch in watches]
    for watch in watches:
        await watch.aclose()  # type: ignore[attr-defined]

    assert one.session.last_sequence == 2
    assert one.message() is other.message()


async def test_what_waits_for_a_slow_watcher_is_bounded_by_the_sessions_held(
    world: World,
) -> None:
    world.bounds = SessionBounds(sessions_max=2)
    async with served(world) as server:
        watching = Watching(server.sessions, watchers_max=1)
        await recorded(server, "a")
        watch = watching.changes([server.sessions.get("a")])
        await anext(watch)
        for session_id in ("b", "c", "d"):
            await recorded(server, session_id)
        heard = [await anext(watch) for _ in range(2)]
        await watch.aclose()  # type: ignore[attr-defined]

    assert [(change.session.id, skipped) for change, skipped in heard] == [("c", 3), ("d", 1)]
