"""What the records of several formats have in common."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeVar

import msgspec

from sidecar.datasets.moves import Broken, Finding, Record
from sidecar.v1 import run_pb2

T = TypeVar("T")

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Of tokens; no source counts further than a double does."""

_SLUG: Final = re.compile(r"[^A-Za-z0-9.]+")


class Part(msgspec.Struct, frozen=True):
    """One part of a message's content: text, an image, reasoning."""

    type: str = ""
    text: str | None = None


Content = str | list[Part | str] | None
"""Of a message, as chat APIs have it."""


class Function(msgspec.Struct, frozen=True):
    """What a call of a chat API calls."""

    name: str
    arguments: str = "{}"


class FunctionCall(msgspec.Struct, frozen=True):
    """A call, as chat APIs have it."""

    function: Function
    id: str = ""


def words(content: Content) -> str:
    """The text of a content."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = (part if isinstance(part, str) else part.text for part in content)
    return "\n".join(part for part in parts if part)


def each(
    records: Iterable[Record],
    shape: type[T],
    expected: str,
    read: Callable[[T], Iterator[Finding]],
) -> Iterator[Finding]:
    """What `read` makes of each record; a record of another shape is Broken."""
    for record in records:
        try:
            value = msgspec.convert(record.value, shape)
        except msgspec.ValidationError as error:
            yield broken(record, error, expected)
        else:
            yield from read(value)


def broken(record: Record, error: msgspec.ValidationError, expected: str) -> Broken:
    """A record that does not have the shape."""
    return Broken(place=record.place, problem=f"{error}; expected {expected}")


def seconds(moment: datetime | None) -> float | None:
    """Since 1970; a moment without a zone is taken for UTC."""
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def slug(*parts: Any) -> str:
    """The parts as one name of letters, digits, dots and hyphens.

    What is lost of ASCII are signs between words. A part of which words may be lost, or all, ends
    in its digest: two that differ must not come to be one.
    """
    return "-".join(_named(str(part)) for part in parts if str(part))


def ascii_name(text: str) -> str:
    """The words of ASCII in a text, with hyphens between them; may be empty."""
    return _SLUG.sub("-", text).strip("-")


def short_digest(text: str) -> str:
    """48 bits of a text's digest in hex: of a million names, two are alike once in 500 times."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _named(text: str) -> str:
    name = ascii_name(text)
    return name if name and text.isascii() else f"{name}-{short_digest(text)}".lstrip("-")


def outcome(failed: object, *, denied: bool = False) -> run_pb2.Outcome:
    """DENIED, or else ERROR where `failed` holds."""
    if denied:
        return run_pb2.OUTCOME_DENIED
    return run_pb2.OUTCOME_ERROR if failed else run_pb2.OUTCOME_OK


def total(*counts: int | None) -> int | None:
    """Their sum; None where none is known."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
