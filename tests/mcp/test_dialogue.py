"""The end of a host's input over a pipe: it comes when what was asked for is answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from sidecar.mcp import dialogue
from sidecar.mcp.dialogue import Dialogue

PATIENCE_S = 20.0


def asking(request_id: int | str, name: str = "report_turn") -> types.JSONRPCRequest:
    params = {"name": name, "arguments": {}}
    return types.JSONRPCRequest(jsonrpc="2.0", id=request_id, method="tools/call", params=params)


def answering(request_id: int | str) -> SessionMessage:
    return SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=request_id, result={}))


def cancelling(request_id: Any) -> types.JSONRPCNotification:
    params = {"requestId": request_id}
    method = "notifications/cancelled"
    return types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params)


@asynccontextmanager
async def after(*messages: types.JSONRPCMessage) -> AsyncIterator[Dialogue]:
    """With a host that says these, closes its end and reads on."""
    says, heard = anyio.create_memory_object_stream[SessionMessage | Exception](len(messages))
    answers, reads = anyio.create_memory_object_stream[SessionMessage](len(messages))
    for message in messages:
        says.send_nowait(SessionMessage(message))
    says.close()
    with heard, answers, reads:
        yield Dialogue(heard, answers, latest_line=lambda: "{}")  # none with an odd id


async def read_to_the_end(host: Dialogue) -> int:
    """How many messages came."""
    return len([item async for item in host.messages()])


async def test_the_input_ends_when_all_that_was_asked_is_answered() -> None:
    async with after(asking(1), asking("x"), cancelling(["no", "id"])) as host:
        messages = host.messages()
        came = [await anext(messages) for _ in range(3)]
        ending = asyncio.create_task(anext(messages, "the end"))
        await host.send(answering(1))
        early, _ = await asyncio.wait({ending}, timeout=0.05)
        await host.send(answering("x"))
        end = await asyncio.wait_for(ending, PATIENCE_S)

    assert (len(came), early, end) == (3, set(), "the end")


@pytest.mark.parametrize(
    ("why", "messages"),
    [
        ("nothing was said", ()),
        ("a cancelled call is not answered", (asking(1), cancelling(1))),
        ("an answer of the model is not awaited", (asking(1, "request_commit"),)),
        ("a notification has no answer", (cancelling(9),)),
    ],
)
async def test_the_input_ends_at_once(why: str, messages: tuple[types.JSONRPCMessage, ...]) -> None:
    async with after(*messages) as host:
        came = await asyncio.wait_for(read_to_the_end(host), PATIENCE_S)

    assert came == len(messages), why


async def test_what_is_never_answered_holds_the_end_back_for_its_time_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dialogue, "ENDS_WITHIN_S", 0.05)

    async with after(asking(1)) as host:
        came = await asyncio.wait_for(read_to_the_end(host), PATIENCE_S)

    assert came == 1


@pytest.mark.parametrize(
    ("why", "line", "told"),
    [
        ("no JSON", "{", (None, types.PARSE_ERROR)),
        ("JSON too deep", "[" * 100_000, (None, types.PARSE_ERROR)),
        ("no message", '{"jsonrpc": "2.0"}', (None, types.INVALID_REQUEST)),
        ("a batch", '[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', (None, -32600)),
        ("a request", '{"jsonrpc": "2.0", "id": 7, "method": "x", "params": []}', (7, -32600)),
        ("its id", '{"jsonrpc": "2.0", "id": "a", "method": 5}', ("a", types.INVALID_REQUEST)),
        ("an odd id", '{"jsonrpc": "2.0", "id": true, "method": 5}', (None, -32600)),
        ("a notification", '{"jsonrpc": "2.0", "method": "notifications/x", "params": 1}', None),
        ("an answer", '{"jsonrpc": "2.0", "id": 5, "result": null}', None),
    ],
)
async def test_what_is_no_message_is_refused_and_the_next_one_read(
    why: str, line: str, told: tuple[Any, int] | None
) -> None:
    says, heard = anyio.create_memory_object_stream[SessionMessage | Exception](2)
    answers, reads = anyio.create_memory_object_stream[SessionMessage](2)
    with pytest.raises(ValidationError) as fault:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    says.send_nowait(fault.value)
    says.send_nowait(SessionMessage(cancelling(9)))
    says.close()
    with heard, answers, reads:
        lines = iter((line, "{}"))
        dialogue = Dialogue(heard, answers, latest_line=lambda: next(lines))
        came = await asyncio.wait_for(read_to_the_end(dialogue), PATIENCE_S)
        refused = [reads.receive_nowait().message] if told else []
        with pytest.raises(anyio.WouldBlock):
            reads.receive_nowait()

    errors = [each for each in refused if isinstance(each, types.JSONRPCError)]
    assert came == 1, why
    assert [(each.id, each.error.code) for each in errors] == ([told] if told else [])
