"""What is said of the lines of a run file, and of a sidecar that holds its session or is silent."""

import json
from collections.abc import Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import grpc
import pytest

from sidecar.adapters.run_file import read_lines
from sidecar.connection_faults import ConnectionFault
from sidecar.policies import Policies
from sidecar.presets import PRESETS, preset
from sidecar.replaying.live import LiveReplay
from sidecar.replaying.recorded import Problem, Replay
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import convergence_service_pb2_grpc

POLICIES = Policies(by_name={name: preset(name) for name in PRESETS})
OPEN = {"open": {"session_id": "a"}}
TURN: dict[str, Any] = {"turn": {}}


def written(tmp_path: Path, lines: Sequence[object]) -> str:
    path = tmp_path / "run.jsonl"
    path.write_text(
        "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines)
    )
    return str(path)


def replayed(
    tmp_path: Path, lines: Sequence[object], **bounds: Any
) -> tuple[list[int], dict[int, str]]:
    """The turns that were decided, and the problems by line."""
    source = written(tmp_path, lines)
    answers = list(Replay(source, POLICIES, **bounds).run(read_lines(source)))
    problems = {one.number: one.text for one in answers if isinstance(one, Problem)}
    decided = [
        one.decision.sequence
        for one in answers
        if isinstance(one, pb.ObserveResponse) and one.HasField("decision")
    ]
    return decided, problems


@pytest.mark.parametrize("field", [{"inherited_json": "{}"}, {"granted_limits": {}}])
@pytest.mark.parametrize("line", [{"open": {}}, TURN, {"close": {}}])
def test_what_a_run_begins_with_is_a_problem_anywhere_else(
    tmp_path: Path, line: dict[str, Any], field: dict[str, Any]
) -> None:
    decided, problems = replayed(tmp_path, [OPEN, TURN, {**line, **field}, TURN])

    assert decided == [1, 2]
    (name,) = field
    assert problems == {
        3: f"REQUEST_INVALID: {name} stands here: it is beside the `open` that a run begins with"
    }


def test_a_second_run_in_a_file_is_a_problem_and_its_turns_are_not_those_of_the_first(
    tmp_path: Path,
) -> None:
    other = {"open": {"session_id": "b"}}
    decided, problems = replayed(tmp_path, [OPEN, TURN, TURN, other, TURN, TURN, OPEN, TURN])

    assert decided == [1, 2, 3]
    assert problems == {
        4: "ALREADY_OPEN: session 'b' begins here, and the file is of 'a': "
        "give each run a file of its own"
    }


def test_a_second_run_after_one_that_goes_by_its_file_s_name_is_a_problem(tmp_path: Path) -> None:
    other = {"open": {"session_id": "b"}}
    decided, problems = replayed(tmp_path, [{"open": {}}, TURN, other, TURN])

    assert decided == [1]
    assert problems == {
        3: "ALREADY_OPEN: session 'b' begins here, and the file is of 'run': "
        "give each run a file of its own"
    }


@pytest.mark.parametrize(
    ("first", "later"),
    [({"session_id": "a"}, {}), ({}, {"session_id": "run"}), ({"session_id": "a"},) * 2],
)
def test_an_open_that_names_no_other_session_is_a_resume(
    tmp_path: Path, first: dict[str, str], later: dict[str, str]
) -> None:
    assert replayed(tmp_path, [{"open": first}, TURN, {"open": later}, TURN]) == ([1, 2], {})


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ({"after_sequence": 900, "reset": {}}, "after turn 900, and the last turn before it is 2"),
        ({"after_sequence": 1, "reset": {}}, "expected after_sequence 2"),
        ({"after_sequence": 2}, 'expected one of "continue", "reset", "idle", "verdict"'),
        ({"frob": {}}, "a command without an action"),
        ({"idle": {}}, "nobody waits here"),
    ],
)
def test_a_command_that_is_none_or_stands_elsewhere_is_a_problem(
    tmp_path: Path, command: dict[str, Any], said: str
) -> None:
    decided, problems = replayed(tmp_path, [OPEN, TURN, TURN, {"command": command}])

    assert decided == [1, 2]
    assert said in problems[4]


