"""The table of HTTP sessions: bounded, and nothing is left of a session that has ended."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from starlette.types import Message, Receive

from sidecar.mcp import http_sessions
from sidecar.mcp.http_sessions import HttpSessions
from sidecar.mcp.run import Run, Terms
from tests.mcp.hosts import ENDS_WITHIN_S, INITIALIZE, calling
from tests.mcp.silent import SilentSidecar

ACCEPT = {"accept": "application/json, text/event-stream"}


class Runs:
    """Makes runs without a sidecar, and knows them."""

    def __init__(self, directory: Path, terms: Terms | None = None) -> None:
        self._terms = terms or Terms(address=f"unix:{directory}/none.sock", options={})
        self.made: list[Run] = []

    def __call__(self) -> Run:
        self.made.append(Run(self._terms))
        return self.made[-1]


@asynccontextmanager
async def served(runs: Runs, sessions_max: int) -> AsyncIterator[httpx2.AsyncClient]:
    sessions = HttpSessions(runs, sessions_max=sessions_max, idle_s=600)
    async with (
        sessions.open(),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(sessions), base_url="http://127.0.0.1", headers=ACCEPT
        ) as http,
    ):
        yield http


async def begin(http: httpx2.AsyncClient) -> httpx2.Response:
    return await http.post("/mcp", json=INITIALIZE)


async def test_sessions_beyond_the_bound_are_refused_and_the_others_go_on(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    async with served(runs, sessions_max=2) as http:
        first, second, third = [await begin(http) for _ in range(3)]
        session = {"mcp-session-id": first.headers["mcp-session-id"]}
        reported = await http.post("/mcp", json=calling("report_turn", {}), headers=session)
        await http.delete("/mcp", headers=session)
        fourth = await begin(http)

    statuses = [each.status_code for each in (first, second, third, reported, fourth)]
    assert statuses == [200, 200, 503, 200, 200]
    assert len(runs.made) == 3


@pytest.mark.parametrize("twin", [2, "2"])
async def test_a_request_whose_id_is_in_flight_in_its_session_is_refused(
    tmp_path: Path, twin: int | str
) -> None:
    silent = SilentSidecar(tmp_path)
    message = calling("report_turn", {})
    again = {**message, "id": twin}
    async with silent.listening(), served(Runs(tmp_path, silent.terms), sessions_max=2) as http:
        here, there = [
            {"mcp-session-id": (await begin(http)).headers["mcp-session-id"]} for _ in range(2)
        ]
        reporting = asyncio.create_task(http.post("/mcp", json=message, headers=here))
        await asyncio.wait_for(silent.asked.wait(), ENDS_WITHIN_S)
        refused = await http.post("/mcp", json=again, headers=here)
        elsewhere = asyncio.create_task(http.post("/mcp", json=again, headers=there))
        silent.lets_go.set()
        answered = [await reporting, await elsewhere]
        answered.append(await http.post("/mcp", json=again, headers=here))

    assert (refused.status_code, refused.text) == (409, "a request with this id is in flight\n")
    assert [each.status_code for each in answered] == [200, 200, 200]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff", b'{"jsonrpc": "2.0"}'])
async def test_what_is_no_message_begins_no_session(tmp_path: Path, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    async with served(Runs(tmp_path), sessions_max=1) as http:
        refused = await http.post("/mcp", content=body, headers=headers)
        begun = await begin(http)

    assert (refused.status_code, begun.status_code) == (400, 200)


@pytest.mark.parametrize(
    ("body", "asked", "code"),
    [
        (b'{"id": 1}', 1, -32600),
        (b'{"jsonrpc": "2.0", "id": "a"}', "a", -32600),
        (b"[{}]", None, -32600),
        (b"{", None, -32700),
    ],
)
async def test_what_is_no_request_is_told_as_on_standard_input(
    tmp_path: Path, body: bytes, asked: object, code: int
) -> None:
    headers = {"content-type": "application/json"}
    async with served(Runs(tmp_path), sessions_max=1) as http:
        refused = await http.post("/mcp", content=body, headers=headers)
    assert refused.status_code == 400
    assert (refused.json()["id"], refused.json()["error"]["code"]) == (asked, code)
    assert "pydantic" not in refused.text


@pytest.mark.parametrize("odd", [1.5, None, True, {}, [], 1e3])
async def test_a_request_whose_id_is_no_text_and_no_whole_number_is_refused(
    tmp_path: Path, odd: object
) -> None:
    runs = Runs(tmp_path)
    async with served(runs, sessions_max=2) as http:
        session = {"mcp-session-id": (await begin(http)).headers["mcp-session-id"]}
        within = await http.post(
            "/mcp", json={**calling("get_status", {}), "id": odd}, headers=session
        )
        before = await http.post("/mcp", json={**INITIALIZE, "id": odd})

    for refused in (within, before):
        assert refused.status_code == 400
        assert refused.json()["error"].keys() == {"code", "message"}
        assert (refused.json()["id"], refused.json()["error"]["code"]) == (None, -32600)
    assert len(runs.made) == 1


async def test_a_text_that_was_cut_within_an_emoji_is_a_turn(tmp_path: Path) -> None:
    reporting = calling("report_turn", {"text": "cut \ud83d"})
    async with served(Runs(tmp_path), sessions_max=1) as http:
        session = {"mcp-session-id": (await begin(http)).headers["mcp-session-id"]}
        headers = {**session, "content-type": "application/json"}
        reported = await http.post("/mcp", content=json.dumps(reporting), headers=headers)

    assert reported.json()["result"]["structuredContent"]["ignored"] == []


async def test_nothing_is_served_before_and_after(tmp_path: Path) -> None:
    sessions = HttpSessions(Runs(tmp_path), sessions_max=1, idle_s=600)
    transport = httpx2.ASGITransport(sessions)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        before = await begin(http)
        async with sessions.open():
            pass
        after = await begin(http)

    assert (before.status_code, after.status_code) == (503, 503)


async def test_a_body_that_breaks_off_is_nobody_s_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runs = Runs(tmp_path)
    sessions = HttpSessions(runs, sessions_max=1, idle_s=600)
    coming: list[Message] = [
        {"type": "http.request", "body": b'{"json', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return coming.pop(0)

    async with sessions.open():
        said = await _said(sessions, receive)

    assert (said, runs.made, caplog.records) == ([], [], [])


async def test_a_body_that_does_not_come_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_sessions, "BODY_TIMEOUT_S", 0.05)
    runs = Runs(tmp_path)
    sessions = HttpSessions(runs, sessions_max=1, idle_s=600)

    async def receive() -> Message:
        never: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        return await never

    async with sessions.open():
        said = await asyncio.wait_for(_said(sessions, receive), 20)

    assert said[0]["status"] == 408
    assert (b"connection", b"close") in said[0]["headers"]
    assert runs.made == []


async def _said(sessions: HttpSessions, receive: Receive) -> list[Message]:
    """What a POST is answered with."""
    said: list[Message] = []

    async def send(message: Message) -> None:
        said.append(message)

    headers = [(b"content-type", b"application/json"), (b"accept", ACCEPT["accept"].encode())]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    await sessions(scope, receive, send)
    return said
