"""`sidecar journal`: what it writes can be replayed, or it says why not."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sidecar.adapters.convert import EntryBytes
from sidecar.adapters.run_file import read_lines
from sidecar.adapters.sqlite_store import DATABASE
from sidecar.cli import main
from sidecar.core.limits import Limits
from sidecar.policies import Policies
from sidecar.ports import Entry
from sidecar.presets import preset
from sidecar.replaying.recorded import Replay
from sidecar.v1 import convergence_service_pb2 as pb
from tests.edges.stores import saved, sqlite_store
from tests.process.test_connecting import AS_A_USER

POLICIES = Policies(by_name={"default": preset("default")})
LINES: tuple[dict[str, Any], ...] = (
    {"open": {"session_id": "s"}},
    {"turn": {}},
    {"turn": {}},
    {"open": {"first_available_sequence": 5}},
    {"command": {"after_sequence": 4, "reset": {"reason": "fresh"}}},
    {"turn": {}},
)


def replayed(
    path: Path, policies: Policies = POLICIES
) -> tuple[list[pb.ObserveResponse], Sequence[Entry]]:
    replay = Replay(str(path), policies)
    answers = list(replay.run(read_lines(str(path))))
    assert all(isinstance(answer, pb.ObserveResponse) for answer in answers), answers
    return [one for one in answers if isinstance(one, pb.ObserveResponse)], replay.entries


def folded(tmp_path: Path) -> tuple[list[pb.ObserveResponse], Sequence[Entry]]:
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    return replayed(path)


def journalled(tmp_path: Path, entries: Sequence[Entry]) -> Result:
    """What the command says of a session of which these entries are kept."""
    with sqlite_store(tmp_path / DATABASE, codec=EntryBytes()) as store:
        for entry in entries:
            store.append(entry)
    return journal_in(tmp_path)


def journal_in(state: Path, session_id: str = "s") -> Result:
    environment = {"SIDECAR_STATE_DIRECTORY": str(state)}
    return CliRunner().invoke(main, ["journal", session_id], env=environment)


def test_the_journal_of_a_run_that_lost_turns_and_was_reset_gives_its_decisions(
    tmp_path: Path,
) -> None:
    before, entries = folded(tmp_path)
    journal = journalled(tmp_path, entries)
    path = tmp_path / "journal.jsonl"
    path.write_text(journal.stdout)

    assert journal.exit_code == 0, journal.stderr
    assert replayed(path)[0] == before


@pytest.mark.parametrize(
    ("then", "now"),
    [
        pytest.param(Limits(max_turns=3), Limits(), id="a ceiling that is gone"),
        pytest.param(Limits(), Limits(max_turns=3), id="a ceiling that is new"),
        pytest.param(Limits(max_turns=3), Limits(max_turns=5), id="a ceiling that is higher"),
    ],
)
def test_a_journal_is_replayed_under_the_limits_that_its_run_was_given(
    tmp_path: Path, then: Limits, now: Limits
) -> None:
    run, journal = tmp_path / "run.jsonl", tmp_path / "journal.jsonl"
    run.write_text("\n".join(map(json.dumps, ({"open": {"session_id": "s"}}, *[{"turn": {}}] * 8))))
    before, entries = replayed(run, replace(POLICIES, ceiling=then))
    journal.write_text(journalled(tmp_path, entries).stdout)

    assert replayed(journal, replace(POLICIES, ceiling=now))[0] == before
    assert replayed(run, replace(POLICIES, ceiling=now))[0] != before


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ((1, 2), "what came before turn 2"),
        ((2,), "what came before turn 2"),
        ((1, 2, 3, 4, 5), "what came before turn 5"),
    ],
)
def test_a_journal_that_lacks_entries_says_so(
    tmp_path: Path, gone: tuple[int, ...], said: str
) -> None:
    _, entries = folded(tmp_path)
    kept = [entry for entry in entries if entry.number not in gone]
    journal = journalled(tmp_path, kept)

    assert len(journal.stdout.splitlines()) == len(kept)
    assert journal.exit_code == 1
    assert said in journal.stderr


def test_a_journal_that_ends_before_its_session_does_says_so(tmp_path: Path) -> None:
    _, entries = folded(tmp_path)
    with sqlite_store(tmp_path / DATABASE, codec=EntryBytes()) as store:
        for entry in entries[:-1]:
            store.append(entry)
        store.save(saved("s", number=len(entries)))
    journal = journal_in(tmp_path)

    assert len(journal.stdout.splitlines()) == len(entries) - 1
    assert journal.exit_code == 1
    assert "what came after turn 4 of session 's' is not in the journal" in journal.stderr


def test_an_id_that_is_not_utf_8_is_answered_as_one_of_which_nothing_is_kept(
    tmp_path: Path,
) -> None:
    journalled(tmp_path, folded(tmp_path)[1])
    journal = journal_in(tmp_path, os.fsdecode(b"caf\xe9"))

    assert journal.exit_code == 1
    assert journal.stderr.startswith(f"sidecar: {tmp_path}/sidecar.db: nothing of a session 'caf")
    assert journal.stderr.count("\n") == 1


def test_where_no_journal_is_the_file_that_was_looked_for_is_named(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)

    assert journal.exit_code == 1
    assert journal.stderr == (
        f"sidecar: {tmp_path}/sidecar.db: No such file or directory; "
        "has a sidecar kept its state there?\n"
    )


def test_the_state_directory_may_be_named_on_the_command_line(tmp_path: Path) -> None:
    other = {"SIDECAR_STATE_DIRECTORY": str(tmp_path / "other")}
    named = CliRunner().invoke(main, ["journal", "s", f"--state-directory={tmp_path}"], env=other)

    assert f"{tmp_path}/sidecar.db: No such file" in named.stderr


@pytest.mark.process
def test_a_journal_of_another_user_is_not_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / DATABASE).touch(mode=0o000)
    journal = subprocess.run(
        [*AS_A_USER, sys.executable, "-m", "sidecar.cli", "journal", "s"],
        env={**os.environ, "SIDECAR_STATE_DIRECTORY": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert journal.returncode == 1
    assert journal.stderr == (
        f"sidecar: {tmp_path}/sidecar.db may not be read by this user: ask as the user of its "
        "sidecar\n"
    )


def test_a_journal_that_is_damaged_is_not_said_to_have_nothing_of_a_session(
    tmp_path: Path,
) -> None:
    (tmp_path / "sidecar.db").write_bytes(b"this is no database" * 1000)

    journal = journal_in(tmp_path)

    assert journal.exit_code == 1
    assert journal.stderr == (
        f"sidecar: {tmp_path}/sidecar.db cannot be read: file is not a database\n"
    )
