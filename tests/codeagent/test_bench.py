"""Many questions, watched and not: compared as the benchmark compares, and gone on with."""

import contextlib
import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from sidecar.codeagent.bench import Settings, kept
from sidecar.codeagent.gaia import Question, QuestionsInvalidError, is_correct, read_questions
from sidecar.testing.anthropic_server import FakeAnthropicServer
from sidecar.testing.model_script import Fail, Say, Step
from sidecar.testing.process import SidecarProcess


@pytest.mark.parametrize(
    ("answer", "truth", "correct"),
    [
        ("42", "42", True),
        ("42.0", "42", True),
        ("$1,234.50", "1234.5", True),
        ("17%", "17", True),
        ("about 42", "42", False),
        (None, "42", False),
        (None, "None", False),
        ("", "42", False),
        ("paris", "Paris", True),
        (" Sea  gull. ", "seagull", True),
        ("St. Petersburg", "St Petersburg", True),
        ("London", "Paris", False),
        ("1, 2, 3", "1,2,3", True),
        ("1; 2; 3", "1,2,3", True),
        ("1, 2", "1,2,3", False),
        ("2, 1", "1, 2", False),
        ("Red, $5", "red, 5", True),
        ("red!, 5", "red, 5", False),
    ],
)
def test_answers_are_compared_as_the_benchmark_does(
    answer: str | None, truth: str, correct: bool
) -> None:
    assert is_correct(answer, truth) is correct


