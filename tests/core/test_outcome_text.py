"""Whether a result tells that its call failed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.outcome_text import TEXT_MAX, says_failed

OPENHANDS = "\n[The command completed with exit code {code}.]\n[Current working directory: /w]"
GEMINI = "Command: make\nStdout: (empty)\nStderr: {said}\nExit Code: {code}\nSignal: (none)"
TRACEBACK = (
    "3 rows\nTraceback (most recent call last):\n"
    '  File "a.py", line 3, in <module>\nValueError: no such row'
)


@pytest.mark.parametrize(
    "text",
    [
        "Error: user not found",
        "Error: No such file or directory",
        "error: pathspec 'x' did not match any file(s) known to git",
        "error[E0308]: mismatched types",
        "fatal: not a git repository",
        "fatal error: too many open files",
        "panic: runtime error: index out of range",
        "ValueError: could not convert string to float: 'a'",
        "requests.exceptions.ConnectionError: refused",
        'Exception in thread "main": java.lang.NullPointerException',
        "Error executing tool search: timed out",
        "An error occurred (AccessDenied) when calling the ListBuckets operation",
        "Tool execution failed: timeout",
        "Command failed with exit code 2: npm test",
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
        "Exit code: 2\nWall time: 0.4 seconds\nOutput:\nmake: *** [all] Error 2",
        "<returncode>1</returncode>\n<output>\n1 failed\n</output>",
        "1 failed, 3 passed" + OPENHANDS.format(code=1),
        GEMINI.format(said="missing separator", code=2),
        TRACEBACK,
        "Traceback (most recent call last):\n  ...",
        '{"error": "not found"}',
        '{"error": {"code": 404, "message": "no such order"}, "status": 404}',
        '{"isError": true, "content": [{"type": "text", "text": "x"}]}',
        '{"success": false, "reason": "closed"}',
        '{"ok": false, "error": "channel_not_found"}',
        '{"output": "1 failed", "metadata": {"exit_code": 1, "duration_seconds": 0.2}}',
        '{"stdout": "", "stderr": "no", "returncode": 127}',
    ],
)
def test_a_result_that_says_so_as_a_whole_failed(text: str) -> None:
    assert says_failed(text)
    assert says_failed(f"  {text}\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42 passed",
        "Error: 0",
        "error: none",
        "Error: no errors.\nall is well",
        "Errors: 3",
        "Error rate: 3 %",
        "Error handling: see chapter 4",
        "errors are listed in errors.log",
        "2026-11-22 10:00:01 ERROR: pool exhausted\n2026-11-22 10:00:02 ERROR: pool exhausted",
        "src/app.py:12: raise ValueError('x')",
        "found 3 files\nError: is a word in one of them",
        "exit code: 0",
        "Exit code: 1\nWall time: 0.1 seconds\nOutput:\n",
        "<returncode>0</returncode>\n<output>\nError: printed by a test that passed\n</output>",
        "<returncode>1</returncode>\n<output>\n</output>",
        "done" + OPENHANDS.format(code=0),
        OPENHANDS.format(code=1).strip(),
        GEMINI.format(said="(empty)", code=0),
        '{"error": null, "rows": []}',
        '{"error": "", "rows": []}',
        '{"success": true}',
        '{"id": 7, "state": "failed", "error": "OOM", "name": "a", "owner": "b", "at": 1}',
        '{"output": "", "metadata": {"exit_code": 1, "duration_seconds": 0.2}}',
        '{"output": "ok", "metadata": {"exit_code": 0}}',
        '{"exit_code": true}',
        '{"error": broken}',
        '[{"error": "one of many"}]',
        f"Error: {'x' * TEXT_MAX}",
    ],
)
def test_an_error_that_is_content_is_none(text: str) -> None:
    assert not says_failed(text)


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert isinstance(says_failed(text), bool)


def test_nesting_without_end_is_no_failure() -> None:
    assert not says_failed('{"error": ' + "[" * 4_000 + "}")
