"""What an answer came to, over all of its attempts and reviews."""

from typing import Any

from sidecar.codeagent.result import AgentResult, Outcome, StopReason
from sidecar.codeagent.reviewed import ReviewedResult
from sidecar.ports import Spent
from sidecar.review import Review, Reviewed, Verdict


def attempt(answer: str | None, **more: Any) -> AgentResult:
    outcome: dict[str, Any] = {"turns": 2, "cost_usd": 0.5, "tool_calls": {"read_file": 1}, **more}
    return AgentResult(
        question_id="",
        session_id=f"session-{answer}",
        outcome=Outcome(stop_reason=StopReason.ANSWERED, answer=answer, **outcome),
        isolation="none",
        give_ups={"connect": 1},
        wall_s=1.0,
    )


def told(attempts: tuple[AgentResult, ...], *reviews: Review, **more: Any) -> dict[str, Any]:
    reviewed = Reviewed(attempt=attempts[0], reviews=reviews, **more)
    return ReviewedResult(attempts=attempts, reviewed=reviewed).as_json()


def review(verdict: Verdict, cost_usd: float | None) -> Review:
    return Review(verdict=verdict, spent=Spent(input_tokens=7, cost_usd=cost_usd, latency_s=0.25))


def test_a_retry_without_an_answer_costs_and_the_answer_before_it_counts() -> None:
    found = told(
        (attempt("41"), attempt(None)),
        review(Verdict.FAIL, 0.25),
        retries=1,
        agent_error="no answer",
    )
    assert (found["answer"], found["session_id"]) == ("41", "session-41")
    assert (found["flagged"], found["agent_error"]) == (True, "no answer")
    assert (found["turns"], found["cost_usd"], found["wall_s"]) == (4, 1.25, 2.25)
    assert (found["tool_calls"], found["give_ups"]) == ({"read_file": 2}, {"connect": 2})
    assert found["input_tokens"] == 7
    assert [each["answer"] for each in found["attempts"]] == ["41", None]


def test_the_cost_is_not_known_where_that_of_one_review_is_not() -> None:
    assert told((attempt("41"),), review(Verdict.PASS, None))["cost_usd"] is None
    assert told((attempt(None),))["cost_usd"] == 0.5
