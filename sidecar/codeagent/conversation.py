"""The loop, without I/O: what to do next, and what becomes of it.

    Ask --replied--> Execute --executed--> Report --directed--> Ask | Commit | Finish
        --replied--> Report                                Commit --committed--> Report --> Finish
        --failed---> Report --directed--> Commit, or Finish where there was no turn before

Whoever drives it performs `next` and says what came of it by the method of the same row.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from sidecar.client import Directive, Kind
from sidecar.codeagent.blocks import code_in
from sidecar.codeagent.observation import OBSERVATION_CHARS_MAX, observe
from sidecar.codeagent.prompt import CHECKPOINT, CUT, NO_CODE, opening
from sidecar.codeagent.result import Outcome, StopReason, Told
from sidecar.codeagent.runner.step import Step
from sidecar.commit import Committed
from sidecar.core.answers.answer import Source, extract
from sidecar.core.answers.form import ANSWER_FORM
from sidecar.core.value import value
from sidecar.ports import FailureKind, ModelFailure, ModelReply, Spent, Stop

TURNS_MAX: Final = 20
REPLAN_EVERY: Final = 4
WITHOUT_CODE_MAX: Final = 3
"""All as founded; the last are replies in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be solved."""

    question: str
    id: str = ""
    note: str = ""
    """Added to the question: what a reviewer found wrong with an earlier answer."""
    nonce: Callable[[], str]
    """Makes a word that nobody else knows, to tell an output from what is said of it. Each output
    has its own: once the model has seen a word, code and pages may get to know it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How long it may take. Numbers of turns and characters."""

    turns_max: int = TURNS_MAX
    observation_chars_max: int = OBSERVATION_CHARS_MAX
    answer_form: str = ANSWER_FORM


@value
class Ask:
    """Ask the model."""

    messages: Sequence[Mapping[str, Any]]


@value
class Execute:
    """Run this code."""

    code: str


@value
class Report:
    """Tell the sidecar of a turn."""

    turn: int
    reply: ModelReply | None = None
    """None: the turn was a forced commit, or the model failed."""
    failure: ModelFailure | None = None
    step: Step | None = None
    committed: Committed | None = None
    answer: str | None = None


@value
class Commit:
    """Get an answer now."""

    messages: Sequence[Mapping[str, Any]]
    signal: str


@value
class Finish:
    """It is over."""

    outcome: Outcome


Action: TypeAlias = Ask | Execute | Report | Commit | Finish


@dataclass(kw_only=True)
class _Totals:
    """What the run has used."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    tools: Counter[str] = field(default_factory=Counter)

    def add(self, spent: Spent) -> None:
        """One model call."""
        self.input_tokens += spent.input_tokens
        self.output_tokens += spent.output_tokens
        if self.cost_usd is not None:
            self.cost_usd = None if spent.cost_usd is None else self.cost_usd + spent.cost_usd


