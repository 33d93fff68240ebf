"""gRPC's health service, bounded.

The one of grpcio keeps each request for as long as its watch lasts, and nobody is asked for a token
here: 200 watches of names of 2 MB took 1.5 GiB.
"""

from typing import Any, Final

from grpc_health.v1 import health, health_pb2

from sidecar.adapters.grpc.status import refuse
from sidecar.ports import Recorder
from sidecar.refusal import RETRY_AFTER_S, Reason, Refusal

NAME_BYTES_MAX: Final = 256
"""Of a service's name: no longer one is served here, or anywhere that is known."""


class HealthService(health.aio.HealthServicer):
    """Checks, lists and watches; refuses names that are too long, and one watch too many."""

    def __init__(self, *, watches_max: int, recorder: Recorder) -> None:
        """So many watches at a time."""
        super().__init__()
        self._watches_max = watches_max
        self._watches = 0
        self._recorder = recorder
        self._statuses: dict[str, Any] = {}

    async def set(self, service: str, status: Any) -> None:
        """Set the status of a service."""
        self._statuses[service] = status
        await super().set(service, status)

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Any) -> Any:  # noqa: N802
        """How a service is."""
        await self._require_name(request, context)
        return await super().Check(request, context)

    async def List(self, _: Any, __: Any) -> Any:  # noqa: N802
        """How each is."""
        messages: Any = health_pb2  # whose stubs do not know of lists yet
        return messages.HealthListResponse(
            statuses={
                service: health_pb2.HealthCheckResponse(status=status)
                for service, status in self._statuses.items()
            }
        )

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Any) -> None:  # noqa: N802
        """How a service is, now and whenever that changes."""
        await self._require_name(request, context)
        if self._watches >= self._watches_max:
            full = Refusal(
                Reason.STREAMS_MAX,
                f"{self._watches_max} health watches are open, which is streams_max",
                retry_after_s=RETRY_AFTER_S,
            )
            await refuse(context, full, self._recorder)
        self._watches += 1
        try:
            await super().Watch(request, context)
        finally:
            self._watches -= 1

    async def _require_name(self, request: health_pb2.HealthCheckRequest, context: Any) -> None:
        if len(request.service) > NAME_BYTES_MAX:
            long = Refusal(
                Reason.REQUEST_INVALID,
                f"a service's name has at most {NAME_BYTES_MAX} characters",
                field="service",
            )
            await refuse(context, long, self._recorder)
