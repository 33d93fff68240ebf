"""The pages: health and metrics for everybody."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry, make_wsgi_app

from sidecar.adapters.http.message import Page, Request, Response
from sidecar.health import Answer, Health

_REFUSED: Final = re.compile(r";\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)", re.IGNORECASE)
"""A weight of 0, by RFC 9110: not acceptable."""


def telemetry_pages(health: Health, registry: CollectorRegistry) -> Mapping[str, Page]:
    """`/livez`, `/readyz` and `/metrics`: no session data, so no token and no Host check."""
    return {
        "/livez": lambda _: _verdict(health.livez()),
        "/readyz": lambda _: _verdict(health.readyz()),
        "/metrics": _metrics(registry),
    }


def _verdict(answer: Answer) -> Response:
    status = HTTPStatus.OK if answer.ok else HTTPStatus.SERVICE_UNAVAILABLE
    return Response(status=status, body=f"{answer.text}\n".encode())


def _metrics(registry: CollectorRegistry) -> Page:
    """The exposition in the format that the scraper asks for, compressed where it says so."""
    application = make_wsgi_app(registry)

    def metrics(request: Request) -> Response:
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query,
            "HTTP_ACCEPT": _wanted(request.headers.get("accept", "")),
            "HTTP_ACCEPT_ENCODING": _wanted(request.headers.get("accept-encoding", "")),
        }
        started: list[tuple[str, list[tuple[str, str]]]] = []
        body = b"".join(application(environ, lambda *start: started.append(start)))
        status, headers = started[0]
        return Response(
            status=HTTPStatus(int(status.split()[0])), body=body, headers=tuple(headers)
        )

    return metrics


def _wanted(accepted: str) -> str:
    """What of a header of this form is wanted: the page's maker does not heed a weight of 0."""
    return ",".join(one for one in accepted.split(",") if not _REFUSED.search(one))
