"""Streams from this process to a sidecar in another, one message at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import grpc

from sidecar.testing import SidecarProcess
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import convergence_service_pb2_grpc, run_pb2

ANSWER_WITHIN_S = 120.0
"""The whole of a stream, with all that a test does in it; only ends one that hangs."""


class BlockingAgent:
    """One stream."""

    def __init__(self, address: str, session_id: str, **facts: Any) -> None:
        self._channel = grpc.insecure_channel(address)
        stub: Any = convergence_service_pb2_grpc.ConvergenceServiceStub(self._channel)  # type: ignore[no-untyped-call, unused-ignore]
        self._requests: SimpleQueue[pb.ObserveRequest | None] = SimpleQueue()
        self.responses: Any = stub.Observe(
            iter(self._requests.get, None), timeout=ANSWER_WITHIN_S, wait_for_ready=True
        )
        self._requests.put(pb.ObserveRequest(open=run_pb2.Open(session_id=session_id, **facts)))
        self.last_sequence = next(self.responses).opened.last_sequence

    def send(self, sequence: int, **facts: Any) -> None:
        facts.setdefault("output_lines", sequence)
        self._requests.put(pb.ObserveRequest(turn=run_pb2.Turn(sequence=sequence, **facts)))

    def turn_of(self, turn: run_pb2.Turn) -> run_pb2.Decision:
        self._requests.put(pb.ObserveRequest(turn=turn))
        return self.decision()

    def turn(self, sequence: int, **facts: Any) -> run_pb2.Decision:
        self.send(sequence, **facts)
        return self.decision()

    def decision(self) -> run_pb2.Decision:
        """The next decision, whatever else comes before it."""
        while True:
            response: pb.ObserveResponse = next(self.responses)
            if response.HasField("decision"):
                return response.decision

    def wait_drained(self) -> None:
        while not next(self.responses).HasField("draining"):
            pass

    def leave_when_drained(self) -> grpc.StatusCode:
        self.wait_drained()
        return self.half_close()

    def half_close(self) -> grpc.StatusCode:
        self._requests.put(None)
        for _ in self.responses:
            pass
        code: grpc.StatusCode = self.responses.code()
        return code

    def read_all_decisions_until(self, last: int) -> list[int]:
        found: list[int] = []
        while not found or found[-1] < last:
            found.append(self.decision().sequence)
        return found

    def close(self) -> grpc.StatusCode:
        self._requests.put(pb.ObserveRequest(close=run_pb2.Close()))
        return self.half_close()

    def drop(self) -> None:
        self._requests.put(None)
        self.responses.cancel()
        self._channel.close()


@contextmanager
def agents(sidecar: SidecarProcess, count: int, **facts: Any) -> Iterator[list[BlockingAgent]]:
    """So many streams, each with a session of its own."""
    fleet = [BlockingAgent(sidecar.agent, f"s{number}", **facts) for number in range(count)]
    try:
        yield fleet
    finally:
        for agent in fleet:
            agent.drop()


def open_turn(session_id: str) -> pb.RecordTurnRequest:
    return pb.RecordTurnRequest(
        open=run_pb2.Open(session_id=session_id), turn=run_pb2.Turn(output_lines=1)
    )
