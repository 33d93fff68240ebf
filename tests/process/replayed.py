"""Run files, `sidecar replay` of them, and the decisions that it writes."""

import json
import subprocess
import sys
from pathlib import Path

from sidecar.adapters.run_file import write_line
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from tests.process.uninterrupted import turns

GOOD = '{"open": {"session_id": "good"}}\n{"turn": {"sequence": 1, "output_lines": 3}}\n'


def sidecar(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", "from sidecar.cli import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def written(path: Path, session_id: str, count: int) -> Path:
    lines = [pb.RunFileLine(open=run_pb2.Open(session_id=session_id))]
    lines += [pb.RunFileLine(turn=turn) for turn in turns(count, seed=len(session_id))]
    lines.append(pb.RunFileLine(close=run_pb2.Close(outcome=run_pb2.RUN_OUTCOME_SUCCEEDED)))
    path.write_text("".join(write_line(line) + "\n" for line in lines))
    return path


def decisions(output: str) -> list[dict[str, object]]:
    found = [json.loads(line) for line in output.splitlines()]
    return [line["decision"] for line in found if "decision" in line]
