"""`sidecar answer extract`: a final answer out of files."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sidecar.adapters import answer_file
from sidecar.cli import main

KEYS = ["answer", "source", "rule", "message_index", "offset"]


def extracted(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(main, ["answer", "extract", *arguments], input=stdin)


def written(path: Path, content: str) -> str:
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    return str(path)


def test_a_text_gives_one_object_with_its_answer(tmp_path: Path) -> None:
    shown = extracted(
        "--format", "json", written(tmp_path / "a.txt", "so\r**FINAL_ANSWER:** Z\u00fc")
    )

    assert shown.exit_code == 0
    assert shown.stdout == (
        '{"answer": "Z\u00fc", "source": "TEXT", "rule": "same_line", '
        '"message_index": null, "offset": 21}\n'
    )


def test_a_history_names_its_message() -> None:
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "FINAL_ANSWER: 1"},
    ]
    shown = extracted("--format", "json", "-", stdin="\ufeff " + json.dumps(messages))

    assert json.loads(shown.stdout) == dict(
        zip(KEYS, ["1", "HISTORY", "same_line", 1, 14], strict=True)
    )


def test_a_request_to_an_api_has_its_history_under_messages() -> None:
    request = {"model": "m", "messages": [{"role": "assistant", "content": "FINAL_ANSWER: 1"}]}
    shown = extracted("--format", "json", "-", stdin=json.dumps(request))

    assert (json.loads(shown.stdout)["answer"], json.loads(shown.stdout)["source"]) == (
        "1",
        "HISTORY",
    )


USER = {"role": "user", "content": "q"}
ANSWERED = {"role": "assistant", "content": [{"type": "text", "text": "FINAL_ANSWER: 1"}]}
TOOL = {"role": "tool", "content": 'A 5" nail. FINAL_ANSWER: Wrong'}


@pytest.mark.parametrize(
    ("why", "objects"),
    [
        ("one message", [ANSWERED]),
        ("JSON Lines of messages", [USER, ANSWERED, TOOL]),
        (
            "lines that have a message each",
            [{"type": "user", "message": each} for each in (USER, ANSWERED)],
        ),
        (
            "a response of Chat Completions",
            [{"id": "c", "choices": [{"index": 0, "message": ANSWERED}]}],
        ),
        (
            "a response of the Responses API",
            [{"object": "response", "output": [{"type": "reasoning"}, ANSWERED]}],
        ),
        (
            "a response that is a message",
            [{"id": "m", "type": "message", "model": "m", **ANSWERED}],
        ),
    ],
)
def test_objects_are_read_as_the_messages_that_they_are(
    why: str, objects: list[dict[str, object]]
) -> None:
    shown = extracted("--format", "json", "-", stdin="\n".join(map(json.dumps, objects)) + "\n")
    told = json.loads(shown.stdout)

    assert (told["answer"], told["source"]) == ("1", "HISTORY"), why


def test_what_others_said_in_json_lines_is_no_answer() -> None:
    lines = [USER, TOOL, {"role": "assistant", "content": "still looking"}]
    shown = extracted("--format", "json", "-", stdin="\n".join(map(json.dumps, lines)))

    assert json.loads(shown.stdout)["source"] == "NONE"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"tool": "FINAL_ANSWER: x"}', "object 1 of its JSON is no message; expected a text, or"),
        (json.dumps(USER) + '\n{"a": 1}', "object 2 of its JSON is no message; expected a text"),
        (json.dumps(USER) + "\n[1]", "object 2 of its JSON is no message; expected a text, or"),
        ('{"messages": [1]}', "object 1 of its JSON is no message; expected a text, or messages"),
        ('{"choices": [{"text": "x"}]}', "object 1 of its JSON is no message; expected a text"),
        (json.dumps(USER) + '\n{"role": "assi', "JSON that cannot be read (Unterminated string"),
        ('{"a":' * 100_000, "JSON that cannot be read (nested too deep); expected a text, or"),
        ('{"a": 1' + "1" * 5_000 + "}", "JSON that cannot be read (Exceeds the limit"),
        ("[1, 2]", "item 1 of its JSON array is no message; expected a text, or messages"),
        ('[{"role": "user"}, {"role": 7}]', "item 2 of its JSON array is no message; expected"),
        ('[{"content": "FINAL_ANSWER: x"}]', "item 1 of its JSON array is no message; expected"),
        ('[{"role": "user", ', "a JSON array that cannot be read (Expecting property name"),
        ('[{"a":' * 100_000, "a JSON array that cannot be read (nested too deep); expected"),
        ('[{"a": 1' + "1" * 5_000 + "}]", "a JSON array that cannot be read (Exceeds the limit"),
    ],
)
def test_json_that_holds_no_messages_is_refused_in_one_line(content: str, problem: str) -> None:
    shown = extracted("-", stdin=content)

    assert shown.exit_code == 1
    assert shown.stdout == ""
    assert shown.stderr.startswith(f"-: {problem}")
    assert shown.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "content", ["", "nothing", "[]", "[1] it is, [2] says", '{"role": "user"}']
)
def test_no_answer_is_no_failure(content: str) -> None:
    shown = extracted("--format", "json", "-", stdin=content)

    assert shown.exit_code == 0
    assert json.loads(shown.stdout) == dict(
        zip(KEYS, [None, "NONE", None, None, None], strict=True)
    )


@pytest.mark.parametrize("begins", ["[note]", "{note}", "{}", "{"])
def test_a_text_may_begin_with_a_bracket(begins: str) -> None:
    shown = extracted("--format", "json", "-", stdin=f"{begins} FINAL_ANSWER: 5")

    assert json.loads(shown.stdout)["answer"] == "5"


def test_many_files_give_a_line_each_and_a_bad_one_stops_none(tmp_path: Path) -> None:
    first = written(tmp_path / "1.txt", "FINAL_ANSWER: 1")
    bad = written(tmp_path / "bad.json", "[1, 2]")
    gone = str(tmp_path / "gone.txt")
    last = written(tmp_path / "last.txt", "nothing")
    shown = extracted("--format", "json", first, bad, gone, str(tmp_path), last)
    lines = [json.loads(line) for line in shown.stdout.splitlines()]

    assert shown.exit_code == 1
    assert [(line["file"], line["answer"]) for line in lines] == [(first, "1"), (last, None)]
    assert [list(line) for line in lines] == [["file", *KEYS]] * 2
    assert [line.split(": ")[0] for line in shown.stderr.splitlines()] == [bad, gone, str(tmp_path)]


def test_what_is_not_utf_8_is_refused_with_its_place() -> None:
    shown = extracted("-", stdin=b"FINAL_ANSWER: \xff")

    assert shown.exit_code == 1
    assert shown.stderr.startswith("-: not UTF-8 at byte 14; expected a text, or messages")


def test_a_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_file, "FILE_BYTES_MAX", 20)
    most = written(tmp_path / "most.txt", "FINAL_ANSWER: 123456")
    more = written(tmp_path / "more.txt", "FINAL_ANSWER: 1234567")

    assert extracted(most).exit_code == 0
    shown = extracted(more)
    assert shown.exit_code == 1
    assert shown.stderr == f"{more}: longer than 20 bytes\n"


def test_the_table_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    text = written(tmp_path / "a\x1b.txt", "FINAL_ANSWER: a\x1b[31m\u6771")
    name = text.replace("\x1b", "\\x1b")
    none = written(tmp_path / "b.txt", "nothing")
    shown = extracted(text, none)

    assert shown.stdout == (
        f"{name}  TEXT  offset 14, same_line:  a\\x1b[31m\u6771\n{none}  NONE\n"
    )


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_lone_surrogate_is_written_as_json_does(form: str) -> None:
    history = '[{"role": "assistant", "content": "FINAL_ANSWER: \\ud800"}]'
    shown = extracted("--format", form, "-", stdin=history)

    assert shown.exit_code == 0
    assert "\\ud800" in shown.stdout


def test_the_form_is_that_of_the_policy(tmp_path: Path) -> None:
    config = written(tmp_path / "c.yaml", "policies:\n  mine: {answer_form: 'ANSWER: <it>'}\n")
    text = written(tmp_path / "a.txt", "FINAL_ANSWER: 1\nANSWER: 2")

    def answer(*arguments: str) -> str:
        shown = extracted("--format", "json", "--config", config, *arguments, text)
        return str(json.loads(shown.stdout)["answer"])

    assert answer() == "1"
    assert answer("--policy", "mine") == "2"


def test_an_object_may_be_an_answer_where_its_form_is_one(tmp_path: Path) -> None:
    form = json.dumps({"policies": {"mine": {"answer_form": '{"answer": "<it>"}'}}})
    mine = ("--config", written(tmp_path / "c.yaml", form), "--policy", "mine", "--format", "json")
    lines = "\n".join(map(json.dumps, [TOOL, {"role": "assistant", "content": '{"answer": "1"}'}]))

    assert json.loads(extracted(*mine, "-", stdin='{"answer": "1"}').stdout)["answer"] == "1"
    assert json.loads(extracted(*mine, "-", stdin=lines).stdout)["source"] == "HISTORY"


@pytest.mark.parametrize("arguments", [[], ["--policy", "none", "-"], ["--format", "xml", "-"]])
def test_a_wrong_command_line_is_refused(arguments: list[str]) -> None:
    assert extracted(*arguments).exit_code == 2
