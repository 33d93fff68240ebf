"""The reference agent: a conversation with a model, an interpreter for its code, and a sidecar."""

import contextlib
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, assert_never

from sidecar.client import AsyncClient, Directive, Failure, ToolCall
from sidecar.codeagent.conversation import (
    Ask,
    Commit,
    Conversation,
    Execute,
    Finish,
    Options,
    Report,
    Task,
)
from sidecar.codeagent.instrumented import InstrumentedModel, InstrumentedToolbox
from sidecar.codeagent.instruments import Instruments, Invocation
from sidecar.codeagent.prompt import system
from sidecar.codeagent.result import AgentResult, Outcome
from sidecar.codeagent.runner.files import named
from sidecar.codeagent.runner.interpreter import Bounds, Interpreter, IsolationMissingError
from sidecar.codeagent.runner.isolation import WAYS, Isolation, Nothing
from sidecar.codeagent.runner.step import Ended, Step, Toolbox
from sidecar.codeagent.tools.asking import DescribeImage, GroundedQuery, Spending
from sidecar.codeagent.tools.pages import NoPages, Pages
from sidecar.codeagent.tools.read_file import ReadFile
from sidecar.codeagent.tools.searching import NoSearch, Search
from sidecar.codeagent.tools.tool import Box
from sidecar.codeagent.tools.web import VisitWebpage, WebSearch
from sidecar.commit import ForceCommit
from sidecar.ports import Model, ModelFailure, ModelReply, ModelRequest, Purpose

OUTPUT_TOKENS_MAX: Final = 4_096
MODEL_TIMEOUT_S: Final = 90.0
"""Both as founded."""
AGENT_NAME: Final = "codeagent"
STEP_TOOL: Final = "python"
"""What a step is called where tool calls are counted."""
NONCE_BYTES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an agent works with."""

    model: Model
    search: Search = field(default_factory=NoSearch)
    search_of_run: Callable[[Model, Spending, float], Search] | None = None
    """Makes a search for each run that asks its model, for so many seconds a call; goes before
    `search`."""
    pages: Pages = field(default_factory=NoPages)
    watch: Callable[[str], AsyncClient] | None = None
    """Makes the client that reports a run, given its session id; None: nobody watches."""
    isolated: bool = True
    """False: code runs without containment."""
    ways: Sequence[Isolation] = WAYS
    bounds: Bounds = field(default_factory=Bounds)
    options: Options = field(default_factory=Options)
    model_timeout_s: float = MODEL_TIMEOUT_S
    """Of each call of a model: the agent's own, its tools' and a forced commit's."""
    instruments: Instruments = field(default_factory=Instruments)
    """What shows its work to OpenTelemetry."""
    seen: Callable[[Report, Directive], None] = lambda _report, _directive: None
    """Called after each turn, with what the sidecar said to it. Must not raise."""


