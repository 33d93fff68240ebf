"""Lines for a person. What the agent's own log makes of them is no fault of its run."""

import logging

from sidecar.client.interruption import is_from_signal

logger = logging.getLogger("sidecar.client")


def say(level: int, line: str, *values: object, error: BaseException | None = None) -> None:
    """Logs the line, whatever a handler, filter or formatter raises; not to be called with a lock
    held, since one may take long, or ask the client something."""
    try:
        logger.log(level, line, *values, exc_info=error)
    except Exception as raised:  # a log that fails has nowhere to say so
        if is_from_signal(raised):
            raise
