"""Sockets that listen."""

import socket

from sidecar.adapters.sockets import listening_socket
from sidecar.addresses import Address


def test_what_is_sent_over_tcp_goes_at_once() -> None:
    with (
        listening_socket(Address(host="127.0.0.1", port=0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
