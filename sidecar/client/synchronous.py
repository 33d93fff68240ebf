"""The client for agents that block."""

from __future__ import annotations

import logging
import os
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from sidecar.client.directive import Directive, Reason
from sidecar.client.give_ups import GiveUps
from sidecar.client.interruption import is_from_signal
from sidecar.client.report import ClientOptions, RunOutcome, TurnReport
from sidecar.client.saying import say
from sidecar.client.unnoticed import unnoticed

if TYPE_CHECKING:
    from sidecar.client.tasks import TaskLink
    from sidecar.client.threads import ThreadLink


class Client:
    """Reports one run of an agent, turn by turn, and tells it what the sidecar makes of them.

        with Client(agent_name="my-agent") as run:
            while True:
                ...
                directive = run.turn(tool_calls=[...], input_tokens=..., text=...)
                if directive.kind != "proceed":
                    messages.append(directive.instruction)

    Nothing here raises for what the sidecar does or fails to do, or for what is reported, and
    `turn` waits no longer than `timeout_s` (0.2 s): without a sidecar every directive is a plain
    proceed. Connecting goes on in the background. May be used from several threads. What the
    agent's own handler of a signal raises comes out, as of any other call.
    """

    def __init__(self, /, address: str | None = None, **options: Unpack[ClientOptions]) -> None:
        """`address`: `unix:PATH` or `HOST:PORT`; None: $SIDECAR_ADDRESS or else the socket of a
        sidecar of the same user."""
        self._give_ups = GiveUps()
        self._process = os.getpid()
        self._thread_link: ThreadLink | None = None
        try:
            # Not before: an import that fails must not be the agent's failure.
            from sidecar.client.threads import ThreadLink

            link = ThreadLink(address, options, self._give_ups)
            # Before its thread begins, which must end where the signal comes in between too.
            weakref.finalize(self, drop_in, self._process, link)
            link.start()
            self._thread_link = link
        except Exception as error:  # the agent must not notice
            if is_from_signal(error):
                raise
            say(logging.WARNING, "cannot watch this run", error=error)

    @property
    def _link(self) -> ThreadLink | None:
        # A thread does not live on in the child of a fork, and grpc's objects are of no use there.
        return self._thread_link if os.getpid() == self._process else None

    def __repr__(self) -> str:
        return f"Client({self._thread_link!r}, give_ups={self.give_ups})"

    def turn(self, /, **report: Unpack[TurnReport]) -> Directive:
        """Reports the turn that has just ended; returns what to do now."""
        with unnoticed(self._give_ups, "a turn was not reported"):
            if (link := self._link) is not None:
                return link.turn(report)
            self._give_ups.count(Reason.INTERNAL)
        return Directive(fail_open_reason=Reason.INTERNAL)

    def wait_for_operator(self) -> Directive:
        """Waits for a person where the last directive asks for it (`wait_max_s`), at most so long;
        returns what the person, or the end of the time, means. A proceed if nothing came."""
        with unnoticed(self._give_ups, "a person was not waited for"):
            if (link := self._link) is not None:
                return link.wait_for_operator()
        return Directive()

    def wait_until_settled(self, timeout_s: float) -> bool:
        """Waits until the sidecar is connected and has every turn that is kept; False if it has
        not within `timeout_s` seconds."""
        with unnoticed(self._give_ups, "nothing was waited for"):
            if (link := self._link) is not None:
                return link.wait_until_settled(timeout_s)
        return False

    def close(
        self,
        *,
        outcome: RunOutcome | None = None,
        final_answer: str = "",
        timeout_s: float | None = None,
    ) -> bool:
        """Ends the session and the client; True if the sidecar has heard it within `timeout_s`
        seconds (None: a second, less what turns that were missed have cost). Does not wait for a
        sidecar that is away. More than once does nothing more."""
        with unnoticed(self._give_ups, "the session was not closed"):
            if (link := self._link) is not None:
                return link.close(outcome, final_answer, timeout_s)
        return False

    @property
    def give_ups(self) -> dict[str, int]:
        """How often the client went on without the sidecar so far, by `Reason`."""
        return self._give_ups.by_reason()

    @property
    def session_id(self) -> str:
        """The session's name; it changes if the sidecar cannot go on with it."""
        return "" if self._thread_link is None else self._thread_link.session_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(outcome=outcome_of(error))


def drop_in(process: int, link: ThreadLink | TaskLink) -> None:
    """Ends what the client has left at work, unless this is the child of a fork."""
    if os.getpid() == process:
        link.drop()


def outcome_of(error: BaseException | None) -> RunOutcome | None:
    """How a run ended that ended with this exception; None: it does not tell."""
    match error:
        case None:
            return None
        case Exception():
            return "failed"
        case _:
            return "cancelled"
