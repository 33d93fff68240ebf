"""Many questions, watched and not: what the sidecar is worth to an agent."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
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
"""A run as it stands in a file of results: `AgentResult.as_json` with `side`, `asked` (the
question's digest), `level`, `correct` and the settings."""


@value
class Settings:
    """With what runs are made: only those of the same settings can be compared."""

    model: str
    policy: str
    """Empty: the sidecar's default."""
    turns_max: int
    search: str = ""
    """Where, as the command line has it; empty: nowhere."""
    web: bool = False
    networks: str = ""
    """Opened though they are not public, with commas between them."""
    isolated: bool = True


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


def kept(path: Path, settings: Settings) -> list[Row]:
    """The runs that a file of results has of these settings, but for those that are run again:
    failed ones, and those that the sidecar was to watch and did not throughout. Whether they are
    correct is not taken from there: the answers that are known to be true may have changed.

    The last line may be half of one: whoever wrote it was killed. Raises OSError.
    """
    rows: list[Row] = []
    lines = path.read_text("utf-8", "replace").split("\n") if path.exists() else []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        whole = isinstance(row, dict) and row.keys() >= _KEYS
        # A row of an older version does not say with what it was made, so it is of no settings.
        if whole and row.items() >= asdict(settings).items() and _is_done(row):
            rows.append(row)
    return rows


def is_failed(row: Row) -> bool:
    """Whether the model failed it: it did not work, or it was late and there is no answer. A run
    that has one though its model was late is as good as any."""
    timed_out = row["stop_reason"] == StopReason.TIMED_OUT
    return row["stop_reason"] == StopReason.ERROR or (timed_out and not row["answer"])


def _is_done(row: Row) -> bool:
    return not is_failed(row) and not _is_unwatched(row)


def _is_unwatched(row: Row) -> bool:
    return any(row["give_ups"].values())


async def bench(
    agents: Mapping[Side, CodeAgent],
    questions: Sequence[Question],
    *,
    settings: Settings,
    results: Path,
    concurrency: int,
    begun: Callable[[Sequence[Side]], None],
    done: Callable[[Row], None],
) -> list[Row]:
    """Run each question on each side that the file of results does not have yet of these settings,
    which are those of the agents. Each run is added to it as it ends.

    `begun` gets the side of each run to come before the first begins, and `done` each run as it
    ends. The runs of all, those that were there included. Raises OSError, and what these raise.
    """
    asked = {question.digest(): question for question in questions}
    rows: list[Row] = [
        {**row, **_judged(row["answer"], asked[row["asked"]])}
        for row in kept(results, settings)
        if row["asked"] in asked and row["side"] in agents
    ]
    had = {(row["side"], row["asked"]) for row in rows}
    # Both sides of a question one after the other: what changes over hours changes for both.
    to_do = [(side, each) for each in asked for side in agents if (side, each) not in had]
    begun([side for side, _ in to_do])
    work = iter(to_do)
    with results.open("a", encoding="utf-8") as file:
        if file.tell():
            file.write("\n")  # behind a line that was cut

        async def go_on() -> None:
            for side, digest in work:
                made = await _row(agents[side], asked[digest])
                row = {**asdict(settings), "side": side, "asked": digest, **made}
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
        unwatched=sum(map(_is_unwatched, mine)),
    )


async def _row(agent: CodeAgent, question: Question) -> dict[str, Any]:
    files = [question.file] if question.file else []
    try:
        result = await agent.run(question.text, question_id=question.id, files=files)
        row = result.as_json()
    except FileUnusableError as error:
        row = {**_NOTHING, "question_id": question.id, "error": str(error)}
    return {**row, **_judged(row["answer"], question)}


def _judged(answer: str | None, question: Question) -> dict[str, Any]:
    """What a row says of the question's own columns."""
    correct = None if question.answer is None else is_correct(answer, question.answer)
    return {"level": question.level, "correct": correct}


_NOTHING: Row = {
    "answer": None,
    "stop_reason": StopReason.ERROR,
    "turns": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "cost_usd": 0.0,
    "decisions": [],
    "give_ups": {},
}
"""A run that could not begin."""

_KEYS: Final = frozenset(_NOTHING) | {"side", "question_id", "asked"}
"""Of a row of which something can be said."""
