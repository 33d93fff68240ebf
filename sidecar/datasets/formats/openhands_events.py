"""The events of OpenHands, of both versions, and what each of them says."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from sidecar.datasets.json_text import decode
from sidecar.datasets.moves import Answered, Call, Said
from sidecar.datasets.shapes import Content, Count, outcome, seconds, total, words
from sidecar.v1.run_pb2 import Usage

_BOOKKEEPING: Final = frozenset(
    "thought is_confirmed confirmation_state security_risk action_risk images_urls image_urls "
    "wait_for_response kernel_init_code include_extra keep_prompt hidden blocking".split()
)
"""Arguments of an action that the model did not give."""
_INJECTED: Final = ("security_risk", "summary")
"""Arguments that OpenHands adds to every tool: other words for them make no other call."""


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class _Function(msgspec.Struct, frozen=True):
    name: str = ""
    arguments: str = ""


class _Asked(msgspec.Struct, frozen=True):
    id: str | None = None
    function: _Function = _Function()


class _Reply(msgspec.Struct, frozen=True):
    content: Content = None
    tool_calls: list[_Asked] | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Reply = _Reply()


class _Response(msgspec.Struct, frozen=True):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] = []
    usage: _Usage | None = None


class _Metadata(msgspec.Struct, frozen=True):
    function_name: str = ""
    tool_call_id: str = ""
    model_response: _Response | None = None


class Event(msgspec.Struct, frozen=True):
    """Of version 0: an action or an observation."""

    id: int | str | None = None
    source: str | None = None
    timestamp: datetime | None = None
    action: str | None = None
    observation: str | None = None
    args: dict[str, Any] = {}
    content: Content = None
    message: str | None = None
    cause: int | str | None = None
    extras: dict[str, Any] = {}
    exit_code: int | None = None
    tool_call_metadata: _Metadata | None = None


class ToolCall(msgspec.Struct, frozen=True):
    name: str = ""
    arguments: str = "{}"


class Event1(msgspec.Struct, frozen=True):
    """Of version 1, by its kind."""

    kind: str
    source: str | None = None
    timestamp: datetime | None = None
    thought: Content = None
    tool_name: str = ""
    tool_call_id: str = ""
    tool_call: ToolCall | None = None
    action: dict[str, Any] | None = None
    llm_response_id: str | None = None
    llm_message: _Reply | None = None
    observation: dict[str, Any] = {}
    error: str | None = None
    rejection_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """An action of version 0."""

    response: str | None
    """Id of the answer that it is a part of; None: it is the whole answer."""
    model: str
    said: Said


def acted(event: Event) -> Acted:
    """What an agent's action says."""
    metadata = event.tool_call_metadata or _Metadata()
    response = metadata.model_response or _Response()
    reply = next((choice.message for choice in response.choices), _Reply())
    text = _text(event.args.get("thought")) or words(reply.content)
    calls: tuple[Call, ...] = ()
    if event.action in ("message", "finish"):
        text = _text(event.args.get("content")) or text or event.message or ""
    else:
        name = metadata.function_name or event.action or ""
        arguments = _asked(reply, metadata.tool_call_id) or _given(event)
        calls = (Call(id=event_id(event.id), name=name, arguments=arguments),)
    tokens = _tokens(response.usage)
    said = Said(text=text, calls=calls, usage=tokens, at_s=seconds(event.timestamp))
    return Acted(response=response.id, model=response.model or "", said=said)


def _text(content: Any) -> str:
    """The text of a content that may be of any form."""
    try:
        return words(msgspec.convert(content, Content))
    except msgspec.ValidationError:
        return str(content)


def event_id(id_: int | str | None) -> str:
    """The id of a call, by which its observation names it; empty in versions without ids."""
    return "" if id_ is None else str(id_)


def _asked(reply: _Reply, call_id: str) -> Any:
    """The arguments as the model gave them; None where the response was not recorded."""
    calls = reply.tool_calls or ()
    return next(
        (own_arguments(call.function.arguments) for call in calls if call.id == call_id), None
    )


def own_arguments(arguments: str) -> Any:
    """The arguments of the tool itself; text that is no JSON object as it is."""
    try:
        given = decode(arguments)
    except ValueError:
        return arguments
    if not isinstance(given, dict):
        return arguments
    return {key: value for key, value in given.items() if key not in _INJECTED}


def _given(event: Event) -> dict[str, Any]:
    return {
        key: value
        for key, value in event.args.items()
        if key not in _BOOKKEEPING and value not in (None, "", False)
    }


def observed(event: Event) -> Answered:
    """What an observation says."""
    text = words(event.content) or event.message or ""
    code = event.exit_code
    metadata = event.extras.get("metadata")
    for table in (event.extras, metadata if isinstance(metadata, Mapping) else {}):
        found = table.get("exit_code")
        code = found if isinstance(found, int) else code
    # -1 stands for a command that goes on.
    failed = (code or 0) > 0 or event.observation == "error" or text.startswith("ERROR:")
    denied = event.observation == "user_rejected"
    return Answered(
        text=text,
        outcome=outcome(failed, denied=denied),
        call_id=event_id(event.cause),
        at_s=seconds(event.timestamp),
    )


def observed1(event: Event1) -> Answered:
    """What an observation of version 1 says."""
    observation = event.observation
    text = _text(observation.get("content", observation.get("output")))
    code = observation.get("exit_code")
    failed = observation.get("is_error") or (isinstance(code, int) and code > 0)
    return Answered(
        text=text,
        outcome=outcome(failed),
        call_id=event.tool_call_id,
        at_s=seconds(event.timestamp),
    )


def _tokens(usage: _Usage | None) -> Usage | None:
    """LiteLLM counts cached tokens among those of the prompt."""
    if usage is None:
        return None
    return Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cache_read_input_tokens=usage.cache_read_input_tokens,
        cache_write_input_tokens=usage.cache_creation_input_tokens,
        context_tokens=total(usage.prompt_tokens, usage.completion_tokens),
    )
