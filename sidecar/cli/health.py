"""`sidecar health`: ask a live sidecar over gRPC whether it serves."""

import sys
from typing import Any

import click
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidecar.cli.control import channel
from sidecar.cli.options import Access, asks

ASK_WITHIN_S = 2.0


@click.command()
@click.option("--address", metavar="ADDRESS", help="Where to ask (default: agent_address).")
@asks
def command(address: str | None, access: Access) -> None:
    """Exit code 0 when the sidecar takes new work, 1 when it does not, 3 when none answers."""
    with channel(access, "agent_address", "--address", address) as found:
        stub: Any = health_pb2_grpc.HealthStub(found)
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=ASK_WITHIN_S)
    click.echo(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
    sys.exit(0 if answer.status == health_pb2.HealthCheckResponse.SERVING else 1)
