"""OTLP JSON of GenAI spans: what a Collector's file exporter writes, or an export request.

Read are the conventions of OpenTelemetry for generative AI, with the names that they have had, and
those of OpenInference. A model call begins a turn, and the tool spans up to the next one belong to
it. A run is a conversation, or a trace where no conversation is named.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sidecar.adapters.semconv import attributes as semconv
from sidecar.datasets.formats.otlp_spans import Export, Seen, spans_in
from sidecar.datasets.genai_messages import Messages, answers_in, messages_in
from sidecar.datasets.moves import (
    Answered,
    Call,
    Document,
    Fault,
    Finding,
    Move,
    Person,
    Recording,
    Said,
    Skipped,
)
from sidecar.datasets.shapes import each, outcome, total
from sidecar.v1.run_pb2 import Usage

EXPECTED: Final = "OTLP JSON: resourceSpans"

_MODEL_CALLS: Final = ("chat", "generate_content", "text_completion", "LLM")
_TOOL_CALLS: Final = ("execute_tool", "TOOL")
_AGENTS: Final = ("invoke_agent", "AGENT")

_AGENT: Final = (semconv.AGENT_NAME,)
_MODEL: Final = (semconv.REQUEST_MODEL, "gen_ai.response.model", "llm.model_name")
_TOOL: Final = ("gen_ai.tool.name", "tool.name")
_CALL_ID: Final = ("gen_ai.tool.call.id", "gen_ai.tool.call_id", "tool.id")
_ARGUMENTS: Final = ("gen_ai.tool.call.arguments", "input.value")
_RESULT: Final = ("gen_ai.tool.call.result", "anthropic.tool_result.content", "output.value")
_ERROR: Final = (semconv.ERROR_TYPE,)
_INPUT: Final = ("gen_ai.input.messages",)
_OUTPUT: Final = ("gen_ai.output.messages",)
_TEXT: Final = ("output.value",)
_SENT: Final = (semconv.INPUT_TOKENS, "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_ANSWERED: Final = (
    semconv.OUTPUT_TOKENS,
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
)
_CACHE_READ: Final = (
    semconv.CACHE_READ_TOKENS,
    "gen_ai.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
)
_CACHE_WRITTEN: Final = (
    semconv.CACHE_WRITE_TOKENS,
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "llm.token_count.prompt_details.cache_write",
)


def convert(document: Document) -> Iterator[Finding]:
    """One recording for each conversation, in the order in which they begin."""
    spans: list[Seen] = []

    def read(export: Export) -> Iterator[Finding]:
        spans.extend(spans_in(export))
        return iter(())

    yield from each(document.records, Export, EXPECTED, read)
    known = (*_MODEL_CALLS, *_TOOL_CALLS, *_AGENTS)
    other = sum(span.operation not in known for span in spans)
    if other:
        yield Skipped(kind="span of another kind", count=other)
    for session, group in _sessions(spans).items():
        moves = tuple(_moves(group))
        if any(isinstance(move, Said) for move in moves):
            yield Recording(
                session_id=session,
                agent=next(filter(None, (span.text(_AGENT) for span in group)), "otlp"),
                model=next(filter(None, (span.text(_MODEL) for span in group)), ""),
                moves=moves,
            )


def _sessions(spans: list[Seen]) -> dict[str, list[Seen]]:
    """Spans by conversation. One that names none belongs to its trace's, if there is just one."""
    named: dict[str, set[str]] = {}
    for span in spans:
        if span.session:
            named.setdefault(span.span.trace_id, set()).add(span.session)
    found: dict[str, list[Seen]] = {}
    for span in sorted(spans, key=lambda span: span.begun_s):
        of_trace = named.get(span.span.trace_id, set())
        only = next(iter(of_trace)) if len(of_trace) == 1 else span.span.trace_id
        found.setdefault(span.session or only, []).append(span)
    return found


