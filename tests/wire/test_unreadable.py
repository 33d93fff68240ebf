"""Bytes that are no message: a caller is told so, as on a stream, and nothing goes to the log."""

import logging
from typing import Any

import grpc
import pytest

from sidecar.testing.recorder import WasRefused
from tests.wire.served import ADMIN_SERVICE, SERVICE, Served, reason_of

NO_MESSAGE = b"\x0a\xff\xff\xff\xff\x7f"
"""A field that says it is longer than all that follows."""

METHODS = [
    f"{SERVICE}/RecordTurn",
    *(
        f"{ADMIN_SERVICE}/{name}"
        for name in (
            "GetSession",
            "ListSessions",
            "ContinueSession",
            "ResetSession",
            "CloseSession",
            "WatchSession",
            "WatchSessions",
        )
    ),
    "grpc.health.v1.Health/Check",
    "grpc.health.v1.Health/Watch",
]


@pytest.mark.parametrize("method", METHODS)
async def test_a_call_of_bytes_that_are_no_message_is_refused_counted_and_not_logged(
    server: Served, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    channel: Any = server.agent if method.startswith(SERVICE) else server.admin
    path = f"/{method}"
    if "/Watch" in method:
        answer = channel.unary_stream(path)(NO_MESSAGE).read()
    else:
        answer = channel.unary_unary(path)(NO_MESSAGE)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await answer

    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert reason_of(refused.value).reason == "REQUEST_INVALID"
    assert server.world.recorder.of(WasRefused) == [WasRefused(reason="REQUEST_INVALID")]
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


async def test_a_question_to_reflection_that_is_no_message_is_refused_and_not_logged(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    call: Any = server.admin.stream_stream(path)()
    await call.write(NO_MESSAGE)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call.read()

    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert reason_of(refused.value).reason == "REQUEST_INVALID"
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
