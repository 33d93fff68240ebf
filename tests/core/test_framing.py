"""What a tool puts around what was printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.digests.framing import LINES_MAX, Framed, framed

OPENHANDS = (
    "\n[The command completed with exit code 2.]\n[Current working directory: /workspace/django]\n"
    "[Python interpreter: /openhands/poetry/bin/python]\n[Command finished with exit code 2]"
)


@pytest.mark.parametrize(
    ("text", "printed", "exit_code"),
    [
        ("3 passed\n", "3 passed", None),
        ("Exit code: 0\nWall time: 0.4 seconds\nOutput:\na\nb\n", "a\nb", 0),
        ("<returncode>1</returncode>\n<output>\na\n\nb\n</output>", "a\n\nb", 1),
        (f"a{OPENHANDS}", "a", 2),
        (OPENHANDS, "", 2),
        ("a\nStderr: (empty)\nError: (none)\nExit Code: -9\nSignal: (none)", "a", -9),
        ("exitcode: 0 (execution succeeded)\nCode output: \n3", "3", 0),
        ("(exit 1)", "", 1),
        ('{"output":"a\\nb","metadata":{"exit_code":3,"duration_seconds":0.1}}', "a\nb", 3),
        ('{"stdout": "a", "stderr": " b ", "returncode": 1}', "a\nb", 1),
        ('{"output": "", "metadata": {"exit_code": 0}}', "", 0),
        ('{"output": "a"}', "a", None),
        ("```json\n{}\n```", "{}", None),
        ("<result>\na\n</result>", "a", None),
        ("Observation: a", "a", None),
        ("Tool result:\na", "a", None),
        ("exitcode: 0 (execution succeeded)\nCode output: a", "a", 0),
        ("a\nFinished in 2.95s", "a", None),
        ("a\n(took 120 ms)", "a", None),
        ("[2026-10-02T12:01:00Z]\na", "a", None),
        ("a\n<system-reminder>Be\nbrief.</system-reminder>", "a", None),
        ("content='a\\nb' name='ls' tool_call_id='1'", "a\nb", None),
        ('{"content": [{"type": "text", "text": "a"}, {"text": "b"}]}', "a\nb", None),
        ('{"content": [{"type": "text", "text": "a"}], "isError": true}', "a", 1),
        ('{"role": "tool", "tool_call_id": "1", "content": "a"}', "a", None),
        ('{"success": false, "result": "a", "error": null}', "a", 1),
        ('{"result": "Exit code: 2\\na"}', "a", 2),
        ('{"llmContent": "a", "returnDisplay": "b"}', "a", None),
        ('[{"type": "text", "text": "a"}]', "a", None),
        ("\ufeffa", "a", None),
        ("<tool_use_error>\na\n</tool_use_error>", "a", 1),
        ("<error>\n</error>", "", None),
        ("<stdout>a</stdout><stderr></stderr><exit_code>3</exit_code>", "a", 3),
        ("<tool_response>\na\n</tool_response>", "a", None),
        ("<function_results>\n<tool_name>ls</tool_name>\na\n</function_results>", "a", None),
        ("Directory: (root)\nStdout: a\nStderr: (empty)\nExit Code: (none)", "a", None),
        ("a\n\n(Open file: n/a)\n(Current directory: /repo)\nbash-$", "a", None),
        ("[execute_command for 'ls'] Result:\nCommand executed.\nOutput:\na", "a", None),
        ("Exit code: 0\n\nCommand output:\n\n```\na\n```", "a", 0),
        ("a\nrequest id: 0f8c2a9e-1111-2222-3333-444455556666", "a", None),
    ],
)
def test_a_result_is_taken_apart(text: str, printed: str, exit_code: int | None) -> None:
    assert framed(text) == Framed(printed=printed, exit_code=exit_code)


@pytest.mark.parametrize(
    "text",
    [
        "Exit code: 1 is what it ends with",
        "a\nOutput: none\nb",
        '{"rows": [1], "stdout_path": "a"}',
        '{"output": " "}',
        '{"output": ["a"], "exit_code": 1}',
        '{"output": broken',
        '["output"]',
        "Finished in 2.95s",
        "2.95",
        '{"content": "a", "path": "b"}',
        '{"content": [{"type": "image", "data": "a"}]}',
        '{"result": "a", "text": "b"}',
        '{"result": "a", "error": "b"}',
        '{"result": 3}',
        '{"text": broken',
        '[{"text": "a"}]',
        '[{"type": "image"}, {"text": "a"}]',
        "<stdout>a</stdout> and b",
        "session: 3",
    ],
)
def test_what_only_looks_like_a_frame_was_printed(text: str) -> None:
    assert framed(text) == Framed(printed=text, exit_code=None)


def test_a_frame_has_an_end() -> None:
    printed = framed("Output:\n" * (LINES_MAX + 2) + "a").printed
    assert printed == "Output:\nOutput:\na"


@given(st.text(alphabet="Output: exitcd012\n<>/[]{}\"'") | st.text())
def test_nothing_is_added_to_what_was_printed(text: str) -> None:
    assert framed(text).printed in text or text.strip().startswith("{")
