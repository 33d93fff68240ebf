"""The exchange over grpc.aio: one task that reads, and one beside it that writes."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio

from sidecar.client.assembly import Assembly
from sidecar.client.channel import (
    ForkedError,
    async_channel_of,
    check_descriptors,
    check_listener,
    check_socket,
    ending_of_absence,
    ending_of_fault,
    metadata_of,
)
from sidecar.client.directive import Directive, Reason
from sidecar.client.give_ups import GiveUps
from sidecar.client.line import Phase
from sidecar.client.refusal import Ending
from sidecar.client.report import ClientOptions
from sidecar.client.statuses import Statuses
from sidecar.client.stream import Lull
from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1.convergence_service_pb2_grpc import ConvergenceServiceStub

CANCELLED: Final = 1
# A cancelled task ends within milliseconds.
STOP_S: Final = 1.0
# The sidecar's status, if there is one, follows grpc's own within a turn or two of the loop.
STATUS_S: Final = 0.1
Call: TypeAlias = "grpc.aio.StreamStreamCall[wire.ObserveRequest, wire.ObserveResponse]"


class TaskLink:
    """One client's tasks and stream. Lives on one event loop at a time."""

    def __init__(self, address: object, options: ClientOptions, give_ups: GiveUps) -> None:
        self._assembly = Assembly(address, options, give_ups)
        self._exchange = self._assembly.exchange
        self._changed = asyncio.Event()
        self._call: Call | None = None
        self._task: asyncio.Task[None] | None = None
        self._assembly.say()

    def __repr__(self) -> str:
        return f"{self._assembly.settings.target!r}, {self._exchange}"

    @property
    def session_id(self) -> str:
        """The session's name."""
        return self._exchange.line.session_id

    def start(self) -> None:
        """Begins to connect, on the running loop; one that is under way there goes on."""
        loop = asyncio.get_running_loop()
        if self._task is not None and self._task.get_loop() is loop and not self._task.done():
            return
        if self._exchange.line.stream is not None:
            self._exchange.line.let_go()  # with its loop
        if self._exchange.line.phase is not Phase.STOPPED:
            self._changed = asyncio.Event()
            self._call = None
            self._task = loop.create_task(self._run(), name="sidecar-client")

    # The caller's tasks.

    async def turn(self, report: Mapping[str, object]) -> Directive:
        """Reports a turn and waits for its decision, at most the timeout."""
        turn = self._assembly.turn(report)
        deadline_s = monotonic() + self._assembly.settings.timeout_s
        self.start()
        entry = self._exchange.report(turn)
        self._notify()
        try:
            while self._exchange.awaits(entry) and monotonic() < deadline_s:
                await self._change(deadline_s)
            return self._exchange.collect(entry, now_s=monotonic())
        finally:
            self._exchange.abandon(entry)
            self._cut_if_dead()

    async def wait_for_operator(self) -> Directive:
        """Waits for a person's word, as long as the last directive said."""
        self.start()
        while (until_s := self._exchange.operator_awaited_until_s()) > monotonic():
            await self._change(until_s)
        return self._exchange.collect_operator(now_s=monotonic())

    async def wait_until_settled(self, timeout_s: object) -> bool:
        """Waits until the sidecar has every turn."""
        deadline_s = monotonic() + (self._assembly.seconds("timeout_s", timeout_s) or 0.0)
        self.start()
        while not self._exchange.settled and monotonic() < deadline_s:
            await self._change(deadline_s)
        return self._exchange.settled

    async def close(self, outcome: object, final_answer: object, timeout_s: object) -> bool:
        """Says goodbye, waits until it is heard, and ends the tasks."""
        goodbye = self._assembly.goodbye(outcome, final_answer)
        wait_s = self._assembly.seconds("timeout_s", timeout_s)
        try:
            self._exchange.close(goodbye)
            deadline_s = monotonic() + (self._exchange.goodbye_s if wait_s is None else wait_s)
            self._notify()
            if self._task is not None:
                self.start()
                while self._exchange.awaits_goodbye and monotonic() < deadline_s:
                    await self._change(deadline_s)
        finally:
            await self._stop()
        return self._exchange.line.goodbye_heard

    def drop(self) -> None:
        """Ends the task, without waiting for anything: nobody has the client any more.

        The garbage collector calls this, in any thread and at any time.
        """
        if (task := self._task) is not None:
            with suppress(RuntimeError):  # its loop is closed, and so it has ended
                task.get_loop().call_soon_threadsafe(task.cancel)

    async def _stop(self) -> None:
        self._exchange.line.shut()
        self._notify()
        task, self._task = self._task, None
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            await asyncio.wait({task}, timeout=STOP_S)

    async def _change(self, until_s: float) -> None:
        """Waits until something has happened, or until then."""
        changed = self._changed
        wait_s = None if until_s == float("inf") else max(until_s - monotonic(), 0.0)
        try:
            async with asyncio.timeout(wait_s):
                await changed.wait()
        except TimeoutError:
            pass

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    # The reading task.

    async def _run(self) -> None:
        try:
            while (number := await self._next_stream()) is not None:
                ending = await self._converse(number)
                self._exchange.ended(number, ending, now_s=monotonic())
                self._assembly.note_outage()
                self._notify()
                self._assembly.say()
        except Exception as error:  # noqa: BLE001 (the agent must not notice)
            self._assembly.stop_for_fault(error)
            self._notify()
            self._assembly.say()

    async def _next_stream(self) -> int | None:
        while (pause_s := self._exchange.line.pause_s(monotonic())) is not None:
            if pause_s <= 0:
                return self._exchange.line.begin(monotonic())
            await self._change(monotonic() + pause_s)
        return None

    async def _converse(self, number: int) -> Ending:
        try:
            settings = self._assembly.settings
            check_socket(settings)
            if self._exchange.line.was_refused:
                check_listener(settings)
            check_descriptors()
            async with async_channel_of(settings) as channel:
                return await self._stream(number, channel)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # grpc.aio's word for a call that this client itself has cancelled
            return Ending(code=CANCELLED)
        except ForkedError as error:
            self._assembly.stop(Reason.INTERNAL, str(error))
            return ending_of_absence(error)
        except OSError as error:
            return ending_of_absence(error)
        except Exception as error:  # noqa: BLE001 (the agent must not notice)
            self._assembly.give_ups.count(Reason.INTERNAL)
            return ending_of_fault(error)

    async def _stream(self, number: int, channel: grpc.aio.Channel) -> Ending:
        stub: Any = ConvergenceServiceStub(channel)
        call: Call = stub.Observe(metadata=metadata_of(self._assembly.settings))
        self._call = call
        statuses = Statuses(call, on_status=self._notify)
        writer = asyncio.create_task(self._write(number, call), name="sidecar-client-writer")
        try:
            await self._read(number, call)
            deadline_s = monotonic() + STATUS_S
            while statuses.only_grpc_s_own and monotonic() < deadline_s:
                await self._change(deadline_s)
            return statuses.ending
        finally:
            self._call = None
            call.cancel()
            writer.cancel()
            await asyncio.wait({writer})

    async def _read(self, number: int, call: Call) -> None:
        """Hands in what arrives, until nothing more does."""
        try:
            while True:
                response: Any = await call.read()
                if response is grpc.aio.EOF:
                    return
                self._exchange.received(number, response, now_s=monotonic())
                self._assembly.note_outage()
                self._notify()
                self._assembly.say()
        except grpc.RpcError:
            return  # the statuses say how it ended

    # The writing task.

    async def _write(self, number: int, call: Call) -> None:
        try:
            while (request := await self._next_request(number)) is not None:
                await call.write(request)
            await call.done_writing()
            # A stream that is half-closed, and does not end, needs somebody to notice.
            while self._exchange.wants(number):
                await self._change(self._exchange.look_again_at_s(number))
                self._cut_if_dead()
        except (grpc.RpcError, asyncio.InvalidStateError):
            return  # the stream is over, and the reader sees how
        except Exception:  # noqa: BLE001 (the agent must not notice)
            self._assembly.give_ups.count(Reason.INTERNAL)
            call.cancel()

    async def _next_request(self, number: int) -> wire.ObserveRequest | None:
        while True:
            step = self._exchange.next_request(number, now_s=monotonic())
            if step is Lull.END:
                return None
            if step is not Lull.PAUSE:
                return step
            self._cut_if_dead()
            if not self._exchange.enforcing:
                self._notify()  # all is sent, and no answer will tell
            await self._change(self._exchange.look_again_at_s(number))

    def _cut_if_dead(self) -> None:
        if self._exchange.gives_up_stream(now_s=monotonic()) and self._call is not None:
            self._call.cancel()
