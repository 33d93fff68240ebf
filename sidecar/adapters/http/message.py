"""What a page is asked, and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A GET or HEAD, without a body."""

    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case; of a repeated header the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What is sent back; of a HEAD all but the body."""

    status: HTTPStatus = HTTPStatus.OK
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/plain; charset=utf-8"),)


Page: TypeAlias = Callable[[Request], Response]
"""Called from a thread of the listener's, several at a time."""
