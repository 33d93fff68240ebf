"""The queue of spans: bounded, and with each span accounted for."""

import threading
import time
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext

from sidecar.adapters.telemetry.batch import Batch
from sidecar.adapters.telemetry.exporting import ABORT_S, Loss, SpanQueue
from sidecar.adapters.telemetry.record import SpanRecord
from sidecar.health import Component, Status
from sidecar.testing import FakeClock
from tests.edges.telemetry_samples import Tallied, span_queue, wait_until

DEADLINE_S = 20.0
"""More than any of this takes; a test that waits so long has failed."""

SLACK_S = 30.0
"""What a busy machine may add to a bound."""

SUCCESS, FAILURE = SpanExportResult.SUCCESS, SpanExportResult.FAILURE


def record(number: int) -> SpanRecord:
    """A span that is known by its number."""
    return SpanRecord(
        name="sidecar.turn",
        context=SpanContext(trace_id=1, span_id=number + 1, is_remote=False),
        parent=None,
        start_s=1.0,
        end_s=1.0,
        session={},
        describe=lambda: {"number": number},
    )


def offer(queue: SpanQueue, span: SpanRecord) -> bool:
    """Whether the span was admitted, and is queued now."""
    admitted = queue.admit()
    if admitted:
        queue.offer(span)
    return admitted


class Scripted(SpanExporter):
    """Answers as told, then with success; waits for `gate` in each call."""

    def __init__(self, *answers: SpanExportResult | Exception) -> None:
        self.answers = list(answers)
        self.numbers: list[object] = []
        """Of the spans that were taken."""
        self.sizes: list[int] = []
        """Of all batches."""
        self.refused = -1
        """Number of a span that no batch may have."""
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self.closed = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.entered.set()
        assert self.gate.wait(DEADLINE_S)
        answer = self.answers.pop(0) if self.answers else SUCCESS
        self.sizes.append(len(spans))
        if isinstance(answer, Exception):
            raise answer
        if self.refused in {(span.attributes or {})["number"] for span in spans}:
            answer = FAILURE
        if answer is SUCCESS:
            assert len(spans) == len(list(spans)) == len(spans[:])
            self.numbers += [(span.attributes or {})["number"] for span in spans]
        return answer

    def shutdown(self) -> None:
        self.closed += 1


def test_a_full_queue_admits_no_more_and_counts_each() -> None:
    exporter, tally = Scripted(), Tallied()
    exporter.gate.clear()
    queue = span_queue(exporter, tally, spans_max=10, batch_max=4, delay_s=3600)
    for number in range(4):
        offer(queue, record(number))
    assert exporter.entered.wait(DEADLINE_S)
    for number in range(4, 14):
        offer(queue, record(number))
    assert (tally.losses, len(queue)) == ({}, 14)
    offer(queue, record(14))
    assert (tally.losses, len(queue)) == ({Loss.QUEUE_FULL: 1}, 14)
    for number in range(15, 20):
        offer(queue, record(number))
    exporter.gate.set()
    assert queue.close(within_s=DEADLINE_S) == 0
    assert exporter.numbers == [*range(14)]
    assert (tally.made_count, tally.exported_count) == (20, 14)
    assert tally.losses == {Loss.QUEUE_FULL: 6}


def test_what_is_wrong_with_a_collector_is_said_until_it_takes_what_waits() -> None:
    exporter, tally = Scripted(FAILURE, ValueError("a bug"), SUCCESS), Tallied()
    component = Component("exporter", FakeClock())
    queue = span_queue(exporter, tally, batch_max=1, component=component, tries_max=1)
    seen = []
    for number in range(3):
        offer(queue, record(number))
        wait_until(lambda: tally.settled == number + 1)  # noqa: B023 - called at once
        seen.append((component.condition.status, component.condition.error))
    queue.close(within_s=DEADLINE_S)
    assert exporter.numbers == [2]
    assert tally.losses == {Loss.EXPORT_FAILED: 2}
    assert seen == [
        (Status.RECOVERABLE, "the collector did not take a batch of spans"),
        (Status.RECOVERABLE, "ValueError: a bug"),
        (Status.OK, "ValueError: a bug"),
    ]


