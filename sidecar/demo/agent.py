"""One agent: its mind moves, its bench carries the move out, the sidecar is told and answers."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from sidecar.client import Directive, Kind, TurnReport
from sidecar.demo.measuring import INSTRUCTIONS_TOKENS, Measured, report, spend
from sidecar.demo.mind import Mind, Move, Result, Seen
from sidecar.demo.processes import Stopped
from sidecar.demo.record import Ending, Record
from sidecar.demo.workshop import Bench

TURN_S: Final = 0.5
"""From one turn to the next at speed 1: what a person can follow."""

Report: TypeAlias = Callable[[TurnReport], Directive]
"""Tells the sidecar of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast an agent goes, and until when."""

    speed: float
    """1: two turns a second."""
    stop: threading.Event
    """Set when the demo is over."""

    def pause(self, *, began_s: float, least_s: float) -> None:
        """Wait until the next turn of one that began then is due, or the demo is over."""
        due_s = began_s + TURN_S / self.speed
        self.stop.wait(max(least_s, due_s - time.monotonic()))


def work(
    record: Record,
    mind: Mind,
    bench: Bench,
    tell: Report,
    pace: Pace,
    *,
    show: Callable[[Record], None],
) -> Record:
    """Run a mind to its end on a bench; `show` gets its record after each turn.

    A halt, or the end of the demo, ends it before.
    """
    script = mind.script(pace.speed)
    tokens = INSTRUCTIONS_TOKENS
    try:
        move = next(script)
        while not pace.stop.is_set():
            began_s = time.monotonic()
            turn = _carry_out(move, bench)
            spent = spend(tokens, turn, window=mind.window_tokens)
            directive = tell(report(turn, spent, mind))
            tokens = spent.context
            record = record.after(directive, spent, move.final_answer)
            show(record)
            if directive.kind is Kind.HALT:
                return replace(record, ending=Ending.HALTED)
            pace.pause(began_s=began_s, least_s=move.pause_s)
            move = script.send(Seen(results=turn.results, directive=directive))
    except StopIteration:
        return replace(record, ending=Ending.ANSWERED)
    except Stopped:
        pass
    finally:
        bench.close()
    return replace(record, ending=Ending.CANCELLED)


def _carry_out(move: Move, bench: Bench) -> Measured:
    results: list[Result] = []
    durations_s: list[float] = []
    for call in move.calls:
        began_s = time.monotonic()
        results.append(bench.do(call))
        durations_s.append(time.monotonic() - began_s)
    return Measured(move=move, results=tuple(results), durations_s=tuple(durations_s))
