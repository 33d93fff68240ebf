"""What the two shells have in common: one client's settings, exchange and clock, put together."""

import logging
import random
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping

from sidecar.client.compose import compose_close, compose_open, compose_turn
from sidecar.client.directive import Reason
from sidecar.client.exchange import Exchange
from sidecar.client.give_ups import GiveUps
from sidecar.client.intake import Intake
from sidecar.client.line import Outage
from sidecar.client.report import ClientOptions
from sidecar.client.saying import say
from sidecar.client.settings import settings_of
from sidecar.v1 import run_pb2 as pb


class Assembly:
    """One client without its I/O. Raises nothing for what a caller may give."""

    def __init__(self, address: object, options: ClientOptions, give_ups: GiveUps) -> None:
        intake = Intake()
        self.give_ups = give_ups
        self.settings = settings_of(address, options, intake)
        self.exchange = Exchange(
            opening=compose_open(options, intake, client_instance=uuid.uuid4().hex),
            timeout_s=self.settings.timeout_s,
            give_ups=give_ups,
            random=random.random,
        )
        self._began_s = time.time()
        self._faults_told: set[str] = set()
        self._outage_told: Outage | None = None
        self._unsaid: deque[tuple[int, str, *tuple[str, ...]]] = deque()
        """Lines for the log with their levels and values, until nobody holds the client's lock."""
        self._unsaid.extend(self._lines_of(intake))
        if fault := self.settings.fault:
            self.stop(Reason.CONNECT, fault)

    def turn(self, report: Mapping[str, object]) -> pb.Turn:
        """The turn to report; it began when the one before it was."""
        intake = Intake()
        now_s = time.time()
        turn = compose_turn(report, intake, began_s=self._began_s, ended_s=now_s)
        self._began_s = now_s
        self._say_at_once(intake)
        return turn

    def goodbye(self, outcome: object, final_answer: object) -> pb.Close:
        """The close to send."""
        intake = Intake()
        close = compose_close(outcome, final_answer, intake)
        self._say_at_once(intake)
        return close

    def seconds(self, field: str, value: object) -> float | None:
        """How long a caller wants to wait; None: it says nothing that can be waited for."""
        intake = Intake()
        seconds = intake.seconds(field, value)
        self._say_at_once(intake)
        return seconds

    def stop_for_fault(self, error: Exception) -> None:
        """Goes on without the sidecar for good: the client itself has failed."""
        self.give_ups.count(Reason.INTERNAL)
        self.stop(Reason.INTERNAL, type(error).__name__)

    def stop(self, reason: Reason, description: str) -> None:
        """Goes on without the sidecar for good."""
        self.exchange.line.stop(Outage(reason=reason, description=description, final=True))
        self.note_outage()

    def note_outage(self) -> None:
        """Has it said that an outage begins and ends, and within it that the sidecar refuses the
        client and that it is for good, once each."""
        outage, told = self.exchange.line.outage, self._outage_told
        if outage is not None and outage != told and _is_news(outage, told):
            how_long = "for good" if outage.final else "until it is back"
            where = f" at {self.settings.target}" if self.settings.target else ""
            why = ": ".join(filter(None, (outage.reason, outage.description)))
            line = "no sidecar%s (%s): the agent goes on without it %s"
            self._unsaid.append((logging.WARNING, line, where, why, how_long))
        elif outage is None and told is not None:
            line = "the sidecar at %s is back"
            self._unsaid.append((logging.INFO, line, self.settings.target))
        self._outage_told = outage

    def say(self) -> None:
        """Logs what was noted; not with the client's lock held, and not in a caller's thread: a
        log may take long."""
        while self._unsaid:
            say(*self._unsaid.popleft())

    def _say_at_once(self, intake: Intake) -> None:
        for line in self._lines_of(intake):
            say(*line)

    def _lines_of(self, intake: Intake) -> Iterator[tuple[int, str, str]]:
        """The line about faults that are news; counts them."""
        if not intake.faults:
            return
        self.give_ups.count(Reason.INTERNAL)
        left = max(0, FAULTS_TOLD_MAX - len(self._faults_told))
        if untold := sorted(set(intake.faults) - self._faults_told)[:left]:
            self._faults_told.update(untold)
            yield logging.WARNING, "cannot be sent as given: %s", ", ".join(untold)


def _is_news(outage: Outage, told: Outage | None) -> bool:
    is_refused = outage.reason is Reason.REJECTED
    return told is None or outage.final or (is_refused and told.reason is not Reason.REJECTED)


# Field names come from the caller too; the log is for a person.
FAULTS_TOLD_MAX = 100
