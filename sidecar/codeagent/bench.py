"""Many questions, watched and not: what the sidecar is worth to an agent."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from sidecar.codeagent.agent import CodeAgent
from sidecar.codeagent.gaia import Question, is_correct
from sidecar.codeagent.result import StopReason
from sidecar.codeagent.runner.files import FileUnusableError
from sidecar.core.value import value


class Side(StrEnum):
    """Whether a run was watched."""

    WITH = "with"
    WITHOUT = "without"


Row = Mapping[str, Any]
"""A run as it stands in a file of results: `AgentResult.as_json` with `side` and `correct`."""


@value
class Tally:
    """What the runs of one side came to."""

    side: Side
    runs: int
    judged: int
    """Of them, those whose true answer is known."""
    correct: int
    empty: int
    """Without an answer."""
    turns: int
    tokens: int
    cost_usd: float | None
    """None: of one run at least it is not known."""
    directives: int
    unwatched: int
    """Runs of which a turn at least was not answered by a sidecar that was to watch them."""

    @property
    def accuracy(self) -> float | None:
        """In [0, 1]; None: nothing could be judged."""
        return self.correct / self.judged if self.judged else None


def kept(path: Path) -> list[Row]:
    """The runs that a file of results has, but for failed ones, which are run again.

    The last line may be half of one: whoever wrote it was killed. Raises OSError.
    """
    rows: list[Row] = []
    lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        whole = isinstance(row, dict) and row.keys() >= _KEYS
        if whole and row["stop_reason"] not in (None, StopReason.ERROR):
            rows.append(row)
    return rows


def to_do(
    questions: Sequence[Question], sides: Sequence[Side], *, results: Path
) -> list[tuple[Side, Question]]:
    """The runs that a file of results does not have yet. Raises OSError."""
    had = {(row["side"], row["question_id"]) for row in kept(results)}
    # Both sides of a question one after the other: what changes over hours changes for both.
    return [(side, each) for each in questions for side in sides if (side, each.id) not in had]


async def bench(
    agents: Mapping[Side, CodeAgent],
    questions: Sequence[Question],
    *,
    results: Path,
    concurrency: int,
    done: Callable[[Row], None],
) -> list[Row]:
    """Run each question on each side that the file of results does not have yet; each run is added
    to it as it ends, and handed to `done`. The runs of all, those that were there included."""
    ids = {question.id for question in questions}
    rows = [row for row in kept(results) if row["question_id"] in ids and row["side"] in agents]
    work = iter(to_do(questions, tuple(agents), results=results))
    with results.open("a", encoding="utf-8") as file:
        if file.tell():
            file.write("\n")  # behind a line that was cut

        async def go_on() -> None:
            async for row in _rows(agents, work):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                file.flush()
                rows.append(row)
                done(row)

        workers = [asyncio.create_task(go_on()) for _ in range(concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
    return rows


def tally(rows: Iterable[Row], side: Side) -> Tally:
    """What the runs of a side came to."""
    mine = [row for row in rows if row["side"] == side]
    costs = [row["cost_usd"] for row in mine]
    return Tally(
        side=side,
        runs=len(mine),
        judged=sum(row["correct"] is not None for row in mine),
        correct=sum(row["correct"] is True for row in mine),
        empty=sum(not row["answer"] for row in mine),
        turns=sum(row["turns"] for row in mine),
        tokens=sum(row["input_tokens"] + row["output_tokens"] for row in mine),
        cost_usd=None if None in costs else float(sum(costs)),
        directives=sum(len(row["decisions"]) for row in mine),
        unwatched=sum(any(row["give_ups"].values()) for row in mine),
    )


async def _rows(
    agents: Mapping[Side, CodeAgent], work: Iterable[tuple[Side, Question]]
) -> AsyncIterator[Row]:
    for side, question in work:
        yield {"side": side, **await _row(agents[side], question)}


async def _row(agent: CodeAgent, question: Question) -> dict[str, Any]:
    files = [question.file] if question.file else []
    try:
        result = await agent.run(question.text, question_id=question.id, files=files)
    except FileUnusableError as error:
        return {**_NOTHING, "question_id": question.id, "error": str(error)}
    judged = None if question.answer is None else is_correct(result.answer, question.answer)
    return {**result.as_json(), "level": question.level, "correct": judged}


_NOTHING: Row = {
    "answer": None,
    "stop_reason": StopReason.ERROR,
    "correct": False,
    "turns": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "cost_usd": 0.0,
    "decisions": [],
    "give_ups": {},
}
"""A run that could not begin."""

_KEYS: Final = frozenset(_NOTHING) | {"side", "question_id"}
"""Of a row of which something can be said."""
