"""Pages come from the public internet alone, whatever names and redirects say."""

import asyncio
import contextlib
import gzip
import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from sidecar.codeagent.tools.addresses import AddressRefusedError, is_public, resolved
from sidecar.codeagent.tools.pages import NoPages, PageMissingError, WebPages
from tests.codeagent.loopback import Reply, moved, packed, page, site

LOOPBACK = (ip_network("127.0.0.0/8"),)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",  # metadata of most clouds
        "100.100.100.200",  # metadata of Alibaba's
        "192.0.0.192",  # metadata of Oracle's
        "168.63.129.16",  # the host of a machine in Azure
        "64:ff9b::a83f:8110",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fd00:ec2::254",  # metadata of Amazon's
        "ff02::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "64:ff9b:1::7f00:1",
        "::7f00:1",
        "fec0::1",
        "192.0.0.8",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
    ],
)
def test_an_address_that_is_somebodys_own_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808"]
)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://0x7f000001:{port}/",
        "http://2130706433:{port}/",
        "http://127.1:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://user:secret@127.0.0.1:{port}/",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "gopher://127.0.0.1:{port}/",
        "//127.0.0.1:{port}/",
        "not a url",
        "http://",
        "http://a b/",
        "http://\u2603.invalid/",
        "http://host.invalid/",
        "http://[::1",
        "http://127.0.0.1:99999/",
    ],
)
async def test_what_is_not_on_the_public_internet_is_not_fetched(url: str) -> None:
    with site(lambda _: page("secret")) as here:
        with pytest.raises(PageMissingError):
            await WebPages().fetch(url.format(port=here.port))
        assert here.asked == []


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("example.com", "an address begins with http:// or https://"),
        ("example.com:80/a", "an address begins with http:// or https://"),
        ("ftp://example.com/a", "an address begins with http:// or https://, not ftp:"),
    ],
)
async def test_an_address_that_is_none_is_told_how_one_begins(url: str, why: str) -> None:
    with pytest.raises(PageMissingError) as raised:
        await WebPages().fetch(url)
    assert str(raised.value) == why


async def test_an_operator_can_open_a_network() -> None:
    with site(lambda _: page("hello")) as here:
        found = await WebPages(opened=LOOPBACK).fetch(here.url("/a"))
    assert (found.content, found.content_type, found.url) == (
        b"hello",
        "text/html",
        here.url("/a"),
    )


async def test_a_redirect_is_followed_and_its_host_looked_up_too() -> None:
    def answer(path: str) -> Reply:
        return moved("/there") if path == "/here" else page("hello")

    with site(answer) as here:
        found = await WebPages(opened=LOOPBACK).fetch(here.url("/here"))
        assert (found.content, found.url) == (b"hello", here.url("/there"))


@pytest.mark.parametrize(
    "to", ["http://169.254.169.254/latest/", "http://10.0.0.1/", "file:///etc/passwd", "http://["]
)
async def test_a_redirect_to_what_must_not_be_asked_is_refused(to: str) -> None:
    with site(lambda _: moved(to)) as here, pytest.raises(PageMissingError):
        await WebPages(opened=LOOPBACK).fetch(here.url("/"))


async def test_redirects_without_end_are_refused() -> None:
    with site(lambda _: moved("/again")) as here:
        with pytest.raises(PageMissingError, match="redirect"):
            await WebPages(opened=LOOPBACK).fetch(here.url("/"))
        assert len(here.asked) == 6


async def test_the_address_that_was_checked_is_the_one_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The second answer of a host that changes its mind would be another address.
    answers = iter(["127.0.0.1", "127.0.0.2", "127.0.0.3"])
    looked_up = []

    async def lookup(host: str, port: int, **_: Any) -> list[Any]:
        looked_up.append(host)
        row = (socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))
        return [row]

    with site(lambda _: page("hello")) as here:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lookup, raising=False)
        only = (ip_network("127.0.0.1/32"),)
        found = await WebPages(opened=only).fetch(here.url("/", host="rebinding.test"))
        assert found.content == b"hello"
        assert here.asked[0][1]["Host"] == f"rebinding.test:{here.port}"
    assert looked_up == ["rebinding.test"]


