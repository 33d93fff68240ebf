"""Messages as agents have them: of JSON, or the objects of a vendor's SDK."""

from collections.abc import Mapping
from typing import Any, Final

MAPPINGS: Final = (dict, Mapping)
"""What a message and its blocks are; dict first, since to ask an abstract class takes longer."""
_SAYS_ITSELF: Final = (str, *MAPPINGS)


def plain(given: object) -> object:
    """A message or one of its blocks as a mapping, where it is an object that says itself as one.

    The SDKs of Anthropic and OpenAI hand out pydantic models, and agents put them into their
    history as they come. Whatever else is given comes back as it is. Raises nothing.
    """
    if isinstance(given, _SAYS_ITSELF):
        return given
    dump = getattr(given, "model_dump", None)
    if not callable(dump) or isinstance(given, type):
        return given
    try:
        return dump()
    except Exception:  # noqa: BLE001  # anybody's code
        return given


def sendable(given: Any) -> Any:
    """A text, or the texts in a value of JSON, without lone surrogates: JSON can carry them, and
    neither protobuf nor HTTP can."""
    match given:
        case str():
            return given if given.isascii() else given.encode("utf-8", "replace").decode()
        case Mapping():
            return {sendable(name): sendable(value) for name, value in given.items()}
        case list() | tuple():
            return [sendable(value) for value in given]
    return given
