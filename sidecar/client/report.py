"""What an agent says of a turn, and of itself.

The types are what a type checker holds a caller to. At run time anything is taken: what cannot be
sent is turned into text or left out, and counted (`Reason.INTERNAL`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from typing import Literal, TypedDict

Outcome = Literal["ok", "error", "denied"]
ResultKind = Literal["plain", "empty", "acknowledgement", "running"]
CallKind = Literal["plain", "wait", "overview", "navigation", "write", "press"]
Mode = Literal["enforce", "observe"]
RunOutcome = Literal["succeeded", "failed", "cancelled"]
Time = datetime | float
"""A point in time: a datetime (a naive one is local time), or seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call with what came of it. A mapping with these keys does as well."""

    name: str
    arguments: Mapping[str, object] | str | None = None
    """A mapping, or JSON text; None: no arguments."""
    arguments_digest: str = ""
    """Any stable text in place of the arguments, for those that must not leave the process."""
    result: object = None
    """Text; anything else goes as JSON. None: not reported."""
    result_digest: str = ""
    """Any stable text in place of the result."""
    result_kind: ResultKind | None = None
    """To be stated beside a digest, which cannot tell."""
    error: str | BaseException | None = None
    """What went wrong; one makes the outcome "error"."""
    error_position_digest: str = ""
    outcome: Outcome | None = None
    """None: "error" with an error, else "ok". "denied": refused before it ran."""
    call_kind: CallKind | None = None
    duration_s: float | None = None
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One error of a turn. A mapping with these keys, a string or an exception does as well."""

    kind: str = ""
    """Type of the error, as "TypeError" or "exit 1"."""
    message: str = ""
    fingerprint: str = ""
    """Any stable text in place of the message."""
    fingerprint_strict: str = ""
    """As fingerprint, but telling line and column numbers apart."""


class TurnReport(TypedDict, total=False):
    """What `turn` takes, all of it optional: absent is not zero."""

    tool_calls: Iterable[ToolCall | Mapping[str, object]]
    """In the order they were made; the first 256 are sent. One that stands alone is one."""
    failures: Iterable[Failure | Mapping[str, object] | str | BaseException] | None
    """One that stands alone is one. None: the sidecar reads errors off the results of the failed
    calls."""
    text: str | None
    """What the assistant said."""
    text_digest: str
    text_repeats: int | None
    text_length: int | None
    output_lines: int | None
    """Lines that the assistant produced."""
    input_tokens: int | None
    """Tokens sent to the model, cached ones included."""
    output_tokens: int | None
    cache_read_input_tokens: int | None
    cache_write_input_tokens: int | None
    context_tokens: int | None
    """Tokens in the model's context after the turn: a level, not a sum."""
    context_window: int | None
    cost_usd: float | None
    files_changed: int | None
    """Files written, created or deleted; leave it out if the agent never edits files."""
    files_changed_outside_plan: int | None
    tasks_completed: int | None
    tasks_aligned: int | None
    tests_passed: int | None
    tests_failed: int | None
    test_coverage_ratio: float | None
    """In [0, 1]."""
    confidence: float | None
    reward: float | None
    """On any scale, higher is better."""
    approach: str
    """What is being tried, in a few words. Not for secrets."""
    final_answer: str
    """The run's answer; a turn with one is never told to change course."""
    actor: str
    """Name of the subagent that took the turn."""
    user_input: bool
    """Whether a person has spoken since the last turn."""
    id: str
    start_time: Time | None
    """None: when the report before it returned."""
    end_time: Time | None
    """None: now."""
    traceparent: str
    """W3C trace context of the agent's own span."""


class ClientOptions(TypedDict, total=False):
    """What a client takes beside the address, all of it optional."""

    agent_name: str
    agent_version: str
    model: str
    session_id: str
    """The run's own name, cut to 128 bytes; a UUID is made when empty. A client that names a
    session which the sidecar still holds goes on with it."""
    previous_session_id: str
    """A session whose state this one goes on with, with fresh context."""
    policy: str
    """Name of a policy; empty: the sidecar's default."""
    mode: Mode
    """"observe": turns are recorded and never answered, so nothing is waited for."""
    max_turns: int | None
    input_tokens_max: int | None
    cost_usd_max: float | None
    duration_max_s: float | None
    labels: Mapping[str, str]
    """A few words about the run, for spans and the console. Not for secrets."""
    timeout_s: float
    """Longest wait for a decision in seconds, 0.2 unless given, at most 60."""
    root_certificates: str | PathLike[str] | None
    """Path of the PEM file that the sidecar's certificate is checked against; turns TLS on."""
    certificate: str | PathLike[str] | None
    private_key: str | PathLike[str] | None
    """Paths of the client's own PEM files, for mutual TLS; one needs the other, and TLS."""
    token: str | None
    """Sent as a bearer token."""
