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


def test_by_default_owner_and_group_may_connect_and_directories_made_are_the_owner_s(
    tmp_path: Path,
) -> None:
    keys = ("agent-address", "agent-http-address", "admin-address", "admin-http-address")
    # A socket's path has 107 bytes at most.
    paths = {key: tmp_path / f"d{number}" / "s" for number, key in enumerate(keys)}
    flags = [f"--{key}={path}" for key, path in paths.items()]
    with SidecarProcess(tmp_path, flags=flags):
        sockets = {path.stat().st_mode & 0o777 for path in paths.values()}
        directories = {path.parent.stat().st_mode & 0o777 for path in paths.values()}
    assert sockets == {0o660}
    assert directories == {0o700}
