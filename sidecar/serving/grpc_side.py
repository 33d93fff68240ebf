"""What a sidecar serves over gRPC: the data plane to agents, the control plane to operators."""

import asyncio
from typing import Final

from sidecar.adapters.calls import Calls
from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.grpc import (
    ConvergenceService,
    Listener,
    ListenerSettings,
    SessionService,
)
from sidecar.adapters.grpc.answer_service import AnswerService
from sidecar.adapters.grpc.convergence import StreamBounds
from sidecar.config.keys import Config
from sidecar.ports import Recorder
from sidecar.serving.listening import Listening
from sidecar.serving.secret_files import Secrets
from sidecar.sessions.sessions import Sessions
from sidecar.v1 import (
    answer_service_pb2_grpc,
    convergence_service_pb2_grpc,
    session_service_pb2_grpc,
)

AGENT_KEYS: Final = ("agent_address", "agent_tcp_address")
AGENT_SERVICES: Final = ("sidecar.v1.ConvergenceService", "sidecar.v1.AnswerService")
ADMIN_KEY: Final = "admin_address"
ADMIN_SERVICE: Final = "sidecar.v1.SessionService"

LOOK_S: Final = 0.01
"""Between two looks whether the streams are gone."""


class GrpcSide:
    """The two gRPC servers of one sidecar."""

    def __init__(
        self,
        config: Config,
        secrets: Secrets,
        sessions: Sessions,
        *,
        listening: Listening,
        calls: Calls,
        recall: Recall,
        recorder: Recorder,
        drain_s: float,
    ) -> None:
        """Streams are asked to go within `drain_s` seconds of the request to stop."""
        self._config = config
        self._secrets = secrets
        self._listening = listening
        self._recorder = recorder
        authorization = Authorization(token=secrets.token)
        self._agents = ConvergenceService(
            sessions,
            turns=calls.turns,
            recall=recall,
            stream_bounds=StreamBounds(
                streams_max=config.streams_max,
                drain_grace_s=drain_s,
                open_timeout_s=config.open_timeout_s,
            ),
            recorder=recorder,
            authorization=authorization,
        )
        self._control = SessionService(
            sessions,
            calls=calls.control,
            recall=recall,
            recorder=recorder,
            authorization=authorization,
            watchers_max=config.watchers_max,
        )
        answers = AnswerService(calls.answers, recorder=recorder, authorization=authorization)
        self._agent_listener = self._for_agents(answers)
        self._control_listener = self._for_operators()

    @property
    def connections_max(self) -> int:
        """Connections that bounded streams may take, where each has one of its own."""
        return self._config.streams_max + self._config.watchers_max

    async def start(self) -> None:
        """Listen. Raises OSError naming an address that there is no sidecar without."""
        for listener, keys in (
            (self._agent_listener, AGENT_KEYS),
            (self._control_listener, (ADMIN_KEY,)),
        ):
            for key in keys:
                await self._listening.listen(key, listener.listen)
            await listener.start()

    async def say_not_serving(self) -> None:
        """Say over gRPC health that no new work is taken."""
        await self._agent_listener.serving(is_serving=False)

    def drain(self) -> None:
        """End what has no session and waits for nothing."""
        self._agents.drain()
        self._control.stop()

    async def streams_gone(self, within_s: float) -> int:
        """Wait, for so long, until no stream is left; how many are."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + within_s
        while self._agents.streams:
            if loop.time() >= deadline_s:
                break
            await asyncio.sleep(LOOK_S)
        return self._agents.streams

    async def stop(self, grace_s: float) -> None:
        """Serve no more; streams that are left are cut after the grace, in seconds."""
        agents_s = grace_s if self._agents.streams else 0
        await asyncio.gather(
            self._agent_listener.stop(agents_s), self._control_listener.stop(grace_s)
        )

    def _for_agents(self, answers: AnswerService) -> Listener:
        listener = self._listener(AGENT_SERVICES)
        listener.add(
            convergence_service_pb2_grpc.add_ConvergenceServiceServicer_to_server, self._agents
        )
        listener.add(answer_service_pb2_grpc.add_AnswerServiceServicer_to_server, answers)
        return listener

    def _for_operators(self) -> Listener:
        listener = self._listener((ADMIN_SERVICE,))
        listener.add(session_service_pb2_grpc.add_SessionServiceServicer_to_server, self._control)
        listener.reflect()
        return listener

    def _listener(self, services: tuple[str, ...]) -> Listener:
        config = self._config
        settings = ListenerSettings(
            message_bytes_max=config.message_bytes_max,
            health_watches_max=config.streams_max,
            socket_mode=config.socket_permissions,
            socket_group=config.socket_group,
            tls=self._secrets.tls,
        )
        return Listener(settings, services, recorder=self._recorder)
