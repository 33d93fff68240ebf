"""The protocol over a real stream, from both clients."""

import shutil
import subprocess
import threading
from pathlib import Path
from time import monotonic

import grpc
import pytest

from sidecar.client import patience
from sidecar.client.exchange import LAST_WORD_S
from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import run_pb2 as pb
from tests.fault.conftest import Open, Serve
from tests.fault.servers import PATIENCE_S, Refusal, Server, StandIn, proceed, rotate, unasked

pytestmark = pytest.mark.process


def test_a_run_from_open_to_close(serve: Serve, open_run: Open) -> None:
    sidecar = StandIn(rotate)
    serve(sidecar)
    run = open_run(agent_name="tester", session_id="r", max_turns=9, timeout_s=PATIENCE_S)
    directives = [run.turn(text=text, input_tokens=5) for text in ("a", "b", "c")]
    heard = run.close(outcome="succeeded", final_answer="42")

    assert [directive.kind for directive in directives] == ["rotate"] * 3
    assert directives[0].state == "warning"
    assert heard
    assert [one.agent_name for one in sidecar.opens] == ["tester"]
    assert sidecar.opens[0].limits.max_turns == 9
    assert [turn.sequence for turn in sidecar.turns] == [1, 2, 3]
    assert [turn.directive_seen for turn in sidecar.turns] == [0, 1, 2]
    assert sidecar.sessions["r"].closed == pb.Close(
        outcome=pb.RUN_OUTCOME_SUCCEEDED, final_answer="42"
    )
    assert sum(run.give_ups.values()) == 0


def test_draining_is_obeyed_and_the_run_goes_on_with_the_next_sidecar(
    serve: Serve, open_run: Open
) -> None:
    first, second = StandIn(), StandIn()
    server = serve(first)
    run = open_run(session_id="r", timeout_s=PATIENCE_S)
    run.turn()
    first.push(wire.ObserveResponse(draining=wire.Draining()))
    first.wait_for(lambda: first.half_closed == 1)
    server.stop()
    serve(second)

    assert run.wait_until_settled(2.0)
    assert run.turn().fail_open_reason is None
    assert [turn.sequence for turn in second.turns] == [1, 2]


def test_a_refusal_s_details_are_read(serve: Serve, open_run: Open) -> None:
    """The delay that RetryInfo asks for passes before the next attempt."""
    refusals = [Refusal(14, "DRAINING", retry_delay_s=0.5), None]
    times = []

    def on_open(opening: pb.Open) -> None:
        times.append(monotonic())
        if (refusal := refusals.pop(0)) is not None:
            raise refusal

    serve(StandIn(on_open=on_open))
    run = open_run()

    assert run.wait_until_settled(PATIENCE_S)
    assert times[1] - times[0] >= 0.5


def test_a_reason_of_another_domain_is_none_of_ours(serve: Serve, open_run: Open) -> None:
    refusals = [Refusal(14, "POLICY_UNKNOWN", domain="proxy.example"), None]

    def on_open(opening: pb.Open) -> None:
        if (refusal := refusals.pop(0)) is not None:
            raise refusal

    serve(StandIn(on_open=on_open))

    assert open_run().wait_until_settled(PATIENCE_S)


def test_after_a_gap_the_stream_is_resumed_where_the_sidecar_stands(
    serve: Serve, open_run: Open
) -> None:
    sidecar = StandIn()
    serve(sidecar)
    run = open_run(session_id="r", timeout_s=PATIENCE_S)
    run.turn()
    run.turn()
    session = sidecar.sessions["r"]
    session.turns.clear()
    session.last_sequence = 0
    directive = run.turn()

    assert directive.fail_open_reason == "rejected"
    assert run.wait_until_settled(PATIENCE_S)
    assert sorted(session.turns) == [1, 2, 3]
    assert run.turn().fail_open_reason is None


def test_a_session_of_another_run_is_left_alone_and_the_run_told_under_another_name(
    serve: Serve, open_run: Open
) -> None:
    refusals: list[Refusal] = [Refusal(10, "SEQUENCE_CONFLICT")]

    def answer(turn: pb.Turn) -> pb.Decision:
        if turn.sequence == 2 and refusals:
            raise refusals.pop()
        return proceed(turn)

    sidecar = StandIn(answer)
    serve(sidecar)
    run = open_run(session_id="r", timeout_s=PATIENCE_S)
    run.turn(text="first")
    run.turn(text="second")

    assert run.wait_until_settled(PATIENCE_S)
    assert run.session_id.startswith("r.")
    texts = {number: turn.text for number, turn in sidecar.sessions[run.session_id].turns.items()}
    assert texts == {1: "first", 2: "second"}


