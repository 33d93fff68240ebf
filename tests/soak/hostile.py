"""A client that means harm, or is broken: bytes that are no HTTP/2, no message, no JSON; turns that
are too large, too many or malformed; connections that are left.

    python -m tests.soak.hostile DIRECTORY SEED SECONDS

What it sends follows from the seed. After every round a legal turn has to be answered.
"""

import asyncio
import json
import random
import struct
import sys
from pathlib import Path
from typing import Any, Final

import grpc

from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from tests.soak.wire import ANSWER_WITHIN_S, Broken, Wire, broken_by

RECORD: Final = "/sidecar.v1.ConvergenceService/RecordTurn"
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MIB: Final = 1024 * 1024
MESSAGE_BYTES_MAX: Final = 4 * MIB
LARGE_BYTES: Final = MESSAGE_BYTES_MAX - 4096
DEEP: Final = 10_000
OPTIONS: Final = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_send_message_length", -1),
]


def seeds() -> list[bytes]:
    """Messages that a client sends."""
    call = run_pb2.ToolCall(name="bash", arguments_json='{"command": "ls"}', result_text="a\nb")
    facts = run_pb2.Open(labels={"a": "b"}, limits=run_pb2.Limits(max_turns=5))
    turn = run_pb2.Turn(sequence=1, tool_calls=[call] * 3, text="I am stuck. " * 30)
    turn.failures.add(kind="E", message="line 3: no")
    turn.usage.input_tokens, turn.usage.cost_usd = 5, 0.1
    beat = pb.Heartbeat(give_ups=[run_pb2.GiveUp(reason="timeout", count=3)])
    messages = [
        pb.ObserveRequest(open=facts),
        pb.ObserveRequest(turn=turn),
        pb.ObserveRequest(heartbeat=beat),
        pb.ObserveRequest(close=run_pb2.Close(reason="over")),
    ]
    return [message.SerializeToString() for message in messages]


def bodies() -> list[bytes]:
    """What hooks post, and should not."""
    return [
        b"[" * DEEP + b"]" * DEEP,
        b'{"turn": ' * DEEP,
        b'{"turn": {"output_lines": NaN, "output_lines": 1e999}}',
        b'{"turn": {"text": "\\ud800"}}',
        b'{"turn": {"start_time": "0001-01-01T00:00:00Z", "end_time": "9999-12-31T23:59:59Z"}}',
        b'{"turn": {"tool_calls": [{"duration": "999999999999999s"}]}}',
        b'{"turn": {"text": "' + b"x" * (10 * MIB) + b'"}}',
        b'{"turn": {"text": "' + b"y" * LARGE_BYTES + b'"}}',
        b"\xff\xfe\x00",
        b"",
    ]


SEEDS: Final = seeds()
BODIES: Final = bodies()


