"""The metrics of runs: turns, decisions, sessions."""

from math import isfinite
from typing import Final

from opentelemetry.trace import SpanContext

from sidecar.adapters.semconv import metrics as inventory
from sidecar.adapters.telemetry.families import Families
from sidecar.adapters.telemetry.label_values import LabelValues
from sidecar.adapters.telemetry.trails import Trail
from sidecar.adapters.telemetry.wording import (
    STRENGTH_NAMES,
    command_name,
    severity_name,
)
from sidecar.core.bounds import occupancy
from sidecar.core.breaker import State
from sidecar.core.directive import Decision, Strength, strength_of
from sidecar.core.opening import Closing, Command
from sidecar.core.rotations import RotationOutcome
from sidecar.core.turn import NO_USAGE, Turn, Usage

NAMES_MAX: Final = 64
"""Signals, reasons and outcomes are named by this program, and fewer; the bound is against
mistakes."""

NO_SIGNAL: Final = "none"


class RunMetrics:
    """Counts what happens to runs. No method blocks or raises."""

    def __init__(self, families: Families, *, label_values_max: int) -> None:
        """Register the metrics; bound the label `tool` to `label_values_max` values."""
        self._tools = LabelValues(label_values_max)
        self._signals = LabelValues(NAMES_MAX)
        self._reasons = LabelValues(NAMES_MAX)
        self._turns = families.children(inventory.TURNS_COUNTED)
        self._rejected = families.children(inventory.TURNS_REJECTED)
        self._missing = families.counter(inventory.TURNS_MISSING)
        self._turn_duration = families.histogram(inventory.TURN_DURATION)
        self._tokens = families.children(inventory.TOKENS)
        self._cost = families.children(inventory.COST_USD)
        self._context = families.histogram(inventory.CONTEXT_RATIO)
        self._tool_calls = families.children(inventory.TOOLS_CALLED)
        self._decisions = families.children(inventory.DECISIONS)
        self._decision_duration = families.histogram(inventory.DECISION_DURATION)
        self._gave_up = families.children(inventory.AGENT_FAIL_OPEN)
        self._rotations = families.children(inventory.ROTATIONS)
        self._budget_left = families.histogram(inventory.COMMIT_BUDGET_LEFT)
        self._withheld = families.counter(inventory.WITHHELD)
        self._readings = families.children(inventory.READINGS)
        self._state_changes = families.children(inventory.STATE_CHANGES)
        self._commands = families.children(inventory.COMMANDS)
        self._sessions = families.gauge(inventory.SESSIONS)
        self._held = families.gauge(inventory.SESSIONS_HELD)
        self._streams = families.gauge(inventory.STREAMS)
        self._opened = families.children(inventory.SESSIONS_OPENED)
        self._detached = families.children(inventory.SESSIONS_DETACHED)
        self._runs = families.children(inventory.RUNS)
        self._session_turns = families.histogram(inventory.SESSION_TURNS)
        self._session_duration = families.histogram(inventory.SESSION_DURATION)
        self.sessions({}, held=0, streams=0)

    def opened(self, trail: Trail, *, how: str) -> None:
        """A session was opened: new, resumed, continued or orphaned."""
        self._opened[trail.agent, how, *trail.extra].inc()
        self.gave_up(trail, 0)  # a rate needs to see the 0 before the first 1

    def turn(
        self,
        trail: Trail,
        turn: Turn,
        decision: Decision,
        *,
        duration_s: float,
        context: SpanContext | None,
    ) -> None:
        """A turn was decided on within `duration_s` seconds; its span, or its agent's, is
        `context`."""
        exemplar = None if context is None else {"trace_id": f"{context.trace_id:032x}"}
        self._turns[trail.agent, trail.model, trail.mode, *trail.extra].inc()
        self._decision_duration.observe(duration_s, exemplar)
        self._decide(trail, decision, exemplar)
        if turn.usage is not NO_USAGE:
            self._spend(trail, turn.usage)
        if (share := occupancy(turn)) is not None:
            self._context.observe(share)
        for call in turn.tool_calls:
            self._tool_calls[self._tools.fold(call.name), call.outcome.value].inc()
        if turn.start_s is not None and turn.end_s is not None:
            took_s = turn.end_s - turn.start_s
            if took_s >= 0 and isfinite(took_s):
                self._turn_duration.observe(took_s)

    def rejected(self, trail: Trail, reason: str, decision: Decision) -> None:
        """A turn was not counted."""
        self._rejected[(self._reasons.fold(reason),)].inc()
        self._decide(trail, decision, None)

    def commanded(self, trail: Trail, command: Command, decision: Decision) -> None:
        """Somebody acted on a run."""
        self._commands[(command_name(command),)].inc()
        self._decide(trail, decision, None)

    def committed(self, budget_left: float) -> None:
        """A run was told to commit for the first time, with such a share of its limits left."""
        self._budget_left.observe(budget_left)

    def rotated(self, signal: str, outcome: RotationOutcome) -> None:
        """What a rotate achieved shows now."""
        self._rotations[self._signals.fold(signal), outcome.value].inc()

    def closed(
        self,
        trail: Trail,
        closing: Closing,
        strongest: Strength,
        *,
        turns: int,
        duration_s: float,
    ) -> None:
        """A run is over, and its strongest directive was that one."""
        self._runs[
            trail.agent,
            closing.outcome.value,
            STRENGTH_NAMES[strongest],
            "yes" if closing.has_final_answer else "no",
            trail.policy,
            *trail.extra,
        ].inc()
        self._session_turns.observe(turns)
        self._session_duration.observe(duration_s)

    def detached(self, reason: str) -> None:
        """A session left memory."""
        self._detached[(self._reasons.fold(reason),)].inc()

    def gave_up(self, trail: Trail, count: int) -> None:
        """The agent's client went on without a decision."""
        self._gave_up[trail.agent, *trail.extra].inc(count)

    def missing(self, count: int) -> None:
        """Turns are gone for good."""
        self._missing.inc(count)

    def sessions(self, by_state: dict[str, int], *, held: int, streams: int) -> None:
        """What is held now."""
        for state in State:
            self._sessions.labels(state.value).set(by_state.get(state.value, 0))
        self._held.set(held)
        self._streams.set(streams)

    def _decide(self, trail: Trail, decision: Decision, exemplar: dict[str, str] | None) -> None:
        strength = strength_of(decision.directive)
        signal = self._signals.fold(decision.signal) if decision.signal else NO_SIGNAL
        names = STRENGTH_NAMES[strength], signal, decision.cause.value
        series = *names, trail.mode, trail.policy
        self._decisions[series].inc(1, exemplar if strength > Strength.PROCEED else None)
        if decision.overridden:
            self._withheld.inc()
        for reading in decision.readings:
            self._readings[self._signals.fold(reading.signal), severity_name(reading)].inc()
        if decision.state is not decision.state_before:
            self._state_changes[decision.state_before.value, decision.state.value].inc()

    def _spend(self, trail: Trail, usage: Usage) -> None:
        """Add tokens and cost; what is absent, negative or no number adds nothing."""
        for kind, tokens in (
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cache_read", usage.cache_read_input_tokens),
            ("cache_write", usage.cache_write_input_tokens),
        ):
            if tokens is not None and tokens > 0:
                self._tokens[trail.agent, trail.model, kind, *trail.extra].inc(tokens)
        cost_usd = usage.cost_usd
        if cost_usd is not None and cost_usd > 0 and isfinite(cost_usd):
            self._cost[trail.agent, trail.model, *trail.extra].inc(cost_usd)
