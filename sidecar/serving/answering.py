"""What answers are made with, put together from the configuration."""

import asyncio
import os
from pathlib import Path
from typing import Final

from sidecar.adapters.anthropic_model import AnthropicModel, AnthropicSettings
from sidecar.adapters.calls import AnswerCalls
from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.spending_file import SpendingFile
from sidecar.commit import ForceCommit
from sidecar.config.keys import Config
from sidecar.health import Health
from sidecar.judging.judge import Judge
from sidecar.judging.schedule import Judging
from sidecar.kept_texts import KeptTexts
from sidecar.models.access import access_fault, has_key
from sidecar.models.metered import MeteredModel
from sidecar.models.prices import prices_with
from sidecar.models.purse import Allowance, Purse, PurseBounds
from sidecar.nowhere import NoLedger
from sidecar.ports import Clock, Journal, Recorder
from sidecar.review import Reviewer
from sidecar.sessions.sessions import Sessions

SPENDING_FILE: Final = "model_spending.json"
MODEL: Final = "model"
"""The component's name in Health; there is none where nobody asked for a model."""


class Answering:
    """The models of one sidecar, and the service that asks them."""

    def __init__(
        self,
        config: Config,
        *,
        key: str,
        clock: Clock,
        recorder: Recorder,
        health: Health,
        texts: KeptTexts,
    ) -> None:
        """`key` is that of `model_key_file`. Without one, and none in the environment, no model is
        configured. Nothing is imported or connected before a model is asked. `texts` are those of
        the sessions' latest turns."""
        self._config = config
        self._recorder = recorder
        self._ledger = _ledger(config, recorder)
        self._purse = Purse(purse_bounds(config), clock=clock, ledger=self._ledger)
        self._clock = clock
        self._health = health
        self._models: list[AnthropicModel] = []
        self._force_commit: ForceCommit | None = None
        self._reviewer: Reviewer | None = None
        self._judge: Judge | None = None
        self._judging: Judging | None = None
        self._texts = texts
        fault = access_fault(key, config.model_base_url, os.environ)
        if fault and has_key(key, os.environ):
            # The variables are the agent's as well. Runs are watched whatever stands in them.
            health.component(MODEL).permanent(f"no model is asked: {fault}")
        elif has_key(key, os.environ):
            health.component(MODEL).ok()
            output_tokens_max = config.model_output_tokens_max
            commits, reviews = (
                self._model(name, key) for name in (config.model, config.review_model)
            )
            self._force_commit = ForceCommit(commits, output_tokens_max=output_tokens_max)
            self._reviewer = Reviewer(reviews, output_tokens_max=output_tokens_max)
            if config.judge.model:
                judge = self._model(config.judge.model, key)
                self._judge = Judge(judge, output_tokens_max=output_tokens_max)
        elif config.judge.model:
            health.component(MODEL).permanent(
                "no run is judged: judge.model is given, but no key for it"
            )

    def calls(self, sessions: Sessions, *, recall: Recall) -> AnswerCalls:
        """What is asked about answers."""
        return AnswerCalls(
            sessions,
            recall=recall,
            force_commit=self._force_commit,
            reviewer=self._reviewer,
            timeout_s=self._config.model_timeout_s,
            recorder=self._recorder,
            texts=self._texts,
        )

    def judge(self, sessions: Sessions, *, journal: Journal) -> None:
        """Have these sessions judged from now on, where a judge is configured."""
        if self._judge is not None:
            self._judging = Judging(
                sessions,
                self._judge,
                settings=self._config.judge,
                journal=journal,
                texts=self._texts,
                timeout_s=self._config.model_timeout_s,
                recorder=self._recorder,
            )

    async def judge_no_more(self) -> None:
        """Give up the verdicts under way: what they would be journalled in is about to close."""
        if self._judging is not None:
            await self._judging.close()
            self._judging = None

    async def close(self, within_s: float) -> None:
        """Close the connections, and write what was spent, for so long."""
        await self.judge_no_more()
        await asyncio.to_thread(self._ledger.close, within_s)
        for model in self._models:
            await model.close()

    def _model(self, name: str, key: str) -> MeteredModel:
        model = AnthropicModel(model_settings(self._config, name, key))
        self._models.append(model)
        return MeteredModel(
            model,
            purse=self._purse,
            recorder=self._recorder,
            clock=self._clock,
            component=self._health.component(MODEL),
            server=model.server,
        )


def _ledger(config: Config, recorder: Recorder) -> SpendingFile | NoLedger:
    if not config.state_directory:
        return NoLedger()
    return SpendingFile(Path(config.state_directory) / SPENDING_FILE, lost=recorder.lost)


def model_settings(config: Config, name: str, key: str) -> AnthropicSettings:
    """How the model of this name is asked."""
    return AnthropicSettings(
        model=name,
        base_url=config.model_base_url,
        api_key=key,
        window_tokens=config.model_window_tokens,
        prices=prices_with(config.model_prices),
    )


def purse_bounds(config: Config) -> PurseBounds:
    """What the configuration allows."""
    return PurseBounds(
        all=Allowance(
            calls_max=config.model_calls_max,
            tokens_max=config.model_tokens_max,
            cost_usd_max=config.model_cost_usd_max,
        ),
        session=Allowance(
            calls_max=config.session_model_calls_max,
            tokens_max=config.session_model_tokens_max,
            cost_usd_max=config.session_model_cost_usd_max,
        ),
        judge_cost_usd_max=config.judge.cost_usd_max,
        concurrency_max=config.model_concurrency_max,
    )
