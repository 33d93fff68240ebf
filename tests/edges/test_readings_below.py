"""What each turn was near to: kept in the journal, shown to operators, told to no agent."""

import json
from pathlib import Path

from google.protobuf.json_format import MessageToDict

from sidecar.adapters.convert import EntryBytes, history_out, session_out
from sidecar.adapters.run_file import read_lines
from sidecar.core.turn import Turn
from sidecar.policies import Policies
from sidecar.ports import Entry
from sidecar.presets import preset
from sidecar.replaying.recorded import Replay
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import session_service_pb2 as admin_pb

FULL = {"context_tokens": "40", "context_window": "100"}
SAME = [{"name": "read_file", "arguments": '{"path": "a.py"}', "result": "x = 1"}]
LINES = (
    {"open": {"session_id": "s"}},
    {"turn": {"usage": FULL, "progress": {"files_changed": "0"}, "tool_calls": SAME}},
    {"turn": {"progress": {"files_changed": "0"}, "tool_calls": SAME}},
    {"turn": {"progress": {"files_changed": "0"}, "tool_calls": SAME}},
)


def replayed(directory: Path) -> tuple[list[pb.ObserveResponse], Replay]:
    path = directory / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    replay = Replay(str(path), Policies(by_name={"default": preset("default")}))
    answers = list(replay.run(read_lines(str(path))))
    return [answer for answer in answers if isinstance(answer, pb.ObserveResponse)], replay


def kept(entry: Entry) -> Entry:
    """The entry as the journal has it."""
    codec = EntryBytes()
    kind, line, decision = codec.encode(entry)
    return codec.decode(
        session_id=entry.session_id,
        number=entry.number,
        time_s=entry.time_s,
        kind=kind,
        line=line,
        decision=decision,
        content=entry.content,
    )


def test_a_turn_record_has_what_its_turn_was_near_to_and_the_decision_what_was_met(
    tmp_path: Path,
) -> None:
    _, replay = replayed(tmp_path)
    assert replay.session is not None
    history = history_out(session_out(replay.session), map(kept, replay.entries))
    near = [[MessageToDict(each) for each in turn.readings_below] for turn in history.turns]
    assert near == [
        [{"signal": "token_overflow", "value": 0.4, "threshold": 0.8}],
        [
            {"signal": "loop", "value": 2.0, "threshold": 3.0},
            {"signal": "stall", "value": 1.0, "threshold": 8.0},
        ],
        [{"signal": "stall", "value": 2.0, "threshold": 8.0}],
    ]
    assert [reading.signal for reading in history.turns[2].decision.readings] == ["loop"]


def test_the_agent_is_told_nothing_of_it(tmp_path: Path) -> None:
    answers, _ = replayed(tmp_path)
    told = [answer.decision for answer in answers if answer.HasField("decision")]
    assert [len(decision.readings) for decision in told] == [0, 0, 1]


def test_a_journal_of_before_has_none_and_is_read(tmp_path: Path) -> None:
    _, replay = replayed(tmp_path)
    codec = EntryBytes()
    turn = next(entry for entry in replay.entries if isinstance(entry.event, Turn))
    kind, line, decision = codec.encode(turn)
    name = b"\xa5below"
    assert name in decision
    # The map of one field less, as it was written then.
    old = bytes([decision[0] - 1]) + decision[1 : decision.index(name)]
    entry = codec.decode("s", 1, 0.0, kind, line, old, b"")
    assert entry.decision is not None
    assert entry.decision.below == ()
    records = history_out(admin_pb.Session(), [entry]).turns
    assert [len(record.readings_below) for record in records] == [0]
