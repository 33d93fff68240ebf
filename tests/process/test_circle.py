"""The whole circle, read back: a run that is stuck, told so, told to commit, answered by force,
reviewed, and begun anew; as `sidecar explain`, the spans and the metrics have it afterwards."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sidecar.testing import Call, FakeAnthropicServer, Say, SidecarProcess
from sidecar.testing.model_script import Step
from tests.edges.otlp_receiver import Received, ReceivedSpan, grpc_receiver, values

pytestmark = pytest.mark.process

QUESTION = "What is six times seven?"
STUCK = "same again"
"""What the first run prints, over and over."""
WRONG = "forty-one"
WHY = "Sixes were miscounted."
LONGEST_S = 120.0
"""A circle takes some seconds; this only ends a test that hangs."""


def model(body: Mapping[str, Any]) -> Step:
    """Loops, answers wrong when it has to, is found out, and then knows better."""
    said = str(body["messages"])
    if "candidate_answer" in said:
        word = "PASS" if '"candidate_answer": "42"' in said else "FAIL"
        return Say(calls=[Call(name="verdict", input={"verdict": word, "reasoning": WHY})])
    if f"An earlier run on this question answered '{WRONG}'" in said:
        return Say(text="```python\nfinal_answer(6 * 7)\n```", input_tokens=100, output_tokens=10)
    if body.get("max_tokens") == 4_096:
        return Say(text=f"```python\nprint('{STUCK}')\n```", input_tokens=100, output_tokens=10)
    return Say(text=f"FINAL_ANSWER: {WRONG}", input_tokens=100, output_tokens=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """What was left of it."""

    answer: str
    told: str
    """What the command said of its runs."""
    sessions: Sequence[str]
    """In the order in which they began."""
    explained: Sequence[Mapping[str, Any]]
    """Each of them."""
    received: Received
    metrics: str

    @property
    def spans(self) -> Sequence[ReceivedSpan]:
        """All of both processes, in the order in which they began."""
        return sorted(self.received.spans, key=lambda span: span.span.start_time_unix_nano)

    def of(self, name: str, session: str = "") -> list[ReceivedSpan]:
        """The spans whose name begins so; only of that session, if one is named."""
        return [
            each
            for each in self.spans
            if each.span.name.startswith(name)
            and session in ("", each.attributes.get("gen_ai.conversation.id"))
        ]


@pytest.fixture(scope="module")
def circle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Circle]:
    home = tmp_path_factory.mktemp("circle")
    with grpc_receiver() as (received, port), FakeAnthropicServer(model) as server:
        otel = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
        with SidecarProcess(home, environment=otel) as sidecar:
            done = _asked(server, sidecar, home, otel)
            # Both processes say in which order their runs began, in their spans.
            invoked = [each for each in received.spans if each.span.name.startswith("invoke_agent")]
            invoked.sort(key=lambda each: each.span.start_time_unix_nano)
            sessions = [str(each.attributes["session.id"]) for each in invoked]
            explained = [_explained(session, sidecar) for session in sessions]
            metrics = _metrics(sidecar)
            assert sidecar.stop() == 0  # and with that its last spans are sent
        yield Circle(
            answer=done.stdout,
            told=done.stderr,
            sessions=sessions,
            explained=explained,
            received=received,
            metrics=metrics,
        )


def _asked(
    server: FakeAnthropicServer, sidecar: SidecarProcess, home: Path, otel: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    places = dict.fromkeys(("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(home))
    access = {"ANTHROPIC_BASE_URL": server.base_url, "ANTHROPIC_API_KEY": server.key}
    return _command(
        ["agent", QUESTION, "--review", "--watch", sidecar.agent], {**places, **access, **otel}
    )


def _explained(session: str, sidecar: SidecarProcess) -> Mapping[str, Any]:
    arguments = ["explain", session, "--admin", sidecar.admin, "--format", "json"]
    explained: Mapping[str, Any] = json.loads(_command(arguments, {}).stdout)
    return explained


def _command(
    arguments: Sequence[str], variables: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "sidecar.cli", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=True,
    )


def _metrics(sidecar: SidecarProcess) -> str:
    address = sidecar.addresses["telemetry_address"]
    with urlopen(f"http://{address}/metrics", timeout=10) as page:
        return str(page.read().decode())


def test_it_ends_with_an_answer_that_holds(circle: Circle) -> None:
    assert circle.answer == "42\n"
    assert "review: FAIL" in circle.told and "review: PASS" in circle.told
    assert "telemetry:" not in circle.told
    assert len(circle.sessions) == 2


def test_explain_shows_why_the_first_run_was_told_and_that_the_second_was_left_alone(
    circle: Circle,
) -> None:
    first, second = (json.dumps(each).lower() for each in circle.explained)
    assert "rotate" in first and "commit" in first and "loop" in first
    assert "tripped" in first
    assert "rotate" not in second and "tripped" not in second


def test_the_runs_and_their_reviews_are_one_trace(circle: Circle) -> None:
    (workflow,) = circle.of("invoke_workflow answer_with_review")
    runs = circle.of("invoke_agent codeagent")
    assert [_parent(run) for run in runs] == [_id(workflow)] * 2
    reviews = [each for each in circle.of("chat") if _purpose(each) == "review"]
    assert [_parent(review) for review in reviews] == [_id(workflow)] * 2
    verdicts = [values(event.attributes) for event in workflow.span.events]
    assert [each["gen_ai.evaluation.score.label"] for each in verdicts] == ["fail", "pass"]
    assert {each.span.trace_id for each in circle.of("chat")} == {workflow.span.trace_id}


def test_each_turn_that_the_sidecar_decided_on_hangs_under_the_run_that_took_it(
    circle: Circle,
) -> None:
    runs = circle.of("invoke_agent codeagent")
    for session, run in zip(circle.sessions, runs, strict=True):
        turns = circle.of("sidecar.turn", session)
        assert turns
        assert {_parent(turn) for turn in turns} == {_id(run)}
        assert {turn.span.trace_id for turn in turns} == {run.span.trace_id}
    assert {run.resource["service.name"] for run in runs} == {"codeagent"}
    assert circle.of("sidecar.turn")[0].resource["service.name"] == "agent-sidecar"


def test_the_spans_lead_from_the_signal_over_both_directives_to_the_forced_answer(
    circle: Circle,
) -> None:
    first = circle.sessions[0]
    turns = circle.of("sidecar.turn", first)
    told = [turn.attributes["sidecar.directive"] for turn in turns]
    assert told.index("rotate") < told.index("commit")
    assert set(told) == {"proceed", "rotate", "commit"}
    commit = turns[told.index("commit")]
    assert commit.attributes["sidecar.signal"] == "loop"
    evaluated = [values(event.attributes) for event in commit.span.events]
    assert {"loop", "break"} <= {str(value) for each in evaluated for value in each.values()}
    (forced,) = [each for each in circle.of("chat", first) if _purpose(each) == "commit"]
    assert forced.span.start_time_unix_nano >= commit.span.start_time_unix_nano
    assert turns[-1].attributes["sidecar.final_answer"] is True
    run = circle.of("invoke_agent", first)[0].attributes
    assert run["sidecar.agent.stop_reason"] == "committed"
    assert run["sidecar.answer.source"] == "model"
    assert run["sidecar.directive"] == "commit"
    (session,) = circle.of("sidecar.session", first)
    assert session.attributes["sidecar.outcome"] == "succeeded"


def test_each_step_is_a_tool_call_of_its_run(circle: Circle) -> None:
    for session, run in zip(circle.sessions, circle.of("invoke_agent"), strict=True):
        steps = circle.of("execute_tool python", session)
        asked = [each for each in circle.of("chat", session) if _purpose(each) == "agent"]
        assert len(steps) == len(asked)
        assert {_parent(each) for each in steps + asked} == {_id(run)}


def test_the_metrics_of_both_processes_add_up_to_the_circle(circle: Circle) -> None:
    counted = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(circle.metrics)
        for sample in family.samples
    }
    decided = {key: value for key, value in counted.items() if key[0] == "sidecar_decisions_total"}
    assert sum(value for key, value in decided.items() if "commit" in key and "loop" in key) == 1
    assert sum(value for key, value in decided.items() if "rotate" in key and "loop" in key) >= 1
    assert sum(v for key, v in counted.items() if key[0] == "sidecar_runs_total") == 2
    turns = sum(v for key, v in counted.items() if key[0] == "sidecar_turns_total")
    assert turns == len(circle.of("sidecar.turn"))
    measured = circle.received.measured
    forced = {"sidecar.answer.source": "model", "sidecar.signal": "loop"}
    assert measured("sidecar.agent.forced_commits") == [(forced, 1)]
    verdicts = {each["gen_ai.evaluation.score.label"]: n for each, n in measured(REVIEWS)}
    assert verdicts == {"fail": 1, "pass": 1}
    stops = {each["sidecar.agent.stop_reason"]: n for each, n in measured("sidecar.agent.runs")}
    assert stops == {"committed": 1, "answered": 1}
    tokens = sum(count for _, count in measured("gen_ai.client.token.usage"))
    chats = circle.of("chat")
    used = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
    assert tokens == sum(chat.attributes[name] for chat in chats for name in used)


def test_nothing_that_the_runs_were_about_left_either_process_as_telemetry(circle: Circle) -> None:
    written = "".join(str(each.span) for each in circle.spans) + str(circle.received.measurements)
    for content in (QUESTION, STUCK, WRONG, WHY, "final_answer("):
        assert content not in written
    assert circle.metrics.count(STUCK) == 0


REVIEWS = "sidecar.agent.reviews"


def _id(span: ReceivedSpan) -> bytes:
    return bytes(span.span.span_id)


def _parent(span: ReceivedSpan) -> bytes:
    return bytes(span.span.parent_span_id)


def _purpose(span: ReceivedSpan) -> str:
    return str(span.attributes["sidecar.model.purpose"])
