"""What the formats of benchmarks become. The excerpts are made up in each format."""

import json
from typing import Any

import pytest

from sidecar.datasets.formats import (
    llm_agents_study,
    mini_swe_agent,
    swe_agent,
    tau2_bench,
    tau_bench,
    who_and_when,
)
from sidecar.datasets.moves import Broken
from tests.datasets.telling import asked, document, findings, only, skipped, told, usage

TAU = {
    "task_id": 3,
    "trial": 1,
    "reward": 1.0,
    "info": {"source": "user"},
    "traj": [
        {"role": "system", "content": "Policy"},
        {"role": "user", "content": "Cancel AB12, please"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [asked("c1", "cancel", '{"id":"AB12"}')],
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "name": "cancel",
            "content": "Error: no such booking",
        },
        {"role": "assistant", "content": "Which booking is it?"},
        {"role": "user", "content": "AB21"},
        {
            "role": "assistant",
            "content": "One moment",
            "tool_calls": [asked("c2", "cancel", '{"id":"AB21"}')],
        },
        {"role": "tool", "tool_call_id": "c2", "name": "cancel", "content": "cancelled"},
    ],
}


def test_a_tau_bench_run_has_a_turn_for_each_answer_of_the_model() -> None:
    run = only(tau_bench.convert, document(TAU, name="gpt-4o-airline.json"))
    assert run.session_id == "taubench-gpt-4o-airline-3-1"
    assert (run.solved, run.task) == (True, "taubench airline 3")
    assert told(run) == [
        "user> '' cancel(id='AB12') = error 'Error: no such booking'",
        "'Which booking is it?'",
        "user> 'One moment' cancel(id='AB21') = ok 'cancelled'",
    ]


@pytest.mark.parametrize(("reward", "solved"), [(1.0, True), (0.0, False), (None, None)])
def test_a_tau_bench_run_is_solved_where_its_reward_is_whole(
    reward: float | None, solved: bool | None
) -> None:
    run = only(tau_bench.convert, document({**TAU, "reward": reward}))
    assert run.solved is solved


def test_a_tau_bench_record_of_another_shape_names_its_place_and_what_was_expected() -> None:
    broken = {**TAU, "traj": [{"role": 7}]}
    found = findings(tau_bench.convert, document(TAU, broken))
    assert [type(finding).__name__ for finding in found] == ["Recording", "Broken"]
    assert isinstance(found[1], Broken)
    assert found[1].place == "2"
    assert "$.traj[0].role" in found[1].problem
    assert "expected a run of tau-bench" in found[1].problem


def _tau2(*messages: dict[str, Any], reward: float | None = 0.0) -> dict[str, Any]:
    simulation = {
        "task_id": "7",
        "trial": 0,
        "reward_info": None if reward is None else {"reward": reward},
        "messages": list(messages),
    }
    return {
        "info": {"agent_info": {"llm": "gpt-4.1"}, "environment_info": {"domain_name": "telecom"}},
        "simulations": [simulation],
    }


TAU2 = _tau2(
    {"role": "assistant", "content": "Hi! How can I help?"},
    {"role": "user", "content": "No signal", "timestamp": "2026-01-01T10:00:00"},
    {
        "role": "assistant",
        "content": None,
        "timestamp": "2026-01-01T10:00:02",
        "tool_calls": [{"id": "t1", "name": "get_line", "arguments": {"n": 1}}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 20},
        "cost": 0.01,
    },
    {
        "role": "tool",
        "id": "t1",
        "content": "no line 1",
        "error": True,
        "requestor": "assistant",
    },
    {"role": "assistant", "content": "Please restart it"},
    {
        "role": "user",
        "content": None,
        "tool_calls": [{"id": "u1", "name": "restart", "requestor": "user"}],
    },
    {"role": "tool", "id": "u1", "content": "done", "requestor": "user"},
    {"role": "assistant", "content": "And now?"},
)


