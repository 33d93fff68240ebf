"""What the Messages API refuses: the rules that a client could break without noticing."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

CALL: Final = "tool_use"
RESULT: Final = "tool_result"


def fault_of(body: Mapping[str, Any]) -> str:
    """Why the API would answer a request with 400; empty: it would not."""
    return next(_faults(body), "")


def _faults(body: Mapping[str, Any]) -> Iterator[str]:
    messages = body.get("messages")
    if not isinstance(body.get("model"), str):
        yield "model: Field required"
    tokens_max = body.get("max_tokens")
    if not isinstance(tokens_max, int) or tokens_max < 1:
        yield "max_tokens: must be greater than or equal to 1"
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    yield from _fault_of_roles([message.get("role") for message in messages])
    blocks = [_blocks(message) for message in messages]
    for index, (message, content) in enumerate(zip(messages, blocks, strict=True)):
        if not content:
            yield f"messages.{index}: must have non-empty content"
        if any(block.get("type") == "text" and not block.get("text") for block in content):
            yield f"messages.{index}: text content blocks must be non-empty"
        if message.get("role") == "user":
            yield from _fault_of_results(index, content, blocks[index - 1] if index else [])
    yield from _fault_of_calls(blocks)
    has_tool_blocks = any(_of_kind(content, CALL, RESULT) for content in blocks)
    if has_tool_blocks and not body.get("tools"):
        yield "Requests which include tool blocks must define tools"


def _fault_of_roles(roles: Sequence[object]) -> Iterator[str]:
    if roles[0] != "user":
        yield "messages: first message must use the user role"
    for index, (before, role) in enumerate(pairwise(roles), start=1):
        if before == role:
            yield f"messages.{index}: roles must alternate between user and assistant"
    if roles[-1] != "user":
        yield "messages: the conversation must end with a user message"


def _fault_of_results(
    index: int, content: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    called = {block.get("id") for block in _of_kind(before, CALL)}
    for block in _of_kind(content, RESULT):
        if block.get("tool_use_id") not in called:
            yield f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks"


def _fault_of_calls(blocks: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    for index, content in enumerate(blocks):
        after = blocks[index + 1] if index + 1 < len(blocks) else []
        answered = {block.get("tool_use_id") for block in _of_kind(after, RESULT)}
        for block in _of_kind(content, CALL):
            if block.get("id") not in answered:
                yield f"messages.{index}: `tool_use` ids were found without `tool_result` blocks"


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    return list(content) if isinstance(content, list) else []


def _of_kind(content: Sequence[Mapping[str, Any]], *kinds: str) -> list[Mapping[str, Any]]:
    return [block for block in content if block.get("type") in kinds]
