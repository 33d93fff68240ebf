"""HTTP for supervisors and scrapers."""

from sidecar.adapters.http.listener import HttpListener
from sidecar.adapters.http.message import Page, Request, Response
from sidecar.adapters.http.pages import telemetry_pages

__all__ = [
    "HttpListener",
    "Page",
    "Request",
    "Response",
    "telemetry_pages",
]
