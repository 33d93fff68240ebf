"""`sidecar demo`, played for real: what it shows, how it ends, and that nothing is left of it."""

import os
import pty
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from sidecar.config.keys import ADDRESSES
from sidecar.demo.beside import NotStarted, sidecar_beside, sidecar_somewhere
from sidecar.demo.cast import MINDS
from sidecar.demo.circle import CIRCLE
from sidecar.demo.places import Places

pytestmark = pytest.mark.process

DEMO = [sys.executable, "-m", "sidecar.cli", "demo"]

LONGEST_S = 120.0
"""A demo at speed 50 takes five seconds; this only ends a test that hangs."""

SOON_S = 30.0
"""Less than the 50 s between two turns at speed 0.01, and ample to stop all there is."""

EXPECTED = {
    "steady": ["-", "-"],
    "patient": ["-", "-"],
    "between": ["-", "-"],
    "looper": ["turn 4, loop", "turn 5"],
    "spinner": ["turn 5, spin", "-"],
    "reader": ["turn 14, stall", "-"],
    "filler": ["turn 11, token_overflow", "-"],
    "boaster": ["turn 4, divergence", "turn 6"],
    "coder": ["turn 3, loop", "turn 4"],
    "coder-again": ["-", "-"],
}
"""First rotate and commit. How many turns follow may depend on how soon the word arrives."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A directory that holds all that a demo makes; afterwards no process that knows it is left."""
    yield tmp_path
    mine = [process for process in psutil.process_iter() if _knows(process, tmp_path)]
    assert mine == []
    left = [path for path in tmp_path.rglob("*") if path.is_socket() or "demo" in path.name]
    assert left == []


def _knows(process: psutil.Process, home: Path) -> bool:
    try:
        return process.environ().get("TMPDIR") == str(home)
    except psutil.Error:
        return False


def environment(home: Path) -> Mapping[str, str]:
    places = ("TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
    return {**os.environ, **dict.fromkeys(places, str(home)), "COLUMNS": "120"}


def demo(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*DEMO, *arguments],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )


