"""The HTTP listener, asked over real sockets."""

import gzip
import http.client
import socket
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter

from sidecar.adapters.http import (
    HttpListener,
    Page,
    Request,
    Response,
    telemetry_pages,
)
from sidecar.adapters.http.listener import BUSY_S
from sidecar.addresses import Address
from sidecar.health import Health
from sidecar.testing import FakeClock

pytestmark = pytest.mark.process

LOOPBACK = Address(host="127.0.0.1")
DEADLINE_S = 60.0
"""More than any of this takes; a test that waits so long has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str]


@contextmanager
def listening(
    pages: Mapping[str, Page], address: Address = LOOPBACK, **options: float
) -> Iterator[HttpListener]:
    listener = HttpListener(address, pages, **options)  # type: ignore[arg-type]
    listener.start()
    try:
        yield listener
    finally:
        listener.close()


def connected(address: Address) -> socket.socket:
    if not address.path:
        return socket.create_connection((address.host, address.port), timeout=DEADLINE_S)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(DEADLINE_S)
    connection.connect(address.path)
    return connection


def ask(
    listener: HttpListener,
    path: str,
    method: str = "GET",
    body: bytes | None = None,
    **headers: str,
) -> Answer:
    """One request; header names with `_` for `-`."""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = connected(listener.address)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(status=response.status, body=response.read(), headers=found)
    finally:
        connection.close()


def said(listener: HttpListener, request: bytes) -> bytes:
    """What the listener says to raw bytes, to the end of the connection."""
    with connected(listener.address) as connection:
        connection.sendall(request)
        return heard(connection)


def heard(connection: socket.socket) -> bytes:
    """What comes to the end of the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def fixed(body: bytes) -> Page:
    return lambda _: Response(body=body)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def health(clock: FakeClock) -> Health:
    return Health(clock)


@pytest.fixture
def telemetry(health: Health) -> Iterator[HttpListener]:
    registry = CollectorRegistry()
    Counter("sidecar_x", "Something.", registry=registry).inc(2, {"trace_id": "ab"})
    with listening(telemetry_pages(health, registry)) as listener:
        yield listener


def test_livez_follows_the_heartbeat(
    telemetry: HttpListener, health: Health, clock: FakeClock
) -> None:
    assert (ask(telemetry, "/livez").status, ask(telemetry, "/livez").body) == (200, b"ok\n")
    clock.advance(2)
    stuck = ask(telemetry, "/livez")
    assert (stuck.status, stuck.body) == (503, b"the event loop has not turned for 2.0 s\n")
    health.beat()
    assert ask(telemetry, "/livez").status == 200


def test_readyz_is_true_only_while_accepting_and_livez_stays_true(
    telemetry: HttpListener, health: Health
) -> None:
    found = [ask(telemetry, "/readyz").status]
    health.accepting()
    found.append(ask(telemetry, "/readyz").status)
    health.draining()
    found.append(ask(telemetry, "/readyz").status)
    assert found == [503, 200, 503]
    assert ask(telemetry, "/livez").status == 200


def test_metrics_are_plain_text_unless_openmetrics_is_asked_for(telemetry: HttpListener) -> None:
    plain = ask(telemetry, "/metrics")
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert b"sidecar_x_total 2.0\n" in plain.body
    assert b"trace_id" not in plain.body
    asked = ask(telemetry, "/metrics", accept="application/openmetrics-text;version=1.0.0")
    assert asked.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert b'sidecar_x_total 2.0 # {trace_id="ab"} 2.0' in asked.body
    assert asked.body.endswith(b"# EOF\n")


def test_metrics_are_compressed_for_who_asks(telemetry: HttpListener) -> None:
    answer = ask(telemetry, "/metrics", accept_encoding="gzip")
    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(answer.body) == ask(telemetry, "/metrics").body


