"""The way of spans to a collector: a bounded queue, and a thread that empties it.

The SDK's batch processor is not used. Its shutdown took 30 s with a collector that does not answer,
which is all the time that Kubernetes gives a pod; its flush said True with nothing delivered; and
what it drops it does not count. Here `close` is bounded, and at its end

    made == exported + lost

holds exactly: every span is counted once when it is made and once where it went.
"""

import threading
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final, Protocol

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from sidecar.adapters.telemetry.batch import Batch
from sidecar.adapters.telemetry.complaints import Complaints
from sidecar.adapters.telemetry.record import SpanRecord
from sidecar.health import Component, Status

ABORT_S: Final = 0.2
"""What an exporter that was told to shut down gets to return from a call."""

NOT_TAKEN: Final = "the collector did not take a batch of spans"


class Loss(Enum):
    """Why a span never arrived."""

    QUEUE_FULL = "queue_full"
    EXPORT_FAILED = "export_failed"
    SHUTDOWN = "shutdown"
    """It may still have arrived: nobody waited for the answer."""


class Tally(Protocol):
    """Counts spans. No method blocks or raises."""

    def made(self) -> None:
        """One was made."""
        ...

    def exported(self, count: int) -> None:
        """The collector took so many."""
        ...

    def lost(self, loss: Loss, count: int) -> None:
        """So many will not arrive."""
        ...


RETRY_S: Final = 5.0
"""Between two attempts while the collector is away, as the OpenTelemetry Collector begins."""

TRIES_MAX: Final = 12
"""Attempts with one span, a minute of them, after which it is lost: it may be that span that is not
taken, and the others wait for it."""


class SpanQueue:
    """Queues spans and exports them in batches."""

    def __init__(
        self,
        exporter: SpanExporter,
        *,
        render: Callable[[SpanRecord], ReadableSpan],
        tally: Tally,
        component: Component,
        spans_max: int,
        batch_max: int,
        delay_s: float,
        retry_s: float = RETRY_S,
        tries_max: int = TRIES_MAX,
    ) -> None:
        """Export at most `batch_max` spans at a time, and `delay_s` seconds after the last batch.

        With `spans_max` waiting no more are admitted. What is not taken is offered again `retry_s`
        seconds later, until one span alone was not taken `tries_max` times; with 1, it is lost at
        once. `component` learns how it goes.
        """
        self._exporter = exporter
        self._render = render
        self._tally = tally
        self._component = component
        self._spans_max = spans_max
        self._batch_max = min(batch_max, spans_max)
        self._delay_s = delay_s
        self._retry_s = retry_s
        self._tries_max = tries_max
        self._next_max = self._batch_max
        """Spans of the next batch: one where the last batch was not taken, then twice as many each
        time. So a collector that is away is asked cheaply, rendering being what costs most here,
        and one that does not take a batch for its size, or for one span, gets the others."""
        self._tries = 0
        """Attempts that failed since spans were last taken or lost."""
        self._waiting: deque[SpanRecord] = deque()
        self._in_flight = 0
        """Spans handed to the exporter whose fate is not known yet."""
        self._closed = False
        self._lost_closing = 0
        """Spans that the collector did not take since `close` was called."""
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="span export", daemon=True)
        self._complaints = Complaints(component, self._thread)

    def start(self) -> None:
        """Begin to export."""
        self._complaints.listen()
        self._component.ok()
        self._thread.start()

    def __len__(self) -> int:
        """Spans that were made and are neither exported nor lost yet."""
        with self._changed:
            return len(self._waiting) + self._in_flight

    def admit(self) -> bool:
        """Whether a span may be made. One that may not is counted as lost, and costs no more.

        It is the newest that a full queue does without, not the oldest: to make a span, keep it and
        throw it away took a sidecar without a collector a sixth of its time.
        """
        self._tally.made()
        if self._closed:
            self._tally.lost(Loss.SHUTDOWN, 1)
            return False
        if len(self._waiting) >= self._spans_max:
            self._tally.lost(Loss.QUEUE_FULL, 1)
            return False
        return True

    def offer(self, record: SpanRecord) -> None:
        """Queue a span that was admitted. Never waits for the exporter."""
        with self._changed:
            if self._closed:  # since it was admitted
                self._tally.lost(Loss.SHUTDOWN, 1)
                return
            self._waiting.append(record)
            if len(self._waiting) == self._batch_max:
                self._changed.notify_all()

    def close(self, *, within_s: float) -> int:
        """Export what waits, for `within_s` seconds at most; what is left is lost.

        Returns how many that were. Takes ABORT_S longer where a call to the collector hangs.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._component.stopping()
        self._thread.join(within_s)
        lost = self._give_up()
        if self._thread.is_alive():
            self._exporter.shutdown()  # which ends a gRPC call; an HTTP call ends by its timeout
            self._thread.join(ABORT_S)
        self._complaints.stop_listening()
        return lost + self._lost_closing

    def _give_up(self) -> int:
        with self._changed:
            lost = len(self._waiting) + self._in_flight
            self._waiting.clear()
            self._in_flight = 0
            if lost:
                self._tally.lost(Loss.SHUTDOWN, lost)
            return lost

    def _run(self) -> None:
        try:
            while (batch := self._take()) is not None:
                if batch:
                    self._settle(batch, exported=self._export(batch))
        except Exception as error:
            self._component.permanent(f"the export has ended: {type(error).__name__}: {error}")
            raise
        self._exporter.shutdown()

    def _take(self) -> list[SpanRecord] | None:
        """The next batch, empty when none came for a while; None when there will be none."""
        with self._changed:
            if self._tries:
                self._changed.wait_for(lambda: self._closed, self._retry_s)
            else:
                self._changed.wait_for(self._is_due, self._delay_s)
            if self._closed and not self._waiting:
                return None
            size_max = self._batch_max if self._closed else self._next_max
            count = min(size_max, len(self._waiting))
            batch = [self._waiting.popleft() for _ in range(count)]
            self._in_flight = len(batch)
            return batch

    def _is_due(self) -> bool:
        return self._closed or len(self._waiting) >= self._next_max

    def _export(self, batch: list[SpanRecord]) -> bool:
        """Whether the collector took the batch."""
        try:
            result = self._exporter.export(Batch(batch, self._render))
        except Exception as error:  # noqa: BLE001 - a background task: it counts, and goes on
            self._component.recoverable(f"{type(error).__name__}: {error}")
            return False
        if result is SpanExportResult.SUCCESS:
            # That the few spans sent after a failure were taken is no word on a batch.
            if self._next_max == self._batch_max or not self._waiting:
                self._component.ok()
            return True
        condition = self._component.condition  # which the exporter's complaint may have set
        known = condition.status is Status.RECOVERABLE
        self._component.recoverable(condition.error if known else NOT_TAKEN)
        return False

    def _settle(self, batch: list[SpanRecord], *, exported: bool) -> None:
        with self._changed:
            count, self._in_flight = self._in_flight, 0
            if not count:  # `close` has given them up
                return
            if exported:
                self._tally.exported(count)
                self._next_max = min(2 * self._next_max, self._batch_max)
                self._tries = 0
                return
            self._next_max = 1
            self._tries += 1
            if not self._closed and self._tries < self._tries_max:
                self._waiting.extendleft(reversed(batch))
                return
            self._tally.lost(Loss.EXPORT_FAILED, count)
            self._tries = 1
            if self._closed:
                self._lost_closing += count
