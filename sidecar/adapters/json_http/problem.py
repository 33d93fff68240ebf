"""Refusals as problem details (RFC 9457), with the reasons that gRPC gives."""

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from sidecar.adapters.calls import CODES
from sidecar.refusal import Reason, Refusal

DOMAIN: Final = "sidecar"
PROBLEM: Final = "application/problem+json"


class HttpRefusal(Refusal):
    """A request that is refused for what it is over HTTP, before it is a call."""

    def __init__(
        self,
        status: HTTPStatus,
        message: str,
        *,
        reason: Reason = Reason.REQUEST_INVALID,
        metadata: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`headers` go with the answer."""
        super().__init__(reason, message, metadata=metadata)
        self.status = status
        self.headers = dict(headers or {})


def status_of(refusal: Refusal) -> HTTPStatus:
    """The status of the answer."""
    if isinstance(refusal, HttpRefusal):
        return refusal.status
    return HTTPStatus(CODES[refusal.reason].http_status)


def problem_of(refusal: Refusal) -> bytes:
    """The body of the answer: JSON without content of the caller's."""
    status = status_of(refusal)
    problem: dict[str, Any] = {
        "title": status.phrase,
        "status": int(status),
        "detail": refusal.message,
        "reason": refusal.reason.value,
        "domain": DOMAIN,
        "metadata": refusal.metadata,
    }
    if not isinstance(refusal, HttpRefusal):
        problem["code"] = CODES[refusal.reason].name
    if refusal.field:
        problem["field"] = refusal.field
    if refusal.retry_after_s is not None:
        problem["retry_delay"] = f"{refusal.retry_after_s:g}s"
    return json.dumps(problem, ensure_ascii=False).encode() + b"\n"


def headers_of(refusal: Refusal) -> dict[str, str]:
    """The headers that go with it."""
    headers = dict(refusal.headers) if isinstance(refusal, HttpRefusal) else {}
    if refusal.retry_after_s is not None:
        headers["Retry-After"] = str(math.ceil(refusal.retry_after_s))
    if refusal.reason is Reason.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    return headers
