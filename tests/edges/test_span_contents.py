"""Spans: what they say, and what they never say."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.trace import SpanKind, StatusCode

from sidecar.adapters.semconv import ATTRIBUTES
from sidecar.adapters.semconv import attributes as names
from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Commit, Halt, Proceed, Rejection, Rotate
from sidecar.core.opening import Continue, Reset, Verdict
from sidecar.core.reading import Reading, Severity
from sidecar.core.turn import Failure, ToolCall, Turn
from sidecar.health import Status
from sidecar.ports import Rejected, Spent
from tests.edges.telemetry_samples import (
    CLOSE_S,
    SpanWorld,
    attributes_of,
    context_of,
    decision,
    facts,
    links_of,
    model_call,
    rotate,
    samples,
    series,
    turn,
)


@pytest.fixture
def world() -> Iterator[SpanWorld]:
    world = SpanWorld()
    yield world
    world.telemetry.close(within_s=CLOSE_S)


# What they say


def test_a_turn_says_whose_it_is_what_it_took_and_what_was_decided(world: SpanWorld) -> None:
    session = facts(labels=(("team", "red"),))
    world.decide(rotate(7), session=session, sequence=7)
    [span] = world.spans()
    assert attributes_of(span) == {
        "gen_ai.conversation.id": "run-1",
        "session.id": "run-1",
        "gen_ai.agent.name": "coder",
        "gen_ai.agent.version": "1.0",
        "gen_ai.request.model": "opus",
        "sidecar.policy": "default",
        "sidecar.policy.revision": "0123456789ab",
        "sidecar.mode": "enforce",
        "sidecar.label.team": "red",
        "sidecar.sequence": 7,
        "sidecar.decision.id": "0000000000000007",
        "sidecar.cause": "turn",
        "sidecar.state": "warning",
        "sidecar.state.before": "healthy",
        "sidecar.directive": "rotate",
        "sidecar.signal": "loop",
        "sidecar.signals": ("loop",),
        "sidecar.turn.id": "turn-7",
        "sidecar.actor": "scout",
        "sidecar.approach": "bisect",
        "sidecar.user_input": True,
        "sidecar.final_answer": True,
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 50,
        "gen_ai.usage.cache_read.input_tokens": 800,
        "gen_ai.usage.cache_write.input_tokens": 100,
        "sidecar.usage.context_tokens": 4_000,
        "sidecar.usage.context_window": 8_000,
        "sidecar.usage.cost_usd": 0.25,
        "sidecar.tool_calls": 2,
        "sidecar.tools": ("Grep", "Edit"),
        "sidecar.failures": 0,
        "sidecar.output_lines": 12,
        "sidecar.files_changed": 2,
        "sidecar.confidence": 0.5,
        "sidecar.reward": 1.5,
    }
    assert span.status.status_code is StatusCode.UNSET


def test_each_reading_is_an_evaluation_event_and_a_directive_is_one_too(world: SpanWorld) -> None:
    readings = (
        Reading(severity=Severity.BREAK, value=5, threshold=4, summary="Five.", signal="spin"),
        Reading(severity=Severity.WARNING, signal="max_turns", notice=True),
    )
    world.decide(rotate(readings=readings, directive=Commit(instruction="answer"), signal="spin"))
    [span] = world.spans()
    found = [(event.name, dict(event.attributes or {})) for event in span.events]
    assert found == [
        (
            "gen_ai.evaluation.result",
            {
                "gen_ai.evaluation.name": "spin",
                "gen_ai.evaluation.score.value": 5,
                "gen_ai.evaluation.score.label": "break",
                "gen_ai.evaluation.explanation": "Five.",
                "sidecar.evaluation.threshold": 4,
            },
        ),
        (
            "gen_ai.evaluation.result",
            {
                "gen_ai.evaluation.name": "max_turns",
                "gen_ai.evaluation.score.value": 0.0,
                "gen_ai.evaluation.score.label": "notice",
                "gen_ai.evaluation.explanation": "",
                "sidecar.evaluation.threshold": 0.0,
            },
        ),
        (
            "sidecar.directive",
            {
                "sidecar.decision.id": "0000000000000001",
                "sidecar.directive": "commit",
                "sidecar.signal": "spin",
            },
        ),
    ]
    assert {event.timestamp for event in span.events} == {span.end_time}


def test_a_quiet_turn_has_no_event(world: SpanWorld) -> None:
    world.decide(decision(directive=Proceed(notice="80 % of the turns are used")))
    [span] = world.spans()
    assert span.events == ()


def test_what_was_not_measured_is_absent(world: SpanWorld) -> None:
    world.telemetry.decided(
        facts(agent_name="", agent_version="", model=""),
        Turn(sequence=1),
        decision(),
        received_s=world.clock.now_s(),
    )
    [span] = world.spans()
    assert set(attributes_of(span)) == {
        "gen_ai.conversation.id",
        "session.id",
        "sidecar.policy",
        "sidecar.policy.revision",
        "sidecar.mode",
        "sidecar.sequence",
        "sidecar.decision.id",
        "sidecar.cause",
        "sidecar.state",
        "sidecar.state.before",
        "sidecar.directive",
        "sidecar.tool_calls",
        "sidecar.failures",
    }


def test_many_calls_and_failures_are_counted_and_the_first_sixteen_are_named(
    world: SpanWorld,
) -> None:
    calls = tuple(ToolCall(name=f"tool-{number % 20}", call=b"1") for number in range(256))
    failures = tuple(Failure(kind="E", fingerprint=b"1", strict=b"1") for _ in range(30))
    world.decide(tool_calls=calls, failures=failures)
    [span] = world.spans()
    said = attributes_of(span)
    assert (said[names.TOOL_CALLS], said[names.FAILURES]) == (256, 30)
    assert said[names.TOOLS] == tuple(f"tool-{number}" for number in range(16))
    assert said[names.FAILURE_KINDS] == ("E",)


def test_a_rejected_turn_is_an_error_with_its_reason(world: SpanWorld) -> None:
    rejection = Rejection(reason="TOOL_CALLS_MAX", field="tool_calls", description="too many")
    world.telemetry.rejected(facts(), Rejected(sequence=4, rejection=rejection), decision(4))
    [span] = world.spans()
    assert (span.name, span.status.status_code) == ("sidecar.turn", StatusCode.ERROR)
    said = attributes_of(span)
    assert (said[names.ERROR_TYPE], said[names.REJECTED_FIELD]) == ("TOOL_CALLS_MAX", "tool_calls")
    assert said[names.SEQUENCE] == 4


def test_a_command_is_a_span_that_links_to_the_first_turn(world: SpanWorld) -> None:
    world.decide()
    world.telemetry.commanded(facts(), Reset(reason="x"), decision(cause=Cause.OPERATOR))
    first, command = world.spans()
    assert command.name == "sidecar.command"
    assert attributes_of(command)[names.COMMAND] == "reset"
    assert attributes_of(command)[names.CAUSE] == "operator"
    assert links_of(command) == [(context_of(first).span_id, "first_turn")]


def test_identifiers_are_cut_at_128_bytes_and_are_valid_utf8(world: SpanWorld) -> None:
    long = "é" * 100
    readings = (Reading(severity=Severity.BREAK, summary="ü" * 500, signal=long),)
    world.decide(
        rotate(readings=readings, signal=long),
        session=facts(
            long, agent_name=long, agent_version=long, model=long, labels=((long, "x\ud800" * 99),)
        ),
        id=long,
        actor=long,
        approach=long,
        tool_calls=(ToolCall(name=long, call=b"1"),),
        failures=(Failure(kind=long, fingerprint=b"", strict=b""),),
    )
    [span] = world.spans()
    encode_spans([span]).SerializeToString()
    for name, value in attributes_of(span).items():
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str):
                assert len(text.encode()) <= 128, name
        assert len(name.encode()) <= len(names.LABEL_PREFIX) + 128
    evaluation = dict(span.events[0].attributes or {})
    assert evaluation[names.EVALUATION_NAME] == "é" * 64
    assert len(str(evaluation[names.EVALUATION_EXPLANATION]).encode()) == 512


@pytest.mark.parametrize("tokens", [2**63, -(2**63) - 1, 10**400])
def test_a_number_that_otlp_cannot_carry_is_left_out(world: SpanWorld, tokens: int) -> None:
    usage = replace(turn().usage, input_tokens=None, context_tokens=tokens)
    world.decide(usage=usage)
    [span] = world.spans()
    assert names.CONTEXT_TOKENS not in attributes_of(span)


def test_the_inventory_lists_what_is_sent_and_nothing_else(world: SpanWorld) -> None:
    failing = (Failure(kind="TypeError", fingerprint=b"", strict=b""),)
    session = facts(labels=(("team", "red"),))
    for sequence, made in enumerate((rotate(overridden=True), rotate()), 1):
        world.decide(made, session=session, sequence=sequence, failures=failing)
    rejection = Rejection(reason="TOOL_CALLS_MAX", field="tool_calls")
    rejected = Rejected(sequence=3, rejection=rejection)
    world.telemetry.rejected(session, rejected, rotate(3))
    world.telemetry.commanded(session, Continue(), rotate(3, overridden=True))
    world.telemetry.asked(model_call(world.clock.now_s()))
    world.telemetry.asked(model_call(world.clock.now_s(), outcome="timeout", spent=None))
    world.close(session, turns=2)
    sent: set[tuple[str, str]] = set()
    for span in world.spans():
        kind = span.name.partition(" ")[0]
        sent |= {(kind, name) for name in attributes_of(span)}
        for event in span.events:
            sent |= {(event.name, name) for name in event.attributes or {}}
        for link in span.links:
            sent |= {("link", name) for name in link.attributes or {}}
    label = f"{names.LABEL_PREFIX}<key>"
    sent = {(on, label if name.startswith(names.LABEL_PREFIX) else name) for on, name in sent}
    listed = {(on, attribute.name) for attribute in ATTRIBUTES for on in attribute.on}
    assert sent == {(on, name) for on, name in listed if on not in names.AGENT_SPANS}


def test_no_attribute_makes_a_backend_take_a_turn_for_a_model_call() -> None:
    (operation,) = (each for each in ATTRIBUTES if each.name == "gen_ai.operation.name")
    assert set(operation.on) == {names.CHAT, *names.AGENT_SPANS}


def test_a_model_call_is_a_chat_under_the_last_turn_of_its_session(world: SpanWorld) -> None:
    now_s = world.clock.now_s()
    world.decide()
    world.telemetry.asked(model_call(now_s))
    turned, asked = world.spans()
    assert (asked.name, asked.kind) == ("chat claude-haiku-4-5", SpanKind.CLIENT)
    assert asked.parent == turned.context
    assert asked.status.status_code is StatusCode.UNSET
    assert (asked.start_time, asked.end_time) == ((now_s - 2) * 1e9, now_s * 1e9)
    said = attributes_of(asked)
    assert {name: said[name] for name in said if name.startswith("gen_ai.")} == {
        "gen_ai.conversation.id": "run-1",
        "gen_ai.agent.name": "coder",
        "gen_ai.agent.version": "1.0",
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-haiku-4-5",
        "gen_ai.request.max_tokens": 1_024,
        "gen_ai.response.model": "claude-haiku-4-5-20251001",
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.finish_reasons": ("end_turn",),
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 50,
        "gen_ai.usage.cache_read.input_tokens": 800,
        "gen_ai.usage.cache_write.input_tokens": 100,
    }
    assert said["sidecar.usage.cost_usd"] == 0.25
    assert said["sidecar.model.purpose"] == "commit"
    assert (said["server.address"], said["server.port"]) == ("api.example", 443)


def test_a_call_without_a_reply_is_an_error(world: SpanWorld) -> None:
    failed = {
        "outcome": "overloaded",
        "spent": None,
        "reply_model": "",
        "reply_id": "",
        "stop_reason": "",
    }
    world.telemetry.asked(model_call(world.clock.now_s(), session_id="", **failed))
    [span] = world.spans()
    assert span.parent is None
    assert span.status.status_code is StatusCode.ERROR
    assert attributes_of(span)["error.type"] == "overloaded"
    assert "gen_ai.usage.input_tokens" not in attributes_of(span)


def test_tokens_that_the_api_did_not_count_are_absent_and_not_none(world: SpanWorld) -> None:
    world.telemetry.asked(model_call(world.clock.now_s(), spent=Spent(latency_s=1.0)))
    said = attributes_of(world.spans()[0])
    assert not [name for name in said if name.startswith("gen_ai.usage.")]
    assert said["gen_ai.response.finish_reasons"] == ("end_turn",)


# What they never say


CANARY = "c4n4ry"
SPOKEN = {"approach", "id", "actor", "name", "kind", "traceparent"}
"""Fields of a turn that are identifiers, and may be exported."""


def with_canaries(value: Any) -> Any:
    """A copy with a canary in every digest and every text that is not an identifier."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {
            part.name: with_canaries(getattr(value, part.name))
            for part in fields(value)
            if part.name not in SPOKEN
        }
        return replace(value, **parts)
    match value:
        case bytes():
            return CANARY.encode()
        case str():
            return CANARY
        case tuple():
            return tuple(with_canaries(each) for each in value)
        case _:
            return value


