"""What is recorded of decisions once their agents have been answered."""

from collections.abc import Callable
from typing import Any

import pytest

from sidecar.core.opening import Continue
from sidecar.core.rotations import RotationOutcome
from tests.edges.telemetry_samples import (
    SpanWorld,
    World,
    context_of,
    decision,
    facts,
    links_of,
    model_call,
    rotate,
)

pytestmark = pytest.mark.usefixtures("no_exporter")

TURNS = "sidecar_turns_total"


class Later(list[Callable[[], None]]):
    """What is to be done soon."""

    def do(self) -> None:
        """Do it now."""
        for each in self:
            each()
        self.clear()


def test_decisions_of_a_moment_are_recorded_together_and_once() -> None:
    later = Later()
    world = World(soon=later.append)

    world.decide()
    world.decide()
    assert (len(later), world.series(TURNS)) == (1, {})

    later.do()
    assert list(world.series(TURNS).values()) == [2]
    world.decide()
    assert len(later) == 1


def test_a_decision_took_as_long_as_it_took_not_until_it_was_recorded() -> None:
    later = Later()
    world = World(soon=later.append)

    world.decide()
    world.clock.advance(5)
    later.do()

    assert world.series("sidecar_decision_duration_seconds_sum") == {(): 0}


def test_a_decision_that_cannot_be_recorded_keeps_none_after_it_from_being_recorded() -> None:
    later = Later()
    world = World(soon=later.append)
    world.decide(traceparent=5)  # no text, as no turn off the wire has it
    world.decide()

    (record,) = later
    later.clear()
    with pytest.raises(TypeError):
        record()
    later.do()

    assert list(world.series(TURNS).values()) == [1]


@pytest.mark.parametrize(
    "happen",
    [
        lambda world: world.telemetry.opened(facts("run-2"), resumed=False),
        lambda world: world.telemetry.commanded(facts(), Continue(), decision(2)),
        lambda world: world.close(),
        lambda world: world.telemetry.gave_up(facts(), "timeout", 1),
        lambda world: world.telemetry.asked(model_call(world.clock.now_s())),
        lambda world: world.telemetry.close(within_s=1.0),
    ],
    ids=["opened", "commanded", "closed", "gave up", "asked a model", "stopped"],
)
def test_what_happens_after_a_decision_is_recorded_after_it(happen: Callable[[World], Any]) -> None:
    world = World(soon=Later().append)
    world.decide()

    happen(world)

    assert list(world.series(TURNS).values()) == [1]


def test_a_run_that_ends_at_once_after_a_rotate_is_known_to_have_been_rotated() -> None:
    world = World(soon=Later().append)
    world.decide(rotate(1))

    world.close()

    outcomes = world.series("sidecar_rotations_total")
    assert [count for labels, count in outcomes.items() if RotationOutcome.RUN_OVER.value in labels]


def test_the_span_of_a_run_links_to_a_turn_that_was_not_recorded_yet() -> None:
    world = SpanWorld(soon=Later().append)
    world.decide()

    world.close()

    turn, session = world.spans()
    assert context_of(turn).span_id in [span_id for span_id, _ in links_of(session)]
