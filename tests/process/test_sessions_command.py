"""`sidecar sessions`: what an operator sees and does from the command line."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from click.testing import CliRunner

from sidecar.cli import main, sessions
from sidecar.client import Client
from sidecar.core.wording import explaining
from sidecar.explaining.ways import going_on
from sidecar.testing import SidecarProcess
from sidecar.v1 import convergence_service_pb2_grpc
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.edges.telemetry_samples import wait_until
from tests.process.streams import BlockingAgent, agents, open_turn

SETTLED_WITHIN_S = 30.0
DIRECTIVES = {"proceed", "rotate", "commit", "halt"}

pytestmark = pytest.mark.process

MORE_THAN_A_PAGE = 101


def test_every_session_is_listed_also_beyond_a_page(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        with grpc.insecure_channel(sidecar.agent) as channel:
            stub = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
            for number in range(MORE_THAN_A_PAGE):
                stub.RecordTurn(open_turn(f"s{number}"), timeout=20)
        listed = CliRunner().invoke(main, ["sessions", "ls", "--json", "--admin", sidecar.admin])

    names = {json.loads(line)["session_id"] for line in listed.stdout.splitlines()}
    assert names == {f"s{number}" for number in range(MORE_THAN_A_PAGE)}


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_latest_active_is_listed_first_whichever_was_opened_first(
    tmp_path: Path, form: list[str]
) -> None:
    with SidecarProcess(tmp_path) as sidecar, agents(sidecar, 2) as (first, second):
        second.turn(1)
        first.turn(1)
        listed = CliRunner().invoke(main, ["sessions", "ls", *form, "--admin", sidecar.admin])

    assert re.findall(r"\bs[01]\b", listed.stdout) == ["s0", "s1"]


def test_sessions_of_before_a_restart_are_listed_without_their_agents(tmp_path: Path) -> None:
    def listed() -> list[str]:
        shown = CliRunner().invoke(main, ["sessions", "ls", "--json", "--admin", sidecar.admin])
        return [json.loads(line)["session_id"] for line in shown.stdout.splitlines()]

    with SidecarProcess(tmp_path) as sidecar:
        with agents(sidecar, 3) as fleet:
            for agent in fleet:
                agent.turn(1)
        before = listed()
        sidecar.stop()
        sidecar.restart()
        wait_until(lambda: " 3 sessions of before the start are listed" in sidecar.log)
        after = listed()

    assert set(before) == {"s0", "s1", "s2"}
    assert after == before


def test_sessions_whose_policy_is_gone_are_told_of_and_come_back_with_it(tmp_path: Path) -> None:
    config = tmp_path / "sidecar.yaml"
    config.write_text("policies: {mine: {}}\n")
    with SidecarProcess(tmp_path, flags=(f"--config={config}",)) as sidecar:
        with grpc.insecure_channel(sidecar.agent) as channel:
            stub = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
            for name, policy in (("a", "mine"), ("b", "default")):
                request = open_turn(name)
                request.open.policy = policy
                stub.RecordTurn(request, timeout=20)
        sidecar.stop()
        config.write_text("{}\n")
        sidecar.restart()
        wait_until(lambda: " 1 sessions of before the start are not listed: their" in sidecar.log)
        asked = CliRunner().invoke(main, ["sessions", "show", "a", "--admin", sidecar.admin])
        sidecar.stop()
        config.write_text("policies: {mine: {}}\n")
        sidecar.restart()
        wait_until(lambda: " 2 sessions of before the start are listed" in sidecar.log)

    assert "or its policy is gone" in asked.output


def test_no_id_is_cut_short_and_no_column_left_out(tmp_path: Path) -> None:
    name = "s" * 128
    with SidecarProcess(tmp_path) as sidecar:
        with grpc.insecure_channel(sidecar.agent) as channel:
            stub = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
            stub.RecordTurn(open_turn(name), timeout=20)
        listed = CliRunner().invoke(main, ["sessions", "--admin", sidecar.admin])

    head, row = listed.stdout.splitlines()
    assert head.split() == "SESSION AGENT POLICY TURNS STATE LINK LAST DIRECTIVE".split()
    assert row.split() == [name, "-", "default", "1", "HEALTHY", "detached", "-"]


def test_what_was_decided_on_an_observed_run_is_untold_and_its_journal_replays_to_it(
    tmp_path: Path,
) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        with Client(sidecar.agent, session_id="watched", mode="observe") as run:
            for _ in range(6):
                run.turn(tool_calls=[{"name": "a", "arguments": {}, "result": "z"}])
            assert run.wait_until_settled(SETTLED_WITHIN_S)
        listed, shown = (
            CliRunner().invoke(main, ["sessions", *what, "--admin", sidecar.admin]).stdout
            for what in (["ls"], ["show", "watched"])
        )
    state = f"--state-directory={tmp_path / 'state'}"
    journal = CliRunner().invoke(main, ["journal", "watched", state]).stdout
    replayed = CliRunner().invoke(main, ["replay", "--format=json", "-"], input=journal).stdout

    assert "commit at 4, untold" in listed
    decisions = [turn["decision"] for turn in json.loads(shown)["turns"]]
    assert ["commit" in decision for decision in decisions] == [n == 4 for n in range(1, 7)]
    again = [json.loads(line)["decision"] for line in replayed.splitlines()[1:]]
    assert [one.keys() & DIRECTIVES for one in again] == [d.keys() & DIRECTIVES for d in decisions]


def test_options_without_a_subcommand_are_those_of_ls(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar, agents(sidecar, 1) as fleet:
        fleet[0].turn(1)
        named = CliRunner().invoke(main, ["sessions", "ls", "--admin", sidecar.admin])
        unnamed = CliRunner().invoke(main, ["sessions", "--admin", sidecar.admin])
        before = CliRunner().invoke(main, ["sessions", "--admin", sidecar.admin, "ls"])
        shown = CliRunner().invoke(main, ["sessions", f"--admin={sidecar.admin}", "show", "s0"])

    assert named.exit_code == 0
    assert "s0" in named.stdout
    assert unnamed.stdout == before.stdout == named.stdout
    assert json.loads(shown.stdout)["session"]["session_id"] == "s0"
    assert "Usage: " in CliRunner().invoke(main, ["sessions", "--help"]).stdout


def test_what_is_watched_has_a_head_a_time_and_columns(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar, agents(sidecar, 1) as fleet:
        watch = [sys.executable, "-m", "sidecar.cli", "sessions", "watch", "--admin", sidecar.admin]
        with subprocess.Popen(watch, stdout=subprocess.PIPE, text=True) as watching:
            assert watching.stdout is not None
            head, row = watching.stdout.readline(), watching.stdout.readline()
            fleet[0].turn(1)
            turn = watching.stdout.readline()
            watching.terminate()

    assert head.split() == "TIME SESSION AGENT POLICY TURNS STATE LINK LAST DIRECTIVE".split()
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  s0 ", row)
    assert row.index("HEALTHY") == turn.index("HEALTHY") == head.index("STATE")


@pytest.mark.parametrize("session", [(), ("s0",)])
def test_who_watches_hears_that_the_sidecar_stops(tmp_path: Path, session: tuple[str, ...]) -> None:
    with SidecarProcess(tmp_path) as sidecar, agents(sidecar, 1):
        watch = [sys.executable, "-m", "sidecar.cli", "sessions", "watch", *session]
        with subprocess.Popen(
            [*watch, "--admin", sidecar.admin],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as watching:
            assert watching.stdout is not None and watching.stderr is not None
            watching.stdout.readline()
            sidecar.stop()
            said = watching.stderr.read()

    assert said == f"sidecar: {sidecar.admin}: the sidecar is stopping\n"
    assert watching.returncode == 1


def test_a_change_that_does_not_show_is_no_line_and_one_that_does_comes_at_once() -> None:
    closed = [admin_pb.Session(session_id="a", closed=True, connected=on) for on in (True, False)]
    after = admin_pb.Session(session_id="b", connected=True)
    coming = iter([admin_pb.Session(session_id="a", connected=True), *closed, after])
    shown = sessions._as_shown(coming)

    assert next(shown)[-2] == "streaming"
    assert next(shown)[-2] == "closed"
    assert len(list(coming)) == 2, "nothing is waited for before it is shown"
    assert [row[0] for row in sessions._as_shown([*closed, after])] == ["a", "b"]


def test_what_an_operator_does_is_explained_with_its_time(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar, agents(sidecar, 1) as fleet:
        fleet[0].turn(1)
        admin = ["--admin", sidecar.admin]
        done = CliRunner().invoke(main, ["sessions", "reset", "s0", "--reason", "fresh", *admin])
        fleet[0].decision()
        explained = CliRunner().invoke(main, ["explain", "s0", "--format", "json", *admin])
        shown = CliRunner().invoke(main, ["sessions", "show", "s0", *admin])

    turn, reset = json.loads(explained.stdout)["rows"]
    (record,) = json.loads(shown.stdout)["commands"]
    assert done.exit_code == 0
    assert (turn["turn"], reset["command"], reset["reason"]) == (1, "reset", "fresh")
    assert reset["time"].endswith(" UTC")
    assert record["command"] == {"after_sequence": 1, "reset": record["command"]["reset"]}


def test_an_id_that_is_not_utf_8_is_answered_as_one_that_is_not_held(tmp_path: Path) -> None:
    name, why = os.fsdecode(b"caf\xe9"), ("--reason", os.fsdecode(b"tr\xe8s lent"))
    with SidecarProcess(tmp_path) as sidecar:
        for command in (
            ["sessions", "show", name],
            ["sessions", "watch", name],
            ["sessions", "continue", name, *why],
            ["sessions", "reset", name, *why],
            ["sessions", "close", name, *why],
            ["explain", name],
        ):
            typed = [*command, "--admin", sidecar.admin]
            unknown = ["s9" if part == name else part for part in typed]
            answered, other = (CliRunner().invoke(main, line) for line in (typed, unknown))
            assert other.exit_code == answered.exit_code == 1
            assert other.stderr.count("\n") == 1
            assert other.stderr.replace("s9", "caf\\\\udce9") == answered.stderr


@pytest.mark.parametrize("name", ["--help", "-x", "a b; rm -rf x", "-", "run.jsonl", "Makefile"])
def test_the_commands_that_are_offered_for_an_id_like_an_option_or_a_file_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "Makefile").write_text("all:\n")
    monkeypatch.chdir(tmp_path)
    with SidecarProcess(tmp_path) as sidecar:
        monkeypatch.setenv("SIDECAR_ADMIN_ADDRESS", sidecar.admin)
        agent = BlockingAgent(sidecar.agent, name)
        agent.turn(1)
        done, explained = (
            CliRunner().invoke(main, shlex.split(offered.strip("`"))[1:])
            for offered in (going_on(name), explaining(name))
        )
        agent.drop()

    assert (done.exit_code, explained.exit_code) == (0, 0), done.output
    assert explained.stdout.startswith(f"{name}: policy")


def test_an_unknown_id_is_named(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        admin = ["--admin", sidecar.admin]
        said = {
            CliRunner().invoke(main, [*command, *admin]).stderr
            for command in (
                ["explain", "s9"],
                ["sessions", "show", "s9"],
                ["sessions", "watch", "s9"],
                ["sessions", "continue", "s9", "--reason", "why"],
            )
        }
        long = CliRunner().invoke(main, ["explain", "s" * 200, *admin]).stderr

    (line,) = said
    assert line.startswith('sidecar: no session "s9" is held: ')
    assert line.count("\n") == 1
    assert "s..." in long
    assert len(long) < 200


def test_an_empty_id_is_nobody_s_and_does_not_watch_all(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        watched = CliRunner().invoke(main, ["sessions", "watch", "", "--admin", sidecar.admin])

    assert watched.exit_code == 1
    assert watched.stderr.startswith('sidecar: no session "" is held: ')


def test_a_folder_is_no_session_and_no_run_file(tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, ["explain", str(tmp_path)])

    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"sidecar: {tmp_path} is a folder: it must be a run file, or the id of a session\n"
    )


def test_a_reason_that_is_not_utf_8_is_kept_with_escapes(tmp_path: Path) -> None:
    why = os.fsdecode(b"tr\xe8s lent")
    with SidecarProcess(tmp_path) as sidecar, agents(sidecar, 1) as fleet:
        fleet[0].turn(1)
        admin = ["--admin", sidecar.admin]
        done = CliRunner().invoke(main, ["sessions", "reset", "s0", "--reason", why, *admin])
        fleet[0].decision()
        explained = CliRunner().invoke(main, ["explain", "s0", "--format", "json", *admin])

    assert done.exit_code == 0
    assert json.loads(explained.stdout)["rows"][1]["reason"] == "tr\\udce8s lent"


def test_a_name_does_nothing_to_the_terminal_that_shows_it(tmp_path: Path) -> None:
    name = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eid"
    with SidecarProcess(tmp_path) as sidecar:
        agent = BlockingAgent(sidecar.agent, name)
        agent.turn(1)
        admin = ["--admin", sidecar.admin]
        shown = [
            CliRunner().invoke(main, [*command, *admin]).stdout
            for command in (
                ["sessions", "ls"],
                ["sessions", "reset", name, "--reason", name],
                ["explain", name],
                ["explain", name, "--format", "markdown"],
            )
        ]
        agent.drop()

    escaped = "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202eid"
    for text in shown:
        assert escaped in text
        assert all(line.isprintable() for line in text.split("\n"))


def test_an_admin_address_for_a_replay_that_sends_nothing_is_refused() -> None:
    ended = CliRunner().invoke(main, ["replay", "--admin", "127.0.0.1:1", "run.jsonl"])

    assert ended.exit_code == 2
    assert "--admin is given without --target" in ended.output
