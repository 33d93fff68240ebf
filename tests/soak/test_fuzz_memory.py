"""Hostile input does no harm, however long it comes: the process is alive, the next legal turn is
answered, and memory is flat. SOAK_S sets the length of the soak; this takes a sixth of it."""

import os
from pathlib import Path
from typing import Final

import pytest

from sidecar.testing import SidecarProcess
from tests.soak.measuring import growth, sample, tell
from tests.soak.world import FLAGS, hostile

pytestmark = pytest.mark.soak

LENGTH_S: Final = float(os.environ.get("SOAK_S", "3600")) / 6
SEED: Final = 20261122
WARM_UP: Final = 1 / 2
"""Share of the rounds after which sessions go as fast as they come, and memory is used again."""
GROWTH_MIB_MAX: Final = 8.0
"""Two messages of 4 MiB, of dozens that come every second."""
FDS_MAX: Final = 3
THREADS_MAX: Final = 3


def test_under_hostile_input_memory_is_flat(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path, flags=FLAGS) as sidecar:
        with hostile(tmp_path, seed=SEED, seconds=LENGTH_S) as rounds:
            samples = [sample(sidecar, age_s=float(number)) for number in rounds]
        exit_code = sidecar.stop()
    warm = samples[int(len(samples) * WARM_UP) :]
    for one in warm[:: max(1, len(warm) // 20)]:
        tell(one)

    assert exit_code == 0
    assert "Traceback" not in sidecar.log
    assert growth([one.rss_mib for one in warm]) < GROWTH_MIB_MAX
    assert growth([one.fds for one in warm]) <= FDS_MAX
    assert growth([one.threads for one in warm]) <= THREADS_MAX
