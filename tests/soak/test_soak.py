"""It keeps this up: agents by the hundred and a fault every half minute, for an hour.

SOAK_S sets the length in seconds. In the first third of it the sidecar is killed and stopped again
and again among the other faults; the process that is left then lives through the rest, and what it
takes is judged by that, from where it has met every fault once.
"""

import itertools
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.soak.measuring import Sample, growth, metrics, slope_per_hour, tell, total
from tests.soak.world import AGENTS, ALL, SURVIVED, World

pytestmark = pytest.mark.soak

LENGTH_S: Final = float(os.environ.get("SOAK_S", "3600"))
FAULTS_MIN: Final = 24
"""So many in a short run too: all kinds in the first third, and the survivable ones three times."""
INTERVAL_S: Final = min(30.0, LENGTH_S / FAULTS_MIN)
WARM_UP: Final = 1 / 3
"""Share of the last process's life: all it lives through has come once by then."""

SLOPE_FROM_S: Final = 1500.0
"""Below it a slope per hour says more of single allocations than of an hour."""
SLOPE_MIB_MAX: Final = 1.0
GROWTH_MIB_MAX: Final = 16.0
"""In a run that is too short for a slope, and for the warm-up: in two to ten minutes the messages
of 4 MiB are still new to the allocator, and the bound on sessions is not met."""
FDS_MAX: Final = 3
"""A connection of whoever scrapes or is hostile may be closing while one looks."""
THREADS_MAX: Final = 3
"""gRPC's own come and go."""
SERIES_MAX: Final = 8
"""What happens for the first time has its series from then on."""


KEPT: Final = ("journal", "snapshot", "sweep", "decision")
"""What is given up only where something is wrong; spans are while there is no collector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soaked:
    """What came of it."""

    lives: Sequence[Sequence[Sample]]
    page: Sequence[str]
    """Of /metrics, at the end."""
    report: dict[str, Any]
    exit_code: int
    log: str

    @property
    def warm(self) -> Sequence[Sample]:
        """The last process's samples after its warm-up."""
        last = self.lives[-1]
        return last[int(len(last) * WARM_UP) :]


@pytest.fixture(scope="module")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Soaked]:
    world = World(tmp_path_factory.mktemp("soak"))
    try:
        yield soak(world)
    finally:
        world.close()


def soak(world: World) -> Soaked:
    """The whole of it; what came is also said, for whoever reads along (`pytest -s`)."""
    count = int(LENGTH_S // INTERVAL_S)
    kills = max(len(ALL), count // 3)
    began_s = time.monotonic()
    kinds = [*itertools.islice(itertools.cycle(ALL.items()), kills)]
    kinds += itertools.islice(itertools.cycle(SURVIVED.items()), count - kills)
    for number, (name, fault) in enumerate(kinds, 1):
        # One that took long is not made up for: two at once would be another test.
        world.wait(max(INTERVAL_S / 2, began_s + number * INTERVAL_S - time.monotonic()))
        fault(world)
        world.look()
        tell(f"{time.monotonic() - began_s:6.0f} s {name}: {world.lives[-1][-1]}")
    world.wait(INTERVAL_S)
    report = world.load.end()
    page = metrics(world.sidecar)
    exit_code = world.sidecar.stop()
    tell(report)
    return Soaked(
        lives=world.lives, page=page, report=report, exit_code=exit_code, log=world.sidecar.log
    )


def test_it_neither_crashes_nor_says_that_it_failed(soaked: Soaked) -> None:
    assert soaked.exit_code == 0
    assert "Traceback" not in soaked.log
    assert " ERROR " not in soaked.log
    assert total(soaked.page, "sidecar_refused_total", 'reason="INTERNAL"') == 0
    lost = {what: total(soaked.page, "sidecar_lost_total", f'what="{what}"') for what in KEPT}
    assert lost == dict.fromkeys(KEPT, 0)


def test_every_session_has_one_decision_a_turn_in_order_and_the_same_as_without_faults(
    soaked: Soaked,
) -> None:
    counts = soaked.report["counts"]
    assert soaked.report["faults"] == []
    assert counts["sessions"] > AGENTS
    assert counts["turns"] > AGENTS * LENGTH_S / 4
    assert counts["resumed"] > AGENTS
    assert counts["told unasked"] > 0
    assert counts["broken: FAILED_PRECONDITION SESSION_CLOSED"] > 0


def test_its_memory_does_not_grow(soaked: Soaked) -> None:
    points = [(one.age_s, one.rss_mib) for one in soaked.warm]
    if points[-1][0] - points[0][0] >= SLOPE_FROM_S:
        assert slope_per_hour(points) < SLOPE_MIB_MAX
    else:
        assert growth([rss for _, rss in points]) < GROWTH_MIB_MAX


def test_its_descriptors_threads_and_series_stay_as_they_are(soaked: Soaked) -> None:
    assert growth([one.fds for one in soaked.warm]) <= FDS_MAX
    assert growth([one.threads for one in soaked.warm]) <= THREADS_MAX
    assert growth([one.series for one in soaked.warm]) <= SERIES_MAX
