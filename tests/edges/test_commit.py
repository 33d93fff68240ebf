"""A forced commit over the real SDK: the model's answer, else the history's, else none."""

import json
from typing import Any

import pytest

from sidecar.commit import OUTPUT_TOKENS_MAX, Committed, ForceCommit, instruction
from sidecar.core.answers.answer import Source
from sidecar.core.answers.form import ANSWER_FORM
from sidecar.testing import Call, Fail, FakeModel, Raw, Say
from sidecar.testing.model_script import Step
from tests.edges.models import real_model

QUESTION = "What is the capital of France?"

HISTORY = [
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": "It may be so.\nFINAL_ANSWER: Lyon"},
    {"role": "user", "content": "Are you sure?"},
]

UNANSWERED = [*HISTORY[:1], {"role": "assistant", "content": "I will look it up."}]


async def committed(
    *steps: Step, history: list[Any] = HISTORY, timeout_s: float = 20.0, **options: Any
) -> Committed:
    async with real_model(steps) as (model, server):
        result = await ForceCommit(model).commit(history, timeout_s=timeout_s, **options)
        assert len(server.requests) <= 1
        assert all("tools" not in body for body in server.requests)
        return result


async def test_the_models_answer_comes_first() -> None:
    result = await committed(Say(text="So:\nFINAL_ANSWER: Paris", input_tokens=1_000))
    assert (result.answer, result.source, result.model_error) == ("Paris", Source.MODEL, "")
    assert result.spent.input_tokens == 1_000
    assert result.spent.cost_usd == pytest.approx((1_000 * 1.0 + 5 * 5.0) / 1e6)
    assert result.spent.latency_s > 0


async def test_the_signal_that_caused_it_is_named() -> None:
    assert (await committed(Say(text="FINAL_ANSWER: Paris"), signal="loop")).signal == "loop"


@pytest.mark.parametrize(
    ("why", "step", "error"),
    [
        ("it is down", Fail(status=529, retry_after_s=-1), "overloaded"),
        ("the key is wrong", Fail(status=401), "unauthenticated"),
        ("it answers with bytes", Raw(body=b"<html>"), "unreadable"),
        ("it is slow", Say(text="FINAL_ANSWER: Paris", delay_s=60), "timeout"),
        ("it refuses", Say(text="FINAL_ANSWER: no", stop_reason="refusal"), "refused"),
        ("it is empty", Say(), "empty"),
        ("it only calls a tool", Say(calls=[Call(name="bash")]), "empty"),
        ("it explores on", Say(text="Let me look further."), "no answer in the form"),
        ("nothing follows the marker", Say(text="FINAL_ANSWER:"), "no answer in the form"),
        ("the placeholder follows", Say(text=ANSWER_FORM), "no answer in the form"),
        ("it was cut before", Say(text="I think", stop_reason="max_tokens"), "cut"),
        ("it was cut within", Say(text="FINAL_ANSWER: Par", stop_reason="max_tokens"), "cut"),
    ],
)
async def test_where_the_model_gives_none_the_history_is_scanned(
    why: str, step: Step, error: str
) -> None:
    result = await committed(step, timeout_s=1.0)
    assert (result.answer, result.source) == ("Lyon", Source.HISTORY), why
    assert error in result.model_error
    result = await committed(step, history=UNANSWERED, timeout_s=1.0)
    assert (result.answer, result.source) == (None, Source.NONE), why


async def test_an_answer_with_more_behind_it_is_whole_though_the_reply_was_cut() -> None:
    said = Say(text="FINAL_ANSWER: Paris\nsince", stop_reason="max_tokens")
    assert (await committed(said)).answer == "Paris"


async def test_a_reply_without_an_answer_was_paid_for() -> None:
    result = await committed(Say(text="Let me look further.", input_tokens=50))
    assert result.source is Source.HISTORY
    assert result.spent.input_tokens == 50


