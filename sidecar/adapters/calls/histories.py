"""What the journal has of a session, as much as goes into one answer.

Read by a thread: it waits for the disk.
"""

from collections.abc import Sequence
from typing import Final

from sidecar.adapters.calls.pages import PAGE_BYTES_MAX
from sidecar.adapters.convert import history_out
from sidecar.core.turn import Turn
from sidecar.ports import Entry, Journal, Rejected
from sidecar.v1 import session_service_pb2 as pb

READS_MAX: Final = 10
"""Of the journal, for the latest turns of a session."""

BETWEEN: Final = 100
"""Entries that are read beside the turns that are wanted. Commands stand between turns, seldom
many: then more are read, within a bound."""


FRAME_BYTES: Final = 8
"""Around one record in an answer, at most."""


class Histories:
    """The histories of all sessions."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def latest(self, session: pb.Session, *, turns: int, last: int) -> pb.GetSessionResponse:
        """The session with its latest turns up to the `last` entry, and what was done among them;
        the earliest are left out of an answer that would be too large."""
        entries: list[Entry] = []
        lacking = turns
        for _ in range(READS_MAX):
            read = self._journal.read(session.session_id, until=last, last=lacking + BETWEEN)
            entries[:0] = read
            lacking -= sum(isinstance(entry.event, Turn | Rejected) for entry in read)
            if lacking <= 0 or not read or read[0].number <= 1:
                break
            last = read[0].number - 1
        return _latest_that_fit(history_out(session, entries, turns_max=turns))

    def page(self, session_id: str, *, after: int, size: int, last: int) -> pb.ListTurnsResponse:
        """What comes of so many entries after one, of those up to the `last`: fewer where they are
        too large, or some are not kept. Begins with the first that is."""
        entries = self._read(session_id, after, min(after + size, last)) or self._first_kept(
            session_id, after + size, size=size, last=last
        )
        page = pb.ListTurnsResponse()
        seen, bytes_left = after, PAGE_BYTES_MAX
        for entry in entries:
            found = history_out(pb.Session(), [entry])
            bytes_left -= found.ByteSize()
            if bytes_left < 0 and seen > after:
                break
            page.turns.extend(found.turns)
            page.commands.extend(found.commands)
            seen = entry.number
        page.next_page_token = str(seen) if after < seen < last else ""
        page.follow_token = str(seen)
        return page

    def _first_kept(
        self, session_id: str, none_until: int, *, size: int, last: int
    ) -> Sequence[Entry]:
        """The first entries that are kept of those after one."""
        if none_until >= last or not self._read(session_id, none_until, last, latest=1):
            return ()
        # The oldest are dropped first, which may be a million: halved, that are twenty looks.
        some_until = last
        while some_until - none_until > 1:
            middle = (none_until + some_until) // 2
            if self._read(session_id, none_until, middle, latest=1):
                some_until = middle
            else:
                none_until = middle
        return self._read(session_id, none_until, min(none_until + size, last))

    def _read(
        self, session_id: str, after: int, until: int, *, latest: int = 1_000_000
    ) -> Sequence[Entry]:
        return self._journal.read(session_id, after=after, until=until, last=latest)


def _latest_that_fit(found: pb.GetSessionResponse) -> pb.GetSessionResponse:
    if found.ByteSize() <= PAGE_BYTES_MAX:
        return found
    fit = pb.GetSessionResponse(session=found.session)
    turns, commands = list(found.turns), list(found.commands)
    bytes_left = PAGE_BYTES_MAX - fit.ByteSize()
    while turns or commands:
        latest = turns[-1].sequence if turns else 0
        is_command = bool(commands) and commands[-1].command.after_sequence >= latest
        bytes_left -= (commands if is_command else turns)[-1].ByteSize() + FRAME_BYTES
        if bytes_left < 0:
            break
        if is_command:
            commands.pop()
        else:
            turns.pop()
    fit.turns.extend(found.turns[len(turns) :])
    fit.commands.extend(found.commands[len(commands) :])
    return fit
