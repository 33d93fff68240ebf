"""The port `Model` over the `anthropic` SDK's async client.

The SDK takes over a second to import, and a sidecar that never asks a model should not pay for it:
it is imported when a model is first asked.
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from sidecar.adapters.anthropic_message import (
    count_in,
    found_in,
    inputs_of,
    is_message,
    name_of,
    search_errors,
    searches_of,
    text_of,
)
from sidecar.core.answers.json_reply import only_object
from sidecar.models.access import (
    BASE_URL_VARIABLE,
    BEARER_VARIABLE,
    KEY_VARIABLE,
    said_by,
)
from sidecar.models.prices import DEFAULT_MODEL, SEARCH_USD, Price, prices_with
from sidecar.ports import (
    FailureKind,
    ModelFailure,
    ModelReply,
    ModelRequest,
    Purpose,
    Server,
    Spent,
    Stop,
    Tool,
)

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import Message

RETRIES_MAX: Final = 2
"""HTTP requests after the first, within the caller's time."""

CONNECT_TIMEOUT_S: Final = 5.0
"""Of one attempt, as the SDK has it; a host that does not answer by then is not there."""

WINDOW_TOKENS: Final = 200_000
"""The smallest window of the models that are not deprecated."""

NO_FORCED_TOOLS: Final = (
    "claude-fable-5-",
    "claude-mythos-5-",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
)
"""Beginnings of the names of models whose API answers 400 to a forced tool
(platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5, and the like page of Opus 5.5,
which names Fable 5.1; read 2026-11-21). They are held to the same schema as JSON output instead."""

SEARCH_TOOL: Final = MappingProxyType({"type": "web_search_20250305", "name": "web_search"})
"""The oldest version of the API's own search, which all models have; later ones want its execution
of code beside them."""

RECURRING: Final = frozenset({Purpose.AGENT})
"""What is asked again with a longer history a moment later, so that a cached prefix saves. A forced
commit and a review are asked once, and writing a cache costs a quarter more than not to."""

PUBLIC_URL: Final = "https://api.anthropic.com"
"""Where the API is that no setting and no variable gives the address of, as the SDK has it."""

PORTS: Final = MappingProxyType({"http": 80, "https": 443})

NO_PROXIES: Final[Mapping[str, None]] = MappingProxyType({"http://": None, "all://": None})
"""In place of the environment's, which cannot reach what listens on this machine only."""

TALKATIVE: Final = ("anthropic", "httpx2", "httpcore2")
"""Loggers that write a line for each request, and at DEBUG all that is asked."""

STOPS: Final = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "max_tokens": Stop.MAX_TOKENS,
    "model_context_window_exceeded": Stop.MAX_TOKENS,
    "tool_use": Stop.TOOL,
    "refusal": Stop.REFUSAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicSettings:
    """How the API is reached; what is empty the SDK takes from its standard variables."""

    model: str = DEFAULT_MODEL
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    window_tokens: int = WINDOW_TOKENS
    prices: Mapping[str, Price] = field(default_factory=lambda: prices_with(()))


def _is_here(base_url: str) -> bool:
    """Whether an address is plain HTTP on this machine's loopback."""
    target = urlsplit(base_url)
    return target.scheme == "http" and target.hostname in ("127.0.0.1", "::1", "localhost")


def kind_of_status(status: int) -> FailureKind:
    """What an HTTP status other than success says of a call."""
    match status:
        case 401 | 403:
            return FailureKind.UNAUTHENTICATED
        case 408 | 504:
            return FailureKind.TIMEOUT
        case 429:
            return FailureKind.RATE_LIMITED
        case 503 | 529:
            return FailureKind.OVERLOADED
        case _ if status >= 500:
            return FailureKind.SERVER_ERROR
        case _:
            return FailureKind.INVALID_REQUEST


