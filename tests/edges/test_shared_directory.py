"""The stand-in for a runtime directory, which anybody can make first, is used by its owner."""

import asyncio
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar import paths
from sidecar.adapters.grpc.listener import Listener, ListenerSettings
from sidecar.adapters.sockets import listening_socket
from sidecar.adapters.sqlite_store.file import DATABASE, FileLock
from sidecar.adapters.state_key import load_key
from sidecar.addresses import Address
from sidecar.config.keys import Config
from sidecar.connecting import connected
from sidecar.connection_faults import ConnectionFault
from sidecar.mcp.token_file import token_in
from sidecar.nowhere import NoRecorder


@pytest.mark.parametrize("mode", [0o777, 0o730])
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


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o711])
def test_one_of_ours_that_others_could_only_read_is_closed_to_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int
) -> None:
    monkeypatch.setattr(paths, "FALLBACK_PARENT", tmp_path)
    directory = tmp_path / f"sidecar-{os.getuid()}"
    directory.mkdir()
    directory.chmod(mode)
    listening_socket(Address(path=str(directory / "admin.sock"))).close()

    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


WRITERS: dict[str, Callable[[Path], object]] = {
    "the key": lambda state: load_key(state)[1],
    "the lock of the database": lambda state: FileLock(state / DATABASE).hold(),
    "a token": lambda state: token_in(state / "token"),
}


@pytest.mark.parametrize("what", WRITERS)
def test_without_a_home_what_is_kept_there_makes_it_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    monkeypatch.setattr(paths, "FALLBACK_PARENT", tmp_path)
    state = paths.state_directory({})
    WRITERS[what](state)
    listening_socket(Address(path=str(paths.agent_socket({})))).close()

    assert stat.S_IMODE(state.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("what", WRITERS)
def test_nothing_is_kept_in_one_that_others_may_write_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    monkeypatch.setattr(paths, "FALLBACK_PARENT", tmp_path)
    state = paths.state_directory({})
    state.parent.mkdir()
    state.parent.chmod(0o777)
    try:
        problem = str(WRITERS[what](state))
    except PermissionError as fault:
        problem = str(fault)

    assert problem == f"{state.parent} is not a directory of this user's with mode 0700"
    assert list(state.parent.iterdir()) == []


async def _listen(address: Address) -> None:
    listener = Listener(ListenerSettings(message_bytes_max=1024), (), recorder=NoRecorder())
    await listener.listen(address)
