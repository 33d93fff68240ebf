"""The exchange over grpc's synchronous API: a reader thread, and grpc's own that sends."""

import threading
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Final

import grpc

from sidecar.client.assembly import Assembly
from sidecar.client.channel import (
    channel_of,
    check_descriptors,
    check_listener,
    check_socket,
    ending_of,
    ending_of_absence,
    ending_of_fault,
    metadata_of,
)
from sidecar.client.directive import Directive, Reason
from sidecar.client.give_ups import GiveUps
from sidecar.client.refusal import OK, Ending
from sidecar.client.report import ClientOptions
from sidecar.client.stream import Lull
from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import run_pb2 as pb
from sidecar.v1.convergence_service_pb2_grpc import ConvergenceServiceStub

# A cancelled call ends within milliseconds; the thread is a daemon, should it not.
JOIN_S: Final = 1.0
# Nobody holds the lock for longer than it takes to fold one message in.
LOCK_S: Final = 0.05
# A signal that comes in the moment before a wait begins is handled when the wait is over: CPython
# has looked for it already, and the system call is not interrupted. So no wait is long.
WAIT_S: Final = 1.0


class ThreadLink:
    """One client's thread and stream. Safe to use from several threads."""

    def __init__(self, address: object, options: ClientOptions, give_ups: GiveUps) -> None:
        self._assembly = Assembly(address, options, give_ups)
        self._exchange = self._assembly.exchange
        # Reentrant: a signal handler may close the client of the very thread it interrupts.
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)
        """For the threads that connect and send."""
        self._news = threading.Condition(self._lock)
        """For the callers."""
        self._call: grpc.Call | None = None
        self._is_dropped = False
        self._thread = threading.Thread(target=self._run, name="sidecar-client", daemon=True)

    def start(self) -> None:
        """Begins to connect; once."""
        self._thread.start()

    def __repr__(self) -> str:
        return f"{self._assembly.settings.target!r}, {self._exchange}"

    @property
    def session_id(self) -> str:
        """The session's name. Without the lock: whoever formats a log may ask for it while another
        thread waits for that log, and in the child of a fork nobody lets go of a lock."""
        return self._exchange.line.session_id

    # The caller's threads.

    def turn(self, report: Mapping[str, object]) -> Directive:
        """Reports a turn and waits for its decision, at most the timeout."""
        turn = self._assembly.turn(report)
        timeout_s = self._assembly.settings.timeout_s
        deadline_s = monotonic() + timeout_s
        if not self._lock.acquire(timeout=max(timeout_s, LOCK_S)):
            raise TimeoutError("another thread does not let go of the client")
        try:
            return self._turn(turn, deadline_s)
        finally:
            self._lock.release()

    def _turn(self, turn: pb.Turn, deadline_s: float) -> Directive:
        entry = self._exchange.report(turn)
        self._work.notify_all()
        try:
            while self._exchange.awaits(entry) and (left_s := deadline_s - monotonic()) > 0:
                self._news.wait(min(left_s, WAIT_S))
            return self._exchange.collect(entry, now_s=monotonic())
        finally:
            self._exchange.abandon(entry)
            self._cut_if_dead()

    def wait_for_operator(self) -> Directive:
        """Waits for a person's word, as long as the last directive said."""
        with self._lock:
            while (left_s := self._exchange.operator_awaited_until_s() - monotonic()) > 0:
                self._news.wait(min(left_s, WAIT_S))
            return self._exchange.collect_operator(now_s=monotonic())

    def wait_until_settled(self, timeout_s: object) -> bool:
        """Waits until the sidecar has every turn."""
        wait_s = self._assembly.seconds("timeout_s", timeout_s) or 0.0
        deadline_s = monotonic() + wait_s
        with self._lock:
            while not self._exchange.settled and (left_s := deadline_s - monotonic()) > 0:
                self._news.wait(min(left_s, WAIT_S))
            return self._exchange.settled

    def close(self, outcome: object, final_answer: object, timeout_s: object) -> bool:
        """Says goodbye, waits until it is heard, and ends the thread."""
        goodbye = self._assembly.goodbye(outcome, final_answer)
        wait_s = self._assembly.seconds("timeout_s", timeout_s)
        began_s = monotonic()
        with self._lock:
            try:
                deadline_s = began_s + (self._exchange.goodbye_s if wait_s is None else wait_s)
                self._exchange.close(goodbye)
                self._work.notify_all()
                while self._exchange.awaits_goodbye and (left_s := deadline_s - monotonic()) > 0:
                    self._news.wait(min(left_s, WAIT_S))
            finally:
                self._shut()
        if threading.current_thread() is not self._thread:
            self._thread.join(JOIN_S)
        return self._exchange.line.goodbye_heard

    def drop(self) -> None:
        """Ends the thread, without waiting for anything: nobody has the client any more.

        The garbage collector calls this, in any thread and at any time.
        """
        self._is_dropped = True
        if self._lock.acquire(blocking=False):
            try:
                self._shut()
            finally:
                self._lock.release()

    def _shut(self) -> None:
        self._exchange.line.shut()
        self._cancel()
        self._work.notify_all()
        self._news.notify_all()

    # The reader's thread.

    def _run(self) -> None:
        try:
            self._assembly.say()  # what the constructor had to say, which waits for no log
            while (number := self._next_stream()) is not None:
                ending = self._converse(number)
                with self._lock:
                    self._exchange.ended(number, ending, now_s=monotonic())
                    self._changed()
                self._assembly.say()
        except Exception as error:  # noqa: BLE001 (the agent must not notice)
            with self._lock:
                self._assembly.stop_for_fault(error)
                self._changed()
            self._assembly.say()

    def _next_stream(self) -> int | None:
        with self._lock:
            while (pause_s := self._exchange.line.pause_s(monotonic())) is not None:
                if self._is_dropped:
                    return None
                if pause_s <= 0:
                    return self._exchange.line.begin(monotonic())
                self._work.wait(pause_s)
            return None

    def _converse(self, number: int) -> Ending:
        try:
            settings = self._assembly.settings
            check_socket(settings)
            if self._exchange.line.was_refused:
                check_listener(settings)
            check_descriptors()
            with channel_of(settings) as channel:
                return self._stream(number, channel)
        except grpc.RpcError as error:
            return ending_of(error)
        except OSError as error:
            return ending_of_absence(error)
        except Exception as error:  # noqa: BLE001 (the agent must not notice)
            self._assembly.give_ups.count(Reason.INTERNAL)
            return ending_of_fault(error)

    def _stream(self, number: int, channel: grpc.Channel) -> Ending:
        metadata = metadata_of(self._assembly.settings)
        call = ConvergenceServiceStub(channel).Observe(self._requests(number), metadata=metadata)
        with self._lock:
            self._call = call
            if not self._exchange.wants(number):
                call.cancel()
        try:
            for response in call:
                with self._lock:
                    self._exchange.received(number, response, now_s=monotonic())
                    self._changed()
                self._assembly.say()
        finally:
            with self._lock:
                self._call = None
            call.cancel()
        return Ending(code=OK)

    def _changed(self) -> None:
        self._assembly.note_outage()
        self._work.notify_all()
        self._news.notify_all()

    # grpc's thread, which sends what this yields.

    def _requests(self, number: int) -> Iterator[wire.ObserveRequest]:
        try:
            while (request := self._next_request(number)) is not None:
                yield request
        except Exception:  # noqa: BLE001 (the agent must not notice)
            self._assembly.give_ups.count(Reason.INTERNAL)
            with self._lock:
                self._cancel()

    def _next_request(self, number: int) -> wire.ObserveRequest | None:
        with self._lock:
            while not self._is_dropped:
                step = self._exchange.next_request(number, now_s=monotonic())
                if step is Lull.END:
                    self._watch(number)
                    return None
                if step is not Lull.PAUSE:
                    return step
                self._cut_if_dead()
                if not self._exchange.enforcing:
                    self._news.notify_all()  # all is sent, and no answer will tell
                left_s = self._exchange.look_again_at_s(number) - monotonic()
                self._work.wait(None if left_s == float("inf") else max(left_s, 0.0))
            self._shut()
            return None

    # A thread for a stream that is half-closed: grpc's own, which sends, ends with what it sends,
    # and the stream may not.

    def _watch(self, number: int) -> None:
        threading.Thread(
            target=self._watch_end, args=(number,), name="sidecar-client-end", daemon=True
        ).start()

    def _watch_end(self, number: int) -> None:
        with self._lock:
            while self._exchange.wants(number) and not self._is_dropped:
                left_s = self._exchange.look_again_at_s(number) - monotonic()
                self._work.wait(max(left_s, 0.0))
                self._cut_if_dead()

    def _cut_if_dead(self) -> None:
        if self._exchange.gives_up_stream(now_s=monotonic()):
            self._cancel()

    def _cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()
