"""Runs the cases of the table for services, one after another."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

from sidecar.conformance.agent_play import AgentPlay, Service
from sidecar.conformance.agent_steps import STEPS
from sidecar.conformance.faults import Departure, StatusLost, TableError
from sidecar.conformance.performing import perform
from sidecar.conformance.running import CASE_TIMEOUT_S, Outcome
from sidecar.conformance.table import Case, Step

_NO_STEP: Final = Step(word="connect", argument={})
TRIES: Final = 10
"""Of a case in which the library lost how a stream ended; on a busy machine it does so in one of
ten that are refused at once."""


async def run_server_cases(service: Service, cases: Sequence[Case]) -> AsyncIterator[Outcome]:
    """The outcomes, as they come.

    Raises ConnectionError where nobody answers, and TableError for a table that cannot be played.
    """
    await service.reach()
    for case in cases:
        yield await _outcome(service, case)


async def _outcome(service: Service, case: Case) -> Outcome:
    for _ in range(TRIES):
        with suppress(StatusLost):
            return await _played(service, case)
    fault = f"how a stream ended was lost {TRIES} times in a row"
    return Outcome(case=case, took_s=0.0, fault=fault, step="")


async def _played(service: Service, case: Case) -> Outcome:
    began_s = monotonic()
    play = AgentPlay(service)
    step = _NO_STEP
    fault = ""
    try:
        async with asyncio.timeout(CASE_TIMEOUT_S):
            for step in case.steps:
                await perform(step, play, STEPS)
    except (Departure, TimeoutError) as departure:
        fault = str(departure) or f"the case takes more than {CASE_TIMEOUT_S:g} s"
    except TableError as error:
        raise TableError(f"{case.table}: {case.name}: {step}: {error}") from error
    finally:
        await play.stop()
    at = str(step) if fault else ""
    return Outcome(case=case, took_s=monotonic() - began_s, fault=fault, step=at)
