"""Pages of sessions, in an order that stands still while they are fetched: that of their opening.

By their latest activity, what is active between two pages would move across the one's end.
"""

import binascii
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from typing import Final

from sidecar.refusal import Reason, Refusal
from sidecar.sessions.openings import SESSION_ID_BYTES_MAX
from sidecar.sessions.session import Session

PAGE_BYTES_MAX: Final = 3 * 1024 * 1024
"""Of a page, after which it ends early: gRPC takes 4 MiB unless it is told otherwise."""

Opened = tuple[float, str]
"""When a session was opened, in seconds since the epoch, and its id, as more may be at one time.
The store keeps both, so a session that leaves memory and returns has its place again."""

TOKEN_CHARACTERS_MAX: Final = 64 + 2 * SESSION_ID_BYTES_MAX


def latest_opened(sessions: Iterable[Session], count: int, *, token: str) -> list[Session]:
    """So many, the latest opened first, of those after a token; an empty one is before all.

    Raises Refusal for what is no token.
    """
    found = list(sessions)
    if token:
        at_s, last_id = _opened_of(token)
        found = [
            one
            for one in found
            if one.opened_s < at_s or (one.opened_s == at_s and one.id < last_id)
        ]
    if len(found) > count:
        # By their times alone first, a third of the work: the event loop has agents to serve.
        least_s = sorted(one.opened_s for one in found)[-count]
        found = [one for one in found if one.opened_s >= least_s]
    return sorted(found, key=_opened, reverse=True)[:count]


def token_after(session: Session) -> str:
    """What a page goes on from that follows this session. Letters, digits, `-` and `_`, as it
    stands in the query of an address."""
    opened_s, session_id = _opened(session)
    return urlsafe_b64encode(f"{opened_s!r} {session_id}".encode()).decode().rstrip("=")


def not_a_token() -> Refusal:
    """The refusal of a text that no page gave."""
    return Refusal(Reason.REQUEST_INVALID, "not a token of an earlier page", field="page_token")


def _opened(session: Session) -> Opened:
    return session.opened_s, session.id


def _opened_of(token: str) -> Opened:
    try:
        if len(token) > TOKEN_CHARACTERS_MAX:
            raise ValueError
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        opened, blank, session_id = urlsafe_b64decode(padded).decode().partition(" ")
        opened_s = float(opened)
    except (ValueError, binascii.Error):
        raise not_a_token() from None
    if not blank or not math.isfinite(opened_s):
        raise not_a_token()
    return opened_s, session_id
