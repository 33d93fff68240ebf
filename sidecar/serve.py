"""The composition root: what a sidecar is made of, and how it starts and stops.

It starts degraded rather than not at all: a store that cannot be written or a collector that is
absent shows in /statusz and in counters, not in an exit code. Only an address that cannot be
listened on stops it, since nobody could reach it then.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from sidecar.adapters.convert import EntryBytes, TurnBounds
from sidecar.adapters.grpc import (
    ConvergenceService,
    Listener,
    ListenerSettings,
    Recall,
    SessionService,
)
from sidecar.adapters.grpc.authorization import Authorization
from sidecar.adapters.grpc.convergence import StreamBounds
from sidecar.adapters.http import HttpListener, admin_pages, telemetry_pages
from sidecar.adapters.loop_files import LoopFiles
from sidecar.adapters.sqlite_store import DATABASE, SqliteStore
from sidecar.adapters.telemetry import Telemetry, TelemetrySettings, build
from sidecar.addresses import Address, parse_address
from sidecar.answering import Answering
from sidecar.config import Config, bounds
from sidecar.core.limits import Limits
from sidecar.health import About, Health
from sidecar.nowhere import NoKeeper, NoStore
from sidecar.policies import Policies
from sidecar.ports import Store
from sidecar.secret_files import Secrets, digest_key, read_secrets
from sidecar.sessions import SessionBounds, Sessions
from sidecar.v1 import (
    answer_service_pb2_grpc,
    convergence_service_pb2_grpc,
    session_service_pb2_grpc,
)
from sidecar.version import VERSION

logger = logging.getLogger(__name__)

AGENT_SERVICES: Final = ("sidecar.v1.ConvergenceService", "sidecar.v1.AnswerService")
ADMIN_SERVICE: Final = "sidecar.v1.SessionService"
LOOP_FILES: Final = "runs"

BEAT_S: Final = 0.2
"""Between heartbeats of the event loop: five within the second after which /livez gives up."""

BEATS_PER_SWEEP: Final = 5
CUT_S: Final = 0.2
"""For streams that did not go by themselves."""

SAVE_S: Final = 0.5
"""For the last snapshots, which only save the next start some work: what they hold is journalled.
Some 2,000 are made in that time, and written in half of it."""


class SystemClock:
    """The machine's clocks."""

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()


