"""Tells the service manager that started this process how it is: systemd, of a Type=notify.

One datagram a message, to the socket that `NOTIFY_SOCKET` names: sd_notify(3). Where the unit has a
watchdog, `WATCHDOG_USEC` says how many microseconds may pass between two signs of life, and
`WATCHDOG_PID` from whom: sd_watchdog_enabled(3). Without the first variable nobody is told.
"""

import logging
import os
import socket
from collections.abc import Mapping
from typing import Final

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"
ALIVE: Final = "WATCHDOG=1"

SIGNS_PER_WATCHDOG: Final = 2
"""sd_watchdog_enabled(3) recommends a sign of life every half of the time."""

_log = logging.getLogger(__name__)


class ServiceManager:
    """Whoever started this process, or nobody. No method raises or blocks; not for threads."""

    def __init__(self, path: str = "", *, watchdog_s: float | None = None) -> None:
        """`path` is that of a datagram socket, with a leading `@` an abstract one; empty: nobody.

        A sign of life is due twice in `watchdog_s` seconds; None: never.
        """
        self._path = path
        # Held for good: where connections have taken all descriptors, the watchdog still hears.
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if path else None
        self._between_s = None if watchdog_s is None else watchdog_s / SIGNS_PER_WATCHDOG
        self._due_s = 0.0
        self._unsent: list[str] = []
        self._told_of_fault = False

    def ready(self, status: str) -> None:
        """The start is over; `status` is a line for `systemctl status`."""
        self._say(f"{READY}\nSTATUS={status}")

    def stopping(self) -> None:
        """The end has begun."""
        self._say(f"{STOPPING}\nSTATUS=draining")

    def alive(self, now_s: float) -> None:
        """The event loop turns, at `now_s` seconds on a clock that never goes back.

        To be called from it, several times between two signs of life. What could not be said
        before is tried again.
        """
        if self._between_s is not None and now_s >= self._due_s and not self._unsent:
            self._due_s = now_s + self._between_s
            self._unsent.append(ALIVE)
        self._flush()

    def close(self) -> None:
        """Say nothing more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _say(self, message: str) -> None:
        self._unsent.append(message)
        self._flush()

    def _flush(self) -> None:
        address = os.fsencode("\0" + self._path[1:] if self._path[:1] == "@" else self._path)
        while self._unsent:
            try:
                if self._socket is not None:
                    self._socket.sendto(self._unsent[0].encode(), socket.MSG_DONTWAIT, address)
            except OSError as fault:
                # Full, or away for a moment: the next heartbeat tries again.
                self._report(fault)
                return
            del self._unsent[0]

    def _report(self, fault: OSError) -> None:
        if not self._told_of_fault:
            _log.warning("the service manager at %s cannot be told: %s", self._path, fault)
        self._told_of_fault = True


def service_manager(environment: Mapping[str, str], *, pid: int) -> ServiceManager:
    """The one that an environment names, for the process with that id."""
    return ServiceManager(
        environment.get("NOTIFY_SOCKET", ""), watchdog_s=_watchdog_s(environment, pid)
    )


def _watchdog_s(environment: Mapping[str, str], pid: int) -> float | None:
    given = environment.get("WATCHDOG_USEC", "")
    if environment.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None  # meant for another process, whose environment was handed on
    if not given:
        return None
    if not given.isdecimal() or int(given) == 0:
        _log.warning("WATCHDOG_USEC is %s: it must be a number of microseconds", given)
        return None
    return int(given) / 1e6
