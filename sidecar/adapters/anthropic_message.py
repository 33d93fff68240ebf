"""What stands in a message of the Messages API, read with the distrust that any server deserves.

The SDK builds a message of whatever JSON came; other servers of this API leave fields out.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from sidecar.core.answers.messages import sendable
from sidecar.ports import Cited, Tool

if TYPE_CHECKING:
    from anthropic.types import Message

COUNT_MAX: Final = 100_000_000
"""As large as a window can be configured (`model_window_tokens`): no call takes more."""


def text_of(message: "Message") -> str:
    """What it says, as it can be sent on. Blocks that follow one another are pieces of one text;
    something else between them ends a line."""
    runs = groupby(message.content, key=lambda block: block.type)
    texts = (
        "".join(str(getattr(block, "text", "")) for block in run)
        for kind, run in runs
        if kind == "text"
    )
    return str(sendable("\n".join(texts)))


def inputs_of(message: "Message", tool: Tool | None) -> Iterator[Mapping[str, Any]]:
    """The inputs of the calls of the tool asked for; calls of others were asked for by nobody."""
    for block in message.content:
        if block.type == "tool_use" and tool is not None and block.name == tool.name:
            given: object = block.input
            if isinstance(given, Mapping):
                yield MappingProxyType(sendable(given))


def found_in(message: "Message") -> Iterator[Cited]:
    """The pages that the API's own searches found, each once, with what the text quotes of it."""
    quotes = dict(_quotes(message))
    titles: dict[str, str] = {}
    for result in _search_results(message):
        for page in result if isinstance(result, list) else ():
            url, title = getattr(page, "url", None), getattr(page, "title", None)
            if isinstance(url, str):
                titles.setdefault(url, title if isinstance(title, str) else "")
    for url, title in titles.items():
        text = quotes.get(url, "")
        yield Cited(url=sendable(url), title=sendable(title), text=sendable(text))


def _quotes(message: "Message") -> Iterator[tuple[str, str]]:
    """Addresses of pages, and what the text quotes of each."""
    for block in message.content:
        quotes: object = getattr(block, "citations", None)
        for quote in quotes if isinstance(quotes, list) else ():
            url, text = getattr(quote, "url", None), getattr(quote, "cited_text", None)
            if isinstance(url, str) and isinstance(text, str):
                yield url, text


def searches_of(message: "Message") -> int:
    """How often the API searched by itself."""
    return count_in(getattr(message.usage, "server_tool_use", None), "web_search_requests") or 0


def count_in(usage: object, field: str) -> int | None:
    """A count; None where another server of this API leaves it out, or writes what can be none."""
    count: object = getattr(usage, field, None)
    return count if type(count) is int and 0 <= count <= COUNT_MAX else None


def search_errors(message: "Message") -> Iterator[str]:
    for result in _search_results(message):
        if not isinstance(result, list):
            yield str(getattr(result, "error_code", "") or "unknown")


def _search_results(message: "Message") -> Iterator[object]:
    """Of each search a list of pages, or an error."""
    for block in message.content:
        if block.type == "web_search_tool_result":
            yield getattr(block, "content", None)


def is_message(message: object) -> bool:
    """Whether it has what a reply is made of: the SDK builds a message from whatever JSON came."""
    content = getattr(message, "content", None)
    return isinstance(content, list) and all(map(_is_block, content))


def name_of(message: "Message", field: str) -> str:
    """A name that other servers of this API leave out."""
    name: object = getattr(message, field, None)
    return name if isinstance(name, str) else ""


def _is_block(block: object) -> bool:
    kind: object = getattr(block, "type", None)
    if not isinstance(kind, str):
        return False
    needed = {"text": "text", "tool_use": "name"}.get(kind)
    return not needed or isinstance(getattr(block, needed, None), str)
