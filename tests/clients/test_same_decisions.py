"""The same turns get the same decisions, whatever language or protocol reports them."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from tests.clients.languages import LANGUAGES
from tests.clients.script import DIRECTIVES, SCRIPT, SESSION_ID, canonical, line_of
from tests.clients.transports import TRANSPORTS
from tests.mcp.hosts import session_of

pytestmark = [pytest.mark.clients, pytest.mark.process]

REFERENCE = "python"
FLAGS = ("--agent-http-tcp-address=127.0.0.1:0", "--agent-http-address=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of the script, in the one form."""

    decisions: list[str]
    sums: list[str]
    """What the sidecar has of the run beside its decisions: totals, approaches, rotations."""


def played(transport: str, directory: Path) -> Outcome:
    """What a sidecar of its own makes of the script."""
    directory.mkdir()
    with SidecarProcess(directory, flags=FLAGS) as sidecar:
        decisions = TRANSPORTS[transport](sidecar, SCRIPT)
        session = session_of(sidecar, SESSION_ID)
    return Outcome(
        decisions=canonical(decisions, directory=str(directory)),
        sums=[line_of(each) for each in (session.totals, *session.approaches, *session.rotations)],
    )


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return played(REFERENCE, tmp_path_factory.mktemp("reference") / "sidecar")


def test_the_script_meets_each_directive(reference: Outcome) -> None:
    decisions = [json.loads(line) for line in reference.decisions]

    assert [decision["sequence"] for decision in decisions] == list(range(1, len(SCRIPT) + 1))
    assert set().union(*decisions) >= DIRECTIVES
    assert len(reference.sums) > 3
    assert {"loop", "max_turns"} <= {
        reading["signal"] for decision in decisions for reading in decision.get("readings", ())
    }


@pytest.mark.parametrize("transport", [name for name in TRANSPORTS if name != REFERENCE])
def test_the_decisions_are_equal(
    transport: str, reference: Outcome, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if transport in LANGUAGES:
        request.getfixturevalue(transport)
    outcome = played(transport, tmp_path / "sidecar")

    assert outcome.decisions == reference.decisions
    assert outcome.sums == reference.sums
