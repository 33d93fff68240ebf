"""The services over gRPC; no decisions, no thresholds."""

from sidecar.adapters.grpc.convergence import ConvergenceService
from sidecar.adapters.grpc.listener import Listener, ListenerSettings
from sidecar.adapters.grpc.session_service import SessionService

__all__ = ["ConvergenceService", "Listener", "ListenerSettings", "SessionService"]
