"""Recorded runs through a live sidecar: the same file, the same decisions, over the wire."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

import grpc

from sidecar.adapters.run_file import BrokenLine, Line
from sidecar.client.channel import ending_of
from sidecar.connecting import ANSWER_WITHIN_S
from sidecar.connection_faults import FAULTS, ConnectionFault
from sidecar.refusal import Refusal
from sidecar.replaying.lines import Recording
from sidecar.replaying.recorded import MESSAGE_BYTES_MAX, Problem, session_name
from sidecar.sessions.session import REQUESTS_MAX
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import convergence_service_pb2_grpc, run_pb2
from sidecar.v1 import session_service_pb2 as admin_pb
from sidecar.wording import counted

Control: TypeAlias = Callable[[], AbstractContextManager[Any]]
"""Opens the way to the control plane: a stub of SessionService."""

REASON = "replayed from a run file"


class EndedError(Exception):
    """The sidecar ended the stream before the file's end."""


class LiveReplay:
    """One run file through one session, a message at a time. As an agent does, it resumes after
    turns that are lost, and after a message that ended its stream."""

    def __init__(
        self,
        source: str,
        *,
        channel: grpc.Channel,
        control: Control | None,
        policy: str,
        answer_within_s: float = ANSWER_WITHIN_S,
    ) -> None:
        """`answer_within_s` bounds the wait for the answer to each message, in seconds."""
        self._source = source
        self._policy = policy
        self._control = control
        self._stub: Any = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
        self._stream: _Stream | None = None
        self._opening: run_pb2.Open | None = None
        """What the session was opened with; None: it is not."""
        self._is_closed = False
        """Whether it was; a second time does nothing."""
        self._answer_within_s = answer_within_s
        self._recording = Recording()
        self._message_bytes_max = MESSAGE_BYTES_MAX
        """What the sidecar says that it takes, once it has opened the session."""
        self._last = 0
        """Sequence of the last turn answered."""
        self._told = ""
        """Id of the last decision that no turn asked for."""
        self._obeyed: tuple[tuple[str, str], ...] = ()
        """The named commands, as a session remembers them: nothing answers a repeat."""

    def run(self, lines: Iterable[Line | BrokenLine]) -> Iterator[pb.ObserveResponse | Problem]:
        """What the sidecar answers, line by line, and what could not be read or sent.

        Raises grpc.RpcError and ConnectionFault where no file would have fared better.
        """
        number = 0
        try:
            for line in lines:
                number = line.number
                match line:
                    case BrokenLine(problem=problem):
                        self._recording.has_lost_lines = True
                        yield Problem(number=number, text=problem)
                    case Line(message=message):
                        yield from self._sent(number, self._send(number, message))
            yield from self._sent(number, self._end())
        finally:
            self._let_go()

    def _end(self) -> Iterator[pb.ObserveResponse | Problem]:
        self._finish()
        yield from ()

    def _sent(
        self, number: int, answers: Iterator[pb.ObserveResponse | Problem]
    ) -> Iterator[pb.ObserveResponse | Problem]:
        try:
            yield from answers
        except grpc.RpcError as error:
            self._let_go()
            yield Problem(number=number, text=_said(error))
        except EndedError:
            self._let_go()
            yield Problem(number=number, text="the sidecar ended the stream here")

    def _send(self, number: int, line: pb.RunFileLine) -> Iterator[pb.ObserveResponse | Problem]:
        try:
            if not self._is_taken(line):
                return
        except Refusal as refusal:
            yield Problem(number=number, text=str(refusal))
            return
        which = line.WhichOneof("message")
        if which == "open" and line.inherited_json:
            yield Problem(
                number=number,
                text="a run that goes on with another's state cannot be sent; "
                "replay this file without --target",
            )
        elif which == "open" and self._opening is None:
            yield from self._open(number, line)
        elif self._opening is not None:
            yield from self._go_on(number, line, self._opening)

    def _is_taken(self, line: pb.RunFileLine) -> bool:
        return self._recording.takes(
            line,
            session_id="" if self._opening is None else self._opening.session_id,
            last_sequence=None if self._opening is None else self._last,
            message_bytes_max=self._message_bytes_max,
        )

    def _go_on(
        self, number: int, line: pb.RunFileLine, opening: run_pb2.Open
    ) -> Iterator[pb.ObserveResponse | Problem]:
        match line.WhichOneof("message"):
            case "open":
                self._resume(
                    self._recording.resumption(
                        line.open, begun=opening, is_policy_replaced=bool(self._policy)
                    )
                )
            case "turn":
                yield self._turn(line.turn, opening)
            case "close" if not self._is_closed:
                self._attached(opening).say(pb.ObserveRequest(close=line.close))
                self._is_closed = True
            case "command":
                yield from self._command(number, line.command, opening)
            case "rejected":
                self._recording.has_lost_lines = True
                yield Problem(
                    number=number,
                    text="a rejected turn cannot be sent again; replay this file without --target",
                )
            case _:
                pass

    def _open(self, number: int, line: pb.RunFileLine) -> Iterator[pb.ObserveResponse | Problem]:
        wire = run_pb2.Open()
        wire.CopyFrom(line.open)
        if line.HasField("granted_limits") and not self._policy:
            # What the run was given is asked for, and given unless a ceiling is lower by now.
            wire.limits.CopyFrom(line.granted_limits)
        wire.session_id = wire.session_id or session_name(self._source)
        wire.policy = self._policy or wire.policy
        # In MODE_OBSERVE nobody is answered. What was decided after a commit that the agent was
        # not told may differ: see docs/protocol.md.
        wire.mode = run_pb2.MODE_ENFORCE
        _, response = self._attach(wire)
        self._opening = wire
        opened = response.opened
        self._message_bytes_max = opened.turn_bytes_max or MESSAGE_BYTES_MAX
        self._last = opened.missing
        if opened.last_sequence != opened.missing:
            yield Problem(
                number=number,
                text=f"the sidecar has {counted(opened.last_sequence, 'turn')} of a session "
                f"{opened.session_id!r} already, so it may decide otherwise: "
                "give this run a session_id of its own",
            )
        yield response

    def _resume(self, opening: run_pb2.Open) -> "_Stream":
        self._finish()
        stream, _ = self._attach(opening)
        self._last = max(self._last, opening.first_available_sequence - 1)
        return stream

    def _resume_at(self, opening: run_pb2.Open, first_available_sequence: int) -> "_Stream":
        resumed = run_pb2.Open()
        resumed.CopyFrom(opening)
        resumed.first_available_sequence = first_available_sequence
        return self._resume(resumed)

    def _attach(self, opening: run_pb2.Open) -> "tuple[_Stream, pb.ObserveResponse]":
        self._stream = stream = _Stream(self._stub, answer_within_s=self._answer_within_s)
        stream.say(pb.ObserveRequest(open=opening))
        return stream, self._next(stream)

    def _attached(self, opening: run_pb2.Open) -> "_Stream":
        return self._stream or self._resume_at(opening, 0)

    def _finish(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.finish()

    def _let_go(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()

    def _turn(self, turn: run_pb2.Turn, opening: run_pb2.Open) -> pb.ObserveResponse:
        if self._recording.has_lost_lines and turn.sequence > self._last + 1:
            # What is missing after a broken line was in it, as when an agent lost turns.
            self._resume_at(opening, turn.sequence)
        stream = self._attached(opening)
        stream.say(pb.ObserveRequest(turn=turn))
        decided = self._next(stream)
        self._last = max(self._last, turn.sequence)
        return decided

    def _next(self, stream: "_Stream") -> pb.ObserveResponse:
        """The next answer but `draining`, and but what was told before and comes again on resume
        in case that nobody heard it."""
        while (response := stream.heard()) is not None:
            told = _told(response.decision)
            if response.HasField("draining") or (told and told == self._told):
                continue
            self._told = told or self._told
            return response
        raise EndedError

    def _command(
        self, number: int, command: run_pb2.Command, opening: run_pb2.Open
    ) -> Iterator[pb.ObserveResponse | Problem]:
        which = command.WhichOneof("action")
        if which not in ("continue", "reset"):
            yield Problem(
                number=number,
                text=f"nobody can send the command {which}; replay this file without --target",
            )
            return
        if self._control is None:
            yield Problem(
                number=number,
                text="a continue or reset needs --admin ADDRESS to be sent; "
                "replay this file without --target",
            )
            return
        stream: _Stream | None = None
        if self._is_closed:
            self._finish()  # or the command might come before the goodbye
        else:
            stream = self._attached(opening)
        with self._control() as service:
            problem = _steer(service, command, opening.session_id)
        request = which, getattr(command, which).request_id
        if problem:
            yield Problem(number=number, text=problem)
        elif stream is not None and request not in self._obeyed:
            self._obeyed = (*self._obeyed, *([request] if request[1] else []))[-REQUESTS_MAX:]
            yield self._next(stream)


class _Stream:
    """One `Observe` call; what is said is sent as it is said."""

    def __init__(self, stub: Any, *, answer_within_s: float) -> None:
        self._answer_within_s = answer_within_s
        self._requests: SimpleQueue[pb.ObserveRequest | None] = SimpleQueue()
        self._answers: SimpleQueue[pb.ObserveResponse | grpc.RpcError | None] = SimpleQueue()
        self._call: Any = stub.Observe(iter(self._requests.get, None))
        # grpc bounds a call as a whole, and not the wait for its next message: a thread listens.
        Thread(target=self._listen, daemon=True).start()

    def say(self, request: pb.ObserveRequest) -> None:
        self._requests.put(request)

    def finish(self) -> None:
        """Half-close, and wait for the end. Raises as `heard` does."""
        self._requests.put(None)
        while self.heard() is not None:
            pass

    def cancel(self) -> None:
        self._requests.put(None)
        self._call.cancel()

    def heard(self) -> pb.ObserveResponse | None:
        """The next message; None: the stream has ended.

        Raises grpc.RpcError where it ended with one, and ConnectionFault where nothing came.
        """
        try:
            found = self._answers.get(timeout=self._answer_within_s)
        except Empty:
            raise ConnectionFault(
                f"the sidecar did not answer within {self._answer_within_s:g} s", answered=False
            ) from None
        if isinstance(found, grpc.RpcError):
            raise found
        return found

    def _listen(self) -> None:
        try:
            for response in self._call:
                self._answers.put(response)
            self._answers.put(None)
        except grpc.RpcError as error:
            self._answers.put(error)


def _told(decision: run_pb2.Decision) -> str:
    """The id of a decision that no turn asked for; empty: it is another."""
    asked = decision.cause in (run_pb2.CAUSE_UNSPECIFIED, run_pb2.CAUSE_TURN)
    return "" if asked else decision.decision_id


def _steer(service: Any, command: run_pb2.Command, session_id: str) -> str:
    """Sends a continue or reset; why it was refused, empty: it was not."""
    try:
        if command.HasField("reset"):
            service.ResetSession(
                admin_pb.ResetSessionRequest(
                    session_id=session_id,
                    reason=command.reset.reason or REASON,
                    request_id=command.reset.request_id,
                )
            )
            return ""
        action: run_pb2.ContinueCommand = getattr(command, "continue")
        service.ContinueSession(
            admin_pb.ContinueSessionRequest(
                session_id=session_id,
                reason=action.reason or REASON,
                request_id=action.request_id,
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
    return f"{ending_of(error).reason or error.code().name}: {error.details()}"
