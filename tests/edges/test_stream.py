"""What waits for an agent that does not read."""

import asyncio
from typing import Any, cast

from sidecar.adapters.calls.cohort import Cohort
from sidecar.adapters.grpc.stream import UNASKED_MAX, Stream
from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Decision
from sidecar.refusal import Reason, Refusal
from sidecar.testing import MemoryRecorder
from sidecar.testing.recorder import WasLost
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2


class SlowAgent:
    """What gRPC gives to a servicer, and an agent that reads once it is told to."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.read: list[str] = []

    async def write(self, response: pb.ObserveResponse) -> None:
        await self.reads.wait()
        which = response.WhichOneof("message")
        self.read.append(response.decision.decision_id if which == "decision" else str(which))


def stream_to(agent: SlowAgent, recorder: MemoryRecorder, cohort: Cohort | None = None) -> Stream:
    return Stream(
        cast("Any", agent), cohort=cohort or Cohort(), drain_grace_s=1.0, recorder=recorder
    )


def decision(number: int) -> Decision:
    return Decision(
        decision_id=f"d{number}",
        sequence=1,
        cause=Cause.OPERATOR,
        state=State.HEALTHY,
        state_before=State.HEALTHY,
    )


OPENED = pb.ObserveResponse(opened=pb.Opened())


async def test_a_slow_agent_gets_draining_and_the_newest_decisions_the_rest_counted() -> None:
    agent, recorder = SlowAgent(), MemoryRecorder()
    stream = stream_to(agent, recorder)
    agent.reads.set()
    await stream.open(OPENED)
    agent.reads.clear()
    stream.drain()
    for number in range(UNASKED_MAX + 3):
        stream.send(decision(number))
    agent.reads.set()
    await stream.settled()

    newest = [f"d{number}" for number in range(3, UNASKED_MAX + 3)]
    assert agent.read == ["opened", *newest, "draining"]
    assert recorder.of(WasLost) == [WasLost(what="decision", reason="slow_agent", count=1)] * 3


async def test_nothing_comes_before_opened() -> None:
    agent, recorder = SlowAgent(), MemoryRecorder()
    stream = stream_to(agent, recorder)
    stream.send(decision(1))
    opening = asyncio.create_task(stream.open(OPENED))
    await asyncio.sleep(0)
    stream.send(decision(2))
    stream.drain()
    agent.reads.set()
    await opening
    await stream.settled()

    assert agent.read == ["opened", "d1", "d2", "draining"]


async def test_what_was_decided_before_a_turn_is_sent_before_its_answer() -> None:
    agent = SlowAgent()
    agent.reads.set()
    stream = stream_to(agent, MemoryRecorder())
    await stream.open(OPENED)
    stream.send(decision(1))
    await stream.write(pb.ObserveResponse(decision=run_pb2.Decision(decision_id="a", sequence=2)))
    stream.send(decision(2))
    await stream.settled()

    assert agent.read == ["opened", "d1", "a", "d2"]


class Others(Cohort):
    """Turns under way that take their time."""

    def __init__(self) -> None:
        super().__init__()
        self.done = asyncio.Event()

    async def abreast(self) -> None:
        await self.done.wait()


async def test_what_comes_while_an_answer_waits_for_other_turns_is_sent_after_it() -> None:
    agent, others = SlowAgent(), Others()
    agent.reads.set()
    others.done.set()
    stream = stream_to(agent, MemoryRecorder(), others)
    await stream.open(OPENED)
    others.done.clear()
    answer = pb.ObserveResponse(decision=run_pb2.Decision(decision_id="answer"))
    answering = asyncio.create_task(stream.write(answer))
    await asyncio.sleep(0)
    stream.send(decision(1))
    await asyncio.sleep(0)
    others.done.set()
    await answering
    await stream.settled()

    assert agent.read == ["opened", "answer", "d1"]


async def test_what_comes_while_an_answer_waits_for_the_stream_is_sent_after_it() -> None:
    agent = SlowAgent()
    agent.reads.set()
    stream = stream_to(agent, MemoryRecorder())
    await stream.open(OPENED)
    agent.reads.clear()
    stream.send(decision(1))
    await asyncio.sleep(0)  # and d1 is being written
    answer = pb.ObserveResponse(decision=run_pb2.Decision(decision_id="answer"))
    answering = asyncio.create_task(stream.write(answer))
    await asyncio.sleep(0)
    stream.send(decision(2))
    agent.reads.set()
    await answering
    await stream.settled()

    assert agent.read == ["opened", "d1", "answer", "d2"]


async def test_a_stream_that_is_ended_while_it_writes_says_so_after_the_write() -> None:
    agent, recorder = SlowAgent(), MemoryRecorder()
    taken_over = Refusal(Reason.SESSION_TAKEN_OVER, "a newer stream took this session")
    streams = []

    async def serve() -> Refusal | None:
        streams.append(stream_to(agent, recorder))
        try:
            await streams[0].open(OPENED)
        except Refusal as refusal:
            return refusal
        return None

    serving = asyncio.create_task(serve())
    await asyncio.sleep(0)
    streams[0].end(taken_over)
    await asyncio.sleep(0)
    assert not serving.done()
    agent.reads.set()

    assert await serving is taken_over
    assert agent.read == ["opened"]
