"""Doubles for tests: held to the behaviour of the real things by tests of their own."""

from sidecar.testing.anthropic_server import FakeAnthropicServer
from sidecar.testing.clock import FakeClock
from sidecar.testing.fake_model import FakeModel
from sidecar.testing.losses import Losses
from sidecar.testing.memory_store import MemoryStore
from sidecar.testing.model_script import Call, Fail, HangUp, Raw, Say, Search
from sidecar.testing.plain_codec import PlainCodec
from sidecar.testing.process import SidecarProcess
from sidecar.testing.recorder import MemoryRecorder

__all__ = [
    "Call",
    "Fail",
    "FakeAnthropicServer",
    "FakeClock",
    "FakeModel",
    "HangUp",
    "Losses",
    "MemoryRecorder",
    "MemoryStore",
    "PlainCodec",
    "Raw",
    "Say",
    "Search",
    "SidecarProcess",
]
