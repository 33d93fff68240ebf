"""`sidecar agent` as it is run: the real SDK against a server on loopback, real code, no key."""

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from sidecar.codeagent.smoke import PAGES, QUESTIONS, same
from sidecar.codeagent.tools.searching import LocalIndex
from sidecar.ports import Cited
from sidecar.testing.anthropic_server import FakeAnthropicServer
from sidecar.testing.model_script import Call, Fail, Say, Search, Step
from sidecar.testing.process import SidecarProcess
from tests.codeagent.containment import soon
from tests.codeagent.loopback import page, site

pytestmark = pytest.mark.process

SOLVED = {
    "csv": "rows = read_file('orders.csv')[1:]\nfinal_answer(sum(float(r[3]) for r in rows "
    "if r[1] == 'north' and r[2] == 'paid'))",
    "xlsx": "rows = read_file('stock.xlsx')['stock'][1:]\nfinal_answer(min(rows, "
    "key=lambda r: r[2])[1])",
    "pages": "import re\nurl = web_search('lighthouse Quenby Head')[0]['url']\n"
    "name = re.search(r'\\*\\*(.+?)\\*\\*', visit_webpage(url))[1]\n"
    "page = [p for p in web_search(name) if 'Birthplace' in p['snippet']][0]\n"
    "final_answer(re.search(r'Birthplace: \\*(.+?)\\*', visit_webpage(page['url']))[1])",
    "puzzle": "final_answer(sum((n % 3 == 0) != (n % 5 == 0) for n in range(1, 1001)))",
    "image": "final_answer(describe_image('squares.png', 'How many red squares?'))",
}
BY_TEXT = {question.text: SOLVED[question.id] for question in QUESTIONS}


def code(text: str) -> Say:
    return Say(text=f"```python\n{text}\n```")


def solver(body: Mapping[str, Any]) -> Step:
    """A model that knows how."""
    content = body["messages"][0]["content"]
    if not isinstance(content, str):
        assert content[0]["type"] == "image"
        return Say(text="4")
    return code(BY_TEXT[content])


