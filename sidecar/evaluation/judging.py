"""A judge beside a policy, on recorded runs: what it would have said, when, and for how much.

The runs are folded as they were recorded. A verdict is there with the next turn, which live is the
earliest that it can be.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sidecar.adapters.convert import TurnBounds
from sidecar.adapters.convert.texts import texts_in
from sidecar.config.models import JudgeSettings
from sidecar.core.policy import Policy
from sidecar.core.run import Run
from sidecar.core.run_digest import TURNS_MAX, RunDigest, digest_of
from sidecar.core.turn import Turn
from sidecar.evaluation.detecting import Mark, folded_on, marks_of
from sidecar.evaluation.runs import RecordedRun, read_run
from sidecar.judging.judge import CITED_MIN, Judge
from sidecar.judging.schedule import BOUNDED, FAILED, is_due
from sidecar.ports import Spent
from sidecar.refusal import Refusal
from sidecar.signals.circling import CIRCLING
from sidecar.wording import counted

AT_A_TIME: Final = 4
"""Runs judged at once; each waits for its own verdicts."""


@dataclass(kw_only=True)
class Judged:
    """What a judge said of all runs."""

    marks: list[tuple[str, Mark]] = field(default_factory=list)
    """By session: of the policy and the judge, those of the signal `circling` among them."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Verdicts by what was found, and why there were none."""
    problems: set[str] = field(default_factory=set)
    """What was wrong where the model gave none."""
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Calls whose cost is not known."""

    @property
    def own(self) -> list[tuple[str, Mark]]:
        """The judge's alone."""
        return [each for each in self.marks if each[1].signal == CIRCLING.name]

    @property
    def is_mute(self) -> bool:
        """Whether verdicts were asked for and not one was given: then nothing was measured."""
        return bool(self.outcomes) and self.outcomes.keys() <= {FAILED, BOUNDED}

    def spent(self, spent: Spent) -> None:
        """Count what a call took."""
        self.tokens += spent.input_tokens + spent.output_tokens
        self.cost_usd += spent.cost_usd or 0.0
        self.unpriced += spent.cost_usd is None

    def __str__(self) -> str:
        """What it took and said, in one sentence."""
        said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        verdicts = counted(sum(self.outcomes.values()), "verdict")
        asked = f"{verdicts} asked for ({said or 'none was due'})"
        calls = counted(self.unpriced, "call")
        unknown = f" and {calls} of unknown cost" if self.unpriced else ""
        failed = f" Failed: {', '.join(sorted(self.problems))}." if self.problems else ""
        return f"{asked}, {self.tokens} tokens, {self.cost_usd:.4f} USD{unknown}.{failed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPolicy:
    """A policy, and the judge that it listens to."""

    policy: Policy
    """Watches `circling`."""
    judge: Judge
    settings: JudgeSettings
    shows_texts: bool
    """Whether the judge sees the recorded texts; else names, labels and counts only."""
    bounds: TurnBounds
    timeout_s: float

    async def judged(self, files: Iterable[Path]) -> Judged:
        """The findings on these run files. Raises what reading them raises."""
        found, places = Judged(), asyncio.Semaphore(AT_A_TIME)

        async def one(path: Path) -> None:
            async with places:
                await self._run(replace(read_run(path), bounds=self.bounds), found)

        await asyncio.gather(*map(one, files))
        return found

    async def _run(self, run: RecordedRun, found: Judged) -> None:
        folded = Run.start(run.session_id, self.policy, limits=run.limits)
        turns: list[Turn] = []
        asked_at = 0
        for number, event in enumerate(run.events(self.policy.lens), start=1):
            if isinstance(event, Turn):
                turns.append(event)
            folded, decision = folded_on(folded, event)
            found.marks += ((run.session_id, mark) for mark in marks_of(decision))
            if is_due(folded.state, asked_at, self.settings):
                asked_at = folded.state.sequence
                folded = await self._heard(folded, self._digest(run, turns), number, found)

    async def _heard(self, run: Run, digest: RunDigest, number: int, found: Judged) -> Run:
        """The run after it was judged."""
        if len(digest.turns) < CITED_MIN:
            return run
        try:
            judgement = await self.judge.judge(
                digest, session_id=run.session_id, timeout_s=self.timeout_s
            )
        except Refusal:
            found.outcomes[BOUNDED] += 1
            return run
        found.spent(judgement.spent)
        verdict = judgement.verdict
        if verdict is None:
            found.outcomes[FAILED] += 1
            found.problems.add(judgement.problem)
            return run
        found.outcomes[verdict.finding.value] += 1
        return run.obey(verdict, number)[0]

    def _digest(self, run: RecordedRun, turns: Sequence[Turn]) -> RunDigest:
        shown = turns[-TURNS_MAX:]
        first, last = (shown[0].sequence, shown[-1].sequence) if shown else (0, 0)
        texts = (texts_in(wire) for wire in run.turns if first <= wire.sequence <= last)
        return digest_of(shown, {each.sequence: each for each in texts} if self.shows_texts else {})
