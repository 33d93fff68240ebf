"""Sessions over HTTP: for operators only, on a listener of their own."""

from typing import Any

import pytest
from google.protobuf import json_format

from sidecar.v1 import session_service_pb2 as pb
from tests.wire.json_ports import Connection, Ports, ports
from tests.wire.served import Agent, Served, World, looping, opening, served, turning

LOOPING = {
    "tool_calls": [{"name": "Grep", "arguments_json": '{"q": "x"}', "result_text": "a.py: x"}],
    "usage": {"context_tokens": 1200, "context_window": 4000},
}


async def looped(http: Ports, *, session_id: str = "s", turns: int = 3) -> None:
    for _ in range(turns):
        answer = await http.agent.post(f"/v1/sessions/{session_id}/turns", {"turn": LOOPING})
        assert answer.status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/sessions"),
        ("HEAD", "/v1/sessions"),
        ("GET", "/v1/sessions/s"),
        ("GET", "/v1/sessions/s/turns"),
        ("POST", "/v1/sessions/s:continue"),
        ("POST", "/v1/sessions/s:reset"),
        ("POST", "/v1/sessions/s:close"),
        ("POST", "/v1/sessions/s%3Acontinue"),
        ("POST", "//v1/sessions/s:continue"),
        ("POST", "/v1/sessions/s/../s:continue"),
        ("POST", "/v1/sessions/x/turns/../../s:continue"),
        ("GET", "/statusz"),
    ],
)
async def test_an_agent_cannot_set_itself_free(
    server: Served, http: Ports, method: str, path: str
) -> None:
    await looped(http, turns=8)
    before = server.sessions.get("s").run.state.breaker
    over_socket = await Connection.to(http.socket)
    body = None if method != "POST" else b'{"reason": "let me go"}'
    for connection in (http.agent, over_socket):
        if method == "HEAD":
            await connection.send(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert (await connection.reader.readline()).split()[1] == b"404"
        else:
            assert (await connection.ask(method, path, body)).status == 404
    await over_socket.close()

    assert server.sessions.get("s").run.state.breaker == before
    assert server.sessions.get("s").closing is None


async def test_sessions_are_listed_as_over_grpc_by_state_and_page(
    server: Served, http: Ports
) -> None:
    await looped(http, session_id="a")
    await http.agent.post("/v1/sessions/b/turns", {"turn": {"output_lines": 1}})
    await http.agent.post("/v1/sessions/c/turns", {"turn": {"output_lines": 1}})
    every = (await http.admin.get("/v1/sessions")).json
    warned = (await http.admin.get("/v1/sessions?states=STATE_WARNING&states=STATE_TRIPPED")).json
    first = (await http.admin.get("/v1/sessions?page_size=2")).json
    rest = (await http.admin.get(f"/v1/sessions?page_token={first['next_page_token']}")).json
    same = await server.control.ListSessions(pb.ListSessionsRequest())

    assert every == json_format.MessageToDict(same, preserving_proto_field_name=True)
    assert [one["session_id"] for one in every["sessions"]] == ["c", "b", "a"]
    assert [one["session_id"] for one in warned["sessions"]] == ["a"]
    assert [one["session_id"] for one in first["sessions"] + rest["sessions"]] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("page_size=many", "page_size"),
        ("page_size=-1", "page_size"),
        ("page_size=1&page_size=2", "page_size"),
        ("page_token=later", "page_token"),
        ("states=%ff", ""),
        ("states=TRIPPED", "states"),
        ("states=STATE_TRIPED&states=99", "states"),
        ("states=STATE_UNSPECIFIED&states=0", "states"),
        ("states=", "states"),
        ("states[]=TRIPPED", "states"),
        ("page_size=", "page_size"),
        ("pageSize=1&page_size=2", "page_size"),
        ("&".join("x=1" for _ in range(200)), ""),
    ],
)
async def test_a_query_that_means_nothing_is_refused(http: Ports, query: str, field: str) -> None:
    answer = await http.admin.get(f"/v1/sessions?{query}")

    assert (answer.status, answer.json.get("field", "")) == (400, field)


