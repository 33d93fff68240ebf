"""The JSON object in what a model wrote, where it was to write nothing else."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

CHARACTERS_MAX: Final = 64 * 1024
"""Read of a reply: more than any model was allowed to write."""

TRIES_MAX: Final = 64
"""Braces at which an object is looked for, so that no text takes long."""

_DECODER: Final = json.JSONDecoder(strict=False)
"""Models break lines within strings."""


def only_object(text: str, key: str = "") -> Mapping[str, Any] | None:
    """The one JSON object in a text, in a code fence or among words too; its keys in lower case.

    With `key`, others than those that have it are passed over. Where there are several that differ,
    none: nobody knows which of them is meant. An object inside another one is a part of it.
    """
    found = [each for each, _ in objects(text) if not key or key in each]
    if found and all(each == found[0] for each in found):
        return found[0]
    return None


def objects(text: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The JSON objects in a text, as far as it is read, each with how it is written there; keys in
    lower case. Those inside another one are left out."""
    text = text[:CHARACTERS_MAX]
    at = text.find("{")
    for _ in range(TRIES_MAX):
        if at < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield {name.lower(): each for name, each in value.items()}, text[at:end]
        at = text.find("{", end)
