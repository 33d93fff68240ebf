"""A history made short enough for a model that is to answer now, and acceptable to its API.

Each message becomes text: a tool call the line that says what was called, a result its beginning
and end. So no call is without its result for the API, and none needs a list of tools. What is kept
is decided by lengths alone: all of it where it fits; else less of each call and result; and where
that does not fit either, the first user message, which has the question, and of the rest the latest
exchanges (what the assistant said, and what came back) that do.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby, takewhile
from typing import Any, Final

from sidecar.core.answers.messages import MAPPINGS, plain, sendable
from sidecar.core.value import value

USER: Final = "user"
ASSISTANT: Final = "assistant"

TOOL_BYTES: Final = (2_000, 8_000, 32_000)
"""Kept of the arguments of each call and of each result, of the beginning and the end, where a
history does not fit: the last of these with which it does, else the first. That is a paragraph or
two, a page, and some pages; with less most results say nothing any more."""

SHARE_BYTES_MIN: Final = 150
"""Of a message in an exchange that does not fit: less would be little more than the note of the
cut, of up to 40."""

ROOM_MIN: Final = 1_000
"""Bytes of the history that are sent however small the window is."""

JOINTS_BYTES: Final = 200
"""For the notes of what is left out, and for what stands between messages."""

JOINT: Final = "\n\n"
"""Between messages that become one."""

UNKNOWN_QUESTION: Final = "(The conversation began before what is shown here.)"

SILENT: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Blocks that say nothing to anybody but the model that wrote them."""

IMAGES: Final = frozenset({"image", "image_url", "input_image", "document", "file", "input_file"})


CALLS: Final = ("tool_use", "_call")
"""How the types of blocks and items end by which a tool is called: `server_tool_use`,
`function_call`, `custom_tool_call`, `web_search_call`."""

RESULTS: Final = ("_result", "_call_output")
"""The same of what came of it: `tool_result`, `web_search_tool_result`, `function_call_output`."""

NO_RESULT: Final = "[no result]"

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, default=lambda _: None)


@value
class Said:
    """One message, as text."""

    role: str
    """user or assistant."""
    text: str
    """Never blank."""


def condensed(messages: Sequence[object], *, bytes_max: int, closing: str) -> list[Said]:
    """The history in at most `bytes_max` bytes of UTF-8, with `closing` as the user's last words.

    A message is a mapping, of the Messages, the Chat Completions or the Responses API, or such an
    object of their SDKs. Begins with the user, and roles alternate. Whatever is no message is
    passed over; so is a blank one. `closing` counts, and is never cut, nor is the rest below
    ROOM_MIN.
    """
    messages = [plain(each) for each in messages]
    room = max(ROOM_MIN, bytes_max - _size(closing) - JOINTS_BYTES)
    kept: list[Said] = []
    # What is longer than the room does not fit, so that the last of these cuts nothing.
    for tool_bytes in (*TOOL_BYTES, room):
        whole = _whole(messages, room, tool_bytes)
        if whole is None:
            break
        kept = whole
    kept = kept or _reduced(messages, room)
    return list(_merged([*kept, Said(role=USER, text=closing)]))


def clipped(text: str, bytes_max: int) -> str:
    """A text's beginning and end, three parts to one, with a note of what is missing between."""
    if text.isascii() and len(text) <= bytes_max:
        return text
    raw = text.encode("utf-8", "replace")
    if len(raw) <= bytes_max:
        return raw.decode()
    note = f"\n[... {len(raw) - bytes_max} bytes left out ...]\n"
    room = max(0, bytes_max - len(note))
    last = room // 4
    first = raw[: room - last].decode("utf-8", "ignore")
    return first + note + raw[len(raw) - last :].decode("utf-8", "ignore")


def _whole(messages: Sequence[object], room: int, tool_bytes: int) -> list[Said] | None:
    """All that was said, with so much of each call and result; None: it does not fit."""
    kept: list[Said] = []
    for said in _said(messages, tool_bytes):
        room -= _size(said.text) + len(JOINT)
        if room < 0:
            return None
        kept.append(said)
    if not kept or kept[0].role != USER:
        kept.insert(0, Said(role=USER, text=UNKNOWN_QUESTION))
    return kept


