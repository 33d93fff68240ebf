"""What the transcripts of coding agents become. The excerpts are made up in each format."""

from typing import Any

import pytest

from sidecar.datasets.formats import claude_code, codex, gemini
from sidecar.datasets.moves import Broken
from tests.datasets.telling import document, findings, only, skipped, told, usage


def _claude(kind: str, content: Any, second: int = 0, **fields: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **fields.pop("message", {})}
    return {
        "type": kind,
        "sessionId": "5d0c",
        "uuid": f"{kind}-{second}",
        "timestamp": f"2026-01-01T00:00:{second:02}.500Z",
        "message": message,
        **fields,
    }


def _answer(id_: str, *content: Any, second: int, output: int = 5, **fields: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 4,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 9_000,
        "output_tokens": output,
    }
    message = {"id": id_, "model": "claude-opus", "usage": usage}
    return _claude("assistant", list(content), second, message=message, **fields)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _use(id_: str, name: str, **input_: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": input_}


def _result(id_: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **fields}


CLAUDE = [
    {"type": "summary", "summary": "Fixing", "leafUuid": "x"},
    _claude("user", "Fix the build", 1),
    _answer("m1", {"type": "thinking", "thinking": "..."}, second=2, output=1),
    _answer("m1", _text("I'll look"), second=3, output=2),
    _answer("m1", _use("t1", "Bash", command="make"), second=4, output=60),
    _claude("user", [_result("t1", "Exit code 2\nmake: failed", is_error=True)], 5),
    _answer("m1", _use("t2", "Read", path="Makefile"), second=6, output=90),
    _claude("user", [_result("t2", [_text("all:"), {"type": "image"}])], 7),
    {"type": "system", "subtype": "compact_boundary", "uuid": "s"},
    _claude("user", "Caveat: local commands", 8, isMeta=True),
    _answer("m2", _use("t3", "Edit", path="Makefile"), second=9),
    _claude(
        "user",
        [_result("t3", "The user doesn't want to proceed with this tool use.", is_error=True)],
        10,
    ),
    _claude("user", [_text("[Request interrupted by user]")], 11),
    _answer("m3", _text("What now?"), second=12),
]


def test_the_lines_of_one_answer_of_claude_code_are_one_turn() -> None:
    run = only(claude_code.convert, document(*CLAUDE, name="5d0c.jsonl"))
    assert (run.session_id, run.model, run.solved) == ("5d0c", "claude-opus", None)
    assert told(run) == [
        (
            "user> \"I'll look\" Bash(command='make') = error 'Exit code 2\\nmake: failed' "
            "Read(path='Makefile') = ok 'all:\\n[image]'"
        ),
        (
            "'' Edit(path='Makefile') = denied "
            '"The user doesn\'t want to proceed with this tool use."'
        ),
        "user> 'What now?'",
    ]


def test_cached_tokens_of_claude_code_are_added_to_its_input_once_an_answer() -> None:
    run = only(claude_code.convert, document(*CLAUDE))
    assert usage(run, 1) == {
        "input_tokens": 9_104,
        "output_tokens": 90,
        "cache_read_input_tokens": 9_000,
        "cache_write_input_tokens": 100,
        "context_tokens": 9_194,
    }


def test_lines_of_claude_code_that_say_nothing_of_turns_are_counted_by_kind() -> None:
    found = findings(claude_code.convert, document(*CLAUDE, CLAUDE[1], "no object", {"no": "type"}))
    assert skipped(found) == {
        "summary": 1,
        "system": 1,
        "line seen before": 1,
        "line without a type": 2,
    }


def test_a_subagent_within_a_transcript_is_an_actor_and_its_task_is_no_persons_word() -> None:
    lines = [
        _claude("user", "Go", 1),
        _answer("m1", _use("t1", "Task", prompt="Count"), second=2),
        _claude("user", "Count", 3, isSidechain=True, agentId="a7"),
        _answer("m2", _text("Three"), second=4, isSidechain=True, agentId="a7"),
        _claude("user", [_result("t1", "Three")], 5),
    ]
    assert told(only(claude_code.convert, document(*lines))) == [
        "user> '' Task(prompt='Count') = ok 'Three'",
        "[a7] 'Three'",
    ]


def test_a_subagents_own_transcript_is_a_run_of_its_own() -> None:
    lines = [
        _claude("user", "Count", 3, isSidechain=True, agentId="a7"),
        _answer("m2", _text("Three"), second=4, isSidechain=True, agentId="a7"),
    ]
    run = only(claude_code.convert, document(*lines, name="agent-a7.jsonl"))
    assert run.session_id == "agent-a7"
    assert told(run) == ["'Three'"]


def test_an_api_error_of_claude_code_is_a_failure_and_no_turn() -> None:
    said = _claude("assistant", [_text("API Error: 529")], 3, isApiErrorMessage=True)
    run = only(
        claude_code.convert,
        document(_claude("user", "Go"), _answer("m1", _text("a"), second=1), said),
    )
    assert told(run) == ["user> 'a' ! api error: API Error: 529"]


def test_a_server_side_tool_is_answered_within_the_answer() -> None:
    content = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [{"type": "web_search_result", "title": "X", "url": "https://x.test"}],
        },
    ]
    run = only(claude_code.convert, document(_answer("m1", *content, second=1)))
    assert told(run) == ["'' web_search(query='x') = ok 'X https://x.test'"]


