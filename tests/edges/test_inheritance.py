"""What a session inherits, as text: it comes back as it was, and a run file may say anything."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.adapters.convert import TurnReader, session_out
from sidecar.adapters.run_file import Line, write_line
from sidecar.core.breaker import State
from sidecar.core.limits import Limits
from sidecar.core.opening import Succession
from sidecar.core.run import Run
from sidecar.core.snapshot import VERSION, SnapshotInvalid
from sidecar.core.turn import Turn, Usage
from sidecar.policies import Policies
from sidecar.presets import PRESETS, preset
from sidecar.replaying.live import LiveReplay
from sidecar.replaying.recorded import Problem, Replay
from sidecar.sessions.inheritance import INHERITED_BYTES_MAX, read_back, written
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

POLICIES = Policies(by_name={name: preset(name) for name in PRESETS})
AUTONOMOUS = preset("autonomous")
READER = TurnReader(key=b"the key of one sidecar", lens=AUTONOMOUS.lens)
ERROR = run_pb2.Failure(kind="TypeError", message="cannot read 'id' of None, line 3")


def heir() -> Run:
    """What a session begins with that goes on from a run with everything in it."""
    run = Run.start("before", AUTONOMOUS, limits=Limits(max_turns=50, cost_usd_max=9.5))
    for sequence in range(1, 9):
        wire = run_pb2.Turn(sequence=sequence, failures=[ERROR], approach=f"way {sequence % 3}")
        turn = READER.read(wire)
        assert isinstance(turn, Turn)
        spent = Usage(input_tokens=1000, cost_usd=0.5, context_tokens=9, context_window=10)
        run, _ = run.advance(
            Turn(
                sequence=sequence,
                start_s=1e9,
                end_s=1e9 + sequence,
                failures=turn.failures,
                approach=turn.approach,
                usage=spent,
            )
        )
    return run.successor("after", AUTONOMOUS)


def test_a_run_that_goes_on_from_another_is_not_sent_to_a_live_sidecar() -> None:
    """Which would take it for a run of its own, and decide otherwise."""
    line = pb.RunFileLine(open=run_pb2.Open(session_id="s"), inherited_json=written(heir()))
    with grpc.insecure_channel("unix:/nobody/listens.sock") as channel:
        live = LiveReplay("run.jsonl", channel=channel, control=None, policy="")
        problem = next(live.run([Line(number=1, message=line)]))

    assert isinstance(problem, Problem)
    assert "without --target" in problem.text


def test_what_is_inherited_comes_back_as_it_was() -> None:
    run = heir()
    back = read_back(written(run), session_id="after", policy=AUTONOMOUS, observed=False)

    assert back == run
    assert run.state.story.rotations
    assert run.state.totals.errors


def test_a_run_that_was_written_in_its_middle_is_gone_on_with_from_a_beginning() -> None:
    run, _ = heir().advance(Turn(sequence=1, approach="on"))
    back = read_back(written(run), session_id="after", policy=AUTONOMOUS, observed=False)

    assert back.state.sequence == 0
    assert back.state.breaker.state is State.RECOVERY
    assert back.detectors.tracks == ()


def body(**state: Any) -> str:
    return json.dumps({"version": VERSION, "body": {"state": state, "detectors": {
        "shared": {}, "tracks": []}}})  # fmt: skip


BROKEN = {
    "no JSON": "{",
    "not an object": "[]",
    "another version": f'{{"version": {VERSION + 1}, "body": {{}}}}',
    "no body": f'{{"version": {VERSION}}}',
    "nothing in it": f'{{"version": {VERSION}, "body": {{}}}}',
    "a field that is none": body(mood="fine"),
    "a text for a number": body(totals={"turns": "many"}),
    "a count below zero": body(totals={"turns": -1}),
    "a number beyond any": body(totals={"input_tokens": 10**40}),
    "a number of 5,000 digits": f'{{"version": {VERSION}, "body": {"9" * 5000}}}',
    "not a number": body(totals={"cost_usd": 1}).replace("1}", "NaN}", 1),
    "a limit that the wire cannot carry": body(limits={"max_turns": 2**63}),
    "half of a surrogate pair": body(nudged=["\ud800"]),
    "half of a surrogate pair as a key": body(**{"\ud800": 1}),
    "a name of a kilobyte and more": body(nudged=["n" * 1025]),
    "a list beyond any": body(suggested=["spin"] * 65),
    "nested 100,000 deep": "[" * 100_000 + "]" * 100_000,
    "larger than a run": json.dumps(["n" * 1024] * 64 * 3).ljust(INHERITED_BYTES_MAX + 1),
    "errors that are no digests": body(totals={"errors": "not base64!"}),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_could_not_be_a_run_s_is_refused_by_its_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(SnapshotInvalid):
        read_back(text, session_id="s", policy=AUTONOMOUS, observed=False)
    message = pb.RunFileLine(open=run_pb2.Open(session_id="s"), inherited_json=text)
    replay = Replay("run.jsonl", POLICIES)
    answers = list(replay.run([Line(number=7, message=message)]))

    assert [type(answer) for answer in answers] == [Problem]
    assert isinstance(answers[0], Problem)
    assert answers[0].number == 7
    assert "inherited_json" in answers[0].text
    assert len(answers[0].text) < 300
    assert replay.session is None


def test_a_line_that_was_refused_leaves_room_for_another() -> None:
    refused = pb.RunFileLine(open=run_pb2.Open(session_id="s" * 200), inherited_json=body())
    good = pb.RunFileLine(open=run_pb2.Open(session_id="s"), inherited_json=written(heir()))
    replay = Replay("run.jsonl", POLICIES)
    answers = list(
        replay.run(Line(number=number, message=m) for number, m in enumerate((refused, good), 1))
    )

    assert [type(answer) for answer in answers] == [Problem, pb.ObserveResponse]
    assert replay.session is not None
    assert replay.session.run.state.totals.turns == 8


NUMBERS = st.one_of(
    st.integers(-2, 2**97), st.floats(), st.sampled_from(["nan", "inf", "", "spin", None, True])
)


def leaves(json_value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    """The paths to everything in it that is no list and no object."""
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(json_value, dict):
        pairs = json_value.items()
    elif isinstance(json_value, list):
        pairs = enumerate(json_value)
    else:
        yield path
    for key, part in pairs:
        yield from leaves(part, (*path, key))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_run_file_with_anything_in_place_of_a_number_is_replayed_or_refused(data: Any) -> None:
    text = json.loads(written(heir()))
    for path in data.draw(st.lists(st.sampled_from(list(leaves(text))), min_size=1, max_size=4)):
        place = text
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = data.draw(NUMBERS)
    turn = run_pb2.Turn(
        sequence=1, failures=[ERROR], approach="on", usage=run_pb2.Usage(input_tokens=5, cost_usd=1)
    )
    turn.end_time.seconds = 2_000_000_000
    lines = [
        pb.RunFileLine(
            open=run_pb2.Open(session_id="s", policy="autonomous"), inherited_json=json.dumps(text)
        ),
        pb.RunFileLine(turn=turn),
    ]
    replay = Replay("run.jsonl", POLICIES)
    for answer in replay.run(Line(number=n, message=line) for n, line in enumerate(lines, 1)):
        if isinstance(answer, pb.ObserveResponse):
            write_line(answer)
    if replay.session is not None:
        write_line(session_out(replay.session))
        assert isinstance(replay.entries[0].event, Succession)


def test_under_another_policy_a_successor_has_the_limits_that_it_would_get_today() -> None:
    opening = run_pb2.Open(session_id="after", policy="autonomous")
    opening.limits.max_turns = 30
    line = Line(
        number=1,
        message=pb.RunFileLine(open=opening, inherited_json=written(heir())),
    )
    policies = Policies(by_name=POLICIES.by_name, ceiling=Limits(max_turns=20))
    given, today = Replay("run", policies), Replay("run", policies, policy="debug")
    for replay in (given, today):
        assert not [one for one in replay.run([line]) if isinstance(one, Problem)]
        assert replay.session is not None

    assert given.session is not None and given.session.run.state.limits.max_turns == 50
    assert today.session is not None and today.session.run.state.limits.max_turns == 20
