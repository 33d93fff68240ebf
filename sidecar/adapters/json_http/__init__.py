"""The services as plain JSON over HTTP, for callers that speak no gRPC."""

from sidecar.adapters.json_http.application import Application
from sidecar.adapters.json_http.calls import agent_routes, control_routes
from sidecar.adapters.json_http.documents import agent_document, control_document
from sidecar.adapters.json_http.routes import Route, Routes
from sidecar.adapters.json_http.server import HttpSettings, JsonListener

__all__ = [
    "Application",
    "HttpSettings",
    "JsonListener",
    "Route",
    "Routes",
    "agent_document",
    "agent_routes",
    "control_document",
    "control_routes",
]
