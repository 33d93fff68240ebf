"""The steps of the tables for clients, by their word."""

import asyncio
from collections.abc import Mapping
from time import monotonic
from types import MappingProxyType
from typing import Any, Final

from google.protobuf import json_format

from sidecar.conformance.client_play import (
    CONNECTIONS_GONE_WITHIN_S,
    PATIENCE_S,
    TIMEOUT_DEFAULT_MS,
    TIMEOUT_MS,
    ClientPlay,
    within,
)
from sidecar.conformance.faults import Departure, TableError
from sidecar.conformance.matching import shown
from sidecar.conformance.performing import Act
from sidecar.conformance.replies import is_number
from sidecar.conformance.streams import status_of
from sidecar.v1 import convergence_service_pb2 as wire

# Between looks at what changes by itself.
_LOOK_S: Final = 0.01
_ATTEMPT_S: Final = 0.5
_SEEN_LATE_S: Final = 0.1
_PAUSE_TO_MEASURE_S: Final = 0.8
# Eight numbers from half to whole lie closer together once in 50,000 times; on a busy machine those
# that are all the same seem to be 0.03 apart.
_SPREAD_MIN: Final = 0.08
# What is written to standard error before a reply is read by then.
_STDERR_READ_S: Final = 0.1


# The listener, and the connections to it.


async def listen(play: ClientPlay, kind: Any) -> None:
    """Puts something at the address."""
    await play.front.listen(kind)


async def unlisten(play: ClientPlay, _: Any) -> None:
    """Takes it away."""
    await play.front.unlisten()


async def cut(play: ClientPlay, _: Any) -> None:
    """Breaks the connections."""
    play.front.cut()


async def freeze(play: ClientPlay, _: Any) -> None:
    """No byte passes."""
    play.front.freeze()


async def thaw(play: ClientPlay, _: Any) -> None:
    """Bytes pass again."""
    play.front.thaw()


async def garble(play: ClientPlay, _: Any) -> None:
    """Bytes that are no HTTP/2."""
    play.front.garble()


async def attempts(play: ClientPlay, expected: Any) -> None:
    """How many connections the client has made so far."""
    play.holds(expected, len(play.front.accepted_s), "attempts to connect")


async def pauses(play: ClientPlay, wish: Any) -> None:
    """The pauses between so many attempts in a row that fail at once: by rule 15 half of each is
    fixed, half is random, and the whole doubles up to a bound."""
    count, first_ms, max_ms = wish["count"], wish["first_ms"], wish["max_ms"]
    wholes_s = [min(max_ms, first_ms * 2.0**index) / 1000 for index in range(count)]
    within_s = sum(wholes_s) + count * _ATTEMPT_S + play.allowance.slack_ms / 1000
    await until(lambda: len(play.front.accepted_s) > count, within_s, f"attempt {count + 1}")
    at_s = play.front.accepted_s[: count + 1]
    # Of all together, since on a busy machine one may be seen late.
    took_s, least_s = at_s[-1] - at_s[0], sum(wholes_s) / 2
    if took_s < least_s - _SEEN_LATE_S:
        raise Departure(f"{count} pauses took {took_s:.2f} s; by halves they are {least_s:.2f} s")
    # Of short ones connecting is the greater part.
    shares = [
        (later_s - earlier_s) / whole_s
        for earlier_s, later_s, whole_s in zip(at_s, at_s[1:], wholes_s, strict=False)
        if whole_s >= _PAUSE_TO_MEASURE_S
    ]
    if max(shares) - min(shares) < _SPREAD_MIN:
        told = ", ".join(f"{share:.0%}" for share in shares)
        raise Departure(f"nothing is random about the pauses: of their bounds they are {told}")


# The sidecar.


async def accept(play: ClientPlay, expected: Any) -> None:
    """The next stream, and its first message."""
    play.use(await within(play.streams.opened.get(), PATIENCE_S, "a stream of the client"))
    message = await play.receive()
    play.holds({"open": expected}, message, "the first message")


async def meet(play: ClientPlay, wish: Any) -> None:
    """`accept` and `send` of `opened`: the next stream is opened."""
    await accept(play, wish.get("open", {}))
    await send(play, {"opened": wish.get("opened", {})})


async def send(play: ClientPlay, response: Any) -> None:
    """A message of the sidecar."""
    try:
        parsed = json_format.ParseDict(response, wire.ObserveResponse())
    except json_format.ParseError as error:
        raise TableError(f"send: {error}") from error
    await play.stream.send(parsed.SerializeToString())


async def decide(play: ClientPlay, decision: Any) -> None:
    """`send` of a decision on the turn received last, unless it says otherwise."""
    defaults = {"sequence": play.last_sequence, "cause": "CAUSE_TURN"}
    await send(play, {"decision": {**defaults, **decision}})


