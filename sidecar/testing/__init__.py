"""Doubles for tests: held to the behaviour of the real things by tests of their own."""

from sidecar.testing.clock import FakeClock
from sidecar.testing.losses import Losses
from sidecar.testing.memory_store import MemoryStore
from sidecar.testing.plain_codec import PlainCodec
from sidecar.testing.process import SidecarProcess
from sidecar.testing.recorder import MemoryRecorder

__all__ = [
    "FakeClock",
    "Losses",
    "MemoryRecorder",
    "MemoryStore",
    "PlainCodec",
    "SidecarProcess",
]
