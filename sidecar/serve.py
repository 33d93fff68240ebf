"""The composition root: what a sidecar is made of, and how it starts and stops.

It starts degraded rather than not at all: a store that cannot be written or a collector that is
absent shows in /statusz and in counters, not in an exit code; a default address that is taken shows
in /statusz. Only an address that somebody asked for, or the socket of agents or of operators, stops
it where it cannot be had: nobody would reach it there.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from sidecar.adapters.allocator import return_large_blocks
from sidecar.adapters.calls import Calls, ControlCalls, TurnCalls
from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.calls.turns import MessageBounds
from sidecar.adapters.convert import EntryBytes
from sidecar.adapters.descriptors import SaysWantOnce, allow_descriptors
from sidecar.adapters.loop_files import LoopFiles
from sidecar.adapters.scheduling import yielding_threads
from sidecar.adapters.service_manager import service_manager
from sidecar.adapters.sqlite_store import DATABASE, SqliteStore
from sidecar.adapters.telemetry import Telemetry, TelemetrySettings, build
from sidecar.config.keys import Config, bounds
from sidecar.health import About, Health
from sidecar.kept_texts import KeptTexts
from sidecar.nowhere import NoKeeper, NoStore
from sidecar.policies import Policies
from sidecar.ports import Store
from sidecar.serving.answering import Answering
from sidecar.serving.grpc_side import GrpcSide
from sidecar.serving.http_side import HttpSide
from sidecar.serving.listening import Listening
from sidecar.serving.secret_files import Secrets, digest_key, put_back_digest_key, read_secrets
from sidecar.serving.store_watch import StoreWatch
from sidecar.sessions.sessions import SessionBounds, Sessions
from sidecar.stopping import stopping_signals
from sidecar.system_clock import SystemClock
from sidecar.turn_bounds import turn_bounds
from sidecar.version import VERSION

logger = logging.getLogger(__name__)

LOOP_FILES: Final = "runs"

BEAT_S: Final = 0.2
"""Between heartbeats of the event loop: five within the second after which /livez gives up."""

BEATS_PER_SWEEP: Final = 5
CUT_S: Final = 0.2
"""For streams that did not go by themselves."""

LAST_CALLS_S: Final = 0.1
"""For callers without a stream to hear that the sidecar is stopping. One whose call came with the
end would get gRPC's own CANCELLED, which says nothing of another try."""

SAVE_S: Final = 0.5
"""For the last snapshots, which only save the next start some work: what they hold is journalled.
Some 2,000 are made in that time, and written in half of it."""

OWN_DESCRIPTORS: Final = 256
"""Beside those of bounded connections: files, listeners and the event loop take about 30; the rest
is for calls without a stream, each over a connection of its own."""