async def exchange(play: ClientPlay, wish: Any) -> None:
    """`turn`, `receive`, `decide` and `directive`: one turn, from its report to its answer."""
    await turn(play, wish.get("turn", {}))
    await receive(play, {"turn": wish.get("receive", {})})
    await decide(play, wish.get("decide", {"proceed": {}}))
    await directive(play, {"fail_open_reason": "", **wish.get("directive", {})})


async def send_bytes(play: ClientPlay, digits: Any) -> None:
    """Bytes in place of a message, in hexadecimal."""
    await play.stream.send(bytes.fromhex(digits))


async def receive(play: ClientPlay, expected: Any) -> None:
    """The next message; heartbeats that are not awaited are passed over."""
    awaits_heartbeat = "heartbeat" in expected
    while (message := await play.receive()) is not None:
        if "heartbeat" not in message:
            play.holds(expected, message, "the client's message")
            return
        if awaits_heartbeat and not play.differs(expected, message):
            return
    raise Departure(f"the stream ended; expected was {expected}")


async def received_bytes(play: ClientPlay, expected: Any) -> None:
    """Size of the last message."""
    play.holds(expected, play.received_bytes, "bytes of the message")


async def half_closed(play: ClientPlay, _: Any) -> None:
    """The client says that it will send no more."""
    while (message := await play.receive()) is not None:
        if "heartbeat" not in message:
            raise Departure(f"expected a half-close, came {message}")
    if play.stream.is_gone:
        raise Departure("expected a half-close; the client has cut the stream")


async def detached(play: ClientPlay, _: Any) -> None:
    """The stream ends by the client's doing, and it never said `close`."""
    while (message := await play.receive()) is not None:
        if "close" in message:
            raise Departure("the client said close; it was only to detach")


async def gone(play: ClientPlay, _: Any) -> None:
    """The client has cut the stream, or closed the connection."""
    await until(lambda: play.stream.is_gone, PATIENCE_S, "the end of the stream by the client")


async def metadata(play: ClientPlay, expected: Any) -> None:
    """What came with the call."""
    play.holds(expected, play.stream.metadata, "the call's metadata")


async def end(play: ClientPlay, ending: Any) -> None:
    """The sidecar ends the stream."""
    play.stream.end(status_of(ending))


async def behave(play: ClientPlay, _: Any) -> None:
    """From now on a sidecar that behaves is at the other end."""
    play.behave()


async def holds(play: ClientPlay, expected: Any) -> None:
    """All turns from one sequence to another have come to the sidecar, or come soon."""
    session_id, (first, last) = expected["session_id"], expected["from_to"]
    what = f"turn {first} to {last} of session {session_id!r}"
    try:
        await until(lambda: play.ledger.has(session_id, first, last), PATIENCE_S, what)
    except Departure as departure:
        raise Departure(f"{departure}; it holds {play.ledger.sequences(session_id)}") from None


async def quiet_ms(play: ClientPlay, duration_ms: Any) -> None:
    """For so long no stream is opened, and nothing but heartbeats is said."""
    await _nothing(play, duration_ms, heartbeats=True)


async def silent_ms(play: ClientPlay, duration_ms: Any) -> None:
    """As quiet_ms, without heartbeats too."""
    await _nothing(play, duration_ms, heartbeats=False)


async def _nothing(play: ClientPlay, duration_ms: float, *, heartbeats: bool) -> None:
    deadline_s = monotonic() + duration_ms / 1000
    while (left_s := deadline_s - monotonic()) > 0:
        await asyncio.sleep(min(_LOOK_S, left_s))
        if not play.streams.opened.empty():
            raise Departure(f"a stream was opened within {duration_ms} ms; none was due")
        if (message := play.said(heartbeats=heartbeats)) is not None:
            raise Departure(f"the client said {message} within {duration_ms} ms; nothing was due")


# The agent.


async def start(play: ClientPlay, options: Any) -> None:
    """Makes the client."""
    defaults = {"address": play.front.address, "session_id": "run", "timeout_ms": TIMEOUT_MS}
    given = {key: value for key, value in {**defaults, **options}.items() if value is not None}
    play.timeout_ms = given.get("timeout_ms", TIMEOUT_DEFAULT_MS)
    play.ask({"do": "start", "options": given})
    play.is_started = True
    reply = await play.reply()
    play.holds({"ok": True}, reply.body, "the reply to start")


async def turn(play: ClientPlay, content: Any) -> None:
    """Reports a turn; `directive` awaits the reply."""
    play.ask({"do": "turn", "turn": content})


