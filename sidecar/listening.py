"""Where a sidecar listens, and which of its addresses it does without.

An address that somebody asked for is served, or there is no sidecar. A default one that is taken is
most often another user's sidecar, or another of one's own: without it, agents and operators still
have the Unix sockets.
"""

from typing import Final

from sidecar.config import ADDRESSES, Config, flag_name
from sidecar.config_checks import REQUIRED
from sidecar.given import Origin
from sidecar.health import Health


class Listening:
    """The addresses of one sidecar, as they are had or not."""

    def __init__(self, config: Config, health: Health) -> None:
        asked_for = {value.key for value in config.values if value.origin is not Origin.DEFAULT}
        self._spare: Final = frozenset(ADDRESSES) - {*REQUIRED, *asked_for}
        self._health = health
        self.addresses: dict[str, str] = {}
        """Where it listens, by configuration key."""

    def had(self, key: str, address: str) -> None:
        """Note where a key's listener listens."""
        self.addresses[key] = address

    def missed(self, key: str, fault: OSError) -> None:
        """Go on without a default address that nobody asked for; `/statusz` and the log say so.

        Raises OSError with the key and what to change where there is no sidecar without it.
        """
        if key not in self._spare:
            raise OSError(f"{key}: {fault}; {flag_name(key)} gives another") from fault
        self._health.component(key).permanent(f"{fault}; the sidecar goes on without it")
