"""What the two shells have in common: one client's settings, exchange and clock, put together."""

import logging
import random
import time
import uuid
from collections.abc import Mapping

from sidecar.client.compose import compose_close, compose_open, compose_turn
from sidecar.client.directive import Reason
from sidecar.client.exchange import Exchange
from sidecar.client.give_ups import GiveUps
from sidecar.client.intake import Intake
from sidecar.client.line import Outage
from sidecar.client.report import ClientOptions
from sidecar.client.settings import settings_of
from sidecar.v1 import run_pb2 as pb

logger = logging.getLogger("sidecar.client")


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
        self._note_faults(intake)
        if fault := self.settings.fault:
            self.exchange.line.stop(Outage(reason=Reason.CONNECT, description=fault, final=True))
            self.note_outage()

    def turn(self, report: Mapping[str, object]) -> pb.Turn:
        """The turn to report; it began when the one before it was."""
        intake = Intake()
        now_s = time.time()
        turn = compose_turn(report, intake, began_s=self._began_s, ended_s=now_s)
        self._began_s = now_s
        self._note_faults(intake)
        return turn

    def goodbye(self, outcome: object, final_answer: object) -> pb.Close:
        """The close to send."""
        intake = Intake()
        close = compose_close(outcome, final_answer, intake)
        self._note_faults(intake)
        return close

    def stop_for_fault(self, error: Exception) -> None:
        """Goes on without the sidecar for good: the client itself has failed."""
        self.give_ups.count(Reason.INTERNAL)
        self.exchange.line.stop(
            Outage(reason=Reason.INTERNAL, description=type(error).__name__, final=True)
        )
        self.note_outage()

    def note_outage(self) -> None:
        """Logs the beginning and the end of an outage, and within it that the sidecar refuses the
        client and that it is for good, once each."""
        outage, told = self.exchange.line.outage, self._outage_told
        if outage is not None and outage != told and _is_news(outage, told):
            how_long = "for good" if outage.final else "until it is back"
            logger.warning(
                "no sidecar%s (%s): the agent goes on without it %s",
                f" at {self.settings.target}" if self.settings.target else "",
                ": ".join(filter(None, (outage.reason, outage.description))),
                how_long,
            )
        elif outage is None and told is not None:
            logger.info("the sidecar at %s is back", self.settings.target)
        self._outage_told = outage

    def _note_faults(self, intake: Intake) -> None:
        if not intake.faults:
            return
        self.give_ups.count(Reason.INTERNAL)
        untold = sorted(set(intake.faults) - self._faults_told)
        if untold and len(self._faults_told) < FAULTS_TOLD_MAX:
            self._faults_told.update(untold)
            logger.warning("cannot be sent as given: %s", ", ".join(untold))


def _is_news(outage: Outage, told: Outage | None) -> bool:
    is_refused = outage.reason is Reason.REJECTED
    return told is None or outage.final or (is_refused and told.reason is not Reason.REJECTED)


# Field names come from the caller too; the log is for a person.
FAULTS_TOLD_MAX = 100
