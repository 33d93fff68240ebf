"""Bad input over HTTP: refused with a reason and a path, within bounds, and the end of nothing."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.adapters.json_http import connection
from sidecar.testing.recorder import WasRefused
from tests.wire.json_ports import JSON, Connection, Ports, ports
from tests.wire.served import Served, World, served

TURNS = "/v1/sessions/s/turns"
HUGE_BYTES = 300_000_000
SECRET = "canary7Quokka"


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ([], ""),
        ({"turn": []}, "turn"),
        ({"turn": 3}, "turn"),
        ({"turn": {"sequence": "x" + SECRET}}, "turn.sequence"),
        ({"turn": {"sequence": -1}}, "turn.sequence"),
        ({"turn": {"sequence": 10**30}}, "turn.sequence"),
        ({"turn": {"sequence": 1.5}}, "turn.sequence"),
        ({"turn": {"sequence": True}}, "turn.sequence"),
        ({"turn": {"sequence": "1_0"}}, "turn.sequence"),
        ({"turn": {"text": {"secret": SECRET}}}, "turn.text"),
        ({"turn": {"text": SECRET + "\ud800"}}, "turn.text"),
        ({"turn": {"userInput": "true"}}, "turn.user_input"),
        ({"turn": {"confidence": SECRET}}, "turn.confidence"),
        ({"turn": {"start_time": SECRET}}, "turn.start_time"),
        ({"turn": {"usage": {"inputTokens": "many"}}}, "turn.usage.input_tokens"),
        ({"turn": {"usage": {"inputTokens": 1, "input_tokens": 1}}}, "turn.usage.input_tokens"),
        ({"turn": {"text": "a", "text_digest": "b"}}, "turn.text_digest"),
        ({"turn": {"tool_calls": {}}}, "turn.tool_calls"),
        ({"turn": {"tool_calls": [{}, None]}}, "turn.tool_calls[1]"),
        ({"turn": {"tool_calls": [{}, {"name": [SECRET]}]}}, "turn.tool_calls[1].name"),
        ({"turn": {"tool_calls": [{"outcome": 1.5}]}}, "turn.tool_calls[0].outcome"),
        ({"turn": {"tool_calls": [{"duration": 3}]}}, "turn.tool_calls[0].duration"),
        ({"turn": {"tool_calls": [{"duration": "1.1e999s"}]}}, "turn.tool_calls[0].duration"),
        ({"open": {"limits": {"duration_max": "0.1e400s"}}}, "open.limits.duration_max"),
        ({"turn": {"end_time": "2026-01-31T12:00:00.2e999Z"}}, "turn.end_time"),
        ({"open": {"labels": {SECRET: 3}}}, "open.labels"),
        ({"open": {"give_ups": [{"count": -1}]}}, "open.give_ups[0].count"),
        ({"close": {"outcome": []}}, "close.outcome"),
    ],
)
async def test_a_wrong_type_is_refused_with_the_path_of_its_field_and_not_its_content(
    server: Served, http: Ports, message: Any, path: str
) -> None:
    answer = await http.agent.post(TURNS, message)

    assert (answer.status, answer.json["reason"]) == (400, "REQUEST_INVALID")
    assert answer.json.get("field", "") == path
    assert SECRET.encode() not in answer.body
    assert list(server.sessions.held()) == []
    assert (await http.agent.post(TURNS, {"turn": {}})).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b'"turn"',
        b"{'turn': {}}",
        b'{"turn": {}} {}',
        b'{"turn": {"reward": NaN}}',
        b'{"turn": {"reward": -Infinity}}',
        b'{"turn": {}, "turn": {}}',
        b'{"turn": {"id": "a", "id": "b"}}',
        b'{"turn": {"sequence": ' + b"9" * 5000 + b"}}",
        b'{"turn": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"turn": {"later": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001 + b"}",
        b'{"turn": {"text": "\xff"}}',
        '{"turn": {}}'.encode("utf-16"),
        b"\x00",
    ],
)
async def test_what_is_no_json_is_refused(http: Ports, body: bytes) -> None:
    answer = await http.agent.ask("POST", TURNS, body)

    assert (answer.status, answer.json["reason"]) == (400, "REQUEST_INVALID")
    assert (await http.agent.post(TURNS, {"turn": {}})).status == 200


async def test_numbers_beyond_a_double_are_taken_as_not_said(server: Served, http: Ports) -> None:
    body = b'{"turn": {"reward": 1e999, "confidence": ' + b"9" * 400 + b"}}"

    assert (await http.agent.ask("POST", TURNS, body)).status == 200


@pytest.mark.parametrize("path", ["forceCommit", "review", "extract"])
async def test_blocks_nested_too_deeply_are_refused(http: Ports, path: str) -> None:
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    messages = [{"role": "user", "blocks": deep}]
    answer = await http.agent.post(f"/v1/answers:{path}", {"messages": messages})

    if path != "review":  # which has no messages: what is unknown is ignored
        assert (answer.status, answer.json["reason"]) == (400, "REQUEST_INVALID")
    assert (await http.agent.post(TURNS, {"turn": {}})).status == 200


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    message=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["open", "turn", "close", "tool_calls", "usage", "labels", "text"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    )
)
async def test_whatever_is_sent_is_answered_and_the_next_turn_too(
    server: Served, message: Any
) -> None:
    async with ports(server) as http:
        body = json.dumps(message).encode()
        answer = await http.agent.ask("POST", "/v1/sessions/fuzz/turns", body)

        assert answer.status in (200, 400), answer.body
        assert (await http.agent.post(TURNS, {"turn": {}})).status == 200


async def test_a_body_beyond_the_bound_is_refused_by_its_length_without_reading_it(
    server: Served, http: Ports
) -> None:
    head = f"POST {TURNS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    await http.agent.send(f"{head}Content-Length: {HUGE_BYTES}\r\n\r\n".encode())
    answer = await http.agent.answer()

    assert (answer.status, answer.json["reason"]) == (413, "MESSAGE_BYTES_MAX")
    bytes_max = server.world.message_bounds.message_bytes_max
    assert answer.json["metadata"] == {"message_bytes_max": str(bytes_max)}
    assert answer.headers["connection"] == "close"
    assert await http.agent.ended()
    assert server.world.recorder.of(WasRefused) == [WasRefused(reason="MESSAGE_BYTES_MAX")]


async def test_a_client_that_waits_to_be_asked_for_its_body_is_not_asked(http: Ports) -> None:
    head = f"POST {TURNS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    expecting = f"{head}Content-Length: {HUGE_BYTES}\r\nExpect: 100-continue\r\n\r\n"
    await http.agent.send(expecting.encode())

    assert (await http.agent.answer()).status == 413


async def test_a_body_without_a_length_is_cut_at_the_bound(world: World) -> None:
    world.message_bounds = replace(world.message_bounds, message_bytes_max=10_000)
    async with served(world) as server, ports(server) as http:
        chunk = b"1000\r\n" + b" " * 0x1000 + b"\r\n"
        head = (
            f"POST {TURNS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"
        )
        await http.agent.send(head.encode() + chunk * 3)
        answer = await http.agent.answer()

        assert answer.status == 413
        assert await http.agent.ended()


async def test_a_body_of_chunks_within_the_bound_is_taken(http: Ports) -> None:
    head = (
        f"POST {TURNS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    await http.agent.send(head.encode() + b'5\r\n{"tur\r\n7\r\nn": {}}\r\n0\r\n\r\n')

    assert (await http.agent.answer()).status == 200


async def test_a_body_whose_end_is_given_twice_is_refused_and_nothing_after_it_is_read(
    http: Ports,
) -> None:
    head = (
        f"POST {TURNS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    body = b'c\r\n{"turn": {}}\r\n0\r\n\r\n'
    await http.agent.send((head.encode() + body) * 2)
    answer = await http.agent.answer()

    assert answer.status == 400
    assert "Content-Length or Transfer-Encoding, not both" in answer.json["detail"]
    assert await http.agent.ended()


async def test_a_body_of_a_megabyte_is_read_while_others_are_served(
    server: Served, http: Ports
) -> None:
    other = await Connection.to(http.agent_address)
    large = json.dumps({"turn": {"text": "x" * 1_000_000, "id": "large"}}).encode()
    asked = asyncio.ensure_future(http.agent.ask("POST", TURNS, large))
    small = await other.post("/v1/sessions/other/turns", {"turn": {}})
    await other.close()

    assert small.status == 200
    assert (await asked).json["decision"]["sequence"] == 1


async def test_what_is_no_http_is_not_logged(http: Ports, caplog: pytest.LogCaptureFixture) -> None:
    await http.agent.send(b"nonsense\r\n\r\n")
    await http.agent.answer()

    assert not [one for one in caplog.records if "uvicorn" in one.name]


async def test_a_body_that_does_not_come_is_given_up(world: World) -> None:
    async with served(world) as server, ports(server, body_timeout_s=0.05) as http:
        head = f"POST {TURNS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        await http.agent.send(f"{head}Content-Length: 10\r\n\r\n{{".encode())

        assert (await http.agent.answer()).status == 408
        assert await http.agent.ended()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Content-Type": 'Application/JSON; Charset="UTF-8"'}, 200),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content-Type": "application/json; charset=utf-16"}, 415),
        ({"Content-Type": ""}, 415),
        ({**JSON, "Content-Encoding": "gzip"}, 415),
        ({**JSON, "Content-Encoding": "identity"}, 200),
    ],
)
async def test_only_plain_json_is_taken(http: Ports, headers: dict[str, str], status: int) -> None:
    answer = await http.agent.ask("POST", TURNS, b'{"turn": {}}', headers)

    assert answer.status == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "localhost.evil.example:4301"}, 403),
        ({"Host": "127.0.0.2"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:9999"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "LOCALHOST:4301", "Origin": "http://localhost:4301"}, 200),
        ({"Host": "[::1]:4301"}, 200),
    ],
)
async def test_what_a_browser_sends_for_a_foreign_page_is_refused(
    server: Served, http: Ports, headers: dict[str, str], status: int
) -> None:
    answers = [
        await http.agent.ask("POST", TURNS, b'{"turn": {}}', headers),
        await http.agent.get("/openapi.json", **headers),
        await http.admin.get("/v1/sessions", **headers),
        await http.admin.get("/statusz", **headers),
    ]

    assert [answer.status for answer in answers] == [status] * 4
    assert len(list(server.sessions.held())) == (status == 200)
    for answer in answers:
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_preflight_is_no_permission(http: Ports) -> None:
    answer = await http.agent.ask(
        "OPTIONS",
        TURNS,
        headers={"Origin": "http://localhost", "Access-Control-Request-Method": "POST"},
    )

    assert answer.status == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE"])
async def test_a_method_that_is_not_there_is_refused_with_those_that_are(
    http: Ports, method: str
) -> None:
    answer = await http.agent.ask(method, TURNS)
    listed = await http.admin.ask(method, "/v1/sessions")

    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert (listed.status, listed.headers["allow"]) == (405, "GET, HEAD")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "path",
    ["/", "/v1/sessions//turns", "/v1/sessions/s/turns/", "/v2/sessions/s/turns", "/v1/answers"],
)
async def test_a_path_that_is_not_there_is_a_problem_too(http: Ports, path: str) -> None:
    answer = await http.agent.ask("POST", path, b"{}")

    assert (answer.status, answer.json["reason"]) == (404, "REQUEST_INVALID")


async def test_a_path_that_is_no_text_is_refused(http: Ports) -> None:
    for path in ("%ff", "%zz", "a%", "a%2"):
        assert (await http.agent.post(f"/v1/sessions/{path}/turns", {"turn": {}})).status == 400


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n" * 4,
        # As long as a head may be at most, but never one.
        b"\x16\x03\x01" + b"x" * 20_000,
    ],
)
async def test_what_is_no_http_is_answered_and_hung_up(
    server: Served, http: Ports, raw: bytes
) -> None:
    await http.agent.send(raw)
    answer = await http.agent.answer()

    assert (answer.status, answer.json["reason"]) == (400, "REQUEST_INVALID")
    assert await http.agent.ended()
    assert server.world.recorder.of(WasRefused) == [WasRefused(reason="REQUEST_INVALID")]


async def test_a_head_that_does_not_come_is_given_up(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_TIMEOUT_S", 0.05)
    async with ports(server) as http:
        silent = await Connection.to(http.agent_address)
        begun = await Connection.to(http.agent_address)
        await begun.send(b"GET /openapi.json HT")

        assert (await begun.answer()).status == 408
        assert await begun.ended()
        assert await silent.ended()
        await silent.close()
        await begun.close()


async def test_requests_sent_at_once_are_answered_in_their_order(http: Ports) -> None:
    body = b'{"turn": {}}'
    head = f"POST {TURNS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    one = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    await http.agent.send(one * 5)
    answers = [await http.agent.answer() for _ in range(5)]

    assert [answer.json["decision"]["sequence"] for answer in answers] == [1, 2, 3, 4, 5]


async def test_a_caller_that_hangs_up_leaves_nothing_behind(server: Served, http: Ports) -> None:
    connection = await Connection.to(http.agent_address)
    head = f"POST {TURNS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    await connection.send(f"{head}Content-Length: 100\r\n\r\n{{".encode())
    while not http.agent_listener.answering:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)
    await connection.close()
    while http.agent_listener.answering:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)

    assert (await http.agent.post(TURNS, {"turn": {}})).status == 200
