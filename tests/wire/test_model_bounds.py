"""What model calls may cost over the wire: at a bound they are refused, and say until when."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2

from sidecar.models.purse import Allowance, PurseBounds
from sidecar.ports import ModelCall
from sidecar.testing import Fail, Say
from sidecar.testing.model_script import Step
from sidecar.v1 import answer_service_pb2 as pb
from tests.edges.models import PATIENT_S, real_model
from tests.wire.served import World, detail_of, reason_of, served
from tests.wire.test_answers import ANSWERED, HISTORY, commit, refusal_of, scripted

NO_BOUND = Allowance(calls_max=10**6, tokens_max=10**9, cost_usd_max=10**6)


def bounded(**bounds: Any) -> PurseBounds:
    return PurseBounds(**{"all": NO_BOUND, "session": NO_BOUND, **bounds})


@pytest.mark.parametrize(
    ("reason", "bounds"),
    [
        ("MODEL_CALLS_MAX", {"all": {"calls_max": 1}}),
        ("MODEL_TOKENS_MAX", {"all": {"tokens_max": 1_100}}),
        ("MODEL_COST_USD_MAX", {"all": {"cost_usd_max": 0.0015}}),
        ("SESSION_MODEL_CALLS_MAX", {"session": {"calls_max": 1}}),
        ("SESSION_MODEL_TOKENS_MAX", {"session": {"tokens_max": 1_100}}),
        ("SESSION_MODEL_COST_USD_MAX", {"session": {"cost_usd_max": 0.0015}}),
    ],
)
async def test_at_a_bound_of_the_day_calls_are_refused_until_midnight(
    world: World, reason: str, bounds: Mapping[str, Mapping[str, Any]]
) -> None:
    world.purse_bounds = bounded(
        **{
            whose: Allowance(
                **{"calls_max": 9, "tokens_max": 10**9, "cost_usd_max": 9.0, **allowance}
            )
            for whose, allowance in bounds.items()
        }
    )
    world.clock.advance(86_400 - 100)
    async with scripted(world, *[ANSWERED] * 4) as (server, model):
        assert (await server.answers.ForceCommit(commit("a"))).answer == "Paris"
        error = await refusal_of(server.answers.ForceCommit(commit("a")))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert reason_of(error).reason == reason
        retry = detail_of(error.trailing_metadata(), error_details_pb2.RetryInfo)
        assert retry.retry_delay.ToTimedelta().total_seconds() == pytest.approx(100)
        assert len(model.requests) == 1, "nothing was asked"
        other = server.answers.ForceCommit(commit("b"))
        if reason.startswith("SESSION_"):
            assert (await other).answer == "Paris"
        else:
            await refusal_of(other)
        world.clock.advance(100)
        assert (await server.answers.ForceCommit(commit("a"))).answer == "Paris"


async def test_a_model_without_a_price_is_bounded_by_its_tokens(world: World) -> None:
    tight = Allowance(calls_max=9, tokens_max=1_000, cost_usd_max=0.001)
    world.purse_bounds = bounded(all=tight)
    async with scripted(world, ANSWERED, ANSWERED, name="local") as (server, _):
        await server.answers.ForceCommit(commit())
        error = await refusal_of(server.answers.ForceCommit(commit()))
    assert reason_of(error).reason == "MODEL_TOKENS_MAX"


async def test_a_call_that_failed_counts_as_one(world: World) -> None:
    world.purse_bounds = bounded(all=Allowance(calls_max=1, tokens_max=9, cost_usd_max=9.0))
    async with scripted(world, Fail(status=500)) as (server, _):
        await server.answers.ForceCommit(commit())
        error = await refusal_of(server.answers.ForceCommit(commit()))
    assert reason_of(error).reason == "MODEL_CALLS_MAX"


async def test_more_calls_at_a_time_than_allowed_are_refused(world: World) -> None:
    world.purse_bounds = bounded(concurrency_max=1)
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()

    def steps() -> Iterator[Step]:
        loop.call_soon_threadsafe(arrived.set)
        yield Say(text="late", delay_s=60)
        yield ANSWERED

    async with real_model(steps()) as (model, _):
        world.model = model
        async with served(world) as server:
            first = server.answers.ForceCommit(commit())
            async with asyncio.timeout(PATIENT_S):
                await arrived.wait()
            error = await refusal_of(server.answers.ForceCommit(commit()))
            assert reason_of(error).reason == "MODEL_CONCURRENCY_MAX"
            assert detail_of(
                error.trailing_metadata(), error_details_pb2.RetryInfo
            ).retry_delay.ToTimedelta()
            first.cancel()
            async with asyncio.timeout(PATIENT_S):
                while not world.recorder.of(ModelCall):  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0)
            assert world.recorder.of(ModelCall)[0].outcome == "cancelled"
            assert (await server.answers.ForceCommit(commit())).answer == "Paris"


async def test_extraction_is_free(world: World) -> None:
    world.purse_bounds = bounded(all=Allowance(calls_max=0, tokens_max=0, cost_usd_max=0.0))
    async with scripted(world) as (server, _):
        request = pb.ExtractAnswerRequest(messages=HISTORY)
        assert (await server.answers.ExtractAnswer(request)).answer == "Lyon"
