"""How much memory the process may have, as the kernel will enforce it."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from sidecar.adapters.semconv import metrics as inventory

ROOT: Final = Path("/")

UNLIMITED_BYTES: Final = 1 << 60
"""Version 1 of cgroups says "no limit" by a number just below 2**63."""

KIB: Final = 1024


def memory_limit_bytes(root: Path) -> int | None:
    """The least of the limits of the process's cgroups and of the machine's memory, in bytes.

    Both versions of cgroups are read, from `root` on: the process's own group and all above it. In
    a container the groups above are out of sight, and its own stands at the mount. None: not Linux.
    """
    return min((*_group_limits(root), *_machine(root)), default=None)


def _machine(root: Path) -> Iterator[int]:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemTotal:"):
            yield int(line.split()[1]) * KIB


def _group_limits(root: Path) -> Iterator[int]:
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _limits(root / "sys/fs/cgroup", path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes")


def _limits(mount: Path, path: str, file: str) -> Iterator[int]:
    group = mount / path.lstrip("/")
    for each in (group, *group.parents):
        if not each.is_relative_to(mount):
            return
        for limit in _lines(each / file):
            if limit.isdecimal() and int(limit) < UNLIMITED_BYTES:
                yield int(limit)


def _lines(path: Path) -> list[str]:
    """None where there is no such file, or none for us."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


class MemoryLimitCollector(Collector):
    """The limit as a metric, read when somebody scrapes: a container may be resized."""

    def __init__(self, root: Path = ROOT) -> None:
        """Read it from the files below `root`."""
        self._root = root

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The name, so that the registry can refuse doubles."""
        return [GaugeMetricFamily(inventory.MEMORY_LIMIT.name, inventory.MEMORY_LIMIT.help)]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The value."""
        (family,) = self.describe()
        limit_bytes = memory_limit_bytes(self._root)
        if limit_bytes is not None:
            family.add_metric([], limit_bytes)
        return [family]
