"""Spans: whose they are, which are made, and when they were."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sidecar.adapters.semconv import attributes as names
from sidecar.adapters.telemetry.spans import FUTURE_MAX_S, PAST_MAX_S, times
from sidecar.adapters.telemetry.trace_context import parse_traceparent
from sidecar.core.directive import Strength
from sidecar.core.opening import Closing, RunOutcome
from sidecar.core.turn import Turn
from tests.edges.telemetry_samples import (
    CLOSE_S,
    PARENT_ID,
    TRACE_ID,
    TRACEPARENT,
    UNSAMPLED,
    SpanWorld,
    attributes_of,
    context_of,
    decision,
    facts,
    links_of,
    rotate,
    samples,
)


@pytest.fixture
def world() -> Iterator[SpanWorld]:
    world = SpanWorld()
    yield world
    world.telemetry.close(within_s=CLOSE_S)


# Whose they are


def test_a_turn_is_a_child_of_the_agents_own_span(world: SpanWorld) -> None:
    world.decide()
    [span] = world.spans()
    assert (span.name, span.kind) == ("sidecar.turn", SpanKind.INTERNAL)
    assert span.parent is not None
    assert (span.parent.trace_id, span.parent.span_id) == (TRACE_ID, PARENT_ID)
    assert span.parent.is_remote
    assert context_of(span).trace_id == TRACE_ID
    assert context_of(span).span_id not in (0, PARENT_ID)
    assert context_of(span).trace_flags.sampled


@pytest.mark.parametrize("traceparent", ["", "nonsense", TRACEPARENT.upper()])
def test_a_turn_without_a_valid_parent_is_a_root(world: SpanWorld, traceparent: str) -> None:
    world.decide(sequence=1, traceparent=traceparent)
    world.decide(sequence=2, traceparent=traceparent)
    first, second = world.spans()
    assert first.parent is None
    assert context_of(first).is_valid
    assert context_of(first).trace_id != context_of(second).trace_id


FIELDS = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"


@pytest.mark.parametrize(
    ("why", "text", "valid"),
    [
        ("as in the recommendation", f"00-{FIELDS}-01", True),
        ("not sampled", f"00-{FIELDS}-00", True),
        ("flags of a later level", f"00-{FIELDS}-ff", True),
        ("a later version", f"cc-{FIELDS}-01", True),
        ("a later version with more", f"cc-{FIELDS}-01-what-the-future-brings", True),
        ("more without a dash", f"cc-{FIELDS}-01.what", False),
        ("version 00 with more", f"00-{FIELDS}-01-what", False),
        ("version ff", f"ff-{FIELDS}-01", False),
        ("upper case", f"00-{FIELDS.upper()}-01", False),
        ("no trace id", f"00-{'0' * 32}-b7ad6b7169203331-01", False),
        ("no span id", f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01", False),
        ("too short", f"00-{FIELDS[1:]}-01", False),
        ("other digits", f"00-{FIELDS[:-1]}\u0661-01", False),
        ("a line more", f"00-{FIELDS}-01\n", False),
        ("nothing", "", False),
    ],
)
def test_a_traceparent_is_read_as_the_recommendation_says(why: str, text: str, valid: bool) -> None:
    context = parse_traceparent(text)
    assert (context is not None) is valid, why
    if context is not None:
        assert f"{context.trace_id:032x}-{context.span_id:016x}" == FIELDS


@given(
    st.from_regex(r"\A[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[a-z]{0,3})?\Z")
    | st.text(max_size=60)
)
def test_a_traceparent_is_read_as_the_sdk_reads_it(text: str) -> None:
    found = TraceContextTextMapPropagator().extract({"traceparent": text.strip()})
    theirs = trace.get_current_span(found).get_span_context()
    ours = parse_traceparent(text.strip())
    assert (ours is not None) == theirs.is_valid
    if ours is not None:
        assert (ours.trace_id, ours.span_id) == (theirs.trace_id, theirs.span_id)
        assert ours.trace_flags.sampled == theirs.trace_flags.sampled


def test_turns_link_to_the_first_turn_of_their_session(world: SpanWorld) -> None:
    for session_id, sequence in (("a", 1), ("b", 1), ("a", 2), ("a", 3)):
        world.decide(decision(sequence), session=facts(session_id), sequence=sequence)
    a1, b1, a2, a3 = world.spans()
    first = context_of(a1).span_id
    assert links_of(a1) == links_of(b1) == []
    assert links_of(a2) == links_of(a3) == [(first, "first_turn")]
    assert a2.links[0].context.trace_id == TRACE_ID


def test_the_first_turn_links_to_the_session_that_it_goes_on_from(world: SpanWorld) -> None:
    world.telemetry.opened(facts("old"), resumed=False)
    for sequence in (1, 2):
        world.decide(decision(sequence), session=facts("old"), sequence=sequence)
    world.close(facts("old"), turns=2)
    new = facts("new", previous_session_id="old")
    world.telemetry.opened(new, resumed=False)
    for sequence in (1, 2):
        world.decide(decision(sequence), session=new, sequence=sequence)
    _, last, _, first_new, second_new = world.spans()
    assert links_of(first_new) == [(context_of(last).span_id, "previous_session")]
    assert links_of(second_new) == [(context_of(first_new).span_id, "first_turn")]


def test_a_session_that_was_detached_and_resumed_keeps_its_first_turn(world: SpanWorld) -> None:
    world.decide()
    world.telemetry.detached(facts(), reason="evicted")
    world.telemetry.opened(facts(), resumed=True)
    world.decide(sequence=2)
    first, second = world.spans()
    assert links_of(second) == [(context_of(first).span_id, "first_turn")]


# Which of them are made


@pytest.mark.parametrize(
    ("sampler", "argument", "parent", "made"),
    [
        ("", "", TRACEPARENT, True),
        ("", "", UNSAMPLED, False),
        ("", "", "", True),
        ("always_on", "", UNSAMPLED, True),
        ("always_off", "", TRACEPARENT, False),
        ("parentbased_always_off", "", TRACEPARENT, True),
        ("parentbased_always_off", "", "", False),
        ("traceidratio", "0", TRACEPARENT, False),
        ("traceidratio", "1", UNSAMPLED, True),
        ("parentbased_traceidratio", "0", TRACEPARENT, True),
        ("parentbased_traceidratio", "0", "", False),
    ],
)
def test_the_standard_sampler_decides(
    monkeypatch: pytest.MonkeyPatch, sampler: str, argument: str, parent: str, made: bool
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler or "parentbased_always_on")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", argument or "1")
    world = SpanWorld()
    world.decide(rotate(), traceparent=parent)
    exemplars = [sample for sample in samples(world.registry) if sample.exemplar is not None]
    assert bool(exemplars) is made
    assert len(world.spans()) == made


def test_no_exemplar_names_a_span_that_a_full_queue_did_not_admit() -> None:
    world = SpanWorld(span_queue_max=1)
    with world.held_back():
        for _ in range(5):
            world.decide(traceparent="")
    found = {
        sample.exemplar.labels["trace_id"]
        for sample in samples(world.registry)
        if sample.exemplar is not None
    }
    made = world.spans()
    assert len(made) < 5
    assert found <= {f"{context_of(span).trace_id:032x}" for span in made}


def test_the_exemplar_names_the_trace_of_the_span(world: SpanWorld) -> None:
    world.decide(traceparent="")
    found = {
        sample.exemplar.labels["trace_id"]
        for sample in samples(world.registry)
        if sample.exemplar is not None
    }
    [span] = world.spans()
    assert found == {f"{context_of(span).trace_id:032x}"}


# When they were


NOW_S = 1_000_000_000.0


@pytest.mark.parametrize(
    ("why", "start_s", "end_s", "expected"),
    [
        ("both are given", NOW_S - 9, NOW_S - 1, (NOW_S - 9, NOW_S - 1)),
        ("only a start: it ended when it came", NOW_S - 9, None, (NOW_S - 9, NOW_S)),
        ("only an end", None, NOW_S - 1, (NOW_S - 1, NOW_S - 1)),
        ("none", None, None, (NOW_S, NOW_S)),
        ("ended before it began", NOW_S - 1, NOW_S - 9, (NOW_S, NOW_S)),
        ("a clock that is a little ahead", NOW_S, NOW_S + FUTURE_MAX_S, (NOW_S, NOW_S + 60)),
        ("a clock that is wrong", NOW_S, NOW_S + FUTURE_MAX_S + 1, (NOW_S, NOW_S)),
        ("sent again after an outage", NOW_S - PAST_MAX_S, NOW_S, (NOW_S - PAST_MAX_S, NOW_S)),
        ("of another day", NOW_S - PAST_MAX_S - 1, NOW_S, (NOW_S, NOW_S)),
        ("of the epoch", 0.0, 0.0, (NOW_S, NOW_S)),
        ("no number", math.nan, NOW_S, (NOW_S, NOW_S)),
        ("no end", NOW_S, math.inf, (NOW_S, NOW_S)),
    ],
)
def test_a_turn_has_its_own_times_where_they_can_be_true(
    why: str, start_s: float | None, end_s: float | None, expected: tuple[float, float]
) -> None:
    made = Turn(sequence=1, start_s=start_s, end_s=end_s)
    assert times(made, received_s=NOW_S) == expected, why


def test_times_are_exported_in_nanoseconds(world: SpanWorld) -> None:
    now_s = world.clock.now_s()
    world.decide(start_s=now_s - 2.5, end_s=now_s - 0.5)
    [span] = world.spans()
    assert span.start_time == round((now_s - 2.5) * 1e9)
    assert span.end_time == round((now_s - 0.5) * 1e9)


def test_a_closed_session_is_a_span_from_opening_to_close(world: SpanWorld) -> None:
    opened_s = world.clock.now_s()
    for sequence in (1, 2, 3):
        world.decide(rotate(sequence), sequence=sequence)
    world.clock.advance(60)
    closing = Closing(outcome=RunOutcome.SUCCEEDED, has_final_answer=True)
    world.close(facts(), closing, turns=3, opened_s=opened_s, strongest=Strength.ROTATE)
    first, _, last, session = world.spans()
    assert (session.name, session.parent) == ("sidecar.session", None)
    assert session.start_time == round(opened_s * 1e9)
    assert session.end_time == round((opened_s + 60) * 1e9)
    assert links_of(session) == [
        (context_of(first).span_id, "first_turn"),
        (context_of(last).span_id, "last_turn"),
    ]
    said = attributes_of(session)
    assert said[names.TURNS] == 3
    assert said[names.OUTCOME] == "succeeded"
    assert said[names.FINAL_ANSWER] is True
    assert said[names.DIRECTIVE] == "rotate"