class AnthropicModel:
    """A model of the Messages API."""

    def __init__(self, settings: AnthropicSettings) -> None:
        """Nothing is imported or connected yet."""
        self._settings = settings
        self._key = settings.api_key or said_by(KEY_VARIABLE, os.environ)
        self._token = "" if self._key else said_by(BEARER_VARIABLE, os.environ)
        known = PUBLIC_URL if self._key or self._token else ""
        self._base_url = settings.base_url or said_by(BASE_URL_VARIABLE, os.environ) or known
        self._client: anthropic.AsyncAnthropic | None = None

    @property
    def name(self) -> str:
        """The model as the API names it."""
        return self._settings.model

    @property
    def window_tokens(self) -> int:
        """Tokens that a request and its reply may take together."""
        return self._settings.window_tokens

    @property
    def server(self) -> Server | None:
        """Where it is asked; None: a profile of the SDK says so."""
        target = urlsplit(self._base_url)
        if not target.hostname:
            return None
        return Server(target.hostname, target.port or PORTS.get(target.scheme, 0))

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Ask once, by at most 1 + RETRIES_MAX HTTP requests. Raises ModelFailure."""
        began_s = time.monotonic()
        attempts = _Attempts()
        try:
            async with asyncio.timeout(request.timeout_s):
                message = await self._send(request, attempts)
        except TimeoutError:
            # What came before the time was over says more than that it was.
            kind = attempts.failed or FailureKind.TIMEOUT
            said = f"no reply within {request.timeout_s:.1f} s"
            raise ModelFailure(kind, said, latency_s=time.monotonic() - began_s) from None
        except _Failed as failed:
            latency_s = time.monotonic() - began_s
            raise ModelFailure(failed.kind, failed.message, latency_s=latency_s) from failed
        return self._reply(request, message, latency_s=time.monotonic() - began_s)

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _send(self, request: ModelRequest, attempts: "_Attempts") -> "Message":
        if self._client is None:
            # A second on a busy machine, and the event loop has agents to serve.
            await asyncio.to_thread(_import_sdk)
        import anthropic

        try:
            client = self._connected().with_options(
                timeout=anthropic.Timeout(request.timeout_s, connect=CONNECT_TIMEOUT_S),
                middleware=[attempts.watch],
            )
            message: Message = await client.messages.create(**self._arguments(request))
        except anthropic.APIStatusError as error:
            raise _Failed(kind_of_status(error.status_code), _said(error)) from error
        except anthropic.APITimeoutError as error:
            raise _Failed(FailureKind.TIMEOUT, "the API did not answer") from error
        except anthropic.APIConnectionError as error:
            raise _Failed(FailureKind.CONNECTION, "the API is not reached") from error
        except (anthropic.AnthropicError, ValueError, TypeError, RecursionError) as error:
            # Bytes that are no message, or credentials of which there are none that can be used.
            raise _Failed(_kind_of(error), type(error).__name__) from error
        if not is_message(message):
            raise _Failed(FailureKind.UNREADABLE, "what the API sent is no message")
        return message

    def _connected(self) -> "anthropic.AsyncAnthropic":
        if self._client is None:
            import anthropic

            self._client = anthropic.AsyncAnthropic(
                api_key=self._key or None,
                auth_token=self._token or None,
                base_url=self._base_url or None,
                max_retries=RETRIES_MAX,
                http_client=anthropic.DefaultAsyncHttpxClient(
                    mounts=NO_PROXIES if _is_here(self._base_url) else {},
                    # Content goes where it is configured to go, and nowhere else.
                    follow_redirects=False,
                ),
            )
        return self._client

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self.name,
            "messages": list(request.messages),
            "max_tokens": request.output_tokens_max,
        }
        if request.system:
            arguments["system"] = request.system
        if request.purpose in RECURRING:
            arguments["cache_control"] = {"type": "ephemeral"}
        if request.tool is not None:
            arguments.update(self._structured(request.tool))
        if request.searches_max:
            arguments["tools"] = [{**SEARCH_TOOL, "max_uses": request.searches_max}]
        return arguments

    def _structured(self, tool: Tool) -> dict[str, Any]:
        schema = dict(tool.schema)
        if not self._forces_tools:
            return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
        offered = {"name": tool.name, "description": tool.description, "input_schema": schema}
        choice = {"type": "tool", "name": tool.name, "disable_parallel_tool_use": True}
        return {"tools": [offered], "tool_choice": choice}

    @property
    def _forces_tools(self) -> bool:
        return not self.name.startswith(NO_FORCED_TOOLS)

    def _reply(self, request: ModelRequest, message: "Message", *, latency_s: float) -> ModelReply:
        text, stop_reason = text_of(message), name_of(message, "stop_reason")
        inputs = list(inputs_of(message, request.tool))
        # Of several that differ nobody knows which is meant.
        tool_input = inputs[0] if inputs and all(each == inputs[0] for each in inputs) else None
        if request.tool is not None and not self._forces_tools:
            tool_input = only_object(text)
        return ModelReply(
            text=text,
            tool_input=tool_input,
            stop=STOPS.get(stop_reason, Stop.OTHER),
            stop_reason=stop_reason,
            spent=self._spent(message, latency_s),
            model=name_of(message, "model"),
            id=name_of(message, "id"),
            found=tuple(found_in(message)) if request.searches_max else (),
            search_error=next(search_errors(message), "") if request.searches_max else "",
        )

    def _spent(self, message: "Message", latency_s: float) -> Spent:
        usage, searches = message.usage, searches_of(message)
        plain, produced = count_in(usage, "input_tokens"), count_in(usage, "output_tokens")
        if plain is None or produced is None:
            # What the API did not count has a cost that is not known, and a good reply is one.
            return Spent(searches=searches, latency_s=latency_s)
        read = count_in(usage, "cache_read_input_tokens") or 0
        written = count_in(usage, "cache_creation_input_tokens") or 0
        tokens = {
            # The API counts what is not cached; here, as everywhere, all that was sent.
            "input_tokens": plain + read + written,
            "output_tokens": produced,
            "cache_read_tokens": read,
            "cache_write_tokens": written,
        }
        price = self._settings.prices.get(self.name)
        cost_usd = None if price is None else price.cost_usd(**tokens) + searches * SEARCH_USD
        return Spent(**tokens, searches=searches, cost_usd=cost_usd, latency_s=latency_s)


class _Failed(Exception):  # noqa: N818 - becomes a ModelFailure when its time is known
    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class _Attempts:
    """What the latest HTTP request of a call came to."""

    def __init__(self) -> None:
        self.failed: FailureKind | None = None
        """None: none has failed, or the latest is under way."""

    async def watch(self, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
        """The SDK's middleware: called for each HTTP request."""
        import anthropic

        self.failed = None
        try:
            response = await send(request)
        except anthropic.APIConnectionError as error:
            timed_out = isinstance(error, anthropic.APITimeoutError)
            self.failed = FailureKind.TIMEOUT if timed_out else FailureKind.CONNECTION
            raise
        status = response.http_response.status_code
        if status >= 400:
            self.failed = kind_of_status(status)
        return response