def _moves(spans: list[Seen]) -> Iterator[Move]:
    """The moves of one conversation, whose spans come in the order of their beginnings."""
    agents = _Agents.of(spans)
    turns: list[_Turn] = []
    latest: dict[str, int] = {}
    """The turn that each agent is in, by the id of its span."""
    for span in spans:
        agent = agents.around(span)
        if span.operation in _MODEL_CALLS:
            messages = messages_in(span.first(_INPUT))
            if agent in latest:
                turns[latest[agent]] = turns[latest[agent]].with_answers(answers_in(messages))
            new = agent in agents.roots and agent not in latest
            latest[agent] = len(turns)
            turns.append(
                _Turn(
                    spoken=_has_person(messages) if messages else new,
                    said=_said(span, actor=agents.actor(agent)),
                    fault=_fault(span),
                )
            )
        elif span.operation in _TOOL_CALLS and turns:
            turn = latest.get(agent, len(turns) - 1)
            turns[turn] = turns[turn].with_tool(span)
    for turn_ in turns:
        yield from turn_.moves()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Agents:
    """Which agent a span belongs to."""

    parents: Mapping[str, str]
    names: Mapping[str, str]
    """Of the agents, by the ids of their spans."""
    roots: frozenset[str]
    """Those that no other agent invoked: a person did."""

    @classmethod
    def of(cls, spans: list[Seen]) -> "_Agents":
        parents = {span.span.span_id: span.span.parent_span_id for span in spans}
        names = {
            span.span.span_id: span.text(_AGENT) or "subagent"
            for span in spans
            if span.operation in _AGENTS
        }
        found = cls(parents=parents, names=names, roots=frozenset())
        roots = (agent for agent in names if not found._above(parents[agent]))
        return replace(found, roots=frozenset(roots))

    def around(self, span: Seen) -> str:
        """The id of the agent that a span belongs to; empty: none is there."""
        return self._above(span.span.parent_span_id)

    def actor(self, agent: str) -> str:
        """The name of a subagent; empty for the agent itself."""
        return "" if agent in self.roots else self.names.get(agent, "")

    def _above(self, span_id: str) -> str:
        seen: set[str] = set()
        while span_id and span_id not in self.names and span_id not in seen:
            seen.add(span_id)
            span_id = self.parents.get(span_id, "")
        return span_id if span_id in self.names else ""


def _has_person(messages: Messages) -> bool:
    """Whether the last message is a person's."""
    last = messages[-1]
    return last.role == "user" and any(part.type == "text" for part in last.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    spoken: bool
    """Whether a person spoke before it. Where messages were not recorded, the first model call of
    an agent that no other agent invoked follows a person's word."""
    said: Said
    fault: Fault | None
    answers: tuple[Answered, ...] = ()

    def with_tool(self, span: Seen) -> "_Turn":
        """The turn with the tool span's call and its answer."""
        call_id = span.text(_CALL_ID) or span.span.span_id
        arguments = span.first(_ARGUMENTS)
        known = {call.id: call for call in self.said.calls}
        before = known.get(call_id)
        known[call_id] = Call(
            id=call_id,
            name=span.text(_TOOL) or (before.name if before else ""),
            arguments=before.arguments if before and arguments is None else arguments,
        )
        answer = Answered(
            text=span.text(_RESULT) or span.span.status.message or span.text(_ERROR),
            outcome=outcome(span.failed),
            call_id=call_id,
            at_s=span.ended_s,
        )
        said = replace(self.said, calls=tuple(known.values()))
        return replace(self, said=said, answers=(*self.answers, answer))

    def with_answers(self, heard: Mapping[str, str]) -> "_Turn":
        """The turn with what the next model call heard of calls that have no span."""
        spanned = {answer.call_id for answer in self.answers}
        found = (
            Answered(text=heard[call.id], call_id=call.id)
            for call in self.said.calls
            if call.id in heard and call.id not in spanned
        )
        return replace(self, answers=(*self.answers, *found))

    def moves(self) -> Iterator[Move]:
        if self.spoken:
            yield Person()
        yield self.said
        yield from self.answers
        if self.fault is not None:
            yield self.fault


def _said(span: Seen, *, actor: str) -> Said:
    parts = [part for message in messages_in(span.first(_OUTPUT)) for part in message.parts]
    text = "\n".join(part.words for part in parts if part.type == "text")
    sent, answered = span.count(_SENT), span.count(_ANSWERED)
    return Said(
        text=text or ("" if parts else span.text(_TEXT)),
        calls=tuple(
            Call(id=part.id or "", name=part.name or "", arguments=part.arguments)
            for part in parts
            if part.type == "tool_call"
        ),
        usage=Usage(
            input_tokens=sent,
            output_tokens=answered,
            cache_read_input_tokens=span.count(_CACHE_READ),
            cache_write_input_tokens=span.count(_CACHE_WRITTEN),
            context_tokens=total(sent, answered),
        ),
        at_s=span.begun_s,
        until_s=span.ended_s,
        actor=actor,
    )


def _fault(span: Seen) -> Fault | None:
    if not span.failed:
        return None
    kind = span.text((semconv.ERROR_TYPE,)) or "error"
    return Fault(kind=kind, message=span.span.status.message)
