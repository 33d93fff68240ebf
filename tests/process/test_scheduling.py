"""Which of the sidecar's threads may take the processor from another one."""

import os
import sys
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from tests.process.streams import agents

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has SCHED_BATCH"),
]


def test_the_threads_that_bring_messages_take_the_processor_from_nobody(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar, agents(sidecar, 2) as fleet:
        for agent in fleet:
            agent.turn(1)
        main = sidecar.process.pid
        tasks = list(Path(f"/proc/{main}/task").iterdir())
        bringing = [task for task in tasks if (task / "comm").read_text() == "event_engine\n"]
        policies = {os.sched_getscheduler(int(task.name)) for task in bringing}
        own = os.sched_getscheduler(main)
    assert own == os.SCHED_OTHER
    assert policies == {os.SCHED_BATCH}
