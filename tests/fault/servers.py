"""A small sidecar for the client's tests: a real gRPC server that keeps the protocol's rules, and
can be told to break them. Runs in the test's process, or as a child that can be stopped and killed:

    python servers.py TARGET JOURNAL
"""

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status  # type: ignore[import-untyped]

from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import convergence_service_pb2_grpc as services
from sidecar.v1 import run_pb2 as pb

Answer = Callable[[pb.Turn], pb.Decision | None]
"""What a turn gets; None: nothing. May raise."""

# No test waits longer than this for what is to happen at once; nearly all of it is slack.
PATIENCE_S = 30.0


def proceed(turn: pb.Turn) -> pb.Decision:
    return pb.Decision(
        decision_id=f"{turn.sequence:016x}",
        sequence=turn.sequence,
        cause=pb.CAUSE_TURN,
        state=pb.STATE_HEALTHY,
        proceed=pb.Proceed(),
    )


def rotate(turn: pb.Turn) -> pb.Decision:
    decision = proceed(turn)
    decision.state = pb.STATE_WARNING
    decision.rotate.instruction = f"turn {turn.sequence}: try another way"
    return decision


def nothing(turn: pb.Turn) -> None:
    return None


def unasked(sequence: int, cause: "pb.Cause", **directive: Any) -> wire.ObserveResponse:
    return wire.ObserveResponse(decision=pb.Decision(sequence=sequence, cause=cause, **directive))


class Refusal(Exception):  # noqa: N818 (a status, raised by scripts)
    """Ends a stream with this status."""

    def __init__(
        self,
        code: int,
        reason: str = "",
        *,
        retry_delay_s: float | None = None,
        domain: str = "sidecar",
        **metadata: str,
    ) -> None:
        super().__init__(code, reason)
        self.status = status_pb2.Status(code=code, message=f"refused {reason}")
        if reason:
            self._add(error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=metadata))
        if retry_delay_s is not None:
            delay = Duration()
            delay.FromNanoseconds(int(retry_delay_s * 1e9))
            self._add(error_details_pb2.RetryInfo(retry_delay=delay))

    def _add(self, detail: Any) -> None:
        packed = AnyMessage()
        packed.Pack(detail)
        self.status.details.append(packed)


class Session:
    """What the sidecar holds of one session."""

    def __init__(self) -> None:
        self.turns: dict[int, pb.Turn] = {}
        self.last_sequence = 0
        self.missing = 0
        self.closed: pb.Close | None = None


