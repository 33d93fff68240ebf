"""The judge of `sidecar eval --judge`: which model, on which runs, in which rows."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.cli.model_key import model_key
from sidecar.cli.options import fail
from sidecar.cli.recorded import BROKEN
from sidecar.config.checks import JUDGED_CONCURRENCY_MIN
from sidecar.config.keys import Config
from sidecar.core.policy import Policy
from sidecar.evaluation.baselines import with_marks
from sidecar.evaluation.cases import Case
from sidecar.presets import watching_judges
from sidecar.signals.circling import CIRCLING
from sidecar.turn_bounds import turn_bounds

if TYPE_CHECKING:
    from sidecar.adapters.anthropic_model import AnthropicModel
    from sidecar.evaluation.judging import Judged
    from sidecar.ports import Model

JUDGE = "judge"
"""The row of the judge alone."""


def row_of(policy: Policy) -> str:
    """The row of a policy that listens to the judge."""
    return f"{policy.name}+{JUDGE}"


def judged_cases(
    found: Sequence[tuple[Path, Case]], cases: Sequence[Case], config: Config, policy: Policy
) -> tuple[list[Case], str]:
    """The cases with the marks of the judge alone and of a policy that listens to it, and what
    it said and took. Ends the process where no model is configured, and where it gave not one
    verdict."""
    from sidecar.evaluation.judging import JudgedPolicy
    from sidecar.judging.judge import Judge

    if not config.judge.model:
        fail("--judge: which model? Set judge.model, or give --judge-model")
    if config.model_concurrency_max < JUDGED_CONCURRENCY_MIN:
        fail(f"--judge: model_concurrency_max must be at least {JUDGED_CONCURRENCY_MIN}")
    if all(watch.signal is not CIRCLING for watch in policy.watches):
        policy = watching_judges(policy)
    bounds = turn_bounds(config)

    async def judged() -> "Judged":
        model = _model(config)
        bounded = _bounded(model, config)
        judge = Judge(bounded, output_tokens_max=config.model_output_tokens_max)
        beside = JudgedPolicy(
            policy=policy,
            judge=judge,
            settings=config.judge,
            shows_texts=config.texts_kept_bytes_max > 0,
            bounds=bounds,
            timeout_s=config.model_timeout_s,
        )
        try:
            return await beside.judged(path for path, _ in found)
        finally:
            await model.close()

    said = asyncio.run(judged())
    if said.is_mute:
        fail(f"{JUDGE} ({config.judge.model}): no verdict to measure: {said}", code=BROKEN)
    marked, _ = with_marks(cases, JUDGE, said.own)
    marked, _ = with_marks(marked, row_of(policy), said.marks)
    return marked, f"{JUDGE} ({config.judge.model}): {said}"


def with_model(config: Config, model: str | None) -> Config:
    """The configuration with this model as its judge, where one is named."""
    return replace(config, judge=replace(config.judge, model=model)) if model else config


def _model(config: Config) -> "AnthropicModel":
    from sidecar.adapters.anthropic_model import AnthropicModel
    from sidecar.serving.answering import model_settings

    return AnthropicModel(model_settings(config, config.judge.model, model_key(config)))


def _bounded(model: "Model", config: Config) -> "Model":
    """The model within the bounds of a day, which here is as long as the command takes."""
    from sidecar.models.metered import MeteredModel
    from sidecar.models.purse import Purse
    from sidecar.nowhere import NoRecorder, NoTime
    from sidecar.serving.answering import purse_bounds

    purse = Purse(purse_bounds(config), clock=NoTime())
    return MeteredModel(model, purse=purse, recorder=NoRecorder(), clock=NoTime())