@pytest.mark.parametrize("weight", ["0", "0.0", "0.000", " 0 "])
def test_what_a_scraper_refuses_it_does_not_get(telemetry: HttpListener, weight: str) -> None:
    refusing = f"application/openmetrics-text;version=1.0.0;q={weight},text/plain;q=0.5"
    answer = ask(
        telemetry, "/metrics", accept=refusing, accept_encoding=f"deflate, gzip; Q={weight}"
    )
    assert "content-encoding" not in answer.headers
    assert answer.headers["content-type"].startswith("text/plain")
    weighed = ask(telemetry, "/metrics", accept_encoding="gzip;q=0.01, br;q=0")
    assert weighed.headers["content-encoding"] == "gzip"


def test_metrics_can_be_asked_for_by_name(telemetry: HttpListener) -> None:
    assert ask(telemetry, "/metrics?name[]=nothing").body == b""


def test_a_head_has_the_headers_of_a_get_and_no_body(telemetry: HttpListener) -> None:
    head, get = ask(telemetry, "/metrics", "HEAD"), ask(telemetry, "/metrics")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"] == str(len(get.body))
    assert said(telemetry, b"HEAD /metrics HTTP/1.0\r\n\r\n").endswith(b"\r\n\r\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "BREW"])
def test_nothing_but_get_and_head_is_allowed(telemetry: HttpListener, method: str) -> None:
    answer = ask(telemetry, "/metrics", method, b"x" * 10_000)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "path", ["/", "/metrics/", "/livez/x", "http://x/livez", "/../livez", "/%6civez"]
)
def test_what_is_no_page_is_not_found(telemetry: HttpListener, path: str) -> None:
    assert ask(telemetry, path).status == 404


def test_the_telemetry_listener_has_no_page_with_session_data_and_no_status(
    telemetry: HttpListener,
) -> None:
    assert [ask(telemetry, path).status for path in ("/statusz", "/sessions", "/hooks")] == [
        404
    ] * 3


def test_the_telemetry_listener_answers_whatever_the_host(telemetry: HttpListener) -> None:
    assert ask(telemetry, "/livez", host="pod.example:9464").status == 200


def test_port_0_becomes_a_real_port() -> None:
    with listening({"/": fixed(b"here")}) as listener:
        assert listener.address.port > 0
        assert ask(listener, "/").body == b"here"


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 on this machine")
def test_ipv6_is_served() -> None:
    with listening({"/": fixed(b"six")}, Address(host="::1")) as listener:
        assert ask(listener, "/").body == b"six"


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 on this machine")
def test_every_address_of_ipv6_is_every_address_of_ipv4_too() -> None:
    with listening({"/": fixed(b"both")}, Address(host="::")) as listener:
        port = listener.address.port
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert connection.makefile("rb").read().endswith(b"both")


def test_a_port_that_is_taken_is_an_error_at_start() -> None:
    with listening({}) as first:
        second = HttpListener(first.address, {})
        with pytest.raises(OSError, match="in use"):
            second.start()
        second.close()


def test_a_unix_socket_is_served_with_its_mode_and_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "admin-http.sock"
    with listening({"/": fixed(b"near")}, Address(path=str(path))) as listener:
        assert ask(listener, "/").body == b"near"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_a_socket_that_a_dead_process_left_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "stale.sock")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    with listening({"/": fixed(b"alive")}, Address(path=path)) as listener:
        assert ask(listener, "/").body == b"alive"


def test_a_socket_that_somebody_serves_is_left_to_them(tmp_path: Path) -> None:
    address = Address(path=str(tmp_path / "living.sock"))
    with listening({"/": fixed(b"first")}, address) as first:
        second = HttpListener(address, {})
        with pytest.raises(OSError, match="in use"):
            second.start()
        second.close()
        assert ask(first, "/").body == b"first"


def test_a_file_that_is_no_socket_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("kept")
    with pytest.raises(OSError, match="in use"):
        HttpListener(Address(path=str(path)), {}).start()
    assert path.read_text() == "kept"


