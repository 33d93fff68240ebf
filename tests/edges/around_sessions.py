"""Sessions and what they stand on, an agent that listens, and a run that waits for a person."""

from dataclasses import dataclass, field, replace

from sidecar.core.directive import Action, Decision
from sidecar.core.limits import Limits
from sidecar.core.opening import Mode, Opening
from sidecar.core.reading import Severity
from sidecar.core.turn import Turn
from sidecar.nowhere import NoKeeper
from sidecar.policies import Policies
from sidecar.presets import preset
from sidecar.refusal import Refusal
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import SessionBounds, Sessions
from sidecar.testing import FakeClock, MemoryRecorder, MemoryStore
from tests.core.scripted import FOUNDING

PAUSING = replace(
    FOUNDING,
    name="pausing",
    on={Severity.WARNING: Action.PAUSE, Severity.BREAK: Action.COMMIT},
    revision="",
)
WAIT_MAX_S = PAUSING.staging.wait_max_s


@dataclass(slots=True)
class Listening:
    """An agent's end of a stream."""

    heard: list[Decision] = field(default_factory=list)

    def send(self, decision: Decision) -> None:
        self.heard.append(decision)

    def drain(self) -> None:
        raise AssertionError("nobody drains here")

    def end(self, refusal: Refusal) -> None:
        raise AssertionError(refusal)


@dataclass(slots=True)
class Around:
    """Sessions, and what they stand on; `sessions()` again is a restart."""

    ceiling: Limits = field(default_factory=Limits)
    default: str = "default"
    clock: FakeClock = field(default_factory=FakeClock)
    recorder: MemoryRecorder = field(default_factory=MemoryRecorder)
    store: MemoryStore = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(lost=self.recorder.lost)

    def sessions(self) -> Sessions:
        policies = {name: preset(name) for name in ("default", "gaia", "debug")}
        return Sessions(
            policies=Policies(
                by_name={**policies, "pausing": PAUSING}, default=self.default, ceiling=self.ceiling
            ),
            bounds=SessionBounds(),
            clock=self.clock,
            journal=self.store,
            snapshots=self.store,
            recorder=self.recorder,
            keeper=NoKeeper(),
        )


def warned(
    sessions: Sessions, listening: Listening | None, *, mode: Mode = Mode.ENFORCE
) -> tuple[Session, Decision]:
    """A run whose first turn is answered with a wait for a person."""
    opening = Opening(session_id="s", policy="pausing", mode=mode)
    session, _ = sessions.open(opening, listening)
    return session, sessions.turn(session, Turn(sequence=1, id="aw"), bytes(8))