async def test_a_query_with_unknown_fields_is_answered_without_them(http: Ports) -> None:
    answer = await http.admin.get("/v1/sessions?unknown=1&unknown=2")

    assert answer.status == 200


async def test_a_filter_says_what_it_knows_and_passes_over_what_a_later_version_may(
    http: Ports,
) -> None:
    await looped(http)
    await http.agent.post("/v1/sessions/b/turns", {"turn": {"output_lines": 1}})
    refused = (await http.admin.get("/v1/sessions?states=TRIPPED")).json
    later = (await http.admin.get("/v1/sessions?states=STATE_ASLEEP&states=STATE_WARNING")).json

    assert refused["detail"] == (
        "states must be one of STATE_HEALTHY, STATE_RECOVERY, STATE_TRIPPED, STATE_WARNING"
    )
    assert [one["session_id"] for one in later["sessions"]] == ["s"]


@pytest.mark.parametrize(
    "query",
    [
        "states[]=STATE_WARNING&pageSize=1",
        "states%5B0%5D=STATE_WARNING&states%5B1%5D=STATE_TRIPPED",
        "states=2",
    ],
)
async def test_a_query_may_be_in_camel_case_and_its_lists_in_brackets(
    http: Ports, query: str
) -> None:
    await looped(http)
    await http.agent.post("/v1/sessions/b/turns", {"turn": {"output_lines": 1}})
    listed = (await http.admin.get(f"/v1/sessions?{query}")).json
    shown = (await http.admin.get("/v1/sessions/s?turnsMax=2")).json

    assert [one["session_id"] for one in listed["sessions"]] == ["s"]
    assert [turn["sequence"] for turn in shown["turns"]] == [2, 3]


async def test_a_session_is_shown_with_its_latest_turns(server: Served, http: Ports) -> None:
    await looped(http)
    shown = (await http.admin.get("/v1/sessions/s?turns_max=2")).json
    none = await http.admin.get("/v1/sessions/nobody")

    assert shown["session"]["state"] == "STATE_WARNING"
    assert [turn["sequence"] for turn in shown["turns"]] == [2, 3]
    assert (none.status, none.json["reason"]) == (404, "SESSION_NOT_FOUND")


async def test_turns_tell_what_a_dashboard_of_a_run_needs(server: Served, http: Ports) -> None:
    await looped(http)
    page = (await http.admin.get("/v1/sessions/s/turns")).json
    last = page["turns"][-1]

    assert [turn["sequence"] for turn in page["turns"]] == [1, 2, 3]
    assert (last["context_tokens"], last["context_window"]) == ("1200", "4000")
    assert (last["tools"], last["state_before"]) == (["Grep"], "STATE_HEALTHY")
    assert last["decision"]["state"] == "STATE_WARNING"
    assert last["decision"]["readings"][0]["signal"] == "loop"
    assert {"value", "threshold", "summary"} <= set(last["decision"]["readings"][0])
    assert "rotate" in last["decision"]
    assert last["time"]


async def test_turns_come_a_page_at_a_time_with_what_was_done_among_them(
    server: Served, http: Ports
) -> None:
    await looped(http, turns=6)
    await http.admin.post("/v1/sessions/s:continue", {"reason": "go on"})
    await looped(http, turns=3)
    sequences: list[int] = []
    commands: list[Any] = []
    token, last = "", False
    pages = 0
    while not last:
        page = (await http.admin.get(f"/v1/sessions/s/turns?page_size=4&page_token={token}")).json
        sequences += [turn["sequence"] for turn in page.get("turns", [])]
        commands += page.get("commands", [])
        token, last = page.get("next_page_token", ""), "next_page_token" not in page
        pages += 1
    await looped(http, turns=1)
    follow = page["follow_token"]
    later = (await http.admin.get(f"/v1/sessions/s/turns?page_token={follow}")).json

    assert (sequences, pages) == (list(range(1, 10)), 3)
    assert [one["command"]["continue"]["reason"] for one in commands] == ["go on"]
    assert [turn["sequence"] for turn in later["turns"]] == [10]


