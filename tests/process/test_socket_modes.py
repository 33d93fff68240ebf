"""The sockets have the mode and the group that were asked for."""

import os
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess

pytestmark = pytest.mark.process

SOCKETS = ("agent.sock", "agent-http.sock", "admin.sock")
GROUP = 64_123 if os.geteuid() == 0 else os.getgid()
"""root may give files to a group that no account has."""


def test_a_group_by_number_gets_every_socket_and_the_mode_holds(tmp_path: Path) -> None:
    flags = [f"--socket-group={GROUP}", "--socket-mode=0620"]
    with SidecarProcess(tmp_path, flags=flags):
        found = [(tmp_path / name).stat() for name in SOCKETS]
    assert {status.st_gid for status in found} == {GROUP}
    assert {status.st_mode & 0o777 for status in found} == {0o620}