def test_closing_tells_of_what_the_collector_does_not_take_meanwhile() -> None:
    exporter, tally = Scripted(*[FAILURE] * 5), Tallied()
    queue = span_queue(exporter, tally, spans_max=50, batch_max=10, delay_s=3600)
    for number in range(9):
        offer(queue, record(number))
    assert queue.close(within_s=DEADLINE_S) == 9
    assert tally.losses == {Loss.EXPORT_FAILED: 9}


def test_a_batch_that_is_not_taken_is_offered_again_by_ones_twos_and_fours() -> None:
    exporter, tally = Scripted(FAILURE, FAILURE), Tallied()
    queue = span_queue(exporter, tally, batch_max=4, delay_s=3600)
    for number in range(11):
        offer(queue, record(number))
    wait_until(lambda: tally.settled == 11)
    assert exporter.sizes == [4, 1, 1, 2, 4, 4]
    assert exporter.numbers == [*range(11)]
    assert tally.losses == {}
    queue.close(within_s=DEADLINE_S)


def test_a_span_that_is_not_taken_alone_so_many_times_is_lost_and_the_others_are_not() -> None:
    exporter, tally = Scripted(), Tallied()
    exporter.refused = 2
    queue = span_queue(exporter, tally, batch_max=4, tries_max=3)
    for number in range(8):
        offer(queue, record(number))
    wait_until(lambda: tally.settled == 8)
    assert exporter.numbers == [0, 1, 3, 4, 5, 6, 7]
    assert exporter.sizes[:7] == [4, 1, 2, 1, 2, 1, 1]
    assert tally.losses == {Loss.EXPORT_FAILED: 1}
    queue.close(within_s=DEADLINE_S)


def test_while_a_collector_is_away_one_span_is_lost_in_so_many_tries() -> None:
    exporter, tally = Scripted(*[FAILURE] * 9), Tallied()
    queue = span_queue(exporter, tally, batch_max=4, tries_max=3)
    for number in range(8):
        offer(queue, record(number))
    wait_until(lambda: tally.settled == 8)
    assert exporter.numbers == [*range(4, 8)]
    assert tally.losses == {Loss.EXPORT_FAILED: 4}
    queue.close(within_s=DEADLINE_S)


def test_a_collector_that_is_away_is_not_asked_before_its_time() -> None:
    exporter, tally = Scripted(FAILURE), Tallied()
    queue = span_queue(exporter, tally, batch_max=4, delay_s=0.001, retry_s=3600)
    for number in range(4):
        offer(queue, record(number))
    wait_until(lambda: bool(exporter.sizes))
    for number in range(4, 14):
        offer(queue, record(number))
    wait_until(lambda: len(queue) == 14)
    assert exporter.sizes == [4]
    assert queue.close(within_s=DEADLINE_S) == 0
    assert exporter.numbers == [*range(14)]


def test_a_collector_that_takes_one_span_and_no_batch_is_never_said_to_work() -> None:
    exporter, tally, clock = Scripted(FAILURE, SUCCESS, FAILURE), Tallied(), FakeClock()
    component = Component("exporter", clock)
    queue = span_queue(exporter, tally, batch_max=4, component=component, delay_s=3600, tries_max=1)
    for number in range(4):
        offer(queue, record(number))
    wait_until(lambda: tally.settled == 4)
    since_s = component.condition.since_s
    clock.advance(5)
    for number in range(4, 9):
        offer(queue, record(number))
    wait_until(lambda: tally.settled == 7)
    assert exporter.numbers == [4]
    assert component.condition.since_s == since_s
    queue.close(within_s=DEADLINE_S)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_queue_that_cannot_go_on_says_so() -> None:
    component = Component("exporter", FakeClock())
    queue = span_queue(Scripted(), Tallied(), component=component, delay_s=1e300)
    wait_until(lambda: component.condition.status is Status.PERMANENT)
    assert "OverflowError" in component.condition.error
    queue.close(within_s=DEADLINE_S)


