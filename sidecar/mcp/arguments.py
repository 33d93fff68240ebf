"""The arguments of a tool, read leniently: what a model writes, not what it was asked to write.

Nothing here raises. What could not be taken is named, so that the model can do better.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sidecar.client.compose import compose_turn
from sidecar.client.intake import Intake
from sidecar.mcp.schemas import COMMIT, TURN
from sidecar.v1 import answer_service_pb2
from sidecar.v1 import run_pb2 as pb

MESSAGES_MAX: Final = 1_000
"""Of the latest; a model's context holds no more."""

TEXT_BYTES_MAX: Final = 64 * 1024
MESSAGES_BYTES_MAX: Final = 3 * 1024 * 1024
"""Of all texts: gRPC takes 4 MiB."""

NAMED_MAX: Final = 32
"""Arguments that an answer names as not taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A turn as it is to be reported."""

    fields: Mapping[str, Any]
    """For the client."""
    turn: pb.Turn
    """The same, composed; without a sequence."""
    ignored: tuple[str, ...]


def read_report(arguments: Mapping[str, Any], *, began_s: float, ended_s: float) -> Report:
    """The turn that `report_turn` was called with; its times in seconds since the epoch."""
    # `user_input` stands for a person and sets a run free, so a model cannot say it of itself.
    known = {name: _read(TURN[name], arguments[name]) for name in TURN if name in arguments}
    intake = Intake()
    turn = compose_turn(known, intake, began_s=began_s, ended_s=ended_s)
    return Report(fields=known, turn=turn, ignored=named(arguments.keys() - TURN.keys(), intake))


def read_commit(
    arguments: Mapping[str, Any], *, session_id: str
) -> tuple[answer_service_pb2.ForceCommitRequest, tuple[str, ...]]:
    """What `request_commit` asks for, of this session, and what of its arguments was not taken."""
    intake = Intake()
    given = _read(COMMIT["messages"], arguments.get("messages"))
    latest = given[-MESSAGES_MAX:] if isinstance(given, list) else given
    items = intake.items("messages", latest, MESSAGES_MAX)
    messages: list[answer_service_pb2.Message] = []
    bytes_left = MESSAGES_BYTES_MAX
    for item in reversed(items):
        entries = intake.entries("messages", item)
        text = intake.text("messages", entries.get("text", entries.get("content")), TEXT_BYTES_MAX)
        bytes_left -= len(text.encode())
        if bytes_left < 0:
            intake.fault("messages")
            break
        role = intake.name("messages", entries.get("role"))
        messages.append(answer_service_pb2.Message(role=role, text=text))
    request = answer_service_pb2.ForceCommitRequest(
        session_id=session_id,
        question=intake.text("question", arguments.get("question")),
        messages=reversed(messages),
    )
    return request, named(arguments.keys() - COMMIT.keys(), intake)


def _read(schema: Mapping[str, Any], value: Any) -> Any:
    """The value; where an array is wanted also from JSON text, or from its only item."""
    if schema["type"] != "array":
        return value
    match value:
        case str():
            try:
                return _read(schema, json.loads(value))
            except (ValueError, RecursionError):
                return None if not value else object()  # a fault, and not one for each character
        case Mapping():
            return [value]
        case _:
            return value


def named(unknown: Iterable[str], intake: Intake) -> tuple[str, ...]:
    """The names of what a tool does not know, and of what the intake could not take."""
    for name in sorted(unknown)[:NAMED_MAX]:
        intake.fault(name)
    return tuple(dict.fromkeys(intake.faults))[:NAMED_MAX]
