"""The demo's minds without a server: work on a bench, folded and answered in this process."""

import threading
from collections.abc import Callable
from pathlib import Path

from sidecar.adapters.convert import TurnReader, decision_out
from sidecar.client import Directive, TurnReport
from sidecar.client.compose import compose_turn
from sidecar.client.decision import directive_of
from sidecar.client.intake import Intake
from sidecar.core.run import Run
from sidecar.core.turn import Turn
from sidecar.demo.agent import Pace, Report, work
from sidecar.demo.cast import Part
from sidecar.demo.mind import Mind
from sidecar.demo.processes import processes
from sidecar.demo.record import Record
from sidecar.demo.workshop import Bench
from sidecar.presets import preset

FAST = 100.0
"""Speed at which a turn takes 5 ms beside its work."""


def folded() -> Report:
    """What answers as a sidecar would under the default policy."""
    policy = preset("default")
    reader = TurnReader(key=bytes(16), lens=policy.lens)
    run = Run.start("demo", policy)

    def tell(report: TurnReport) -> Directive:
        nonlocal run
        intake = Intake()
        wire = compose_turn(report, intake, began_s=1e9, ended_s=1e9)
        assert not intake.faults, intake.faults
        wire.sequence = run.state.sequence + 1
        turn = reader.read(wire)
        assert isinstance(turn, Turn)
        run, decision = run.advance(turn)
        return directive_of(decision_out(decision), late=False, reason=None)

    return tell


def unwatched(_report: TurnReport) -> Directive:
    """What answers where no sidecar is."""
    return Directive()


def played(
    mind: Mind, folder: Path, tell: Report, *, show: Callable[[Record], None] = lambda _: None
) -> Record:
    """A mind's whole run, its work real."""
    with processes(running_max=2) as running:
        bench = Bench(folder / mind.name, mind.files, running)
        record = Record(part=Part(name=mind.name, role=mind), session_id=mind.name)
        pace = Pace(speed=FAST, stop=threading.Event())
        return work(record, mind, bench, tell, pace, show=show)