class Sidecar:
    """One sidecar, from start to stop."""

    def __init__(self, config: Config, secrets: Secrets) -> None:
        self._config = config
        self._clock = SystemClock()
        self._drain_s = max(
            0.0, config.shutdown_timeout_s - config.flush_timeout_s - 2 * CUT_S - LAST_CALLS_S
        )
        self.health = Health(clock=self._clock)
        self._manager = service_manager(os.environ, pid=os.getpid())
        self._registry = CollectorRegistry()
        self.telemetry = self._build_telemetry()
        key, problem = digest_key(config)
        self._store = self._build_store()
        if problem:
            logger.warning(problem)
        self._keeper = self._build_keeper()
        self.sessions = self._build_sessions()
        recall = Recall(self.sessions)
        self._watch = StoreWatch(
            self._store,
            sessions=self.sessions,
            recall=recall,
            health=self.health,
            recorder=self.telemetry,
            clock=self._clock,
            on_replaced=lambda: put_back_digest_key(config, key),
        )
        self._texts = KeptTexts(config.texts_kept_bytes_max)
        self._answering = Answering(
            config,
            key=secrets.model_key,
            clock=self._clock,
            recorder=self.telemetry,
            health=self.health,
            texts=self._texts,
        )
        self._answering.judge(self.sessions, journal=self._store)
        calls = Calls(
            turns=self._build_turns(key, recall),
            answers=self._answering.calls(self.sessions, recall=recall),
            control=ControlCalls(self.sessions, recall=recall, journal=self._store),
        )
        listening = Listening(config, self.health)
        self._grpc = GrpcSide(
            config,
            secrets,
            self.sessions,
            listening=listening,
            calls=calls,
            recall=recall,
            recorder=self.telemetry,
            drain_s=self._drain_s,
        )
        self._http = HttpSide(
            config,
            secrets,
            listening=listening,
            health=self.health,
            registry=self._registry,
            recorder=self.telemetry,
            calls=calls,
        )
        self._tasks: list[asyncio.Task[None]] = []
        self.addresses = listening.addresses
        """Where it listens, by configuration key."""
        self.leave_no_socket = listening.leave_no_socket

    async def start(self) -> None:
        """Listen. Raises OSError naming an address that there is no sidecar without."""
        connections = self._grpc.connections_max + self._http.connections_max
        allow_descriptors(connections + OWN_DESCRIPTORS)
        self._tasks.append(asyncio.create_task(self._beat()))
        await self._grpc.start()
        self._watch.report()
        await self._http.start()
        self.health.accepting()
        self._manager.ready(" ".join(f"{key}={at}" for key, at in self.addresses.items()))
        self._tasks.append(asyncio.create_task(self._watch.bring_back()))

    async def stop(self) -> bool:
        """Stop within `shutdown_timeout_s`. Returns whether nothing was lost or cut."""
        config = self._config
        began_s = self._clock.monotonic_s()
        self.health.draining()
        self._manager.stopping()
        await self._grpc.say_not_serving()
        self.sessions.drain()
        await self._answering.judge_no_more()
        self._grpc.drain()
        cut = await self._grpc.streams_gone(self._drain_s)
        if cut:
            logger.warning("cut %d streams that did not go", cut)
        await asyncio.sleep(LAST_CALLS_S)
        await asyncio.gather(self._grpc.stop(CUT_S), self._http.stop(CUT_S))
        self._watch.save_again()
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
        await self._http.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._manager.close()
        # Spans are best effort, and an absent collector is no fault of this process.
        return not cut and not entries

    def _build_telemetry(self) -> Telemetry:
        config = self._config
        ports = {address.port for address in config.listeners.values() if address.port}
        settings = TelemetrySettings(
            version=VERSION,
            label_keys=config.label_keys,
            label_values_max=config.label_values_max,
            counter_series_max=config.counter_series_max,
            sessions_max=config.sessions_max,
            span_queue_max=config.span_queue_max,
            own_ports=frozenset(ports),
        )
        telemetry = build(
            settings,
            registry=self._registry,
            clock=self._clock,
            health=self.health,
            soon=lambda do: asyncio.get_running_loop().call_soon(do),
        )
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
                ceiling=config.limits,
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

    def _build_turns(self, key: bytes, recall: Recall) -> TurnCalls:
        config = self._config
        return TurnCalls(
            self.sessions,
            recall=recall,
            key=key,
            turn_bounds=turn_bounds(config),
            message_bounds=MessageBounds(
                message_bytes_max=config.message_bytes_max,
                labels_max=config.labels_max,
                client_instances_max=config.client_instances_max,
            ),
            recorder=self.telemetry,
            clock=self._clock,
            texts=self._texts,
        )

    async def _beat(self) -> None:
        """The heartbeat: says that the loop turns, how late it came, and sweeps."""
        beats = 0
        while True:
            due_s = self._clock.monotonic_s() + BEAT_S
            await asyncio.sleep(BEAT_S)
            self.health.beat()
            self._manager.alive(self._clock.monotonic_s())
            self.telemetry.loop_lag(max(0.0, self._clock.monotonic_s() - due_s))
            beats += 1
            if beats % BEATS_PER_SWEEP == 0:
                self._sweep()

    def _sweep(self) -> None:
        try:
            self.sessions.sweep()
            self._watch.report()
            self._watch.save_again()
        except Exception:
            # The heartbeat goes on: one sweep that failed must not make the process look dead.
            logger.exception("a sweep failed")
            self.telemetry.lost("sweep", "fault")

    def _close_store(self, within_s: float) -> int:
        until_s = self._clock.monotonic_s() + within_s
        self._watch.closing()
        # The keeper first, since it reads from the store.
        self._keeper.close(within_s / 2)
        return self._store.close(max(0.0, until_s - self._clock.monotonic_s()))


async def serve(config: Config, *, ready: Callable[[Sidecar], None]) -> int:
    """Run until SIGTERM, SIGINT or SIGHUP; a second SIGTERM or SIGINT ends the process at once.

    Returns the exit code: 0, or 1 where something was lost or cut by stopping. Raises OSError
    where the start failed.
    """
    stopping = asyncio.Event()
    return_large_blocks()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(SaysWantOnce())
    with yielding_threads():
        secrets = await asyncio.to_thread(read_secrets, config)
        sidecar = Sidecar(config, secrets)
        for number in stopping_signals():
            loop.add_signal_handler(number, _on_signal, number, stopping, sidecar)
        try:
            await sidecar.start()
            _collect_less()
            ready(sidecar)
        except OSError:
            with contextlib.suppress(Exception):
                await sidecar.stop()
            raise
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


def _on_signal(number: signal.Signals, stopping: asyncio.Event, sidecar: Sidecar) -> None:
    # A terminal that is closed may say so twice.
    if stopping.is_set() and number != signal.SIGHUP:
        # Told twice: whoever asks does not want to wait for anything.
        sidecar.leave_no_socket()
        logger.warning("told to stop a second time: ended without waiting for streams and the disk")
        os._exit(1)
    stopping.set()
