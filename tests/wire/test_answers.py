"""AnswerService on the agents' listener: answers found, forced and reviewed, and what they cost."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from google.protobuf import struct_pb2
from google.rpc import error_details_pb2

from sidecar.ports import ModelCall, ModelRequest, Purpose
from sidecar.testing import Call, Fail, FakeModel, Say
from sidecar.testing.model_script import Step
from sidecar.testing.recorder import WasCommitted, WasReviewed
from sidecar.v1 import answer_service_pb2 as pb
from sidecar.v1 import convergence_service_pb2, run_pb2
from tests.edges.models import PATIENT_S, real_model
from tests.wire.served import Agent, Served, World, detail_of, looping, opening, reason_of, served

QUESTION = "What is the capital of France?"
ANSWERED = Say(text="FINAL_ANSWER: Paris", input_tokens=1_000, output_tokens=100)


def said(role: str, content: Any) -> pb.Message:
    if isinstance(content, str):
        return pb.Message(role=role, text=content)
    blocks = struct_pb2.ListValue()
    blocks.extend(content)
    return pb.Message(role=role, blocks=blocks)


HISTORY = [said("user", QUESTION), said("assistant", "FINAL_ANSWER: Lyon")]


@asynccontextmanager
async def scripted(
    world: World, *steps: Step, **settings: Any
) -> AsyncIterator[tuple[Served, FakeModel]]:
    """Serve with a model that says the steps."""
    world.model = model = FakeModel(steps, **settings)
    async with served(world) as server:
        yield server, model


async def refusal_of(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def commit(session_id: str = "") -> pb.ForceCommitRequest:
    return pb.ForceCommitRequest(session_id=session_id, messages=HISTORY)


# ExtractAnswer


@pytest.mark.parametrize(
    ("why", "request_", "expected"),
    [
        (
            "in a text",
            pb.ExtractAnswerRequest(text="so: FINAL_ANSWER: Paris"),
            pb.ExtractAnswerResponse(
                answer="Paris", source="ANSWER_SOURCE_TEXT", rule="same_line", offset=18
            ),
        ),
        (
            "in a history of texts",
            pb.ExtractAnswerRequest(messages=HISTORY),
            pb.ExtractAnswerResponse(
                answer="Lyon",
                source="ANSWER_SOURCE_HISTORY",
                rule="same_line",
                message_index=1,
                offset=14,
            ),
        ),
        (
            "in a history of blocks",
            pb.ExtractAnswerRequest(
                messages=[
                    said("assistant", [{"type": "text", "text": "FINAL_ANSWER:\nParis"}]),
                    said("user", [{"type": "image", "n": float("nan"), "b": [None, True]}]),
                ]
            ),
            pb.ExtractAnswerResponse(
                answer="Paris",
                source="ANSWER_SOURCE_HISTORY",
                rule="next_line",
                message_index=0,
                offset=14,
            ),
        ),
        (
            "nowhere",
            pb.ExtractAnswerRequest(text="Paris"),
            pb.ExtractAnswerResponse(source="ANSWER_SOURCE_NONE"),
        ),
        (
            "in nothing",
            pb.ExtractAnswerRequest(),
            pb.ExtractAnswerResponse(source="ANSWER_SOURCE_NONE"),
        ),
    ],
)
async def test_an_answer_is_found_without_any_model(
    server: Served, why: str, request_: pb.ExtractAnswerRequest, expected: Any
) -> None:
    assert await server.answers.ExtractAnswer(request_) == expected, why


async def test_a_large_text_is_read_too(server: Served) -> None:
    request = pb.ExtractAnswerRequest(text="x" * 10**6 + "\nFINAL_ANSWER: Paris")
    assert (await server.answers.ExtractAnswer(request)).answer == "Paris"


async def test_an_unknown_policy_is_named_with_the_known_ones(server: Served) -> None:
    request = pb.ExtractAnswerRequest(text="x", policy="none such")
    error = await refusal_of(server.answers.ExtractAnswer(request))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert reason_of(error).reason == "POLICY_UNKNOWN"
    named, known = (error.details() or "").split("; there are ")
    assert named == 'no policy "none such"'
    assert "default" in known.split(", ")
    detail = detail_of(error.trailing_metadata(), error_details_pb2.BadRequest)
    assert detail.field_violations[0].field == "policy"


# Without a model


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("ForceCommit", pb.ForceCommitRequest(messages=HISTORY)),
        ("ReviewAnswer", pb.ReviewAnswerRequest(question=QUESTION, answer="Paris")),
    ],
)
async def test_without_a_model_what_needs_one_is_refused_and_the_rest_works(
    server: Served, method: str, request_: Any
) -> None:
    error = await refusal_of(getattr(server.answers, method)(request_))
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert reason_of(error).reason == "MODEL_NOT_CONFIGURED"
    found = await server.answers.ExtractAnswer(pb.ExtractAnswerRequest(messages=HISTORY))
    assert found.answer == "Lyon"
    agent = Agent(server)
    assert (await agent.ask(opening())).opened.session_id == "s"


# ForceCommit


async def test_a_forced_commit_says_what_it_got_and_what_it_took(world: World) -> None:
    async with scripted(world, ANSWERED) as (server, _):
        got = await server.answers.ForceCommit(pb.ForceCommitRequest(messages=HISTORY))
    assert (got.answer, got.source) == ("Paris", pb.ANSWER_SOURCE_MODEL)
    assert (got.input_tokens, got.output_tokens) == (1_000, 100)
    assert got.cost_usd == pytest.approx((1_000 * 1.0 + 100 * 5.0) / 1e6)
    assert got.HasField("latency")
    assert (got.signal, got.model_error) == ("", "")
    assert world.recorder.of(WasCommitted) == [WasCommitted(source="MODEL", signal="")]
    (call,) = world.recorder.of(ModelCall)
    assert (call.purpose, call.outcome, call.session_id) == (Purpose.COMMIT, "end", "")


async def test_a_forced_commit_of_nothing_is_refused_before_it_costs(world: World) -> None:
    async with scripted(world) as (server, model):
        error = await refusal_of(server.answers.ForceCommit(pb.ForceCommitRequest(question=" ")))
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "no messages" in str(error.details())
        assert model.requests == []


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (Fail(status=529), "overloaded"),
        (Fail(status=401), "unauthenticated"),
        (Say(text="Let me see.", stop_reason="refusal"), "refused"),
        (Say(), "empty"),
    ],
)
async def test_a_model_never_fails_a_request(world: World, step: Step, error: str) -> None:
    async with scripted(world, step, step) as (server, _):
        got = await server.answers.ForceCommit(pb.ForceCommitRequest(messages=HISTORY))
        assert (got.answer, got.source) == ("Lyon", pb.ANSWER_SOURCE_HISTORY)
        assert error in got.model_error
        none = await server.answers.ForceCommit(pb.ForceCommitRequest(question=QUESTION))
        assert (none.HasField("answer"), none.source) == (False, pb.ANSWER_SOURCE_NONE)


async def test_a_price_that_is_not_known_is_absent_and_not_zero(world: World) -> None:
    async with scripted(world, ANSWERED, name="local") as (server, _):
        got = await server.answers.ForceCommit(pb.ForceCommitRequest(messages=HISTORY))
    assert got.input_tokens == 1_000
    assert not got.HasField("cost_usd")


async def test_a_model_slower_than_the_caller_leaves_time_for_the_history(world: World) -> None:
    async with real_model([Say(text="late", delay_s=60)]) as (model, _):
        world.model = model
        async with served(world) as server:
            request = pb.ForceCommitRequest(messages=HISTORY)
            got = await server.answers.ForceCommit(request, timeout=4)
    assert (got.answer, got.source) == ("Lyon", pb.ANSWER_SOURCE_HISTORY)
    assert "timeout" in got.model_error


async def test_a_model_slower_than_the_sidecar_waits_is_given_up(world: World) -> None:
    world.model_timeout_s = 0.5
    async with scripted(world, Say(text="late", delay_s=60)) as (server, model):
        got = await server.answers.ForceCommit(pb.ForceCommitRequest(messages=HISTORY))
    assert "timeout" in got.model_error
    assert model.requests[0].timeout_s == 0.5


async def test_a_session_gives_its_policy_and_the_signal_that_committed_it(world: World) -> None:
    async with scripted(world, ANSWERED) as (server, model):
        agent = Agent(server)
        await agent.ask(opening("run-1", policy="gaia"))
        for sequence in range(1, 4):
            heard = await agent.ask(looping(sequence))
        assert heard.decision.WhichOneof("directive") == "commit"
        got = await server.answers.ForceCommit(
            pb.ForceCommitRequest(session_id="run-1", messages=HISTORY)
        )
        form = server.sessions.policies.named("gaia").answer_form
    assert got.signal == heard.decision.readings[0].signal == "loop"
    assert form in model.requests[0].messages[-1]["content"]
    assert world.recorder.of(WasCommitted) == [WasCommitted(source="MODEL", signal="loop")]
    assert world.recorder.of(ModelCall)[0].session_id == "run-1"


async def test_a_halt_after_the_commit_does_not_make_its_signal_forgotten(world: World) -> None:
    async with scripted(world, ANSWERED) as (server, _):
        agent = Agent(server)
        await agent.ask(opening("run-1", policy="gaia"))
        heard = [await agent.ask(looping(sequence)) for sequence in range(1, 7)]
        told = [each.decision.WhichOneof("directive") for each in heard]
        assert (told.index("commit"), told[-1]) == (2, "halt")
        got = await server.answers.ForceCommit(commit("run-1"))
    assert got.signal == "loop"


async def test_a_session_that_is_not_held_still_gets_its_answer(world: World) -> None:
    async with scripted(world, ANSWERED) as (server, _):
        request = pb.ForceCommitRequest(session_id="long gone", messages=HISTORY)
        got = await server.answers.ForceCommit(request)
    assert (got.answer, got.signal) == ("Paris", "")


# ReviewAnswer


async def test_a_review_says_what_it_found_and_cost(world: World) -> None:
    fields = {"verdict": "FAIL", "reasoning": "It is not.", "suggested_revision": "Paris"}
    step = Say(calls=[Call(name="verdict", input=fields)])
    async with scripted(world, step) as (server, model):
        got = await server.answers.ReviewAnswer(
            pb.ReviewAnswerRequest(
                question=QUESTION, answer="Lyon", trajectory=["searched"], session_id="run-1"
            )
        )
    assert (got.verdict, got.reasoning) == (pb.VERDICT_FAIL, "It is not.")
    assert (got.suggested_revision, got.error, got.raw_response) == ("Paris", False, "")
    assert got.cost_usd > 0
    assert world.recorder.of(WasReviewed) == [WasReviewed(verdict="FAIL")]
    (request,) = model.requests
    assert (request.purpose, request.session_id) == (Purpose.REVIEW, "run-1")
    assert "searched" in request.messages[0]["content"]


async def test_a_review_that_went_wrong_is_uncertain(world: World) -> None:
    async with scripted(world, Say(text="It fails.")) as (server, _):
        request = pb.ReviewAnswerRequest(question=QUESTION, answer="Lyon")
        got = await server.answers.ReviewAnswer(request)
    assert (got.verdict, got.error) == (pb.VERDICT_UNCERTAIN, True)
    assert got.raw_response == "It fails."
    assert world.recorder.of(WasReviewed) == [WasReviewed(verdict="error")]


# Who may ask


async def test_a_message_that_is_none_is_refused(server: Served) -> None:
    channel: Any = server.agent
    call = channel.unary_unary("/sidecar.v1.AnswerService/ForceCommit")
    error = await refusal_of(call(b"\xff\xff"))
    assert reason_of(error).reason == "REQUEST_INVALID"


async def test_a_fault_of_ours_says_nothing_of_what_was_asked(world: World) -> None:
    def broken(_: ModelRequest) -> Step:
        raise RuntimeError("secret")

    world.model = FakeModel(broken)
    async with served(world) as server:
        error = await refusal_of(server.answers.ForceCommit(commit()))
    assert error.code() is grpc.StatusCode.INTERNAL
    assert "secret" not in str(error.details())


async def test_a_turn_is_decided_on_while_a_model_thinks(world: World) -> None:
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()

    def steps() -> Iterator[Step]:
        loop.call_soon_threadsafe(arrived.set)
        yield Say(text="late", delay_s=60)

    async with real_model(steps()) as (model, _):
        world.model = model
        async with served(world) as server:
            waiting = server.answers.ForceCommit(commit())
            async with asyncio.timeout(PATIENT_S):
                await arrived.wait()
            request = convergence_service_pb2.RecordTurnRequest(
                open=run_pb2.Open(session_id="s"), turn=run_pb2.Turn(sequence=1)
            )
            recorded = await server.convergence.RecordTurn(request, timeout=PATIENT_S)
            assert recorded.decision.sequence == 1
            assert not waiting.done()
            waiting.cancel()
