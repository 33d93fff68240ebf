"""Which request is which call, by the rules of google.api.http.

A path names fields of the call's message in braces. The rest of the message is the body of a POST,
and the query of a GET.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, unquote

from google.protobuf.message import Message

from sidecar.adapters.json_http.misshapen import Misshapen
from sidecar.adapters.json_http.problem import HttpRefusal
from sidecar.adapters.json_http.reading import fields_of, message_of, read_into

QUERY_FIELDS_MAX: Final = 100
_FIELD: Final = re.compile(r"\{([a-z_.]+)\}")
_NO_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")


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
    """Whether it is given up when its caller hangs up, or may have: it costs money."""
    needs_one_of: tuple[str, ...] = ()
    """Fields of which a body must have one: what a body without them does was hardly meant."""

    def request_of(self, values: Sequence[str], query: bytes, body: bytes) -> Message:
        """The message that a request stands for; `values` are those of the path. Raises Refusal."""
        message = self.request()
        if self.method == "POST":
            message_of(body, message)
            self._require_one(message)
        else:
            read_into(message, _query(message, query))
        for path, value in zip(_FIELD.findall(self.path), values, strict=True):
            _set(message, path, value)
        return message

    def _require_one(self, message: Message) -> None:
        names = self.needs_one_of
        if names and not any(map(message.HasField, names)):
            raise Misshapen("", f"an object with at least one of {', '.join(names)}")


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
        HTTPStatus.METHOD_NOT_ALLOWED,
        f"use {allowed} here; /openapi.json lists all",
        headers={"Allow": allowed},
    )


def _pattern(path: str) -> "re.Pattern[bytes]":
    parts = _FIELD.split(path)
    # Some callers encode an id together with the verb behind it.
    literal = [re.escape(part).replace(":", "(?::|%3[Aa])") for part in parts[::2]]
    return re.compile("([^/]+)".join(literal).encode())


def _decoded(value: bytes) -> str:
    try:
        if _NO_ESCAPE.search(value):
            raise ValueError  # which `unquote` leaves as it is: another name than was meant
        return unquote(value.decode("ascii"), errors="strict")
    except ValueError:
        raise HttpRefusal(HTTPStatus.BAD_REQUEST, "a path is UTF-8, percent-encoded") from None


def _query(message: Message, query: bytes) -> dict[str, Any]:
    """The query as the JSON of a flat message: the strings, and lists of them.

    Names are as in a body; behind that of a list there may be brackets, as PHP and axios write
    them.
    """
    try:
        text = query.decode("ascii")
        pairs = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=QUERY_FIELDS_MAX
        )
    except ValueError:
        raise HttpRefusal(
            HTTPStatus.BAD_REQUEST,
            f"a query is UTF-8, percent-encoded, of at most {QUERY_FIELDS_MAX} fields",
        ) from None
    found: dict[str, Any] = {}
    fields = fields_of(message.DESCRIPTOR)
    for given_name, value in pairs:
        field = fields.get(given_name.partition("[")[0])
        if field is None:
            continue
        name = field.name
        if field.is_repeated:
            found.setdefault(name, []).append(value)
        elif found.setdefault(name, value) != value:
            raise Misshapen(name, "given once")
    for name, given in found.items():
        if (kind := fields[name].enum_type) is not None:
            known = {value.name: str(value.number) for value in kind.values if value.number}
            _require_known(name, given if type(given) is list else [given], known)
    return found


def _require_known(name: str, given: Sequence[str], known: Mapping[str, str]) -> None:
    """Refuse a filter of which nothing would be left, and so everything be shown."""
    if {*known, *known.values()}.isdisjoint(given):
        raise Misshapen(name, f"one of {', '.join(sorted(known))}")


def _set(message: Message, path: str, value: str) -> None:
    *parents, name = path.split(".")
    holder: Any = message
    for parent in parents:
        holder = getattr(holder, parent)
    if getattr(holder, name) not in ("", value):
        raise Misshapen(path, "that of the path, or left out")
    setattr(holder, name, value)
