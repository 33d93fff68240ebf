"""HTTP for supervisors and scrapers."""

from sidecar.adapters.http.listener import CONNECTIONS_MAX, HttpListener
from sidecar.adapters.http.message import Page, Request, Response
from sidecar.adapters.http.pages import telemetry_pages

__all__ = [
    "CONNECTIONS_MAX",
    "HttpListener",
    "Page",
    "Request",
    "Response",
    "telemetry_pages",
]
