"""What happened in one turn, reduced to what can be compared and counted.

A Turn holds no content: texts and arguments arrive as 8-byte digests (`sidecar.core.digests`), so
a signal can ask "the same again?" and nothing else, and whatever is stored or shown later has
nothing to leak. Every measurement is optional, and absent (`None`) is never zero.
"""

from enum import Enum

from sidecar.core.value import value


class Outcome(Enum):
    """What became of a tool call."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"


class ResultKind(Enum):
    """What kind of text a result is."""

    PLAIN = "plain"
    EMPTY = "empty"
    ACKNOWLEDGEMENT = "acknowledgement"
    RUNNING = "running"


class CallKind(Enum):
    """What kind of call it is, as far as the patience it deserves goes."""

    PLAIN = "plain"
    WAIT = "wait"
    OVERVIEW = "overview"
    NAVIGATION = "navigation"
    WRITE = "write"
    PRESS = "press"


@value
class ToolCall:
    """One call of a tool, with what came of it."""

    name: str
    tool: bytes = b""
    """Digest of the tool's name."""
    call: bytes
    """Digest of the tool's name and its canonical arguments."""
    result: bytes | None = None
    """Digest of the masked result; None: not reported."""
    outcome: Outcome = Outcome.OK
    result_kind: ResultKind = ResultKind.PLAIN
    kind: CallKind = CallKind.PLAIN
    error_position: bytes = b""
    """Digest of the line and column numbers that the error names; empty: none named."""
    id: str = ""
    duration_s: float | None = None

    @property
    def informs(self) -> bool:
        """Whether its result could be news: it did not fail, and there is something in it."""
        kind = self.result_kind
        return (
            self.outcome is Outcome.OK
            and kind is not ResultKind.EMPTY
            and kind is not ResultKind.RUNNING
        )


@value
class Failure:
    """One error, as a fingerprint that its wording, not its numbers, decides."""

    kind: str = ""
    fingerprint: bytes
    strict: bytes
    """As fingerprint, with line and column numbers kept."""


@value
class Usage:
    """Tokens and cost of one turn. `input_tokens` includes cached tokens."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    context_tokens: int | None = None
    """Tokens in the model's context after the turn: a level, not a sum."""
    context_window: int | None = None
    cost_usd: float | None = None


@value
class Progress:
    """What moved in one turn: amounts, but for the coverage, which is a level in [0, 1]."""

    files_changed: int | None = None
    files_changed_outside_plan: int | None = None
    tasks_completed: int | None = None
    tasks_aligned: int | None = None
    tests_passed: int | None = None
    tests_failed: int | None = None
    test_coverage_ratio: float | None = None


NO_USAGE = Usage()
NO_PROGRESS = Progress()


@value
class Turn:
    """One turn of an agent's loop: a model call and the tool calls that came of it."""

    sequence: int
    id: str = ""
    start_s: float | None = None
    """Seconds since the epoch, by the agent's clock."""
    end_s: float | None = None
    traceparent: str = ""
    actor: str = ""
    """The subagent that took the turn; empty: the agent itself."""
    directive_seen: int | None = None
    """Sequence of the last decision that reached the agent; None: all did."""
    user_input: bool = False
    usage: Usage = NO_USAGE
    tool_calls: tuple[ToolCall, ...] = ()
    failures: tuple[Failure, ...] = ()
    text: bytes | None = None
    """Digest of what the assistant said, digits masked; None: it said nothing."""
    text_length: int = 0
    text_repeats: int = 0
    """Times that one phrase is chanted within the text."""
    output_lines: int | None = None
    progress: Progress = NO_PROGRESS
    confidence: float | None = None
    reward: float | None = None
    approach: str = ""
    has_final_answer: bool = False
    repeated: tuple[bool, ...] = ()
    """For each call: had the run seen its (call, result) before? Empty: none. Filled in by the
    fold (`sidecar.core.novelty`), which alone remembers."""
    others_progressed: bool = False
    """Whether other actors of the run progressed since this one's last turn. Filled in by the
    fold."""
    others_changed: bool = False
    """Whether they changed something since. Filled in by the fold."""
    others_said: bool = False
    """Whether one of them said something new since. Filled in by the fold."""

    improved: bool = False
    """Whether fewer tests failed than ever before in this actor's memory. Filled in by the fold."""

    @property
    def news(self) -> tuple[bool, ...]:
        """For each call: did it bring a result that the run had not seen from it, un-failed and
        not empty?"""
        calls = self.tool_calls
        if not self.repeated:
            return tuple([call.informs for call in calls])
        return tuple(
            [call.informs and not again for call, again in zip(calls, self.repeated, strict=True)]
        )

    @property
    def progressed(self) -> bool:
        """Whether a file changed or a call brought news."""
        return (self.progress.files_changed or 0) > 0 or True in self.news

    @property
    def reports_progress(self) -> bool:
        """Whether a file changed, a task was completed or fewer tests fail, as reported."""
        progress = self.progress
        return (
            self.improved
            or (progress.files_changed or 0) > 0
            or (progress.tasks_completed or 0) > 0
        )

    @property
    def changed(self) -> bool:
        """Whether a file changed, or a write was made for the first time, be it in silence."""
        if (self.progress.files_changed or 0) > 0:
            return True
        repeated = self.repeated or (False,) * len(self.tool_calls)
        for call, again in zip(self.tool_calls, repeated, strict=True):
            if call.kind is CallKind.WRITE and call.outcome is Outcome.OK and not again:
                return True
        return False
