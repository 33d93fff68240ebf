"""A sidecar to which everything has happened that a label has a value for."""

from itertools import product
from typing import Final

from opentelemetry.sdk.trace.export import SpanExporter

from sidecar.config.keys import bounds
from sidecar.config.load import load
from sidecar.core.breaker import State
from sidecar.core.opening import Closing, Mode, RunOutcome
from sidecar.core.turn import Outcome, ToolCall
from sidecar.refusal import Reason
from sidecar.signals import SIGNALS
from tests.edges.telemetry_samples import World, decision, everything, facts, rotate

COMPONENTS: Final = ("store", "exporter", "model", "judge")
LOST: Final = ("journal", "snapshot", "store", "decision", "label", "text", "sweep", "listing")
NAMES: Final = tuple(f"name-{number}" for number in range(12))
"""More names from outside than a label takes."""


def full_world(exporter: SpanExporter | None = None) -> World:
    """Every value of every label, under the defaults."""
    world = World(exporter)
    config = load(environment={})
    world.telemetry.configured(config.policies.values(), bounds(config))
    for component in COMPONENTS:
        world.health.component(component)
    now_s = world.clock.now_s()
    everything(world.telemetry, now_s)
    for agent, model, mode in product(NAMES, NAMES, Mode):
        session = facts(f"{agent}-{model}-{mode}", agent_name=agent, model=model, mode=mode)
        world.telemetry.opened(session, resumed=False)
        calls = tuple(ToolCall(name=model, call=b"1", outcome=outcome) for outcome in Outcome)
        world.decide(rotate(), session=session, tool_calls=calls)
        for outcome, answered in product(RunOutcome, (False, True)):
            closing = Closing(outcome=outcome, has_final_answer=answered)
            world.close(session, closing)
    for signal, state in product(SIGNALS, State):
        world.decide(decision(1, signal=signal.name, state=state))
    for reason in Reason:
        world.telemetry.refused(reason.value)
        for what in LOST:
            world.telemetry.lost(what, reason.value)
    return world
