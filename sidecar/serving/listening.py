"""Where a sidecar listens, and which of its addresses it does without.

An address that somebody asked for is served, or there is no sidecar. A default one that is taken is
most often another user's sidecar, or another of one's own: without it, agents and operators still
have the Unix sockets.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from sidecar.addresses import Address, parse_address
from sidecar.config.checks import REQUIRED
from sidecar.config.given import Origin
from sidecar.config.keys import ADDRESSES, Config, flag_name
from sidecar.health import Health


class Listening:
    """The addresses of one sidecar: where it listens, and what it does without."""

    def __init__(self, config: Config, health: Health) -> None:
        given = [value for value in config.values if value.origin is not Origin.DEFAULT]
        self._spare: Final = frozenset(ADDRESSES) - {*REQUIRED, *(value.key for value in given)}
        # Whoever gave it by a flag knows where it stands: the line names the flag anyway.
        self._where: Final = {v.key: f"{v.where}: " for v in given if v.origin is not Origin.FLAG}
        self._config = config
        self._health = health
        self.addresses: dict[str, str] = {}
        """Where it listens, by configuration key."""
        self._sockets: dict[str, tuple[int, int]] = {}

    async def listen(self, key: str, serve: Callable[[Address], Awaitable[Address]]) -> None:
        """Have `serve` listen at the address of a key, if it has one, and answer where it does.

        A default address that nobody asked for and that cannot be had is left out, which `/statusz`
        and the log say. Raises OSError with the key and what to change where there is no sidecar
        without it.
        """
        text = getattr(self._config, key)
        if not text:
            return
        try:
            address = await serve(parse_address(text))
        except OSError as fault:
            if key not in self._spare:
                where = self._where.get(key, "")
                raise OSError(f"{where}{key}: {fault}; {flag_name(key)} gives another") from fault
            self._health.component(key).permanent(f"{fault}; the sidecar goes on without it")
            return
        self.addresses[key] = address.target
        if address.path:
            self._sockets[address.path] = _file(address.path)

    def leave_no_socket(self) -> None:
        """Remove the sockets that are still there, at an end that waits for no listener's own.

        Another sidecar may have taken the place of one that is gone already: its socket stays.
        """
        for path, own in self._sockets.items():
            with suppress(OSError):
                if _file(path) == own:
                    Path(path).unlink()


def _file(path: str) -> tuple[int, int]:
    """What tells a file from a later one at its place. Raises OSError where there is none."""
    status = Path(path).stat()
    return status.st_ino, status.st_mtime_ns
