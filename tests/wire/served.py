"""A sidecar's services in this process, over a real Unix socket, with a clock that is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from sidecar.adapters.calls import AnswerCalls, Calls, ControlCalls, TurnCalls
from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.calls.turns import MessageBounds
from sidecar.adapters.convert import TurnBounds
from sidecar.adapters.grpc import (
    ConvergenceService,
    Listener,
    ListenerSettings,
    SessionService,
)
from sidecar.adapters.grpc.answer_service import AnswerService
from sidecar.adapters.grpc.convergence import StreamBounds
from sidecar.addresses import Address
from sidecar.commit import ForceCommit
from sidecar.config.models import JudgeSettings
from sidecar.core.limits import Limits
from sidecar.judging.judge import Judge
from sidecar.judging.schedule import Judging
from sidecar.kept_texts import KeptTexts
from sidecar.models.metered import MeteredModel
from sidecar.models.purse import Purse, PurseBounds
from sidecar.nowhere import NoKeeper
from sidecar.policies import Policies
from sidecar.ports import Model
from sidecar.presets import PRESETS, preset, watching_judges
from sidecar.review import Reviewer
from sidecar.sessions.sessions import SessionBounds, Sessions
from sidecar.testing import FakeClock, MemoryRecorder, MemoryStore
from sidecar.v1 import (
    answer_service_pb2_grpc,
    convergence_service_pb2_grpc,
    run_pb2,
    session_service_pb2_grpc,
)
from sidecar.v1 import convergence_service_pb2 as pb

KEY = b"a key for tests only"
SERVICE = "sidecar.v1.ConvergenceService"
ADMIN_SERVICE = "sidecar.v1.SessionService"
ANSWER_WITHIN_S = 9.0
"""Less than the ten seconds after which a listener hangs up on who sends nothing."""


@dataclass(slots=True, kw_only=True)
class World:
    """What is around the services."""

    directory: Path
    clock: FakeClock = field(default_factory=FakeClock)
    recorder: MemoryRecorder = field(default_factory=MemoryRecorder)
    store: MemoryStore = field(init=False)
    bounds: SessionBounds = field(default_factory=SessionBounds)
    stream_bounds: StreamBounds = field(default_factory=StreamBounds)
    turn_bounds: TurnBounds = field(default_factory=TurnBounds)
    message_bounds: MessageBounds = field(default_factory=MessageBounds)
    ceiling: Limits = field(default_factory=Limits)
    default_policy: str = "default"
    token: str = ""
    watchers_max: int = 4
    model: Model | None = None
    """For forced commits and reviews alike; None: none is configured."""
    model_timeout_s: float = 20.0
    purse_bounds: PurseBounds = field(default_factory=PurseBounds)
    texts: KeptTexts = field(default_factory=KeptTexts)
    judge: Model | None = None
    """Judges every run of three turns and more; None: nobody does."""

    def __post_init__(self) -> None:
        self.store = MemoryStore(lost=self.recorder.lost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The services, and channels to them."""

    world: World
    sessions: Sessions
    service: ConvergenceService
    calls: Calls
    judging: Judging | None
    agent: grpc.aio.Channel
    admin: grpc.aio.Channel

    @property
    def convergence(self) -> Any:
        return convergence_service_pb2_grpc.ConvergenceServiceStub(self.agent)

    @property
    def answers(self) -> Any:
        return answer_service_pb2_grpc.AnswerServiceStub(self.agent)

    @property
    def control(self) -> Any:
        return session_service_pb2_grpc.SessionServiceStub(self.admin)


@asynccontextmanager
async def served(world: World) -> AsyncIterator[Served]:
    """Serve, until the block ends."""
    sessions = Sessions(
        policies=Policies(
            by_name={
                name: watching_judges(preset(name)) if world.judge else preset(name)
                for name in PRESETS
            },
            default=world.default_policy,
            ceiling=world.ceiling,
        ),
        bounds=world.bounds,
        clock=world.clock,
        journal=world.store,
        snapshots=world.store,
        recorder=world.recorder,
        keeper=NoKeeper(),
    )
    authorization = Authorization(token=world.token)
    recall = Recall(sessions)
    judging = None if world.judge is None else _judging(world, sessions, world.judge)
    calls = Calls(
        turns=TurnCalls(
            sessions,
            recall=recall,
            key=KEY,
            turn_bounds=world.turn_bounds,
            message_bounds=world.message_bounds,
            recorder=world.recorder,
            clock=world.clock,
            texts=world.texts,
        ),
        answers=_answers(world, sessions, recall),
        control=ControlCalls(sessions, recall=recall, journal=world.store),
    )
    service = ConvergenceService(
        sessions,
        turns=calls.turns,
        recall=recall,
        stream_bounds=world.stream_bounds,
        recorder=world.recorder,
        authorization=authorization,
    )
    control = SessionService(
        sessions,
        calls=calls.control,
        recall=recall,
        recorder=world.recorder,
        authorization=authorization,
        watchers_max=world.watchers_max,
    )
    agent = _listener(world, SERVICE)
    agent.add(convergence_service_pb2_grpc.add_ConvergenceServiceServicer_to_server, service)
    agent.add(
        answer_service_pb2_grpc.add_AnswerServiceServicer_to_server,
        AnswerService(calls.answers, recorder=world.recorder, authorization=authorization),
    )
    admin = _listener(world, ADMIN_SERVICE)
    admin.add(session_service_pb2_grpc.add_SessionServiceServicer_to_server, control)
    admin.reflect()
    channels = []
    for name, listener in (("agent", agent), ("admin", admin)):
        address = await listener.listen(Address(path=f"{world.directory}/{name}.sock"))
        channels.append(grpc.aio.insecure_channel(address.target))
        await listener.start()
    try:
        yield Served(
            world=world,
            sessions=sessions,
            service=service,
            calls=calls,
            judging=judging,
            agent=channels[0],
            admin=channels[1],
        )
    finally:
        control.stop()
        if judging is not None:
            await judging.close()
        for channel in channels:
            await channel.close()
        await agent.stop(0)
        await admin.stop(0)