async def test_no_reply_was_not_paid_for() -> None:
    result = await committed(Fail(status=500, retry_after_s=-1))
    assert (result.spent.input_tokens, result.spent.cost_usd) == (0, None)
    assert "server_error" in result.model_error


async def test_the_answer_is_asked_for_in_the_policys_form() -> None:
    result = await committed(Say(text="<result>Paris</result>"), answer_form="<result>...</result>")
    assert (result.answer, result.source) == ("Paris", Source.MODEL)


async def test_a_form_without_a_marker_is_asked_for_behind_one() -> None:
    model = FakeModel([Say(text="FINAL_ANSWER: paris")])
    form = "one word, in lower case"
    assert (
        await ForceCommit(model).commit(HISTORY, timeout_s=20.0, answer_form=form)
    ).answer == "paris"
    asked = model.requests[0].messages[-1]["content"]
    assert f"{ANSWER_FORM}\nwhere the answer is: {form}" in asked


async def test_one_instruction_is_added_after_the_history() -> None:
    async with real_model([Say(text="FINAL_ANSWER: Paris")]) as (model, server):
        await ForceCommit(model).commit(HISTORY, timeout_s=20.0)
    (body,) = server.requests
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][0]["content"] == QUESTION
    assert body["messages"][-1]["content"] == f"Are you sure?\n\n{instruction('', ANSWER_FORM)}"
    assert body["max_tokens"] == OUTPUT_TOKENS_MAX


async def test_a_question_that_the_history_lacks_is_repeated() -> None:
    model = FakeModel([Say(text="FINAL_ANSWER: Paris")])
    result = await ForceCommit(model).commit([], timeout_s=20.0, question=QUESTION)
    assert result.answer == "Paris"
    assert QUESTION in model.requests[0].messages[-1]["content"]


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "tool", "tool_call_id": "gone", "content": "3"}],
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x"}]}],
        [{"role": "user", "content": [{"type": "image"}, {"type": "hologram"}]}],
        [{"role": "user", "content": "a\ud800"}, {"role": "user", "content": "b"}],
        [None, 7, "text", {"role": 7, "content": {"a": 1}}],
        [],
    ],
)
async def test_the_api_accepts_whatever_history_there_was(history: list[Any]) -> None:
    result = await committed(Say(text="FINAL_ANSWER: Paris"), history=history)
    assert (result.answer, result.model_error) == ("Paris", "")


async def test_half_a_character_in_the_models_answer_is_replaced() -> None:
    result = await committed(Say(text="FINAL_ANSWER: x\ud800y"))
    assert (result.answer, result.source) == ("x?y", Source.MODEL)


async def test_a_question_beyond_the_window_is_cut() -> None:
    model = FakeModel([Say(text="FINAL_ANSWER: Paris")], window_tokens=20_000)
    question = QUESTION + "x" * 1_000_000
    assert (
        await ForceCommit(model).commit(HISTORY, timeout_s=20.0, question=question)
    ).answer == "Paris"
    sent = model.requests[0].messages[-1]["content"]
    assert QUESTION in sent
    assert len(sent) < 20_000 * 2


async def test_a_history_beyond_the_window_is_made_to_fit() -> None:
    history = [
        {"role": "user", "content": QUESTION},
        *(
            message
            for number in range(200)
            for message in (
                {"role": "assistant", "content": f"step {number}"},
                {"role": "user", "content": "x" * 10_000},
            )
        ),
    ]
    model = FakeModel([Say(text="FINAL_ANSWER: Paris")], window_tokens=20_000)
    assert (await ForceCommit(model).commit(history, timeout_s=20.0)).answer == "Paris"
    sent = model.requests[0].messages
    assert len(json.dumps(sent)) <= (20_000 - OUTPUT_TOKENS_MAX) * 2 + 2_000
    assert sent[0]["content"].startswith(QUESTION)
    assert "step 199" in sent[-2]["content"]
