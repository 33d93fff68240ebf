"""What the tools make of their arguments: everything that JSON has, and never an exception."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.mcp import schemas
from sidecar.mcp.arguments import (
    MESSAGES_BYTES_MAX,
    MESSAGES_MAX,
    NAMED_MAX,
    Report,
    read_commit,
    read_report,
)
from tests.mcp.arguments import UNFIT

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
NAMES = st.sampled_from([*schemas.TURN, *schemas.COMMIT, "user_input", "session_id"])


def read(arguments: Mapping[str, Any]) -> Report:
    return read_report(arguments, began_s=1.0, ended_s=2.0)


@pytest.mark.parametrize(("arguments", "ignored"), UNFIT)
def test_what_could_not_be_taken_is_named(arguments: Mapping[str, Any], ignored: list[str]) -> None:
    assert list(read(arguments).ignored) == ignored


@given(st.dictionaries(NAMES | st.text(max_size=8), JSON, max_size=6))
def test_any_json_is_a_turn_and_a_request_to_commit(arguments: Mapping[str, Any]) -> None:
    report = read(arguments)
    request, _ = read_commit(arguments, session_id="s")

    assert report.turn.IsInitialized()
    assert not report.turn.user_input
    assert request.session_id == "s"


def test_every_argument_of_the_schema_reaches_the_turn() -> None:
    given_for_type = {"string": "x", "integer": 1, "number": 0.5, "array": [{"name": "Grep"}]}
    for name, schema in schemas.TURN.items():
        value = {"kind": "E"} if name == "failures" else given_for_type[schema["type"]]
        report = read({name: value})

        assert not report.ignored, name
        assert report.turn != read({}).turn, name


def test_names_that_are_not_known_are_named_up_to_a_bound() -> None:
    report = read({f"name {number}": 1 for number in range(1_000)})

    assert len(report.ignored) == NAMED_MAX


def test_a_long_conversation_is_cut_at_its_beginning() -> None:
    messages = [{"role": "user", "text": f"{number}"} for number in range(MESSAGES_MAX + 5)]
    request, _ = read_commit({"messages": messages}, session_id="s")

    assert [message.text for message in request.messages][:2] == ["5", "6"]
    assert request.messages[-1].text == f"{MESSAGES_MAX + 4}"


def test_a_large_conversation_is_cut_to_what_grpc_takes_and_the_cut_is_named() -> None:
    messages = [{"role": "user", "text": "x" * 60_000} for _ in range(100)]
    request, ignored = read_commit({"messages": messages}, session_id="s")

    assert 0 < request.ByteSize() < MESSAGES_BYTES_MAX + 100_000
    assert ignored == ("messages",)


def test_null_is_no_message_of_a_conversation() -> None:
    messages = [None, {"role": "user", "text": "What?"}]
    request, ignored = read_commit({"messages": messages}, session_id="s")

    assert [message.text for message in request.messages] == ["What?"]
    assert ignored == ("messages",)
