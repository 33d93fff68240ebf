"""`sidecar health`: ask a live sidecar over gRPC whether it serves."""

import sys
from typing import Any

import click
import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidecar.addresses import parse_address
from sidecar.cli.options import config_option, configured

ASK_WITHIN_S = 2.0


@click.command()
@click.option("--address", help="Where to ask (default: agent_address).")
@config_option
def command(address: str | None, config_path: str | None) -> None:
    """Exit code 0 when the sidecar takes new work, 1 otherwise; says which."""
    target = parse_address(address or configured(config_path).agent_address).target
    with grpc.insecure_channel(target) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=ASK_WITHIN_S)
        except grpc.RpcError as error:
            click.echo(f"{target}: {error.code().name}")
            sys.exit(1)
    word = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    click.echo(f"{target}: {word}")
    sys.exit(0 if answer.status == health_pb2.HealthCheckResponse.SERVING else 1)
