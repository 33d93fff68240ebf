"""Who makes a call over gRPC, for `Authorization`."""

from typing import Any

import grpc

from sidecar.adapters.calls.authorization import Authorization

LOCAL = "unix:"


def require_authorized(
    authorization: Authorization, context: "grpc.aio.ServicerContext[Any, Any]"
) -> None:
    """Raise Refusal for a caller without the token."""
    metadata = dict(context.invocation_metadata() or ()) if authorization.token else {}
    given = metadata.get("authorization", "")
    text = given.decode("latin-1") if isinstance(given, bytes) else given
    authorization.require(text, over_socket=context.peer().startswith(LOCAL))
