"""The forms that a body may have, and what is said of one that has none of them."""

from typing import Any

import pytest
from google.protobuf import json_format

from sidecar.adapters.json_http.misshapen import Misshapen
from sidecar.adapters.json_http.reading import message_of
from sidecar.v1 import run_pb2
from tests.wire.json_ports import Ports
from tests.wire.served import Served

TURNS = "/v1/sessions/s/turns"


@pytest.mark.parametrize(
    "message", [{}, {"turn": None}, {"tool_calls": [{"name": "ls"}]}, {"another": {"turn": {}}}]
)
async def test_a_body_without_open_turn_or_close_opens_nothing(
    server: Served, http: Ports, message: Any
) -> None:
    detail = "the body must be an object with at least one of open, turn, close"
    answer = await http.agent.post(TURNS, message)

    assert (answer.status, answer.json["reason"]) == (400, "REQUEST_INVALID")
    assert answer.json["detail"] == detail
    assert list(server.sessions.held()) == []


@pytest.mark.parametrize("message", [{"open": {}}, {"turn": {}}, {"close": {}}])
async def test_one_of_them_is_enough(http: Ports, message: Any) -> None:
    assert (await http.agent.post(TURNS, message)).status == 200


@pytest.mark.parametrize(
    "text",
    ["2", "2.0", "2e0", '"2"', '"-1"', '"2.5"', '"OUTCOME_ERROR"', "99", '"99"', "null"],
)
def test_an_enum_has_the_forms_that_protobuf_takes(text: str) -> None:
    body = f'{{"outcome": {text}}}'
    call = run_pb2.ToolCall()
    message_of(body.encode(), call)

    assert call == json_format.Parse(body, run_pb2.ToolCall(), ignore_unknown_fields=True)


@pytest.mark.parametrize("text", ["1.5", "true", "2147483648", '"2147483648"', "[]"])
def test_an_enum_is_a_name_or_a_whole_number(text: str) -> None:
    with pytest.raises(Misshapen, match="outcome must be the name of a value, or its number"):
        message_of(f'{{"outcome": {text}}}'.encode(), run_pb2.ToolCall())


@pytest.mark.parametrize("text", ['"5"', '"5.0"', '"5e0"', '"50E-1"', '"-0"', '"0005"', "5.0"])
def test_a_whole_number_in_a_string_has_the_forms_that_protobuf_takes(text: str) -> None:
    body = f'{{"input_tokens": {text}}}'
    usage = run_pb2.Usage()
    message_of(body.encode(), usage)

    assert usage == json_format.Parse(body, run_pb2.Usage())


@pytest.mark.parametrize("text", ['"5.5"', '"5e-1"', '"1e400"', '"1e999999999"', '"e5"', '"5."'])
def test_a_string_of_none_is_refused(text: str) -> None:
    with pytest.raises(Misshapen):
        message_of(f'{{"input_tokens": {text}}}'.encode(), run_pb2.Usage())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"turn":{"x":12,}}', "in UTF-8, which it is not from line 1, column 17 on"),
        (b'{"turn":\n {"text": "a}}', "in UTF-8, which it is not from line 2, column 11 on"),
        (b"", "in UTF-8, which it is not from line 1, column 1 on"),
        (b'{"turn": {"text": "\xff"}}', "one JSON object (RFC 8259) in UTF-8"),
        (b'{"x": ' + b"9" * 5000 + b"}", "JSON whose numbers have at most 4,300 digits"),
        (b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested at most 100 deep"),
        (b'{"x": NaN}', 'JSON, in which NaN and infinities are strings, as "NaN"'),
    ],
)
async def test_what_is_no_json_is_refused_with_the_place_or_the_bound(
    http: Ports, body: bytes, expected: str
) -> None:
    answer = await http.agent.ask("POST", TURNS, body)

    assert answer.status == 400
    assert answer.json["detail"].endswith(expected)
