"""Makes runs visible: the Recorder that production uses."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from opentelemetry.trace import SpanContext

from sidecar.adapters.telemetry.exporting import SpanQueue
from sidecar.adapters.telemetry.model_metrics import ModelMetrics
from sidecar.adapters.telemetry.process_metrics import ProcessMetrics
from sidecar.adapters.telemetry.run_metrics import RunMetrics
from sidecar.adapters.telemetry.spans import Spans
from sidecar.adapters.telemetry.trace_context import parse_traceparent
from sidecar.adapters.telemetry.trails import Trail, Trails
from sidecar.core.directive import Decision, Rotate, Strength
from sidecar.core.opening import Closing, Command, Mode, is_answer
from sidecar.core.policy import Policy
from sidecar.core.rotations import NONE_ROTATED, RotationOutcome, follow, unsent
from sidecar.core.turn import Turn
from sidecar.ports import Clock, ModelCall, Rejected, SessionFacts
from sidecar.sessions.give_ups import INTERNAL

logger = logging.getLogger(__name__)


Soon: TypeAlias = Callable[[Callable[[], None]], object]
"""Has something done once what is under way is done."""


def at_once(do: Callable[[], None]) -> None:
    """The `Soon` of who has nothing under way."""
    do()


class Decided(NamedTuple):
    """A decision that is still to be recorded."""

    session: SessionFacts
    turn: Turn
    decision: Decision
    received_s: float
    duration_s: float
    budget_left: float | None


class Telemetry:
    """A Recorder that counts everything, and exports spans where a collector is configured.

    All methods of a session are called from one thread, the event loop's; `refused`, `lost`
    and `missing` from any.

    A decision is recorded soon after it was made, and before whatever happens to a session next.
    So agents have their answers first, and the decisions of a moment are recorded one after the
    other, by code that is then in the processor's caches.
    """

    def __init__(
        self,
        *,
        runs: RunMetrics,
        process: ProcessMetrics,
        models: ModelMetrics,
        spans: Spans | None,
        queue: SpanQueue | None,
        trails: Trails,
        clock: Clock,
        soon: Soon,
    ) -> None:
        """Use what `sidecar.adapters.telemetry.build` has built. `soon` puts off the recording of
        decisions."""
        self._runs = runs
        self._process = process
        self._models = models
        self._spans = spans
        self._queue = queue
        self._trails = trails
        self._clock = clock
        self._soon = soon
        self._decided: deque[Decided] = deque()
        self._has_said_previous_missing = False

    def opened(self, session: SessionFacts, *, resumed: bool) -> None:
        """A session was opened, or resumed."""
        self._catch_up()
        previous = session.opening.previous_session_id
        if resumed:
            self._runs.opened(self._trails.of(session), how="resumed")
            return
        trail = self._trails.begin(session)
        before = self._trails.find(previous) if previous else None
        if before is not None:
            trail.previous = before.last
        if session.previous_missing:
            self._say_previous_missing(session)
        self._runs.opened(trail, how=_how(session))

    def _say_previous_missing(self, session: SessionFacts) -> None:
        """Log it, the first time only: a fleet whose sidecar lost its state does this by the
        hundred, and the metric counts them."""
        if not self._has_said_previous_missing:
            self._has_said_previous_missing = True
            logger.warning(
                "session %r was to go on from %r, which is not held: it begins afresh, as will "
                'others like it, counted in sidecar_sessions_opened_total{how="orphaned"}',
                session.opening.session_id,
                session.opening.previous_session_id,
            )

    def decided(
        self,
        session: SessionFacts,
        turn: Turn,
        decision: Decision,
        *,
        received_s: float,
        budget_left: float | None = None,
    ) -> None:
        """A turn was counted and decided on; `received_s` in seconds since the epoch."""
        duration_s = max(0.0, self._clock.now_s() - received_s)
        self._decided.append(Decided(session, turn, decision, received_s, duration_s, budget_left))
        if len(self._decided) == 1:
            self._soon(self._catch_up)

    def _catch_up(self) -> None:
        try:
            while self._decided:
                self._record(self._decided.popleft())
        finally:
            if self._decided:  # one that cannot be recorded keeps none of the others from it
                self._soon(self._catch_up)

    def _record(self, decided: Decided) -> None:
        session, turn, decision, received_s, duration_s, budget_left = decided
        trail = self._trails.of(session)
        if budget_left is not None:
            self._runs.committed(budget_left)
        self._follow(trail, session, turn, decision)
        if self._spans is None:
            context = _of_agent(turn)
        else:
            context = self._spans.turn(trail, turn, decision, received_s=received_s)
        self._runs.turn(trail, turn, decision, duration_s=duration_s, context=context)

    def rejected(self, session: SessionFacts, rejected: Rejected, decision: Decision) -> None:
        """A turn was not counted."""
        self._catch_up()
        trail = self._trails.of(session)
        if self._spans is not None:
            self._spans.rejected(trail, rejected, decision, now_s=self._clock.now_s())
        self._runs.rejected(trail, rejected.rejection.reason, decision)

    def commanded(self, session: SessionFacts, command: Command, decision: Decision) -> None:
        """Somebody other than the agent acted on the run."""
        self._catch_up()
        trail = self._trails.of(session)
        if self._spans is not None:
            self._spans.command(trail, command, decision, now_s=self._clock.now_s())
        if is_answer(command):
            trail.rotated = unsent(trail.rotated)
        self._runs.commanded(trail, command, decision)

    def closed(
        self,
        session: SessionFacts,
        closing: Closing,
        *,
        turns: int,
        opened_s: float,
        strongest: Strength,
    ) -> None:
        """The run is over."""
        self._catch_up()
        trail = self._trails.of(session)
        now_s = self._clock.now_s()
        for rotated in trail.rotated:
            self._runs.rotated(rotated.signal, RotationOutcome.RUN_OVER)
        trail.rotated = NONE_ROTATED
        if self._spans is not None:
            self._spans.session(
                trail, closing, strongest, turns=turns, opened_s=opened_s, now_s=now_s
            )
        duration_s = max(0.0, now_s - opened_s)
        self._runs.closed(trail, closing, strongest, turns=turns, duration_s=duration_s)

    def _follow(self, trail: Trail, session: SessionFacts, turn: Turn, decision: Decision) -> None:
        """Count what the rotates sent to this agent achieved; an observed agent is sent none."""
        is_rotate = type(decision.directive) is Rotate
        if not (trail.rotated or is_rotate) or session.opening.mode is Mode.OBSERVE:
            return
        trail.rotated, shown = follow(trail.rotated, turn.actor, decision)
        for signal, outcome in shown:
            self._runs.rotated(signal, outcome)

    def detached(self, session: SessionFacts, *, reason: str) -> None:
        """A session left memory; its trail stays for a while, for it may be resumed."""
        self._catch_up()
        self._trails.leave(session.opening.session_id)
        self._runs.detached(reason)

    def sessions(self, by_state: dict[str, int], *, held: int, streams: int) -> None:
        """Open sessions by state of the breaker, all that are in memory, and open streams."""
        self._runs.sessions(by_state, held=held, streams=streams)

    def refused(self, reason: str) -> None:
        """A call or stream was refused or ended, by the reason of the error table."""
        self._process.refused(reason)

    def lost(self, what: str, reason: str, count: int = 1) -> None:
        """Something accepted was given up: what (journal, snapshot, ...) and why."""
        self._process.lost_items(what, reason, count)

    def missing(self, count: int) -> None:
        """Turns that neither side has any more."""
        self._runs.missing(count)

    def gave_up(self, session: SessionFacts, reason: str, count: int) -> None:
        """The client of a session went on without a decision so many times."""
        self._process.gave_up(reason, count)
        if reason != INTERNAL:
            self._catch_up()
            self._runs.gave_up(self._trails.of(session), count)

    def asked(self, call: ModelCall) -> None:
        """A model was asked."""
        self._catch_up()
        self._models.asked(call)
        if self._spans is not None:
            trail = self._trails.find(call.session_id) if call.session_id else None
            self._spans.model_call(call, trail)

    def committed(self, source: str, signal: str) -> None:
        """A forced commit was made: where its answer is from, and the signal that caused it."""
        self._models.committed(source, signal)

    def reviewed(self, verdict: str) -> None:
        """An answer was reviewed: the verdict, or `error`."""
        self._models.reviewed(verdict)

    def judged(self, verdict: str) -> None:
        """A run was to be judged: what the judge found, or why it found nothing."""
        self._models.judged(verdict)

    def loop_lag(self, seconds: float) -> None:
        """The event loop's heartbeat came so late."""
        self._process.loop_lag(seconds)

    def configured(self, policies: Iterable[Policy], bounds: Mapping[str, float]) -> None:
        """The policies and bounds in force; replaces those said before."""
        self._process.configured(policies, bounds)

    def close(self, *, within_s: float) -> int:
        """Export the spans that wait, for `within_s` seconds and a little; once.

        Returns how many were lost by closing. What is recorded later is counted, but not exported.
        """
        self._catch_up()
        return 0 if self._queue is None else self._queue.close(within_s=within_s)


def _how(session: SessionFacts) -> str:
    """How a session that was not resumed began."""
    if session.previous_missing:
        return "orphaned"
    return "continued" if session.opening.previous_session_id else "new"


def _of_agent(turn: Turn) -> SpanContext | None:
    """The agent's own span for an exemplar, where the agent says that it is kept."""
    parent = parse_traceparent(turn.traceparent) if turn.traceparent else None
    return parent if parent is not None and parent.trace_flags.sampled else None
