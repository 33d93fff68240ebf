"""The steps of the table for services, by their word."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import grpc
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2

from sidecar.conformance.agent_play import HEARD_WITHIN_S, AgentPlay
from sidecar.conformance.faults import Departure, StatusLost
from sidecar.conformance.performing import Act
from sidecar.conformance.streams import ERROR_DOMAIN
from sidecar.v1 import convergence_service_pb2 as wire

_DETAILS_KEY: Final = "grpc-status-details-bin"
_MET_THE_END: Final = "Internal error from Core"
"""Put by grpc.aio 1.85 in place of a stream's status when a message was written in the moment in
which it came."""


async def stream(play: AgentPlay, name: Any) -> None:
    """From now on the stream of that name is spoken of; the first one is "main"."""
    play.use(name)


async def say(play: AgentPlay, request: Any) -> None:
    """A message of the agent."""
    parsed = json_format.ParseDict(request, wire.ObserveRequest())
    await play.say(parsed.SerializeToString())


async def say_bytes(play: AgentPlay, digits: Any) -> None:
    """Bytes in place of a message, in hexadecimal."""
    await play.say(bytes.fromhex(digits))


async def hear(play: AgentPlay, expected: Any) -> None:
    """The next message of the service."""
    try:
        message = await play.hear()
    except TimeoutError:
        raise Departure(f"nothing came within {HEARD_WITHIN_S:g} s") from None
    if message is None:
        ending = await _ending(play)
        raise Departure(f"the stream ended with {ending}; expected was {expected}")
    play.holds(expected, message, "the service's message")


async def open_(play: AgentPlay, wish: Any) -> None:
    """`say` of open, and `hear` of opened."""
    await say(play, {"open": {"session_id": play.variables["run"], **wish.get("open", {})}})
    await hear(play, {"opened": wish.get("opened", {})})


async def turn(play: AgentPlay, wish: Any) -> None:
    """`say` of a turn, and `hear` of the decision on it."""
    sequence = wish["turn"]["sequence"]
    await say(play, {"turn": wish["turn"]})
    expected = {"sequence": sequence, "cause": "CAUSE_TURN", **wish.get("decision", {})}
    await hear(play, {"decision": expected})


async def nothing_ms(play: AgentPlay, duration_ms: Any) -> None:
    """For so long nothing comes."""
    try:
        message = await play.hear(duration_ms / 1000)
    except TimeoutError:
        return
    raise Departure(f"nothing was due; came {message or 'the end of the stream'}")


async def half_close(play: AgentPlay, _: Any) -> None:
    """The agent will say no more."""
    await play.call.done_writing()


async def break_off(play: AgentPlay, _: Any) -> None:
    """The agent is gone; the next step begins another stream."""
    play.call.cancel()
    play.forget()


async def ended(play: AgentPlay, expected: Any) -> None:
    """The stream ends so, and nothing comes before; the next step begins another stream."""
    try:
        message = await play.hear()
    except TimeoutError:
        raise Departure(f"the stream did not end within {HEARD_WITHIN_S:g} s") from None
    if message is not None:
        raise Departure(f"expected the end of the stream, came {message}")
    play.holds(expected, await _ending(play), "the end of the stream")
    play.forget()


async def record(play: AgentPlay, wish: Any) -> None:
    """RecordTurn, and what it returns, or how it is refused."""
    request = json_format.ParseDict(wish["request"], wire.RecordTurnRequest())
    if not request.open.session_id:
        request.open.session_id = play.variables["run"]
    try:
        came = await play.record(request)
    except grpc.aio.AioRpcError as error:
        came = {"refused": _described(error.code(), error.details(), error.trailing_metadata())}
    expected = {key: wish[key] for key in ("opened", "decision", "refused") if key in wish}
    play.holds(expected, came, "RecordTurn")


async def _ending(play: AgentPlay) -> dict[str, Any]:
    call = play.call
    code, message = await call.code(), await call.details()
    if code is grpc.StatusCode.INTERNAL and message == _MET_THE_END:
        raise StatusLost
    return _described(code, message, await call.trailing_metadata())


def _described(code: grpc.StatusCode, message: str | None, metadata: Any) -> dict[str, Any]:
    """A status as the table has it; of ErrorInfo only the sidecar's own."""
    found: dict[str, Any] = {"code": code_pb2.Code.Name(code.value[0]), "message": message or ""}
    for detail in _details(metadata):
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info) and info.domain == ERROR_DOMAIN:
            found |= {"reason": info.reason, "metadata": dict(info.metadata)}
    return found


def _details(metadata: Any) -> list[Any]:
    raw = dict(metadata or ()).get(_DETAILS_KEY, b"")
    try:
        return list(status_pb2.Status.FromString(raw).details)
    except DecodeError:
        return []


STEPS: Final[Mapping[str, Act[AgentPlay]]] = MappingProxyType(
    {
        act.__name__.rstrip("_"): act
        for act in (
            stream,
            say,
            say_bytes,
            hear,
            open_,
            turn,
            nothing_ms,
            half_close,
            break_off,
            ended,
            record,
        )
    }
)
