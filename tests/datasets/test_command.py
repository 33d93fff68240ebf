"""`sidecar datasets` as it is called."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sidecar.cli.main import main
from sidecar.datasets.catalogue import SOURCES
from sidecar.evaluation.labels import read_labels
from sidecar.evaluation.runs import read_run
from tests.datasets.http_files import Files, served

EVENTS: list[Any] = [
    {"source": "user", "action": "message", "args": {"content": "Go"}},
    {"source": "agent", "action": "run", "args": {"command": "ls", "thought": "Look"}},
    {"source": "agent", "observation": "run", "content": "x" * 10_000_000, "exit_code": 1},
]


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["datasets", *map(str, arguments)])


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration, cache or proxy of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("SIDECAR_CONFIG", "SIDECAR_DATASET_MIRROR", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def test_list_says_licence_size_address_and_sum_of_every_source() -> None:
    done = _run("list")
    assert done.exit_code == 0
    for source in SOURCES.values():
        assert source.name in done.output
        assert source.licence in done.output
        assert source.address in done.output
        assert (source.sha256 or "not pinned: not fetched") in done.output


def test_list_has_every_file_as_json() -> None:
    entries = {
        entry["name"]: entry
        for entry in map(json.loads, _run("list", "--json").output.splitlines())
    }
    assert set(entries) == set(SOURCES)
    tau = entries["tau-bench"]
    assert tau["fetchable"] is True
    assert tau["files"][0]["url"].endswith(
        "/sierra-research/tau-bench/59a200c6d575d595120f1cb70fea53cef0632f6b/"
        "historical_trajectories/gpt-4o-airline.json"
    )
    assert (entries["mast"]["fetchable"], entries["mast"]["files"]) == (False, [])


def test_convert_writes_run_files_and_labels(tmp_path: Path) -> None:
    source = tmp_path / "a__b-1.json"
    source.write_text(json.dumps(EVENTS), encoding="utf-8")
    done = _run("convert", "openhands", source, "--output", tmp_path / "out")
    assert (done.exit_code, done.output) == (0, f"1 run, 1 turn in {tmp_path / 'out'}\n")
    run = read_run(tmp_path / "out" / "openhands-a-b-1.jsonl")
    assert len(run.turns[0].tool_calls[0].result_text) < 2_000
    assert read_labels(tmp_path / "out" / "labels.jsonl")["openhands-a-b-1"].source == "openhands"


def test_convert_keeps_as_much_of_a_result_as_it_is_told(tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    source.write_text(json.dumps(EVENTS), encoding="utf-8")
    _run("convert", "openhands", source, "--output", tmp_path, "--result-max", "50000")
    kept = read_run(tmp_path / "openhands-a.jsonl").turns[0].tool_calls[0].result_text
    assert 49_000 < len(kept) <= 50_000


def test_convert_of_a_folder_takes_the_files_that_look_like_the_format(tmp_path: Path) -> None:
    for name in ("b/a.traj", "a.traj", "notes.json"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"trajectory": [{"action": "ls", "observation": "a"}]}', encoding="utf-8")
    done = _run("convert", "swe-agent", tmp_path / "in", "--output", tmp_path / "out")
    assert done.output.startswith("2 runs, 2 turns")
    done = _run("convert", "codex", tmp_path / "in", "--output", tmp_path / "out")
    assert done.exit_code == 2
    assert "no files like rollout-*.jsonl" in done.output


def test_convert_finds_what_lies_beside_a_file(tmp_path: Path) -> None:
    trial = tmp_path / "fix-it.1-of-1.t"
    (trial / "sessions").mkdir(parents=True)
    log = "mini-swe-agent (step 1, $0.01):\nLook\n```bash\nls\n```\nUser:\na\n"
    (trial / "sessions" / "agent.log").write_text(log, encoding="utf-8")
    results = {"task_id": "fix-it", "trial_name": trial.name, "is_resolved": False}
    (trial / "results.json").write_text(json.dumps(results), encoding="utf-8")
    assert _run("convert", "mini-swe-agent", trial, "--output", tmp_path / "out").exit_code == 0
    (label,) = read_labels(tmp_path / "out" / "labels.jsonl").values()
    assert label.solved is False


@pytest.mark.parametrize(
    ("content", "line", "code"),
    [
        (b"", "a.jsonl:1: the file is empty", 1),
        (b"\x00\x01\x02", "a.jsonl:1: binary; expected text", 1),
        (b'{"type": "user"}\n', "a.jsonl:1: Object missing required field `message`", 1),
        (b'{"type": "summary"}\n{"type": "system"}\n', "a.jsonl: no run in it", 1),
        (b'{"type": "summary"}\nnot JSON\n', "a.jsonl:2: not JSON", 1),
        (b'{"type": "summary"}\n{"type": "\xff"}\n', "a.jsonl:2: byte 10 is not UTF-8", 1),
    ],
)
def test_what_cannot_be_read_is_named_by_file_and_line(
    tmp_path: Path, content: bytes, line: str, code: int
) -> None:
    source = tmp_path / "a.jsonl"
    source.write_bytes(content)
    done = _run("convert", "claude-code", source, "--output", tmp_path / "out")
    assert done.exit_code == code
    assert f"{tmp_path}/{line}" in done.output


def test_what_can_be_read_is_converted_in_spite_of_what_cannot(tmp_path: Path) -> None:
    good = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "a"}]}}
    source = tmp_path / "a.jsonl"
    source.write_text(
        f'{json.dumps(good)}\n{{"type": "queue-operation"}}\nbroken\n', encoding="utf-8"
    )
    done = _run("convert", "claude-code", source, "--output", tmp_path / "out")
    assert done.exit_code == 1
    assert "1 run, 1 turn in" in done.output
    assert "1 broken record; passed over: queue-operation (1)" in done.output
    assert read_run(tmp_path / "out" / "a.jsonl").turns


def test_what_is_passed_over_is_counted_behind_its_kind(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n{}\n", encoding="utf-8")
    done = _run("convert", "claude-code", tmp_path / "a.jsonl", "--output", tmp_path / "out")
    assert "passed over: line without a type (2)\n" in done.output


def test_a_file_that_is_named_twice_is_converted_once(tmp_path: Path) -> None:
    source = tmp_path / "in" / "a.json"
    source.parent.mkdir()
    source.write_text(json.dumps(EVENTS), encoding="utf-8")
    out = tmp_path / "out"
    done = _run("convert", "openhands", source, source, source.parent, "--output", out)
    assert (done.exit_code, done.output) == (0, f"1 run, 1 turn in {out}\n")
    assert set(read_labels(out / "labels.jsonl")) == {"openhands-a"}


def test_a_run_without_turns_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"task_id": 1, "traj": []}]', encoding="utf-8")
    done = _run("convert", "tau-bench", tmp_path / "a.json", "--output", tmp_path / "out")
    assert done.exit_code == 1
    assert "0 runs, 0 turns" in done.output
    assert "passed over: run without turns (1)" in done.output
    assert list((tmp_path / "out").iterdir()) == []


def test_convert_stops_at_labels_that_it_cannot_add_to(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text("mine\n", encoding="utf-8")
    (tmp_path / "a.json").write_text("[]", encoding="utf-8")
    done = _run("convert", "openhands", tmp_path / "a.json", "--output", tmp_path)
    assert done.exit_code == 1
    assert "labels.jsonl:1: no label" in done.output
    assert (tmp_path / "labels.jsonl").read_text("utf-8") == "mine\n"


def test_a_source_that_states_no_licence_is_refused_until_it_is_accepted(tmp_path: Path) -> None:
    name = "terminal-bench-mini-swe-agent"
    refused = _run("fetch", name, "--from", tmp_path)
    assert refused.exit_code == 2
    assert "--accept-licence" in refused.output
    accepted = _run("fetch", name, "--from", tmp_path, "--accept-licence")
    assert accepted.exit_code == 1
    assert "expected a clone of laude-institute/terminal-bench-leaderboard" in accepted.output


def test_a_source_without_checksums_is_not_fetched(tmp_path: Path) -> None:
    done = _run("fetch", "mast", "--accept-licence")
    assert done.exit_code == 2
    assert "no checksum is pinned" in done.output


def test_the_mirror_comes_from_the_flag_or_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(Files()) as files:
        by_flag = _run("fetch", "tau2-bench", "--mirror", files.address)
        config = tmp_path / "sidecar.yaml"
        config.write_text(f"dataset_mirror: {files.address}\n", encoding="utf-8")
        by_file = _run("fetch", "tau2-bench", "--config", config)
        monkeypatch.setenv("SIDECAR_DATASET_MIRROR", files.address)
        by_environment = _run("fetch", "tau2-bench")
    for done in (by_flag, by_file, by_environment):
        assert done.exit_code == 1
        assert f"the server answers 404 ({files.address}/sierra-research/tau2-bench/" in done.output
    assert len({target for target, _ in files.asked}) == 1


def test_a_mirror_that_is_no_address_is_refused_in_one_line() -> None:
    done = _run("fetch", "tau2-bench", "--mirror", "nowhere")
    assert done.exit_code == 2
    assert "--mirror" not in done.output or done.output.count("\n") == 1
    assert "http://" in done.output


def test_a_file_that_changed_upstream_ends_the_command_with_both_sums() -> None:
    source = SOURCES["tau2-bench"]
    url = source.url(source.files[0].path).removeprefix(source.host)
    with served(Files(bodies={url: b"{}"})) as files:
        done = _run("fetch", "tau2-bench", "--mirror", files.address)
    assert done.exit_code == 1
    assert "changed upstream" in done.output
    assert source.files[0].sha256 in done.output
