"""What comes before a request is understood: its head, and what is left of one that is refused."""

import asyncio

import pytest

from sidecar.adapters.json_http import connection
from sidecar.adapters.json_http.connection import HEAD_BYTES_MAX
from sidecar.testing.recorder import WasRefused
from tests.wire.json_ports import JSON, Connection, Ports, ports
from tests.wire.served import ANSWER_WITHIN_S, Served

HUGE_BYTES = 300_000_000
CHUNKED = {"Transfer-Encoding": "chunked"}


def head_of(size: int) -> bytes:
    """A request without a body whose head has so many bytes."""
    begun, end = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nX: ", b"\r\n\r\n"
    return begun + b"x" * (size - len(begun) - len(end)) + end


@pytest.mark.parametrize("pieces", [1, 40])
@pytest.mark.parametrize(("size", "status"), [(HEAD_BYTES_MAX, 200), (HEAD_BYTES_MAX + 1, 431)])
async def test_a_head_has_a_bound_however_it_comes(
    server: Served, pieces: int, size: int, status: int
) -> None:
    head = head_of(size)
    step = -(-len(head) // pieces)
    async with ports(server) as http:
        for at in range(0, len(head), step):
            await http.agent.send(head[at : at + step])
            await asyncio.sleep(0)
        answer = await http.agent.answer()

        assert answer.status == status
        if status == 431:
            assert answer.json["detail"] == "a head has at most 16384 bytes"
            assert await http.agent.ended()
            assert server.world.recorder.of(WasRefused) == [WasRefused(reason="REQUEST_INVALID")]


async def test_the_head_after_another_request_has_the_same_bound(server: Served) -> None:
    async with ports(server) as http:
        await http.agent.send(head_of(HEAD_BYTES_MAX) * 2 + head_of(HEAD_BYTES_MAX + 1))
        answers = [await http.agent.answer() for _ in range(3)]

        assert [answer.status for answer in answers] == [200, 200, 431]


async def test_where_all_places_are_taken_who_is_idle_longest_gives_way(server: Served) -> None:
    async with ports(server, connections_max=2) as http:
        await http.agent.get("/openapi.json")
        second, third = await asked(http), await asked(http)

        assert await http.agent.ended()
        assert (await second.get("/openapi.json")).status == 200
        fourth = await asked(http)
        assert await third.ended()
        assert (await second.get("/openapi.json")).status == 200
        await asyncio.gather(*(each.close() for each in (second, third, fourth)))


async def test_where_all_places_are_taken_who_has_said_nothing_yet_gives_way(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SILENT_S", 0.0)
    async with ports(server, connections_max=2) as http:
        await http.agent.send(b"GET /openapi.json HT")
        silent, third = await Connection.to(http.agent_address), await asked(http)

        assert await silent.ended()
        await http.agent.send(b"TP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await http.agent.answer()).status == 200
        await asyncio.gather(silent.close(), third.close())


@pytest.mark.parametrize(("version", "status"), [("1.0", 200), ("1.2", 400), ("2.0", 400)])
async def test_of_the_versions_of_http_two_are_spoken(
    http: Ports, version: str, status: int
) -> None:
    await http.agent.send(f"GET /openapi.json HTTP/{version}\r\nHost: localhost\r\n\r\n".encode())
    answer = await http.agent.answer()

    assert (answer.status, await http.agent.ended()) == (status, True)


async def test_who_begins_with_http_2_is_told_what_is_spoken(http: Ports) -> None:
    await http.agent.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    answer = await http.agent.answer()

    assert (answer.status, answer.json["detail"]) == (400, "speak HTTP/1.1 or HTTP/1.0")


async def test_who_is_beyond_the_bound_and_goes_on_sending_gets_to_read_why_not(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SILENT_S", 60.0)
    head = (
        b"POST /v1/answers:extract HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    )
    async with ports(server, connections_max=1) as http:
        for _ in range(connection.LINGERING_MAX + 4):
            beyond = await Connection.to(http.agent_address)
            beyond.writer.write(head + b" " * 1_000_000)
            assert (await beyond.answer()).status == 429
            await beyond.close()


async def test_those_who_linger_beyond_the_bound_are_few_and_hold_no_place(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SILENT_S", 60.0)
    monkeypatch.setattr(connection, "LINGERING_MAX", 2)
    async with ports(server, connections_max=2) as http:
        leaving = await Connection.to(http.agent_address)
        await http.agent.send(b"GET /openapi.json HT")
        beyond = [await Connection.to(http.agent_address) for _ in range(3)]
        assert [(await each.answer()).status for each in beyond] == [429] * 3
        assert all([await each.ended() for each in beyond])
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(sent_on(beyond[2]), ANSWER_WITHIN_S)
        for lingering in beyond[:2]:
            await lingering.send(b"x" * 100_000)
        await leaving.close()
        served = await asked(http)
        await asyncio.gather(*(each.close() for each in (*beyond, served)))


async def sent_on(sending: Connection) -> None:
    """Send until there is nobody to send to."""
    while True:
        await sending.send(b"x" * 1000)
        await asyncio.sleep(0)


async def asked(http: Ports) -> Connection:
    """A connection that has been answered once."""
    answered = await Connection.to(http.agent_address)
    assert (await answered.get("/openapi.json")).status == 200
    return answered


@pytest.mark.parametrize(
    ("method", "path", "kind", "status"),
    [
        ("POST", "/nope", JSON, 404),
        ("POST", "/v1/answers:extract", {"Content-Type": "text/plain"}, 415),
        ("PUT", "/v1/answers:extract", JSON, 405),
        ("POST", "/v1/answers:extract", {**JSON, "Host": "evil.example"}, 403),
        ("GET", "/openapi.json", {}, 200),
    ],
)
@pytest.mark.parametrize("length", [{"Content-Length": str(HUGE_BYTES)}, CHUNKED])
async def test_nobody_waits_for_the_end_of_a_body_that_is_of_no_interest(
    server: Served,
    method: str,
    path: str,
    kind: dict[str, str],
    status: int,
    length: dict[str, str],
) -> None:
    async with ports(server) as http:
        answer = await http.agent.ask(method, path, headers={**kind, **length})

        assert (answer.status, answer.headers.get("connection")) == (status, "close")
        assert await http.agent.ended()


async def test_a_small_body_that_is_of_no_interest_ends_nothing(server: Served) -> None:
    async with ports(server) as http:
        refused = await http.agent.ask("POST", "/nope", b'{"turn": {}}')

        assert (refused.status, refused.headers.get("connection")) == (404, None)
        assert (await http.agent.get("/openapi.json")).status == 200
