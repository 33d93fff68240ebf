"""What an answer came to, with all of its attempts and reviews."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sidecar.codeagent.result import AgentResult
from sidecar.core.value import value
from sidecar.review import Review, Reviewed


@value
class ReviewedResult:
    """The runs of the agent on one question, and what a reviewer made of them."""

    attempts: tuple[AgentResult, ...]
    """Those that ended, in order."""
    reviewed: Reviewed[AgentResult]

    @property
    def answer(self) -> str | None:
        """The answer; None: there is none."""
        return self.reviewed.answer

    def as_json(self) -> dict[str, Any]:
        """The attempt that counts, with the sums over all attempts; tokens, cost and time are
        those of the reviews, too."""
        attempts = [attempt.as_json() for attempt in self.attempts]
        reviews = [_review(review) for review in self.reviewed.reviews]
        calls = [*attempts, *reviews]
        return {
            **self.reviewed.attempt.as_json(),
            "turns": sum(row["turns"] for row in attempts),
            "replans": sum(row["replans"] for row in attempts),
            "steps": [step for row in attempts for step in row["steps"]],
            "decisions": [decision for row in attempts for decision in row["decisions"]],
            "tool_calls": _counts(row["tool_calls"] for row in attempts),
            "give_ups": _counts(row["give_ups"] for row in attempts),
            "input_tokens": sum(row["input_tokens"] for row in calls),
            "output_tokens": sum(row["output_tokens"] for row in calls),
            "cost_usd": _cost_usd([row["cost_usd"] for row in calls]),
            "wall_s": round(sum(row["wall_s"] for row in calls), 3),
            "attempts": attempts,
            "reviews": reviews,
            "retries": self.reviewed.retries,
            "agent_error": self.reviewed.agent_error or None,
            "flagged": self.reviewed.flagged,
        }


def _review(review: Review) -> dict[str, Any]:
    return {
        "verdict": review.verdict,
        "reasoning": review.reasoning,
        "suggested_revision": review.suggested_revision,
        "error": review.error,
        "input_tokens": review.spent.input_tokens,
        "output_tokens": review.spent.output_tokens,
        "cost_usd": review.spent.cost_usd,
        "wall_s": round(review.spent.latency_s, 3),
    }


def _counts(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for each in counts:
        sums.update(each)
    return dict(sums)


def _cost_usd(costs: Sequence[float | None]) -> float | None:
    """None: of one at least it is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
