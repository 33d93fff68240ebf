"""All signals, in the order of precedence."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from sidecar.core.signal import Signal
from sidecar.signals.circling import CIRCLING
from sidecar.signals.decline import DECLINE
from sidecar.signals.divergence import DIVERGENCE
from sidecar.signals.drift import DRIFT
from sidecar.signals.loop import LOOP
from sidecar.signals.max_turns import MAX_TURNS
from sidecar.signals.spin import SPIN
from sidecar.signals.stall import STALL
from sidecar.signals.token_overflow import TOKEN_OVERFLOW

SIGNALS: Final[tuple[Signal[Any, Any], ...]] = (
    MAX_TURNS,
    TOKEN_OVERFLOW,
    LOOP,
    SPIN,
    STALL,
    DECLINE,
    DIVERGENCE,
    DRIFT,
    CIRCLING,
)
"""What a policy can watch; the first of two that are equally strong names the directive."""

SIGNALS_BY_NAME: Final[Mapping[str, Signal[Any, Any]]] = MappingProxyType(
    {signal.name: signal for signal in SIGNALS}
)
