"""HTTP for supervisors, scrapers and people."""

from sidecar.adapters.http.guard import local_only
from sidecar.adapters.http.listener import HttpListener
from sidecar.adapters.http.message import Page, Request, Response
from sidecar.adapters.http.pages import admin_pages, telemetry_pages

__all__ = [
    "HttpListener",
    "Page",
    "Request",
    "Response",
    "admin_pages",
    "local_only",
    "telemetry_pages",
]
