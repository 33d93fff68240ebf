"""`sidecar conformance` as a command."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sidecar.cli.conformance import command

DRIVER = f"{shlex.quote(sys.executable)} -m sidecar.conformance.python_driver"
MUTANT = f"{shlex.quote(sys.executable)} -m tests.conformance.mutant"
RUN = "a run from open to close"


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_the_list_names_cases_and_plays_none() -> None:
    result = ran("--list")

    assert result.exit_code == 0
    assert f"protocol: {RUN}" in result.output.splitlines()
    assert not any(line.startswith("server: ") for line in result.output.splitlines())


def test_the_cases_are_listed_as_json_too() -> None:
    listed = json.loads(ran("--list", "--format", "json", "--only", "faults").stdout)["cases"]

    assert {case["table"] for case in listed} == {"faults"}
    assert all(case["name"] and case["about"] and case["rules"] for case in listed)


def test_the_list_for_a_server_has_its_cases() -> None:
    result = ran("--list", "--server", "unix:/nowhere")

    assert result.exit_code == 0
    assert all(line.startswith("server: ") for line in result.output.splitlines())


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--only", "no case has this name", "--list"),
        ("--client", "x", "--server", "unix:/x"),
        ("--client", "/no/such/command"),
        ("--client", "'no end of this"),
        ("--client", " "),
        ("--server", "not an address"),
        ("--runs", "0", "--list"),
        ("--format", "xml", "--list"),
        ("--server", "unix:/x", "--root-certificates", "/no/such/file"),
        ("--server", "unix:/x", "--certificate", __file__, "--private-key", __file__),
        ("--server", "unix:/x", "--root-certificates", __file__, "--certificate", __file__),
    ],
)
def test_bad_use_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    result = ran(*arguments)

    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_a_service_that_is_not_there_is_exit_code_2_with_what_grpc_says(tmp_path: Path) -> None:
    result = ran("--server", f"unix:{tmp_path}/none")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"sidecar: unix:{tmp_path}/none: failed to connect")


def test_a_program_that_is_not_there_is_named() -> None:
    result = ran("--client", "/no/such/command")

    assert result.stderr == "sidecar: /no/such/command: No such file or directory\n"


@pytest.mark.process
def test_a_client_that_passes_is_exit_code_0_and_a_line_a_case() -> None:
    result = ran("--client", DRIVER, "--only", RUN, "--runs", "2")

    assert result.exit_code == 0
    assert result.output.count(f"passed  protocol: {RUN}") == 2
    assert result.output.splitlines()[-1].startswith("2 passed, 0 failed")


@pytest.mark.process
def test_a_client_that_fails_is_exit_code_1_and_told_why() -> None:
    result = ran("--client", f"{MUTANT} die", "--only", RUN)

    assert result.exit_code == 1
    assert f"FAILED  protocol: {RUN}" in result.output
    assert "the driver has ended" in result.output
    assert "      | last words" in result.output


@pytest.mark.process
def test_the_report_in_json_has_every_case() -> None:
    result = ran("--client", f"{MUTANT} lie_of_a_kind", "--only", RUN, "--format", "json")
    report = json.loads(result.stdout)

    assert (result.exit_code, report["passed"], report["failed"]) == (1, 0, 1)
    (case,) = report["cases"]
    assert case["name"] == RUN and case["passed"] is False
    assert "expected 'rotate', came 'proceed'" in case["fault"]
    assert json.loads(case["step"])["directive"]["kind"] == "rotate"


@pytest.mark.process
def test_half_a_surrogate_in_a_driver_s_error_is_told_as_an_escape() -> None:
    script = r"""input(); print(r'{"error": "\ud800 no"}', flush=True); input()"""
    flags = ("--client", f"{shlex.quote(sys.executable)} -c {shlex.quote(script)}", "--only", RUN)
    told, report = ran(*flags), json.loads(ran(*flags, "--format", "json").stdout)

    assert told.exit_code == 1
    assert r"    the driver cannot do it: \ud800 no" in told.output.splitlines()
    assert report["cases"][0]["fault"] == "the driver cannot do it: \ud800 no"


@pytest.mark.process
def test_a_number_beyond_all_floats_is_the_driver_s_fault() -> None:
    script = (
        """input(); print('{"ok": true, "elapsed_ms": 1%s}' % (400 * '0'), flush=True); input()"""
    )
    result = ran(
        "--client", f"{shlex.quote(sys.executable)} -c {shlex.quote(script)}", "--only", RUN
    )

    assert result.exit_code == 1
    assert "elapsed_ms is milliseconds, 0 or more, not 1000" in result.output


def test_the_tables_are_part_of_the_package() -> None:
    """An installed package has no proto/ beside it."""
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()

    assert '"proto/conformance" = "sidecar/conformance/tables"' in project


@pytest.mark.process
def test_after_three_cases_without_one_reply_the_rest_is_not_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sidecar.conformance.client_play.REPLIES_WITHIN_S", 0.1)
    reads_on = f"{shlex.quote(sys.executable)} -c 'import sys; sys.stdin.read()'"
    flags = ("--client", reads_on, "--only", RUN, "--runs", "5", "--jobs", "1")
    told, report = ran(*flags), json.loads(ran(*flags, "--format", "json").stdout)
    lines = told.output.splitlines()

    assert told.exit_code == 1
    assert lines[-4:-2] == [f"not played  protocol: {RUN}"] * 2
    assert lines[-2].startswith("0 passed, 3 failed in ")
    assert lines[-1] == "2 not played: in 3 cases in a row the driver answered nothing"
    assert (report["passed"], report["failed"], report["not_played"]) == (0, 3, 2)
    assert [case["played"] for case in report["cases"]] == [True] * 3 + [False] * 2


@pytest.mark.process
def test_a_driver_that_answers_and_then_falls_silent_is_held_to_every_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sidecar.conformance.client_play.REPLIES_WITHIN_S", 30.0)
    once = "import sys; input(); print(chr(123) + chr(125), flush=True); sys.stdin.read()"
    falls_silent = f"{shlex.quote(sys.executable)} -c '{once}'"
    result = ran("--client", falls_silent, "--only", RUN, "--runs", "4", "--jobs", "2")

    assert "not played" not in result.output
    assert result.output.splitlines()[-1].startswith("0 passed, 4 failed in ")
