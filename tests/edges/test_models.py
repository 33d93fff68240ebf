"""What a model does, whether it is the real SDK over HTTP or the one for tests."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from sidecar.models.prices import PRICES, SEARCH_USD
from sidecar.ports import Cited, FailureKind, Model, ModelFailure, Purpose, Spent, Stop
from sidecar.testing import Call, Fail, FakeModel, HangUp, Raw, Say, Search
from sidecar.testing.model_script import Step
from tests.edges.models import VERDICT, asked, real_model

USAGE = b'{"input_tokens": 1, "output_tokens": 1}'

Scripted = Callable[[Sequence[Step]], AbstractAsyncContextManager[Model]]


@pytest.fixture(params=["fake", "real"])
def scripted(request: pytest.FixtureRequest) -> Scripted:
    @asynccontextmanager
    async def over(steps: Sequence[Step]) -> AsyncIterator[Model]:
        if request.param == "fake":
            yield FakeModel(steps)
            return
        async with real_model(steps) as (model, _):
            yield model

    return over


async def failure_of(model: Model, **fields: Any) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        await model.ask(asked(**fields))
    return caught.value


async def test_a_reply_has_its_text_tokens_cost_and_names(scripted: Scripted) -> None:
    said = Say(text="Paris", input_tokens=100, output_tokens=20, cache_read_tokens=1_000)
    async with scripted([said]) as model:
        reply = await model.ask(asked())
    assert (reply.text, reply.tool_input, reply.stop) == ("Paris", None, Stop.END)
    assert reply.model == model.name
    assert reply.id == "msg_1"
    spent = reply.spent
    assert spent.input_tokens == 1_100, "cached ones are among those sent"
    assert (spent.output_tokens, spent.cache_read_tokens) == (20, 1_000)
    assert spent.cost_usd == pytest.approx((100 * 1.0 + 20 * 5.0 + 1_000 * 0.1) / 1e6)
    assert spent.latency_s >= 0


async def test_the_input_of_the_tool_asked_for_is_the_structured_reply(scripted: Scripted) -> None:
    called = Say(text="so", calls=[Call(name="verdict", input={"verdict": "PASS"})])
    async with scripted([called]) as model:
        reply = await model.ask(asked(tool=VERDICT, purpose=Purpose.REVIEW))
    assert reply.tool_input == {"verdict": "PASS"}
    assert (reply.text, reply.stop) == ("so", Stop.TOOL)


@pytest.mark.parametrize("tool", [None, VERDICT])
async def test_a_call_that_nobody_asked_for_is_no_part_of_a_reply(
    scripted: Scripted, tool: object
) -> None:
    async with scripted([Say(calls=[Call(name="bash", input={"verdict": "PASS"})])]) as model:
        reply = await model.ask(asked(tool=tool))
    assert (reply.text, reply.tool_input) == ("", None)


@pytest.mark.parametrize(
    ("stop_reason", "stop"),
    [
        ("max_tokens", Stop.MAX_TOKENS),
        ("model_context_window_exceeded", Stop.MAX_TOKENS),
        ("refusal", Stop.REFUSAL),
        ("stop_sequence", Stop.END),
        ("a reason of later", Stop.OTHER),
    ],
)
async def test_why_it_stopped_is_said(scripted: Scripted, stop_reason: str, stop: Stop) -> None:
    async with scripted([Say(text="Par", stop_reason=stop_reason)]) as model:
        assert (await model.ask(asked())).stop is stop


FOUND = (
    Cited(url="https://a.example/1", title="One", text="first words"),
    Cited(url="https://a.example/2", title="Two"),
)


async def test_what_the_models_own_search_found_is_part_of_the_reply_and_costs(
    scripted: Scripted,
) -> None:
    said = Say(text="One says it.", searches=[Search(query="x", found=FOUND)])
    async with scripted([said]) as model:
        reply = await model.ask(asked(searches_max=1, purpose=Purpose.SEARCH))
    assert reply.found == FOUND
    assert (reply.text, reply.search_error) == ("One says it.", "")
    assert reply.spent.searches == 1
    assert reply.spent.cost_usd == pytest.approx(SEARCH_USD + (10 * 1.0 + 5 * 5.0) / 1e6)


async def test_a_search_that_fails_says_why_and_finds_nothing(scripted: Scripted) -> None:
    said = Say(text="No luck.", searches=[Search(error="unavailable", found=FOUND)])
    async with scripted([said]) as model:
        reply = await model.ask(asked(searches_max=1))
    assert (reply.found, reply.search_error) == ((), "unavailable")


async def test_a_search_that_nobody_asked_for_is_no_part_of_a_reply(scripted: Scripted) -> None:
    said = Say(text="so", searches=[Search(found=FOUND), Search(error="unavailable")])
    async with scripted([said]) as model:
        reply = await model.ask(asked())
    assert (reply.found, reply.search_error, reply.text) == ((), "", "so")


async def test_an_empty_reply_is_a_reply(scripted: Scripted) -> None:
    async with scripted([Say()]) as model:
        reply = await model.ask(asked())
    assert (reply.text, reply.tool_input, reply.stop) == ("", None, Stop.END)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FailureKind.INVALID_REQUEST),
        (401, FailureKind.UNAUTHENTICATED),
        (403, FailureKind.UNAUTHENTICATED),
        (404, FailureKind.INVALID_REQUEST),
        (413, FailureKind.INVALID_REQUEST),
        (429, FailureKind.RATE_LIMITED),
        (500, FailureKind.SERVER_ERROR),
        (502, FailureKind.SERVER_ERROR),
        (503, FailureKind.OVERLOADED),
        (504, FailureKind.TIMEOUT),
        (529, FailureKind.OVERLOADED),
    ],
)
async def test_a_status_is_classified(scripted: Scripted, status: int, kind: FailureKind) -> None:
    async with scripted([Fail(status=status, message="scripted", retry_after_s=-1)]) as model:
        failure = await failure_of(model)
    assert failure.kind is kind
    assert "scripted" in str(failure)


async def test_a_reply_later_than_the_time_allowed_is_a_timeout(scripted: Scripted) -> None:
    async with scripted([Say(text="Paris", delay_s=60)]) as model:
        assert (await failure_of(model, timeout_s=0.2)).kind is FailureKind.TIMEOUT


async def test_without_any_time_it_fails_at_once(scripted: Scripted) -> None:
    async with scripted([Say(text="Paris")]) as model:
        assert (await failure_of(model, timeout_s=0.0)).kind is FailureKind.TIMEOUT


async def test_a_connection_that_is_cut_is_classified(scripted: Scripted) -> None:
    async with scripted([HangUp()] * 3) as model:
        assert (await failure_of(model)).kind is FailureKind.CONNECTION


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"content": null, "usage": {}}',
        b'{"id": "m", "model": "m", "usage": %s}' % USAGE,
        b'{"id": "m", "model": "m", "content": [{"type": "text"}], "usage": %s}' % USAGE,
        b'{"id": "m", "model": "m", "content": [7], "usage": %s}' % USAGE,
    ],
)
async def test_bytes_that_are_no_message_are_unreadable(scripted: Scripted, body: bytes) -> None:
    async with scripted([Raw(body=body)]) as model:
        assert (await failure_of(model)).kind is FailureKind.UNREADABLE


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "assistant", "content": "hello"}],
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": ""}]}],
    ],
)
async def test_what_the_api_would_refuse_is_refused(
    scripted: Scripted, messages: list[dict[str, object]]
) -> None:
    async with scripted([Say(text="Paris")]) as model:
        failure = await failure_of(model, messages=messages)
        assert failure.kind is FailureKind.INVALID_REQUEST
        assert (await model.ask(asked())).text == "Paris", "no step was used up"


async def test_after_the_script_nothing_is_said(scripted: Scripted) -> None:
    async with scripted([]) as model:
        assert (await failure_of(model)).kind is FailureKind.SERVER_ERROR


async def test_a_model_without_a_known_price_costs_nothing_that_is_known() -> None:
    assert "local" not in PRICES
    async with real_model([Say(text="Paris")], model="local") as (real, _):
        for model in (real, FakeModel([Say(text="Paris")], name="local")):
            spent = (await model.ask(asked())).spent
            assert spent.cost_usd is None
            assert spent.input_tokens == Say().input_tokens


def test_what_was_spent_begins_at_nothing_known() -> None:
    assert Spent().cost_usd is None
