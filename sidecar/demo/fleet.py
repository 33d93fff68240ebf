"""All agents at once, each in a thread of its own with a client of its own."""

import os
import queue
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sidecar.client import Client
from sidecar.client.report import RunOutcome
from sidecar.demo.agent import Pace, work
from sidecar.demo.cast import cast, mind_of
from sidecar.demo.circle import Circle
from sidecar.demo.mind import Mind
from sidecar.demo.processes import Processes, processes
from sidecar.demo.record import Ending, Record
from sidecar.demo.workshop import Bench

TIMEOUT_S: Final = 1.0
"""Longest wait for a decision. A client waits 0.2 s by default, beside agents whose models run
elsewhere; here tests, jobs and hundreds of agents share the sidecar's cores."""

CLOSE_S: Final = 2.0
"""For the goodbye, of an agent whose demo goes on."""

STAGGER_S: Final = 0.3
"""Between the first turns of two agents at speed 1, so that they do not move in step."""

STAGGER_ALL_MAX_S: Final = 10.0
"""Until the last of many has begun."""

RUN_OUTCOMES: Final[Mapping[Ending, RunOutcome]] = MappingProxyType(
    {
        Ending.ANSWERED: "succeeded",
        Ending.HALTED: "failed",
        Ending.CANCELLED: "cancelled",
        Ending.RUNNING: "failed",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Agents at work."""

    records: "queue.SimpleQueue[Record]"
    """What is new, as it comes; the last of a run is of one that is not running."""
    done: Callable[[], bool]
    """Whether all have ended. Raises what an agent raised, which is a fault of the demo's."""


@contextmanager
def fleet(agents: int, *, address: str, speed: float, folder: Path) -> Iterator[Fleet]:
    """So many agents, and the reference agent, for as long as the block lasts; at its end whoever
    still works is stopped."""
    stop = threading.Event()
    records: queue.SimpleQueue[Record] = queue.SimpleQueue()
    crew = _Crew(
        address=address,
        folder=folder,
        pace=Pace(speed=speed, stop=stop),
        records=records,
    )
    # Tells the sessions of this demo from those of an earlier one in the same state directory.
    label = uuid.uuid4().hex[:4]
    starts = [Record(part=part, session_id=f"{part.name}-{label}") for part in cast(agents)]
    for record in starts:
        records.put(record)
    circle = Circle(
        address=address,
        folder=folder / "circle",
        pace=crew.pace,
        show=records.put,
        timeout_s=TIMEOUT_S,
        label=label,
    )
    pool = ThreadPoolExecutor(max_workers=agents + 1, thread_name_prefix="agent")
    stagger_s = min(STAGGER_S, STAGGER_ALL_MAX_S / agents) / speed
    with processes(running_max=os.cpu_count() or 1) as running:
        try:
            runs = [
                pool.submit(crew.run, record, mind_of(place), running, place * stagger_s)
                for place, record in enumerate(starts)
            ]
            runs.append(pool.submit(circle.play))
            yield Fleet(records=records, done=lambda: _done(runs))
        finally:
            stop.set()
            running.close()
            pool.shutdown()


def _done(runs: list["Future[None]"]) -> bool:
    over = [run for run in runs if run.done()]
    for run in over:
        run.result()
    return len(over) == len(runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crew:
    """What all agents have in common."""

    address: str
    folder: Path
    pace: Pace
    records: "queue.SimpleQueue[Record]"

    def run(self, record: Record, mind: Mind, running: Processes, wait_s: float) -> None:
        """One agent's whole life."""
        self.pace.stop.wait(wait_s)
        bench = Bench(self.folder / record.part.name, mind.files, running)
        with Client(
            self.address,
            agent_name=mind.name,
            model="script",
            session_id=record.session_id,
            timeout_s=TIMEOUT_S,
        ) as client:
            record = work(
                record,
                mind,
                bench,
                lambda report: client.turn(**report),
                self.pace,
                show=self.records.put,
            )
            client.close(
                outcome=RUN_OUTCOMES[record.ending],
                final_answer=record.answer,
                timeout_s=CLOSE_S,
            )
            # The client begins another session where the sidecar cannot go on with this one.
            self.records.put(replace(record, session_id=client.session_id))
