"""What the logs in MAST become. The excerpts are made up in the form of each system."""

import json
from typing import Any

import pytest

from sidecar.datasets.formats import mast
from sidecar.datasets.moves import Broken
from tests.datasets.telling import document, findings, only, skipped, told


def row(system: str, trace: Any, **fields: Any) -> dict[str, Any]:
    """A row of the dataset."""
    return {
        "mas_name": system,
        "llm_name": "GPT-4o",
        "benchmark_name": "Dev",
        "trace_id": 3,
        "trace": trace,
        **fields,
    }


CHATDEV = """\
[2025-31-03 19:09:41 INFO] **[Preprocessing]**
**task_prompt**: a game
[2025-31-03 19:09:42 INFO] System: **[RolePlaying]** ...
[2025-31-03 19:09:43 INFO] Programmer: **Programmer<->Reviewer on : Review, turn 0**

Please review
[2025-31-03 19:09:44 INFO] HTTP Request: POST https://api.test "HTTP/1.1 200 OK"
[2025-31-03 19:09:45 INFO] Code Reviewer: **Programmer<->Reviewer on : Review, turn 1**

Finished
"""

METAGPT = """\
[2025-01-17 10:00:00] FROM: Human TO: {'<all>'}
ACTION: UserRequirement
CONTENT:
Write a game
--------------------------------------------------------------------------------
[2025-01-17 10:00:05] NEW MESSAGES:

SimpleCoder:
print(1)
--------------------------------------------------------------------------------
[2025-01-17 10:00:09] NEW MESSAGES:

SimpleTester:
assert True
"""

METAGPT_ENVELOPE = json.dumps(
    {
        "prompt": "Write a game",
        "content": "2025 | INFO | metagpt.role:_act:391 - Alice(SimpleCoder): to do Write(x)\n"
        "print(1)\n2025 | INFO | metagpt.role:_act:391 - Bob(SimpleTester): to do Test(x)\n"
        "assert True\n",
    }
)

HYPERAGENT = json.dumps(
    {
        "problem_statement": ["Fix it"],
        "trajectory": [
            "HyperAgent_a__b-1 - INFO - Initialized tools",
            "HyperAgent_a__b-1 - INFO - Planner's Response: Look",
            "for it",
            "HyperAgent_a__b-1 - INFO - Inner-Navigator-Assistant's Response: I look",
            "HyperAgent_a__b-1 - INFO - Navigator->Planner: found a.py",
        ],
    }
)

APPWORLD = """\
******************** Task 1/1 (x) ********************
Play a song
    Response from Supervisor Agent
    print(apis.search())
    Code Execution Output
    ['one']
    Entering Spotify Agent message loop
        Response from Spotify Agent
        print(2)
"""

OPENMANUS = """\
2025-04-01 10:00:00.123 | INFO     | app.agent.base:run:140 - Executing step 1/20
2025-04-01 10:00:01.123 | INFO     | app.agent.toolcall:think:81 - \u2728 Manus's thoughts: Search
2025-04-01 10:00:02.123 | INFO     | app.agent.toolcall:act:150 - \U0001f3af Tool 'web_search' \
completed its mission! Result: nothing
found
2025-04-01 10:00:03.123 | INFO     | app.agent.toolcall:think:81 - \u2728 Manus's thoughts: Stop
"""

MAGENTIC = """\
pip install done
SCENARIO.PY STARTING !#!#
---------- user ----------
Where is it?
---------- MagenticOneOrchestrator ----------
Look it up
---------- WebSurfer ----------
I typed 'it'.

A page
---------- TextMessage (MagenticOneOrchestrator) ----------
FINAL ANSWER: here
SCENARIO.PY COMPLETE !#!#
"""

AG2 = json.dumps(
    {
        "problem_statement": ["2+2"],
        "trajectory": [
            {"content": "2+2?", "role": "assistant", "name": "proxy"},
            "a note",
            {"content": ["Let us", "add"], "role": "user", "name": "assistant"},
            {"content": "4", "role": "assistant", "name": "proxy"},
        ],
    }
)


