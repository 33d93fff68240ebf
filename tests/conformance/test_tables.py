"""The tables themselves, and how they are read."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from sidecar.conformance.agent_steps import STEPS as AGENT_STEPS
from sidecar.conformance.client_steps import STEPS
from sidecar.conformance.faults import TableError
from sidecar.conformance.filling import fill
from sidecar.conformance.matching import match
from sidecar.conformance.performing import OF_EITHER_SIDE, REPEAT
from sidecar.conformance.table import Step, cases_of, client_cases, folder, server_cases

RULES = range(1, 20)
STATUSES = [
    "CANCELLED", "UNKNOWN", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
    "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED", "INVALID_ARGUMENT",
]  # fmt: skip
REASONS = [
    "DRAINING", "SEQUENCE_GAP", "SEQUENCE_CONFLICT", "SESSION_NOT_FOUND", "SESSION_CLOSED",
    "SESSION_TAKEN_OVER", "SESSION_STREAMING", "OPEN_REQUIRED", "ALREADY_OPEN", "OPEN_MISMATCH",
    "POLICY_UNKNOWN", "MESSAGE_BYTES_MAX",
]  # fmt: skip


def test_every_rule_of_a_client_has_a_case() -> None:
    shown = {rule for case in client_cases() for rule in case.rules}

    assert shown == set(RULES)


def test_every_rule_of_the_protocol_but_one_has_a_case_for_services() -> None:
    """The fourth is of decisions that a person or time asks for, which no agent can bring about."""
    assert {rule for case in server_cases() for rule in case.rules} == {1, 2, 3, 5, 6, 7, 8}


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("where", ["before opened", "after opened"])
def test_every_status_ends_a_stream_in_some_case(status: str, where: str) -> None:
    names = [case.name for case in client_cases() if case.table == "endings"]

    assert any(name.startswith(f"{status} {where}") for name in names)


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_ends_a_stream_in_some_case(reason: str) -> None:
    endings = "\n".join(f"{case.name} {step}" for case in client_cases() for step in case.steps)

    assert reason in endings


def test_what_only_a_socket_s_path_can_be_is_in_no_case_for_tcp() -> None:
    elsewhere = [case for case in client_cases() if case.transport != "unix"]

    assert [one.name for one in elsewhere if {"stale", "directory"} & _words(one.steps)] == []


def _words(steps: Iterable[Step]) -> set[str]:
    text = "".join(json.dumps(step.argument) for step in steps if step.word in ("listen", "let"))
    return set(re.findall(r"\w+", text))


def test_every_step_is_used_by_a_table_and_described() -> None:
    text = "".join(path.read_text("utf-8") for path in folder().glob("*.jsonl"))
    readme = (folder() / "README.md").read_text("utf-8")
    implied = {"end_of_case", "let"}
    words = {*STEPS, *AGENT_STEPS, *OF_EITHER_SIDE, REPEAT}

    assert [word for word in words - implied if f'"{word}"' not in text] == []
    assert [word for word in words if f"`{word}`" not in readme] == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "Expecting"),
        ("[]", "a case has name"),
        ('{"name": "n"}', "a case has name"),
        ('{"name": "n", "about": "", "rules": [], "steps": [], "more": 1}', "unknown fields"),
        ('{"name": "n", "about": "", "rules": [], "steps": [{"a": 1, "b": 2}]}', "one key each"),
        ('{"name": "n", "about": "", "rules": [], "steps": [], "transport": "udp"}', "unix or tcp"),
        ('{"name": "n", "about": "", "rules": [], "steps": [], "tls": "yes"}', "server or mutual"),
    ],
)
def test_a_line_that_is_no_case_is_refused_with_its_number(
    tmp_path: Path, line: str, fault: str
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f"\n{line}\n")

    with pytest.raises(TableError, match=f"t.jsonl:2: .*{fault}"):
        list(cases_of(path))


def test_two_cases_of_one_name_are_refused(tmp_path: Path) -> None:
    row = json.dumps({"name": "n", "about": "", "rules": [], "steps": []})
    (tmp_path / "t.jsonl").write_text(f"{row}\n{row}\n")

    with pytest.raises(TableError, match="two cases"):
        client_cases(tmp_path)


def test_each_makes_a_case_of_every_row(tmp_path: Path) -> None:
    row = {"name": "n ${a}", "about": "", "rules": [1], "each": [{"a": 1}, {"a": 2}], "steps": []}
    (tmp_path / "t.jsonl").write_text(json.dumps(row))

    assert [case.name for case in client_cases(tmp_path)] == ["n 1", "n 2"]


VARIABLES = {"n": 7, "name": "abcdefghij"}


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("${n}", 7),
        ("${n+3}", 10),
        ("${n-3}", 4),
        ("turn ${n}", "turn 7"),
        ("${name:3}", "abc"),
        ({"${name:1}": ["${n}"]}, {"a": [7]}),
        ({"$repeat": ["x", 3]}, "xxx"),
        ({"$repeat": ["x", "${n}"]}, "xxxxxxx"),
        ({"$repeat": [{"a": "${n}"}, 2]}, [{"a": 7}, {"a": 7}]),
        ("$n", "$n"),
        (None, None),
    ],
)
def test_variables_are_filled_in(value: object, filled: object) -> None:
    assert fill(value, VARIABLES) == filled


def test_a_variable_that_is_not_set_is_a_fault_of_the_table() -> None:
    with pytest.raises(TableError, match="no variable 'other'"):
        fill("${other}", VARIABLES)


@pytest.mark.parametrize(
    ("expected", "came", "fault"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, ""),
        ({"a": 1}, {"a": 2}, "a: expected 1, came 2"),
        ({"a": {"b": [1]}}, {"a": {"b": [2]}}, "a.b[0]: expected 1, came 2"),
        ({"a": 1}, {"a": "1"}, ""),
        ({"a": 1}, {"a": True}, "a: expected 1, came True"),
        ({"a": 0}, {}, ""),
        ({"a": ""}, {}, ""),
        ({"a": []}, {}, ""),
        ({"a": 1}, {}, "a: expected 1, came None"),
        ([1, 2], [1], "it: expected [1, 2], came [1]"),
        ({"$absent": True}, None, ""),
        ({"$absent": False}, None, "it: expected {'$absent': False}, came None"),
        ({"$min": 3}, 2, "it: expected {'$min': 3}, came 2"),
        ({"$max": 3}, 3, ""),
        ({"$one_of": ["a", "b"]}, "b", ""),
        ({"$matches": "a+"}, "aab", "it: expected {'$matches': 'a+'}, came 'aab'"),
        ({"$bytes_max": 2}, "日", "it: expected {'$bytes_max': 2}, came '日'"),
        ({"$includes": [{"a": 1}]}, [{"a": 2}, {"a": 1}], ""),
        ({"$not": "a"}, "b", ""),
        ({"$length": 2}, [1], "it: expected {'$length': 2}, came [1]"),
        ({"$all": [{"$min": 1}, {"$max": 2}]}, 3, "it: expected {'$max': 2}, came 3"),
    ],
)  # fmt: skip
def test_what_came_is_held_against_what_was_expected(
    expected: object, came: object, fault: str
) -> None:
    assert match(expected, came).fault == fault


def test_as_remembers_what_came() -> None:
    assert match({"a": {"$as": "name"}}, {"a": "x"}).bound == {"name": "x"}


def test_an_unknown_condition_is_a_fault_of_the_table() -> None:
    with pytest.raises(TableError, match="no condition"):
        match({"$near": 1}, 1)
