"""Pages over HTTP: of the public internet only, bounded in size and time."""

import asyncio
import contextlib
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from sidecar.codeagent.tools.addresses import AddressRefusedError, Network, resolved
from sidecar.core.value import value

if TYPE_CHECKING:
    import httpx2

PAGE_BYTES_MAX: Final = 5 * 1024 * 1024
"""Of a body, unpacked."""
FETCH_TIMEOUT_S: Final = 20.0
"""Redirects included."""
CONNECT_SHARE: Final = 0.25
"""Of that time, for one address of a host: one that does not answer leaves time for the others."""
REDIRECTS_MAX: Final = 5
USER_AGENT: Final = "agent-sidecar (reference agent)"


@value
class Page:
    """What was found at an address."""

    url: str
    """Where it came from in the end."""
    content_type: str
    """Without parameters, in lower case."""
    charset: str = ""
    """As the server says; empty: it does not."""
    content: bytes


class PageMissingError(Exception):
    """A page could not be had; the text says why."""


class Pages(Protocol):
    """Where pages come from."""

    async def fetch(self, url: str) -> Page:
        """The page. Raises PageMissingError."""
        ...


class NoPages:
    """None: pages are off."""

    async def fetch(self, url: str) -> Page:
        """Raises PageMissingError."""
        raise PageMissingError("pages are switched off here")


PORTS: Final = range(1, 65_536)


class WebPages:
    """Pages of the web."""

    def __init__(
        self,
        *,
        opened: Sequence[Network] = (),
        page_bytes_max: int = PAGE_BYTES_MAX,
        timeout_s: float = FETCH_TIMEOUT_S,
    ) -> None:
        """`opened`: networks that may be asked though they are not public."""
        self._opened = tuple(opened)
        self._page_bytes_max = page_bytes_max
        self._timeout_s = timeout_s

    async def fetch(self, url: str) -> Page:
        """The page. Raises PageMissingError."""
        import httpx2  # where it is needed: it takes a tenth of a second

        try:
            async with asyncio.timeout(self._timeout_s), self._client() as client:
                async with client.stream("GET", url) as response:
                    if response.status_code != httpx2.codes.OK:
                        raise PageMissingError(f"HTTP status {response.status_code}")
                    content = await self._body(response)
                kind = response.headers.get("content-type", "").partition(";")[0]
                return Page(
                    url=str(response.url),
                    content_type=kind.strip().lower(),
                    charset=response.charset_encoding or "",
                    content=content,
                )
        except TimeoutError as error:
            raise PageMissingError(f"it took longer than {self._timeout_s:g} s") from error
        except httpx2.ConnectTimeout as error:
            raise PageMissingError("its host does not answer") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise PageMissingError(str(error) or type(error).__name__) from error
        except AddressRefusedError as error:
            raise PageMissingError(str(error)) from error

    def _client(self) -> "httpx2.AsyncClient":
        import httpx2

        limits = httpx2.Limits(max_keepalive_connections=0)  # one connection is for one host name
        # No environment: a proxy would look the host up anew, and may reach what must not be.
        below = httpx2.AsyncHTTPTransport(limits=limits, trust_env=False)
        return httpx2.AsyncClient(
            transport=_guarded(below, self._opened),
            timeout=httpx2.Timeout(self._timeout_s, connect=self._timeout_s * CONNECT_SHARE),
            follow_redirects=True,
            max_redirects=REDIRECTS_MAX,
            trust_env=False,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, identity"},
        )

    async def _body(self, response: "httpx2.Response") -> bytes:
        """The body, unpacked no further than its bound."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "", "gzip", "x-gzip"):
            raise PageMissingError(f"it is encoded as {encoding[:40]}, which was not asked for")
        unpacker = _Gzip() if "gzip" in encoding else None
        body = bytearray()
        async for part in response.aiter_raw():
            room = self._page_bytes_max + 1 - len(body)
            body += unpacker.unpacked(part, room) if unpacker else part
            if len(body) > self._page_bytes_max:
                raise PageMissingError(f"it has more than {self._page_bytes_max:,} bytes")
        if unpacker and not unpacker.ended:
            raise PageMissingError(NO_GZIP)
        return bytes(body)


NO_GZIP: Final = "it is not the gzip that it says it is"


class _Gzip:
    """Unpacks a body, which may have several members, one after the other (RFC 1952)."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def ended(self) -> bool:
        """Whether the last member is complete."""
        return self._member.eof

    def unpacked(self, part: bytes, bytes_max: int) -> bytes:
        """What is in the next part, no more than that many bytes. Raises PageMissingError."""
        found = bytearray()
        while part and len(found) < bytes_max:
            if self._member.eof:
                self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                found += self._member.decompress(part, bytes_max - len(found))
            except zlib.error as error:
                raise PageMissingError(NO_GZIP) from error
            part = self._member.unused_data
        return bytes(found)


def _guarded(
    below: "httpx2.AsyncHTTPTransport", opened: Sequence[Network]
) -> "httpx2.AsyncBaseTransport":
    """A transport that looks every host up itself, redirects' too, and connects to its addresses,
    the next one where one does not answer."""
    import httpx2

    class Guarded(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            url = request.url
            if url.scheme not in ("http", "https"):
                begins = "an address begins with http:// or https://"
                raise PageMissingError(f"{begins}, not {url.scheme}:" if url.scheme else begins)
            if url.userinfo:
                raise PageMissingError("an address with a user name in it is not fetched")
            if url.port is not None and url.port not in PORTS:
                raise PageMissingError(f"{url.port}: no port of a host")
            *others, last = await resolved(url.host, url.port or 0, opened)
            for address in others:
                with contextlib.suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                    return await below.handle_async_request(_pinned(request, address))
            return await below.handle_async_request(_pinned(request, last))

        async def aclose(self) -> None:
            await below.aclose()

    return Guarded()


def _pinned(request: "httpx2.Request", address: str) -> "httpx2.Request":
    """The same, of that address."""
    import httpx2

    # The Host header stands already, and the certificate is checked against the name.
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
