"""Recorded runs through a live sidecar: the same file, the same decisions, over the wire."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import Any, TypeAlias

import grpc

from sidecar.adapters.run_file import BrokenLine, Line
from sidecar.connection_faults import FAULTS
from sidecar.replaying import Problem, session_name
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import convergence_service_pb2_grpc, run_pb2
from sidecar.v1 import session_service_pb2 as admin_pb

Control: TypeAlias = Callable[[], AbstractContextManager[Any]]
"""Opens the way to the control plane: a stub of SessionService."""

STREAM_WITHIN_S = 3600.0
"""For one file; a recorded run of a day replays in seconds."""


class EndedError(Exception):
    """The sidecar ended the stream before the file's end."""


REASON = "replayed from a run file"


class LiveReplay:
    """One run file through one stream, a message at a time."""

    def __init__(
        self, source: str, *, channel: grpc.Channel, control: Control | None, policy: str
    ) -> None:
        self._source = source
        self._policy = policy
        self._control = control
        self._requests: SimpleQueue[pb.ObserveRequest | None] = SimpleQueue()
        stub = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
        self._responses: Any = stub.Observe(iter(self._requests.get, None), timeout=STREAM_WITHIN_S)
        self._session_id = ""
        self._last = 0

    def run(self, lines: Iterable[Line | BrokenLine]) -> Iterator[pb.ObserveResponse | Problem]:
        """What the sidecar answers, line by line, and what could not be read or sent.

        Raises grpc.RpcError where no file would have fared better.
        """
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
            yield Problem(number=number, text=_said(error))
        except EndedError:
            yield Problem(number=number, text="the sidecar ended the stream here")
        finally:
            self._requests.put(None)
            self._responses.cancel()

    def _send(self, number: int, line: pb.RunFileLine) -> Iterator[pb.ObserveResponse | Problem]:
        match line.WhichOneof("message"):
            case "open" if line.inherited_json:
                yield Problem(
                    number=number,
                    text="a run that goes on with another's state cannot be sent; "
                    "replay this file without --target",
                )
            case "open" if not self._session_id and not line.inherited_json:
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
                    text="a resume, a rejected turn or a session that goes on from another one "
                    "cannot be sent again; replay this file without --target",
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
        if self._control is None or which not in ("continue", "reset"):
            yield Problem(
                number=number,
                text="a continue or reset needs --admin ADDRESS to be sent; "
                "replay this file without --target",
            )
            return
        with self._control() as service:
            problem = self._steer(service, command)
        yield Problem(number=number, text=problem) if problem else self._next()

    def _steer(self, service: Any, command: run_pb2.Command) -> str:
        """Sends a continue or reset; why it was refused, empty: it was not."""
        try:
            if command.HasField("reset"):
                reason = command.reset.reason or REASON
                request = admin_pb.ResetSessionRequest(session_id=self._session_id, reason=reason)
                service.ResetSession(request)
                return ""
            action: run_pb2.ContinueCommand = getattr(command, "continue")
            service.ContinueSession(
                admin_pb.ContinueSessionRequest(
                    session_id=self._session_id,
                    reason=action.reason or REASON,
                    extra_turns=action.extra_turns,
                    extra_input_tokens=action.extra_input_tokens,
                )
            )
        except grpc.RpcError as error:
            return _said(error)
        return ""


def _said(error: Any) -> str:
    """The error of a call on one line; raises it again where no file would have fared better."""
    if error.code() in FAULTS:
        raise error
    return f"{error.code().name}: {error.details()}"