def test_a_tau2_simulation_counts_the_agents_tools_and_not_the_persons() -> None:
    run = only(tau2_bench.convert, document(TAU2))
    assert run.session_id == "tau2-gpt-4.1-telecom-7-0"
    assert run.solved is False
    assert told(run) == [
        "'Hi! How can I help?'",
        "user> '' get_line(n=1) = error 'no line 1'",
        "'Please restart it'",
        "'And now?'",
    ]
    assert usage(run, 2) == {
        "input_tokens": 900,
        "output_tokens": 20,
        "context_tokens": 920,
        "cost_usd": 0.01,
    }


def test_a_tau2_simulation_without_a_reward_is_neither_solved_nor_not() -> None:
    assert only(tau2_bench.convert, document(_tau2(reward=None))).solved is None


THOUGHTS = (
    "Iteration 0: Thought=Look around; Action={'arguments': '{\"command\": \"ls\"}', 'name': 'run'}"
    "\n---\nIteration 1: Thought=Fix; it; Action={'name': 'write', 'args': {'lines': [1, 2]}}"
    "\n---\nIteration 2: Thought=Hm; Action={}"
)
RESULTS = (
    "Result at iteration 0: ls\na\n---\nResult at iteration 7: of a file\n; Next action: {'x': 1}"
    "\n---\nResult at iteration 1: The result of executing that last command is:\n "
    "Command write returned: Error: no lines; Next action: {}"
    "\n---\nResult at iteration 2: unknown command; Next action: END"
)


def test_the_studys_texts_are_split_where_the_next_iteration_begins() -> None:
    run = only(
        llm_agents_study.convert,
        document(
            name="trajectories/repairagent/parsed/thoughts_actions/experiment_12_Chart_5",
            text=THOUGHTS,
            beside={
                llm_agents_study.RESULTS: RESULTS,
                llm_agents_study.README: "### RepairAgent Instances\nResolved instances:\n```\n"
                "Chart_5\n```\nUnresolved instances:\n```\nChart_6\n```\n",
            },
        ),
    )
    assert run.session_id == "sola-repairagent-experiment-12-Chart-5"
    assert (run.task, run.solved) == ("Chart_5", True)
    assert told(run) == [
        "'Look around' run(command='ls') = ok 'ls\\na\\n---\\nResult at iteration 7: of a file'",
        "'Fix; it' write(lines=[1, 2]) = error 'Command write returned: Error: no lines'",
        "'Hm' ! no command: unknown command",
    ]


@pytest.mark.parametrize(
    ("row", "solved"),
    [("Chart_5,3,True", True), ("Chart_5,3,False", False), ("Chart_6,3,True", None)],
)
def test_the_studys_table_says_which_runs_were_solved(row: str, solved: bool | None) -> None:
    source = document(
        name="trajectories/openhands/parsed/thoughts_actions/Chart_5.txt",
        text=THOUGHTS,
        beside={llm_agents_study.SOLVED: f"instance_id,n_iterations,is_resolved\n{row}\n"},
    )
    assert only(llm_agents_study.convert, source).solved is solved


def test_an_iteration_without_an_action_is_named() -> None:
    text = "Iteration 0: Thought=nothing else"
    found = findings(llm_agents_study.convert, document(name="a/b/c/d/e", text=text))
    assert [f.place for f in found if isinstance(f, Broken)] == ["iteration 0", "1"]


TEAM = {
    "question_ID": "q-1",
    "is_correct": False,
    "mistake_agent": "A_Expert",
    "mistake_step": "0",
    "mistake_reason": "wrong file",
    "history": [
        {
            "name": "A_Expert",
            "role": "user",
            "content": "Run:\n```python\nprint(1)\n```\n",
        },
        {
            "name": "Computer_terminal",
            "role": "user",
            "content": "exitcode: 1 (execution failed)",
        },
        {"name": "B_Expert", "role": "user", "content": "```\nnot run\n```"},
        {"name": "Computer_terminal", "role": "user", "content": "There is no code"},
    ],
}


