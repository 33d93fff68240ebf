"""How often clients proceeded without a decision, as they report it."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

INTERNAL: Final = "internal"
"""A fault of the client's own, or a value that it could not send: no sidecar was missing."""
REASONS: Final = ("connect", "timeout", "stream", "rejected", "draining", INTERNAL)
"""What a client may report; it is the agent's side, so anything else counts as `other`."""
OTHER = "other"


class GiveUps:
    """Turns totals that grow within a client instance into what is new since the last report."""

    def __init__(self, *, instances_max: int) -> None:
        """So many client instances are remembered. Beyond it the one that reported longest ago is
        forgotten, and would count again if it came back."""
        self._instances_max = instances_max
        self._counted: OrderedDict[str, dict[str, int]] = OrderedDict()

    def new(
        self,
        client_instance: str,
        reported: Iterable[tuple[str, int]],
        *,
        before: Iterable[tuple[str, int]] = (),
    ) -> list[tuple[str, int]]:
        """What these totals add, by reason, to those that were counted `before` this sidecar was
        started. A client without a name cannot be told from another, so its totals are passed over
        rather than counted twice."""
        if not client_instance:
            return []
        counted = self._counted.setdefault(client_instance, dict(before))
        self._counted.move_to_end(client_instance)
        if len(self._counted) > self._instances_max:
            self._counted.popitem(last=False)
        totals: dict[str, int] = {}
        for reason, count in reported:
            name = reason if reason in REASONS else OTHER
            totals[name] = totals.get(name, 0) + count
        added = []
        for reason, count in totals.items():
            more = count - counted.get(reason, 0)
            if more > 0:
                counted[reason] = count
                added.append((reason, more))
        return added

    def counted(self, client_instance: str) -> tuple[tuple[str, int], ...]:
        """The totals of a client as they are counted, by reason."""
        return tuple(self._counted.get(client_instance, {}).items())
