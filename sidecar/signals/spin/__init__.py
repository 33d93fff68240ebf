from sidecar.signals.spin.error import ERRORS_MAX
from sidecar.signals.spin.signal import EXECUTE, FOUNDING, SPIN, SpinThresholds

__all__ = ["ERRORS_MAX", "EXECUTE", "FOUNDING", "SPIN", "SpinThresholds"]
