"""The client that agents use: it never raises, and never waits longer than its timeout."""

from sidecar.client.asynchronous import AsyncClient
from sidecar.client.directive import Directive, Kind, Reading, Reason
from sidecar.client.report import ClientOptions, Failure, ToolCall, TurnReport
from sidecar.client.synchronous import Client

__all__ = [
    "AsyncClient",
    "Client",
    "ClientOptions",
    "Directive",
    "Failure",
    "Kind",
    "Reading",
    "Reason",
    "ToolCall",
    "TurnReport",
]
