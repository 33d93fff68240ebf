"""gRPC's health service: what it says, and what it bounds; nobody is asked for a token there."""

import logging
from contextlib import suppress
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidecar.adapters.grpc.health_service import NAME_BYTES_MAX, HealthService
from sidecar.testing.recorder import MemoryRecorder, WasRefused
from tests.wire.served import SERVICE, Served, reason_of

SERVING = health_pb2.HealthCheckResponse.SERVING
Request = health_pb2.HealthCheckRequest


async def test_each_service_is_listed_with_how_it_is(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    stub: Any = health_pb2_grpc.HealthStub(server.agent)
    messages: Any = health_pb2
    listed = await stub.List(messages.HealthListRequest())

    assert {name: one.status for name, one in listed.statuses.items()} == {
        "": SERVING,
        SERVICE: SERVING,
    }
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


@pytest.mark.parametrize("method", ["Check", "Watch"])
async def test_a_name_that_no_service_has_for_its_length_is_refused(
    server: Served, method: str
) -> None:
    stub: Any = health_pb2_grpc.HealthStub(server.agent)
    call = getattr(stub, method)(Request(service="x" * (NAME_BYTES_MAX + 1)))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await (call if method == "Check" else call.read())

    assert reason_of(refused.value).reason == "REQUEST_INVALID"


async def test_one_watch_too_many_is_refused_until_one_ends() -> None:
    recorder = MemoryRecorder()
    service = HealthService(watches_max=1, recorder=recorder)
    server = grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    await service.set("", SERVING)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        first = stub.Watch(Request())
        assert (await first.read()).status == SERVING
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.Watch(Request()).read()
        first.cancel()
        answer = None
        while answer is None:  # until the server has seen the end of the first
            with suppress(grpc.aio.AioRpcError):
                answer = await stub.Watch(Request()).read()
    await server.stop(0)

    assert reason_of(refused.value).reason == "STREAMS_MAX"
    assert WasRefused(reason="STREAMS_MAX") in recorder.of(WasRefused)
