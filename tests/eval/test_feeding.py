"""How baselines are asked: from run files to findings, and what is told on the way."""

import io
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from eval.baselines import feed, judge
from eval.baselines.told import (
    Call,
    Finding,
    Outcome,
    Run,
    Severity,
    Step,
    finding_line,
    read_run_line,
    run_line,
)
from sidecar.core.limits import Limits
from sidecar.evaluation.labels import Judged, Label
from sidecar.evaluation.runs import RecordedRun
from sidecar.v1 import run_pb2
from tests.eval.runs import called, run_of

BASELINES = Path(feed.__file__).parent
NAMES = sorted(run.parent.name for run in BASELINES.glob("*/run"))
PACKAGES = sorted(setup.parent.name for setup in BASELINES.glob("*/setup"))


def asked(name: str, *files: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [BASELINES / name / "run"],
        input="".join(f"{file}\n" for file in files),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def looping(path: Path, *, calls: int = 6) -> Path:
    call = {"name": "look", "arguments_json": "{}", "result_text": "nothing"}
    lines = [{"open": {"session_id": path.stem}}, *[{"turn": {"tool_calls": [call]}}] * calls]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_a_turn_is_told_with_what_detectors_can_use() -> None:
    turn = run_pb2.Turn(
        sequence=3,
        user_input=True,
        text="Looking.",
        usage=run_pb2.Usage(input_tokens=7, output_tokens=2),
        failures=[run_pb2.Failure(kind="TypeError")],
        tool_calls=[
            run_pb2.ToolCall(name="look", arguments_json='{"b": 1, "a": 2}', result_text="no"),
            run_pb2.ToolCall(
                name="write",
                arguments_digest="ab",
                result_digest="cd",
                outcome=run_pb2.OUTCOME_DENIED,
            ),
            run_pb2.ToolCall(name="wait", outcome=run_pb2.OUTCOME_ERROR),
        ],
    )
    (step,) = feed.told(recorded(turn)).steps
    assert step == Step(
        sequence=3,
        person_spoke=True,
        text="Looking.",
        calls=(
            Call(name="look", arguments='{"b": 1, "a": 2}', result="no"),
            Call(name="write", arguments="ab", result="cd", outcome=Outcome.DENIED),
            Call(name="wait", outcome=Outcome.ERROR),
        ),
        failures=("TypeError",),
        tokens_in=7,
        tokens_out=2,
    )


def test_arguments_that_are_no_json_are_told_as_text() -> None:
    assert Call(name="look", arguments="0123456789abcdef").given == "0123456789abcdef"


def test_how_a_run_went_is_told_only_with_its_label() -> None:
    label = Label(session_id="one", source="agent", solved=True, judged=Judged(stuck=False))
    without, with_label = feed.told(recorded()), feed.told(recorded(), label)
    assert (without.solved, without.task, without.source) == (None, "", "folder")
    assert (with_label.solved, with_label.task, with_label.source) == (True, "one", "agent")


def test_a_run_reads_back_as_it_was_written() -> None:
    run = run_of(called(result="ünïcode\n", text="so", number=1), Step(sequence=2, tokens_in=0))
    assert read_run_line(run_line(run)) == run


def test_a_finding_is_a_line_as_eval_reads_it() -> None:
    finding = Finding(sequence=7, severity=Severity.BREAK, rule="loop", summary="three times")
    assert json.loads(finding_line("one", finding)) == {
        "session_id": "one",
        "sequence": 7,
        "severity": "break",
        "rule": "loop",
        "summary": "three times",
    }


def test_what_a_package_prints_does_not_reach_the_findings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    findings = io.StringIO()
    judge.ask(chatty, io.StringIO(run_line(run_of(called()))), findings)
    assert json.loads(findings.getvalue())["session_id"] == "one"
    assert capsys.readouterr().err == "about one\n"


@pytest.mark.parametrize("name", NAMES)
def test_every_baseline_can_be_started(name: str) -> None:
    assert os.access(BASELINES / name / "run", os.X_OK)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_is_pinned_without_an_address(name: str) -> None:
    assert os.access(BASELINES / name / "setup", os.X_OK)
    pins = (BASELINES / name / "requirements.txt").read_text("utf-8").splitlines()
    assert all(pin.count("==") == 1 and "/" not in pin for pin in pins)
    assert any(pin.startswith(f"{name}==") for pin in pins)


@pytest.mark.process
@pytest.mark.parametrize("name", sorted(set(NAMES) - set(PACKAGES)))
def test_a_baseline_finds_the_loop_in_a_run_file(name: str, tmp_path: Path) -> None:
    answer = asked(
        name, looping(tmp_path / "first.jsonl"), looping(tmp_path / "short.jsonl", calls=1)
    )
    assert answer.returncode == 0, answer.stderr
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    assert {one["session_id"] for one in found} == {"first"}
    assert all(one["severity"] in ("warning", "break") and one["rule"] for one in found)


@pytest.mark.process
def test_a_run_that_cannot_be_read_is_said_by_its_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"turn": {}}\n', "utf-8")
    answer = asked("roo-code", broken)
    assert answer.returncode == 1
    assert f"{broken}:1:" in answer.stderr


def test_a_package_that_is_not_set_up_is_said_with_what_sets_it_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(feed, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert feed.main(["packages.patrol:judge", "--venv", "agent-patrol"]) == 2
    assert "eval/baselines/agent-patrol/setup makes it" in capsys.readouterr().err


def recorded(*turns: run_pb2.Turn) -> RecordedRun:
    return RecordedRun(session_id="one", source="folder", limits=Limits(), turns=turns)


def chatty(runs: Iterable[Run], /) -> Iterator[tuple[str, Finding]]:
    for run in runs:
        print("about", run.session_id)  # noqa: T201 - as packages do
        yield run.session_id, Finding(sequence=1, severity=Severity.WARNING, rule="any")
