"""The last turn and the goodbye of a run arrive, whatever became of the session's name before."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from sidecar.client.stream import Lull
from sidecar.testing import SidecarProcess
from sidecar.v1 import run_pb2 as pb
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.clients.languages import LANGUAGES
from tests.clients.transports import ENDS_WITHIN_S, PYTHON_DRIVER, TIMEOUT_MS, asked
from tests.edges.exchanges import Talk
from tests.mcp.hosts import control

DRIVERS = {
    "python": PYTHON_DRIVER,
    "python, asynchronous": f"{PYTHON_DRIVER} --asynchronous",
    **{each.name: shlex.quote(str(each.driver)) for each in LANGUAGES.values()},
}
MISSES_MAX = 3


@pytest.mark.clients
@pytest.mark.process
@pytest.mark.parametrize("transport", DRIVERS)
def test_the_name_of_a_closed_session_may_be_used_at_once(
    transport: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if transport in LANGUAGES:
        request.getfixturevalue(transport)
    with SidecarProcess(tmp_path) as sidecar:
        options = {"address": sidecar.agent, "session_id": "run", "timeout_ms": TIMEOUT_MS}
        run: list[dict[str, Any]] = [
            {"do": "start", "options": options},
            {"do": "turn", "turn": {"text": "all of it"}},
            {"do": "close", "close": {}},
            {"do": "stop"},
        ]
        replies = asked(DRIVERS[transport], [*run, *run])
        listed = control(sidecar).ListSessions(
            admin_pb.ListSessionsRequest(), timeout=ENDS_WITHIN_S
        )

    assert [reply["heard"] for reply in replies if "heard" in reply] == [True, True]
    assert replies[len(run) + 1]["directive"]["fail_open_reason"] == "rejected"
    said = [(each.previous_session_id, each.last_sequence, each.closed) for each in listed.sessions]
    assert sorted(said) == [("", 1, True), ("run", 1, True)]


# What the Python clients have in common, without I/O.


@pytest.mark.parametrize("turns", [1, MISSES_MAX + 1])
def test_whoever_asks_for_another_session_is_worth_a_goodbye(turns: int) -> None:
    talk = Talk()
    entries = [talk.report() for _ in range(turns)]
    talk.connect()
    talk.end(9, "SESSION_CLOSED")
    for entry in entries:
        talk.collect(entry)
    talk.exchange.close(pb.Close())

    assert talk.exchange.awaits_goodbye
    assert talk.opened().previous_session_id == "s"
    assert talk.exchange.awaits_goodbye
    said = [one.WhichOneof("message") for one in talk.sent()]
    assert [one for one in said if one != "heartbeat"] == [*["turn"] * turns, "close"]


def test_a_goodbye_that_was_not_said_was_not_heard() -> None:
    talk = Talk()
    talk.report()
    talk.connect()
    talk.exchange.close(pb.Close())
    talk.end(9, "SESSION_CLOSED")

    assert not talk.exchange.line.goodbye_heard
    assert talk.exchange.awaits_goodbye


def test_an_open_stream_is_worth_a_goodbye_whatever_turns_have_missed() -> None:
    talk = Talk()
    talk.connect()
    for _ in range(MISSES_MAX):
        talk.miss()
    assert not talk.exchange.awaits_goodbye

    talk.end(14)
    talk.opened()
    talk.exchange.close(pb.Close())

    assert talk.exchange.awaits_goodbye


def test_nothing_follows_the_goodbye() -> None:
    talk = Talk()
    talk.opened()
    talk.exchange.close(pb.Close())
    assert not isinstance(close := talk.step(), Lull) and close.HasField("close")
    talk.collect(talk.report())

    assert talk.step() is Lull.END