async def test_a_host_with_a_public_and_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def lookup(host: str, port: int, **_: Any) -> list[Any]:
        return [(2, 1, 6, "", (address, port)) for address in ("1.1.1.1", "10.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lookup, raising=False)
    with pytest.raises(AddressRefusedError, match=r"both\.test: it is not on the public internet"):
        await resolved("both.test", 80)


async def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with site(lambda _: page("from the proxy")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url(""))
        monkeypatch.setenv("ALL_PROXY", proxy.url(""))
        with pytest.raises(PageMissingError):
            await WebPages().fetch("http://127.0.0.1:1/")
        assert proxy.asked == []


@pytest.mark.parametrize("reply", [page("a" * 5000), packed(b"a" * 50_000_000)])
async def test_a_page_that_is_too_large_unpacked_is_refused(reply: Reply) -> None:
    pages = WebPages(opened=LOOPBACK, page_bytes_max=4000)
    too_large = pytest.raises(PageMissingError, match="more than 4,000 bytes")
    with site(lambda _: reply) as here, too_large:
        await pages.fetch(here.url("/"))


async def test_a_page_in_gzip_is_unpacked() -> None:
    with site(lambda _: packed(b"hello" * 100)) as here:
        found = await WebPages(opened=LOOPBACK).fetch(here.url("/"))
    assert found.content == b"hello" * 100


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(status=404), "HTTP status 404"),
        (Reply(body=b"x", headers={"Content-Encoding": "br"}), "encoded as br"),
        (Reply(body=b"x", headers={"Content-Encoding": "gzip"}), "not the gzip"),
        (Reply(body=b"x", headers={"Content-Length": "9"}), "."),
    ],
)
async def test_what_is_no_page_is_refused_with_a_reason(reply: Reply, why: str) -> None:
    with site(lambda _: reply) as here, pytest.raises(PageMissingError, match=why):
        await WebPages(opened=LOOPBACK, timeout_s=5.0).fetch(here.url("/"))


async def test_a_server_that_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(PageMissingError, match=r"took longer than 0\.2 s"):
            await WebPages(opened=LOOPBACK, timeout_s=0.2).fetch(f"http://127.0.0.1:{port}/")


async def test_pages_that_are_off_say_so() -> None:
    with pytest.raises(PageMissingError, match="switched off"):
        await NoPages().fetch("http://1.1.1.1/")


@pytest.mark.parametrize("port", ["99999", "-1", "0", "65536"])
async def test_a_port_that_is_none_is_a_page_that_is_missing(port: str) -> None:
    with pytest.raises(PageMissingError):
        await WebPages(opened=LOOPBACK).fetch(f"http://127.0.0.1:{port}/")
    to = f"http://127.0.0.1:{port}/"
    with site(lambda _: moved(to)) as here, pytest.raises(PageMissingError):
        await WebPages(opened=LOOPBACK).fetch(here.url("/a"))


@contextlib.contextmanager
def unanswering(port: int) -> Iterator[None]:
    """127.0.0.2 answers nobody who wants to connect there."""
    with contextlib.ExitStack() as kept:
        full = kept.enter_context(socket.create_server(("127.0.0.2", port), backlog=0))
        for _ in range(2):  # A backlog of none has room for one, and the next is not answered.
            waiting = kept.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        yield


@pytest.mark.parametrize("first", [contextlib.nullcontext, unanswering])
async def test_a_host_whose_first_address_does_not_answer_is_asked_at_the_next(
    monkeypatch: pytest.MonkeyPatch, first: Callable[[int], contextlib.AbstractContextManager[None]]
) -> None:
    async def lookup(host: str, port: int, **_: Any) -> list[Any]:
        return [(2, 1, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    with site(lambda _: page("hello")) as here, first(here.port):
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lookup, raising=False)
        pages = WebPages(opened=LOOPBACK, timeout_s=6.0)
        found = await pages.fetch(here.url("/", host="both.test"))
    assert found.content == b"hello"


async def test_a_host_that_does_not_answer_has_no_page() -> None:
    missing = pytest.raises(PageMissingError, match="its host does not answer")
    with site(lambda _: page("hello")) as here, unanswering(here.port), missing:
        await WebPages(opened=LOOPBACK, timeout_s=2.0).fetch(here.url("/", host="127.0.0.2"))


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
async def test_a_page_in_several_parts_of_gzip_is_whole(chunk: int) -> None:
    body = gzip.compress(b"hello ") + gzip.compress(b"world")
    parts = [body[at : at + chunk] for at in range(0, len(body), chunk)]
    sent = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [*parts, b""])
    headers = {"Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}
    with site(lambda _: Reply(body=sent, headers=headers)) as here:
        found = await WebPages(opened=LOOPBACK).fetch(here.url("/"))
    assert found.content == b"hello world"
