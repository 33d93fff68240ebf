"""What the agent shows of its work: by the real SDK, its model scripted, all else real."""

from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from sidecar.adapters.semconv import ATTRIBUTES
from sidecar.adapters.semconv import attributes as names
from sidecar.codeagent.agent import CodeAgent, Surroundings
from sidecar.codeagent.conversation import Options
from sidecar.codeagent.instrumented import InstrumentedToolbox
from sidecar.codeagent.instruments import Instruments
from sidecar.codeagent.result import AgentResult
from sidecar.codeagent.runner.interpreter import IsolationMissingError
from sidecar.codeagent.runner.step import ToolRefused
from sidecar.codeagent.tools.searching import NoSearch
from sidecar.codeagent.tools.tool import Box
from sidecar.codeagent.tools.web import WebSearch
from sidecar.testing.fake_model import FakeModel
from sidecar.testing.model_script import Fail, Say, Step
from tests.codeagent.scripted import code

pytestmark = pytest.mark.process

SECRET = "XYZZY"
"""Stands in the question, the code, its arguments, results and errors, and the answer."""


class World:
    """Instruments on the real SDK, and what came of them."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        tracers = TracerProvider(shutdown_on_exit=False)
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._reader = InMemoryMetricReader()
        meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.instruments = Instruments(tracers.get_tracer("test"), meters.get_meter("test"))

    async def run(self, *replies: Step, **options: Any) -> AgentResult:
        """A whole run of an agent whose model replies so."""
        model = FakeModel(replies)
        surroundings = Surroundings(model=model, instruments=self.instruments, **options)
        return await CodeAgent(surroundings).run(f"What is {SECRET}?", session_id="run-1")

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """In the order in which they ended."""
        return self._spans.get_finished_spans()

    def measured(self, name: str) -> list[tuple[dict[str, Any], float]]:
        """The series of a metric: attributes and sum."""
        read = self._reader.get_metrics_data()
        metrics = [
            metric
            for resource in (read.resource_metrics if read else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
        ]
        return [
            (dict(point.attributes or {}), _sum(point))
            for metric in metrics
            for point in metric.data.data_points
        ]


def _sum(point: Any) -> float:
    return float(point.sum if isinstance(point, HistogramDataPoint) else point.value)


def called(spans: Sequence[ReadableSpan], name: str) -> ReadableSpan:
    (span,) = [span for span in spans if span.name == name]
    return span


def under(span: ReadableSpan) -> int:
    assert span.parent is not None
    return span.parent.span_id


def own(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


async def test_a_run_is_a_tree_of_its_model_calls_and_tools() -> None:
    world = World()
    await world.run(code("try: web_search('x')\nexcept ToolError: final_answer(1)"))
    search, step = (called(world.spans, f"execute_tool {n}") for n in ("web_search", "python"))
    run = called(world.spans, "invoke_agent codeagent")
    chat = called(world.spans, "chat claude-haiku-4-5")
    assert under(search) == own(step)
    assert under(step) == under(chat) == own(run)
    assert run.parent is None
    assert chat.kind is SpanKind.CLIENT
    assert {search.kind, step.kind, run.kind} == {SpanKind.INTERNAL}
    facts = dict(chat.attributes or {})
    assert facts.pop("gen_ai.response.id")
    assert facts == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-haiku-4-5",
        "gen_ai.request.max_tokens": 4_096,
        "gen_ai.conversation.id": "run-1",
        "session.id": "run-1",
        "sidecar.model.purpose": "agent",
        "gen_ai.response.model": "claude-haiku-4-5",
        "gen_ai.response.finish_reasons": ("end_turn",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.cache_write.input_tokens": 0,
        "sidecar.usage.cost_usd": pytest.approx(0.000_15),
    }
    assert dict(run.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "codeagent",
        "gen_ai.request.model": "claude-haiku-4-5",
        "gen_ai.conversation.id": "run-1",
        "session.id": "run-1",
        "sidecar.agent.stop_reason": "answered",
        "sidecar.answer.source": "text",
        "sidecar.final_answer": True,
        "sidecar.turns": 1,
        "sidecar.directive": "proceed",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "sidecar.usage.cost_usd": pytest.approx(0.000_15),
    }


async def test_a_tool_that_asks_a_model_has_that_call_below_it() -> None:
    world = World()
    picture = "open('p.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(20))"
    await world.run(code(f"{picture}\nfinal_answer(describe_image('p.png'))"), Say(text="a cat"))
    tool = called(world.spans, "execute_tool describe_image")
    purposes = {
        (span.attributes or {})["sidecar.model.purpose"]: under(span)
        for span in world.spans
        if span.name.startswith("chat")
    }
    assert purposes["image"] == own(tool)
    assert purposes["agent"] == own(called(world.spans, "invoke_agent codeagent"))


async def test_nothing_that_a_run_is_about_is_in_a_span_or_a_measurement() -> None:
    world = World()
    await world.run(
        code(f"print('{SECRET}')\nread_file('{SECRET}')"),
        code(f"def {SECRET}(): raise KeyError('{SECRET}')\n{SECRET}()"),
        code(f"import __main__\ntry: __main__.web_search('{SECRET}')\nexcept ToolError: pass"),
        Fail(status=400, message=SECRET),
    )
    assert len(world.spans) >= 8
    for span in world.spans:
        assert SECRET not in span.to_json()
    assert SECRET not in str(world._reader.get_metrics_data())


async def test_the_inventory_lists_what_is_sent_and_nothing_else() -> None:
    world = World()
    with world.instruments.workflow("answer_with_review"):
        await world.run(code("web_search('x')"), Fail(status=400))
        # Of a run with a call that failed the cost is not known.
        await world.run(Say(text="FINAL_ANSWER: x"))
    sent = {(span.name.split()[0], name) for span in world.spans for name in span.attributes or {}}
    listed = {(place, attribute.name) for attribute in ATTRIBUTES for place in attribute.on}
    assert sent <= listed
    assert {each for each in listed if each[0] in names.AGENT_SPANS} <= sent


@pytest.mark.parametrize(
    ("replies", "name", "error"),
    [
        ([Fail(status=401)], "chat claude-haiku-4-5", "unauthenticated"),
        ([Fail(status=401)], "invoke_agent codeagent", "error"),
        ([code("1 / 0"), Fail(status=400)], "execute_tool python", "raised"),
        ([code("import os; os._exit(1)"), Fail(status=400)], "execute_tool python", "died"),
        ([code("web_search('x')"), Fail(status=400)], "execute_tool web_search", "refused"),
    ],
)
async def test_what_came_to_nothing_says_why(
    replies: Sequence[Step], name: str, error: str
) -> None:
    world = World()
    await world.run(*replies)
    span = next(span for span in world.spans if span.name == name and not span.status.is_ok)
    assert (span.attributes or {})["error.type"] == error
    assert span.status.status_code is StatusCode.ERROR
    assert not span.events


async def test_a_run_that_cannot_begin_is_a_span_with_the_reason() -> None:
    world = World()
    with pytest.raises(IsolationMissingError):
        await world.run(code("1"), ways=())
    (span,) = world.spans
    assert (span.attributes or {})["error.type"] == "IsolationMissingError"


async def test_calls_tokens_and_times_are_measured() -> None:
    world = World()
    await world.run(code("print(1)"), code("final_answer(1)"))
    asked = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-haiku-4-5",
    }
    assert world.measured("gen_ai.client.token.usage") == [
        ({**asked, "gen_ai.token.type": "input"}, 200),
        ({**asked, "gen_ai.token.type": "output"}, 20),
    ]
    [(facts, seconds)] = world.measured("gen_ai.client.operation.duration")
    assert facts == asked and seconds > 0
    agent = {"gen_ai.agent.name": "codeagent"}
    assert world.measured("gen_ai.invoke_agent.inference_calls") == [(agent, 2)]
    assert world.measured("gen_ai.invoke_agent.tool_calls") == [(agent, 2)]
    assert world.measured("gen_ai.execute_tool.duration")[0][0] == {"gen_ai.tool.name": "python"}
    assert world.measured("gen_ai.invoke_agent.duration")[0][0] == agent
    assert world.measured("sidecar.agent.runs") == [({"sidecar.agent.stop_reason": "answered"}, 1)]
    [(_, cost_usd)] = world.measured("sidecar.agent.cost")
    assert cost_usd == pytest.approx(0.000_3)


async def test_a_forced_commit_is_counted_by_what_caused_it_and_where_its_answer_is_from() -> None:
    world = World()
    replies = [code("print(1)"), Say(text="FINAL_ANSWER: 1")]
    await world.run(*replies, options=Options(turns_max=1))
    counted = {"sidecar.answer.source": "model", "sidecar.signal": "none"}
    assert world.measured("sidecar.agent.forced_commits") == [(counted, 1)]


async def test_names_that_code_makes_up_do_not_become_names_of_tools() -> None:
    world = World()
    with world.instruments.invocation("codeagent", session_id="run-1", model="m") as run:
        box = InstrumentedToolbox(Box([WebSearch(NoSearch())]), world.instruments, run)
        with pytest.raises(ToolRefused, match="no such tool"):
            await box.call(SECRET, {}, None)
    assert next(span.name for span in world.spans) == "execute_tool _OTHER"


def test_a_run_that_is_cut_off_from_outside_ends_its_span_with_an_error() -> None:
    world = World()
    with (
        pytest.raises(KeyError),
        world.instruments.invocation("codeagent", session_id="run-1", model="m"),
    ):
        raise KeyError(SECRET)
    (span,) = world.spans
    assert (span.attributes or {})["error.type"] == "KeyError"
    assert SECRET not in span.to_json()


async def test_without_an_sdk_there_is_no_traceparent_and_no_span() -> None:
    with Instruments().invocation("codeagent", session_id="run-1", model="m") as run:
        assert run.traceparent == ""
        assert not run.operation.span.is_recording()
