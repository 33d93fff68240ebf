"""Recorded runs through a live sidecar: the same file, the same decisions, over the wire."""

from collections.abc import Iterable, Iterator
from queue import SimpleQueue
from typing import Any

import grpc

from sidecar.adapters.run_file import BrokenLine, Line
from sidecar.addresses import parse_address
from sidecar.replaying import Problem, session_name
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import convergence_service_pb2_grpc, run_pb2, session_service_pb2_grpc
from sidecar.v1 import session_service_pb2 as admin_pb

ANSWER_WITHIN_S = 30.0
STREAM_WITHIN_S = 3600.0
"""For one file; a recorded run of a day replays in seconds."""


class EndedError(Exception):
    """The sidecar ended the stream before the file's end."""


REASON = "replayed from a run file"


class LiveReplay:
    """One run file through one stream, a message at a time."""

    def __init__(self, source: str, *, target: str, admin: str | None, policy: str) -> None:
        self._source = source
        self._policy = policy
        self._admin = admin
        self._channel = grpc.insecure_channel(parse_address(target).target)
        self._requests: SimpleQueue[pb.ObserveRequest | None] = SimpleQueue()
        stub = convergence_service_pb2_grpc.ConvergenceServiceStub(self._channel)  # type: ignore[no-untyped-call, unused-ignore]
        self._responses: Any = stub.Observe(iter(self._requests.get, None), timeout=STREAM_WITHIN_S)
        self._session_id = ""
        self._last = 0

    def run(self, lines: Iterable[Line | BrokenLine]) -> Iterator[pb.ObserveResponse | Problem]:
        """What the sidecar answers, line by line, and what could not be read or sent."""
        number = 0
        try:
            for line in lines:
                number = line.number
                match line:
                    case BrokenLine(problem=problem):
                        yield Problem(number=number, text=problem)
                    case Line(message=message):
                        yield from self._send(number, message)
            self._requests.put(None)
            for _ in self._responses:
                pass
        except grpc.RpcError as error:
            yield Problem(number=number, text=f"{error.code().name}: {error.details()}")
        except EndedError:
            yield Problem(number=number, text="the sidecar ended the stream here")
        finally:
            self._requests.put(None)
            self._responses.cancel()
            self._channel.close()

    def _send(self, number: int, line: pb.RunFileLine) -> Iterator[pb.ObserveResponse | Problem]:
        match line.WhichOneof("message"):
            case "open" if not self._session_id:
                yield self._open(line.open)
            case "turn":
                line.turn.sequence = line.turn.sequence or self._last + 1
                self._last = max(self._last, line.turn.sequence)
                yield self._ask(pb.ObserveRequest(turn=line.turn))
            case "close":
                self._requests.put(pb.ObserveRequest(close=line.close))
            case "command":
                yield from self._command(number, line.command)
            case "open" | "rejected":
                yield Problem(
                    number=number,
                    text="a resume or a rejected turn cannot be sent again; "
                    "replay this file without --target",
                )
            case _:
                pass

    def _open(self, wire: run_pb2.Open) -> pb.ObserveResponse:
        wire.session_id = wire.session_id or session_name(self._source)
        wire.policy = self._policy or wire.policy
        # Whoever replays a run wants its decisions, whether or not its agent did.
        wire.mode = run_pb2.MODE_ENFORCE
        self._session_id = wire.session_id
        return self._ask(pb.ObserveRequest(open=wire))

    def _ask(self, request: pb.ObserveRequest) -> pb.ObserveResponse:
        self._requests.put(request)
        return self._next()

    def _next(self) -> pb.ObserveResponse:
        response: pb.ObserveResponse
        for response in self._responses:
            if not response.HasField("draining"):
                return response
        raise EndedError

    def _command(
        self, number: int, command: run_pb2.Command
    ) -> Iterator[pb.ObserveResponse | Problem]:
        which = command.WhichOneof("action")
        if self._admin is None or which not in ("continue", "reset"):
            yield Problem(
                number=number,
                text="a continue or reset needs --admin ADDRESS to be sent; "
                "replay this file without --target",
            )
            return
        with grpc.insecure_channel(parse_address(self._admin).target) as channel:
            service = session_service_pb2_grpc.SessionServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
            if which == "reset":
                reason = command.reset.reason or REASON
                request = admin_pb.ResetSessionRequest(session_id=self._session_id, reason=reason)
                service.ResetSession(request, timeout=ANSWER_WITHIN_S)
            else:
                action: run_pb2.ContinueCommand = getattr(command, "continue")
                service.ContinueSession(
                    admin_pb.ContinueSessionRequest(
                        session_id=self._session_id,
                        reason=action.reason or REASON,
                        extra_turns=action.extra_turns,
                        extra_input_tokens=action.extra_input_tokens,
                    ),
                    timeout=ANSWER_WITHIN_S,
                )
        yield self._next()


def replay_live(
    source: str,
    lines: Iterable[Line | BrokenLine],
    *,
    target: str,
    admin: str | None,
    policy: str,
) -> Iterator[pb.ObserveResponse | Problem]:
    """What a live sidecar answers to a run file."""
    return LiveReplay(source, target=target, admin=admin, policy=policy).run(lines)