async def test_turns_of_a_session_of_before_a_restart_are_listed(world: World) -> None:
    async with served(world) as server:
        agent = Agent(server)
        await agent.ask(opening("s"))
        for number in range(1, 4):
            await agent.ask(turning(number))
    async with served(world) as server, ports(server) as http:
        page = (await http.admin.get("/v1/sessions/s/turns")).json

    assert [turn["sequence"] for turn in page["turns"]] == [1, 2, 3]


@pytest.mark.parametrize("action", ["continue", "reset", "close"])
async def test_nothing_is_done_without_a_reason(server: Served, http: Ports, action: str) -> None:
    await looped(http)
    for message in ({}, {"reason": "  "}):
        answer = await http.admin.post(f"/v1/sessions/s:{action}", message)
        assert (answer.status, answer.json["reason"]) == (400, "REASON_REQUIRED")
        assert answer.json["field"] == "reason"
    assert server.sessions.get("s").entries == 4


async def test_a_continue_sets_a_run_free_once_for_each_request(
    server: Served, http: Ports
) -> None:
    agent = Agent(server)
    await agent.ask(opening("s"))
    for number in range(1, 9):
        await agent.ask(looping(number))
    message = {"reason": "it may", "request_id": "r1", "extra_turns": "5"}
    first = await http.admin.post("/v1/sessions/s:continue", message)
    heard = (await agent.hear()).decision
    entries = server.sessions.get("s").entries
    again = await http.admin.post("/v1/sessions/s:continue", message)

    assert first.json["session"]["state"] == "STATE_RECOVERY"
    assert (again.status, server.sessions.get("s").entries) == (200, entries)
    assert heard.cause


async def test_a_reset_and_a_close_are_done(server: Served, http: Ports) -> None:
    await looped(http)
    reset = await http.admin.post("/v1/sessions/s:reset", {"reason": "afresh"})
    closed = await http.admin.post("/v1/sessions/s:close", {"reason": "enough"})
    late = await http.admin.post("/v1/sessions/s:reset", {"reason": "afresh"})

    assert reset.json["session"]["state"] == "STATE_RECOVERY"
    assert (closed.json["session"]["closed"], closed.json["session"]["close_reason"]) == (
        True,
        "enough",
    )
    assert (late.status, late.json["reason"]) == (400, "SESSION_CLOSED")


@pytest.mark.parametrize(
    ("session_id", "path"),
    [("s", "s%3Aclose"), ("s", "s%3aclose"), ("s:reset", "s%3Areset%3Aclose")],
)
async def test_the_colon_before_a_verb_may_be_percent_encoded(
    server: Served, http: Ports, session_id: str, path: str
) -> None:
    await looped(http, session_id=session_id, turns=1)
    answer = await http.admin.post(f"/v1/sessions/{path}", {"reason": "enough"})

    assert answer.json["session"]["session_id"] == session_id
    assert server.sessions.get(session_id).closing is not None


async def test_a_verb_that_is_not_there_is_refused_with_where_to_look(http: Ports) -> None:
    answer = await http.admin.post("/v1/sessions/s:pause", {"reason": "enough"})

    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert answer.json["detail"] == "use GET, HEAD here; /openapi.json lists all"


async def test_another_id_in_the_body_is_refused(server: Served, http: Ports) -> None:
    await looped(http)
    answer = await http.admin.post("/v1/sessions/s:close", {"session_id": "t", "reason": "x"})

    assert (answer.status, answer.json["field"]) == (400, "session_id")
    assert server.sessions.get("s").closing is None


async def test_turns_are_not_taken_by_the_operators_listener(http: Ports) -> None:
    assert (await http.admin.post("/v1/sessions/s/turns", {"turn": {}})).status == 405
    assert (await http.admin.post("/v1/answers:extract", {"text": "x"})).status == 404


async def test_what_each_listener_serves_is_described_there(http: Ports) -> None:
    agents = (await http.agent.get("/openapi.json")).json
    operators = (await http.admin.get("/openapi.json")).json

    assert set(agents["paths"]) == {
        "/v1/sessions/{session_id}/turns",
        "/v1/answers:extract",
        "/v1/answers:forceCommit",
        "/v1/answers:review",
    }
    assert not any("continue" in path for path in agents["paths"])
    assert "/v1/sessions/{session_id}:continue" in operators["paths"]
