"""Documents made of records, and turns told in one line each."""

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from sidecar.datasets.converting import Convert
from sidecar.datasets.documents import stem_of
from sidecar.datasets.moves import Broken, Document, Finding, Record, Recording, Skipped
from sidecar.datasets.turns import fold
from sidecar.v1 import run_pb2

OUTCOMES = {
    run_pb2.OUTCOME_UNSPECIFIED: "",
    run_pb2.OUTCOME_OK: "ok",
    run_pb2.OUTCOME_ERROR: "error",
    run_pb2.OUTCOME_DENIED: "denied",
}


def document(
    *values: Any, name: str = "file.json", text: str = "", beside: Mapping[str, str] | None = None
) -> Document:
    """A parsed file of this name with these records, or with this text."""
    path = PurePosixPath(name)
    return Document(
        stem=stem_of(path.name),
        parts=path.parts,
        records=tuple(
            Record(place=str(number), value=value) for number, value in enumerate(values, start=1)
        ),
        text=text,
        beside=beside or {},
    )


def recordings(convert: Convert, source: Document) -> list[Recording]:
    """The recordings; anything broken fails the test."""
    found = findings(convert, source)
    assert not [finding for finding in found if isinstance(finding, Broken)]
    return [finding for finding in found if isinstance(finding, Recording)]


def only(convert: Convert, source: Document) -> Recording:
    """The one recording in a document."""
    (found,) = recordings(convert, source)
    return found


def findings(convert: Convert, source: Document) -> list[Finding]:
    """All that a converter finds."""
    return list(convert(source))


def skipped(found: Iterable[Finding]) -> dict[str, int]:
    """What was passed over, by kind."""
    kinds: dict[str, int] = {}
    for finding in found:
        if isinstance(finding, Skipped):
            kinds[finding.kind] = kinds.get(finding.kind, 0) + finding.count
    return kinds


def told(recording: Recording) -> list[str]:
    """A line a turn: who spoke, what was said, what was called and what became of it."""
    return [_told(turn) for turn in fold(recording).turns]


def _told(turn: run_pb2.Turn) -> str:
    parts = ["user>"] if turn.user_input else []
    if turn.actor:
        parts.append(f"[{turn.actor}]")
    parts.append(repr(turn.text))
    for call in turn.tool_calls:
        arguments = json.loads(call.arguments_json) if call.arguments_json else None
        became = OUTCOMES[call.outcome]
        result = f"{became} {call.result_text!r}" if call.HasField("result_text") else "no answer"
        parts.append(f"{call.name}({_plain(arguments)}) = {result}")
    parts.extend(f"! {failure.kind}: {failure.message}" for failure in turn.failures)
    return " ".join(parts)


def _plain(arguments: Any) -> str:
    if isinstance(arguments, dict):
        return ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return "" if arguments is None else repr(arguments)


def usage(recording: Recording, turn: int) -> dict[str, float]:
    """What one turn cost, by the names of the wire."""
    found = fold(recording).turns[turn - 1].usage
    return {field.name: value for field, value in found.ListFields()}


def asked(id_: str, name: str, arguments: str) -> dict[str, Any]:
    """A call, as chat APIs have it."""
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
