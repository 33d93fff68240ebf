"""A fault of the sidecar itself: its caller learns that there was one and nothing else, it is
counted, and the next caller is served."""

from pathlib import Path

import grpc
import pytest

from sidecar.ports import Entry
from sidecar.testing import MemoryStore
from sidecar.testing.recorder import WasRefused
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from tests.wire.json_ports import ports
from tests.wire.served import ANSWER_WITHIN_S, Agent, World, opening, reason_of, served, turning

CONTENT = "canary7Quokka"


class Failing(MemoryStore):
    """A store with a fault, which meets with one session only."""

    def append(self, entry: Entry) -> None:
        if entry.session_id == "bad":
            raise RuntimeError(f"cannot keep {CONTENT}")
        super().append(entry)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(directory=tmp_path)
    world.store = Failing(lost=world.recorder.lost)
    return world


def internal(world: World) -> int:
    """Faults that were counted."""
    return world.recorder.of(WasRefused).count(WasRefused(reason="INTERNAL"))


async def test_a_stream_that_fails_ends_without_a_word_of_what_it_met_with(world: World) -> None:
    async with served(world) as server:
        failing = server.convergence.Observe(timeout=ANSWER_WITHIN_S)
        await failing.write(opening("bad"))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await failing.read()

        assert refused.value.code() is grpc.StatusCode.INTERNAL
        assert reason_of(refused.value).reason == "INTERNAL"
        assert CONTENT not in f"{refused.value.details()} {refused.value.trailing_metadata()}"
        assert internal(world) == 1
        agent = Agent(server)
        await agent.ask(opening("good"))
        assert (await agent.ask(turning(1))).decision.sequence == 1


async def test_a_single_call_that_fails_is_answered_as_sparingly(world: World) -> None:
    request = pb.RecordTurnRequest(open=run_pb2.Open(session_id="bad"), turn=run_pb2.Turn())
    async with served(world) as server:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await server.convergence.RecordTurn(request)

    assert refused.value.code() is grpc.StatusCode.INTERNAL
    assert CONTENT not in f"{refused.value.details()} {refused.value.trailing_metadata()}"
    assert internal(world) == 1


async def test_over_http_it_is_a_problem_of_the_server(world: World) -> None:
    async with served(world) as server, ports(server) as http:
        failed = await http.agent.post("/v1/sessions/bad/turns", {"turn": {"output_lines": 1}})
        after = await http.agent.post("/v1/sessions/good/turns", {"turn": {"output_lines": 1}})

    assert (failed.status, after.status) == (500, 200)
    assert CONTENT.encode() not in failed.body
    assert CONTENT not in str(failed.headers)
    assert internal(world) == 1
