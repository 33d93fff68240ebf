from sidecar.signals.loop.signal import LOOP
from sidecar.signals.loop.thresholds import FOUNDING, LoopThresholds

__all__ = ["FOUNDING", "LOOP", "LoopThresholds"]
