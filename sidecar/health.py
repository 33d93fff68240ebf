"""The sidecar's own health, in three answers: does it turn, does it accept, how is each part.

`/livez` and `/readyz` are for a process supervisor, `/statusz` is for a person. A part that is down
(a collector, a disk) shows in the third answer only: restarting the sidecar would not mend it.
"""

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from sidecar.ports import Clock

HEARTBEAT_MAX_S: Final = 1.0
"""A loop that has not turned for so long answers nobody: clients gave up on it five times over
(they wait 0.2 s)."""

ERROR_BYTES_MAX: Final = 512

_log = logging.getLogger(__name__)


class Phase(Enum):
    """Where the process stands."""

    STARTING = "starting"
    ACCEPTING = "accepting"
    DRAINING = "draining"


class Status(Enum):
    """How one part is."""

    STARTING = "starting"
    OK = "ok"
    RECOVERABLE = "recoverable"
    """Fails now, and may work again without a restart."""
    PERMANENT = "permanent"
    """Fails until somebody changes something and restarts."""
    STOPPING = "stopping"


STATUS_TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = MappingProxyType(
    {
        Status.STARTING: frozenset(Status),
        Status.OK: frozenset({Status.OK, Status.RECOVERABLE, Status.PERMANENT, Status.STOPPING}),
        Status.RECOVERABLE: frozenset(
            {Status.OK, Status.RECOVERABLE, Status.PERMANENT, Status.STOPPING}
        ),
        Status.PERMANENT: frozenset({Status.PERMANENT, Status.STOPPING}),
        Status.STOPPING: frozenset({Status.STOPPING}),
    }
)
"""Permanent is permanent, and nothing comes back from stopping."""

PHASE_TRANSITIONS: Final[Mapping[Phase, frozenset[Phase]]] = MappingProxyType(
    {
        Phase.STARTING: frozenset({Phase.STARTING, Phase.ACCEPTING, Phase.DRAINING}),
        Phase.ACCEPTING: frozenset({Phase.ACCEPTING, Phase.DRAINING}),
        Phase.DRAINING: frozenset({Phase.DRAINING}),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A yes or no with its reason."""

    ok: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How a part is, and since when."""

    status: Status = Status.STARTING
    since_s: float
    """When the status was taken on, in seconds since the epoch."""
    error: str = ""
    """The last error, kept after it is over; empty: none yet."""
    error_s: float | None = None
    """When it last happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What runs: shown, not judged."""

    version: str = ""
    policies: Mapping[str, str] = field(default_factory=dict)
    """Revision by name."""
    bounds: Mapping[str, float] = field(default_factory=dict)


class Component:
    """One part's own view of itself. Every method may be called from any thread."""

    def __init__(self, name: str, clock: Clock) -> None:
        """Begin as starting."""
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._condition = Condition(since_s=clock.now_s())

    @property
    def condition(self) -> Condition:
        """How it is now."""
        return self._condition

    def ok(self) -> bool:
        """It works."""
        return self._take_on(Status.OK)

    def recoverable(self, error: str) -> bool:
        """It fails and may work again by itself."""
        return self._take_on(Status.RECOVERABLE, error)

    def permanent(self, error: str) -> bool:
        """It fails until somebody does something about it."""
        return self._take_on(Status.PERMANENT, error)

    def stopping(self) -> bool:
        """It is being shut down."""
        return self._take_on(Status.STOPPING)

    def _take_on(self, status: Status, error: str = "") -> bool:
        """Whether the table allowed it: late news from a part that is stopping changes nothing."""
        with self._lock:
            before = self._condition
            if status not in STATUS_TRANSITIONS[before.status]:
                return False
            if status is before.status and not error:
                return True
            if status is not before.status:
                self._say(status, error)
            now_s = self._clock.now_s()
            self._condition = Condition(
                status=status,
                since_s=before.since_s if status is before.status else now_s,
                error=_cut(error) if error else before.error,
                error_s=now_s if error else before.error_s,
            )
            return True

    def _say(self, status: Status, error: str) -> None:
        match status:
            case Status.RECOVERABLE | Status.PERMANENT:
                _log.warning("%s is %s: %s", self._name, status.value, _cut(error))
            case Status.STARTING | Status.OK | Status.STOPPING:
                _log.info("%s is %s", self._name, status.value)


class Health:
    """The three answers. Every method may be called from any thread."""

    def __init__(self, clock: Clock, *, heartbeat_max_s: float = HEARTBEAT_MAX_S) -> None:
        """Begin as starting, with a heartbeat of now.

        A loop whose last heartbeat is older than `heartbeat_max_s` seconds counts as stuck.
        """
        self._clock = clock
        self._heartbeat_max_s = heartbeat_max_s
        self._lock = threading.Lock()
        self._phase = Phase.STARTING
        self._started_s = clock.monotonic_s()
        self._beat_s = self._started_s
        self._about = About()
        self._components: dict[str, Component] = {}

    def beat(self) -> None:
        """The event loop turns. To be called from it, several times per `heartbeat_max_s`."""
        self._beat_s = self._clock.monotonic_s()

    def accepting(self) -> bool:
        """Agents are served from now on; False while draining, which does not end."""
        return self._enter(Phase.ACCEPTING)

    def draining(self) -> bool:
        """No new work from now on."""
        return self._enter(Phase.DRAINING)

    def about(self, about: About) -> None:
        """Say what runs; replaces what was said before."""
        self._about = about

    def component(self, name: str) -> Component:
        """The part of that name, which begins as starting when asked for first."""
        with self._lock:
            return self._components.setdefault(name, Component(name, self._clock))

    @property
    def components(self) -> Mapping[str, Condition]:
        """How each part is, in the order they were named."""
        with self._lock:
            parts = list(self._components.items())
        return {name: part.condition for name, part in parts}

    @property
    def uptime_s(self) -> float:
        """Seconds since it began, by a clock that nobody sets."""
        return self._clock.monotonic_s() - self._started_s

    def livez(self) -> Answer:
        """Whether the event loop turns. True while draining: a drain must not be killed."""
        age_s = self._clock.monotonic_s() - self._beat_s
        if age_s < self._heartbeat_max_s:
            return Answer(ok=True, text="ok")
        return Answer(ok=False, text=f"the event loop has not turned for {age_s:.1f} s")

    def readyz(self) -> Answer:
        """Whether agents are accepted."""
        phase = self._phase
        return Answer(ok=phase is Phase.ACCEPTING, text=phase.value)

    def statusz(self) -> dict[str, Any]:
        """Everything, as values that JSON knows; times are seconds since the epoch."""
        about = self._about
        return {
            "version": about.version,
            "phase": self._phase.value,
            "live": self.livez().ok,
            "uptime_s": round(self.uptime_s, 3),
            "components": {
                name: {
                    "status": condition.status.name,
                    "since_s": condition.since_s,
                    "last_error": condition.error or None,
                    "last_error_s": condition.error_s,
                }
                for name, condition in self.components.items()
            },
            "policies": dict(about.policies),
            "bounds": dict(about.bounds),
        }

    def _enter(self, phase: Phase) -> bool:
        with self._lock:
            if phase not in PHASE_TRANSITIONS[self._phase]:
                return False
            self._phase = phase
            return True


def _cut(error: str) -> str:
    """An error's text within ERROR_BYTES_MAX, on one line."""
    line = " ".join(error.split())
    return line.encode("utf-8", "replace")[:ERROR_BYTES_MAX].decode("utf-8", "ignore")