async def directive(play: ClientPlay, expected: Any) -> None:
    """The reply to `turn` or `wait_for_operator`."""
    play.holds({**_bound(play), **expected}, await play.directive(), "the directive")


def _bound(play: ClientPlay) -> dict[str, Any]:
    """No turn takes longer than the timeout, unless the table says what it may take."""
    return {"elapsed_ms": {"$max": play.timeout_ms + play.allowance.slack_ms}}


async def turns(play: ClientPlay, wish: Any) -> None:
    """Turns one after another, each with the same demands; what they take is held to a sum."""
    took_ms = 0.0
    for _ in range(wish["count"]):
        play.ask({"do": "turn", "turn": wish.get("turn", {})})
        came = await play.directive()
        play.holds({**_bound(play), **wish.get("directive", {})}, came, "a directive")
        took_ms += came["elapsed_ms"]
    if took_ms > wish.get("sum_ms_max", float("inf")):
        raise Departure(f"{wish['count']} turns took {took_ms:.0f} ms, not {wish['sum_ms_max']}")


async def recovers(play: ClientPlay, wish: Any) -> None:
    """Turns until one is answered with a decision of its own."""
    deadline_s = monotonic() + wish.get("within_ms", PATIENCE_S * 1000) / 1000
    while monotonic() < deadline_s:
        play.ask({"do": "turn", "turn": {}})
        came = await play.directive()
        if not came["fail_open_reason"] and "decision" in came and not came["late"]:
            return
        await asyncio.sleep(wish.get("pause_ms", 50) / 1000)
    raise Departure("no turn was answered though a sidecar is there")


async def wait_for_operator(play: ClientPlay, _: Any) -> None:
    """Waits for a person; `directive` awaits the reply."""
    play.ask({"do": "wait_for_operator"})


async def give_ups(play: ClientPlay, expected: Any) -> None:
    """The give-ups so far, those with 0 left out: no more and no fewer than expected."""
    play.ask({"do": "give_ups"})
    came = (await play.reply()).body.get("give_ups")
    play.holds(expected, came, "give-ups")
    if isinstance(came, Mapping) and (more := came.keys() - expected.keys()):
        raise Departure(f"give-ups for {sorted(more)} too: {dict(came)}")


async def close(play: ClientPlay, content: Any) -> None:
    """Closes; `closed` awaits the reply."""
    play.ask({"do": "close", "close": content})


async def closed(play: ClientPlay, expected: Any) -> None:
    """The reply to `close`."""
    play.holds(expected, (await play.reply()).body, "the reply to close")


async def stop(play: ClientPlay, expected: Any) -> None:
    """Lets the client go; nothing of it is left, here or there."""
    play.front.thaw()
    play.ask({"do": "stop"})
    play.is_started = False
    reply = await play.reply()
    if not is_number(reply.body.get("left")):
        raise Departure(f"the reply to stop has `left`, a number, not {shown(reply.body)}")
    play.holds({"ok": True, **expected}, reply.body, "the reply to stop")
    await until(
        lambda: play.front.connections == 0, CONNECTIONS_GONE_WITHIN_S, "the end of the connection"
    )


async def untold(play: ClientPlay, secret: Any) -> None:
    """The driver has not written it to standard error in this case."""
    await asyncio.sleep(_STDERR_READ_S)
    if secret in play.driver.stderr:
        raise Departure(f"{secret!r} is in what the driver wrote to standard error")


async def end_of_case(play: ClientPlay, _: Any) -> None:
    """No reply is outstanding, the client is let go, and nothing is left. Every case ends so."""
    if play.is_awaiting:
        await play.reply()
    if play.is_started:
        await stop(play, {"left": 0})


async def until(holds_now: Any, timeout_s: float, what: str) -> None:
    """Returns when it holds. Raises Departure where it does not within that many seconds."""
    deadline_s = monotonic() + timeout_s
    while not holds_now():
        if monotonic() >= deadline_s:
            raise Departure(f"{what} did not come within {timeout_s:g} s")
        await asyncio.sleep(_LOOK_S)


STEPS: Final[Mapping[str, Act[ClientPlay]]] = MappingProxyType(
    {
        act.__name__: act
        for act in (
            listen,
            unlisten,
            cut,
            freeze,
            thaw,
            garble,
            attempts,
            pauses,
            accept,
            meet,
            send,
            decide,
            exchange,
            send_bytes,
            receive,
            received_bytes,
            half_closed,
            gone,
            detached,
            metadata,
            end,
            behave,
            holds,
            quiet_ms,
            silent_ms,
            start,
            turn,
            directive,
            turns,
            recovers,
            wait_for_operator,
            give_ups,
            close,
            closed,
            stop,
            untold,
            end_of_case,
        )
    }
)