def sidecar(
    server: FakeAnthropicServer,
    *arguments: str,
    home: Path,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    **variables: str,
) -> "subprocess.CompletedProcess[str]":
    places = dict.fromkeys(("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(home))
    access = {"ANTHROPIC_BASE_URL": server.base_url, "ANTHROPIC_API_KEY": server.key}
    return subprocess.run(
        [sys.executable, "-m", "sidecar.cli", "agent", *arguments],
        env={**os.environ, **places, **access, **variables},
        stdout=stdout,
        stderr=stderr,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_five_questions_are_answered_by_an_agent_that_works(tmp_path: Path) -> None:
    with FakeAnthropicServer(solver) as server:
        done = sidecar(server, "smoke", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "5/5 (the bar is 3)"
    assert done.stdout.count("pass") == 5


async def test_what_is_looked_up_in_two_steps_is_in_no_page_with_a_word_of_the_question(
    tmp_path: Path,
) -> None:
    for name, text in PAGES.items():
        (tmp_path / name).write_text(text)
    question = next(question for question in QUESTIONS if question.id == "pages")
    found = await LocalIndex(tmp_path).search(question.text, 10)
    assert found and not any(question.answer in page.snippet for page in found)


def test_too_few_answers_are_a_failure(tmp_path: Path) -> None:
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 401")) as server:
        done = sidecar(server, "smoke", home=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "1/5 (the bar is 3)")
    assert "FAIL  csv     '401', not '150.75' (answered)" in done.stdout


def test_the_answer_is_all_that_goes_to_standard_output(tmp_path: Path) -> None:
    with FakeAnthropicServer([code("print(1)"), code("final_answer(6 * 7)")]) as server:
        done = sidecar(server, "6 x 7?", home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert "answered after 2 turns" in done.stderr


def test_the_whole_run_comes_as_json(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("n\n42\n")
    with FakeAnthropicServer([code("final_answer(read_file('a.csv')[1][0])")]) as server:
        arguments = ["--file", str(table), "--format", "json", "6 x 7?"]
        done = sidecar(server, *arguments, home=tmp_path)
    run = json.loads(done.stdout)
    assert (run["answer"], run["tool_calls"]) == ("42", {"read_file": 1})
    assert run["isolation"] in ("namespaces", "bwrap")


def test_a_step_comes_as_json_with_its_standard_error_and_its_calls(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("n\n42\n")
    first = "import sys\nprint('hm', file=sys.stderr)\nread_file('a.csv')\nweb_search('n')"
    steps = [code(first), code("final_answer(42)")]
    with FakeAnthropicServer(steps) as server:
        done = sidecar(server, "?", "--file", str(table), "--format", "json", home=tmp_path)
    step = json.loads(done.stdout)["steps"][0]
    assert step["stderr"] == "hm\n"
    calls = step["tools"]
    shown = [(call["name"], call["arguments"], call["result"], call["failed"]) for call in calls]
    assert shown == [
        ("read_file", {"path": "a.csv"}, '[["n"], ["42"]]', False),
        ("web_search", {"query": "n", "results_max": 5}, "no search is set up here", True),
    ]


def test_on_a_terminal_each_turn_is_told_when_it_ends(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    shown: list[bytes] = []

    def reply(body: Mapping[str, Any]) -> Step:
        if len(body["messages"]) == 1:
            return code("try:\n    web_search('n')\nexcept ToolError:\n    print(1)")
        shown.append(os.read(ours, 4096))
        return code("final_answer(42)")

    with FakeAnthropicServer(reply) as server:
        watched = ["--watch", f"unix:{tmp_path}/nobody.sock"]
        done = sidecar(server, "?", *watched, home=tmp_path, stderr=theirs)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0
    assert re.search(rb"turn 1: code done in \d\.\d s, web_search\r\n", shown[0])


def test_in_a_pipe_only_turns_are_told_to_which_the_sidecar_said_something(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any]) -> Step:
        if "This run has ended" in str(body["messages"][-1]["content"]):
            return Say(text="FINAL_ANSWER: 42")
        return code("print('same')")

    with SidecarProcess(tmp_path) as watching, FakeAnthropicServer(reply) as server:
        done = sidecar(server, "?", "--watch", watching.agent, home=tmp_path)
    told = [line for line in done.stderr.splitlines() if line.startswith("turn ")]
    assert re.fullmatch(r"turn \d+: code done in \d\.\d s: rotate \(loop\)", told[0])
    assert all(": rotate" in line or ": commit" in line for line in told)


def test_pages_of_a_folder_are_there_beside_those_of_the_web(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "tea.html").write_text("<p>Tea is 4</p>")
    with site(lambda _: page("<p>and milk 2</p>")) as milk:
        both = f"visit_webpage(web_search('tea')[0]['url']), visit_webpage('{milk.url('/')}')"
        with FakeAnthropicServer([code(f"final_answer(' '.join([{both}]))")]) as server:
            web = ["--web", "--allow-network", "127.0.0.0/8"]
            done = sidecar(server, "?", "--search", str(pages), *web, home=tmp_path)
    assert done.stdout.split() == "Tea is 4 and milk 2".split(), done.stderr


def test_the_model_itself_can_be_what_searches(tmp_path: Path) -> None:
    page = Cited(url="https://a.example/", title="A", text="42")
    replies = [
        code("final_answer(web_search('6 x 7')[0]['snippet'])"),
        Say(text="It says so.", searches=[Search(query="6 x 7", found=[page])], input_tokens=1_000),
    ]
    with FakeAnthropicServer(replies) as server:
        arguments = ["6 x 7?", "--search", "model", "--format", "json"]
        run = json.loads(sidecar(server, *arguments, home=tmp_path).stdout)
    assert (run["answer"], run["tool_calls"]) == ("42", {"web_search": 1})
    assert run["input_tokens"] == 1_010
    assert run["cost_usd"] > 0.01


def test_an_answer_that_fails_its_review_is_tried_again(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any]) -> Step:
        if body.get("tools") or "output_config" in body:
            found = "42" if '"candidate_answer": "42"' in str(body["messages"]) else "41"
            verdict = "PASS" if found == "42" else "FAIL"
            return Say(calls=[Call(name="verdict", input={"verdict": verdict, "reasoning": "."})])
        again = "An earlier run" in str(body["messages"][0])
        return Say(text=f"FINAL_ANSWER: {42 if again else 41}")

    with FakeAnthropicServer(reply) as server:
        done = sidecar(server, "6 x 7?", "--review", home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert "review: FAIL" in done.stderr and "review: PASS" in done.stderr
    assert "flagged" not in done.stderr
    assert "answered after 2 turns, 40 + 20 tokens" in done.stderr


def twice_failed(body: Mapping[str, Any]) -> Step:
    """An agent that takes two turns and then one, and a reviewer that is content with neither."""
    if body.get("tools"):
        return Say(calls=[Call(name="verdict", input={"verdict": "FAIL", "reasoning": "No."})])
    if "An earlier run" in str(body["messages"][0]):
        return code("final_answer(43)")
    return code("final_answer(42)" if len(body["messages"]) > 1 else "print(1)")


def test_a_reviewed_answer_comes_as_json_with_all_that_was_spent_on_it(tmp_path: Path) -> None:
    with FakeAnthropicServer(twice_failed) as server:
        done = sidecar(server, "6 x 7?", "--review", "--format", "json", home=tmp_path)
        calls = len(server.requests)
    run = json.loads(done.stdout)
    assert (run["answer"], run["flagged"], run["retries"]) == ("43", True, 1)
    assert [(each["verdict"], each["reasoning"]) for each in run["reviews"]] == [
        ("FAIL", "No.")
    ] * 2
    assert [(each["turns"], each["answer"]) for each in run["attempts"]] == [(2, "42"), (1, "43")]
    assert (run["turns"], len(run["steps"]), calls) == (3, 3, 5)
    assert (run["input_tokens"], run["output_tokens"]) == (50, 25)
    costs = [each["cost_usd"] for each in [*run["attempts"], *run["reviews"]]]
    assert run["cost_usd"] == pytest.approx(sum(costs)) and all(costs)


def test_a_run_that_was_halted_is_not_tried_again(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("policies: {stopping: {on_break: stop}}\n")
    asked = ["--review", "--format=json", "--policy=stopping", f"--config={config}", "6 x 7?"]
    with (
        FakeAnthropicServer(lambda _: code("print('same')")) as server,
        SidecarProcess(tmp_path, flags=[f"--config={config}"]) as watching,
    ):
        done = sidecar(server, *asked, "--watch", watching.agent, home=tmp_path)
    run = json.loads(done.stdout)
    assert [attempt["stop_reason"] for attempt in run["attempts"]] == ["halted"]
    assert (run["answer"], run["agent_error"], run["flagged"]) == (None, "RunHaltedError", True)


def test_an_answer_that_no_review_is_content_with_is_flagged(tmp_path: Path) -> None:
    with FakeAnthropicServer(twice_failed) as server:
        done = sidecar(server, "6 x 7?", "--review", home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "43\n")
    assert "flagged: the answer stands in spite of its review" in done.stderr


def test_agent_and_reviewer_share_what_a_day_may_cost(tmp_path: Path) -> None:
    config = tmp_path / "sidecar.yaml"
    config.write_text("model_calls_max: 1\n")
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: 42")) as server:
        done = sidecar(server, "6 x 7?", "--review", "--config", str(config), home=tmp_path)
        assert len(server.requests) == 1
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert "the bound of 1 call a day (model_calls_max) is reached" in done.stderr


def test_a_reviewer_gets_no_longer_than_the_configured_time(tmp_path: Path) -> None:
    def reply(body: Mapping[str, Any]) -> Step:
        verdict = Call(name="verdict", input={"verdict": "PASS", "reasoning": "."})
        late = Say(calls=[verdict], delay_s=120)
        return late if body.get("tools") else Say(text="FINAL_ANSWER: 42")

    config = tmp_path / "sidecar.yaml"
    config.write_text("model_timeout_s: 8\n")  # the first reply has to wait for the SDK's import
    with FakeAnthropicServer(reply) as server:
        done = sidecar(server, "6 x 7?", "--review", "--config", str(config), home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert "review: UNCERTAIN: No review: timeout" in done.stderr


def test_an_answer_does_nothing_to_a_terminal_and_is_left_alone_in_a_pipe(tmp_path: Path) -> None:
    steering = code("final_answer('4\\u2009m\\a\\x1b]0;owned\\x07')")
    ours, theirs = pty.openpty()
    with FakeAnthropicServer([steering, steering]) as server:
        shown = sidecar(server, "?", home=tmp_path, stdout=theirs)
        piped = sidecar(server, "?", home=tmp_path)
    assert (shown.returncode, piped.returncode) == (0, 0)
    assert os.read(ours, 4096) == b"4\\u2009m\\x07\\x1b]0;owned\\x07\r\n"
    assert piped.stdout.startswith("4\u2009m")
    os.close(ours)
    os.close(theirs)


def test_a_model_that_is_down_is_exit_code_1_and_one_line(tmp_path: Path) -> None:
    with FakeAnthropicServer(lambda _: Fail(status=401, message="who?")) as server:
        done = sidecar(server, "6 x 7?", home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "unauthenticated" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([" "], "the question is empty"),
        (["?", "--file", "/no/such"], "/no/such: No such file"),
        (["?", "--search", "nowhere"], "--search nowhere: no folder"),
        (["?", "--search", "brave"], "BRAVE_API_KEY is not set"),
        (["?", "--web", "--allow-network", "x"], "--allow-network"),
        (["?", "--allow-network", "x"], "--allow-network: 'x' does not appear to be"),
        (["?", "--allow-network", "10.0.0.0/8"], "--allow-network: it needs --web"),
        (["?", "--policy", "x"], "--policy x: no such policy"),
        (["?", "--watch", "nonsense://x"], "--watch: neither unix:PATH nor HOST:PORT"),
        (["smoke", "--watch", "localhost"], "--watch: neither unix:PATH nor HOST:PORT"),
    ],
)
def test_what_the_caller_has_to_change_is_exit_code_2(
    arguments: list[str], why: str, tmp_path: Path
) -> None:
    with FakeAnthropicServer([]) as server:
        done = sidecar(server, *arguments, home=tmp_path)
        assert server.requests == []
    assert done.returncode == 2
    assert why in done.stderr and len(done.stderr.splitlines()) == 1


def test_an_unusable_address_of_the_environment_is_exit_code_2(tmp_path: Path) -> None:
    with FakeAnthropicServer([]) as server:
        done = sidecar(server, "?", home=tmp_path, SIDECAR_ADDRESS="here")
        assert server.requests == []
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "SIDECAR_ADDRESS: neither unix:PATH nor HOST:PORT: 'here'" in done.stderr


def test_without_a_key_it_says_what_to_set(tmp_path: Path) -> None:
    with FakeAnthropicServer([]) as server:
        done = sidecar(server, "?", home=tmp_path, ANTHROPIC_API_KEY="")
    assert done.returncode == 2
    assert "set ANTHROPIC_API_KEY" in done.stderr


def test_a_run_is_seen_by_the_sidecar_it_is_to_report_to(tmp_path: Path) -> None:
    replies = [code(f"print('same', {n})") for n in range(2)] + [code("final_answer(42)")]
    with SidecarProcess(tmp_path) as watching, FakeAnthropicServer(replies) as server:
        done = sidecar(
            server, "6 x 7?", "--watch", watching.agent, "--format", "json", home=tmp_path
        )
        session = json.loads(done.stdout)["session_id"]
        explained = subprocess.run(
            [sys.executable, "-m", "sidecar.cli", "explain", session, "--admin", watching.admin],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    assert session in explained.stdout
    assert "3" in explained.stdout


@pytest.mark.parametrize(
    ("answer", "expected", "is_same"),
    [
        ("150.750", "150.75", True),
        ("1,001", "1001", True),
        (" marrowfleet. ", "Marrowfleet", True),
        ("C2", "C1", False),
        (None, "C1", False),
        ("nan", "4", False),
    ],
)
def test_answers_are_compared_by_what_they_say(
    answer: str | None, expected: str, is_same: bool
) -> None:
    assert same(answer, expected) is is_same


def _children_that_run_steps(pid: int) -> list[psutil.Process]:
    """All processes below it, once an interpreter is among them."""
    process = psutil.Process(pid)
    assert soon(lambda: len(process.children(recursive=True)) >= 2)
    return process.children(recursive=True)


async def test_ending_a_command_leaves_no_interpreter(tmp_path: Path) -> None:
    with FakeAnthropicServer([code("import time; time.sleep(1000)")]) as server:
        places = {"XDG_RUNTIME_DIR": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
        access = {"ANTHROPIC_BASE_URL": server.base_url, "ANTHROPIC_API_KEY": server.key}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sidecar.cli", "agent", "sleep?"),
            env={**os.environ, **places, **access},
            stderr=asyncio.subprocess.DEVNULL,
        )
        children = await asyncio.to_thread(_children_that_run_steps, process.pid)
        process.terminate()
        await process.wait()
    assert children
    assert soon(lambda: not any(child.is_running() for child in children))