def test_a_broken_line_of_claude_code_is_named_and_the_rest_is_kept() -> None:
    broken = _claude("assistant", 7, 20)
    found = findings(claude_code.convert, document(*CLAUDE, broken))
    assert [f.place for f in found if isinstance(f, Broken)] == [str(len(CLAUDE) + 1)]
    assert told(only(claude_code.convert, document(*CLAUDE)))


def _item(type_: str, **payload: Any) -> dict[str, Any]:
    return {
        "timestamp": "2026-01-01T00:00:00Z",
        "type": "response_item",
        "payload": {"type": type_, **payload},
    }


def _said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return _item("message", role=role, content=[{"type": kind, "text": text}])


def _told(type_: str, **payload: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": type_, **payload}}


def _count(total: int, sent: int, answered: int) -> dict[str, Any]:
    last = {
        "input_tokens": sent,
        "cached_input_tokens": 100,
        "output_tokens": answered,
        "total_tokens": sent + answered,
    }
    info = {
        "total_token_usage": {"input_tokens": total},
        "last_token_usage": last,
        "model_context_window": 400_000,
    }
    return _told("token_count", info=info)


META = [
    {"type": "session_meta", "payload": {"id": "0199", "cwd": "/w"}},
    {"type": "turn_context", "payload": {"model": "gpt-5"}},
]
CALL_A = _item("function_call", name="shell", call_id="a", arguments='{"command": ["ls"]}')
CALL_B = _item("function_call", name="shell", call_id="b", arguments='{"command": ["make"]}')
OUT_A = _item(
    "function_call_output", call_id="a", output="Exit code: 0\nWall time: 1 s\nOutput:\na.py"
)
OUT_B = _item(
    "function_call_output",
    call_id="b",
    output='{"output":"make: failed","metadata":{"exit_code":2,"duration_seconds":0.1}}',
)


ROLLOUT = [
    _said("user", "<environment_context>..."),
    _told("user_message", message="Go"),
    _said("user", "Go"),
    _item("reasoning", summary=[]),
    _said("assistant", "I'll look"),
    CALL_A,
    CALL_B,
    _count(500, 500, 20),
    _count(500, 500, 20),
    OUT_A,
    OUT_B,
    _said("assistant", "Done"),
    _count(1_100, 600, 30),
]


def test_a_codex_turn_ends_where_its_tokens_are_counted() -> None:
    lines = [*META, *ROLLOUT]
    run = only(codex.convert, document(*lines, name="rollout-x.jsonl"))
    assert (run.session_id, run.model) == ("0199", "gpt-5")
    assert told(run) == [
        (
            "user> \"I'll look\" shell(command=['ls']) = ok 'a.py' "
            "shell(command=['make']) = error 'make: failed'"
        ),
        "'Done'",
    ]
    assert usage(run, 1) == {
        "input_tokens": 500,
        "output_tokens": 20,
        "cache_read_input_tokens": 100,
        "context_tokens": 520,
        "context_window": 400_000,
    }
    assert usage(run, 2)["input_tokens"] == 600
    kinds = skipped(findings(codex.convert, document(*lines)))
    assert kinds == {"response_item message": 1, "response_item reasoning": 1}


def test_an_early_codex_rollout_counts_before_the_items() -> None:
    lines = [_said("user", "Go"), _count(500, 500, 20), CALL_A, OUT_A, CALL_B, OUT_B]
    lines += [_count(1_100, 600, 30), _said("assistant", "Done")]
    run = only(codex.convert, document(*lines, name="rollout-x.jsonl"))
    assert run.session_id == "rollout-x"
    assert told(run) == [
        (
            "user> '' shell(command=['ls']) = ok 'a.py' "
            "shell(command=['make']) = error 'make: failed'"
        ),
        "'Done'",
    ]
    assert [usage(run, turn)["input_tokens"] for turn in (1, 2)] == [500, 600]


def test_without_counts_an_output_ends_the_answer_of_codex() -> None:
    run = only(codex.convert, document(CALL_A, OUT_A, CALL_B, OUT_B))
    assert len(told(run)) == 2


@pytest.mark.parametrize(
    ("output", "became"),
    [
        ("exec command rejected by user", "denied 'exec command rejected by user'"),
        ("err: no such server", "error 'err: no such server'"),
        (
            (
                "Chunk ID: 7\nWall time: 0.1 seconds\nProcess exited with code 1\n"
                "Original token count: 9\nOutput:\nExit code: 0\nOutput:\n"
            ),
            "error 'Exit code: 0\\nOutput:\\n'",
        ),
        ([{"type": "input_text", "text": "one"}, {"type": "input_image"}], "ok 'one'"),
        ({"content": "no", "success": False}, "error 'no'"),
        ({"content": "hi", "metadata": ["x"]}, "ok 'hi'"),
        ('{"output":"hi","metadata":"none"}', "ok 'hi'"),
        (None, "ok ''"),
    ],
)
def test_the_outputs_of_codex_say_what_became_of_a_call(output: Any, became: str) -> None:
    answered = _item("function_call_output", call_id="a", output=output)
    run = only(codex.convert, document(CALL_A, answered))
    assert told(run) == [f"'' shell(command=['ls']) = {became}"]


def test_codex_calls_that_are_no_functions_are_calls() -> None:
    lines = [
        _item("custom_tool_call", name="apply_patch", call_id="p", input="*** Begin Patch"),
        _item("custom_tool_call_output", call_id="p", output="Success"),
        _item("local_shell_call", call_id="l", action={"command": ["ls"]}),
        _item("web_search_call", id="w", action={"query": "x"}),
        _told("error", message="stream disconnected"),
    ]
    assert told(only(codex.convert, document(*lines))) == [
        "'' apply_patch(input='*** Begin Patch') = ok 'Success'",
        (
            "'' local_shell(command=['ls']) = no answer web_search(query='x') = no answer "
            "! api error: stream disconnected"
        ),
    ]


def _gemini(id_: str, text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    tokens = {"input": 800, "output": 20, "cached": 500, "thoughts": 30, "total": 850}
    return {
        "id": id_,
        "type": "gemini",
        "timestamp": "2026-01-01T00:00:00Z",
        "content": text,
        "model": "gemini-3",
        "tokens": tokens,
        "toolCalls": list(calls),
    }


def _ran(id_: str, status: str, response: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "name": "run_shell_command",
        "args": {"command": id_},
        "status": status,
        "result": [{"functionResponse": {"id": id_, "response": response}}],
        "timestamp": "2026-01-01T00:00:01Z",
    }


GEMINI = [
    {"id": "u1", "type": "user", "content": [{"text": "Go"}]},
    {"id": "i1", "type": "info", "content": "Update available"},
    _gemini(
        "g1",
        "I'll look",
        _ran("ls", "success", {"output": "a.py"}),
        _ran("make", "error", {"error": "failed"}),
        _ran("rm", "cancelled", {"reason": "no"}),
    ),
    {"id": "e1", "type": "error", "content": "quota"},
]
GEMINI_TURNS = [
    (
        "user> \"I'll look\" run_shell_command(command='ls') = ok 'a.py' "
        "run_shell_command(command='make') = error 'failed' "
        "run_shell_command(command='rm') = denied '{\"reason\":\"no\"}' ! api error: quota"
    )
]
HEAD = {"sessionId": "77aa", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"}


def test_a_gemini_session_is_read_whole_and_line_by_line() -> None:
    whole = only(gemini.convert, document({**HEAD, "messages": GEMINI}, name="session-1.json"))
    lines = only(gemini.convert, document(HEAD, *GEMINI, name="session-1.jsonl"))
    assert whole == lines
    assert (whole.session_id, whole.model) == ("77aa", "gemini-3")
    assert told(whole) == GEMINI_TURNS
    assert usage(whole, 1) == {
        "input_tokens": 800,
        "output_tokens": 50,
        "cache_read_input_tokens": 500,
        "context_tokens": 850,
    }


def test_a_command_of_gemini_cli_that_ended_badly_failed_whatever_its_status() -> None:
    bad = {"output": "Output: Exit Code: 0\nExit Code: 2\nProcess Group PGID: 7"}
    reading = {**_ran("read", "success", bad), "name": "read_file"}
    message = _gemini("g1", "", _ran("make", "success", bad), reading)
    (turn,) = told(only(gemini.convert, document(HEAD, message)))
    assert "run_shell_command(command='make') = error" in turn
    assert "read_file(command='read') = ok" in turn


def test_a_gemini_message_may_come_again_be_taken_back_and_be_replaced() -> None:
    lines: list[Any] = [HEAD, GEMINI[0], _gemini("g1", "first"), _gemini("g1", "second")]
    lines += [_gemini("g2", "third"), {"$rewindTo": "g2"}, {"$set": {"summary": "s"}}, 7]
    assert told(only(gemini.convert, document(*lines))) == ["user> 'second'"]
    assert skipped(findings(gemini.convert, document(*lines))) == {"line of an unknown kind": 1}
    replaced = [*lines, {"$set": {"messages": [_gemini("g9", "ninth")]}}]
    assert told(only(gemini.convert, document(*replaced))) == ["'ninth'"]
    gone = [*lines, {"$rewindTo": "unknown"}, _gemini("g3", "last")]
    assert told(only(gemini.convert, document(*gone))) == ["'last'"]


def test_a_command_to_gemini_cli_is_no_word_to_the_agent() -> None:
    lines = [{"id": "u1", "type": "user", "content": "/stats"}, _gemini("g1", "Hi")]
    assert told(only(gemini.convert, document(HEAD, *lines))) == ["'Hi'"]
    assert findings(gemini.convert, document(HEAD, lines[0])) == []
