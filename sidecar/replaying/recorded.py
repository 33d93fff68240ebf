"""Recorded runs, folded again: what `sidecar replay` and `sidecar explain` do without a server.

A replay goes through the same sessions as a live stream, with nothing behind them: no clock that
moves, no store, no telemetry. So what it decides is what a live sidecar decides.
"""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from sidecar.adapters.convert import (
    SuccessorReader,
    TurnBounds,
    TurnReader,
    closing_in,
    command_in,
    content_of,
    identifier,
    limits_in,
    opened_out,
    opening_in,
    opening_out,
    rejection_in,
    write_decision,
)
from sidecar.adapters.run_file import STANDARD_INPUT, BrokenLine, Line
from sidecar.config.keys import Config
from sidecar.core.directive import Decision
from sidecar.core.opening import Beginning, Idle, Mode, Opening, Succession
from sidecar.core.policy import Policy
from sidecar.core.run import Run
from sidecar.core.snapshot import SnapshotInvalid
from sidecar.nowhere import NoKeeper, NoRecorder, NoStore, NoTime
from sidecar.policies import Policies
from sidecar.ports import NUMBER_MAX, Entry, Rejected
from sidecar.refusal import Reason, Refusal
from sidecar.replaying.lines import Recording
from sidecar.sessions.beginning import begun, session_of
from sidecar.sessions.inheritance import read_back, written
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import SessionBounds, Sessions
from sidecar.turn_bounds import turn_bounds
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

REPLAY_KEY = b"sidecar replay: equality is all that counts"
"""Digests are compared within one run and never leave it, so any key gives the same decisions."""

NOT_OPEN = 'the first line of a run file is {"open": ...}'

NO_EARLIER: Final[Mapping[str, Session]] = MappingProxyType({})

