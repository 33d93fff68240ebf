"""Texts as they leave: short, and always valid UTF-8."""

from typing import Final

IDENTIFIER_BYTES_MAX: Final = 128

EVIDENCE_BYTES_MAX: Final = 512
"""A reading's sentence names tools, whose names are the agent's."""


def cut(text: str, bytes_max: int = IDENTIFIER_BYTES_MAX) -> str:
    """At most `bytes_max` bytes of UTF-8, no character halved.

    A lone surrogate, which JSON can carry and neither protobuf nor Prometheus can, becomes `?`.
    """
    if text.isascii() and len(text) <= bytes_max:
        return text
    return text.encode("utf-8", "replace")[:bytes_max].decode("utf-8", "ignore")
