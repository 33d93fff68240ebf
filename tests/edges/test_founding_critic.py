"""The founding critic's recorded scenarios: its outcome, or a deviation of docs/answers.md."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.core.answers.answer import extract
from sidecar.core.value import value
from sidecar.models.prices import DEFAULT_REVIEW_MODEL
from sidecar.review import Review, Reviewed, Reviewer, run_with_review
from sidecar.testing import Fail, FakeModel, HangUp, Raw, Say
from sidecar.testing.model_script import Step
from tests.edges.models import real_model

DATA: Final = Path(__file__).parent.parent / "data" / "critic.jsonl"
DOCUMENT: Final = Path(__file__).parent.parent.parent / "docs" / "answers.md"

SCENARIOS: Final = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]

MALFORMED: Final = "Critic returned malformed JSON"
"""How the founding critic's reasoning begins where it could not read a reply."""

REVIEW_DEVIATIONS: Final[dict[str, dict[str, Any]]] = {
    "crit-008": {"verdict": "uncertain", "reasoning": None, "error": True},
    "crit-017": {"verdict": "uncertain"},
    "crit-018": {"verdict": "uncertain"},
    "crit-022": {"verdict": "uncertain"},
}
"""Two verdicts that differ are none, and words of prose are none."""

RUN_DEVIATIONS: Final[dict[str, dict[str, Any]]] = {
    "crit-086": {"final_answer": "A", "retries": 0, "verdicts": ["uncertain"]},
    "crit-088": {"final_answer": None, "retries": 1, "verdicts": ["fail"]},
    "crit-091": {"final_answer": "A"},
    "crit-092": {"raises": True},
}
"""Words of prose are no verdict; no answer is a FAIL; the first answer is not lost; what the
first run raises is the caller's."""


def scenarios(kind: str) -> list[Any]:
    return [
        pytest.param(each["input"], each["founding"], each["name"], id=each["name"])
        for each in SCENARIOS
        if each["kind"] == kind
    ]


def step_of(reply: Any) -> Step:
    if isinstance(reply, str):
        reply = {"text": reply}
    if reply.get("hangup"):
        return HangUp()
    if reply.get("status", 200) >= 400:
        return Fail(status=reply["status"], retry_after_s=-1)
    if "body" in reply:
        return Raw(body=json.dumps(reply["body"]).encode(), status=reply.get("status", 200))
    used = reply.get("usage", {"input_tokens": 1_000, "output_tokens": 100})
    return Say(text=reply["text"], **used)


@pytest.mark.parametrize(("given", "founding", "name"), scenarios("review"))
async def test_a_review_comes_to_what_the_founding_critic_did(
    given: dict[str, Any], founding: dict[str, Any], name: str
) -> None:
    steps = trajectory(given["trajectory"])
    reply = step_of(given["model_reply"])
    async with real_model([reply] * 3, model=DEFAULT_REVIEW_MODEL) as (model, _):
        review = await Reviewer(model).review(
            given["question"], given["candidate"], list(steps), timeout_s=20.0
        )
    expected = {**founding, **REVIEW_DEVIATIONS.get(name, {})}
    assert review.verdict.value.lower() == expected["verdict"]
    went_wrong = bool(expected["error"]) or (expected["reasoning"] or "").startswith(MALFORMED)
    assert review.error is went_wrong, "a reply that could not be read is flagged"
    if not went_wrong:
        assert review.reasoning == expected["reasoning"]
        assert review.suggested_revision == expected["suggested_revision"]
        assert review.raw_response == ""
    elif expected["raw_response"]:
        assert review.raw_response == expected["raw_response"]
    check_cost(review, expected["cost_usd"])


def trajectory(given: Any) -> Iterator[str]:
    for step in (given or {}).get("steps") or ():
        yield json.dumps(step)


def check_cost(review: Review, founding_usd: float) -> None:
    if review.spent.cost_usd is None:
        assert review.error, "no reply, and nothing that is known to have been paid"
    else:
        assert review.spent.cost_usd == pytest.approx(founding_usd)


@value
class Run:
    answer: str | None
    trajectory: tuple[str, ...] = ()


class RecordedAgent:
    """Answers as the founding agent did."""

    def __init__(self, replies: list[Any]) -> None:
        self._replies = iter(replies)
        self.critiques: list[str] = []

    async def __call__(self, question: str, critique: str) -> Run:
        self.critiques.append(critique)
        reply = next(self._replies)
        if not isinstance(reply, str):
            raise ConnectionError(reply)
        return Run(answer=extract(reply).answer)


@pytest.mark.parametrize(("given", "founding", "name"), scenarios("orchestrate"))
async def test_a_reviewed_run_comes_to_what_the_founding_one_did(
    given: dict[str, Any], founding: dict[str, Any], name: str
) -> None:
    expected = {**founding, **RUN_DEVIATIONS.get(name, {})}
    agent = RecordedAgent(given["agent_replies"])
    model = FakeModel(list(map(step_of, given["critic_replies"])))
    reviewer = Reviewer(model) if given["enable_critic"] else None
    retries_max = {} if given["max_retries"] is None else {"max_retries": given["max_retries"]}

    async def run() -> Reviewed[Run]:
        return await run_with_review(
            agent, "What?", timeout_s=20.0, reviewer=reviewer, **retries_max
        )

    if expected.get("raises"):
        with pytest.raises(ConnectionError):
            await run()
        return
    done = await run()
    assert done.answer == expected["final_answer"]
    assert done.retries == expected["retries"]
    assert [review.verdict.value.lower() for review in done.reviews] == expected["verdicts"]
    if done.retries:
        assert done.reviews[0].reasoning in agent.critiques[1], "the critique reaches the retry"


def test_every_deviation_is_documented() -> None:
    text = DOCUMENT.read_text("utf-8")
    for name in (*REVIEW_DEVIATIONS, *RUN_DEVIATIONS):
        assert name in text
