"""The proto3 JSON mapping, held to protobuf's own reader, which is slow and tells less."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.adapters.json_http.misshapen import Misshapen
from sidecar.adapters.json_http.reading import SCALARS, WELL_KNOWN, message_of
from sidecar.adapters.json_http.writing import json_of, value_of
from sidecar.v1 import answer_service_pb2 as answers_pb
from sidecar.v1 import convergence_service_pb2 as turns_pb
from sidecar.v1 import session_service_pb2 as control_pb

REQUESTS: tuple[type[Message], ...] = (
    turns_pb.RecordTurnRequest,
    answers_pb.ExtractAnswerRequest,
    answers_pb.ForceCommitRequest,
    answers_pb.ReviewAnswerRequest,
    control_pb.ListSessionsRequest,
    control_pb.GetSessionRequest,
    control_pb.ListTurnsRequest,
    control_pb.ContinueSessionRequest,
    control_pb.ResetSessionRequest,
    control_pb.CloseSessionRequest,
)
WRITTEN: tuple[type[Message], ...] = (
    turns_pb.RecordTurnResponse,
    answers_pb.ExtractAnswerResponse,
    answers_pb.ForceCommitResponse,
    answers_pb.ReviewAnswerResponse,
    answers_pb.ForceCommitRequest,
    control_pb.ListSessionsResponse,
    control_pb.GetSessionResponse,
    control_pb.ListTurnsResponse,
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
WORTH: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.CPPTYPE_STRING: TEXTS,
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(allow_nan=False),
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=5,
)


def reachable(kind: Any, met: set[str] | None = None) -> Iterator[FieldDescriptor]:
    """Every field of a message and of those that it is made of."""
    met = set() if met is None else met
    if kind.full_name in met or kind.full_name in WELL_KNOWN:
        return
    met.add(kind.full_name)
    for field in kind.fields:
        yield field
        if field.message_type is not None:
            yield from reachable(field.message_type, met)


def filled(message: Any, draw: Any) -> None:
    """Fill some of the fields of a message."""
    for field in message.DESCRIPTOR.fields:
        if not draw(st.booleans()):
            continue
        part = getattr(message, field.name)
        kind = field.message_type
        if kind is None:
            choice = (
                st.sampled_from([each.number for each in field.enum_type.values])
                if field.enum_type is not None
                else WORTH[field.cpp_type]
            )
            if field.is_repeated:
                part.extend(draw(st.lists(choice, max_size=2)))
            else:
                setattr(message, field.name, draw(choice))
        elif kind.GetOptions().map_entry:
            part.update(draw(st.dictionaries(TEXTS, TEXTS, max_size=2)))
        elif kind.name == "ListValue":
            part.extend(draw(st.lists(VALUES, max_size=2)))
        elif kind.name in ("Duration", "Timestamp"):
            part.seconds = draw(st.integers(0, 10**9))
            part.nanos = draw(st.integers(0, 999)) * 1_000_000
        else:
            part = part.add() if field.is_repeated else part
            part.SetInParent()
            filled(part, draw)


@pytest.mark.parametrize("kind", REQUESTS, ids=lambda kind: kind.DESCRIPTOR.name)
@pytest.mark.parametrize("keeps_names", [True, False])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_protobuf_writes_is_read_as_it_was(
    kind: type[Message], keeps_names: bool, data: st.DataObject
) -> None:
    message, read = kind(), kind()
    filled(message, data.draw)
    written = json_format.MessageToDict(message, preserving_proto_field_name=keeps_names)
    message_of(json.dumps(written).encode(), read)

    assert read == json_format.ParseDict(written, kind())
    assert read.SerializeToString(deterministic=True) == message.SerializeToString(
        deterministic=True
    )


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.DESCRIPTOR.name)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_written_is_what_protobuf_writes(kind: type[Message], data: st.DataObject) -> None:
    message = kind()
    filled(message, data.draw)

    assert value_of(message) == json_format.MessageToDict(message, preserving_proto_field_name=True)
    assert json.loads(json_of(message)) == value_of(message)


@pytest.mark.parametrize("kind", [*REQUESTS, *WRITTEN], ids=lambda kind: kind.DESCRIPTOR.name)
def test_every_field_has_a_form(kind: type[Message]) -> None:
    for field in reachable(kind.DESCRIPTOR):
        part = field.message_type
        if part is not None and part.GetOptions().map_entry:
            kinds = [each.cpp_type for each in part.fields]
            assert kinds == [FieldDescriptor.CPPTYPE_STRING] * 2, "maps are of strings"
        elif part is not None and part.file.package != "sidecar.v1":
            assert part.full_name in WELL_KNOWN
        elif part is None and field.enum_type is None:
            assert field.cpp_type in SCALARS


@pytest.mark.parametrize(
    ("text", "sequence"),
    [
        ("7", 7),
        ('"7"', 7),
        ("7.0", 7),
        ("7e0", 7),
        ("0", 0),
        ("null", 0),
        ("4294967295", 2**32 - 1),
    ],
)
def test_a_whole_number_has_these_forms(text: str, sequence: int) -> None:
    request = turns_pb.RecordTurnRequest()
    message_of(f'{{"turn": {{"sequence": {text}}}}}'.encode(), request)

    assert request.turn.sequence == sequence


@pytest.mark.parametrize("text", ['" 7"', '"7 "', '""', '"0x7"', '"1_0"', "7.5", "true", '"٧"'])
def test_and_none_of_these(text: str) -> None:
    with pytest.raises(Misshapen) as refused:
        message_of(f'{{"turn": {{"sequence": {text}}}}}'.encode(), turns_pb.RecordTurnRequest())

    assert refused.value.field == "turn.sequence"


def test_an_empty_message_that_is_there_is_not_one_that_is_not() -> None:
    request = turns_pb.RecordTurnRequest()
    message_of(b'{"turn": {}}', request)

    assert request.HasField("turn")
    assert not request.HasField("close")


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        (turns_pb.RecordTurnRequest, '{"turn": {"failures": [', "]}}"),
        (answers_pb.ForceCommitRequest, '{"messages": [{"blocks": [', "]}]}"),
    ],
)
def test_a_list_has_an_end_long_before_a_body_has(
    kind: type[Message], before: str, after: str
) -> None:
    for count, taken in ((65_536, True), (65_537, False)):
        body = f"{before}{','.join(['{}'] * count)}{after}".encode()
        with nullcontext() if taken else pytest.raises(Misshapen, match="at most 65,536 elements"):
            message_of(body, kind())


def test_what_a_later_version_says_is_passed_over() -> None:
    call = {"name": "t", "outcome": "OUTCOME_OF_A_LATER_VERSION", "later": {"a": [1]}}
    request = turns_pb.RecordTurnRequest()
    message_of(json.dumps({"turn": {"sequence": 1, "tool_calls": [call]}}).encode(), request)

    assert request == turns_pb.RecordTurnRequest(
        turn={"sequence": 1, "tool_calls": [{"name": "t"}]}
    )
