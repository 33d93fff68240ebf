"""What the SDK takes for another thing than its sender does, and how that is refused."""

import json
from typing import Final

import mcp_types as types

NO_REQUEST: Final = "this is no request of JSON-RPC 2.0"


def has_odd_id(message: types.JSONRPCMessage, text: str | bytes) -> bool:
    """Whether it is a request to its host, and a notification to the SDK, which would answer
    nothing: its id is neither a text nor a whole number. `text` is what the SDK read it from."""
    return isinstance(message, types.JSONRPCNotification) and "id" in json.loads(text)


def no_request(*, asked: types.RequestId | None, words: str = NO_REQUEST) -> types.JSONRPCError:
    """The answer to it; `asked` is its id, where it has one that can be said."""
    error = types.ErrorData(code=types.INVALID_REQUEST, message=words)
    return types.JSONRPCError(jsonrpc="2.0", id=asked, error=error)


def refusal_of(text: str | bytes) -> types.JSONRPCError | None:
    """The answer to what the SDK could not read; None: to what it is, none is due."""
    asked: types.RequestId | None = None
    words = "expected one JSON-RPC 2.0 message; an array of them (a batch) is none in MCP"
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        error = types.ErrorData(code=types.PARSE_ERROR, message="this is not JSON")
        return types.JSONRPCError(jsonrpc="2.0", id=None, error=error)
    if isinstance(said, dict):
        if "method" in said and "id" not in said:
            return None  # a notification
        if "method" not in said and said.keys() & {"result", "error"}:
            return None  # an answer
        if type(said.get("id")) in (int, str):
            asked = said["id"]
        words = NO_REQUEST
    return no_request(asked=asked, words=words)