class Hostile:
    """Everything at one sidecar; raises AssertionError where that did harm."""

    def __init__(self, directory: Path, seed: int) -> None:
        self._agent = directory / "agent.sock"
        self._http = directory / "agent-http.sock"
        self._draw = random.Random(seed)

    async def round(self, channel: grpc.aio.Channel) -> None:
        """Try everything once."""
        await self._bytes_that_are_no_http2()
        await self._connection_that_is_left()
        for _ in range(10):
            await self._mutated_stream(channel)
            await self._mutated_call(channel)
        for turn in (_large(LARGE_BYTES), _large(MESSAGE_BYTES_MAX + 1), *_malformed()):
            await self._one_turn(channel, turn)
        await self._post(self._draw.choice(BODIES))
        await self._post(self._mutated(b'{"turn": {"tool_calls": [{"name": "a"}], "text": "b"}}'))
        await self._next_legal_turn(channel)

    def _mutated(self, message: bytes) -> bytes:
        """Some of its bytes changed, cut or doubled."""
        raw, draw = bytearray(message), self._draw
        for _ in range(draw.randrange(5)):
            at = draw.randrange(len(raw) or 1)
            match draw.randrange(3):
                case 0:
                    raw[at : at + 1] = draw.randbytes(1)
                case 1:
                    del raw[at : at + draw.randint(1, 9)]
                case _:
                    raw[at:at] = raw[at : at + draw.randint(1, 30)]
        return bytes(raw)

    async def _mutated_stream(self, channel: grpc.aio.Channel) -> None:
        """Messages that may be none."""
        count = self._draw.randrange(6)
        mutated = [self._mutated(self._draw.choice(SEEDS)) for _ in range(count)]
        await self._stream(channel, [SEEDS[0], *mutated])

    async def _one_turn(self, channel: grpc.aio.Channel, turn: run_pb2.Turn) -> None:
        message = pb.ObserveRequest(turn=turn)
        await self._stream(channel, [SEEDS[0], message.SerializeToString()])

    async def _stream(self, channel: grpc.aio.Channel, messages: list[bytes]) -> None:
        """The stream lives, or ends by the error table."""
        wire = Wire(channel, bytes)
        try:
            end = await _end_of(wire, messages)
        finally:
            wire.drop()
        assert end is not None and not end.is_failure, end

    async def _mutated_call(self, channel: grpc.aio.Channel) -> None:
        call: Any = channel.unary_unary(RECORD)
        message, end = self._mutated(self._draw.choice(SEEDS)), None
        try:
            await call(message, timeout=ANSWER_WITHIN_S)
        except grpc.aio.AioRpcError as error:
            end = broken_by(error)
        assert end is None or not end.is_failure, end

    async def _bytes_that_are_no_http2(self) -> None:
        for raw in (self._draw.randbytes(4096), PREFACE + self._draw.randbytes(4096)):
            await self._exchange(self._agent, raw)

    async def _connection_that_is_left(self) -> None:
        """A connection cut in the middle of a frame that promises 16 KiB."""
        reader, writer = await asyncio.open_unix_connection(self._agent)
        writer.write(
            PREFACE + b"\0\0\0\4\0\0\0\0\0" + struct.pack(">I", 0x00400000)[1:] + b"\0" * 9
        )
        await writer.drain()
        await reader.read(9)
        writer.transport.abort()

    async def _post(self, body: bytes) -> None:
        head = (
            "POST /v1/sessions/hostile/turns HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        answer = await self._exchange(self._http, head.encode() + body)
        # A body beyond the bound may be refused by closing while it is still being sent.
        assert not answer or answer.split(b" ", 2)[1] in (b"200", b"400", b"409", b"413"), answer

    async def _exchange(self, path: Path, raw: bytes) -> bytes:
        """Send bytes, and hear what comes until the other side closes."""
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                writer.write(raw)
                await writer.drain()
                return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.transport.abort()

    async def _next_legal_turn(self, channel: grpc.aio.Channel) -> None:
        wire = Wire(channel)
        await wire.send(pb.ObserveRequest(open=run_pb2.Open()))
        await wire.send(pb.ObserveRequest(turn=run_pb2.Turn(sequence=1, output_lines=1)))
        opened = await wire.hear(ANSWER_WITHIN_S)
        decided = await wire.hear(ANSWER_WITHIN_S)
        wire.drop()
        assert opened is not None and opened.HasField("opened"), opened
        assert decided is not None and decided.decision.sequence == 1, decided


async def _end_of(wire: Wire, messages: list[bytes]) -> Broken | None:
    """How the stream ends after these; None: not in time."""
    try:
        for message in messages:
            await wire.send(message)
        await wire.half_close()
        while await wire.hear(ANSWER_WITHIN_S) is not None:
            pass
    except Broken as broken:
        return broken
    return None


def _large(size: int) -> run_pb2.Turn:
    call = run_pb2.ToolCall(name="bash", result_text="x" * size)
    return run_pb2.Turn(sequence=1, tool_calls=[call])


def _malformed() -> list[run_pb2.Turn]:
    many = run_pb2.Turn(sequence=1, tool_calls=[run_pb2.ToolCall(name="a")] * 257)
    nan = run_pb2.Turn(sequence=1, confidence=float("nan"), reward=float("inf"))
    nested = run_pb2.ToolCall(name="a", arguments_json="[" * DEEP)
    deep = run_pb2.Turn(sequence=1, tool_calls=[nested])
    broken = run_pb2.ToolCall(name="a", arguments_json=json.dumps("\ud800"))
    return [
        many,
        nan,
        deep,
        run_pb2.Turn(sequence=1, tool_calls=[broken]),
        run_pb2.Turn(sequence=0),
        run_pb2.Turn(sequence=7),
        run_pb2.Turn(sequence=2**32 - 1),
    ]


async def main(directory: Path, seed: int, seconds: float) -> None:
    """Rounds for so long, and at least one; a line after each."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    hostile = Hostile(directory, seed)
    async with grpc.aio.insecure_channel(f"unix:{directory}/agent.sock", OPTIONS) as channel:
        number = 0
        while number == 0 or loop.time() < until:
            number += 1
            await hostile.round(channel)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
