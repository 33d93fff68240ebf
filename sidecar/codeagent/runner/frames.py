"""What goes over the channel between a run and its interpreter.

What comes from the interpreter may have been written by the code of a step: it is checked against
these types, bounded in length, and never more than one step's own words.
"""

import asyncio
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

FRAME_BYTES_MAX: Final = 24 * 1024 * 1024
"""A file of the largest size in base64, and its envelope."""
CONTENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of a file that a tool reads."""
TEXT_CHARS_MAX: Final = 20_000
"""Of an error, or of an answer."""

_LENGTH = struct.Struct(">I")


class Hello(msgspec.Struct, frozen=True, tag="hello", tag_field="type"):
    """The interpreter is up, and says what contains it."""

    namespaces: dict[str, str]
    """The id of each, by its name under /proc/self/ns."""


class Called(msgspec.Struct, frozen=True, tag="call", tag_field="type"):
    """A tool is called."""

    id: int
    name: str
    arguments: dict[str, Any]
    content: bytes | None = None


class Answered(msgspec.Struct, frozen=True, tag="answer", tag_field="type"):
    """The run's answer."""

    text: str


class Done(msgspec.Struct, frozen=True, tag="done", tag_field="type"):
    """A step has ended."""

    number: int
    error: str | None
    names: list[str]
    """Variables that exist after it."""


Heard: TypeAlias = Hello | Called | Answered | Done

_DECODER: Final = msgspec.json.Decoder(Hello | Called | Answered | Done)


class ChannelBrokenError(Exception):
    """The interpreter is gone, or sends what is no frame."""


async def hear(reader: asyncio.StreamReader) -> Heard:
    """The next frame. Raises ChannelBrokenError."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > FRAME_BYTES_MAX:
            raise ChannelBrokenError(f"a frame of {length} bytes")
        heard: Heard = _DECODER.decode(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, OSError) as error:
        raise ChannelBrokenError("closed") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ChannelBrokenError("no frame of the channel") from error
    return heard


async def say(writer: asyncio.StreamWriter, frame: Mapping[str, object]) -> None:
    """Send a frame. Raises ChannelBrokenError."""
    # Not by msgspec, which refuses half characters; a file that was read may have some.
    raw = json.dumps(frame).encode()
    try:
        writer.write(_LENGTH.pack(len(raw)) + raw)
        await writer.drain()
    except OSError as error:
        raise ChannelBrokenError("closed") from error


def opening(
    directory: str, tools: Sequence[Mapping[str, object]], values: Mapping[str, object]
) -> Mapping[str, object]:
    """The first frame: where steps run, and what is defined for them."""
    return {
        "type": "opening",
        "directory": directory,
        "tools": tools,
        "values": values,
        "content_bytes_max": CONTENT_BYTES_MAX,
    }
