"""Sessions that only the store knows: nobody else waits while they are read, and whatever happens
meanwhile, each turn is decided once."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import grpc
import pytest

from sidecar.adapters.calls.recall import Recall
from sidecar.core.opening import Opening
from sidecar.core.turn import Turn
from sidecar.ports import NUMBER_MAX, Entry, Saved
from sidecar.testing import MemoryStore
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.wire.served import (
    ANSWER_WITHIN_S,
    Agent,
    Served,
    World,
    connected,
    looping,
    opening,
    served,
    turning,
)


class StandingStore(MemoryStore):
    """A store whose disk stands still while its gate is shut."""

    def __init__(self, world: World) -> None:
        super().__init__(lost=world.recorder.lost)
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()
        self.loaded: list[str] = []

    def stand_still(self) -> None:
        self.gate.clear()
        self.asked.clear()

    async def is_asked(self) -> None:
        assert await asyncio.to_thread(self.asked.wait, ANSWER_WITHIN_S)

    def load(self, session_id: str) -> Saved | None:
        self.loaded.append(session_id)
        self._wait()
        return super().load(session_id)

    def read(
        self, session_id: str, *, after: int = 0, until: int = NUMBER_MAX, last: int = 1_000_000
    ) -> Sequence[Entry]:
        self._wait()
        return super().read(session_id, after=after, until=until, last=last)

    def _wait(self) -> None:
        self.asked.set()
        assert self.gate.wait(ANSWER_WITHIN_S)


@pytest.fixture
def store(world: World) -> StandingStore:
    world.store = StandingStore(world)
    return world.store


def recording(session_id: str, **facts: Any) -> pb.RecordTurnRequest:
    opened = run_pb2.Open(session_id=session_id)
    return pb.RecordTurnRequest(open=opened, turn=run_pb2.Turn(output_lines=1, **facts))


async def is_served(agent: Agent) -> None:
    """The first ten turns of this agent are answered."""
    for sequence in range(1, 11):
        assert (await agent.ask(turning(sequence))).decision.sequence == sequence


async def leaves(agent: Agent) -> None:
    await agent.half_close()
    await agent.ended()


async def test_while_a_session_is_looked_up_other_agents_are_answered(
    store: StandingStore, server: Served
) -> None:
    other, newcomer = Agent(server), Agent(server)
    await other.ask(opening("other"))
    store.stand_still()
    await newcomer.say(opening("new"))
    await store.is_asked()
    await is_served(other)
    store.gate.set()

    assert (await newcomer.hear()).opened.last_sequence == 0


async def test_while_an_operator_s_session_is_looked_up_agents_are_answered(
    store: StandingStore, server: Served
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    store.stand_still()
    calls = [
        asyncio.ensure_future(call)
        for call in (
            server.control.GetSession(admin_pb.GetSessionRequest(session_id="gone")),
            server.control.CloseSession(admin_pb.CloseSessionRequest(session_id="x", reason="y")),
        )
    ]
    await store.is_asked()
    await is_served(agent)
    store.gate.set()
    for call in calls:
        with pytest.raises(grpc.aio.AioRpcError, match="no session"):
            await call


async def test_while_an_answer_of_before_a_restart_is_looked_up_other_agents_are_answered(
    store: StandingStore, world: World
) -> None:
    async with served(world) as server:
        agent = Agent(server)
        await agent.ask(opening())
        first = [await agent.ask(looping(sequence)) for sequence in range(1, 5)]
        await leaves(agent)
    async with served(world) as server:
        agent, other = Agent(server), Agent(server)
        await other.ask(opening("other"))
        assert (await agent.ask(opening())).opened.last_sequence == 4
        store.stand_still()
        await agent.say(looping(3))
        await store.is_asked()
        await is_served(other)
        store.gate.set()

        assert await agent.hear() == first[2]
        store.stand_still()
        assert [await agent.ask(looping(sequence)) for sequence in (1, 2, 4)] == [
            first[0],
            first[1],
            first[3],
        ]
        assert (await agent.ask(turning(5))).decision.sequence == 5


async def test_a_single_turn_of_before_a_restart_is_answered_as_it_was(
    store: StandingStore, world: World
) -> None:
    async with served(world) as server:
        first = await server.convergence.RecordTurn(recording("s", id="t1"))
        await server.convergence.RecordTurn(recording("s", id="t2"))
        server.sessions.save_all(1.0)
    async with served(world) as server:
        again = await server.convergence.RecordTurn(recording("s", id="t1"))

    assert again.decision == first.decision


async def test_a_session_that_many_ask_for_is_looked_up_once(
    store: StandingStore, server: Served
) -> None:
    store.stand_still()
    calls = [
        asyncio.ensure_future(server.convergence.RecordTurn(recording("s"))) for _ in range(20)
    ]
    await store.is_asked()
    store.gate.set()
    answers = await asyncio.gather(*calls)

    assert sorted(answer.decision.sequence for answer in answers) == list(range(1, 21))
    assert store.loaded == ["s"]


async def test_sessions_that_push_one_another_out_of_memory_lose_no_turn(
    store: StandingStore, world: World
) -> None:
    world.bounds = replace(world.bounds, sessions_max=1)
    async with served(world) as server:
        sessions, recall = server.sessions, Recall(server.sessions)

        async def next_turn(name: str) -> tuple[str, int]:
            async with recall.of(name) as found:
                session, _ = sessions.open(Opening(session_id=name), None, found)
                turn = Turn(sequence=session.last_sequence + 1)
                return name, sessions.turn(session, turn, bytes(8)).sequence

        store.stand_still()
        turns = [asyncio.ensure_future(next_turn(name)) for name in "abc" * 20]
        await store.is_asked()
        store.gate.set()
        decided = await asyncio.gather(*turns)

    assert sorted(decided) == [(name, number) for name in "abc" for number in range(1, 21)]


async def test_the_newer_of_two_streams_has_the_session_that_both_waited_for(
    store: StandingStore, server: Served
) -> None:
    store.stand_still()
    older, newer = Agent(server), Agent(server)
    await older.say(opening())
    await store.is_asked()
    await newer.say(opening())
    await connected(server, streams=2)
    store.gate.set()

    assert (await newer.hear()).opened.last_sequence == 0
    _, info = await older.refused()
    assert info.reason == "SESSION_TAKEN_OVER"
    assert (await newer.ask(turning(1))).decision.sequence == 1


async def test_an_agent_that_goes_while_its_session_is_looked_up_is_in_nobody_s_way(
    store: StandingStore, server: Served
) -> None:
    store.stand_still()
    gone = Agent(server)
    await gone.say(opening())
    await store.is_asked()
    gone.vanish()
    store.gate.set()
    agent = Agent(server)

    assert (await agent.ask(opening())).opened.last_sequence == 0
    assert (await agent.ask(turning(1))).decision.sequence == 1


async def test_a_predecessor_is_looked_up_where_a_session_begins_and_not_again(
    store: StandingStore, world: World
) -> None:
    async with served(world) as server:
        agent = Agent(server)
        await agent.ask(opening("before"))
        await agent.ask(turning(1, approach="edit"))
        await leaves(agent)
    store.loaded.clear()
    async with served(world) as server:
        for _ in range(2):
            agent = Agent(server)
            await agent.ask(opening("after", previous_session_id="before"))
            await leaves(agent)
        run = server.sessions.get("after").run

    assert run.state.story.names == ("edit",)
    assert store.loaded == ["after", "before"]