def test_neither_digests_nor_instructions_nor_reasons_leave() -> None:
    world = SpanWorld()
    call = ToolCall(name="Grep", call=b"", result=b"", error_position=b"")
    failure = Failure(kind="E", fingerprint=b"", strict=b"")
    made = turn(text=b"", tool_calls=(call,), failures=(failure,))
    now_s = world.clock.now_s()
    for directive in (
        Proceed(notice=CANARY),
        Rotate(instruction=CANARY, approaches_tried=(CANARY,), suggestions=(CANARY,)),
        Commit(instruction=CANARY),
        Halt(reason=CANARY),
    ):
        world.telemetry.decided(
            facts(), with_canaries(made), decision(directive=directive), received_s=now_s
        )
    for command in (
        Continue(reason=CANARY),
        Reset(reason=CANARY),
        Verdict(stuck=True, summary=CANARY),
    ):
        world.telemetry.commanded(facts(), command, decision())
    rejection = Rejection(reason="X", field="y", description=CANARY)
    world.telemetry.rejected(facts(), Rejected(sequence=1, rejection=rejection), decision())
    spans = world.spans()
    assert len(spans) == 8
    exported = encode_spans(spans).SerializeToString()
    assert b"Grep" in exported
    assert CANARY.encode() not in exported
    assert CANARY not in repr(samples(world.registry))


# Accounting


def test_spans_made_are_spans_exported(world: SpanWorld) -> None:
    for sequence in range(1, 201):
        world.decide(decision(sequence, state=State.HEALTHY), sequence=sequence)
    assert len(world.spans()) == 200
    assert series(world.registry, "sidecar_spans_total") == {(): 200}
    assert series(world.registry, "sidecar_spans_exported_total") == {(): 200}
    assert series(world.registry, "sidecar_span_queue_spans") == {(): 0}
    assert world.health.components["exporter"].status is Status.STOPPING


def test_what_is_recorded_after_closing_is_counted_as_lost(world: SpanWorld) -> None:
    world.decide()
    world.spans()
    world.decide(sequence=2)
    assert series(world.registry, "sidecar_spans_total") == {(): 2}
    assert series(world.registry, "sidecar_lost_total")[("shutdown", "span")] == 1
