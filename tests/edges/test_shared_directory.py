"""The stand-in for a runtime directory, which anybody can make first, is used by its owner."""

import asyncio
import os
import re
from pathlib import Path

import pytest

from sidecar import paths
from sidecar.adapters.grpc.listener import Listener, ListenerSettings
from sidecar.adapters.sockets import listening_socket
from sidecar.addresses import Address
from sidecar.config import Config
from sidecar.connecting import connected
from sidecar.connection_faults import ConnectionFault
from sidecar.nowhere import NoRecorder


@pytest.mark.parametrize("mode", [0o777, 0o750])
def test_nobody_listens_or_asks_in_a_shared_directory_that_is_not_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int
) -> None:
    monkeypatch.setattr(paths, "FALLBACK_PARENT", tmp_path)
    directory = tmp_path / f"sidecar-{os.getuid()}"
    directory.mkdir(mode=0o700)
    directory.chmod(mode)
    address = Address(path=str(directory / "admin.sock"))
    why = f"{directory} is not a directory of this user's with mode 0700"

    with pytest.raises(OSError, match=re.escape(f"cannot listen at {address.target}: {why}")):
        listening_socket(address)
    with pytest.raises(OSError, match=re.escape(f"cannot listen at {address.target}: {why}")):
        asyncio.run(_listen(address))
    with (
        pytest.raises(ConnectionFault, match=r"admin_address: .* is not this user's own"),
        connected(Config(), address, key="admin_address"),
    ):
        pass
    directory.chmod(0o700)
    listening_socket(address).close()


async def _listen(address: Address) -> None:
    listener = Listener(ListenerSettings(message_bytes_max=1024), (), recorder=NoRecorder())
    await listener.listen(address)
