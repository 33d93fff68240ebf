"""No metric grows with what agents call themselves, and nothing that comes spoils the page."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.adapters.telemetry.label_values import LabelValues
from sidecar.core.turn import ToolCall, Turn, Usage
from sidecar.testing import MemoryRecorder
from sidecar.testing.recorder import WasDecided, WasLost
from tests.edges.telemetry_samples import (
    TRACE_ID,
    UNSAMPLED,
    World,
    everything,
    facts,
    rotate,
    samples,
    series_count,
)

pytestmark = pytest.mark.usefixtures("no_exporter")


@pytest.fixture
def world() -> World:
    return World()


# Exemplars


def exemplars(world: World, name: str) -> list[dict[str, str]]:
    return [
        sample.exemplar.labels
        for sample in samples(world.registry)
        if sample.name == name and sample.exemplar is not None
    ]


def test_without_spans_of_our_own_the_exemplar_is_the_agents_trace(world: World) -> None:
    world.decide(rotate())
    expected = [{"trace_id": f"{TRACE_ID:032x}"}]
    assert exemplars(world, "sidecar_decision_duration_seconds_bucket") == expected
    assert exemplars(world, "sidecar_decisions_total") == expected


@pytest.mark.parametrize("traceparent", ["", "nonsense", UNSAMPLED])
def test_a_trace_that_nobody_keeps_is_no_exemplar(world: World, traceparent: str) -> None:
    world.decide(rotate(), traceparent=traceparent)
    assert exemplars(world, "sidecar_decision_duration_seconds_bucket") == []


# Bounds


def test_a_thousand_names_make_ten_values_and_other() -> None:
    world = World()

    def live(number: int) -> None:
        name = f"name-{number}"
        session = facts(f"run-{number}", agent_name=name, model=name)
        calls = (ToolCall(name=name, call=b"1"),)
        world.telemetry.opened(session, resumed=False)
        world.decide(rotate(), session=session, tool_calls=calls)
        world.close(session)
        world.telemetry.gave_up(session, name, 1)

    for number in range(11):
        live(number)
    after_eleven = series_count(world.registry)
    for number in range(11, 1_000):
        live(number)
    assert series_count(world.registry) == after_eleven
    tools = world.series("sidecar_tool_calls_total")
    assert len(tools) == 11
    assert tools[("ok", "other")] == 990
    assert world.series("sidecar_turns_total")[("other", "enforce", "other")] == 990
    assert world.series("sidecar_client_fail_open_total")[("other",)] == 1_000


def test_the_number_of_values_can_be_set() -> None:
    world = World(label_values_max=2)
    for name in ("a", "b", "c", "d", "a"):
        world.decide(session=facts(name, agent_name=name))
    agents = {labels[0]: count for labels, count in world.series("sidecar_turns_total").items()}
    assert agents == {"a": 2, "b": 1, "other": 2}


@pytest.mark.parametrize(("has_left", "rotated"), [(True, {}), (False, {("run_over", "loop"): 1})])
def test_a_session_that_left_is_forgotten_after_others_and_one_that_is_held_is_not(
    has_left: bool, rotated: dict[tuple[str, ...], float]
) -> None:
    world = World(sessions_max=2)
    world.decide(rotate(), session=facts("first"))
    for name in ("second", "third", "fourth"):
        if has_left:
            world.telemetry.detached(facts("first"), reason="evicted")
        world.decide(session=facts(name))
        world.telemetry.detached(facts(name), reason="evicted")
    world.close(facts("first"))
    assert world.series("sidecar_rotations_total") == rotated


@pytest.mark.parametrize(
    ("name", "label"),
    [("", "unknown"), ("\ud800x", "?x"), ("é" * 100, "é" * 64), ('a"\n\\', 'a"\n\\')],
)
def test_a_label_is_never_too_long_nor_beyond_utf8(name: str, label: str) -> None:
    world = World()
    world.decide(session=facts(agent_name=name))
    assert [labels[0] for labels in world.series("sidecar_turns_total")] == [label]


def test_only_the_labels_that_the_operator_lists_become_labels_of_metrics() -> None:
    world = World(label_keys=("team.name", "tier"), label_values_max=2)
    for number, team in enumerate(("red", "blue", "green")):
        labels = (("secret", "x"), ("team.name", team))
        world.decide(session=facts(f"run-{number}", labels=labels))
    found = [
        (sample.labels["label_team_name"], sample.labels["label_tier"], sample.value)
        for sample in samples(world.registry)
        if sample.name == "sidecar_turns_total"
    ]
    assert found == [("red", "unknown", 1), ("blue", "unknown", 1), ("other", "unknown", 1)]


def test_label_keys_that_make_the_same_label_are_refused() -> None:
    with pytest.raises(ValueError, match=r"label_keys is \['a.b', 'a_b'\]: two of them"):
        World(label_keys=("a.b", "a_b"))


def test_label_values_are_first_come_first_served() -> None:
    values = LabelValues(1)
    assert [values.fold(name) for name in ("", "a", "b", "a")] == ["unknown", "a", "other", "a"]


# No method raises, whatever comes


any_character = st.characters(exclude_categories=())  # lone surrogates too
numbers = st.none() | st.integers(min_value=-(2**70), max_value=2**70)
floats = st.none() | st.floats()
turns = st.builds(
    Turn,
    sequence=st.integers(min_value=0, max_value=2**32),
    id=st.text(max_size=5),
    start_s=floats,
    end_s=floats,
    traceparent=st.text(max_size=60),
    usage=st.builds(
        Usage,
        input_tokens=numbers,
        output_tokens=numbers,
        context_tokens=numbers,
        context_window=numbers,
        cost_usd=floats,
    ),
    confidence=floats,
    approach=st.text(any_character, max_size=200),
)


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_TRACES_EXPORTER", "none")
        yield World()


@given(made=turns, name=st.text(any_character, max_size=20), received_s=st.floats())
def test_no_turn_makes_it_raise_or_spoils_the_page(
    shared: World, made: Turn, name: str, received_s: float
) -> None:
    session = facts(name, agent_name=name)
    shared.telemetry.decided(session, made, rotate(), received_s=received_s)
    assert samples(shared.registry)


def test_the_double_records_the_same_calls() -> None:
    double = MemoryRecorder()
    everything(double, 100.0)
    assert len(double.records) == 17
    [decided] = double.of(WasDecided)
    assert (decided.session, decided.turn.sequence, decided.received_s) == (facts(), 1, 100.0)
    assert double.of(WasLost) == [
        WasLost(what="journal", reason="queue_full", count=4),
        WasLost(what="snapshot", reason="too_large", count=1),
    ]