def test_a_session_that_an_operator_closed_is_gone_on_from(serve: Serve, open_run: Open) -> None:
    sidecar = StandIn()
    serve(sidecar)
    run = open_run(session_id="r", timeout_s=PATIENCE_S)
    run.turn()
    sidecar.sessions["r"].closed = pb.Close()
    sidecar.push(Refusal(9, "SESSION_CLOSED"))
    sidecar.wait_for(lambda: len(sidecar.opens) == 2)

    assert run.wait_until_settled(PATIENCE_S)
    assert run.turn().fail_open_reason is None
    assert sidecar.opens[-1].previous_session_id == "r"
    assert sidecar.opens[-1].session_id == run.session_id


def test_a_client_whose_session_was_taken_over_goes_on_alone(serve: Serve, open_run: Open) -> None:
    sidecar = StandIn()
    serve(sidecar)
    run = open_run(timeout_s=PATIENCE_S)
    run.turn()
    sidecar.push(Refusal(10, "SESSION_TAKEN_OVER"))
    assert any(run.turn().fail_open_reason == "rejected" for _ in range(10_000))
    directives = [run.turn(id="afterwards") for _ in range(20)]

    assert {directive.fail_open_reason for directive in directives} == {"rejected"}
    assert len(sidecar.opens) == 1
    assert "afterwards" not in {turn.id for turn in sidecar.turns}


def test_give_ups_are_reported_in_the_next_open(serve: Serve, open_run: Open) -> None:
    sidecar = StandIn()
    run = open_run()
    for _ in range(3):
        assert run.turn().fail_open_reason == "connect"
    serve(sidecar)

    assert run.wait_until_settled(2.0)
    (opening,) = sidecar.opens
    assert list(opening.give_ups) == [pb.GiveUp(reason="connect", count=3)]
    assert opening.client_instance


def test_an_idle_agent_gives_signs_of_life(serve: Serve, open_run: Open) -> None:
    sidecar = StandIn(opened=wire.Opened(idle_ttl={"seconds": 1}))
    serve(sidecar)
    run = open_run()
    assert run.wait_until_settled(PATIENCE_S)

    sidecar.wait_for(lambda: len(sidecar.of_kind("heartbeat")) == 2)


def test_a_turn_of_any_size_is_sent_and_ends_no_stream(serve: Serve, open_run: Open) -> None:
    sidecar = StandIn()
    serve(sidecar)
    run = open_run(timeout_s=PATIENCE_S)
    assert run.wait_until_settled(PATIENCE_S)  # to cut 3 GB takes longer than opening may
    call = {"name": "read", "arguments": {"text": "x" * 200_000}, "result": "y" * 10_000_000}
    directive = run.turn(tool_calls=[call] * 300, text="z" * 10_000_000)

    assert directive.fail_open_reason is None
    assert len(sidecar.streams) == 1
    assert 1_000_000 < sidecar.turns[0].ByteSize() < 4 * 1024 * 1024


def test_a_server_whose_limit_is_lower_than_it_says_gets_smaller_turns(
    serve: Serve, open_run: Open
) -> None:
    sidecar = StandIn()
    serve(sidecar, ("grpc.max_receive_message_length", 1024 * 1024))
    run = open_run()
    call = {"name": "read", "result": "y" * 60_000}
    run.turn(tool_calls=[call] * 60)

    assert run.wait_until_settled(PATIENCE_S)
    assert len(sidecar.turns[0].tool_calls) == 60


def test_a_turn_that_is_refused_for_its_size_is_sent_again_within_the_bound_that_is_named(
    serve: Serve, open_run: Open
) -> None:
    bytes_max = 2_000_000

    def answer(turn: pb.Turn) -> pb.Decision:
        if turn.ByteSize() > bytes_max:
            sidecar.sessions.clear()
            raise Refusal(8, "MESSAGE_BYTES_MAX", message_bytes_max=str(bytes_max))
        return proceed(turn)

    sidecar = StandIn(answer)
    serve(sidecar)
    run = open_run(session_id="r")
    run.turn(tool_calls=[{"name": "read", "result": "y" * 40_000}] * 100)

    assert run.wait_until_settled(PATIENCE_S)
    refused, accepted = (turn.ByteSize() for turn in sidecar.turns)
    assert bytes_max // 2 < accepted <= bytes_max < refused


def test_in_observe_mode_nothing_is_awaited_and_everything_arrives(
    serve: Serve, open_run: Open
) -> None:
    sidecar = StandIn(lambda turn: None)
    serve(sidecar)
    run = open_run(mode="observe", timeout_s=PATIENCE_S)
    began_s = monotonic()
    directives = [run.turn() for _ in range(50)]
    assert monotonic() - began_s < PATIENCE_S

    assert {directive.fail_open_reason for directive in directives} == {None}
    assert run.wait_until_settled(PATIENCE_S)
    sidecar.wait_for(lambda: len(sidecar.turns) == 50)
    assert run.close()


def pausing(turn: pb.Turn) -> pb.Decision:
    decision = rotate(turn)
    decision.rotate.wait_max.seconds = 3600
    return decision