class Conversation:
    """A run of the agent, as far as it is words."""

    def __init__(self, task: Task, options: Options | None = None) -> None:
        """Begin."""
        self._task = task
        self._options = options or Options()
        self._messages: list[Mapping[str, Any]] = [_user(opening(task.question, task.note))]
        self._totals = _Totals()
        self._steps: list[Step] = []
        self._told: list[Told] = []
        self._turn = 0
        self._replans = 0
        self._without_code = 0
        self._reply: ModelReply | None = None
        self._stop_reason = StopReason.MAX_TURNS
        self._answer: str | None = None
        self._source = Source.NONE
        self._error = ""
        self.next: Action = self._asking()

    def replied(self, reply: ModelReply) -> None:
        """The model did."""
        self._turn += 1
        self._reply = reply
        self._totals.add(reply.spent)
        # The API takes no message without text.
        said = reply.text if reply.text.strip() else "(nothing)"
        self._messages.append({"role": "assistant", "content": said})
        code = code_in(reply.text, truncated=reply.stop is Stop.MAX_TOKENS)
        if code is not None:
            self._without_code = 0
            self.next = Execute(code=code)
            return
        self._without_code += 1
        found = extract(reply.text, (self._options.answer_form,))
        self._answered(found.answer)
        self.next = Report(turn=self._turn, reply=reply, answer=self._answer)

    def failed(self, failure: ModelFailure) -> None:
        """The model did not reply. That ends the run."""
        self._turn += 1
        self._totals.add(failure.spent)
        timed_out = failure.kind is FailureKind.TIMEOUT
        self._stop_reason = StopReason.TIMED_OUT if timed_out else StopReason.ERROR
        self._error = str(failure)
        self.next = Report(turn=self._turn, failure=failure)

    def unrunnable(self, why: str) -> None:
        """The code could not be run, and no other will be."""
        self._error = why
        self._give_up(StopReason.ERROR)

    def executed(self, step: Step, spent: Sequence[Spent] = ()) -> None:
        """The code was run; `spent` by models that its tools asked."""
        self._steps.append(step)
        for each in spent:
            self._totals.add(each)
        self._totals.tools.update(use.name for use in step.uses)
        self._answered(step.answer)
        self.next = Report(turn=self._turn, reply=self._reply, step=step, answer=step.answer)

    def directed(self, directive: Directive) -> None:
        """The sidecar has heard of the turn."""
        if directive.kind is not Kind.PROCEED:
            self._told.append(Told(turn=self._turn, directive=directive))
        if self._answer is not None or self._is_committing:
            self._finish()
            return
        match directive.kind:
            case Kind.HALT:
                self._give_up(StopReason.HALTED)
            case _ if self._error:
                self._end_after_failure()
            case Kind.COMMIT:
                if not self._without_code:
                    self._messages.append(_user(self._observation()))
                self._commit(StopReason.COMMITTED, self._told[-1].signal)
            case Kind.PROCEED | Kind.ROTATE:
                self._go_on(directive)

    def committed(self, committed: Committed) -> None:
        """The forced commit came to this."""
        self._totals.add(committed.spent)
        self._answer, self._source = committed.answer, committed.source
        self._error = self._error or committed.model_error
        self.next = Report(turn=self._turn + 1, committed=committed, answer=committed.answer)

    @property
    def _is_committing(self) -> bool:
        return isinstance(self.next, Report) and self.next.committed is not None

    def _answered(self, answer: str | None) -> None:
        if answer is not None and answer.strip():
            self._answer, self._source = answer.strip(), Source.TEXT
            self._stop_reason = StopReason.ANSWERED

    def _go_on(self, directive: Directive) -> None:
        """To the next turn, if there is one."""
        if self._without_code >= WITHOUT_CODE_MAX:
            self._commit(StopReason.NO_CODE, "")
            return
        parts = [self._observation()]
        if directive.instruction and directive.kind is Kind.ROTATE:
            parts.append(directive.instruction)
        if not self._without_code and self._turn % REPLAN_EVERY == 0:
            self._replans += 1
            parts.append(CHECKPOINT)
        self._messages.append(_user("\n\n".join(parts)))
        self.next = self._asking()

    def _asking(self) -> Action:
        if self._turn < self._options.turns_max:
            return Ask(messages=tuple(self._messages))
        if self._turn == 0:
            return Finish(outcome=self._outcome())
        return Commit(messages=tuple(self._messages), signal="")

    def _observation(self) -> str:
        if not self._without_code:
            chars_max = self._options.observation_chars_max
            return observe(self._steps[-1], self._task.nonce(), chars_max=chars_max)
        cut = self._reply is not None and self._reply.stop is Stop.MAX_TOKENS
        return CUT if cut else NO_CODE

    def _commit(self, stop_reason: StopReason, signal: str) -> None:
        self._stop_reason = stop_reason
        self.next = Commit(messages=tuple(self._messages), signal=signal)

    def _end_after_failure(self) -> None:
        """By a forced commit: its call is another one, which can be shorter or come later."""
        if self._reply is None:
            self._give_up(self._stop_reason)  # nothing is known yet that an answer could rest on
            return
        self._commit(self._stop_reason, "")

    def _give_up(self, stop_reason: StopReason) -> None:
        """End without another call; an answer that was said before still counts."""
        self._stop_reason = stop_reason
        found = extract(self._messages, (self._options.answer_form,))
        self._answer, self._source = found.answer, found.source
        self._finish()

    def _finish(self) -> None:
        self.next = Finish(outcome=self._outcome())

    def _outcome(self) -> Outcome:
        totals = self._totals
        return Outcome(
            stop_reason=self._stop_reason,
            answer=self._answer,
            source=self._source,
            error=self._error,
            turns=self._turn,
            replans=self._replans,
            input_tokens=totals.input_tokens,
            output_tokens=totals.output_tokens,
            cost_usd=totals.cost_usd,
            steps=tuple(self._steps),
            tool_calls=dict(totals.tools),
            told=tuple(self._told),
        )


def _user(text: str) -> Mapping[str, Any]:
    return {"role": "user", "content": text}
