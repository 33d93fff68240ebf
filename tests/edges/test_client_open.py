"""What the client says of the run at its beginning and at its end."""

from sidecar.client.compose import compose_close, compose_open
from sidecar.client.intake import Intake
from sidecar.v1 import run_pb2 as pb


def test_what_an_agent_says_of_itself_is_in_open() -> None:
    intake = Intake()
    opening = compose_open(
        {
            "agent_name": "a",
            "agent_version": "1",
            "model": "m",
            "session_id": "s",
            "previous_session_id": "p",
            "policy": "gaia",
            "mode": "observe",
            "max_turns": 20,
            "input_tokens_max": 1000,
            "cost_usd_max": 1.5,
            "duration_max_s": 60,
            "labels": {"team": "x", "run": 7},  # type: ignore[dict-item]
        },
        intake,
        client_instance="i",
    )

    assert intake.faults == ["labels"]
    assert opening == pb.Open(
        agent_name="a",
        agent_version="1",
        model="m",
        session_id="s",
        previous_session_id="p",
        policy="gaia",
        mode=pb.MODE_OBSERVE,
        limits=pb.Limits(
            max_turns=20, input_tokens_max=1000, cost_usd_max=1.5, duration_max={"seconds": 60}
        ),
        labels={"team": "x", "run": "7"},
        client_instance="i",
    )


def test_a_session_without_a_name_gets_the_client_s_own() -> None:
    assert compose_open({}, Intake(), client_instance="i").session_id == "i"


def test_session_ids_too_long_for_the_wire_stay_different() -> None:
    ids = [
        compose_open({"session_id": "x" * 200 + end}, Intake(), client_instance="i").session_id
        for end in "ab"
    ]

    assert [len(one) for one in ids] == [128, 128]
    assert ids[0] != ids[1]


def test_nonsense_in_open_is_left_out() -> None:
    intake = Intake()
    opening = compose_open(
        {"mode": "loud", "max_turns": 0, "labels": 5, "colour": "red"},  # type: ignore[typeddict-item, typeddict-unknown-key]
        intake,
        client_instance="i",
    )

    assert sorted(intake.faults) == ["colour", "labels", "max_turns", "mode"]
    assert opening == pb.Open(session_id="i", client_instance="i", mode=pb.MODE_ENFORCE)


def test_a_goodbye_says_how_the_run_ended() -> None:
    intake = Intake()

    assert compose_close("succeeded", "42", intake) == pb.Close(
        outcome=pb.RUN_OUTCOME_SUCCEEDED, final_answer="42"
    )
    assert compose_close("well", None, intake) == pb.Close()
    assert intake.faults == ["outcome"]