@pytest.mark.parametrize("cause", [pb.CAUSE_OPERATOR, pb.CAUSE_IDLE])
def test_an_agent_waits_for_a_person_until_one_speaks(
    cause: "pb.Cause", serve: Serve, open_run: Open
) -> None:
    sidecar = StandIn(pausing)
    serve(sidecar)
    run = open_run(timeout_s=PATIENCE_S)
    assert run.turn().wait_max_s == 3600
    sidecar.push(unasked(1, cause, halt=pb.Halt(reason="enough")))
    directive = run.wait_for_operator()

    assert (directive.kind, directive.instruction) == ("halt", "enough")
    assert directive.fail_open_reason is None


def test_a_person_is_waited_for_no_longer_once_the_session_is_closed(
    serve: Serve, open_run: Open
) -> None:
    sidecar = StandIn(pausing)
    serve(sidecar)
    run = open_run(session_id="r", timeout_s=PATIENCE_S)
    assert run.turn().wait_max_s == 3600
    sidecar.sessions["r"].closed = pb.Close()
    sidecar.push(Refusal(9, "SESSION_CLOSED"))
    directive = run.wait_for_operator()

    assert (directive.kind, directive.fail_open_reason) == ("proceed", None)
    assert not any(run.give_ups.values())


def test_an_agent_waits_no_longer_than_the_directive_says(serve: Serve, open_run: Open) -> None:
    def pausing_shortly(turn: pb.Turn) -> pb.Decision:
        decision = rotate(turn)
        decision.rotate.wait_max.nanos = 100_000_000
        return decision

    serve(StandIn(pausing_shortly))
    run = open_run(timeout_s=PATIENCE_S)
    run.wait_until_settled(PATIENCE_S)
    run.turn()
    began_s = monotonic()
    directive = run.wait_for_operator()
    waited_s = monotonic() - began_s

    assert LAST_WORD_S < waited_s < PATIENCE_S
    assert (directive.kind, directive.fail_open_reason) == ("proceed", "timeout")


def test_closing_waits_no_longer_than_it_is_told(serve: Serve, open_run: Open) -> None:
    over = threading.Event()

    def hang(opening: pb.Open) -> None:
        over.wait(PATIENCE_S)

    serve(StandIn(on_open=hang))
    run = open_run()
    began_s = monotonic()
    heard = run.close(timeout_s=0.3)

    assert not heard
    assert 0.25 < monotonic() - began_s < PATIENCE_S
    over.set()


def test_closing_waits_for_what_is_left_when_it_is_not_told(
    serve: Serve, open_run: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    # More than the second, since a busy machine makes any wait longer, and none shorter.
    monkeypatch.setattr(patience, "GOODBYE_S", 2.0)
    over = threading.Event()

    def hang(opening: pb.Open) -> None:
        over.wait(PATIENCE_S)

    serve(StandIn(on_open=hang))
    run = open_run(timeout_s=0.5)
    assert run.turn().fail_open_reason == "connect"
    began_s = monotonic()

    assert not run.close()
    assert 1.4 < monotonic() - began_s < PATIENCE_S
    over.set()


def test_closing_without_a_sidecar_does_not_wait(open_run: Open) -> None:
    run = open_run()
    run.turn()
    began_s = monotonic()

    assert not run.close(timeout_s=PATIENCE_S)
    assert monotonic() - began_s < PATIENCE_S / 2


def test_a_token_is_sent_with_each_stream(serve: Serve, open_run: Open) -> None:
    sidecar = StandIn()
    serve(sidecar)

    assert open_run(token="t").wait_until_settled(PATIENCE_S)
    assert sidecar.metadata[0]["authorization"] == "Bearer t"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ca.pem, and a certificate for localhost that it signed, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make certificates")
    made = tmp_path_factory.mktemp("certificates")
    new = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 2"
    signed = (
        f"{new} -subj /CN=localhost -addext subjectAltName=DNS:localhost -CA ca.pem -CAkey ca.key"
        " -addext basicConstraints=CA:FALSE -keyout key.pem -out certificate.pem"
    )
    for command in (f"{new} -subj /CN=test-ca -keyout ca.key -out ca.pem", signed):
        subprocess.run(command.split(), cwd=made, check=True, capture_output=True)
    return made


def test_with_tls_both_sides_are_checked(certificates: Path, open_run: Open) -> None:
    key, certificate, roots = (
        (certificates / name).read_bytes() for name in ("key.pem", "certificate.pem", "ca.pem")
    )
    credentials = grpc.ssl_server_credentials([(key, certificate)], roots, True)
    sidecar = StandIn()
    with Server("localhost:0", sidecar, credentials=credentials) as server:
        address = f"localhost:{server.port}"
        roots_only = {"root_certificates": certificates / "ca.pem"}
        mutual = roots_only | {
            "certificate": certificates / "certificate.pem",
            "private_key": certificates / "key.pem",
        }

        assert open_run(address, **mutual).wait_until_settled(PATIENCE_S)
        assert open_run(address, **roots_only).turn().fail_open_reason == "connect"
        assert open_run(address).turn().fail_open_reason == "connect"
        assert len(sidecar.streams) == 1
