"""Keeps browsers out of pages that are meant for this machine only.

A page on the web can make a browser send requests to a loopback port, and by DNS rebinding read
the answers as well. What gives it away is that the browser still names the foreign host in `Host`,
or the page that asks in `Origin`.
"""

import re
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from sidecar.adapters.http.message import Page, Request, Response
from sidecar.addresses import Address

_LOCAL: Final = re.compile(
    r"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?", re.ASCII | re.IGNORECASE
)


def local_only(page: Page, address: Address) -> Page:
    """The page, refused with 403 unless asked for by a local name and not by a foreign page.

    Over a Unix socket, which no browser reaches, the host may also be empty or the socket's path.
    """
    socket_names = {"", quote(address.path, safe="")} if address.path else set()

    def guarded(request: Request) -> Response:
        host = request.headers.get("host", "")
        if not _LOCAL.fullmatch(host) and host not in socket_names:
            return _forbidden("Host must be localhost, 127.0.0.1 or [::1]")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host}".lower():
            return _forbidden("Origin must be this server")
        return page(request)

    return guarded


def _forbidden(why: str) -> Response:
    return Response(status=HTTPStatus.FORBIDDEN, body=f"{why}\n".encode())
