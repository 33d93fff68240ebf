"""Runs the cases of the tables against a client, one after another."""

import asyncio
import shutil
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final

from sidecar.conformance.client_play import Allowance, ClientPlay, server_credentials
from sidecar.conformance.client_steps import STEPS
from sidecar.conformance.driver import Driver
from sidecar.conformance.faults import Departure, TableError
from sidecar.conformance.front import Front
from sidecar.conformance.performing import perform
from sidecar.conformance.streams import Streams
from sidecar.conformance.table import Case, Step

# The longest case takes a tenth of it; what takes so long hangs.
CASE_TIMEOUT_S: Final = 60.0


SILENT_MAX: Final = 3
"""Cases in a row whose driver answers nothing at all, until no more are played: each takes half a
minute, and of a driver that starts slowly one or two are to be expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one case."""

    case: Case
    took_s: float
    fault: str = ""
    """What came in place of what was expected; empty: it passed."""
    step: str = ""
    """The step at which that was."""
    stderr: str = ""
    """What the driver wrote to standard error meanwhile; for a case that failed."""
    is_played: bool = True
    """False: it was left out, and `fault` says why."""
    is_silent: bool = False
    """Whether the driver answered nothing at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """What the drivers of one run share."""

    waiting: "deque[Case]"
    outcomes: "asyncio.Queue[Outcome | None]" = field(default_factory=asyncio.Queue)
    silences: "deque[bool]" = field(default_factory=lambda: deque(maxlen=SILENT_MAX))
    """Of the latest cases, whether the driver was silent."""

    def came(self, outcome: Outcome) -> None:
        """Note an outcome; where nobody is there to answer, what waits is not played."""
        self.outcomes.put_nowait(outcome)
        self.silences.append(outcome.is_silent)
        if sum(self.silences) == SILENT_MAX:
            while self.waiting:
                self.outcomes.put_nowait(_not_played(self.waiting.popleft()))


def _not_played(case: Case) -> Outcome:
    fault = f"in {SILENT_MAX} cases in a row the driver answered nothing"
    return Outcome(case=case, took_s=0.0, fault=fault, is_played=False)


async def run_client_cases(
    command: str,
    cases: Sequence[Case],
    *,
    transport: str = "unix",
    jobs: int = 1,
    allowance: Allowance,
) -> AsyncIterator[Outcome]:
    """The outcomes, as they come.

    `transport`: unix or tcp, for cases that do not say; `jobs`: drivers at a time. Where drivers
    answer nothing SILENT_MAX times in a row, the rest is not played. Raises OSError where the
    command cannot be started, and TableError for a table that cannot be played.
    """
    course = _Course(waiting=deque(cases))
    outcomes = course.outcomes

    async def work() -> None:
        try:
            await _work(command, course, transport, allowance)
        finally:
            outcomes.put_nowait(None)

    workers = [asyncio.create_task(work()) for _ in range(jobs)]
    try:
        for _ in workers:
            while (outcome := await outcomes.get()) is not None:
                yield outcome
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _work(command: str, course: _Course, transport: str, allowance: Allowance) -> None:
    """One driver after another, for as long as cases wait."""
    driver: Driver | None = None
    try:
        while course.waiting:
            case = course.waiting.popleft()
            driver = driver or await Driver.started(command)
            outcome = await _outcome(driver, case, case.transport or transport, allowance)
            course.came(outcome)
            if outcome.fault:
                # What it would do next says nothing.
                await driver.kill()
                driver = None
        if driver is not None:
            leaving, driver = driver, None
            if fault := await leaving.leave():
                stderr = leaving.take_stderr()
                course.came(Outcome(case=LEAVING, took_s=0.0, fault=fault, stderr=stderr))
    finally:
        if driver is not None:
            await driver.kill()


LEAVING: Final = Case(
    name="the driver ends with its input",
    table="driver",
    about="At the end of standard input the driver exits with 0, and has said nothing unasked.",
    rules=(),
    transport="",
    tls="",
    steps=(),
)


async def _outcome(driver: Driver, case: Case, transport: str, allowance: Allowance) -> Outcome:
    driver.take_stderr()
    began_s = monotonic()
    step = Step(word="listen", argument="")
    try:
        async with (
            _staged(driver, case, transport, allowance) as play,
            asyncio.timeout(CASE_TIMEOUT_S),
        ):
            for step in (*case.steps, *END):
                await driver.unless_broken(perform(step, play, STEPS))
    except (Departure, TimeoutError) as fault:
        said = str(fault) or f"the case takes more than {CASE_TIMEOUT_S:g} s"
        return Outcome(
            case=case,
            took_s=monotonic() - began_s,
            fault=said,
            step=str(step),
            stderr=driver.take_stderr(),
            is_silent=driver.is_silent,
        )
    except TableError as fault:
        raise TableError(f"{case.table}: {case.name}: {step}: {fault}") from fault
    return Outcome(case=case, took_s=monotonic() - began_s)


END: Final = (Step(word="end_of_case", argument={}),)


@asynccontextmanager
async def _staged(
    driver: Driver, case: Case, transport: str, allowance: Allowance
) -> AsyncIterator[ClientPlay]:
    """A sidecar at an address of its own, for one case."""
    # Short, since the path of a socket is.
    directory = Path(tempfile.mkdtemp(prefix="sc-", dir="/tmp"))
    front = Front(directory=directory, transport=transport)
    streams = Streams()
    play = ClientPlay(
        driver=driver,
        front=front,
        streams=streams,
        directory=directory,
        allowance=allowance,
    )
    try:
        await streams.start(front.backend, server_credentials(case.tls))
        yield play
    finally:
        await play.stop()
        await front.stop()
        await streams.stop()
        shutil.rmtree(directory, ignore_errors=True)