def _answers(world: World, sessions: Sessions, recall: Recall) -> AnswerCalls:
    model = (
        None
        if world.model is None
        else MeteredModel(
            world.model,
            purse=Purse(world.purse_bounds, clock=world.clock),
            recorder=world.recorder,
            clock=world.clock,
        )
    )
    return AnswerCalls(
        sessions,
        recall=recall,
        force_commit=None if model is None else ForceCommit(model),
        reviewer=None if model is None else Reviewer(model),
        timeout_s=world.model_timeout_s,
        recorder=world.recorder,
        texts=world.texts,
    )


def _judging(world: World, sessions: Sessions, model: Model) -> Judging:
    return Judging(
        sessions,
        Judge(model),
        settings=JudgeSettings(model=model.name, every_turns=3, from_turn=3),
        journal=world.store,
        texts=world.texts,
        timeout_s=world.model_timeout_s,
        recorder=world.recorder,
    )


def _listener(world: World, service: str) -> Listener:
    settings = ListenerSettings(message_bytes_max=world.message_bounds.message_bytes_max)
    return Listener(settings, [service], recorder=world.recorder)


def opening(session_id: str = "s", **facts: Any) -> pb.ObserveRequest:
    """The first message of a stream."""
    return pb.ObserveRequest(open=run_pb2.Open(session_id=session_id, **facts))


def turning(sequence: int, **facts: Any) -> pb.ObserveRequest:
    """A turn with little in it; the same sequence makes the same turn."""
    facts.setdefault("output_lines", sequence)
    return pb.ObserveRequest(turn=run_pb2.Turn(sequence=sequence, **facts))


def looping(sequence: int) -> pb.ObserveRequest:
    """A turn that repeats what every such turn does."""
    call = run_pb2.ToolCall(name="Grep", arguments_json='{"q": "x"}', result_text="a.py: x")
    return turning(sequence, tool_calls=[call])


def closing(**facts: Any) -> pb.ObserveRequest:
    """The agent's goodbye."""
    return pb.ObserveRequest(close=run_pb2.Close(**facts))


def heartbeat(**facts: Any) -> pb.ObserveRequest:
    """A sign of life."""
    return pb.ObserveRequest(heartbeat=pb.Heartbeat(**facts))


class Agent:
    """One stream, driven message by message."""

    def __init__(self, server: Served) -> None:
        self._call = server.convergence.Observe(timeout=ANSWER_WITHIN_S)

    async def say(self, request: pb.ObserveRequest) -> None:
        """Send it. A stream may have been refused by then, which is read where it is heard."""
        with suppress(grpc.aio.AioRpcError):
            await self._call.write(request)

    async def hear(self) -> pb.ObserveResponse:
        response = await self._call.read()
        assert isinstance(response, pb.ObserveResponse), await self._call.code()
        return response

    async def ask(self, request: pb.ObserveRequest) -> pb.ObserveResponse:
        await self.say(request)
        return await self.hear()

    async def half_close(self) -> None:
        await self._call.done_writing()

    def vanish(self) -> None:
        self._call.cancel()

    async def ended(self) -> grpc.StatusCode:
        """Read to the end; the status."""
        while await self._call.read() is not grpc.aio.EOF:
            pass
        code: grpc.StatusCode = await self._call.code()
        return code

    async def refused(self) -> tuple[grpc.StatusCode, error_details_pb2.ErrorInfo]:
        """Read to the end; the status and its reason."""
        try:
            await self.ended()
        except grpc.aio.AioRpcError as error:
            return error.code(), reason_of(error)
        return await self._call.code(), _reason(await self._call.trailing_metadata())


async def connected(server: Served, *, streams: int) -> None:
    """So many streams have come, whether or not they have opened a session."""
    while server.service.streams < streams:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)


def reason_of(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo:
    """The reason that a refusal gives."""
    return _reason(error.trailing_metadata())


def detail_of(metadata: Any, kind: Any) -> Any:
    """The detail of that kind in a status, or an empty one."""
    raw = dict(metadata or ()).get("grpc-status-details-bin", b"")
    detail = kind()
    for packed in status_pb2.Status.FromString(raw).details:
        if packed.Is(kind.DESCRIPTOR):
            packed.Unpack(detail)
    return detail


def _reason(metadata: Any) -> error_details_pb2.ErrorInfo:
    found: error_details_pb2.ErrorInfo = detail_of(metadata, error_details_pb2.ErrorInfo)
    return found
