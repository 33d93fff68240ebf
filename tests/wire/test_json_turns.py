"""Turns and answers as plain JSON: the same as over gRPC."""

import asyncio
import json
from typing import Any

import grpc
import pytest
from google.protobuf import json_format

from sidecar.adapters.calls import CODES
from sidecar.adapters.json_http.problem import headers_of, problem_of, status_of
from sidecar.ports import ModelReply, ModelRequest
from sidecar.refusal import Reason, Refusal
from sidecar.testing import FakeModel
from sidecar.testing.model_script import Say
from sidecar.testing.recorder import WasDecided, WasRefused
from sidecar.v1 import answer_service_pb2 as answers_pb
from sidecar.v1 import convergence_service_pb2 as pb
from tests.wire.json_ports import Connection, Ports, ports
from tests.wire.served import ANSWER_WITHIN_S, Agent, Served, World, opening, served, turning

TURNS = "/v1/sessions/s/turns"
GREP = {"name": "Grep", "arguments_json": '{"q": "x"}', "result_text": "a.py: x"}


async def test_a_looping_run_gets_the_decisions_that_it_gets_over_grpc(
    server: Served, http: Ports
) -> None:
    turns: list[dict[str, Any]] = [
        {
            "tool_calls": [GREP],
            "usage": {"input_tokens": str(900 * n), "context_tokens": 900 * n},
            "start_time": f"2026-01-31T12:00:{n:02}Z",
            "output_lines": n % 3,
        }
        for n in range(1, 13)
    ]
    by_json = [(await http.agent.post(TURNS, {"turn": turn})).json["decision"] for turn in turns]
    other = World(directory=server.world.directory / "grpc")
    other.directory.mkdir()
    async with served(other) as again:
        by_grpc = []
        for turn in turns:
            request = json_format.ParseDict(
                {"open": {"session_id": "s"}, "turn": turn}, pb.RecordTurnRequest()
            )
            answer = await again.convergence.RecordTurn(request)
            by_grpc.append(
                json_format.MessageToDict(answer.decision, preserving_proto_field_name=True)
            )

    assert by_json == by_grpc
    assert any("rotate" in decision for decision in by_json)


async def test_a_connection_carries_many_turns_over_a_socket_as_over_tcp(
    server: Served, http: Ports
) -> None:
    over_socket = await Connection.to(http.socket)
    numbers = [
        (await connection.post(TURNS, {"turn": {"outputLines": n}})).json["decision"]["sequence"]
        for n in range(4)
        for connection in (http.agent, over_socket)
    ]
    await over_socket.close()

    assert numbers == list(range(1, 9))


async def test_the_session_is_that_of_the_path_percent_decoded(server: Served, http: Ports) -> None:
    answer = await http.agent.post("/v1/sessions/a%2Fb%3Acontinue:x/turns", {"turn": {}})

    assert answer.json["opened"]["session_id"] == "a/b:continue:x"


async def test_another_session_in_the_body_is_refused_and_the_same_one_is_not(
    server: Served, http: Ports
) -> None:
    other = await http.agent.post(TURNS, {"open": {"session_id": "other"}, "turn": {}})
    same = await http.agent.post(TURNS, {"open": {"sessionId": "s"}, "turn": {}})

    assert (other.status, other.json["field"]) == (400, "open.session_id")
    assert same.json["decision"]["sequence"] == 1
    assert [session.id for session in server.sessions.held()] == ["s"]


async def test_a_retry_with_the_same_id_gets_the_same_decision_and_other_content_a_conflict(
    http: Ports,
) -> None:
    first = await http.agent.post(TURNS, {"turn": {"id": "t", "output_lines": 1}})
    again = await http.agent.post(TURNS, {"turn": {"id": "t", "output_lines": 1}})
    other = await http.agent.post(TURNS, {"turn": {"id": "t", "output_lines": 2}})

    assert again.body == first.body
    assert (other.status, other.json["reason"]) == (409, "SEQUENCE_CONFLICT")


