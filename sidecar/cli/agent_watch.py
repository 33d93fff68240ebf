"""The sidecar that `sidecar agent` is to report to, before anything is asked of a model."""

import os
from typing import Any

from sidecar.cli.options import fail


def check_address(watch: str | None) -> None:
    """One that nothing can listen on ends the process: the client would go on without a sidecar."""
    from sidecar.client.settings import ADDRESS_VARIABLE, AddressError, target_of

    source, address = "--watch", watch
    if not watch:
        source, address = ADDRESS_VARIABLE, os.environ.get(ADDRESS_VARIABLE)
    try:
        if address:
            target_of(address)
    except AddressError as error:
        fail(f"{source}: {error}")


def check_watched(watch: str | None) -> None:
    """A sidecar that does not take runs ends the process: they would be paid for, unwatched.

    It is asked as the runs' own clients ask it.
    """
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    from sidecar.cli.health import ASK_WITHIN_S
    from sidecar.client.channel import OPTIONS, check_socket
    from sidecar.client.intake import Intake
    from sidecar.client.settings import settings_of

    settings = settings_of(watch, {}, Intake())
    try:
        check_socket(settings)
        with grpc.insecure_channel(settings.target, OPTIONS) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            request = health_pb2.HealthCheckRequest()
            status = stub.Check(request, timeout=ASK_WITHIN_S).status
    except OSError as error:
        why = str(error)
    except grpc.RpcError as error:
        why = f"{error.details()}"
    else:
        if status == health_pb2.HealthCheckResponse.SERVING:
            return
        why = "it takes no new runs"
    fail(f"{settings.target} does not watch ({why}); start a sidecar, or use --side without")
