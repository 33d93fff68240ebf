"""Keeps browsers out of ports that are meant for programs of this machine.

A page on the web can make a browser send requests to a loopback port, and by DNS rebinding read
the answers as well. What gives it away is that the browser still names the foreign host in `Host`,
the page that asks in `Origin`, or that it is another site's in `Sec-Fetch-Site`.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from sidecar.addresses import Address

LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
_PORT: Final = re.compile(r":\d{1,5}\Z", re.ASCII)
OWN_SITE: Final = ("same-origin", "none")
"""What browsers say of a request by a page of the same server, and by the person at the address
bar."""


def foreign(headers: Mapping[str, str], address: Address, *, scheme: str = "http") -> str:
    """Why a request is not to be served; empty: nothing speaks against it.

    `headers` have names in lower case, and `address` is the listener's: a host of this machine
    other than the usual is a name of it too. Over a Unix socket, which no browser reaches, the host
    may also be empty or the socket's path. A listener for other machines has names that are not
    known here, so only the origin counts there.
    """
    host = headers.get("host", "")
    names = dict.fromkeys((*LOCAL_NAMES, *_own_names(address)))
    if address.is_local and _PORT.sub("", host).lower() not in map(str.lower, names):
        return f"Host must be one of {', '.join(filter(None, names))}"
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"{scheme}://{host}".lower():
        return "Origin must be this server"
    if headers.get("sec-fetch-site", "none") not in OWN_SITE:
        return "Sec-Fetch-Site must be same-origin or none"
    return ""


def _own_names(address: Address) -> tuple[str, ...]:
    """What the address itself is called in `Host`."""
    if address.path:
        return "", quote(address.path, safe="")
    return (f"[{address.host}]" if ":" in address.host else address.host,)
