"""JSON that is nested too deeply is named and the rest converted; what is less deep is converted.

Called as the command is, since the depth that a converter takes depends on the stack below it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from sidecar.cli.main import main
from sidecar.datasets.converting import FORMATS
from sidecar.datasets.documents import read_records
from sidecar.datasets.json_text import NESTED_MAX
from sidecar.datasets.moves import Broken, Recording
from sidecar.datasets.turns import fold, run_lines
from sidecar.evaluation.labels import read_labels
from sidecar.evaluation.runs import read_run, run_files
from tests.datasets import test_mast
from tests.datasets.telling import document, only, told
from tests.datasets.test_junk import GOOD, places, spoilt

RECORD_LEVELS = 12
"""More than any record of these has around its deep part."""


def _list(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def _object(levels: int, *names: str) -> Any:
    value: Any = "x"
    for level in range(levels):
        value = {names[level % len(names)]: value}
    return value


def _attribute(levels: int, kind: str) -> Any:
    value: Any = {"stringValue": "x"}
    for _ in range(levels // 4):
        part = {"key": "a", "value": value} if kind == "kvlistValue" else value
        value = {kind: {"values": [part]}}
    return value


def _codex(deep: Any) -> list[Any]:
    call = {"type": "local_shell_call", "call_id": "a", "action": {"deep": deep}}
    return [{"type": "response_item", "payload": call}]


def _claude(deep: Any) -> list[Any]:
    answer = {"type": "assistant", "message": {"id": "m", "content": "Look"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": deep}
    return [answer, {"type": "user", "message": {"content": [result]}}]


def _gemini(deep: Any) -> list[Any]:
    call = {"name": "ls", "id": "c", "result": deep}
    return [{"id": "g", "type": "gemini", "content": "Look", "toolCalls": [call]}]


def _inspect(deep: Any) -> list[Any]:
    call = {"function": "ls", "id": "c", "arguments": {"deep": deep}}
    message = {"role": "assistant", "content": "Look", "tool_calls": [call]}
    return [{"eval": {"task": "t"}, "samples": [{"id": 1, "messages": [message]}]}]


DEEP: dict[str, Callable[[Any], list[Any]]] = {
    "codex": _codex,
    "claude-code": _claude,
    "gemini": _gemini,
    "inspect": _inspect,
}


def _convert(form: str, folder: Path, **files: str) -> Result:
    paths = [folder / f"{name}.{'json' if form == 'inspect' else 'jsonl'}" for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_text(content, encoding="utf-8")
    arguments = ["convert", form, *map(str, paths), "--output", str(folder / "out")]
    return CliRunner().invoke(main, ["datasets", *arguments])


def _lines(values: list[Any]) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


@pytest.mark.parametrize("form", DEEP)
@pytest.mark.parametrize("levels", [700, 950, 2_000])
def test_what_is_nested_too_deeply_is_named_by_line_and_other_files_are_converted(
    tmp_path: Path, form: str, levels: int
) -> None:
    # Written by hand: no JSON writer of Python takes it.
    lines = _lines(DEEP[form]("DEEP")).replace('"DEEP"', "[" * levels + "]" * levels)
    done = _convert(form, tmp_path, deep=lines, good=_lines(DEEP[form]("x")))
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit), done.exception
    assert f":{len(lines.splitlines())}: not JSON: nested too deeply" in done.output
    assert read_labels(tmp_path / "out" / "labels.jsonl")


@pytest.mark.parametrize("form", DEEP)
@pytest.mark.parametrize("levels", [300, 480])
def test_what_is_nested_as_deeply_as_a_converter_takes_is_converted(
    tmp_path: Path, form: str, levels: int
) -> None:
    done = _convert(form, tmp_path, deep=_lines(DEEP[form](_list(levels))))
    assert done.exit_code == 0, done.output
    (path,) = run_files([tmp_path / "out"])
    assert len(read_run(path).turns) == 1


def test_arguments_that_are_a_text_nested_too_deeply_are_kept_as_text(tmp_path: Path) -> None:
    text = "[" * 950 + "]" * 950
    call = {"type": "function_call", "name": "ls", "call_id": "a", "arguments": text}
    done = _convert("codex", tmp_path, deep=_lines([{"type": "response_item", "payload": call}]))
    assert done.exit_code == 0, done.output
    (path,) = run_files([tmp_path / "out"])
    assert read_run(path).turns[0].tool_calls[0].arguments_json == json.dumps(text)


def test_a_record_of_a_list_that_is_nested_too_deeply_is_broken_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    values = [1, _list(NESTED_MAX), _list(NESTED_MAX + 1), _object(NESTED_MAX, "a"), 2]
    path.write_text(json.dumps(values), encoding="utf-8")
    read = read_records(path, {})
    assert read.document is not None
    found = [record.place for record in read.document.records]
    assert found == ["record 1", "record 2", "record 4", "record 5"]
    assert [broken.place for broken in read.broken] == ["record 3"]


@pytest.mark.parametrize("name", GOOD)
def test_no_part_of_a_record_is_an_exception_where_it_is_nested_as_deeply_as_is_read(
    name: str,
) -> None:
    levels = NESTED_MAX - RECORD_LEVELS
    junk = [
        _list(levels),
        _object(levels, "a"),
        _object(levels, "trajectory", "content"),
        _attribute(levels, "arrayValue"),
        _attribute(levels, "kvlistValue"),
        "[" * 950 + "]" * 950,
        '{"a":' * 950 + "1" + "}" * 950,
    ]
    convert = FORMATS[name.partition(",")[0]].convert
    for place in places(GOOD[name]):
        for deep in junk:
            records = _with_deep(spoilt(GOOD[name], place, "DEEP"), deep)
            for finding in convert(document(*records, name="a/b/c/d.json")):
                if isinstance(finding, Recording):
                    list(run_lines(finding, fold(finding), session_id="s"))
                    msgspec.json.encode(finding.facts)


def _with_deep(records: list[Any], deep: Any) -> list[Any]:
    """The records with the deep value for its mark, which may be in a JSON text of theirs."""
    value = json.dumps(deep)
    text = json.dumps(records).replace('"DEEP"', value)
    found: list[Any] = json.loads(text.replace(r"\"DEEP\"", json.dumps(value)[1:-1]))
    return found


def test_messages_in_a_span_that_are_nested_too_deeply_are_none() -> None:
    call = {"type": "tool_call", "name": "ls", "arguments": "DEEP"}
    text = json.dumps([{"role": "assistant", "parts": [call]}])
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": text.replace('"DEEP"', "[" * 950 + "]" * 950),
    }
    named = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    span = {"traceId": "t", "spanId": "s", "attributes": named}
    export = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    assert told(only(FORMATS["otlp"].convert, document(export))) == ["''"]


def test_arguments_of_openhands_that_are_nested_too_deeply_are_kept_as_text() -> None:
    text = '{"a":' * 950 + "1" + "}" * 950
    call = {"name": "ls", "arguments": text}
    event = {"kind": "ActionEvent", "source": "agent", "tool_call": call}
    (turn,) = told(only(FORMATS["openhands"].convert, document(event)))
    assert turn == f"'' ls({text!r}) = no answer"


def test_results_of_a_trial_that_are_nested_too_deeply_are_named() -> None:
    results = '{"a":' * 950 + "1" + "}" * 950
    log = document(text="mini-swe-agent (step 1, $0.01):\nLook\n", beside={"results": results})
    (found,) = FORMATS["mini-swe-agent"].convert(log)
    assert isinstance(found, Broken)
    assert found.place == "results.json"
    assert "nested too deeply" in found.problem


def test_a_trace_of_mast_may_be_wrapped_in_texts_within_texts() -> None:
    trace = test_mast.AG2
    for _ in range(4):
        trace = '{"trajectory":' * NESTED_MAX + json.dumps(trace) + "}" * NESTED_MAX
    convert = FORMATS["mast"].convert
    wrapped, plain = (document(test_mast.row("AG2", text)) for text in (trace, test_mast.AG2))
    assert told(only(convert, wrapped)) == told(only(convert, plain))


@pytest.mark.parametrize(
    "action",
    [
        "{'name': " + "-" * 5_000 + "1}",
        "{'name': " + "[" * 5_000 + "]" * 5_000 + "}",
        "{'name': 'x'" + ".a" * 5_000 + "}",
        "{[]: 1}",
        "{'name': 'ls', 'args': {1, 2}}",
        "{'name': 'ls', 'args': {(1, 2): 3}}",
    ],
)
def test_an_action_of_the_study_that_is_no_value_of_json_is_named(action: str) -> None:
    text = f"Iteration 0: Thought=Look; Action={action}"
    found = FORMATS["llm-agents-study"].convert(document(text=text, name="a/b/c/d"))
    assert [finding.place for finding in found if isinstance(finding, Broken)] == [
        "iteration 0",
        "1",
    ]