def _import_sdk() -> None:
    import anthropic  # noqa: F401

    for name in TALKATIVE:
        log = logging.getLogger(name)
        if log.level == logging.NOTSET:  # whoever has set one, ANTHROPIC_LOG too, wants it
            log.setLevel(logging.WARNING)


_OF_A_REPLY: Final = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)
"""What reading one raises: it is no JSON, no text, or nested too deep."""


def _kind_of(error: Exception) -> FailureKind:
    import anthropic

    if isinstance(error, (*_OF_A_REPLY, anthropic.APIError)):
        return FailureKind.UNREADABLE
    # The SDK says so before it sends anything, by a TypeError among others.
    return FailureKind.UNAUTHENTICATED if _lacks_key(error) else FailureKind.INVALID_REQUEST


def _lacks_key(error: Exception) -> bool:
    import anthropic

    return isinstance(error, anthropic.CredentialsError) or "authentication" in str(error)


def _said(error: "anthropic.APIStatusError") -> str:
    """The API's own words for an error, on one line: it names what is wrong, and quotes nothing of
    the request but field names."""
    body = error.body
    detail = body.get("error") if isinstance(body, Mapping) else None
    message = detail.get("message") if isinstance(detail, Mapping) else None
    said = " ".join(message.split())[:200] if isinstance(message, str) else ""
    return f"HTTP {error.status_code}: {said}" if said else f"HTTP {error.status_code}"
