"""Health answers three questions, and none of them for another."""

import json
import logging
from collections.abc import Callable

import pytest

from sidecar.health import (
    ERROR_BYTES_MAX,
    PHASE_TRANSITIONS,
    STATUS_TRANSITIONS,
    About,
    Component,
    Health,
    Phase,
    Status,
)
from sidecar.testing import FakeClock

REACH: dict[Status, Callable[[Component], bool]] = {
    Status.OK: Component.ok,
    Status.RECOVERABLE: lambda part: part.recoverable("down"),
    Status.PERMANENT: lambda part: part.permanent("broken"),
    Status.STOPPING: Component.stopping,
}


def component_that_is(status: Status) -> Component:
    part = Component("part", FakeClock())
    if status is not Status.STARTING:
        assert REACH[status](part)
    return part


def test_a_new_process_is_live_and_not_ready() -> None:
    health = Health(FakeClock())
    assert health.livez().ok
    assert (health.readyz().ok, health.readyz().text) == (False, "starting")


@pytest.mark.parametrize(("age_s", "live"), [(0.0, True), (0.999, True), (1.0, False), (60, False)])
def test_a_heartbeat_older_than_a_second_is_a_stuck_loop(age_s: float, live: bool) -> None:
    clock = FakeClock()
    health = Health(clock)
    clock.advance(5)
    health.beat()
    clock.advance(age_s)
    assert health.livez().ok is live


def test_the_age_that_counts_as_stuck_can_be_set() -> None:
    clock = FakeClock()
    health = Health(clock, heartbeat_max_s=3)
    clock.advance(2.9)
    assert health.livez().ok
    clock.advance(0.2)
    assert health.livez().text == "the event loop has not turned for 3.1 s"


def test_a_loop_that_turns_again_is_live_again() -> None:
    clock = FakeClock()
    health = Health(clock)
    clock.advance(2)
    assert not health.livez().ok
    health.beat()
    assert health.livez().ok


def test_a_wall_clock_that_is_set_back_or_forth_does_not_make_a_loop_stuck() -> None:
    clock = FakeClock()
    health = Health(clock)
    clock.set_now_s(clock.now_s() + 3600)
    assert health.livez().ok


def test_draining_is_live_and_not_ready_and_final() -> None:
    health = Health(FakeClock())
    assert health.accepting()
    assert health.readyz().ok
    assert health.draining()
    assert health.livez().ok
    assert (health.readyz().ok, health.readyz().text) == (False, "draining")
    assert not health.accepting()
    assert not health.readyz().ok


def test_a_part_that_is_down_makes_the_process_neither_dead_nor_unready() -> None:
    health = Health(FakeClock())
    health.accepting()
    health.component("exporter").permanent("broken")
    assert health.livez().ok
    assert health.readyz().ok


def test_both_tables_are_total_and_their_ends_are_final() -> None:
    assert set(STATUS_TRANSITIONS) == set(Status)
    assert set(PHASE_TRANSITIONS) == set(Phase)
    assert STATUS_TRANSITIONS[Status.STOPPING] == {Status.STOPPING}
    assert PHASE_TRANSITIONS[Phase.DRAINING] == {Phase.DRAINING}


@pytest.mark.parametrize("before", Status)
@pytest.mark.parametrize("after", REACH)
def test_a_part_changes_only_as_the_table_allows(before: Status, after: Status) -> None:
    part = component_that_is(before)
    allowed = after in STATUS_TRANSITIONS[before]
    assert REACH[after](part) is allowed
    assert part.condition.status is (after if allowed else before)


def test_permanent_is_permanent() -> None:
    part = component_that_is(Status.PERMANENT)
    assert not part.ok()
    assert not part.recoverable("a moment only")
    assert part.condition.error == "broken"


def test_since_is_when_the_status_was_taken_on_and_the_error_is_the_last_one() -> None:
    clock = FakeClock()
    part = Component("part", clock)
    clock.advance(1)
    part.recoverable("first")
    down_s = clock.now_s()
    clock.advance(1)
    part.recoverable("second")
    assert part.condition.since_s == down_s
    assert (part.condition.error, part.condition.error_s) == ("second", clock.now_s())


def test_a_part_that_is_well_again_still_shows_its_last_error() -> None:
    clock = FakeClock()
    part = Component("part", clock)
    part.recoverable("down")
    down_s = clock.now_s()
    clock.advance(7)
    part.ok()
    condition = part.condition
    assert (condition.status, condition.since_s) == (Status.OK, clock.now_s())
    assert (condition.error, condition.error_s) == ("down", down_s)


def test_an_error_is_one_line_of_bounded_length() -> None:
    part = Component("part", FakeClock())
    part.recoverable("a\nb\ud800 " + "é" * ERROR_BYTES_MAX)
    assert part.condition.error.startswith("a b? é")
    assert len(part.condition.error.encode()) <= ERROR_BYTES_MAX


def test_a_part_is_the_same_wherever_it_is_asked_for() -> None:
    health = Health(FakeClock())
    assert health.component("store") is health.component("store")
    health.component("exporter").ok()
    assert list(health.components) == ["store", "exporter"]


def test_a_change_is_logged_once_and_its_repetition_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    part = Component("exporter", FakeClock())
    with caplog.at_level(logging.INFO, "sidecar.health"):
        part.recoverable("nobody answers")
        part.recoverable("nobody answers yet")
        part.ok()
        part.ok()
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "exporter is recoverable: nobody answers"),
        ("INFO", "exporter is ok"),
    ]


def test_statusz_tells_everything_in_values_that_json_knows() -> None:
    clock = FakeClock()
    health = Health(clock)
    health.accepting()
    health.about(About(version="1.2", policies={"default": "abc"}, bounds={"streams_max": 4}))
    health.component("store").ok()
    health.component("exporter").recoverable("nobody answers")
    down_s = clock.now_s()
    clock.advance(2.5)
    assert json.loads(json.dumps(health.statusz())) == {
        "version": "1.2",
        "phase": "accepting",
        "live": False,
        "uptime_s": 2.5,
        "components": {
            "store": {
                "status": "OK",
                "since_s": down_s,
                "last_error": None,
                "last_error_s": None,
            },
            "exporter": {
                "status": "RECOVERABLE",
                "since_s": down_s,
                "last_error": "nobody answers",
                "last_error_s": down_s,
            },
        },
        "policies": {"default": "abc"},
        "bounds": {"streams_max": 4},
    }
