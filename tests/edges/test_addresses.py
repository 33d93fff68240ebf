"""What an address may look like, and who can reach it."""

import pytest

from sidecar.addresses import Address, parse_address


@pytest.mark.parametrize(
    ("text", "target", "is_local"),
    [
        ("/run/a.sock", "unix:/run/a.sock", True),
        ("unix:/run/a.sock", "unix:/run/a.sock", True),
        ("unix:///run/a.sock", "unix:/run/a.sock", True),
        ("127.0.0.1:4300", "127.0.0.1:4300", True),
        ("localhost:0", "localhost:0", True),
        ("[::1]:4300", "[::1]:4300", True),
        ("0.0.0.0:4300", "0.0.0.0:4300", False),
        ("[::]:4300", "[::]:4300", False),
        ("192.168.0.1:4300", "192.168.0.1:4300", False),
        ("localhost.example.org:4300", "localhost.example.org:4300", False),
    ],
)
def test_an_address_is_a_socket_or_a_host_and_port(text: str, target: str, is_local: bool) -> None:
    address = parse_address(text)
    assert (address.target, address.is_local) == (target, is_local)


@pytest.mark.parametrize(
    "text",
    ["", "run/a.sock", "unix:a.sock", "4300", ":4300", "a:", "a:65536", "a:b", "::1:4300", "a b:1"],
)
def test_anything_else_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="an absolute path"):
        parse_address(text)


def test_a_socket_path_has_107_bytes_at_most() -> None:
    assert parse_address("/" + "a" * 106) == Address(path="/" + "a" * 106)
    with pytest.raises(ValueError, match="107 bytes"):
        parse_address("/" + "ä" * 54)


def test_a_socket_path_is_utf_8() -> None:
    with pytest.raises(ValueError, match="a path in UTF-8"):
        parse_address("/run/\udce9.sock")
