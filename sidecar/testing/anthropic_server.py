"""The Messages API on loopback, scripted: for tests that speak through the real SDK."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from sidecar.testing.api_rules import fault_of
from sidecar.testing.fake_model import stop_reason
from sidecar.testing.model_script import (
    Fail,
    HangUp,
    Raw,
    Say,
    Script,
    ScriptOver,
    Search,
    Step,
)

KEY: Final = "sk-scripted"
"""What the server takes for a key; any other is refused, as the API would."""

PATH: Final = "/v1/messages"
CONNECTION_IDLE_S: Final = 30.0

ERROR_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class FakeAnthropicServer:
    """A server of `POST /v1/messages` that replies by a script, without streaming.

    Requests that the API would refuse (no key, roles that do not alternate, a tool result without
    its call, tool blocks without tools, ...) get its 400 or 401 and use up no step. Use it in a
    `with`, and give a client `base_url` and `key`.
    """

    key: Final = KEY

    def __init__(self, steps: Iterable[Step] | Callable[[Mapping[str, Any]], Step]) -> None:
        """Reply by the steps in their order, or by what the function makes of each request's body;
        after the last, with 500s that ask not to be tried again."""
        self._script: Script[Mapping[str, Any]] = Script(steps)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.requests: list[Mapping[str, Any]] = []
        """The bodies of all requests, refused ones included."""
        self.headers: list[Mapping[str, str]] = []
        """The headers of each, by their names in lower case."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def base_url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop; replies that are delayed are not sent."""
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Step:
        """The step for a request."""
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            given = headers.get("x-api-key") or headers.get("authorization", "")
            if given.removeprefix("Bearer ") != KEY:
                return Fail(status=401, message="invalid x-api-key")
            if fault := fault_of(body):
                return Fail(status=400, message=fault)
            try:
                return self._script.next(body)
            except ScriptOver:
                return Fail(status=500, message="the script is over", retry_after_s=-1.0)

    def wait(self, delay_s: float) -> bool:
        """Let time pass; whether the server was closed meanwhile."""
        return self._closing.wait(delay_s) if delay_s > 0 else False

    @property
    def reply_count(self) -> int:
        """Requests so far, for the ids of replies."""
        return len(self.requests)


def _handler(server: FakeAnthropicServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = CONNECTION_IDLE_S
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", "0"))
            body = json.loads(self.rfile.read(length) or b"{}")
            headers = {name.lower(): text for name, text in self.headers.items()}
            if self.path.partition("?")[0] != PATH:
                self._send(Fail(status=404, message=f"no such path: {self.path}"), body)
                return
            self._send(server.answer(body, headers), body)

        def _send(self, step: Step, body: Mapping[str, Any]) -> None:
            match step:
                case HangUp():
                    self.close_connection = True
                case Raw():
                    self._write(step.status, step.body, {"content-type": step.content_type})
                case Say() | Fail():
                    if server.wait(step.delay_s):
                        self.close_connection = True
                    else:
                        self._write(*_written(step, body, server.reply_count))

        def _write(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
            try:
                # In one piece: two would wait for each other's acknowledgement.
                self.wfile.write(_head(status, len(content), headers) + content)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client has given up

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing: a test's own failure says it."""

    return Handler


def _head(status: int, length: int, headers: Mapping[str, str]) -> bytes:
    named = {"content-type": "application/json", **headers}
    lines = [f"HTTP/1.1 {status} Scripted", f"content-length: {length}"]
    lines += [f"{name}: {text}" for name, text in named.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def _written(
    step: Say | Fail, body: Mapping[str, Any], number: int
) -> tuple[int, bytes, dict[str, str]]:
    match step:
        case Say():
            return 200, json.dumps(_message(step, body, number)).encode(), {}
        case Fail():
            kind = ERROR_TYPES.get(step.status, "api_error")
            error = {"type": "error", "error": {"type": kind, "message": step.message}}
            return step.status, json.dumps(error).encode(), _retry_headers(step)


def _retry_headers(step: Fail) -> dict[str, str]:
    if step.retry_after_s is None:
        return {}
    if step.retry_after_s < 0:
        return {"x-should-retry": "false"}
    return {"retry-after-ms": str(round(step.retry_after_s * 1000))}


def _message(said: Say, body: Mapping[str, Any], number: int) -> dict[str, Any]:
    texts = _texts(said)
    searches = [
        block
        for at, search in enumerate(said.searches)
        for block in _searched(search, f"srvtoolu_{number}_{at}")
    ]
    calls = [
        {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": call.name, "input": call.input}
        for at, call in enumerate(said.calls)
    ]
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [*searches, *texts, *calls],
        "stop_reason": stop_reason(said),
        "stop_sequence": None,
        "usage": {
            "input_tokens": said.input_tokens,
            "output_tokens": said.output_tokens,
            "cache_read_input_tokens": said.cache_read_tokens,
            "cache_creation_input_tokens": said.cache_write_tokens,
            "server_tool_use": {
                "web_search_requests": len(said.searches),
                "web_fetch_requests": 0,
            },
        },
    }


def _searched(search: Search, id: str) -> Iterator[dict[str, Any]]:  # noqa: A002
    """The call of a search and what came of it."""
    yield {
        "type": "server_tool_use",
        "id": id,
        "name": "web_search",
        "input": {"query": search.query},
    }
    found: object = [
        {
            "type": "web_search_result",
            "url": page.url,
            "title": page.title,
            "encrypted_content": "scripted",
            "page_age": None,
        }
        for page in search.found
    ]
    if search.error:
        found = {"type": "web_search_tool_result_error", "error_code": search.error}
    yield {"type": "web_search_tool_result", "tool_use_id": id, "content": found}


def _texts(said: Say) -> list[dict[str, Any]]:
    """The text, and with it what it quotes."""
    if not said.text:
        return []
    quoted = [
        {
            "type": "web_search_result_location",
            "url": page.url,
            "title": page.title,
            "encrypted_index": "scripted",
            "cited_text": page.text,
        }
        for search in said.searches
        for page in search.found
        if page.text
    ]
    return [{"type": "text", "text": said.text, **({"citations": quoted} if quoted else {})}]
