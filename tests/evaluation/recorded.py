"""Run files made by chance, with labels, and the figures by replaying and counting."""

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from google.protobuf.json_format import ParseDict

from sidecar.adapters.run_file import read_lines, write_line
from sidecar.core.limits import Limits
from sidecar.evaluation.runs import RecordedRun
from sidecar.policies import Policies
from sidecar.presets import PRESETS, preset
from sidecar.replaying.recorded import Replay
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

OPEN = '{"open": {"session_id": "one"}}\n'
TURN = '{"turn": {"output_lines": 3}}\n'


def looping(count: int, *, usage: bool = False) -> list[run_pb2.Turn]:
    """Turns that do the same and get the same; with usage, 100 + 10 tokens and a cent each."""
    turns = []
    for sequence in range(1, count + 1):
        turn = run_pb2.Turn(sequence=sequence)
        turn.tool_calls.add(name="search", arguments_json='{"q": 1}', result_text="the same text")
        if usage:
            turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.cost_usd = 100, 10, 0.01
        turns.append(turn)
    return turns


def working(count: int) -> list[run_pb2.Turn]:
    """Turns of which each brings something new."""
    turns = []
    for sequence in range(1, count + 1):
        turn = run_pb2.Turn(sequence=sequence)
        name = f"chapter {sequence * 7919}"
        turn.tool_calls.add(
            name="read", arguments_json=json.dumps({"of": name}), result_text=f"text of {name}"
        )
        turns.append(turn)
    return turns


def scripted(row: dict[str, Any]) -> RecordedRun:
    """A run of a data file: a name, and turns as in JSON."""
    return RecordedRun(
        session_id=row["name"],
        source="scripted",
        limits=Limits(),
        turns=tuple(ParseDict(turn, run_pb2.Turn()) for turn in row["turns"]),
    )


def written(
    folder: Path, session_id: str, turns: Iterable[run_pb2.Turn], source: str = "made"
) -> Path:
    """A run file in `source` below the folder."""
    lines = [pb.RunFileLine(open=run_pb2.Open(session_id=session_id))]
    lines += [pb.RunFileLine(turn=turn) for turn in turns]
    path = folder / source / f"{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(write_line(line) + "\n" for line in lines), encoding="utf-8")
    return path


def labelled(folder: Path, labels: Iterable[dict[str, Any]]) -> Path:
    """The folder's labels file."""
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(label) + "\n" for label in labels), encoding="utf-8")
    return path


def synthetic(folder: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """Runs that work, loop, err and chat in turns, and labels by chance; written there."""
    draw = random.Random(seed)
    labels = []
    for number in range(count):
        turns = [_turn(draw, sequence) for sequence in range(1, draw.randrange(2, 60))]
        source = draw.choice(("one", "two", "three"))
        label: dict[str, Any] = {
            "session_id": f"run-{number}",
            "source": source,
            "turns": len(turns),
            "solved": draw.choice((True, False, False, None)),
        }
        if draw.random() < 0.5:
            stuck = draw.random() < 0.5
            start = draw.choice((None, draw.randrange(1, len(turns) + 1))) if stuck else None
            label["judged"] = {"stuck": stuck, "from_turn": start}
        written(folder, label["session_id"], turns, source)
        labels.append(label)
    labelled(folder, labels)
    return labels


def _turn(draw: random.Random, sequence: int) -> run_pb2.Turn:
    mood = (sequence // 9 + draw.randrange(2)) % 4
    number = draw.randrange(10_000) if mood == 0 else mood
    turn = run_pb2.Turn(sequence=sequence, output_lines=draw.randrange(40))
    turn.tool_calls.add(
        name=("edit", "grep", "pytest", "read")[mood],
        arguments_json=json.dumps({"n": number}),
        result_text=f"result {number} of {mood}",
        outcome=run_pb2.OUTCOME_ERROR if mood == 2 else run_pb2.OUTCOME_OK,
    )
    turn.user_input = draw.random() < 0.02
    return turn


def counted(folder: Path, labels: Sequence[dict[str, Any]], policy: str) -> dict[str, Any]:
    """The figures by replaying every file and counting the readings of its decisions."""
    first = {label["session_id"]: _first(folder, label, policy) for label in labels}

    def turn(label: dict[str, Any], *levels: str) -> int | None:
        marks = first[label["session_id"]]
        return min((marks[level][0] for level in levels if level in marks), default=None)

    def hits(kind: list[dict[str, Any]], *levels: str) -> tuple[int, int]:
        return sum(turn(label, *levels) is not None for label in kind), len(kind)

    def after(kind: list[dict[str, Any]]) -> int:
        broken = [(label, turn(label, "break")) for label in kind]
        return sum(label["turns"] - at for label, at in broken if at is not None)

    judged = {stuck: [one for one in labels if _judged(one) is stuck] for stuck in (True, False)}
    solved = [one for one in labels if one["solved"] is True and _judged(one) is not True]
    unsolved = [one for one in labels if one["solved"] is False]
    starts = [(one, one["judged"]["from_turn"]) for one in judged[True]]
    marked = [(turn(one, "warning", "break"), start) for one, start in starts if start]
    delays = [at - start for at, start in marked if at is not None]
    broken = [marks["break"][1] for marks in first.values() if "break" in marks]
    return {
        "solved with BREAK": hits(solved, "break"),
        "solved with any": hits(solved, "warning", "break"),
        "unsolved with BREAK": hits(unsolved, "break"),
        "stuck with any": hits(judged[True], "warning", "break"),
        "not stuck with BREAK": hits(judged[False], "break"),
        "median delay": median(delays) if delays else None,
        "saved": after(unsolved),
        "lost": after(solved),
        "by signal": Counter(broken),
    }


def _judged(label: dict[str, Any]) -> bool | None:
    found: bool | None = label.get("judged", {}).get("stuck")
    return found


def _first(folder: Path, label: dict[str, Any], policy: str) -> dict[str, tuple[int, str]]:
    """The turn and the signal of the first reading of each severity."""
    path = folder / label["source"] / f"{label['session_id']}.jsonl"
    policies = Policies(by_name={name: preset(name) for name in PRESETS})
    names = {run_pb2.SEVERITY_WARNING: "warning", run_pb2.SEVERITY_BREAK: "break"}
    found: dict[str, tuple[int, str]] = {}
    for answer in Replay(str(path), policies, policy=policy).run(read_lines(str(path))):
        assert isinstance(answer, pb.ObserveResponse), answer
        for reading in answer.decision.readings:
            at = (answer.decision.sequence, reading.signal)
            found.setdefault(names[reading.severity], at)
    return found