def test_a_request_that_is_too_large_is_refused() -> None:
    with listening({"/": fixed(b"")}) as listener:
        answer = said(listener, b"GET / HTTP/1.0\r\n" + b"X: y\r\n" * 4_000)
    assert answer.startswith(b"HTTP/1.0 431 ")


def test_a_request_that_never_ends_is_given_up() -> None:
    with listening({"/": fixed(b"")}, request_timeout_s=1.0) as listener:
        assert said(listener, b"GET / HTTP/1.0\r\nX: ").startswith(b"HTTP/1.0 408 ")


@pytest.mark.parametrize(
    "request_line",
    [b"\x00\xff\xfe", b"GET", b"GET / HTTP/9.9.9", b"GET http://[ HTTP/1.0", b"A B C D"],
)
def test_garbage_does_no_harm(request_line: bytes) -> None:
    with listening({"/": fixed(b"fine")}) as listener:
        assert b"200" not in said(listener, request_line + b"\r\n\r\n")
        assert ask(listener, "/").body == b"fine"


def test_a_peer_that_hangs_up_does_no_harm() -> None:
    with listening({"/": fixed(b"fine")}) as listener:
        for request in (b"", b"GET / HT", b"GET / HTTP/1.0\r\n\r\n"):
            with connected(listener.address) as connection:
                connection.sendall(request)
        assert ask(listener, "/").body == b"fine"


def test_more_connections_than_there_are_places_wait_their_turn() -> None:
    with ExitStack() as held:
        listener = held.enter_context(listening({"/": fixed(b"served")}, connections_max=2))
        for _ in range(2):
            held.enter_context(connected(listener.address))
        assert ask(listener, "/").body == b"served"


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.0\r\n\r\n"])
def test_whoever_keeps_it_waiting_longest_gives_way_to_who_asks(sent: bytes) -> None:
    pages = {"/": fixed(b"served")}
    with (
        listening(pages, connections_max=2, request_timeout_s=DEADLINE_S) as listener,
        ExitStack() as held,
    ):
        waiting = [held.enter_context(connected(listener.address)) for _ in range(20)]
        for connection in waiting:
            with suppress(OSError):  # it has given way already
                connection.sendall(sent)
        started_s = time.monotonic()
        assert ask(listener, "/").body == b"served"
        assert time.monotonic() - started_s < DEADLINE_S / 2


def test_what_is_being_answered_does_not_give_way() -> None:
    entered, release = threading.Semaphore(0), threading.Event()

    def slow(_: Request) -> Response:
        entered.release()
        release.wait(DEADLINE_S)
        return Response(body=b"at last")

    pages = {"/": slow}
    with (
        listening(pages, connections_max=1, request_timeout_s=DEADLINE_S) as listener,
        connected(listener.address) as first,
    ):
        first.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert entered.acquire(timeout=DEADLINE_S)
        with connected(listener.address) as second:
            second.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert not entered.acquire(timeout=4 * BUSY_S)
            release.set()
            for connection in (first, second):
                assert heard(connection).endswith(b"at last")


def test_closing_cuts_idle_connections_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    entered, release = threading.Event(), threading.Event()

    def slow(_: Request) -> Response:
        entered.set()
        release.wait(DEADLINE_S)
        return Response()

    listener = HttpListener(LOOPBACK, {"/": slow}, request_timeout_s=DEADLINE_S)
    listener.start()
    with connected(listener.address) as idle, connected(listener.address) as busy:
        busy.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert entered.wait(DEADLINE_S)
        release.set()
        started_s = time.monotonic()
        listener.close()
        assert time.monotonic() - started_s < DEADLINE_S / 2
        assert idle.recv(1) == b""
    assert set(threading.enumerate()) <= before
    with pytest.raises(OSError, match="refused"):
        connected(listener.address)


def test_closing_twice_or_before_the_start_is_nothing() -> None:
    HttpListener(LOOPBACK, {}).close()
    listener = HttpListener(LOOPBACK, {})
    listener.start()
    listener.close()
    listener.close()