def test_a_team_of_experts_has_a_turn_each_and_its_terminal_answers_the_code() -> None:
    name = "Who&When/Algorithm-Generated/12.json"
    run = only(who_and_when.convert, document(TEAM, name=name))
    assert (run.session_id, run.task, run.solved) == ("whowhen-captain-12", "q-1", False)
    assert run.facts["mistake"] == {"agent": "A_Expert", "step": "0", "reason": "wrong file"}
    assert told(run) == [
        (
            "'Run:\\n```python\\nprint(1)\\n```\\n' run_code(code='print(1)\\n') = "
            "error 'exitcode: 1 (execution failed)'"
        ),
        "'```\\nnot run\\n```'",
    ]


def test_an_orchestrators_words_belong_to_the_agent_that_it_sends() -> None:
    history = [
        ("human", "Find a museum"),
        ("Orchestrator (thought)", "Initial plan: search"),
        ("Orchestrator (thought)", "Updated Ledger: {}"),
        ("Orchestrator (-> WebSurfer)", "Search for it"),
        ("Orchestrator (thought)", "Next speaker WebSurfer"),
        ("WebSurfer", "I typed 'museum'.\n\nHere is a page"),
        ("Orchestrator (-> Assistant)", "Sum it up"),
        ("Assistant", "It is closed"),
        ("Orchestrator (termination condition)", "No agent selected."),
    ]
    messages = [{"role": role, "content": content} for role, content in history]
    run = only(who_and_when.convert, document({"history": messages}, name="4.json"))
    assert run.session_id == "whowhen-magentic-4"
    assert told(run) == [
        (
            "'Initial plan: search\\nSearch for it' "
            "WebSurfer(action=\"I typed 'museum'.\") = ok 'Here is a page'"
        ),
        "'Sum it up' Assistant(action='It is closed') = ok 'It is closed'",
    ]


TRAJECTORY = {
    "environment": "swe_main",
    "info": {"exit_status": "submitted"},
    "history": [{"role": "system", "content": "SETTING"}],
    "trajectory": [
        {
            "action": "open a.py 10\n",
            "observation": "[File: a.py]",
            "thought": "Open it\n",
        },
        {
            "action": "python a.py",
            "observation": 'Traceback (most recent call last):\nKeyError: "x"',
            "response": "Run it\n```\npython a.py\n```",
        },
        {"action": "", "observation": "Your command was empty", "thought": "Hm"},
    ],
}


def test_a_swe_agent_trajectory_names_its_own_commands_as_tools() -> None:
    run = only(swe_agent.convert, document(TRAJECTORY, name="owner__repo-12.traj"))
    assert (run.session_id, run.task, run.solved) == (
        "swe-agent-owner-repo-12",
        "owner__repo-12",
        None,
    )
    assert told(run) == [
        "'Open it' open(command='open a.py 10') = ok '[File: a.py]'",
        (
            "'Run it\\n```\\npython a.py\\n```' bash(command='python a.py') = error "
            "'Traceback (most recent call last):\\nKeyError: \"x\"'"
        ),
        "'Hm' ! no command: Your command was empty",
    ]


def test_a_demonstration_without_steps_is_passed_over() -> None:
    found = findings(swe_agent.convert, document({"history": []}, name="demo.traj"))
    assert skipped(found) == {"trajectory without steps": 1}