def write(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def question(name: str, answer: str, **more: Any) -> dict[str, Any]:
    row = {"task_id": name, "Question": f"{name}?", "Level": 1, "Final answer": answer}
    return {**row, "file_name": "", **more}


def test_questions_are_read_with_the_files_beside_them(tmp_path: Path) -> None:
    path = write(
        tmp_path / "q.jsonl", question("a", "?"), question("b", "1", file_name="../../b.csv")
    )
    first, second = read_questions(path)
    assert (first.answer, first.file, first.level) == (None, None, "1")
    assert (second.answer, second.file) == ("1", tmp_path / "b.csv")


def test_a_question_may_have_any_separator_of_lines_in_it(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    row = question("a", "1", Question="a\u2028b\x85c")
    path.write_text(json.dumps(row, ensure_ascii=False) + "\r\n")
    assert [each.text for each in read_questions(path)] == ["a\u2028b\x85c"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", r"q\.jsonl:1: "),
        ("[]", r"q\.jsonl:1: a line is one object with task_id, Question"),
        ('{"task_id": 1}', r"q\.jsonl:1: no 'Question'"),
        ('{"task_id": 1, "Question": " "}', "no 'Question'"),
        ('{"task_id": null, "Question": "?"}', "no 'task_id'"),
        ('{"task_id": 1, "Question": "?"}\n' * 2, "each task_id may be there once, not '1'"),
        ("\n", r"q\.jsonl: no questions in it"),
    ],
)
def test_a_file_that_is_none_of_questions_is_refused_with_its_line(
    text: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(text)
    with pytest.raises(QuestionsInvalidError, match=why):
        read_questions(path)


def test_a_file_of_questions_may_begin_with_a_mark_of_its_byte_order(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(question("a", "1")), encoding="utf-8-sig")
    assert [each.id for each in read_questions(path)] == ["a"]


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(b'{"task_id": 1, "Question": "caf\xe9?"}')
    with pytest.raises(QuestionsInvalidError, match=r"q\.jsonl: it is not UTF-8"):
        read_questions(path)


def bench(
    server: FakeAnthropicServer, path: Path, *arguments: str, stderr: int = subprocess.PIPE
) -> "subprocess.CompletedProcess[str]":
    home = str(path.parent)
    places = dict.fromkeys(("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), home)
    access = {"ANTHROPIC_BASE_URL": server.base_url, "ANTHROPIC_API_KEY": server.key}
    return subprocess.run(
        [sys.executable, "-m", "sidecar.cli", "agent", "bench", str(path), *arguments],
        env={**os.environ, **places, **access, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        timeout=120,
        check=False,
    )


MADE = Settings(model="claude-haiku-4-5", policy="", turns_max=20)
"""As the command has them when nothing is given."""


def had(name: str, **more: Any) -> dict[str, Any]:
    """A run as it is kept."""
    counts = dict.fromkeys(("turns", "input_tokens", "output_tokens"), 1)
    rest = {"cost_usd": 0.1, "decisions": [], "give_ups": {}, "stop_reason": "answered"}
    asked = Question(id=name, text=f"{name}?", level="1", answer="42", file=None).digest()
    named = {"side": "without", "question_id": name, "asked": asked, "answer": "42"}
    return {**named, **asdict(MADE), **counts, **rest, **more}


def test_lines_of_results_that_are_no_whole_runs_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    lines = [b'{"stop_reason": "answered"}', b"[]", b"\xff", json.dumps(had("a")).encode(), b'{"s']
    path.write_bytes(b"\n".join(lines))
    assert kept(path, MADE) == [had("a")]


@pytest.mark.parametrize(
    ("why", "row"),
    [
        ("another model", had("b", model="other")),
        ("another policy", had("b", policy="strict")),
        ("another limit", had("b", turns_max=5)),
        ("another search", had("b", search="pages")),
        ("with the web", had("b", web=True)),
        ("with other networks", had("b", networks="10.0.0.0/8")),
        ("without containment", had("b", isolated=False)),
        (
            "an older file, which does not say",
            {key: each for key, each in had("b").items() if key not in asdict(MADE)},
        ),
        ("nobody watched it throughout", had("b", side="with", give_ups={"connect": 2})),
        ("it failed", had("b", stop_reason="error")),
        ("its model gave no answer in time", had("b", stop_reason="timed_out", answer=None)),
    ],
)
def test_only_whole_runs_of_the_same_settings_count_as_done(
    why: str, row: dict[str, Any], tmp_path: Path
) -> None:
    path = write(tmp_path / "results.jsonl", had("a", give_ups={"connect": 0}), row)
    assert [each["question_id"] for each in kept(path, MADE)] == ["a"], why


def test_a_run_whose_model_was_late_and_that_came_to_an_answer_is_done(tmp_path: Path) -> None:
    row = had("a", stop_reason="timed_out")
    assert kept(write(tmp_path / "results.jsonl", row), MADE) == [row]


def test_a_row_with_any_separator_of_lines_in_its_answer_is_read_back(tmp_path: Path) -> None:
    row = had("a", answer="4\u2028\x852\x0b")
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n")
    assert kept(path, MADE) == [row]


@pytest.mark.process
def test_results_that_cannot_be_written_are_refused_before_anything_is_asked(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "q.jsonl", question("a", "42"))
    with FakeAnthropicServer([]) as server:
        done = bench(server, path, "--results", str(tmp_path / "none" / "r.jsonl"))
        assert server.requests == []
    assert done.returncode == 2
    assert "none/r.jsonl: No such file or directory" in done.stderr


def looping(body: Mapping[str, Any]) -> Step:
    """A model that does the same until it is to answer."""
    if "This run has ended" in str(body["messages"][-1]["content"]):
        return Say(text="FINAL_ANSWER: 42")
    return Say(text="```python\nprint('same')\n```")


@pytest.mark.process
def test_the_sidecar_saves_a_looping_agent_turns_and_the_table_shows_it(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", question("a", "42"), question("b", "43"))
    with SidecarProcess(tmp_path) as watching, FakeAnthropicServer(looping) as server:
        done = bench(server, path, "--watch", watching.agent, "--format", "json")
    assert done.returncode == 0, done.stderr
    sides = {side["side"]: side for side in json.loads(done.stdout)}
    assert sides["with"]["turns"] < sides["without"]["turns"] == 40
    assert sides["with"]["directives"] > 0 == sides["without"]["directives"]
    assert [side["accuracy"] for side in sides.values()] == [0.5, 0.5]
    assert [side["empty"] for side in sides.values()] == [0, 0]
    assert "with     a  right  committed" in done.stderr
    assert "not watched" not in done.stderr


@pytest.mark.process
def test_runs_that_are_kept_are_not_run_again_and_failed_ones_are(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", *(question(name, "42") for name in "abc"))
    results = tmp_path / "q.results.jsonl"

    def fails_on_b(body: Mapping[str, Any]) -> Step:
        asked = body["messages"][0]["content"]
        return Fail(status=401) if asked == "b?" else Say(text="FINAL_ANSWER: 42")

    with FakeAnthropicServer(fails_on_b) as server:
        first = bench(server, path, "--side", "without", "--concurrency", "2")
    assert (first.returncode, len(results.read_text().splitlines())) == (1, 3)
    assert "1 run failed; the same command tries what failed again" in first.stderr
    with results.open("a") as file:
        file.write('{"side": "without", "question_id": "c", "cut')

    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 42")) as server:
        second = bench(server, path, "--side", "without")
        assert [body["messages"][0]["content"] for body in server.requests] == ["b?"]
    assert second.returncode == 0
    assert "3 (100%)" in second.stdout


@pytest.mark.process
def test_an_answer_that_is_kept_is_judged_by_the_file_of_questions_as_it_is_now(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "q.jsonl", question("a", "42"))
    with FakeAnthropicServer([Say(text="FINAL_ANSWER: 41")]) as server:
        first = bench(server, path, "--side", "without", "--format", "json")
        write(path, question("a", "41"))
        again = bench(server, path, "--side", "without", "--format", "json")
    assert [json.loads(done.stdout)[0]["correct"] for done in (first, again)] == [0, 1]


@pytest.mark.process
def test_another_question_or_file_under_the_same_id_is_asked_anew(tmp_path: Path) -> None:
    path, table = tmp_path / "q.jsonl", tmp_path / "a.csv"
    table.write_text("1\n")
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 42")) as server:

        def asked_for(text: str) -> int:
            """Requests that it takes."""
            write(path, question("a", "42", Question=text, file_name="a.csv"))
            before = len(server.requests)
            assert bench(server, path, "--side", "without").returncode == 0
            return len(server.requests) - before

        assert [asked_for(text) for text in ("6 x 7?", "6 x 7?", "6 x 8?")] == [1, 0, 1]
        table.write_text("2\n")
        assert asked_for("6 x 8?") == 1


@pytest.mark.process
def test_a_run_whose_model_gave_no_answer_in_time_has_failed_and_is_run_again(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "q.jsonl", question("a", "42"))
    config = tmp_path / "sidecar.yaml"
    config.write_text("model_timeout_s: 2\n")
    unwatched = ["--side", "without"]
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 42", delay_s=30)) as server:
        late = bench(server, path, *unwatched, "--config", str(config))
    assert late.returncode == 1
    assert "without  a  wrong  timed_out" in late.stderr and "1 run failed" in late.stderr
    with FakeAnthropicServer([Say(text="FINAL_ANSWER: 42")]) as server:
        assert bench(server, path, *unwatched).returncode == 0


@pytest.mark.process
def test_without_a_sidecar_the_runs_that_it_is_to_watch_are_not_begun(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", question("a", "42"))
    nobody = ["--watch", f"unix:{tmp_path}/nobody.sock"]
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 42")) as server:
        done = bench(server, path, *nobody)
        assert server.requests == []
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "nobody.sock does not watch" in done.stderr and "--side without" in done.stderr
    write(tmp_path / "q.results.jsonl", had("a"), had("a", side="with"))
    with FakeAnthropicServer([]) as server:
        assert bench(server, path, *nobody).returncode == 0, "none is to be begun"


@pytest.mark.process
def test_on_a_terminal_a_bar_goes_up_with_each_run_that_ends_and_is_gone_then(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "q.jsonl", *(question(name, "42") for name in "abcde"))
    write(tmp_path / "q.results.jsonl", had("e"))
    ours, theirs = pty.openpty()
    shown: list[str] = []
    reader = threading.Thread(target=lambda: shown.extend(_read(ours)))
    reader.start()
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 42")) as server:
        done = bench(server, path, "--side", "without", "--format", "json", stderr=theirs)
    os.close(theirs)
    reader.join()
    os.close(ours)
    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["correct"] == 5
    drawn = "".join(shown)
    assert "asking" in drawn and "  0%" in drawn and "100%" in drawn
    assert drawn.endswith("\x1b[2K"), "the last that is done is to wipe its line"
    assert "answered" not in drawn, "no line for each run beside it"


def _read(terminal: int) -> Iterator[str]:
    """What is written to it until nobody has its other end."""
    with contextlib.suppress(OSError):  # which is how Linux says so
        while part := os.read(terminal, 4096):
            yield part.decode("utf-8", "replace")


@pytest.mark.process
def test_the_name_of_a_question_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", question("a\x1b[2J", "42"))
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 42")) as server:
        done = bench(server, path, "--side", "without")
    assert "without  a\\x1b[2J  right" in done.stderr


@pytest.mark.process
def test_a_question_whose_file_is_missing_fails_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", question("a", "42", file_name="no.csv"), question("b", "42"))
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 42")) as server:
        done = bench(server, path, "--side", "without", "--format", "json")
    (side,) = json.loads(done.stdout)
    assert (done.returncode, side["correct"], side["empty"]) == (1, 1, 1)
    assert "no.csv: No such file or directory" in done.stderr


@pytest.mark.process
def test_a_question_of_unknown_truth_whose_file_is_missing_is_not_judged(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", question("a", "?", file_name="no.csv"), question("b", "42"))
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 42")) as server:
        done = bench(server, path, "--side", "without", "--format", "json")
    (side,) = json.loads(done.stdout)
    assert (side["runs"], side["judged"], side["accuracy"]) == (2, 1, 1.0)
    assert "without  a  not judged  error" in done.stderr


@pytest.mark.process
def test_runs_that_nobody_watched_are_said_to_be_so_and_run_again(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", question("a", "42"))
    with SidecarProcess(tmp_path) as watching:
        arguments = ["--side", "with", "--watch", watching.agent]

        def ends_the_sidecar(_: Mapping[str, Any]) -> Step:
            watching.kill()
            return Say(text="FINAL_ANSWER: 42")

        with FakeAnthropicServer(ends_the_sidecar) as server:
            done = bench(server, path, *arguments)
        watching.restart()
        with FakeAnthropicServer([Say(text="FINAL_ANSWER: 42")]) as server:
            again = bench(server, path, *arguments)
            assert len(server.requests) == 1
    assert "1 run not watched throughout; the same command runs what was not" in done.stderr
    assert again.returncode == 0


@pytest.mark.process
def test_another_model_or_search_is_asked_anew_and_each_row_says_with_what_it_was_made(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "q.jsonl", question("a", "42"))
    arguments = ["--side", "without", "--max-turns", "7"]
    haiku, sonnet = ["--model", "claude-haiku-4-5"], ["--model", "claude-sonnet-4-6"]
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 42")) as server:
        for more in (haiku, sonnet, haiku, [*haiku, "--search", str(tmp_path)]):
            assert bench(server, path, *arguments, *more).returncode == 0
        assert len(server.requests) == 3
    lines = (tmp_path / "q.results.jsonl").read_text().split("\n")
    rows = [json.loads(line) for line in lines if line]
    assert [(row["model"], row["policy"], row["turns_max"], row["search"]) for row in rows] == [
        ("claude-haiku-4-5", "", 7, ""),
        ("claude-sonnet-4-6", "", 7, ""),
        ("claude-haiku-4-5", "", 7, str(tmp_path)),
    ]
