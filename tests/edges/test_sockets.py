"""Sockets that listen."""

import asyncio
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from sidecar.adapters.sockets import listening_socket
from sidecar.addresses import Address
from sidecar.config.keys import Config
from sidecar.health import Health
from sidecar.serving.listening import Listening
from sidecar.testing import FakeClock


def test_an_address_that_is_taken_is_named_with_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="cannot listen at") as refused:
            listening_socket(Address(host="127.0.0.1", port=port))
    assert str(refused.value) == f"cannot listen at 127.0.0.1:{port}: Address already in use"


def test_a_socket_that_cannot_be_made_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    path = f"{tmp_path}/file/agent.sock"
    with pytest.raises(OSError, match="cannot listen at") as refused:
        listening_socket(Address(path=path))
    assert str(refused.value) == f"cannot listen at unix:{path}: File exists"


def test_a_host_that_nobody_knows_is_named_with_the_reason() -> None:
    with pytest.raises(OSError, match=r"cannot listen at nobody\.invalid:1: [A-Z][a-z]"):
        listening_socket(Address(host="nobody.invalid", port=1))


def test_what_is_sent_over_tcp_goes_at_once() -> None:
    with (
        listening_socket(Address(host="127.0.0.1", port=0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_end_that_waits_for_nobody_leaves_no_socket_but_that_of_another_sidecar(
    tmp_path: Path,
) -> None:
    own, gone, taken = (str(tmp_path / name) for name in ("own.sock", "gone.sock", "taken.sock"))
    config = Config(
        agent_address=own,
        admin_address=gone,
        agent_http_address=taken,
        agent_tcp_address="127.0.0.1:0",
    )
    listening = Listening(config, Health(clock=FakeClock()))
    with ExitStack() as held:

        async def serve(address: Address) -> Address:
            held.enter_context(listening_socket(address))
            return address

        async def start() -> None:
            for key in (
                "agent_address",
                "admin_address",
                "agent_http_address",
                "agent_tcp_address",
            ):
                await listening.listen(key, serve)

        asyncio.run(start())
        Path(gone).unlink()
        Path(taken).unlink()
        held.enter_context(listening_socket(Address(path=taken)))
        listening.leave_no_socket()

    assert [path.name for path in tmp_path.iterdir()] == ["taken.sock"]
