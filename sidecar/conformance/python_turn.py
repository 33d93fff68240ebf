"""What a driver is given, in the words of this package's clients."""

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import json_format

from sidecar.v1 import run_pb2 as pb

_TURN_FIELDS: Final = (
    "id", "traceparent", "actor", "approach", "final_answer", "user_input", "confidence", "reward",
    "output_lines", "text_repeats", "text_length",
)  # fmt: skip
_CALL_FIELDS: Final = (
    "id", "name", "arguments_digest", "result_digest", "error_position_digest",
)  # fmt: skip


def options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The client's options; `timeout_ms` and `limits` have other names there."""
    found = {key: value for key, value in options.items() if key not in ("timeout_ms", "limits")}
    if "timeout_ms" in options:
        found["timeout_s"] = options["timeout_ms"] / 1000
    if "limits" in options:
        limits = json_format.ParseDict(options["limits"], pb.Limits())
        found |= {field.name: value for field, value in limits.ListFields()}
        if found.pop("duration_max", None) is not None:
            found["duration_max_s"] = limits.duration_max.ToTimedelta().total_seconds()
    return found


def report_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """A turn in proto3 JSON as a report."""
    turn = json_format.ParseDict(dict(said), pb.Turn())
    report = {name: getattr(turn, name) for name in _TURN_FIELDS if name in said}
    for part in (turn.usage, turn.progress):
        report |= {field.name: value for field, value in part.ListFields()}
    for name in ("start_time", "end_time"):
        if turn.HasField(name):
            moment = getattr(turn, name)
            report[name] = moment.seconds + moment.nanos / 1e9
    if (how := turn.WhichOneof("said")) is not None:
        report[how] = getattr(turn, how)
    if turn.tool_calls:
        report["tool_calls"] = [_call(call) for call in turn.tool_calls]
    if turn.failures:
        report["failures"] = [
            {field.name: value for field, value in failure.ListFields()}
            for failure in turn.failures
        ]
    return report


def close_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """A close in proto3 JSON as the arguments of `close`."""
    close = json_format.ParseDict(dict(said), pb.Close())
    outcome = _word(pb.RunOutcome, "RUN_OUTCOME_", close.outcome)
    return {"outcome": outcome, "final_answer": close.final_answer}


def _call(call: pb.ToolCall) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(call, name) for name in _CALL_FIELDS}
    if call.HasField("arguments_json"):
        found["arguments"] = call.arguments_json
    if call.HasField("result_text"):
        found["result"] = call.result_text
    if call.HasField("duration"):
        found["duration_s"] = call.duration.ToTimedelta().total_seconds()
    return found | {
        "outcome": _word(pb.Outcome, "OUTCOME_", call.outcome),
        "result_kind": _word(pb.ResultKind, "RESULT_KIND_", call.result_kind),
        "call_kind": _word(pb.CallKind, "CALL_KIND_", call.call_kind),
    }


def _word(enum: Any, prefix: str, number: int) -> str | None:
    """The client's word for a value of an enum; None: unset."""
    return enum.Name(number).removeprefix(prefix).lower() if number else None
