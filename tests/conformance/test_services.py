"""Whether a service passes or fails: the sidecar passes, and one that breaks a rule does not."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sidecar.conformance import serving
from sidecar.conformance.agent_play import Service
from sidecar.conformance.faults import StatusLost
from sidecar.conformance.running import Outcome
from sidecar.conformance.serving import TRIES, run_server_cases
from sidecar.conformance.table import Case, server_cases
from sidecar.testing import SidecarProcess
from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import run_pb2 as pb
from tests.fault.servers import Refusal, Server, StandIn, proceed, rotate

pytestmark = pytest.mark.process

CASES = {case.name: case for case in server_cases()}
ORDER = "every turn is answered, in order"


async def played(service: Service, *names: str) -> dict[str, str]:
    """The faults, by case."""
    cases = [CASES[name] for name in names] or list(CASES.values())
    outcomes: list[Outcome] = [one async for one in run_server_cases(service, cases)]
    assert len(outcomes) == len(cases)
    return {one.case.name: one.fault for one in outcomes if one.fault}


@pytest.fixture
def directory() -> Iterator[Path]:
    """Short, since a socket's path is."""
    with tempfile.TemporaryDirectory(prefix="sc-", dir="/tmp") as made:
        yield Path(made)


async def test_the_sidecar_passes_every_case(directory: Path) -> None:
    with SidecarProcess(directory) as sidecar:
        assert await played(Service(target=sidecar.agent)) == {}


async def test_the_sidecar_passes_over_tcp_with_its_token(directory: Path) -> None:
    token = directory / "token"
    token.write_text("s3cret-s3cret-s3cret-s3cret-s3cret")
    token.chmod(0o600)
    with SidecarProcess(directory, flags=(f"--token-file={token}",)) as sidecar:
        target = sidecar.addresses["agent_tcp_address"]
        names = ("open is answered with opened", "RecordTurn refuses a gap")
        with_token = await played(Service(target=target, token=token.read_text()), *names)
        without = await played(Service(target=target), *names)

    assert with_token == {}
    assert sorted(without) == sorted(names)
    assert all("UNAUTHENTICATED" in fault for fault in without.values())


@pytest.mark.parametrize(("lost", "fault"), [(3, ""), (TRIES, "lost 10 times")])
async def test_a_case_whose_ending_was_lost_is_played_again(
    lost: int, fault: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(iter(CASES.values()))
    endings = iter([StatusLost()] * lost)

    async def play(_: Service, played: Case) -> Outcome:
        for ending in endings:
            raise ending
        return Outcome(case=played, took_s=0.0)

    monkeypatch.setattr(serving, "_played", play)
    target = f"unix:{directory}/s"
    with Server(target, StandIn()):
        outcomes = [one async for one in run_server_cases(Service(target=target), [case])]
    assert [fault in one.fault and bool(one.fault) is bool(fault) for one in outcomes] == [True]


def _other_sequence(turn: pb.Turn) -> pb.Decision:
    decision = proceed(turn)
    decision.sequence += 1
    return decision


def _no_id(turn: pb.Turn) -> pb.Decision:
    decision = proceed(turn)
    decision.decision_id = ""
    return decision


def _fault(turn: pb.Turn) -> None:
    if turn.sequence == 3:
        raise Refusal(13, "INTERNAL")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (_other_sequence, "decision.sequence: expected 1, came 2"),
        (_no_id, "decision_id"),
        (_fault, "the stream ended with {'code': 'INTERNAL'"),
        (lambda turn: None, "nothing came within"),
    ],
)
async def test_a_service_that_answers_wrongly_fails(
    directory: Path, answer: Callable[[pb.Turn], pb.Decision | None], says: str
) -> None:
    target = f"unix:{directory}/s"
    with Server(target, StandIn(answer)):
        assert says in (await played(Service(target=target), ORDER))[ORDER]


IDENTITY = "a decision says which it is and by which policy it was made"
REVISION = "0123456789abcdef"


def _by_policy(turn: pb.Turn) -> pb.Decision:
    decision = proceed(turn)
    decision.policy_revision = REVISION
    return decision


def _same_id(turn: pb.Turn) -> pb.Decision:
    decision = _by_policy(turn)
    decision.decision_id = "0" * 16
    return decision


@pytest.mark.parametrize(
    ("answer", "says"),
    [(_by_policy, ""), (_same_id, "decision_id: expected {'$not'"), (proceed, "policy_revision")],
)
async def test_a_service_whose_decisions_are_not_told_apart_fails(
    directory: Path, answer: Callable[[pb.Turn], pb.Decision], says: str
) -> None:
    target = f"unix:{directory}/s"
    opened = wire.Opened(policy="default", policy_revision=REVISION)
    with Server(target, StandIn(answer, opened=opened)):
        fault = (await played(Service(target=target), IDENTITY)).get(IDENTITY, "")

    assert says in fault
    assert bool(says) is bool(fault)


async def test_a_decision_without_a_directive_lets_a_run_with_its_answer_proceed(
    directory: Path,
) -> None:
    target = f"unix:{directory}/s"
    final = "a turn with a final answer is answered with proceed"

    def said_nothing(turn: pb.Turn) -> pb.Decision:
        decision = proceed(turn)
        decision.ClearField("proceed")
        return decision

    with Server(target, StandIn(said_nothing)):
        assert await played(Service(target=target), final) == {}
    with Server(target, StandIn(rotate)):
        assert "rotate" in (await played(Service(target=target), final))[final]


async def test_a_service_is_told_apart_case_by_case(directory: Path) -> None:
    """The stand-in for tests answers turns, but knows no rule about `open`, and no RecordTurn."""
    target = f"unix:{directory}/s"
    names = (ORDER, "an unknown policy is refused", "RecordTurn refuses a gap")
    with Server(target, StandIn()):
        faults = await played(Service(target=target), *names)

    assert sorted(faults) == sorted(names[1:])


async def test_where_nobody_listens_no_case_is_played(directory: Path) -> None:
    with pytest.raises(ConnectionError, match=f"^unix:{directory}/none: .*No such file"):
        await played(Service(target=f"unix:{directory}/none"))


async def test_how_a_stream_ended_is_told_in_its_own_words(directory: Path) -> None:
    target = f"unix:{directory}/s"
    with Server(target, StandIn(_fault)):
        faults = await played(Service(target=target), ORDER)

    assert "'message': 'refused INTERNAL'" in faults[ORDER]