class Sidecar:
    """One sidecar, from start to stop."""

    def __init__(self, config: Config, secrets: Secrets) -> None:
        self._config = config
        self._clock = SystemClock()
        self._drain_s = max(0.0, config.shutdown_timeout_s - config.flush_timeout_s - 2 * CUT_S)
        self.health = Health(clock=self._clock)
        self._registry = CollectorRegistry()
        self.telemetry = self._build_telemetry()
        key, problem = digest_key(config)
        self._store = self._build_store()
        if problem:
            logger.warning("digests are kept under a key of this process only: %s", problem)
        self._keeper = self._build_keeper()
        self.sessions = self._build_sessions()
        authorization = Authorization(token=secrets.token)
        recall = Recall(self.sessions)
        self._agents = self._build_agents(key, recall, authorization)
        self._answering = Answering(
            config, key=secrets.model_key, clock=self._clock, recorder=self.telemetry
        )
        self._answers = self._answering.service(
            self.sessions, recall=recall, authorization=authorization
        )
        self._control = SessionService(
            self.sessions,
            recall=recall,
            journal=self._store,
            recorder=self.telemetry,
            authorization=authorization,
            watchers_max=config.watchers_max,
        )
        self._listeners = self._build_listeners(secrets)
        self._http: list[HttpListener] = []
        self._heart: asyncio.Task[None] | None = None
        self.addresses: dict[str, str] = {}
        """Where it listens, by configuration key."""

    async def start(self) -> None:
        """Listen. Raises OSError naming an address that cannot be listened on."""
        self._heart = asyncio.create_task(self._beat())
        agents, control = self._listeners
        await agents.start()
        await control.start()
        keys = [key for key in ("agent_address", "agent_tcp_address") if getattr(self._config, key)]
        self.addresses.update(zip(keys, agents.addresses, strict=True))
        self.addresses["admin_address"] = control.addresses[0]
        self._report_store()
        self._serve_pages()
        self.health.accepting()

    async def stop(self) -> bool:
        """Stop within `shutdown_timeout_s`. Returns whether nothing was lost or cut."""
        config = self._config
        began_s = self._clock.monotonic_s()
        self.health.draining()
        agents, control = self._listeners
        await agents.serving(is_serving=False)
        self.sessions.drain()
        self._agents.drain()
        self._control.stop()
        went = await self._streams_gone(self._drain_s)
        if not went:
            logger.warning("cut %d streams that did not go", self._agents.streams)
        await asyncio.gather(agents.stop(0 if went else CUT_S), control.stop(CUT_S))
        left = self.sessions.save_all(min(SAVE_S, config.flush_timeout_s / 4))
        if left:
            logger.info("left %d sessions to be resumed from the journal alone", left)
        spent_s = self._clock.monotonic_s() - began_s
        left_s = max(0.1, min(config.flush_timeout_s, config.shutdown_timeout_s - spent_s - CUT_S))
        entries, spans = await asyncio.gather(
            asyncio.to_thread(self._close_store, left_s),
            asyncio.to_thread(lambda: self.telemetry.close(within_s=left_s)),
        )
        if entries or spans:
            logger.warning("lost %d journal entries and %d spans by stopping", entries, spans)
        await self._answering.close(CUT_S)
        for listener in self._http:
            await asyncio.to_thread(listener.close)
        if self._heart is not None:
            self._heart.cancel()
            await asyncio.gather(self._heart, return_exceptions=True)
        # Spans are best effort, and an absent collector is no fault of this process.
        return went and not entries

    def _build_telemetry(self) -> Telemetry:
        config = self._config
        ports = {address.port for address in config.listeners.values() if address.port}
        settings = TelemetrySettings(
            version=VERSION,
            label_keys=config.label_keys,
            label_values_max=config.label_values_max,
            sessions_max=config.sessions_max,
            span_queue_max=config.span_queue_max,
            own_ports=frozenset(ports),
        )
        telemetry = build(settings, registry=self._registry, clock=self._clock, health=self.health)
        telemetry.configured(config.policies.values(), bounds(config))
        self.health.about(
            About(
                version=VERSION,
                policies={name: policy.revision for name, policy in config.policies.items()},
                bounds=bounds(config),
            )
        )
        return telemetry

    def _build_store(self) -> Store:
        config = self._config
        if not config.state_directory:
            return NoStore()
        return SqliteStore(
            Path(config.state_directory) / DATABASE,
            codec=EntryBytes(),
            clock=self._clock,
            lost=self.telemetry.lost,
            journal_bytes_max=config.journal_bytes_max,
            journal_queue_max=config.journal_queue_max,
            snapshot_bytes_max=config.snapshot_bytes_max,
            sessions_max=config.sessions_max,
            session_ttl_s=config.session_idle_ttl_s,
            retention_s=config.retention_s,
            commit_interval_s=config.commit_interval_s,
        )

    def _build_sessions(self) -> Sessions:
        config = self._config
        return Sessions(
            policies=Policies(
                by_name=config.policies,
                default=config.default_policy,
                ceiling=config.limits or Limits(),
            ),
            bounds=SessionBounds(
                sessions_max=config.sessions_max,
                decisions_kept_max=config.decisions_kept_max,
                session_idle_ttl_s=config.session_idle_ttl_s,
            ),
            clock=self._clock,
            journal=self._store,
            snapshots=self._store,
            recorder=self.telemetry,
            keeper=self._keeper,
        )

    def _build_keeper(self) -> LoopFiles | NoKeeper:
        if not self._config.state_directory:
            return NoKeeper()
        directory = Path(self._config.state_directory) / LOOP_FILES
        return LoopFiles(
            directory,
            self._store,
            files_max=self._config.loop_files_max,
            lost=self.telemetry.lost,
        )

    def _build_agents(
        self, key: bytes, recall: Recall, authorization: Authorization
    ) -> ConvergenceService:
        config = self._config
        return ConvergenceService(
            self.sessions,
            recall=recall,
            key=key,
            turn_bounds=TurnBounds(
                tool_calls_max=config.tool_calls_max, text_bytes_max=config.text_bytes_max
            ),
            stream_bounds=StreamBounds(
                streams_max=config.streams_max,
                message_bytes_max=config.message_bytes_max,
                labels_max=config.labels_max,
                drain_grace_s=self._drain_s,
                open_timeout_s=config.open_timeout_s,
                client_instances_max=config.client_instances_max,
            ),
            recorder=self.telemetry,
            authorization=authorization,
            clock=self._clock,
        )

    def _build_listeners(self, secrets: Secrets) -> tuple[Listener, Listener]:
        config = self._config
        given = (config.agent_address, config.agent_tcp_address)
        agents = self._listener(
            tuple(parse_address(text).target for text in given if text), AGENT_SERVICES, secrets
        )
        agents.add(
            convergence_service_pb2_grpc.add_ConvergenceServiceServicer_to_server, self._agents
        )
        agents.add(answer_service_pb2_grpc.add_AnswerServiceServicer_to_server, self._answers)
        control = self._listener(
            (parse_address(config.admin_address).target,), (ADMIN_SERVICE,), secrets
        )
        control.add(session_service_pb2_grpc.add_SessionServiceServicer_to_server, self._control)
        control.reflect()
        return agents, control

    def _listener(
        self, addresses: tuple[str, ...], services: tuple[str, ...], secrets: Secrets
    ) -> Listener:
        config = self._config
        settings = ListenerSettings(
            addresses=addresses,
            message_bytes_max=config.message_bytes_max,
            socket_mode=config.socket_permissions,
            socket_group=config.socket_group,
            tls=secrets.tls,
        )
        return Listener(settings, services, recorder=self.telemetry)

    def _serve_pages(self) -> None:
        pages: dict[str, Callable[[Address], HttpListener]] = {
            "telemetry_address": lambda address: HttpListener(
                address, telemetry_pages(self.health, self._registry)
            ),
            "admin_http_address": lambda address: HttpListener(
                address,
                admin_pages(self.health, address),
                socket_mode=self._config.socket_permissions,
            ),
        }
        for key, make in pages.items():
            text = getattr(self._config, key)
            if text:
                listener = make(parse_address(text))
                listener.start()
                self._http.append(listener)
                self.addresses[key] = listener.address.target

    async def _beat(self) -> None:
        """The heartbeat: says that the loop turns, how late it came, and sweeps."""
        beats = 0
        while True:
            due_s = self._clock.monotonic_s() + BEAT_S
            await asyncio.sleep(BEAT_S)
            self.health.beat()
            self.telemetry.loop_lag(max(0.0, self._clock.monotonic_s() - due_s))
            beats += 1
            if beats % BEATS_PER_SWEEP == 0:
                self._sweep()

    def _sweep(self) -> None:
        try:
            self.sessions.sweep()
            self._report_store()
        except Exception:
            # The heartbeat goes on: one sweep that failed must not make the process look dead.
            logger.exception("a sweep failed")
            self.telemetry.lost("sweep", "fault")

    def _report_store(self) -> None:
        status = self._store.status()
        component = self.health.component("store")
        match status.state:
            case "ok":
                component.ok()
            case "recoverable" | "permanent":
                # The store tries on in both cases, so to the outside nothing here is permanent.
                component.recoverable(status.detail)

    def _close_store(self, within_s: float) -> int:
        until_s = self._clock.monotonic_s() + within_s
        # The keeper first, since it reads from the store.
        self._keeper.close(within_s / 2)
        return self._store.close(max(0.0, until_s - self._clock.monotonic_s()))

    async def _streams_gone(self, within_s: float) -> bool:
        deadline_s = self._clock.monotonic_s() + within_s
        while self._agents.streams:
            if self._clock.monotonic_s() >= deadline_s:
                return False
            await asyncio.sleep(0.01)
        return True


async def serve(config: Config, *, ready: Callable[[Sidecar], None]) -> int:
    """Run until SIGTERM or SIGINT; a second one ends the process at once.

    Returns the exit code: 0, or 1 where something was lost or cut by stopping. Raises OSError
    where the start failed.
    """
    secrets = await asyncio.to_thread(read_secrets, config)
    sidecar = Sidecar(config, secrets)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _on_signal, stopping)
    try:
        await sidecar.start()
    except OSError:
        with contextlib.suppress(Exception):
            await sidecar.stop()
        raise
    _collect_less()
    ready(sidecar)
    await stopping.wait()
    return 0 if await sidecar.stop() else 1


def _collect_less() -> None:
    """Let Python look for garbage in cycles less often.

    What a turn makes is freed by reference counting; the little that goes in cycles (a task and its
    exception) can wait. With the thresholds Python starts with, the search took a tenth of a busy
    sidecar's time. What lives as long as the process is not searched at all.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _on_signal(stopping: asyncio.Event) -> None:
    if stopping.is_set():
        # Told twice: whoever asks does not want to wait for anything.
        os._exit(1)
    stopping.set()
