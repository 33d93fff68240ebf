"""Histories: what is kept of a run's turns, from the first on, in answers that a client takes."""

import pytest

from sidecar.adapters.calls import control, histories
from sidecar.adapters.calls.histories import Histories
from sidecar.core.opening import Reset
from sidecar.core.turn import Turn
from sidecar.ports import Entry
from sidecar.testing import MemoryStore
from sidecar.v1 import session_service_pb2 as pb
from tests.wire.served import Agent, Served, opening


def kept(*numbers: int, commands: tuple[int, ...] = ()) -> Histories:
    """A journal of which these entries are left: the turns of the same sequence, or commands."""
    store = MemoryStore(lost=lambda *_: None)
    for number in sorted((*numbers, *commands)):
        event = Reset(reason="x" * 100) if number in commands else Turn(sequence=number)
        store.append(
            Entry(
                session_id="s", number=number, time_s=1.0, event=event, decision=None, content=b""
            )
        )
    return Histories(store)


def paged(found: Histories, *, size: int, last: int) -> list[list[int]]:
    """The sequences on each page."""
    pages, after, more = [], 0, True
    while more:
        page = found.page("s", after=after, size=size, last=last)
        pages.append([turn.sequence for turn in page.turns])
        after, more = int(page.follow_token), bool(page.next_page_token)
        assert page.next_page_token in ("", page.follow_token)
    return pages


@pytest.mark.parametrize(
    ("why", "numbers", "last", "pages"),
    [
        ("all are", range(1, 6), 5, [[1, 2, 3], [4, 5]]),
        ("the first are dropped", range(5_001, 5_006), 5_005, [[5001, 5002, 5003], [5004, 5005]]),
        ("some between are", (1, 2, 900, 901), 901, [[1, 2], [900, 901]]),
        ("the last are not written", (1, 2), 9, [[1, 2], []]),
        ("only the last is", (999,), 999, [[999]]),
        ("none is", (), 999, [[]]),
    ],
)
def test_pages_begin_with_the_first_turn_that_is_kept(
    why: str, numbers: tuple[int, ...], last: int, pages: list[list[int]]
) -> None:
    assert paged(kept(*numbers), size=3, last=last) == pages, why


def test_who_follows_goes_on_behind_what_was_read() -> None:
    page = kept(1, 2).page("s", after=0, size=100, last=3)

    assert (page.next_page_token, page.follow_token) == ("2", "2")


def test_a_page_of_turns_ends_before_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "PAGE_BYTES_MAX", 100)
    found = kept(*range(1, 21))
    pages = paged(found, size=1_000, last=20)

    assert [each for page in pages for each in page] == list(range(1, 21))
    assert 1 < len(pages) < 20
    assert found.page("s", after=0, size=1_000, last=20).ByteSize() <= 100


def test_one_turn_that_is_larger_than_a_page_is_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "PAGE_BYTES_MAX", 1)

    assert paged(kept(1, 2, 3), size=10, last=3) == [[1], [2], [3]]


def test_of_the_latest_turns_the_earliest_are_left_out_of_an_answer_that_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = kept(*range(1, 10), *range(11, 20), commands=(10,))
    session = pb.Session(session_id="s")
    whole = found.latest(session, turns=18, last=19)
    monkeypatch.setattr(histories, "PAGE_BYTES_MAX", whole.ByteSize() // 2)
    half = found.latest(session, turns=18, last=19)
    sequences = [turn.sequence for turn in half.turns]

    assert half.ByteSize() <= whole.ByteSize() // 2
    assert sequences == list(range(sequences[0], 20))
    assert len(sequences) > 2
    assert half.session == session


async def test_a_page_of_sessions_ends_before_it_is_too_large(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "PAGE_BYTES_MAX", 1_000)
    for number in range(20):
        await Agent(server).ask(opening(f"s{number:02}", agent_name="a" * 100))
    pages: list[pb.ListSessionsResponse] = [
        await server.control.ListSessions(pb.ListSessionsRequest())
    ]
    while token := pages[-1].next_page_token:
        pages.append(await server.control.ListSessions(pb.ListSessionsRequest(page_token=token)))

    found = [session.session_id for page in pages for session in page.sessions]
    assert found == [f"s{number:02}" for number in reversed(range(20))]
    assert all(1 < len(page.sessions) < 20 for page in pages)