def test_closing_exports_what_waits_and_shuts_the_exporter_down_once() -> None:
    exporter, tally = Scripted(), Tallied()
    queue = span_queue(exporter, tally, batch_max=4, delay_s=3600)
    for number in range(11):
        offer(queue, record(number))
    assert queue.close(within_s=DEADLINE_S) == 0
    assert exporter.numbers == list(range(11))
    assert exporter.closed == 1
    assert queue.close(within_s=DEADLINE_S) == 0


def test_closing_gives_up_in_time_and_counts_what_is_in_flight_and_what_waits() -> None:
    exporter, tally = Scripted(), Tallied()
    exporter.gate.clear()
    queue = span_queue(exporter, tally, batch_max=4, delay_s=3600)
    for number in range(10):
        offer(queue, record(number))
    assert exporter.entered.wait(DEADLINE_S)
    started_s = time.monotonic()
    assert queue.close(within_s=0.05) == 10
    assert time.monotonic() - started_s < 0.05 + ABORT_S + SLACK_S
    offer(queue, record(10))
    assert tally.losses == {Loss.SHUTDOWN: 11}
    exporter.gate.set()
    wait_until(lambda: "span export" not in {thread.name for thread in threading.enumerate()})
    assert (tally.made_count, tally.exported_count) == (11, 0)
    assert tally.losses == {Loss.SHUTDOWN: 11}


@given(
    answers=st.lists(st.sampled_from([SUCCESS, FAILURE, RuntimeError("x")]), max_size=6),
    offers=st.integers(min_value=0, max_value=40),
    spans_max=st.integers(min_value=1, max_value=12),
    batch_max=st.integers(min_value=1, max_value=6),
    within_s=st.sampled_from([0.0, DEADLINE_S]),
)
def test_every_span_made_is_exported_or_lost(
    answers: list[SpanExportResult | Exception],
    offers: int,
    spans_max: int,
    batch_max: int,
    within_s: float,
) -> None:
    exporter, tally = Scripted(*answers), Tallied()
    queue = span_queue(exporter, tally, spans_max=spans_max, batch_max=batch_max, delay_s=0.0001)
    for number in range(offers):
        offer(queue, record(number))
    queue.close(within_s=within_s)
    assert tally.made_count == offers
    assert tally.settled == offers
    assert len(queue) == 0


def test_spans_from_many_threads_are_all_accounted_for() -> None:
    exporter, tally = Scripted(FAILURE), Tallied()
    queue = span_queue(exporter, tally, spans_max=50, batch_max=8, delay_s=0.0001)

    def agent() -> None:
        for number in range(500):
            offer(queue, record(number))

    threads = [threading.Thread(target=agent) for _ in range(4)]
    for thread in threads:
        thread.start()
    queue.close(within_s=DEADLINE_S)
    for thread in threads:
        thread.join()
    assert tally.made_count == 2_000
    assert tally.settled == 2_000


def test_encoding_lets_other_threads_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered, at_pauses = 0, []

    def render(made: SpanRecord) -> ReadableSpan:
        nonlocal rendered
        rendered += 1
        return ReadableSpan(made.name, made.context, resource=Resource.get_empty())

    def pause(duration_s: float) -> None:
        assert duration_s > 0
        at_pauses.append(rendered)

    monkeypatch.setattr("time.sleep", pause)
    assert len(list(Batch([record(number) for number in range(512)], render))) == 512
    # The SDK takes about 70 us to encode a span; eight of them stay well below the interpreter's
    # switch interval of 5 ms.
    assert max(later - earlier for earlier, later in pairwise([0, *at_pauses, rendered])) <= 8
