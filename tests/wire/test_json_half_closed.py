"""Callers over HTTP that end their own side of the connection, as `nc -N` and `socat -` do."""

import asyncio
import json
import socket
import struct
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.json_http import (
    Application,
    HttpSettings,
    JsonListener,
    Route,
    Routes,
    lingering,
)
from sidecar.adapters.json_http import connection as connections
from sidecar.addresses import Address
from sidecar.testing.recorder import WasRefused
from sidecar.v1 import answer_service_pb2 as pb
from tests.wire.json_ports import Connection, Ports, ports
from tests.wire.served import ANSWER_WITHIN_S, Served, World, served
from tests.wire.test_json_turns import Waiting

TURNS = "/v1/sessions/s/turns"
FOR_EVER_S = 3_600.0


def request_of(path: str, message: object, **headers: str) -> bytes:
    body = json.dumps(message).encode()
    head = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    head += [f"Content-Length: {len(body)}", *(f"{name}: {it}" for name, it in headers.items())]
    return "\r\n".join([*head, "", ""]).encode() + body


async def half_closed(address: Address, raw: bytes) -> Connection:
    """A connection whose caller has sent all that it ever sends."""
    connection = await Connection.to(address)
    await connection.send(raw)
    connection.writer.write_eof()
    return connection


async def none_left(listener: JsonListener) -> None:
    """Nothing is answered any more, and no connection is held."""
    async with asyncio.timeout(ANSWER_WITHIN_S):
        while listener.answering or listener._state.connections:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)


@pytest.mark.parametrize("characters", [1, 100_000])
@pytest.mark.parametrize("over", ["tcp", "socket"])
async def test_who_ends_its_side_after_a_request_is_answered_and_then_hung_up_on(
    http: Ports, over: str, characters: int
) -> None:
    address = http.socket if over == "socket" else http.agent_address
    for number in range(10):
        turn = request_of(f"/v1/sessions/s{number}/turns", {"turn": {"text": "x" * characters}})
        connection = await half_closed(address, turn)

        assert (await connection.answer()).json["decision"]["sequence"] == 1
        assert await connection.ended()
        await connection.close()


async def test_an_answer_after_which_to_hang_up_is_given_too(http: Ports) -> None:
    turn = request_of(TURNS, {"turn": {}}, Connection="close")
    connection = await half_closed(http.agent_address, turn)

    assert (await connection.answer()).status == 200
    assert await connection.ended()
    await connection.close()


async def test_no_connection_lingers_for_who_sends_nothing_more(
    http: Ports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lingering, "LINGER_S", FOR_EVER_S)
    held = http.agent_listener._state.connections
    begun = len(held)
    connection = await half_closed(http.agent_address, request_of(TURNS, {"turn": {}}))
    await connection.answer()
    assert await connection.ended()

    # A connection that lingers would not be given up.
    async with asyncio.timeout(ANSWER_WITHIN_S):
        while len(held) > begun:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
    await connection.close()


async def test_all_requests_that_were_sent_whole_are_answered(http: Ports) -> None:
    raw = request_of(TURNS, {"turn": {}})
    connection = await half_closed(http.agent_address, raw * 5 + raw[:-3])
    answers = [await connection.answer() for _ in range(5)]

    assert [each.json["decision"]["sequence"] for each in answers] == [1, 2, 3, 4, 5]
    assert await connection.ended()
    assert (await http.agent.post(TURNS, {"turn": {}})).json["decision"]["sequence"] == 6
    await connection.close()


@pytest.mark.parametrize("sent", [b"", b"POST /v1/se", request_of(TURNS, {"turn": {}})[:-1]])
async def test_who_ends_its_side_before_a_request_is_there_is_hung_up_on(
    server: Served, http: Ports, sent: bytes
) -> None:
    connection = await half_closed(http.agent_address, sent)

    assert await connection.ended()
    assert list(server.sessions.held()) == []
    await connection.close()


async def test_who_is_gone_before_it_is_hung_up_on_is_let_go(
    http: Ports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lingering, "LINGER_S", FOR_EVER_S)
    held = cast("set[connections.Connection]", http.agent_listener._state.connections)
    begun = set(held)
    address = http.agent_address
    caller = socket.create_connection((address.host, address.port))
    async with asyncio.timeout(ANSWER_WITHIN_S):
        while not held - begun:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
    (connection,) = held - begun

    # Closed so, it is reset; the event loop has not read that yet when the server hangs up.
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    caller.close()
    connection.transport.close()

    assert connection.transport.is_closing()
    # A connection that lingers would not be given up.
    async with asyncio.timeout(ANSWER_WITHIN_S):
        while held > begun:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)