def _reduced(messages: Sequence[object], room: int) -> list[Said]:
    """The question and the latest exchanges."""
    front = takewhile(lambda each: each.role == USER, _said(messages, TOOL_BYTES[0]))
    first = JOINT.join(each.text for each in front) or UNKNOWN_QUESTION
    head = clipped(first, room // 2)
    kept, left_out = _latest(messages, room - _size(head))
    return [Said(role=USER, text=head), *_note(left_out), *kept]


def _note(left_out: int) -> list[Said]:
    """That so many messages are missing; nothing where none are."""
    text = f"[{left_out} messages of this conversation are left out here]"
    return [Said(role=USER, text=text)] if left_out else []


def _latest(messages: Sequence[object], room: int) -> tuple[list[Said], int]:
    """The last exchanges that fit together, and how many messages with something in them come
    before those and after the first assistant's; the very last exchange is clipped, if it must be.

    Looked for from the end, so that what is left out need not be read.
    """
    kept: list[Said] = []
    for exchange, before in _exchanges_backwards(messages):
        size = sum(_size(each.text) + len(JOINT) for each in exchange)
        if size > room:
            if kept:
                return kept, before + len(exchange)
            return _shares(exchange, room), before
        kept[:0] = exchange
        room -= size
    return kept, 0


def _shares(exchange: Sequence[Said], room: int) -> list[Said]:
    """Its messages cut to equal shares of the room; where those would be too small, the first one,
    which has the calls, and the last ones."""
    share = max(SHARE_BYTES_MIN, room // len(exchange)) - len(JOINT)
    called, *came = [Said(role=each.role, text=clipped(each.text, share)) for each in exchange]
    room -= _size(called.text) + len(JOINT)
    sizes = accumulate(_size(each.text) + len(JOINT) for each in reversed(came))
    left_out = len(came) - sum(1 for _ in takewhile(lambda size: size <= room, sizes))
    return [called, *_note(left_out), *came[left_out:]]


def _exchanges_backwards(messages: Sequence[object]) -> Iterator[tuple[list[Said], int]]:
    """What the assistant said and what came back, the latest first, each with how many messages
    stand between it and the assistant's first."""
    began = next((at for at, each in enumerate(messages) if _is_assistant(each)), len(messages))
    exchange: list[Said] = []
    for at in range(len(messages) - 1, began - 1, -1):
        if (said := _one(messages[at], TOOL_BYTES[0])) is not None:
            exchange.insert(0, said)
            if said.role == ASSISTANT:
                yield exchange, at - began
                exchange = []


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _merged(said: Iterator[Said] | Sequence[Said]) -> Iterator[Said]:
    """Roles that alternate: what one says twice in a row is one message."""
    for role, run in groupby(said, key=lambda each: each.role):
        yield Said(role=role, text=JOINT.join(each.text for each in run))


def _said(messages: Sequence[object], tool_bytes: int) -> Iterator[Said]:
    return filter(None, (_one(each, tool_bytes) for each in messages))


def _one(message: object, tool_bytes: int) -> Said | None:
    """A message as text, so much of each call and result; None: it says nothing, or is none."""
    if not isinstance(message, MAPPINGS):
        return None
    text = sendable("\n".join(filter(None, _texts(message, tool_bytes))))
    role = ASSISTANT if _is_assistant(message) else USER
    return Said(role=role, text=text) if text and not text.isspace() else None


def _is_assistant(message: object) -> bool:
    if not isinstance(message, MAPPINGS):
        return False
    if _is_item(message):
        return str(message.get("type")).endswith(CALLS)
    return message.get("role") == ASSISTANT


def _is_item(message: Mapping[str, Any]) -> bool:
    """Whether it is one of the Responses API's, whose calls and results stand beside messages."""
    return "role" not in message and "type" in message


def _texts(message: Mapping[str, Any], tool_bytes: int) -> Iterator[str]:
    """What a message says, piece by piece."""
    content = message.get("content")
    if _is_item(message):
        yield _block(message, tool_bytes)
        return
    if message.get("role") in ("tool", "function"):
        yield _result(content, tool_bytes) or NO_RESULT
        return
    yield from _content(content, tool_bytes)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        if isinstance(call, MAPPINGS):
            yield _called(call.get("function") or call.get("custom"), tool_bytes)
    yield _called(message.get("function_call"), tool_bytes)


def _called(function: object, tool_bytes: int) -> str:
    """A call as Chat Completions has it."""
    if not isinstance(function, MAPPINGS):
        return ""
    arguments = function.get("arguments", function.get("input"))
    return _call(function.get("name"), arguments, tool_bytes)


def _content(content: object, tool_bytes: int) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        for block in content:
            yield block if isinstance(block, str) else _block(plain(block), tool_bytes)


def _block(block: object, tool_bytes: int) -> str:
    """One content block; what is not known is named, since its absence would mislead."""
    if not isinstance(block, MAPPINGS):
        return ""
    kind, text = str(block.get("type") or ""), block.get("text")
    match kind:
        case _ if kind in SILENT:
            return ""
        case _ if isinstance(text, str):
            return text
        case _ if kind.endswith(CALLS):
            arguments = block.get("input", block.get("arguments"))
            return _call(block.get("name", kind), arguments, tool_bytes)
        case _ if kind.endswith(RESULTS):
            return _result(block.get("content", block.get("output")), tool_bytes) or _page(block)
        case _ if kind in IMAGES:
            return _document(block.get("source"), tool_bytes) or "[an image or document]"
    return f"[{kind[:50]}]" if kind else ""


def _document(source: object, tool_bytes: int) -> str:
    """What a document says that is sent as text."""
    data = source.get("data") if isinstance(source, MAPPINGS) else None
    is_text = isinstance(source, MAPPINGS) and source.get("type") == "text"
    return _result(data, tool_bytes) if is_text and isinstance(data, str) else ""


def _page(block: Mapping[str, Any]) -> str:
    """What a search says of a page that it found."""
    said = [each for each in (block.get("title"), block.get("url")) if isinstance(each, str)]
    return " ".join(said) or NO_RESULT


def _call(name: object, arguments: object, tool_bytes: int) -> str:
    given = arguments if isinstance(arguments, str) else _json(arguments)
    return f"[called {str(name)[:100]} with {clipped(given, tool_bytes)}]"


def _result(content: object, tool_bytes: int) -> str:
    """What a tool said; empty: nothing."""
    text = "\n".join(filter(None, _content(content, tool_bytes)))
    return f"[result: {clipped(text, tool_bytes)}]" if text else ""


def _json(arguments: object) -> str:
    try:
        return _ENCODER.encode(arguments)
    except (ValueError, TypeError, RecursionError):
        return "(arguments that are no JSON)"