MINI = [
    {"role": "system", "content": "You can use bash"},
    {"role": "user", "content": "Fix it"},
    {"role": "assistant", "content": "THOUGHT: look\n\n```bash\nls\n```"},
    {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"},
    {"role": "assistant", "content": "Two:\n```bash\na\n```\n```bash\nb\n```"},
    {"role": "user", "content": "Please always provide EXACTLY ONE action"},
    {"role": "assistant", "content": "```mswea_bash_command\npytest\n```"},
    {"role": "user", "content": "<returncode>2</returncode>\n<output>\n1 failed\n</output>"},
]
MINI_TURNS = [
    "user> 'THOUGHT: look' bash(command='ls') = ok 'a.py'",
    "'Two:' ! format error: Please always provide EXACTLY ONE action",
    "'' bash(command='pytest') = error '1 failed'",
]


def test_a_mini_swe_agent_trajectory_is_read_in_both_versions() -> None:
    older = only(mini_swe_agent.convert, document(*MINI, name="x.traj.json"))
    newer = only(
        mini_swe_agent.convert, document({"messages": MINI, "info": {}}, name="x.traj.json")
    )
    assert older == newer
    assert older.session_id == "mini-swe-agent-x"
    assert told(older) == MINI_TURNS


def test_version_2_of_mini_swe_agent_notes_actions_costs_and_tool_calls() -> None:
    messages = [
        {"role": "user", "content": "Fix it"},
        {
            "role": "assistant",
            "content": "Look",
            "extra": {"actions": [{"command": "ls"}], "cost": 0.25, "timestamp": 1706000000.0},
        },
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"},
        {"role": "assistant", "tool_calls": [asked("c1", "bash", '{"command": "make"}')]},
        {"role": "tool", "tool_call_id": "c1", "content": "<returncode>2</returncode>"},
        {"role": "assistant", "content": "```bash\nls\n```", "extra": {"actions": []}},
        {"role": "user", "content": "Not that"},
    ]
    run = only(mini_swe_agent.convert, document({"messages": messages}, name="x.traj.json"))
    assert told(run) == [
        "user> 'Look' bash(command='ls') = ok 'a.py'",
        "'' bash(command='make') = error '<returncode>2</returncode>'",
        "'' ! format error: Not that",
    ]
    assert usage(run, 1) == {"cost_usd": 0.25}


LOG = (
    "\x1b[?2004hroot@box:/app# mini -m claude -t 'Fix it' -y; tmux wait -S done\r\n"
    "\x1b[1mThis is mini-swe-agent\x1b[0m version 1.9.0.\r\nUser:\r\nPlease solve this issue\r\n"
    + "\u2500"
    * 80
    + "\r\n\u280b Waiting for the LM to respond...\r\u2819 Waiting for the LM to respond...\r\r\n"
    "\x1b[31mmini-swe-agent (step \x1b[1m1\x1b[0m, $\x1b[1m0.01\x1b[0m):\x1b[0m\r\n"
    "\u280b Waiting for the LM to respond...\rTHOUGHT: look\r\n\r\n```bash\r\nls\r\n```\r\n\r\n"
    "User:\r\n<returncode>0</returncode>\r\n<output>\r\na.py\r\n</output>\r\n"
    "mini-swe-agent (step 2, $0.03):\r\nDone\r\n\r\n```bash\r\necho SUBMIT\r\n```\r\n"
    "User:\r\n\r\nSaved trajectory to '/root/last.traj.json'\r\nroot@box:/app# exit\r\n"
)


def test_a_terminal_bench_log_is_stripped_of_what_only_a_terminal_shows() -> None:
    results = {"task_id": "fix-it", "trial_name": "fix-it.1-of-1.t", "is_resolved": True}
    run = only(
        mini_swe_agent.convert,
        document(
            name="run/fix-it/fix-it.1-of-1.t/sessions/agent.log",
            text=LOG,
            beside={mini_swe_agent.RESULTS: json.dumps(results)},
        ),
    )
    assert run.session_id == "terminal-bench-fix-it.1-of-1.t"
    assert (run.task, run.solved) == ("terminal-bench fix-it", True)
    assert told(run) == [
        "user> 'THOUGHT: look' bash(command='ls') = ok 'a.py'",
        "'Done' bash(command='echo SUBMIT') = ok ''",
    ]
    assert [usage(run, turn) for turn in (1, 2)] == [{"cost_usd": 0.01}, {"cost_usd": 0.02}]


def test_a_log_of_an_agent_that_never_began_holds_no_run() -> None:
    text = "root@box:/app# mini -t 'Fix it'\r\nbash: mini: command not found\r\n"
    found = findings(mini_swe_agent.convert, document(name="t/sessions/agent.log", text=text))
    assert skipped(found) == {"log without a step": 1}


def test_a_broken_results_file_is_named() -> None:
    source = document(
        name="t/sessions/agent.log", text=LOG, beside={mini_swe_agent.RESULTS: '{"task_id": 3}'}
    )
    (found,) = findings(mini_swe_agent.convert, source)
    assert isinstance(found, Broken)
    assert found.place == "results.json"
