"""What an exporter logs, turned into its component's status.

`SpanExporter.export` answers with success or failure only; why it failed, and that it is trying
again, goes to the log. There it would be a line per batch for as long as a collector is away; as a
status it is one line when it goes and one when it is back.
"""

import logging
import threading
from typing import Final

from sidecar.health import Component

LOGGERS: Final = (
    "opentelemetry.exporter.otlp.proto.grpc.exporter",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
)


class Complaints(logging.Filter):
    """Takes the exporters' warnings and errors that come from one thread."""

    def __init__(self, component: Component, thread: threading.Thread) -> None:
        """Tell `component` of what is logged from `thread`."""
        super().__init__()
        self._component = component
        self._exporting_thread = thread

    def listen(self) -> None:
        """Take them from now on; nobody else sees them."""
        for name in LOGGERS:
            logging.getLogger(name).addFilter(self)

    def stop_listening(self) -> None:
        """Leave the log as it was found."""
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line goes to the log: not when it was taken."""
        if record.thread != self._exporting_thread.ident or record.levelno < logging.WARNING:
            return True
        self._component.recoverable(record.getMessage())
        return False
