"""Where each configuration breaks each run: folded once, here or in several processes."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from sidecar.adapters.convert import TurnBounds
from sidecar.config.policies import policy_from
from sidecar.core.policy import Policy
from sidecar.core.reading import Severity
from sidecar.evaluation.detecting import PolicyDetector, first
from sidecar.evaluation.runs import RecordedRun, read_run
from sidecar.presets import preset
from sidecar.tuning.figures import Breaks
from sidecar.tuning.space import Configuration, Space
from sidecar.tuning.writing import changes_of, nearest_preset


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """The runs to fold, as another process can be told of them."""

    files: tuple[Path, ...]
    bounds: TurnBounds
    policy: str
    changes: Mapping[str, Any]
    """What the policy is, as a configuration file says it."""

    @staticmethod
    def under(policy: Policy, files: Sequence[Path], bounds: TurnBounds) -> "Runs":
        """These files under this policy."""
        return Runs(
            files=tuple(files),
            bounds=bounds,
            policy=policy.name,
            changes=changes_of(policy, nearest_preset(policy)),
        )


class Folder:
    """Folds the runs under one configuration after another."""

    def __init__(self, runs: Runs) -> None:
        """Reads the files. Raises RunUnreadableError and OSError."""
        self._space = Space(policy_from(runs.policy, runs.changes, base=preset("default")))
        self._runs = [replace(read_run(path), bounds=runs.bounds) for path in runs.files]

    def breaks(self, configuration: Configuration) -> Breaks:
        """Where the configuration breaks each run. It must be one that the space has."""
        policy = self._space.at(configuration)
        if policy is None:
            raise ValueError(f"the thresholds contradict one another: {configuration}")
        detector = PolicyDetector(policy=policy)
        return tuple(_break(detector, run) for run in self._runs)


def _break(detector: PolicyDetector, run: RecordedRun) -> int:
    mark = first(detector.marks(run), Severity.BREAK)
    return mark.sequence if mark else 0


class FoldingEndedError(RuntimeError):
    """A process that folds runs ended before its time."""


Folding: TypeAlias = Callable[[Sequence[Configuration]], Sequence[Breaks]]
"""Folds several configurations at once: where each breaks, in their order."""


@contextmanager
def folding(runs: Runs, processes: int) -> Iterator[Folding]:
    """Folding in so many processes; with one, in this. What comes out is the same.

    Raises FoldingEndedError where a process ends before its time.
    """
    if processes == 1:
        folder = Folder(runs)
        yield lambda wanted: [folder.breaks(each) for each in wanted]
        return
    # Started afresh rather than forked: this process may have threads, and a fork copies one.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(runs,))
    try:
        yield lambda wanted: list(pool.map(_breaks, wanted))
    except BrokenProcessPool:
        raise FoldingEndedError("a process that folds runs ended early") from None
    finally:
        pool.shutdown(cancel_futures=True)


_FOLDERS: Final[list[Folder]] = []
"""In a process of the pool the one that it folds with: a pool has no other place for it."""


def _begin(runs: Runs) -> None:
    # Ctrl-C reaches all processes of a terminal; the one that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _FOLDERS.append(Folder(runs))


def _breaks(configuration: Configuration) -> Breaks:
    return _FOLDERS[0].breaks(configuration)
