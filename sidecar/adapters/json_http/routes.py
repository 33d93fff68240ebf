"""Which request is which call, by the rules of google.api.http.

A path names fields of the call's message in braces. The rest of the message is the body of a POST,
and the query of a GET.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, unquote

from google.protobuf.message import Message

from sidecar.adapters.json_http.problem import HttpRefusal
from sidecar.adapters.json_http.reading import Misshapen, message_of, read_into

QUERY_FIELDS_MAX: Final = 100
_FIELD: Final = re.compile(r"\{([a-z_.]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One call."""

    method: Literal["GET", "POST"]
    path: str
    """As `/v1/sessions/{session_id}:reset`."""
    rpc: str
    """The same call over gRPC, as `SessionService.ResetSession`."""
    request: type[Message]
    response: type[Message]
    call: Callable[[Any], Awaitable[Message]]
    """Raises Refusal."""
    ends_with_caller: bool = False
    """Whether it is given up when its caller hangs up: it costs money."""

    def request_of(self, values: Sequence[str], query: bytes, body: bytes) -> Message:
        """The message that a request stands for; `values` are those of the path. Raises Refusal."""
        message = self.request()
        if self.method == "POST":
            message_of(body, message)
        else:
            read_into(message, _query(message, query))
        for path, value in zip(_FIELD.findall(self.path), values, strict=True):
            _set(message, path, value)
        return message


class Routes:
    """All calls of a listener."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.all = tuple(routes)
        self._patterns = [(_pattern(route.path), route) for route in self.all]

    def find(self, method: str, path: bytes) -> tuple[Route, Sequence[str]] | None:
        """The route of a request, and the values in its path; None: there is nothing.

        `path` is as it was sent. Raises HttpRefusal where it is there, but not for this method.
        Where nothing is to be read, a path is not there for GET.
        """
        wanted = "GET" if method == "HEAD" else method
        others: set[str] = set()
        for pattern, route in self._patterns:
            match = pattern.fullmatch(path)
            if match is None:
                continue
            if route.method == wanted:
                return route, [_decoded(value) for value in match.groups()]
            others.add(route.method)
        if others and wanted != "GET":
            raise not_allowed(others)
        return None


def not_allowed(methods: Iterable[str]) -> HttpRefusal:
    """The refusal of any other method than these."""
    allowed = ", ".join(sorted({*methods, *({"HEAD"} if "GET" in methods else ())}))
    return HttpRefusal(
        HTTPStatus.METHOD_NOT_ALLOWED, f"use {allowed} here", headers={"Allow": allowed}
    )


def _pattern(path: str) -> "re.Pattern[bytes]":
    parts = _FIELD.split(path)
    literal = [re.escape(part) for part in parts[::2]]
    return re.compile("([^/]+)".join(literal).encode())


def _decoded(value: bytes) -> str:
    try:
        return unquote(value.decode("ascii"), errors="strict")
    except UnicodeDecodeError:
        raise HttpRefusal(HTTPStatus.BAD_REQUEST, "a path is UTF-8, percent-encoded") from None


def _query(message: Message, query: bytes) -> dict[str, Any]:
    """The query as the JSON of a flat message: the strings, and lists of them."""
    try:
        text = query.decode("ascii")
        pairs = parse_qsl(text, errors="strict", max_num_fields=QUERY_FIELDS_MAX)
    except ValueError:
        raise HttpRefusal(
            HTTPStatus.BAD_REQUEST,
            f"a query is UTF-8, percent-encoded, of at most {QUERY_FIELDS_MAX} fields",
        ) from None
    found: dict[str, Any] = {}
    fields = message.DESCRIPTOR.fields_by_name
    for name, value in pairs:
        field = fields.get(name)
        if field is None:
            continue
        if field.is_repeated:
            found.setdefault(name, []).append(value)
        elif found.setdefault(name, value) != value:
            raise Misshapen(name, "given once")
    for name, given in found.items():
        if (kind := fields[name].enum_type) is not None:
            known = {value.name for value in kind.values if value.number}
            _require_known(name, given if type(given) is list else [given], known)
    return found


def _require_known(name: str, given: Sequence[str], known: AbstractSet[str]) -> None:
    """Refuse a filter of which nothing would be left, and so everything be shown."""
    if known.isdisjoint(given):
        raise Misshapen(name, f"one of {', '.join(sorted(known))}")


def _set(message: Message, path: str, value: str) -> None:
    *parents, name = path.split(".")
    holder: Any = message
    for parent in parents:
        holder = getattr(holder, parent)
    if getattr(holder, name) not in ("", value):
        raise Misshapen(path, "that of the path, or left out")
    setattr(holder, name, value)