def closing_rows(output: str) -> dict[str, list[str]]:
    """The cells after the run's name, by that name."""
    lines = output.splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("run "))
    rows = (
        [cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[begin + 1 :]
    )
    names = {*(mind.name for mind in MINDS), *CIRCLE}
    return {row[0]: row[1:] for row in rows if row and row[0] in names}


def test_a_demo_ends_by_itself_with_everybody_as_expected(home: Path) -> None:
    played = demo(home, "--exit", "--speed", "50")
    assert played.returncode == 0, played.stdout + played.stderr
    rows = closing_rows(played.stdout)
    assert {name: cells[1:3] for name, cells in rows.items()} == EXPECTED
    assert {cells[3] for cells in rows.values()} == {"answered"}
    assert [rows[mind.name][4] for mind in MINDS[:3]] == ["undisturbed"] * 3
    assert all("tokens" in rows[mind.name][4] for mind in MINDS[3:])
    assert "tokens" in rows["coder"][4] and rows["coder-again"][4] == "undisturbed"


def test_the_reference_agent_is_seen_to_be_told_reviewed_and_right_in_the_end(home: Path) -> None:
    # Whatever the environment says of models, proxies and collectors: nothing but loopback is used.
    elsewhere = {
        "ANTHROPIC_API_KEY": "sk-ant-of-somebody",
        "ANTHROPIC_BASE_URL": "http://192.0.2.1",
        "HTTPS_PROXY": "http://192.0.2.1",
        "HTTP_PROXY": "http://192.0.2.1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, text in elsewhere.items():
            patch.setenv(name, text)
        played = demo(home, "--exit", "--speed", "50", "--agents", "1")
    assert played.returncode == 0, played.stdout + played.stderr
    said = [line.split(" s  ", 1)[1] for line in played.stdout.splitlines() if " s  coder" in line]
    told = [line.split(None, 3)[3].split(":")[0] for line in said if line.startswith("coder ")]
    assert [words.split()[0] for words in told[:2]] == ["rotate", "commit"]
    assert "coder         turn   5  answered by force: 3.6" in said
    assert any("3.6 was reviewed: FAIL. That is the mean of all drinks" in line for line in said)
    assert said[-1].startswith("coder-again   turn   2  4.1 was reviewed: PASS.")


@contextmanager
def playing(home: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A demo that is at work."""
    with subprocess.Popen(
        [*DEMO, *arguments], env=environment(home), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_interrupted_cleans_up(home: Path, number: signal.Signals) -> None:
    with playing(home, "--exit", "--speed", "5") as process:
        assert process.stdout is not None
        first = next(line for line in process.stdout if "rotate" in line)
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(LONGEST_S) == 130
    assert "looper" in first
    assert "cancelled" in rest
    assert "saved:" not in rest


def test_a_demo_that_is_interrupted_does_not_wait_for_the_next_turns(home: Path) -> None:
    with playing(home, "--exit", "--speed", "0.01") as process:
        assert process.stdout is not None
        next(line for line in process.stdout if "metrics" in line)
        process.send_signal(signal.SIGINT)
        assert process.wait(SOON_S) == 130


def _serves(process: psutil.Process) -> bool:
    try:
        return "serve" in process.cmdline()
    except psutil.Error:  # a test run that has ended meanwhile
        return False


def test_a_demo_whose_sidecar_dies_says_so_and_fails(home: Path) -> None:
    with playing(home, "--exit", "--speed", "5") as process:
        assert process.stdout is not None
        next(line for line in process.stdout if "rotate" in line)
        (sidecar,) = filter(_serves, psutil.Process(process.pid).children())
        sidecar.kill()
        rest = process.stdout.read()
        assert process.wait(LONGEST_S) == 1
    assert "the sidecar has ended by itself" in rest


def test_a_demo_whose_sidecar_lost_what_it_should_keep_says_why(home: Path) -> None:
    (home / "file").write_text("in the way")
    state = home / "file" / "state"
    played = demo(home, "--exit", "--agents", "1", "--speed", "50", "--state-directory", str(state))

    assert played.returncode == 1
    said = played.stdout[played.stdout.index("the sidecar ended with exit code 1") :]
    assert "the sidecar's log: " in said
    assert "Not a directory" in said
    assert "journal entries" in said


def test_a_demo_beside_somebody_else_uses_another_address_and_keeps_its_state(home: Path) -> None:
    (home / "sidecar").mkdir(mode=0o700)
    state = home / "state"
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(home / "sidecar" / "agent.sock"))
        taken.listen()
        played = demo(home, "--agents", "1", "--speed", "50", "--state-directory", str(state))
        (home / "sidecar" / "agent.sock").unlink()
    assert played.returncode == 0, played.stdout + played.stderr
    assert f"unix:{home}/sidecar/agent.sock is taken: the demo uses another" in played.stdout
    assert list(state.iterdir())


def test_on_a_terminal_a_demo_stays_up_with_commands_that_work(home: Path) -> None:
    mine, theirs = pty.openpty()
    with subprocess.Popen(
        [*DEMO, "--agents", "4", "--speed", "50"], env=environment(home), stdout=theirs
    ) as process:
        os.close(theirs)
        try:
            shown = _read_until(mine, "stays up until Ctrl-C")
            lines = [line.split(None, 1) for line in shown.splitlines() if line.strip()]
            first = {words[0]: words[1] for words in lines if len(words) == 2}
            assert b"sidecar_" in _page(first["metrics"].strip())
            commands = [line.strip() for line in shown.splitlines() if "sidecar " in line][-3:]
            listed, explained = (
                subprocess.run(
                    shlex.split(command), env=environment(home), capture_output=True, check=True
                ).stdout.decode()
                for command in commands
                if " sessions" in command or " explain" in command
            )
            assert all(mind.name in listed for mind in MINDS[:4])
            assert "loop" in explained
            process.send_signal(signal.SIGINT)
            assert process.wait(LONGEST_S) == 0
        finally:
            process.kill()
            os.close(mine)


def _page(url: str) -> bytes:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=10)
    connection.request("GET", parts.path)
    page = connection.getresponse().read()
    connection.close()
    return page


def _read_until(terminal: int, words: str) -> str:
    shown = ""
    while words not in shown:
        shown += os.read(terminal, 65_536).decode()
    return shown


def addresses(home: Path, **others: str) -> dict[str, str]:
    """A place for every listener that must have one."""
    sockets = {key: str(home / f"{key}.sock") for key in ("agent_address", "admin_address")}
    return {**dict.fromkeys(ADDRESSES, ""), **sockets, **others}


def test_a_sidecar_that_cannot_start_is_reported_with_its_own_words(home: Path) -> None:
    nonsense = addresses(home, agent_tcp_address="nonsense")
    with (
        pytest.raises(NotStarted, match="agent_tcp_address"),
        sidecar_beside(nonsense, state=home / "state", runtime=home),
    ):
        pass


def test_a_sidecar_that_is_not_ready_in_time_is_given_up(home: Path) -> None:
    with (
        pytest.raises(NotStarted, match="not ready within 0 s"),
        sidecar_beside(addresses(home), state=home / "state", runtime=home, ready_within_s=0),
    ):
        pass


def test_an_address_that_is_taken_after_it_was_picked_is_picked_anew(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        early = addresses(home, agent_tcp_address=f"127.0.0.1:{port}")
        late = addresses(home, agent_tcp_address="127.0.0.1:0")
        picks = iter([Places(addresses=early), Places(addresses=late, moved=("it is taken",))])
        with sidecar_somewhere(lambda: next(picks), state=home / "state", runtime=home) as (
            beside,
            places,
        ):
            assert beside.addresses["agent_tcp_address"] != f"127.0.0.1:{port}"
            assert places.moved == ("it is taken",)


def test_an_address_that_was_taken_for_a_moment_is_tried_again(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        same = Places(addresses=addresses(home, agent_tcp_address=address))
        picks = 0

        def pick() -> Places:
            nonlocal picks
            picks += 1
            if picks > 1:
                taken.close()
            return same

        with sidecar_somewhere(pick, state=home / "state", runtime=home) as (beside, _):
            assert beside.addresses["agent_tcp_address"] == address


def test_a_sidecar_that_cannot_start_wherever_it_is_is_not_tried_for_ever(home: Path) -> None:
    nonsense = Places(addresses=addresses(home, agent_tcp_address="nonsense"))
    with (
        pytest.raises(NotStarted),
        sidecar_somewhere(lambda: nonsense, state=home / "state", runtime=home),
    ):
        pass
