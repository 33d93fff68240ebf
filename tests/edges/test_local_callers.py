"""Who is let in from this machine, and what gives a browser away."""

from urllib.parse import quote

import pytest

from sidecar.adapters.local_callers import foreign
from sidecar.addresses import Address

LOOPBACK = Address(host="127.0.0.1", port=9465)
OUTSIDE = Address(host="0.0.0.0", port=9465)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9465", "127.0.0.1:1", "[::1]:9465"])
def test_local_names_are_let_in(host: str) -> None:
    assert foreign({"host": host}, LOOPBACK) == ""
    assert foreign({"host": host, "origin": f"http://{host}"}, LOOPBACK) == ""


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:9465",
        "localhost.evil.example",
        "localhost@evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "::1",
        "localhost:",
        "",
    ],
)
def test_a_foreign_host_as_dns_rebinding_brings_it_is_not(host: str) -> None:
    assert "Host" in foreign({"host": host}, LOOPBACK)


def test_a_request_without_a_host_is_not() -> None:
    assert "Host" in foreign({}, LOOPBACK)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost:9999",
        "https://localhost:1",
        "http://localhost",
        "",
    ],
)
def test_pages_of_other_origins_are_not(origin: str) -> None:
    assert "Origin" in foreign({"host": "localhost:1", "origin": origin}, LOOPBACK)


@pytest.mark.parametrize(
    ("site", "lets_in"),
    [("none", True), ("same-origin", True), ("same-site", False), ("cross-site", False)],
)
def test_what_a_browser_says_of_the_site_counts(site: str, lets_in: bool) -> None:
    headers = {"host": "localhost", "sec-fetch-site": site}
    assert (foreign(headers, LOOPBACK) == "") == lets_in


def test_over_a_unix_socket_the_host_may_be_empty_or_the_path() -> None:
    address = Address(path="/run/a.sock")
    for host in ("", "localhost", quote(address.path, safe="")):
        assert foreign({"host": host}, address) == ""
    assert foreign({}, address) == ""
    assert "Host" in foreign({"host": "evil.example"}, address)


def test_a_listener_for_other_machines_has_any_name_and_its_own_origin_only() -> None:
    named = {"host": "sidecar.example:4301"}
    assert foreign(named, OUTSIDE, scheme="https") == ""
    same = {**named, "origin": "https://sidecar.example:4301"}
    assert foreign(same, OUTSIDE, scheme="https") == ""
    assert "Origin" in foreign({**named, "origin": "https://evil.example"}, OUTSIDE, scheme="https")
