"""Turns as folded, in the form of the wire: digests where the content was.

A turn written here and read again by a TurnReader makes the same decisions: the digests are keyed
once more, which keeps equal what was equal and apart what was apart.
"""

import math

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.adapters.convert.enums import CALL_KINDS_OUT, OUTCOMES_OUT, RESULT_KINDS_OUT
from sidecar.adapters.convert.numbers import DURATION_MAX_S, TIME_MAX_S
from sidecar.core.turn import NO_PROGRESS, NO_USAGE, Failure, Progress, ToolCall, Turn, Usage
from sidecar.v1 import run_pb2 as pb


def turn_out(turn: Turn) -> pb.Turn:
    """The turn as the journal and a run file keep it."""
    wire = pb.Turn(
        sequence=turn.sequence,
        id=turn.id,
        start_time=timestamp(turn.start_s),
        end_time=timestamp(turn.end_s),
        traceparent=turn.traceparent,
        actor=turn.actor,
        directive_seen=turn.directive_seen,
        user_input=turn.user_input,
        usage=None if turn.usage is NO_USAGE else _usage(turn.usage),
        tool_calls=[_call(call) for call in turn.tool_calls],
        failures=[_failure(failure) for failure in turn.failures],
        output_lines=turn.output_lines,
        progress=None if turn.progress is NO_PROGRESS else _progress(turn.progress),
        confidence=turn.confidence,
        reward=turn.reward,
        approach=turn.approach,
        # That there was an answer decides; which one is content.
        final_answer="-" if turn.has_final_answer else "",
    )
    if turn.text is not None:
        wire.text_digest = turn.text.hex()
        wire.text_length = turn.text_length
        wire.text_repeats = turn.text_repeats
    return wire


def timestamp(time_s: float | None) -> Timestamp | None:
    """Seconds since the epoch as a Timestamp; None for what no Timestamp can hold."""
    if time_s is None or not -62_135_596_800 <= time_s < TIME_MAX_S:
        return None
    # Nanoseconds, though a double holds a quarter of a microsecond of today's times: read again,
    # these are the same double, and a turn that was just below a limit is so in a replay.
    return Timestamp(seconds=math.floor(time_s), nanos=_nanos(time_s))


def duration(seconds: float | None) -> Duration | None:
    """Seconds as a Duration; None for what no Duration can hold."""
    if seconds is None or not 0 <= seconds <= DURATION_MAX_S:
        return None
    return Duration(seconds=math.floor(seconds), nanos=_nanos(seconds))


def _nanos(seconds: float) -> int:
    """Of the second that has begun."""
    return min(round((seconds - math.floor(seconds)) * 1e9), 999_999_999)


def _call(call: ToolCall) -> pb.ToolCall:
    return pb.ToolCall(
        id=call.id,
        name=call.name,
        arguments_digest=call.call.hex(),
        outcome=OUTCOMES_OUT[call.outcome],
        result_digest=None if call.result is None else call.result.hex(),
        result_kind=RESULT_KINDS_OUT[call.result_kind],
        duration=duration(call.duration_s),
        call_kind=CALL_KINDS_OUT[call.kind],
        error_position_digest=call.error_position.hex(),
    )


def _failure(failure: Failure) -> pb.Failure:
    return pb.Failure(
        kind=failure.kind,
        fingerprint=failure.fingerprint.hex(),
        fingerprint_strict=failure.strict.hex(),
    )


def _usage(usage: Usage) -> pb.Usage:
    return pb.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_input_tokens=usage.cache_read_input_tokens,
        cache_write_input_tokens=usage.cache_write_input_tokens,
        context_tokens=usage.context_tokens,
        context_window=usage.context_window,
        cost_usd=usage.cost_usd,
    )


def _progress(progress: Progress) -> pb.Progress:
    return pb.Progress(
        files_changed=progress.files_changed,
        files_changed_outside_plan=progress.files_changed_outside_plan,
        tasks_completed=progress.tasks_completed,
        tasks_aligned=progress.tasks_aligned,
        tests_passed=progress.tests_passed,
        tests_failed=progress.tests_failed,
        test_coverage_ratio=progress.test_coverage_ratio,
    )
