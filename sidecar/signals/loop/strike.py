"""Loops that were found before in this run, so that the same one is answered sooner.

A write made for the first time lets them pass: to see what came of it one may do the same again.
"""

from struct import Struct
from typing import Final

from sidecar.core.value import value
from sidecar.signals.loop.finding import Finding
from sidecar.signals.loop.window import SEEN, Window

STRIKE: Final = Struct("<8sI")
"""Digest of what came again, turn in which it was last found."""
STRIKES_MAX: Final = 8
"""Loops remembered. A run is committed or halted long before it has found a ninth."""


@value
class Strikes:
    """The latest loops, packed, the latest last."""

    packed: bytes = b""

    def __post_init__(self) -> None:
        """Refuse what was not packed here."""
        if len(self.packed) % STRIKE.size:
            raise ValueError("the strikes are cut")

    def again(self, finding: Finding) -> bool:
        """Whether this loop was found before, and has begun anew since."""
        return any(
            key == finding.key and finding.since > sequence
            for key, sequence in STRIKE.iter_unpack(self.packed)
        )

    def left_by(self, window: Window) -> "Strikes":
        """What is left of them after the window's latest call."""
        is_new_write = window.write_age == 1 and not window.traits & SEEN
        return NO_STRIKES if is_new_write else self

    def after(self, finding: Finding, sequence: int) -> "Strikes":
        """The strikes with this loop as the latest."""
        if not finding.key:
            return self
        kept = b"".join(
            STRIKE.pack(key, turn)
            for key, turn in STRIKE.iter_unpack(self.packed)
            if key != finding.key
        )
        packed = kept + STRIKE.pack(finding.key, sequence & 0xFFFFFFFF)
        return Strikes(packed=packed[-STRIKES_MAX * STRIKE.size :])


NO_STRIKES: Final = Strikes()
