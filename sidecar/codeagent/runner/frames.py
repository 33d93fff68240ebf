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
"""A file of the largest size in base64, and what stands around it."""
WORDS_BYTES_MAX: Final = 256 * 1024
"""What stands around it: an answer or an error of the largest size, in JSON, and names."""
ARGUMENTS_BYTES_MAX: Final = 16 * 1024
"""Of a tool's arguments in JSON. They are kept, and objects of Python take 30 times that."""
CONTENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of a file that a tool reads."""
TEXT_CHARS_MAX: Final = 20_000
"""Of an error, or of an answer."""

_LENGTH = struct.Struct(">I")


class Hello(msgspec.Struct, frozen=True, tag="hello", tag_field="type"):
    """The interpreter is up, and says what contains it."""

    namespaces: dict[str, str]
    """The id of each, by its name under /proc/self/ns."""
    filtered: bool = False
    """Whether what namespaces do not part is closed."""
    first_closed: bool = False
    """Whether it cannot trace the first process of its pid namespace."""


class Called(msgspec.Struct, frozen=True, tag="call", tag_field="type"):
    """A tool is called."""

    id: int
    name: str
    arguments: msgspec.Raw
    """An object in JSON, or not: see `arguments_of`."""
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


class _Around(msgspec.Struct, frozen=True):
    content: msgspec.Raw = msgspec.Raw(b"")


_DECODER: Final = msgspec.json.Decoder(Hello | Called | Answered | Done)
_AROUND: Final = msgspec.json.Decoder(_Around)
_ARGUMENTS: Final = msgspec.json.Decoder(dict[str, Any])


class ChannelBrokenError(Exception):
    """The interpreter is gone, or sends what is no frame."""


async def hear(reader: asyncio.StreamReader) -> Heard:
    """The next frame. Raises ChannelBrokenError."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > FRAME_BYTES_MAX:
            raise ChannelBrokenError(f"a frame of {length} bytes")
        frame = await reader.readexactly(length)
        # Before it becomes objects, which take far more memory than their JSON.
        if length - len(bytes(_AROUND.decode(frame).content)) > WORDS_BYTES_MAX:
            raise ChannelBrokenError(f"a frame of {length} bytes")
        heard: Heard = _DECODER.decode(frame)
    except (asyncio.IncompleteReadError, OSError) as error:
        raise ChannelBrokenError("closed") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ChannelBrokenError("no frame of the channel") from error
    return heard


def arguments_of(called: Called) -> Mapping[str, Any]:
    """The arguments of a call. Raises ValueError with what is wrong with them."""
    raw = bytes(called.arguments)
    if len(raw) > ARGUMENTS_BYTES_MAX:
        raise ValueError(f"arguments of {len(raw):,} bytes; there may be {ARGUMENTS_BYTES_MAX:,}")
    try:
        return _ARGUMENTS.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("the arguments are no JSON object") from error


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
        "arguments_bytes_max": ARGUMENTS_BYTES_MAX,
    }