@pytest.mark.parametrize(
    ("system", "trace", "turns"),
    [
        (
            "ChatDev",
            {"key": "k", "index": 0, "trajectory": CHATDEV},
            ["'Please review'", "'Finished'"],
        ),
        ("MetaGPT", METAGPT, ["'print(1)'", "'assert True'"]),
        ("MetaGPT", METAGPT_ENVELOPE, ["'print(1)'", "'assert True'"]),
        (
            "HyperAgent",
            HYPERAGENT,
            ["'Look\\nfor it'", "'I look' run(said='I look') = ok 'found a.py'"],
        ),
        (
            "AppWorld",
            APPWORLD,
            [
                "'print(apis.search())' run(said='print(apis.search())') = ok \"['one']\"",
                "'print(2)'",
            ],
        ),
        (
            "OpenManus",
            OPENMANUS,
            ["'Search' web_search(said='Search') = ok 'nothing\\nfound'", "'Stop'"],
        ),
        (
            "Magentic-One",
            MAGENTIC,
            ["'Look it up' WebSurfer(action=\"I typed 'it'.\") = ok 'A page'"],
        ),
        ("AG2", AG2, ["user> 'Let us\\nadd'", "'4'"]),
    ],
)
def test_each_system_is_read_by_the_lines_that_it_begins_a_turn_with(
    system: str, trace: Any, turns: list[str]
) -> None:
    run = only(mast.convert, document(row(system, trace, mast_annotation={"1.3": 1})))
    assert run.session_id.startswith("mast-")
    assert (run.solved, run.facts) == (None, {"mast": {"1.3": 1}})
    assert told(run) == turns


@pytest.mark.parametrize("system", ["ChatDev", "a new system"])
def test_a_log_without_known_turns_is_passed_over_and_counted(system: str) -> None:
    found = findings(mast.convert, document(row(system, "nothing known")))
    assert skipped(found) == {f"trace of {system} without known turns": 1}


def test_a_file_of_a_chat_says_whether_it_was_solved_and_what_went_wrong() -> None:
    file = json.loads(AG2) | {
        "instance_id": "02da-9c",
        "other_data": {"correct": True, "answer": "None"},
        "note": {"text": ["Fine."], "options": {"Step repetition": "no"}},
    }
    run = only(mast.convert, document(file))
    assert (run.session_id, run.agent) == ("mast-AG2-02da-9c", "mast-AG2")
    assert (run.task, run.solved) == ("02da-9c", True)
    assert run.facts == {"mast": {"Step repetition": "no"}}
    assert told(run) == ["user> 'Let us\\nadd'", "'4'"]


@pytest.mark.parametrize(
    ("file", "name", "turns"),
    [
        (json.loads(HYPERAGENT) | {"instance_id": "a__b-1"}, "mast-HyperAgent-a-b-1", 2),
        (json.loads(METAGPT_ENVELOPE) | {"run_id": 8}, "mast-MetaGPT-8", 2),
    ],
)
def test_the_system_of_a_file_is_the_one_that_logs_like_this(
    file: dict[str, Any], name: str, turns: int
) -> None:
    run = only(mast.convert, document(file))
    assert run.session_id == name
    assert len(told(run)) == turns


def test_a_file_of_an_unknown_log_is_passed_over() -> None:
    found = findings(mast.convert, document({"run_id": 1, "content": "nothing known"}))
    assert skipped(found) == {"trace of an unknown system without known turns": 1}


@pytest.mark.parametrize("value", [[], {"run_id": "x"}, {"instance_id": "a"}, {"mas_name": "AG2"}])
def test_another_record_is_broken_and_says_what_would_be_right(value: Any) -> None:
    (found,) = findings(mast.convert, document(value))
    assert isinstance(found, Broken)
    assert "a row of MAST" in found.problem
