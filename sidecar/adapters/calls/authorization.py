"""Who may speak over TCP: whoever has the token, where one is configured."""

import hmac
from dataclasses import dataclass

from sidecar.refusal import Reason, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """A bearer token for callers that did not come through a Unix socket, which its file mode
    guards already."""

    token: str = ""
    """Empty: none is asked for."""

    def require(self, given: str, *, over_socket: bool) -> None:
        """Raise Refusal for a caller without the token; `given` is its `authorization` header."""
        if not self.token or over_socket:
            return
        scheme, _, rest = given.partition(" ")
        token = rest.strip()
        if scheme.lower() != "bearer" or not token:
            raise Refusal(
                Reason.UNAUTHENTICATED, "send the token as `authorization: Bearer <token>`"
            )
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            raise Refusal(Reason.UNAUTHENTICATED, "the token is not the one in token_file")
