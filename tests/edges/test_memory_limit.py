"""The memory that the process may have, from both versions of cgroups."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from sidecar.adapters.telemetry.memory_limit import MemoryLimitCollector, memory_limit_bytes

V1, V2 = "sys/fs/cgroup/memory", "sys/fs/cgroup"
MACHINE = {"proc/meminfo": "MemTotal:        2048 kB\nMemFree:          512 kB\n"}
NONE_V1 = "9223372036854771712\n"


def machine(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("why", "files", "limit_bytes"),
    [
        ("no group at all: the machine's", {}, 2048 * 1024),
        (
            "a container's own group is the root that it sees",
            {"proc/self/cgroup": "0::/\n", f"{V2}/memory.max": "4096\n"},
            4096,
        ),
        (
            "no limit is the machine's",
            {"proc/self/cgroup": "0::/a\n", f"{V2}/a/memory.max": "max\n"},
            2048 * 1024,
        ),
        (
            "a slice above may allow less",
            {
                "proc/self/cgroup": "0::/a/b\n",
                f"{V2}/a/b/memory.max": "4096\n",
                f"{V2}/a/memory.max": "1024\n",
            },
            1024,
        ),
        (
            "more than the machine has is no more",
            {"proc/self/cgroup": "0::/\n", f"{V2}/memory.max": f"{1 << 40}\n"},
            2048 * 1024,
        ),
        (
            "version 1, among others",
            {
                "proc/self/cgroup": "9:cpu,cpuacct:/x\n4:memory:/a\n0::/\n",
                f"{V1}/a/memory.limit_in_bytes": "4096\n",
                f"{V1}/memory.limit_in_bytes": NONE_V1,
            },
            4096,
        ),
        (
            "version 1 in a container, whose path is the host's",
            {
                "proc/self/cgroup": "4:memory:/docker/f00\n",
                f"{V1}/memory.limit_in_bytes": "4096\n",
            },
            4096,
        ),
    ],
)
def test_the_least_limit_counts(
    tmp_path: Path, why: str, files: dict[str, str], limit_bytes: int
) -> None:
    assert memory_limit_bytes(machine(tmp_path, {**MACHINE, **files})) == limit_bytes, why


def test_there_is_none_without_a_linux_kernel_to_enforce_it(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    registry.register(MemoryLimitCollector(tmp_path))
    assert memory_limit_bytes(tmp_path) is None
    assert registry.get_sample_value("sidecar_memory_limit_bytes") is None


def test_it_is_read_anew_at_every_scrape(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    registry.register(MemoryLimitCollector(machine(tmp_path, MACHINE)))
    assert registry.get_sample_value("sidecar_memory_limit_bytes") == 2048 * 1024
    machine(tmp_path, {"proc/self/cgroup": "0::/\n", f"{V2}/memory.max": "4096\n"})
    assert registry.get_sample_value("sidecar_memory_limit_bytes") == 4096
