"""Messages made of what the caller says."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from sidecar.client.intake import Intake
from sidecar.client.naming import fit
from sidecar.client.report import ClientOptions, Failure, ToolCall
from sidecar.client.shape import Shape, shape_of
from sidecar.client.shrink import TEXT_BYTES_MAX, digest, is_within
from sidecar.v1 import run_pb2 as pb

# The sidecar takes so many calls a turn.
TOOL_CALLS_MAX: Final = 256
FAILURES_MAX: Final = 256
LABELS_MAX: Final = 16

_USAGE_COUNTS: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_write_input_tokens",
    "context_tokens",
    "context_window",
)
_PROGRESS_COUNTS: Final = (
    "files_changed",
    "files_changed_outside_plan",
    "tasks_completed",
    "tasks_aligned",
    "tests_passed",
    "tests_failed",
)
_TURN_COUNTS: Final = ("output_lines", "text_repeats", "text_length")
_NAMES: Final = ("id", "traceparent", "actor", "approach")
_ALONE: Final = (
    "tool_calls",
    "failures",
    "text",
    "text_digest",
    "final_answer",
    "cost_usd",
    "test_coverage_ratio",
    "confidence",
    "reward",
    "user_input",
    "start_time",
    "end_time",
)
_TURN_FIELDS: Final = frozenset(_USAGE_COUNTS + _PROGRESS_COUNTS + _TURN_COUNTS + _NAMES + _ALONE)

_OUTCOMES: Final = {
    "ok": pb.OUTCOME_OK,
    "error": pb.OUTCOME_ERROR,
    "denied": pb.OUTCOME_DENIED,
}
_RESULT_KINDS: Final = {
    "plain": pb.RESULT_KIND_PLAIN,
    "empty": pb.RESULT_KIND_EMPTY,
    "acknowledgement": pb.RESULT_KIND_ACKNOWLEDGEMENT,
    "running": pb.RESULT_KIND_RUNNING,
}
_CALL_KINDS: Final = {
    "plain": pb.CALL_KIND_PLAIN,
    "wait": pb.CALL_KIND_WAIT,
    "overview": pb.CALL_KIND_OVERVIEW,
    "navigation": pb.CALL_KIND_NAVIGATION,
    "write": pb.CALL_KIND_WRITE,
    "press": pb.CALL_KIND_PRESS,
}
_RUN_OUTCOMES: Final = {
    "succeeded": pb.RUN_OUTCOME_SUCCEEDED,
    "failed": pb.RUN_OUTCOME_FAILED,
    "cancelled": pb.RUN_OUTCOME_CANCELLED,
}
_MODES: Final = {"enforce": pb.MODE_ENFORCE, "observe": pb.MODE_OBSERVE}
_CALLS: Final = (ToolCall, Mapping)
_FAILURES: Final = (Failure, Mapping, BaseException, str, bytes, bytearray)
_CALL_FIELDS: Final = tuple(field.name for field in fields(ToolCall))
_FAILURE_FIELDS: Final = tuple(field.name for field in fields(Failure))


def compose_turn(
    report: Mapping[str, object], intake: Intake, *, began_s: float, ended_s: float
) -> pb.Turn:
    """The turn as the wire has it, without its sequence. Times in seconds since the epoch stand in
    for those that the report does not have."""
    for unknown in report.keys() - _TURN_FIELDS:
        intake.fault(unknown)
    start_time, end_time = report.get("start_time"), report.get("end_time")
    turn = pb.Turn(
        start_time=intake.time("start_time", began_s if start_time is None else start_time),
        end_time=intake.time("end_time", ended_s if end_time is None else end_time),
        user_input=intake.guarded("user_input", bool, report.get("user_input")),
        usage=_usage(report, intake),
        progress=_progress(report, intake),
        confidence=intake.measure("confidence", report.get("confidence")),
        reward=intake.measure("reward", report.get("reward")),
        final_answer=intake.text("final_answer", report.get("final_answer")),
        tool_calls=_tool_calls(_one_or_more(report.get("tool_calls"), _CALLS), intake),
        failures=_failures(_one_or_more(report.get("failures"), _FAILURES), intake),
        **{name: intake.name(name, report.get(name)) for name in _NAMES},  # type: ignore[arg-type]
        **{name: intake.count(name, report.get(name)) for name in _TURN_COUNTS},  # type: ignore[arg-type]
    )
    if _is_given(report.get("text_digest")):
        turn.text_digest = intake.name("text_digest", report.get("text_digest"))
    elif report.get("text") is not None:
        turn.text = intake.text("text", report.get("text"))
    return turn


def compose_open(options: ClientOptions, intake: Intake, *, client_instance: str) -> pb.Open:
    """The `open` that every stream of the client begins with."""
    given: Mapping[str, object] = options
    for unknown in given.keys() - ClientOptions.__optional_keys__:
        intake.fault(unknown)
    session_id = fit(intake.text("session_id", given.get("session_id")))
    return pb.Open(
        session_id=session_id or client_instance,
        agent_name=intake.name("agent_name", given.get("agent_name")),
        agent_version=intake.name("agent_version", given.get("agent_version")),
        model=intake.name("model", given.get("model")),
        policy=intake.name("policy", given.get("policy")),
        limits=_limits(given, intake),
        mode=intake.choice("mode", given.get("mode"), _MODES) or pb.MODE_ENFORCE,
        previous_session_id=fit(
            intake.text("previous_session_id", given.get("previous_session_id"))
        ),
        client_instance=client_instance,
        labels=_labels(given.get("labels"), intake),
    )


def compose_close(outcome: object, final_answer: object, intake: Intake) -> pb.Close:
    """The goodbye."""
    return pb.Close(
        outcome=intake.choice("outcome", outcome, _RUN_OUTCOMES),
        final_answer=intake.text("final_answer", final_answer),
    )


def _usage(report: Mapping[str, object], intake: Intake) -> pb.Usage | None:
    counts = {name: intake.count(name, report.get(name)) for name in _USAGE_COUNTS}
    cost_usd = intake.measure("cost_usd", report.get("cost_usd"), low=0.0)
    if cost_usd is None and all(count is None for count in counts.values()):
        return None
    return pb.Usage(cost_usd=cost_usd, **counts)


def _progress(report: Mapping[str, object], intake: Intake) -> pb.Progress | None:
    counts = {name: intake.count(name, report.get(name)) for name in _PROGRESS_COUNTS}
    coverage = intake.measure(
        "test_coverage_ratio", report.get("test_coverage_ratio"), low=0.0, high=1.0
    )
    if coverage is None and all(count is None for count in counts.values()):
        return None
    return pb.Progress(test_coverage_ratio=coverage, **counts)


def _limits(options: Mapping[str, object], intake: Intake) -> pb.Limits | None:
    limits = pb.Limits(
        max_turns=intake.count("max_turns", options.get("max_turns"), low=1),
        input_tokens_max=intake.count("input_tokens_max", options.get("input_tokens_max"), low=1),
        cost_usd_max=intake.measure("cost_usd_max", options.get("cost_usd_max"), low=0.0),
        duration_max=intake.duration("duration_max_s", options.get("duration_max_s")),
    )
    return limits if limits.ListFields() else None


def _labels(labels: object, intake: Intake) -> dict[str, str]:
    pairs = list(intake.entries("labels", labels).items())
    if len(pairs) > LABELS_MAX:
        intake.fault("labels")
    return {
        intake.name("labels", key): intake.name("labels", value)
        for key, value in pairs[:LABELS_MAX]
    }


def _tool_calls(calls: object, intake: Intake) -> list[pb.ToolCall]:
    messages = (
        intake.guarded("tool_calls", lambda given: _tool_call(given, intake), item)
        for item in intake.items("tool_calls", calls, TOOL_CALLS_MAX)
    )
    return [message for message in messages if message is not None]


def _tool_call(item: object, intake: Intake) -> pb.ToolCall:
    call = _fields_of(item, _CALL_FIELDS, "tool_calls", intake)
    message = pb.ToolCall(
        id=intake.name("id", call.get("id")),
        name=intake.name("name", call.get("name")),
        outcome=intake.choice("outcome", call.get("outcome"), _OUTCOMES),
        result_kind=intake.choice("result_kind", call.get("result_kind"), _RESULT_KINDS),
        call_kind=intake.choice("call_kind", call.get("call_kind"), _CALL_KINDS),
        duration=intake.duration("duration_s", call.get("duration_s")),
        error_position_digest=intake.name(
            "error_position_digest", call.get("error_position_digest")
        ),
    )
    _put_arguments(message, call, intake)
    _put_result(message, call, intake)
    return message


def _put_arguments(message: pb.ToolCall, call: Mapping[str, object], intake: Intake) -> None:
    if _is_given(call.get("arguments_digest")):
        message.arguments_digest = intake.name("arguments_digest", call["arguments_digest"])
    elif call.get("arguments") is not None:
        text = intake.any_text("arguments", call["arguments"])
        if is_within(text, TEXT_BYTES_MAX):
            message.arguments_json = intake.text("arguments", text)
        else:
            message.arguments_digest = digest(text)


def _put_result(message: pb.ToolCall, call: Mapping[str, object], intake: Intake) -> None:
    texts = []
    if call.get("result") is not None:
        texts.append(intake.any_text("result", call["result"]))
    error = call.get("error")
    if _is_error(error, intake):
        message.outcome = message.outcome or pb.OUTCOME_ERROR
        if error is not True:
            texts.append(intake.any_text("error", error))
    if _is_given(call.get("result_digest")):
        message.result_digest = intake.name("result_digest", call["result_digest"])
    elif texts:
        message.result_text = intake.lines("result", texts)


def _is_error(error: object, intake: Intake) -> bool:
    if error is None or error is False:
        return False
    match shape_of(error):
        case Shape.TEXT:
            return _is_given(error)
        case Shape.ERROR:
            return True  # it may be a collection of errors, and empty
        case _:
            if intake.guarded("error", bool, error) is not False:
                return True  # it is one, or cannot be asked
            intake.fault("error")
            return False


def _failures(failures: object, intake: Intake) -> list[pb.Failure]:
    messages = (
        intake.guarded("failures", lambda given: _failure(given, intake), item)
        for item in intake.items("failures", failures, FAILURES_MAX)
    )
    return [message for message in messages if message is not None]


def _failure(item: object, intake: Intake) -> pb.Failure:
    match shape_of(item):
        case Shape.TEXT | Shape.BYTES:
            return pb.Failure(message=intake.text("failures", item))
        case Shape.ERROR:
            message = intake.message("failures", item)
            return pb.Failure(
                kind=intake.name("failures", type(item).__name__),
                message=intake.text("failures", message),
            )
        case _:
            failure = _fields_of(item, _FAILURE_FIELDS, "failures", intake)
            return pb.Failure(
                kind=intake.name("kind", failure.get("kind")),
                message=intake.text("message", failure.get("message")),
                fingerprint=intake.name("fingerprint", failure.get("fingerprint")),
                fingerprint_strict=intake.name(
                    "fingerprint_strict", failure.get("fingerprint_strict")
                ),
            )


def _attribute(item: object, name: str, intake: Intake) -> object:
    return intake.guarded(name, lambda given: getattr(given, name, None), item)


def _is_given(text: Any) -> bool:
    """Whether it is there and not an empty text; a value's own truth is not asked for."""
    if text is None:
        return False
    match shape_of(text):
        case Shape.TEXT:
            return str.__len__(text) > 0
        case Shape.BYTES:
            return memoryview(text).nbytes > 0
        case _:
            return True


def _one_or_more(value: object, kinds: tuple[type, ...]) -> object:
    """The items, also where one stands without a list around it."""
    is_one = issubclass(type(value), kinds) and _is_given(value)
    return [value] if is_one else value


def _fields_of(
    item: object, names: tuple[str, ...], field: str, intake: Intake
) -> dict[str, object]:
    """The fields of one of our own values, or the entries of a mapping."""
    match item:
        case ToolCall() | Failure():
            return {name: _attribute(item, name, intake) for name in names}
        case Mapping():
            entries = intake.entries(field, item)
            for unknown in entries.keys() - set(names):
                intake.fault(f"{field}.{unknown}")
            return entries
        case _:
            raise TypeError(field)
