"""The way from the command line to a live sidecar's control plane."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import grpc

from sidecar.addresses import parse_address
from sidecar.cli.options import configured, fail
from sidecar.v1 import session_service_pb2_grpc

UNREACHABLE: Final = 3
"""Exit code when no sidecar answers."""

REFUSED: Final = 1
"""Exit code when it answers with an error."""

CONNECT_WITHIN_S: Final = 2.0


@contextmanager
def control(admin: str | None, config_path: str | None) -> Iterator[Any]:
    """A stub of SessionService. A refusal ends the process with one line that says why."""
    config = configured(config_path, {"admin_address": admin})
    target = parse_address(config.admin_address).target
    with grpc.insecure_channel(target) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=CONNECT_WITHIN_S)
        except grpc.FutureTimeoutError:
            fail(
                f"no sidecar answers at {target}; is `sidecar serve` running, "
                "and is this its admin_address?",
                code=UNREACHABLE,
            )
        try:
            yield session_service_pb2_grpc.SessionServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
        except grpc.RpcError as error:
            fail(f"{error.details()}", code=REFUSED)
