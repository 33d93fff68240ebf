"""The reference agent in the fleet: it is stuck, told so, answers by force, is reviewed, runs anew.

Its model is a script, asked over HTTP as the real one would be; all else is the real thing: code in
a container, turns to the sidecar, a forced commit, a second opinion. Where code cannot be contained
none is run.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sidecar.adapters.anthropic_model import AnthropicModel, AnthropicSettings
from sidecar.client import AsyncClient, Directive
from sidecar.codeagent.agent import MODEL_TIMEOUT_S, CodeAgent, Surroundings
from sidecar.codeagent.conversation import TURNS_MAX, Report
from sidecar.codeagent.result import AgentResult, StopReason
from sidecar.codeagent.runner.interpreter import IsolationMissingError
from sidecar.codeagent.runner.isolation import WAYS, Isolation
from sidecar.core.answers.answer import Source
from sidecar.demo.agent import TURN_S, Pace
from sidecar.demo.cast import Part
from sidecar.demo.coder_script import QUESTION, TABLE, TABLE_NAME, reply
from sidecar.demo.measuring import Spent
from sidecar.demo.mind import Trouble
from sidecar.demo.record import Ending, Record
from sidecar.review import Review, Reviewer, Verdict, run_with_review
from sidecar.testing.anthropic_server import FakeAnthropicServer

TICK_S: Final = 0.1
"""How soon the end of the demo is noticed."""
MODEL: Final = "script"
EXPECTED: Final = (Verdict.FAIL, Verdict.PASS)
NOT_CONTAINED: Final = "code cannot be contained here, so none is run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coder:
    """A run of the reference agent: a role."""

    name: str
    aim: str
    trouble: Trouble | None = None


STUCK: Final = Part(
    name="coder",
    role=Coder(
        name="coder",
        aim="writes Python, is reviewed",
        # Its turns, and the forced commit at their end.
        trouble=Trouble(signal="loop", turns_unwatched=TURNS_MAX + 1),
    ),
)
AGAIN: Final = Part(
    name="coder-again", role=Coder(name="coder-again", aim="once more, with the critique")
)
CIRCLE: Final = (STUCK.name, AGAIN.name)


class Circle:
    """The agent's two runs. Played once, in a thread of its own."""

    def __init__(
        self,
        *,
        address: str,
        folder: Path,
        pace: Pace,
        show: Callable[[Record], None],
        timeout_s: float,
        label: str,
        ways: Sequence[Isolation] = WAYS,
    ) -> None:
        """Report to the sidecar at `address` and wait `timeout_s` for it; `show` gets a record
        after each turn. `label` tells the sessions from those of other demos, `ways` are how code
        may be contained."""
        self._address = address
        self._folder = folder
        self._pace = pace
        self._show = show
        self._timeout_s = timeout_s
        self._label = label
        self._ways = ways
        self._records: list[Record] = []

    def play(self) -> None:
        """Both runs, or until the demo is over."""
        self._begin(STUCK)
        asyncio.run(self._until_over())

    async def _until_over(self) -> None:
        playing = asyncio.create_task(self._play())
        while not playing.done() and not self._pace.stop.is_set():
            await asyncio.wait([playing], timeout=TICK_S)
        if not playing.done():
            playing.cancel()
            await asyncio.wait([playing])
        if playing.cancelled():
            self._update(ending=Ending.CANCELLED)
        else:
            playing.result()

    async def _play(self) -> None:
        self._folder.mkdir(parents=True)
        table = self._folder / TABLE_NAME
        table.write_text(TABLE, encoding="utf-8")
        with self._served() as server:
            model = AnthropicModel(
                AnthropicSettings(model=MODEL, base_url=server.base_url, api_key=server.key)
            )
            try:
                await self._reviewed(model, table)
            except IsolationMissingError:
                self._update(ending=Ending.LEFT_OUT, remark=NOT_CONTAINED)
            finally:
                await model.close()

    @contextmanager
    def _served(self) -> Iterator[FakeAnthropicServer]:
        delay_s = TURN_S / self._pace.speed
        with FakeAnthropicServer(lambda body: reply(body, delay_s=delay_s)) as server:
            yield server

    async def _reviewed(self, model: AnthropicModel, table: Path) -> None:
        agent = CodeAgent(
            Surroundings(model=model, watch=self._client, ways=self._ways, seen=self._seen)
        )

        async def attempt(question: str, note: str) -> AgentResult:
            if note:
                self._update(remark="its answer did not pass its review, so it runs once more")
                self._begin(AGAIN)
            session_id = self._records[-1].session_id
            result = await agent.run(question, note=note, files=[table], session_id=session_id)
            self._ended(result)
            return result

        outcome = await run_with_review(
            attempt, QUESTION, timeout_s=MODEL_TIMEOUT_S, reviewer=Reviewer(model)
        )
        self._judged(outcome.reviews)

    def _client(self, session_id: str) -> AsyncClient:
        return AsyncClient(
            self._address,
            agent_name=STUCK.name,
            model=MODEL,
            session_id=session_id,
            timeout_s=self._timeout_s,
        )

    def _begin(self, part: Part) -> None:
        self._records.append(Record(part=part, session_id=f"{part.name}-{self._label}"))
        self._show(self._records[-1])

    def _seen(self, report: Report, directive: Directive) -> None:
        record = self._records[-1]
        self._put(record.after(directive, _spent(report), report.answer or ""))

    def _ended(self, result: AgentResult) -> None:
        outcome = result.outcome
        if outcome.answer is None:
            halted = outcome.stop_reason is StopReason.HALTED
            fault = f"has no answer: {outcome.stop_reason}, {outcome.error}"
            self._update(ending=Ending.HALTED if halted else Ending.CANCELLED, fault=fault)
            return
        forced = "answered by force" if outcome.source is Source.MODEL else "answered"
        self._update(ending=Ending.ANSWERED, remark=f"{forced}: {outcome.answer}")

    def _judged(self, reviews: Sequence[Review]) -> None:
        """Each review is of the run in its place."""
        for at, (record, review) in enumerate(zip(self._records, reviews, strict=False)):
            said = f"{record.answer} was reviewed: {review.verdict}. {review.reasoning}"
            self._records[at] = replace(record, remark=said)
            self._show(self._records[at])
        verdicts = tuple(review.verdict for review in reviews)
        if verdicts != EXPECTED and not self._records[-1].fault:
            self._update(fault=f"was reviewed as {', '.join(verdicts) or 'nothing'}")

    def _update(
        self, *, ending: Ending | None = None, remark: str | None = None, fault: str = ""
    ) -> None:
        record = self._records[-1]
        self._put(
            replace(
                record,
                ending=ending or record.ending,
                remark=record.remark if remark is None else remark,
                fault=fault,
            )
        )

    def _put(self, record: Record) -> None:
        self._records[-1] = record
        self._show(record)


def _spent(report: Report) -> Spent:
    """Tokens of a turn's own model call."""
    said = report.reply or report.committed
    if said is None:
        return Spent(context=0, input=0, output=0)
    spent = said.spent
    context = spent.input_tokens + spent.output_tokens
    return Spent(context=context, input=spent.input_tokens, output=spent.output_tokens)