def test_whatever_comes_after_the_end_is_refused_in_the_same_words(tmp_path: Path) -> None:
    after = [TURN, OPEN, {"command": {"reset": {"reason": "fresh"}}}]
    decided, problems = replayed(tmp_path, [OPEN, TURN, {"close": {}}, *after])

    assert decided == [1]
    assert [*problems] == [4, 5, 6]
    assert {*problems.values()} == {
        "SESSION_CLOSED: this session is closed: a new one can go on from it by previous_session_id"
    }


def test_the_end_of_a_wait_is_nothing_where_another_policy_has_not_asked_for_it(
    tmp_path: Path,
) -> None:
    lines = [OPEN, TURN, {"command": {"idle": {"waited": "300s"}}}]

    assert replayed(tmp_path, lines, policy="gaia") == ([1], {})


@pytest.mark.parametrize("before", [[], ["broken"]])
def test_a_command_is_obeyed_at_its_place_also_where_the_turn_before_it_was_lost(
    tmp_path: Path, before: list[str]
) -> None:
    command = {"command": {"after_sequence": 1 + len(before), "reset": {"reason": "fresh"}}}
    decided, problems = replayed(tmp_path, [OPEN, TURN, *before, command])

    assert decided == [1, 1]
    assert len(problems) == len(before)


def test_a_line_above_the_bound_of_messages_is_lost_and_the_turns_after_it_are_decided(
    tmp_path: Path,
) -> None:
    turns: list[dict[str, Any]] = [{"turn": {"sequence": sequence}} for sequence in (1, 2, 3)]
    turns[1]["turn"]["text"] = "x" * 2000
    decided, problems = replayed(tmp_path, [OPEN, *turns], message_bytes_max=1024)

    assert decided == [1, 3]
    assert problems[3].startswith("MESSAGE_BYTES_MAX: a message larger than max (20")


class _Sidecar(convergence_service_pb2_grpc.ConvergenceServiceServicer):
    """Opens a session of so many turns, and answers no turn."""

    def __init__(self, held: int) -> None:
        self.over = Event()
        self._held = held

    def Observe(  # noqa: N802
        self, requests: Iterator[pb.ObserveRequest], context: Any
    ) -> Iterator[pb.ObserveResponse]:
        opening = next(requests).open
        opened = pb.Opened(session_id=opening.session_id, last_sequence=self._held)
        yield pb.ObserveResponse(opened=opened)
        self.over.wait()

    def RecordTurn(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError


@contextmanager
def silent(held: int = 0) -> Iterator[grpc.Channel]:
    """A channel to a sidecar that holds so many turns of any session and then says nothing."""
    service = _Sidecar(held)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
    convergence_service_pb2_grpc.add_ConvergenceServiceServicer_to_server(service, server)  # type: ignore[no-untyped-call, unused-ignore]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        service.over.set()
        server.stop(None).wait()


def test_a_sidecar_that_does_not_answer_a_turn_is_waited_for_only_so_long(tmp_path: Path) -> None:
    source = written(tmp_path, [OPEN, TURN])
    with silent() as channel:
        live = LiveReplay(source, channel=channel, control=None, policy="", answer_within_s=0.2)
        with pytest.raises(ConnectionFault, match=r"did not answer within 0\.2 s") as fault:
            list(live.run(read_lines(source)))

    assert not fault.value.answered


def test_a_session_that_the_sidecar_has_already_is_a_problem(tmp_path: Path) -> None:
    source = written(tmp_path, [OPEN])
    with silent(held=3) as channel:
        live = LiveReplay(source, channel=channel, control=None, policy="")
        problem = next(live.run(read_lines(source)))

    assert problem == Problem(
        number=1,
        text="the sidecar has 3 turns of a session 'a' already, so it may decide otherwise: "
        "give this run a session_id of its own",
    )
