"""File descriptors: how many the process may have open, and one line where none is left.

Each connection takes one. Where a service manager or a shell sets nothing else, the soft limit is
1,024, a number that is kept low for programs that call select(2); the hard limit is far above it.
"""

import asyncio
import errno
import logging
import resource
from contextlib import suppress
from typing import Any, Final

SAY_AGAIN_S: Final = 60.0
"""Between two lines on the same want."""

WANTS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""For which asyncio leaves a connection in the kernel's queue for a second."""

_log = logging.getLogger(__name__)


def allow_descriptors(needed: int) -> None:
    """Raise the soft limit to `needed`, as far as the hard limit goes; never lower it.

    Logs a warning where the limit stays below it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        with suppress(ValueError, OSError):  # macOS has a bound of its own below the hard limit
            wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < needed:
            _log.warning(
                "%d file descriptors may be open, and with as many connections as are allowed %d "
                "are needed: raise the hard limit (ulimit -Hn, LimitNOFILE=), or lower streams_max",
                soft,
                needed,
            )


class SaysWantOnce:
    """An event loop's exception handler for accepting connections.

    asyncio tells of each connection that it cannot accept, a hundred times a second with a
    traceback. All else goes to the loop's default handler.
    """

    def __init__(self) -> None:
        self._quiet_until_s = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle what the loop tells of."""
        fault = context.get("exception")
        if not isinstance(fault, OSError) or fault.errno not in WANTS:
            loop.default_exception_handler(context)
        elif loop.time() >= self._quiet_until_s:
            self._quiet_until_s = loop.time() + SAY_AGAIN_S
            _log.error("connections wait that cannot be accepted: %s", fault.strerror)
