"""What a model is to reply in a test: one script for FakeModel and for FakeAnthropicServer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from sidecar.ports import Cited

Asked = TypeVar("Asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call in a reply."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search of the web that the API made by itself."""

    query: str = ""
    found: Sequence[Cited] = ()
    """`text` is what the reply's own text quotes of the page."""
    error: str = ""
    """As the Messages API has it, `unavailable`; empty: it did not fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A reply."""

    text: str = ""
    calls: Sequence[Call] = ()
    searches: Sequence[Search] = ()
    stop_reason: str = ""
    """As the Messages API has it; empty: `tool_use` where there are calls, else `end_turn`."""
    input_tokens: int = 10
    """Not from a cache, as the API counts."""
    output_tokens: int = 5
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    delay_s: float = 0.0
    """Before it is sent. FakeModel does not wait: it fails where this is above the time allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """An HTTP error."""

    status: int
    message: str = "scripted"
    retry_after_s: float | None = None
    """Asks the client to wait so long before it tries again; below 0: not to try again."""
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A reply of bytes that may be no message."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class HangUp:
    """The connection is closed without a reply."""


Step: TypeAlias = Say | Fail | Raw | HangUp


class ScriptOver(Exception):  # noqa: N818 - says what is the case
    """There was one request more than the script has replies."""


class Script(Generic[Asked]):
    """Replies in their order, or a function that makes one of each request."""

    def __init__(self, steps: Iterable[Step] | Callable[[Asked], Step]) -> None:
        """Begin at the first."""
        self._make = steps if callable(steps) else None
        self._left = iter(()) if callable(steps) else iter(steps)

    def next(self, asked: Asked) -> Step:
        """The reply to a request. Raises ScriptOver."""
        step = self._make(asked) if self._make is not None else next(self._left, None)
        if step is None:
            raise ScriptOver
        return step