async def test_an_observed_turn_is_not_answered_and_a_close_closes(
    server: Served, http: Ports
) -> None:
    message = {"open": {"mode": "MODE_OBSERVE"}, "turn": {}, "close": {"reason": "done"}}
    answer = await http.agent.post(TURNS, message)
    late = await http.agent.post(TURNS, {"open": {"mode": "MODE_OBSERVE"}, "turn": {"id": "new"}})

    assert "decision" not in answer.json
    assert server.sessions.get("s").closing is not None
    assert (late.status, late.json["reason"]) == (400, "SESSION_CLOSED")


async def test_a_gap_is_told_with_what_is_expected(server: Served, http: Ports) -> None:
    answer = await http.agent.post(TURNS, {"turn": {"sequence": 7}})

    assert answer.status == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json == {
        "title": "Bad Request",
        "status": 400,
        "detail": "turn 1 expected, not 7",
        "reason": "SEQUENCE_GAP",
        "domain": "sidecar",
        "metadata": {"expected": "1"},
        "code": "FAILED_PRECONDITION",
        "field": "turn.sequence",
    }
    assert server.world.recorder.of(WasRefused) == [WasRefused(reason="SEQUENCE_GAP")]


async def test_a_streaming_session_is_not_taken_over(server: Served, http: Ports) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    answer = await http.agent.post(TURNS, {"turn": {}})

    assert (answer.status, answer.json["reason"]) == (400, "SESSION_STREAMING")
    assert (await agent.ask(turning(1))).decision.sequence == 1


async def test_a_sidecar_that_stops_says_so_and_when_to_come_again(
    server: Served, http: Ports
) -> None:
    server.sessions.drain()
    answer = await http.agent.post(TURNS, {"turn": {}})

    assert (answer.status, answer.json["reason"]) == (503, "DRAINING")
    assert (answer.headers["retry-after"], answer.json["retry_delay"]) == ("1", "1s")


async def test_a_listener_that_stops_answers_what_was_asked_and_hangs_up(
    server: Served, http: Ports
) -> None:
    connection = await Connection.to(http.agent_address)
    body = json.dumps({"turn": {}}).encode()
    head = f"POST {TURNS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    await connection.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode())
    idle = await Connection.to(http.agent_address)
    await asyncio.sleep(0)
    while not http.agent_listener.answering:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)
    stopping = asyncio.ensure_future(http.agent_listener.stop(5))
    await connection.send(body)

    assert (await connection.answer()).status == 200
    assert await connection.ended()
    assert await idle.ended()
    await stopping
    with pytest.raises(OSError, match=r"refused|Connect"):
        await Connection.to(http.agent_address)
    await connection.close()
    await idle.close()


async def test_over_tcp_the_token_is_asked_for_and_over_the_socket_not(world: World) -> None:
    world.token = "a-token-for-tests-only"
    async with served(world) as server, ports(server) as http:
        without = await http.agent.post(TURNS, {"turn": {}})
        wrong = await http.agent.post(TURNS, {"turn": {}}, Authorization="Bearer other")
        right = await http.agent.post(TURNS, {"turn": {}}, Authorization=f"Bearer {world.token}")
        admin = await http.admin.get("/v1/sessions")
        over_socket = await Connection.to(http.socket)
        near = await over_socket.post(TURNS, {"turn": {}})
        await over_socket.close()

    assert (without.status, without.json["reason"]) == (401, "UNAUTHENTICATED")
    assert without.headers["www-authenticate"] == "Bearer"
    assert without.json["detail"] == "send the token as `authorization: Bearer <token>`"
    assert wrong.json["detail"] == "the token is not the one in token_file"
    assert [wrong.status, right.status, admin.status, near.status] == [401, 200, 401, 200]


