"""Many callers at once over HTTP: what one sends costs the others little."""

import asyncio
import json
import ssl
from pathlib import Path

import pytest

from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.json_http import (
    Application,
    HttpSettings,
    JsonListener,
    Route,
    Routes,
    connection,
    lingering,
)
from sidecar.addresses import Address
from sidecar.v1 import answer_service_pb2 as pb
from tests.wire.json_ports import LOOPBACK, Connection, ports
from tests.wire.served import ANSWER_WITHIN_S, Served, World

TLS = Path(__file__).parents[2] / "proto" / "conformance" / "tls"


def application_of(world: World, address: Address, routes: Routes) -> Application:
    return Application(
        routes,
        {},
        address=address,
        authorization=Authorization(),
        message_bytes_max=4 * 1024 * 1024,
        recorder=world.recorder,
    )


async def test_a_body_in_tiny_chunks_lets_others_go_first(server: Served) -> None:
    chunks = b"1\r\n \r\n" * 20_000 + b"2\r\n{}\r\n0\r\n\r\n"
    asked = b"POST /v1/answers:extract HTTP/1.1\r\nHost: localhost\r\n"
    head = asked + b"Content-Type: application/json\r\n"
    async with ports(server) as http:
        hindering, hindered = [await Connection.to(http.socket) for _ in range(2)]
        # All of it is there before the server has read any.
        hindering.writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
        hindered.writer.write(head + b"Content-Length: 2\r\n\r\n{}")
        answers = [asyncio.create_task(each.answer()) for each in (hindering, hindered)]

        first, _ = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)

        assert first == {answers[1]}
        assert [(await answer).status for answer in answers] == [200, 200]
        await asyncio.gather(hindering.close(), hindered.close())


async def test_large_bodies_are_read_one_at_a_time(world: World) -> None:
    begun: list[pb.ExtractAnswerRequest] = []
    most_at_once = 0
    answered = 0

    def begin() -> pb.ExtractAnswerRequest:
        nonlocal most_at_once
        begun.append(pb.ExtractAnswerRequest())
        most_at_once = max(most_at_once, len(begun) - answered)
        return begun[-1]

    async def answer(_: pb.ExtractAnswerRequest) -> pb.ExtractAnswerResponse:
        nonlocal answered
        answered += 1
        return pb.ExtractAnswerResponse()

    route = Route(
        method="POST",
        path="/large",
        rpc="",
        request=begin,  # type: ignore[arg-type]
        response=pb.ExtractAnswerResponse,
        call=answer,
    )
    socket = Address(path=f"{world.directory}/large.sock")
    application = application_of(world, socket, Routes([route]))
    listener = JsonListener(
        HttpSettings(address=socket, connections_max=4), recorder=world.recorder
    )
    await listener.start(application)
    callers = [await Connection.to(socket) for _ in range(4)]
    body = json.dumps({"messages": [{}] * 20_000}).encode()

    answers = await asyncio.gather(*(each.ask("POST", "/large", body) for each in callers))

    assert [each.status for each in answers] == [200] * 4
    assert (most_at_once, answered) == (1, 4)
    await asyncio.gather(*(each.close() for each in callers))
    await listener.stop(0)


async def test_who_goes_on_sending_gets_to_read_why_not(server: Served) -> None:
    bytes_max = server.world.message_bounds.message_bytes_max
    head = (
        "POST /v1/answers:extract HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {bytes_max + 1}\r\n\r\n"
    )
    async with ports(server) as http:
        http.agent.writer.write(head.encode() + b" " * 1_000_000)
        answer = await http.agent.answer()

        assert (answer.status, await http.agent.ended()) == (413, True)


async def test_who_does_not_hang_up_is_hung_up_on(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lingering, "LINGER_S", 0.05)
    async with ports(server) as http:
        await http.agent.send(b"nonsense\r\n\r\n")
        answer = await http.agent.answer()
        assert (answer.status, await http.agent.ended()) == (400, True)

        with pytest.raises(ConnectionError):
            await asyncio.wait_for(_sent_on(http.agent), ANSWER_WITHIN_S)


async def _sent_on(connection: Connection) -> None:
    """Send until there is nobody to send to."""
    while True:
        await connection.send(b"x" * 1000)
        await asyncio.sleep(0)


async def test_who_begins_no_handshake_is_hung_up_on(world: World) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(TLS / "server.pem", TLS / "server_key.pem")
    settings = HttpSettings(address=LOOPBACK, connections_max=4, tls=tls, handshake_timeout_s=0.05)
    listener = JsonListener(settings, recorder=world.recorder)
    await listener.start(application_of(world, LOOPBACK, Routes([])))
    silent = await Connection.to(listener.address)

    assert await silent.ended()

    await silent.close()
    await listener.stop(0)


async def test_connections_beyond_the_bound_are_told_to_come_again(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SILENT_S", 60.0)
    async with ports(server, connections_max=2) as http:
        second, third = [await Connection.to(http.agent_address) for _ in range(2)]
        answer = await third.answer()

        assert (answer.status, answer.json["reason"]) == (429, "STREAMS_MAX")
        assert answer.headers["retry-after"] == "1"
        assert await third.ended()
        assert (await second.post("/v1/sessions/s/turns", {"turn": {}})).status == 200
        await second.close()
        await third.close()