class StandIn(services.ConvergenceServiceServicer):
    """Keeps the protocol; `answer` and `on_open` say what is out of the ordinary."""

    def __init__(
        self,
        answer: Answer = proceed,
        *,
        on_open: Callable[[pb.Open], None] = lambda opening: None,
        opened: wire.Opened | None = None,
        journal: Path | None = None,
    ) -> None:
        self.answer = answer
        self.on_open = on_open
        self.opened = wire.Opened() if opened is None else opened
        self.journal = journal
        self.sessions: dict[str, Session] = {}
        self.requests: list[wire.ObserveRequest] = []
        self.streams: list[list[wire.ObserveRequest]] = []
        self.metadata: list[dict[str, Any]] = []
        self.half_closed = 0
        self.changed = threading.Condition()
        self._outgoing: queue.SimpleQueue[wire.ObserveResponse | Exception | None] | None = None

    # What tests ask.

    def wait_for(self, predicate: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(predicate, PATIENCE_S), self.requests

    def of_kind(self, kind: str) -> list[wire.ObserveRequest]:
        with self.changed:
            return [one for one in self.requests if one.WhichOneof("message") == kind]

    @property
    def opens(self) -> list[pb.Open]:
        return [one.open for one in self.of_kind("open")]

    @property
    def turns(self) -> list[pb.Turn]:
        return [one.turn for one in self.of_kind("turn")]

    def push(self, response: wire.ObserveResponse | Exception | None) -> None:
        """Sends this on the latest stream; an exception, or None for OK, ends it."""
        assert self._outgoing is not None
        self._outgoing.put(response)

    # The service.

    def Observe(  # noqa: N802
        self, request_iterator: Any, context: Any
    ) -> Iterator[wire.ObserveResponse]:
        outgoing: queue.SimpleQueue[wire.ObserveResponse | Exception | None] = queue.SimpleQueue()
        with self.changed:
            self._outgoing = outgoing
            self.streams.append([])
            self.metadata.append(dict(context.invocation_metadata()))
            number = len(self.streams) - 1
        context.add_callback(lambda: outgoing.put(None))
        threading.Thread(
            target=self._read, args=(number, request_iterator, outgoing), daemon=True
        ).start()
        while (response := outgoing.get()) is not None:
            match response:
                case Refusal():
                    context.abort_with_status(rpc_status.to_status(response.status))
                case Exception():
                    raise response
                case _:
                    yield response

    def RecordTurn(  # noqa: N802
        self, request: wire.RecordTurnRequest, context: Any
    ) -> wire.RecordTurnResponse:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "the client does not call it")
        raise AssertionError

    def _read(self, number: int, requests: Any, outgoing: Any) -> None:
        session = Session()
        try:
            for request in requests:
                with self.changed:
                    self.requests.append(request)
                    self.streams[number].append(request)
                    self.changed.notify_all()
                match request.WhichOneof("message"):
                    case "open":
                        session = self._open(request.open, outgoing)
                    case "turn":
                        self._turn(session, request.turn, outgoing)
                    case "close":
                        session.closed = request.close
            with self.changed:
                self.half_closed += 1
                self.changed.notify_all()
            outgoing.put(None)
        except Exception as error:  # noqa: BLE001 (what a script raises is how the stream ends)
            outgoing.put(error)

    def _open(self, opening: pb.Open, outgoing: Any) -> Session:
        self.on_open(opening)
        session = self.sessions.setdefault(opening.session_id, Session())
        if session.closed is not None:
            raise Refusal(9, "SESSION_CLOSED")
        opened = wire.Opened()
        opened.CopyFrom(self.opened)
        opened.session_id = opening.session_id
        opened.last_sequence = opened.last_sequence or session.last_sequence
        lost = opening.first_available_sequence - 1 - session.last_sequence
        if lost > 0:
            session.missing += lost
            session.last_sequence += lost
            opened.missing = lost
        outgoing.put(wire.ObserveResponse(opened=opened))
        session.last_sequence = max(session.last_sequence, opened.last_sequence)
        return session

    def _turn(self, session: Session, turn: pb.Turn, outgoing: Any) -> None:
        if turn.sequence > session.last_sequence + 1:
            raise Refusal(9, "SEQUENCE_GAP", expected=str(session.last_sequence + 1))
        held = session.turns.setdefault(turn.sequence, turn)
        if held != turn:
            raise Refusal(10, "SEQUENCE_CONFLICT")
        session.last_sequence = max(session.last_sequence, turn.sequence)
        if self.journal is not None:
            with self.journal.open("a") as journal:
                journal.write(f"{turn.sequence}\n")
        decision = self.answer(turn)
        if decision is not None:
            outgoing.put(wire.ObserveResponse(decision=decision))


class Server:
    """A server in this process."""

    def __init__(
        self, target: str, servicer: StandIn, *options: tuple[str, int], **security: Any
    ) -> None:
        self.server = grpc.server(ThreadPoolExecutor(8), options=options)
        services.add_ConvergenceServiceServicer_to_server(servicer, self.server)
        credentials = security.get("credentials")
        if credentials is None:
            self.port = self.server.add_insecure_port(target)
        else:
            self.port = self.server.add_secure_port(target, credentials)
        self.server.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        assert self.server.stop(None).wait(PATIENCE_S)


def main(target: str, journal: str) -> NoReturn:
    with Server(target, StandIn(journal=Path(journal))):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        threading.Event().wait()
    raise SystemExit


if __name__ == "__main__":
    main(*sys.argv[1:])
