"""Makes runs visible: spans and evaluation events over OTLP, metrics for Prometheus."""

from sidecar.adapters.telemetry.sdk_import import variable_hidden

with variable_hidden():
    from sidecar.adapters.telemetry.build import TelemetrySettings, build
    from sidecar.adapters.telemetry.recorder import Telemetry

__all__ = ["Telemetry", "TelemetrySettings", "build"]
