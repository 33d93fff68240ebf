"""The baseline: a server that answers each turn and does nothing else.

It reads and writes the same messages over the same library as the sidecar, so the difference
between the two is what the sidecar does.
"""

import asyncio
import sys
from typing import Any, cast

import grpc

from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import convergence_service_pb2_grpc


class Echo:
    """Answers a turn with a plain proceed."""

    async def Observe(self, _: Any, context: Any) -> None:  # noqa: N802
        while (request := await context.read()) is not grpc.aio.EOF:
            response = pb.ObserveResponse()
            if request.HasField("turn"):
                response.decision.sequence = request.turn.sequence
                response.decision.proceed.SetInParent()
            else:
                response.opened.session_id = request.open.session_id
            await context.write(response)

    async def RecordTurn(self, request: Any, _: Any) -> pb.RecordTurnResponse:  # noqa: N802
        return pb.RecordTurnResponse()


async def main(address: str) -> None:
    server = grpc.aio.server()
    servicer = cast("Any", Echo())
    convergence_service_pb2_grpc.add_ConvergenceServiceServicer_to_server(servicer, server)
    server.add_insecure_port(address)
    await server.start()
    print("ready", flush=True)  # noqa: T201 - what starts this process waits for it
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
