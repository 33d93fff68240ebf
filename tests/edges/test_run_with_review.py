"""An agent with a reviewer: run once more where its answer is a FAIL, and never worse off."""

from collections.abc import Sequence
from typing import Any

import pytest

from sidecar.core.value import value
from sidecar.review import Reviewed, Reviewer, Verdict, run_with_review
from sidecar.testing import Fail, FakeModel, Say
from sidecar.testing.model_script import Step
from tests.edges.test_review import QUESTION, says

FAILED = says("FAIL", reasoning="It is not the capital.", suggested_revision="Paris")
PASSED = says("PASS", reasoning="It is.")


@value
class Run:
    answer: str | None
    trajectory: Sequence[str] = ()


class ScriptedAgent:
    """Answers in order; an exception is raised."""

    def __init__(self, *answers: str | Exception | None) -> None:
        self._answers = list(answers)
        self.told: list[str] = []

    async def __call__(self, question: str, critique: str) -> Run:
        assert question == QUESTION
        self.told.append(critique)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Run(answer=answer, trajectory=[f"answered {answer}"])


async def run(
    agent: ScriptedAgent, *steps: Step, max_retries: int = 1
) -> tuple[Reviewed[Run], FakeModel]:
    model = FakeModel(steps)
    done = await run_with_review(
        agent, QUESTION, max_retries, timeout_s=7.0, reviewer=Reviewer(model)
    )
    return done, model


def verdicts(done: Reviewed[Any]) -> list[str]:
    return [review.verdict.value for review in done.reviews]


async def test_an_answer_that_passes_is_kept() -> None:
    agent = ScriptedAgent("Paris")
    done, model = await run(agent, PASSED)
    assert (done.answer, done.retries, done.flagged) == ("Paris", 0, False)
    assert verdicts(done) == ["PASS"]
    assert agent.told == [""]
    assert "answered Paris" in model.requests[0].messages[0]["content"]


async def test_a_fail_runs_it_once_more_with_the_critique() -> None:
    agent = ScriptedAgent("Lyon", "Paris")
    done, model = await run(agent, FAILED, PASSED)
    assert (done.answer, done.retries, done.flagged) == ("Paris", 1, False)
    assert verdicts(done) == ["FAIL", "PASS"]
    assert [request.timeout_s for request in model.requests] == [7.0, 7.0]
    first, told = agent.told
    assert first == ""
    assert "It is not the capital." in told
    assert "'Paris'" in told


async def test_an_answer_that_still_fails_is_returned_and_flagged() -> None:
    done, _ = await run(ScriptedAgent("A", "B", "C"), FAILED, FAILED)
    assert (done.answer, done.retries, done.flagged) == ("B", 1, True)
    assert verdicts(done) == ["FAIL", "FAIL"]


@pytest.mark.parametrize("max_retries", [0, -1])
async def test_without_retries_it_is_only_observed(max_retries: int) -> None:
    done, _ = await run(ScriptedAgent("A"), FAILED, max_retries=max_retries)
    assert (done.answer, done.retries, done.flagged) == ("A", 0, True)


async def test_more_retries_are_taken_while_it_fails() -> None:
    done, _ = await run(ScriptedAgent("A", "B", "C"), FAILED, FAILED, PASSED, max_retries=5)
    assert (done.answer, done.retries) == ("C", 2)


async def test_uncertain_counts_as_pass() -> None:
    done, _ = await run(ScriptedAgent("A"), says("UNCERTAIN"))
    assert (done.answer, done.retries, done.flagged) == ("A", 0, False)


@pytest.mark.parametrize("step", [Fail(status=500), Say(text="I think this will fail"), Say()])
async def test_a_review_that_went_wrong_keeps_the_answer_flagged(step: Step) -> None:
    done, _ = await run(ScriptedAgent("A"), step)
    assert (done.answer, done.retries, done.flagged) == ("A", 0, True)
    assert done.reviews[0].error


@pytest.mark.parametrize("retry", [RuntimeError("down"), None, " "])
async def test_a_retry_that_fails_does_not_lose_the_first_answer(
    retry: str | Exception | None,
) -> None:
    done, _ = await run(ScriptedAgent("A", retry), FAILED)
    assert (done.answer, done.retries, done.flagged) == ("A", 1, True)
    assert done.agent_error == ("RuntimeError" if isinstance(retry, Exception) else "no answer")


async def test_what_the_first_run_raises_is_the_callers() -> None:
    with pytest.raises(RuntimeError, match="down"):
        await run(ScriptedAgent(RuntimeError("down")), PASSED)


BLANK = pytest.mark.parametrize("blank", [None, "", " \n"])


@BLANK
async def test_no_answer_is_a_fail_for_which_no_model_is_asked(blank: str | None) -> None:
    agent = ScriptedAgent(blank, "Paris")
    done, model = await run(agent, PASSED)
    assert (done.answer, done.retries, done.flagged) == ("Paris", 1, False)
    assert verdicts(done) == ["FAIL", "PASS"]
    assert "There is no answer." in agent.told[1]
    assert len(model.requests) == 1


@BLANK
async def test_no_answer_twice_is_flagged(blank: str | None) -> None:
    done, model = await run(ScriptedAgent(blank, None))
    assert (done.answer, done.retries, done.flagged) == (blank, 1, True)
    assert (verdicts(done), done.agent_error) == (["FAIL"], "no answer")
    assert model.requests == []


@BLANK
async def test_no_answer_is_flagged_where_it_is_only_observed(blank: str | None) -> None:
    done, _ = await run(ScriptedAgent(blank), max_retries=0)
    assert (done.answer, done.retries, done.flagged) == (blank, 0, True)


async def test_without_a_reviewer_the_agent_is_only_run() -> None:
    agent = ScriptedAgent("A")
    done = await run_with_review(agent, QUESTION, timeout_s=7.0)
    assert (done.answer, done.reviews, done.flagged) == ("A", (), False)


async def test_a_second_review_that_went_wrong_keeps_the_second_answer() -> None:
    done, _ = await run(ScriptedAgent("A", "B"), FAILED, Fail(status=500))
    assert (done.answer, done.flagged) == ("B", True)
    assert [review.verdict for review in done.reviews] == [Verdict.FAIL, Verdict.UNCERTAIN]
