"""`sidecar eval --judge`: a judge held against labelled runs, over the real SDK."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.testing import Call, Fail, FakeAnthropicServer, Say
from tests.evaluation.recorded import labelled, working, written
from tests.evaluation.test_command import evaluated, figures


def says(finding: str) -> Say:
    quoted = [{"turn": turn, "quote": "read"} for turn in (3, 5)]
    given = {"evidence": quoted, "sentence": "So.", "finding": finding, "since_turn": 3}
    return Say(calls=[Call(name="run_verdict", input={**given, "confidence": 0.9})])


def verdict(body: Any) -> Say:
    """Circling for the run whose agent says that its approach is `round`."""
    return says("circling" if "round" in json.dumps(body["messages"]) else "progressing")


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAnthropicServer]:
    with FakeAnthropicServer(verdict) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", server.key)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        yield server


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A solved run, and one that goes round in meaning, as no rule sees."""
    folder = tmp_path / "runs"
    written(folder, "well", working(30))
    turns = working(30)
    for turn in turns:
        turn.approach = "round"
    written(folder, "round", turns)
    known = {"session_id": "round", "solved": False}
    labelled(
        folder,
        [
            {"session_id": "well", "solved": True},
            {**known, "judged": {"stuck": True, "from_turn": 10, "kind": "semantic"}},
        ],
    )
    return folder


def test_a_judge_has_rows_of_its_own_alone_and_beside_the_policy(
    runs: Path, api: FakeAnthropicServer
) -> None:
    options = ("--policy", "default", "--judge", "--judge-model", "claude-haiku-4-5")
    result = evaluated(runs, *options, "--format", "json")
    assert result.exit_code == 0, result.stderr
    found = figures(result)
    assert list(found) == ["default", "judge", "default+judge"]
    assert found["default"]["stuck"]["directive"]["count"] == 0
    for row in ("judge", "default+judge"):
        assert found[row]["stuck"]["break"]["count"] == 1
        assert found[row]["solved"]["directive"]["count"] == 0
    # From turn 15 on, every 10 turns: two verdicts on each of two runs of 30 turns.
    assert len(api.requests) == 4
    (note,) = (note for note in json.loads(result.stdout)["notes"] if note.startswith("judge"))
    assert note == (
        "judge (claude-haiku-4-5): 4 verdicts asked for (2 circling, 2 progressing), "
        f"60 tokens, {4 * (10 * 1 + 5 * 5) / 1e6:.4f} USD."
    )


def test_it_sees_recorded_texts_only_where_texts_may_be_kept(
    runs: Path, api: FakeAnthropicServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = (runs, "--judge", "--judge-model", "m", "--policy", "default")
    evaluated(*options)
    assert "text of chapter" not in json.dumps(api.requests[-1]["messages"])
    monkeypatch.setenv("SIDECAR_TEXTS_KEPT_BYTES_MAX", "1000")
    evaluated(*options)
    assert "text of chapter" in json.dumps(api.requests[-1]["messages"])


def test_it_asks_as_often_as_the_configuration_says_and_no_more_than_the_bounds_allow(
    runs: Path, api: FakeAnthropicServer, tmp_path: Path
) -> None:
    config = tmp_path / "sidecar.yaml"
    config.write_text(
        "judge: {model: m, every_turns: 5, from_turn: 5}\nsession_model_calls_max: 5\n"
        f"state_directory: {tmp_path}\n"
    )
    result = evaluated(runs, "--judge", "--config", config, "--policy", "default")
    # Of the five calls for each run one is not the judge's.
    assert len(api.requests) == 8
    assert "12 verdicts asked for (4 bounded, 4 circling, 4 progressing)" in result.stdout
    assert "8 calls of unknown cost" in result.stdout


def test_without_a_model_it_says_what_is_missing(runs: Path, api: FakeAnthropicServer) -> None:
    result = evaluated(runs, "--judge")
    assert (result.exit_code, api.requests) == (2, [])
    assert result.stderr == (
        "sidecar: --judge: which model? Set judge.model, or give --judge-model\n"
    )


def test_a_judge_that_could_never_be_asked_is_said_to_be_so(
    runs: Path, api: FakeAnthropicServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIDECAR_MODEL_CONCURRENCY_MAX", "1")
    result = evaluated(runs, "--judge", "--judge-model", "m")
    assert (result.exit_code, api.requests) == (2, [])
    assert result.stderr == "sidecar: --judge: model_concurrency_max must be at least 2\n"


def test_without_a_key_it_says_so(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    result = evaluated(runs, "--judge", "--judge-model", "m")
    assert result.exit_code == 2
    assert "no model is configured" in result.stderr


def test_a_judge_that_gives_no_verdict_at_all_is_not_measured(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeAnthropicServer(lambda _: Fail(status=403)) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", server.key)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        result = evaluated(runs, "--judge", "--judge-model", "m", "--policy", "default")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no verdict to measure: 4 verdicts asked for (4 failed)" in result.stderr
    assert result.stderr.endswith("Failed: unauthenticated.\n")


def test_what_a_judge_failed_at_is_said_beside_what_it_found(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = [Say(text="prose"), says("progressing"), says("progressing"), says("progressing")]
    with FakeAnthropicServer(replies) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", server.key)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        result = evaluated(runs, "--judge", "--judge-model", "m", "--policy", "default")
    assert result.exit_code == 0
    assert "(1 failed, 3 progressing)" in result.stdout
    assert "Failed: its reply could not be read." in result.stdout
