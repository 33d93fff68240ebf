"""Times of turns, from the wire to the fold and out again: the same double both ways."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sidecar.adapters.convert import TurnReader, line_out
from sidecar.adapters.run_file import read_lines, write_line
from sidecar.core.turn import Turn
from sidecar.policies import Policies
from sidecar.ports import Entry
from sidecar.presets import DEFAULT
from sidecar.replaying.recorded import Replay
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

READER = TurnReader(key=b"times of turns" * 2, lens=DEFAULT.lens)
SECONDS = st.integers(0, 4_102_444_800)
NANOS = st.integers(0, 999_999_999)


def read(wire: run_pb2.Turn) -> Turn:
    turn = READER.read(wire)
    assert isinstance(turn, Turn)
    return turn


@given(seconds=SECONDS, nanos=NANOS, took_s=st.integers(0, 10_000), took_nanos=NANOS)
def test_a_turn_that_was_journalled_has_the_times_that_it_had(
    seconds: int, nanos: int, took_s: int, took_nanos: int
) -> None:
    wire = run_pb2.Turn(sequence=1)
    wire.start_time.seconds, wire.start_time.nanos = seconds, nanos
    wire.tool_calls.add(name="t").duration.FromNanoseconds(took_s * 10**9 + took_nanos)
    turn = read(wire)
    entry = Entry(session_id="s", number=2, time_s=0.0, event=turn)
    again = read(line_out(entry, after_sequence=0).turn)

    assert again.start_s == turn.start_s
    assert again.tool_calls[0].duration_s == turn.tool_calls[0].duration_s


def test_a_turn_that_is_just_below_a_limit_of_time_is_so_in_a_replay_of_its_journal(
    tmp_path: Path,
) -> None:
    turns = [run_pb2.Turn(sequence=sequence) for sequence in (1, 2)]
    turns[0].start_time.FromNanoseconds(1_764_000_010_000_000_400)
    turns[1].end_time.FromNanoseconds(1_764_000_012_000_000_300)
    opening = run_pb2.Open(session_id="s")
    opening.limits.duration_max.seconds = 2
    lines = [pb.RunFileLine(open=opening), *(pb.RunFileLine(turn=turn) for turn in turns)]
    told, entries = decided(tmp_path, lines)
    journal = [line_out(entry, after_sequence=0) for entry in entries]

    assert told[-1].decision.HasField("proceed")
    assert decided(tmp_path, journal)[0] == told


def decided(
    tmp_path: Path, lines: list[pb.RunFileLine]
) -> tuple[list[pb.ObserveResponse], list[Entry]]:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(f"{write_line(line)}\n" for line in lines))
    replay = Replay(str(path), Policies(by_name={"default": DEFAULT}))
    answers = list(replay.run(read_lines(str(path))))
    return [one for one in answers if isinstance(one, pb.ObserveResponse)], replay.entries