MESSAGE_BYTES_MAX = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line that could not be replayed."""

    number: int
    text: str


def session_name(source: str) -> str:
    """The session id of a run whose `open` has none: its file's name, in which what is not UTF-8,
    and so not for the wire, is escaped. So two files still have two names."""
    if source == STANDARD_INPUT:
        return "stdin"
    return PurePath(source).stem.encode("utf-8", "backslashreplace").decode()


class Replay:
    """One run file through the fold."""

    def __init__(
        self,
        source: str,
        policies: Policies,
        *,
        policy: str = "",
        bounds: TurnBounds | None = None,
        message_bytes_max: int = MESSAGE_BYTES_MAX,
        session_bounds: SessionBounds | None = None,
        earlier: Mapping[str, Session] = NO_EARLIER,
        limits_as_given: bool = True,
    ) -> None:
        """`earlier` has the sessions of files before, by id, from which this run may go on. Under
        another `policy`, or without `limits_as_given`, a run gets the limits that it would get
        today, and not those that its journal says it was given."""
        self._source = source
        self._policies = policies
        self._policy = policy
        self._limits_as_given = limits_as_given and not policy
        self._bounds = bounds or TurnBounds()
        self._reader: TurnReader | SuccessorReader | None = None
        self._message_bytes_max = message_bytes_max
        self._earlier = earlier
        self._recording = Recording()
        self.is_named = False
        """Whether the file names its session, which else goes by the file's name."""
        self.session: Session | None = None
        self.entries: list[Entry] = []
        """What was folded so far, for whoever explains it; content-free."""
        self._sessions = Sessions(
            policies=policies,
            bounds=session_bounds or SessionBounds(),
            clock=NoTime(),
            journal=_Listing(self.entries),
            snapshots=NoStore(),
            recorder=NoRecorder(),
            keeper=NoKeeper(),
        )

    @staticmethod
    def under(
        config: Config,
        source: str,
        policies: Policies,
        *,
        policy: str,
        earlier: Mapping[str, Session] = NO_EARLIER,
        limits_as_given: bool = True,
    ) -> "Replay":
        """A replay that reads turns as a sidecar of this configuration does."""
        return Replay(
            source,
            policies,
            policy=policy,
            bounds=turn_bounds(config),
            message_bytes_max=config.message_bytes_max,
            session_bounds=SessionBounds(decisions_kept_max=config.decisions_kept_max),
            earlier=earlier,
            limits_as_given=limits_as_given,
        )

    def run(self, lines: Iterable[Line | BrokenLine]) -> Iterator[pb.ObserveResponse | Problem]:
        """What a live stream would have answered, line by line, and what could not be read."""
        for line in lines:
            match line:
                case BrokenLine(number=number, problem=problem):
                    self._recording.has_lost_lines = True
                    yield Problem(number=number, text=problem)
                case Line(number=number, message=message):
                    try:
                        if self._is_taken(message):
                            yield from self._answer(message)
                    except Refusal as refusal:
                        yield Problem(number=number, text=str(refusal))

    def leave(self, earlier: MutableMapping[str, Session], *, sessions_max: int) -> None:
        """Add the session to those that a later file may go on from, without the answers that it
        remembers; beyond `sessions_max` the oldest is dropped."""
        session = self.session
        if session is None:
            return
        earlier.pop(session.id, None)
        if len(earlier) >= sessions_max:
            del earlier[next(iter(earlier))]
        left = Beginning(opening=session.facts.opening, limits=session.run.state.limits)
        earlier[session.id] = session_of(left, session.run, now_s=0.0, decisions_kept_max=1)

    def _is_taken(self, line: pb.RunFileLine) -> bool:
        return self._recording.takes(
            line,
            session_id=self.session.id if self.session else "",
            last_sequence=self.session.last_sequence if self.session else None,
            message_bytes_max=self._message_bytes_max,
        )

    def _answer(self, line: pb.RunFileLine) -> Iterator[pb.ObserveResponse]:
        which = line.WhichOneof("message")
        if which == "open":
            yield from self._open(line)
            return
        session, reader = self.session, self._reader
        if session is None or reader is None:
            return
        match which:
            case "turn":
                turn = line.turn
                if self._recording.has_lost_lines:
                    # What is missing after a broken line was in it, as when an agent lost turns.
                    self._resume(session, turn.sequence)
                content = content_of(turn)
                yield _decided(self._sessions.turn(session, reader.read(turn), content))
            case "rejected":
                rejected = Rejected(
                    sequence=line.rejected.sequence,
                    id=identifier(line.rejected.id),
                    rejection=rejection_in(line.rejected.rejection),
                )
                yield _decided(self._sessions.turn(session, rejected, bytes(8)))
            case "close":
                self._sessions.close(session, closing_in(line.close))
            case "command":
                yield from self._command(session, line.command)

    def _open(self, line: pb.RunFileLine) -> Iterator[pb.ObserveResponse]:
        if self.session is not None:
            begun_with = opening_out(self.session.facts.opening)
            again = self._recording.resumption(
                line.open, begun=begun_with, is_policy_replaced=bool(self._policy)
            )
            self._sessions.open(opening_in(again), None)
            return
        self.is_named = bool(line.open.session_id)
        policy = self._policies.named(self._policy or line.open.policy)
        opening = replace(
            opening_in(line.open),
            session_id=line.open.session_id or session_name(self._source),
            policy=policy.name,
        )
        self._reader = reader = TurnReader(key=REPLAY_KEY, lens=policy.lens, bounds=self._bounds)
        if line.inherited_json:
            self._reader = succeeding = SuccessorReader(reader=reader)
            run = succeeding.inherited(_inherited(line.inherited_json, opening, policy))
            as_given = Succession(opening=opening, inherited=written(run))
            self._journal(
                as_given if self._limits_as_given else begun(opening, self._policies, run)[0]
            )
        elif line.HasField("granted_limits") and self._limits_as_given:
            self._journal(Beginning(opening=opening, limits=limits_in(line.granted_limits)))
        session, missing = self._sessions.open(opening, None, self._found(opening))
        self.session = session
        yield pb.ObserveResponse(
            opened=opened_out(
                session,
                missing=missing,
                idle_ttl_s=self._sessions.bounds.session_idle_ttl_s,
                turn_bytes_max=self._message_bytes_max,
            )
        )

    def _found(self, opening: Opening) -> Mapping[str, Session]:
        """What the store of a sidecar would have of the session that this one goes on from."""
        previous = self._earlier.get(opening.previous_session_id)
        return (
            {} if previous is None or previous.id == opening.session_id else {previous.id: previous}
        )

    def _journal(self, first: Beginning | Succession) -> None:
        """Make this the journal's first entry, which the session is then restored from."""
        name = first.opening.session_id
        self.entries[:] = [Entry(session_id=name, number=1, time_s=0.0, event=first)]

    def _resume(self, session: Session, first_available_sequence: int) -> None:
        opening = replace(session.facts.opening, first_available_sequence=first_available_sequence)
        self._sessions.open(opening, None)

    def _command(self, session: Session, wire: run_pb2.Command) -> Iterator[pb.ObserveResponse]:
        command = command_in(wire)
        if command is None:
            return
        may_wait = session.waits_until_s is not None or self._recording.has_lost_lines
        if isinstance(command, Idle) and not may_wait:
            if self._policy:  # which need not ask anybody to wait where the recorded one did
                return
            raise Refusal(
                Reason.REQUEST_INVALID,
                "idle ends a wait, and nobody waits here: it comes after a rotate with wait_max",
            )
        listener = _Answers()
        session.outbox = listener
        try:
            self._sessions.command(session, command)
        finally:
            session.outbox = None
        for decision in listener.decisions:
            yield _decided(decision)


def _inherited(text: str, opening: Opening, policy: Policy) -> Run:
    """The run that a line says the session begins with. Raises Refusal."""
    observed = opening.mode is Mode.OBSERVE
    try:
        return read_back(text, session_id=opening.session_id, policy=policy, observed=observed)
    except SnapshotInvalid as fault:
        field = "inherited_json"
        raise Refusal(Reason.OPEN_INVALID, f"{field}: {fault}", field=field) from None


class _Answers:
    """Stands where an agent would listen."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def send(self, decision: Decision) -> None:
        self.decisions.append(decision)

    def drain(self) -> None:
        """Nobody drains a replay."""

    def end(self, refusal: Refusal) -> None:
        """Nobody ends a replay."""


class _Listing:
    """A journal that keeps what one run folded."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries

    def append(self, entry: Entry) -> None:
        self._entries.append(entry)

    def read(
        self, session_id: str, *, after: int = 0, until: int = NUMBER_MAX, last: int = 1_000_000
    ) -> list[Entry]:
        return [entry for entry in self._entries if after < entry.number <= until][-last:]


def _decided(decision: Decision) -> pb.ObserveResponse:
    response = pb.ObserveResponse()
    write_decision(decision, response.decision)
    return response