@pytest.mark.parametrize("call", ["forceCommit", "review"])
async def test_a_model_call_is_given_up_when_its_caller_ends_its_side_and_says_so(
    world: World, call: str
) -> None:
    model = Waiting()
    world.model = model
    question = request_of(f"/v1/answers:{call}", {"question": "why?", "answer": "42"})
    async with served(world) as server, ports(server) as http:
        connection = await Connection.to(http.agent_address)
        await connection.send(question)
        async with asyncio.timeout(ANSWER_WITHIN_S):
            await model.asked.wait()
            connection.writer.write_eof()
            await model.given_up.wait()
        answer = await connection.answer()

        assert (answer.status, answer.json["reason"]) == (400, "REQUEST_INVALID")
        assert "keep your side of the connection open" in answer.json["detail"]
        assert await connection.ended()
        assert world.recorder.of(WasRefused) == []
        await connection.close()


@asynccontextmanager
async def serving(world: World, route: Route) -> AsyncIterator[JsonListener]:
    """One route over a Unix socket."""
    address = Address(path=f"{world.directory}/one.sock")
    application = Application(
        Routes([route]),
        {},
        address=address,
        authorization=Authorization(),
        message_bytes_max=1_000_000,
        recorder=world.recorder,
    )
    listener = JsonListener(
        HttpSettings(address=address, connections_max=4), recorder=world.recorder
    )
    await listener.start(application)
    yield listener
    await listener.stop(0)


async def test_no_model_is_asked_for_who_has_ended_its_side_already(world: World) -> None:
    has_ended = threading.Event()
    asked = 0

    def begin() -> pb.ExtractAnswerRequest:
        """Read only then: what is large is read by a thread."""
        assert has_ended.wait(ANSWER_WITHIN_S)
        return pb.ExtractAnswerRequest()

    async def answer(_: pb.ExtractAnswerRequest) -> pb.ExtractAnswerResponse:
        nonlocal asked
        asked += 1
        return pb.ExtractAnswerResponse()

    route = Route(
        method="POST",
        path="/costly",
        rpc="",
        request=begin,  # type: ignore[arg-type]
        response=pb.ExtractAnswerResponse,
        call=answer,
        ends_with_caller=True,
    )
    async with serving(world, route) as listener:
        raw = request_of("/costly", {"text": "x" * 100_000})
        connection = await half_closed(listener.address, raw)
        held = cast("set[connections.Connection]", listener._state.connections)
        async with asyncio.timeout(ANSWER_WITHIN_S):
            while not any(each._caller_ended.is_set() for each in held):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0)
        has_ended.set()

        assert ((await connection.answer()).status, asked) == (400, 0)
        await connection.close()


async def test_what_is_owed_to_who_may_be_gone_is_given_up_in_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ENDED_TIMEOUT_S", 0.05)
    may_answer = asyncio.Event()

    async def answer(_: pb.ExtractAnswerRequest) -> pb.ExtractAnswerResponse:
        await may_answer.wait()
        return pb.ExtractAnswerResponse()

    route = Route(
        method="POST",
        path="/slow",
        rpc="",
        request=pb.ExtractAnswerRequest,
        response=pb.ExtractAnswerResponse,
        call=answer,
    )
    async with serving(world, route) as listener:
        connection = await half_closed(listener.address, request_of("/slow", {}))

        assert await connection.ended()
        assert not listener._state.connections
        may_answer.set()
        await none_left(listener)
        await connection.close()


async def test_who_is_gone_before_its_answer_leaves_nothing_behind(
    server: Served, http: Ports
) -> None:
    await http.agent.close()
    for number in range(20):
        connection = await Connection.to(http.agent_address)
        await connection.send(request_of(f"/v1/sessions/s{number}/turns", {"turn": {}}))
        await connection.close()
    async with asyncio.timeout(ANSWER_WITHIN_S):
        while len(list(server.sessions.held())) < 20:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)

    await none_left(http.agent_listener)
