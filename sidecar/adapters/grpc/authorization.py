"""Who may speak over TCP: whoever has the token, where one is configured."""

import hmac
from dataclasses import dataclass
from typing import Any

import grpc

from sidecar.refusal import Reason, Refusal

LOCAL = "unix:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """A bearer token for callers that did not come through the Unix socket, which its file mode
    guards already."""

    token: str = ""
    """Empty: none is asked for."""

    def check(self, context: "grpc.aio.ServicerContext[Any, Any]") -> None:
        """Raise Refusal for a caller without the token."""
        if not self.token or context.peer().startswith(LOCAL):
            return
        metadata = dict(context.invocation_metadata() or ())
        given = metadata.get("authorization", "")
        text = given.decode("latin-1") if isinstance(given, bytes) else given
        if not hmac.compare_digest(text.encode(), f"Bearer {self.token}".encode()):
            raise Refusal(
                Reason.UNAUTHENTICATED, "send the token as `authorization: Bearer <token>`"
            )