class CodeAgent:
    """Answers questions. May work on several at a time."""

    def __init__(self, surroundings: Surroundings) -> None:
        """With these."""
        self._with = surroundings

    async def run(
        self,
        question: str,
        *,
        question_id: str = "",
        files: Sequence[Path] = (),
        note: str = "",
        session_id: str = "",
    ) -> AgentResult:
        """Work on a question. `note`: what a reviewer found wrong with an earlier answer.

        Raises FileUnusableError, or IsolationMissingError where code cannot be contained, before
        anything is asked; and nothing that model, sidecar or the model's code could cause.
        """
        given = named(files)
        session_id = session_id or f"{AGENT_NAME}-{secrets.token_hex(8)}"
        task = Task(
            question=question,
            id=question_id,
            note=note,
            nonce=lambda: secrets.token_hex(NONCE_BYTES),
        )
        instruments, model_name = self._with.instruments, self._with.model.name
        with instruments.invocation(
            AGENT_NAME, session_id=session_id, model=model_name
        ) as invocation:
            result = await self._run(task, given, invocation)
            instruments.finished(invocation, result.outcome)
        return result

    async def _run(
        self, task: Task, files: Mapping[str, Path], invocation: Invocation
    ) -> AgentResult:
        began_s = time.monotonic()
        session_id = invocation.session_id
        model = InstrumentedModel(self._with.model, self._with.instruments, invocation)
        spending = Spending(session_id)
        box = InstrumentedToolbox(self._box(model, spending), self._with.instruments, invocation)
        async with self._interpreter(box, files) as interpreter, self._client(session_id) as client:
            run = _Run(
                surroundings=self._with,
                model=model,
                conversation=Conversation(task, self._with.options),
                interpreter=interpreter,
                spending=spending,
                client=client,
                system=self._system(box, tuple(files)),
                question=task.question,
                invocation=invocation,
            )
            outcome = await run.finish()
        return AgentResult(
            question_id=task.id,
            session_id=session_id,
            outcome=outcome,
            isolation=interpreter.way,
            give_ups={} if client is None else client.give_ups,
            wall_s=time.monotonic() - began_s,
        )

    @contextlib.asynccontextmanager
    async def _interpreter(
        self, box: Toolbox, files: Mapping[str, Path]
    ) -> AsyncIterator[Interpreter]:
        """One that has been started."""
        bounds = self._with.bounds
        with _ways(self._with) as ways:
            async with Interpreter(toolbox=box, files=files, ways=ways, bounds=bounds) as made:
                await made.start()
                yield made

    @contextlib.asynccontextmanager
    async def _client(self, session_id: str) -> AsyncIterator[AsyncClient | None]:
        """The one that reports the run; None: nobody watches."""
        if self._with.watch is None:
            yield None
            return
        async with self._with.watch(session_id) as client:
            yield client

    def _box(self, model: Model, spending: Spending) -> Box:
        make, pages = self._with.search_of_run, self._with.pages
        timeout_s = self._with.model_timeout_s
        search = self._with.search if make is None else make(model, spending, timeout_s)
        return Box(
            [
                WebSearch(search),
                VisitWebpage(pages),
                GroundedQuery(model, search, pages, spending, model_timeout_s=timeout_s),
                ReadFile(),
                DescribeImage(model, spending, model_timeout_s=timeout_s),
            ]
        )

    def _off(self) -> frozenset[str]:
        """Names of the tools that could only raise."""
        off = set()
        if isinstance(self._with.search, NoSearch) and self._with.search_of_run is None:
            off |= {WebSearch.spec.name, GroundedQuery.spec.name}
        if isinstance(self._with.pages, NoPages):
            off |= {VisitWebpage.spec.name}
        return frozenset(off)

    def _system(self, box: Toolbox, files: Sequence[str]) -> str:
        return system(
            box.specs,
            files,
            off=self._off(),
            turns_max=self._with.options.turns_max,
            step_timeout_s=self._with.bounds.step_timeout_s,
            observation_chars_max=self._with.options.observation_chars_max,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run: does what the conversation says next."""

    surroundings: Surroundings
    model: Model
    conversation: Conversation
    interpreter: Interpreter
    spending: Spending
    client: AsyncClient | None
    system: str
    question: str
    invocation: Invocation

    async def finish(self) -> Outcome:
        """Go on until it is over, and tell the sidecar how it ended."""
        outcome = await self._outcome()
        if self.client is not None:
            answer = outcome.answer or ""
            await self.client.close(
                outcome="succeeded" if answer else "failed", final_answer=answer
            )
        return outcome

    async def _outcome(self) -> Outcome:
        conversation = self.conversation
        while True:
            match conversation.next:
                case Ask() as ask:
                    await self._ask(ask)
                case Execute(code=code):
                    await self._execute(code)
                case Report() as report:
                    directive = await self._report(report)
                    conversation.directed(directive)
                    self.surroundings.seen(report, directive)
                case Commit() as commit:
                    await self._force(commit)
                case Finish(outcome=outcome):
                    return outcome
                case never:
                    assert_never(never)

    async def _ask(self, ask: Ask) -> None:
        request = ModelRequest(
            messages=ask.messages,
            output_tokens_max=OUTPUT_TOKENS_MAX,
            timeout_s=self.surroundings.model_timeout_s,
            purpose=Purpose.AGENT,
            system=self.system,
            session_id=self.invocation.session_id,
        )
        try:
            reply = await self.model.ask(request)
        except ModelFailure as failure:
            self.conversation.failed(failure)
        else:
            self.conversation.replied(reply)

    async def _execute(self, code: str) -> None:
        try:
            with self.surroundings.instruments.tool(STEP_TOOL, self.invocation) as tool:
                step = await self.interpreter.step(code)
                tool.error = "" if step.ended is Ended.DONE else step.ended.value
        except IsolationMissingError as error:
            self.conversation.unrunnable(f"code cannot be contained here: {error}")
        else:
            self.conversation.executed(step, self.spending.take())

    async def _force(self, commit: Commit) -> None:
        committed = await ForceCommit(self.model).commit(
            commit.messages,
            question=self.question,
            answer_form=self.surroundings.options.answer_form,
            signal=commit.signal,
            session_id=self.invocation.session_id,
            timeout_s=self.surroundings.model_timeout_s,
        )
        self.surroundings.instruments.committed(committed)
        self.conversation.committed(committed)

    async def _report(self, report: Report) -> Directive:
        if self.client is None:
            return Directive()
        spent = report.committed.spent if report.committed else None
        if report.reply is not None:
            spent = report.reply.spent
        tokens = {} if spent is None else _tokens(spent, self.surroundings.model)
        directive = await self.client.turn(
            tool_calls=_calls(report.step),
            failures=_failures(report.failure),
            text=_text(report.reply),
            final_answer=report.answer or "",
            traceparent=self.invocation.traceparent,
            **tokens,
        )
        if directive.wait_max_s is not None:
            return await self.client.wait_for_operator()
        return directive


@contextlib.contextmanager
def _ways(surroundings: Surroundings) -> Iterator[Sequence[Isolation]]:
    """How code is contained; where it is not to be, with a directory for it."""
    if surroundings.isolated:
        yield surroundings.ways
        return
    with tempfile.TemporaryDirectory(
        prefix="sidecar-agent-", ignore_cleanup_errors=True
    ) as directory:
        yield (Nothing(directory=directory),)


def _tokens(spent: Any, model: Model) -> Any:
    """The usage of a model call, as a report of a turn has it."""
    return {
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cache_read_input_tokens": spent.cache_read_tokens,
        "cache_write_input_tokens": spent.cache_write_tokens,
        "context_tokens": spent.input_tokens + spent.output_tokens,
        "context_window": model.window_tokens,
        "cost_usd": spent.cost_usd,
    }


def _text(reply: ModelReply | None) -> str | None:
    return None if reply is None else reply.text


def _failures(failure: ModelFailure | None) -> list[Failure]:
    """Of the model; those of a step the sidecar reads off its calls."""
    if failure is None:
        return []
    return [Failure(kind=failure.kind.value, message=failure.message)]


def _calls(step: Step | None) -> list[ToolCall]:
    """The step as a call, and the calls that its code made."""
    if step is None:
        return []
    problem = step.error or (None if step.ended is Ended.DONE else f"the step {step.ended}")
    calls = [
        ToolCall(
            name=STEP_TOOL,
            arguments={"code": step.code},
            result=step.output,
            error=problem,
            duration_s=step.duration_s,
        )
    ]
    calls += [
        ToolCall(
            name=use.name,
            arguments=use.arguments,
            result=None if use.failed else use.result,
            error=use.result if use.failed else None,
            duration_s=use.duration_s,
        )
        for use in step.uses
    ]
    return calls