async def test_the_word_before_the_token_may_be_small(world: World) -> None:
    world.token = "a-token-for-tests-only"
    async with served(world) as server, ports(server) as http:
        small, other = [
            await http.agent.post(TURNS, {"turn": {}}, Authorization=f"{word} {world.token}")
            for word in ("bearer", "Basic")
        ]

    assert (small.status, other.status) == (200, 401)


async def test_turns_are_recorded_as_those_over_grpc_are(server: Served, http: Ports) -> None:
    await http.agent.post(TURNS, {"open": {"agent_name": "a"}, "turn": {"output_lines": 1}})
    (decided,) = server.world.recorder.of(WasDecided)

    assert (decided.session.opening.agent_name, decided.turn.output_lines) == ("a", 1)


async def test_an_answer_is_extracted_as_over_grpc(server: Served, http: Ports) -> None:
    text = "So I am done.\nFINAL_ANSWER: 42"
    answer = await http.agent.post("/v1/answers:extract", {"text": text})
    same = await server.answers.ExtractAnswer(answers_pb.ExtractAnswerRequest(text=text))

    assert answer.json == json_format.MessageToDict(same, preserving_proto_field_name=True)
    assert answer.json["answer"] == "42"


@pytest.mark.parametrize("call", ["forceCommit", "review"])
async def test_without_a_model_what_needs_one_is_refused(http: Ports, call: str) -> None:
    answer = await http.agent.post(f"/v1/answers:{call}", {"question": "why?"})

    assert (answer.status, answer.json["reason"]) == (400, "MODEL_NOT_CONFIGURED")


def test_every_reason_has_the_status_that_its_code_has_over_http() -> None:
    assert set(CODES) == set(Reason)
    for reason, code in CODES.items():
        refusal = Refusal(reason, "why", field="f", metadata={"m": "1"}, retry_after_s=2.5)
        problem = json.loads(problem_of(refusal))
        assert getattr(grpc.StatusCode, problem["code"])
        assert (problem["status"], status_of(refusal)) == (code.http_status, code.http_status)
        assert headers_of(refusal)["Retry-After"] == "3"


async def test_the_unknown_is_ignored_and_absent_is_not_zero(server: Served, http: Ports) -> None:
    message = {
        "turn": {"outputLines": None, "later": {"x": [1]}, "confidence": "NaN"},
        "open": {"mode": "MODE_OF_A_LATER_VERSION", "labels": {"team": "a"}},
        "another": 7,
    }
    answer = await http.agent.post(TURNS, message)
    (decided,) = server.world.recorder.of(WasDecided)

    assert answer.status == 200
    assert (decided.turn.output_lines, decided.turn.confidence) == (None, None)
    assert dict(decided.session.opening.labels) == {"team": "a"}


class Waiting:
    """A model that does not reply, and knows when it is given up."""

    name = "waiting"
    window_tokens = 10_000

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.given_up = asyncio.Event()

    async def ask(self, request: ModelRequest) -> ModelReply:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up.set()
        raise AssertionError("nothing replies")


@pytest.mark.parametrize("call", ["forceCommit", "review"])
async def test_a_model_call_is_given_up_when_its_caller_hangs_up(world: World, call: str) -> None:
    model = Waiting()
    world.model = model
    question = {"question": "why?", "answer": "42"}
    async with served(world) as server, ports(server) as http:
        connection = await Connection.to(http.agent_address)
        asking = asyncio.ensure_future(connection.post(f"/v1/answers:{call}", question))
        async with asyncio.timeout(ANSWER_WITHIN_S):
            await model.asked.wait()
            asking.cancel()
            await connection.close()
            await model.given_up.wait()


async def test_a_forced_commit_is_answered_as_over_grpc(world: World) -> None:
    world.model = FakeModel([Say(text="FINAL_ANSWER: 42")])
    async with served(world) as server, ports(server) as http:
        question = {"question": "what is it?", "session_id": "s"}
        answer = await http.agent.post("/v1/answers:forceCommit", question)

    assert (answer.status, answer.json["answer"]) == (200, "42")
    assert answer.json["source"] == "ANSWER_SOURCE_MODEL"
