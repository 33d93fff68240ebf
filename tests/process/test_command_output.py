"""Where the commands' output goes: a terminal, a file, or a reader who has left."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sidecar.cli import main
from sidecar.testing import SidecarProcess
from tests.process.streams import BlockingAgent, agents

pytestmark = pytest.mark.process

COMMAND = (sys.executable, "-c", "from sidecar.cli import main; main()")
RUN = Path(__file__).parents[1] / "data" / "founding_table.jsonl"
FOREIGN = '{"open": {"session_id": "żé😀"}}\n{"turn": {"output_lines": 3}}\n'

FULL = ">/dev/full"
OUTPUTS = {FULL: "No space left on device", ">&-": "Bad file descriptor"}
COMMANDS = {
    "--help": (),
    "serve": ("--help",),
    "check-config": (),
    "replay": (str(RUN),),
    "explain": (str(RUN),),
}


def in_shell(streams: str, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """A command under the shell's redirections."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {streams}', "sh", *COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={**os.environ, **more},
    )


def with_terminal_for_errors(*arguments: str) -> str:
    """Standard output, a pipe, of a command whose standard error is a terminal."""
    reader, writer = pty.openpty()
    try:
        run = subprocess.run(
            [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=writer, timeout=60, check=True
        )
    finally:
        os.close(writer)
        os.close(reader)
    return run.stdout.decode()


def test_the_command_is_that_of_the_package_too() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "sidecar", "--version"],
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    assert shown.stdout.startswith(b"sidecar, version ")


@pytest.mark.parametrize(
    ("typed", "meant"), [("sesions", "sessions"), ("check_config", "check-config")]
)
def test_a_mistyped_command_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    shown = CliRunner().invoke(main, [typed])
    assert shown.exit_code == 2
    assert f"No such command {typed!r}. Did you mean {meant!r}?\n" in shown.output


def test_a_command_like_no_other_is_answered_without_a_guess() -> None:
    shown = CliRunner().invoke(main, ["xyzzy"])
    assert shown.exit_code == 2
    assert "Did you mean" not in shown.output


@pytest.mark.parametrize("options", [(), ("--format", "json"), ("--what-if", "spin.break=4")])
def test_a_bar_on_the_terminal_takes_nothing_from_the_file(options: tuple[str, ...]) -> None:
    arguments = ("replay", *options, str(RUN), str(RUN))
    plain = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=True
    )

    assert plain.stdout
    assert with_terminal_for_errors(*arguments) == plain.stdout


@pytest.mark.parametrize(
    "arguments",
    [("conformance", "--list"), ("datasets", "convert", "codex", str(RUN), "--output", "out")],
    ids=["conformance", "datasets"],
)
def test_who_reads_no_further_hears_of_no_pipe(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        run = subprocess.run(
            [*COMMAND, *arguments],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
        )
    finally:
        os.close(writer)

    assert "pipe" not in run.stderr.lower()


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_takes_nothing_ends_a_command_with_one_line(
    command: str, output: str
) -> None:
    run = in_shell(output, command, *COMMANDS[command])

    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == (
        f"sidecar: standard output cannot be written: {OUTPUTS[output]}"
    )
    assert "Traceback" not in run.stderr
    assert "Exception ignored" not in run.stderr


@pytest.mark.parametrize("arguments", [("ls",), ("show", "s0"), ("watch",), ("watch", "s0")])
def test_an_output_that_takes_nothing_ends_what_asks_a_sidecar_with_one_line(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    with SidecarProcess(tmp_path) as live, agents(live, 1) as fleet:
        fleet[0].turn(1)
        run = in_shell(FULL, "sessions", *arguments, "--admin", live.admin)

    assert run.returncode == 1
    assert run.stderr == f"sidecar: standard output cannot be written: {OUTPUTS[FULL]}\n"


def test_an_output_that_takes_nothing_ends_a_demo_with_one_line(tmp_path: Path) -> None:
    own = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    run = in_shell(FULL, "demo", "--exit", "--agents", "1", "--speed", "50", **own)

    assert run.returncode == 1
    assert run.stderr == f"sidecar: standard output cannot be written: {OUTPUTS[FULL]}\n"


@pytest.mark.parametrize("options", [(), ("--format", "json"), ("--what-if", "spin.break=4")])
def test_a_full_output_is_not_said_of_the_file_that_is_replayed(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    long = tmp_path / "long.jsonl"
    long.write_text('{"open": {}}\n' + '{"turn": {}}\n' * 2000)
    run = in_shell(FULL, "replay", *options, str(long), str(long))

    assert run.returncode == 1
    assert str(long) not in run.stderr
    assert run.stderr.endswith(f"sidecar: standard output cannot be written: {OUTPUTS[FULL]}\n")


def test_a_closed_input_is_said_in_one_line() -> None:
    run = in_shell("<&-", "replay", "-")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.splitlines()[0] == "-: Bad file descriptor"
    assert in_shell("<&-", "replay", str(RUN)).returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("command", ["replay", "explain"])
def test_what_an_encoding_has_not_is_escaped_in_tables_and_as_it_is_in_json(
    tmp_path: Path, command: str, encoding: str
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(FOREIGN, encoding="utf-8")
    shown, machine = (
        subprocess.run(
            [*COMMAND, command, *options, str(path)],
            stdout=subprocess.PIPE,
            timeout=60,
            check=True,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        ).stdout
        for options in ((), ("--format", "json"))
    )

    assert shown.startswith("żé😀".encode(encoding, "backslashreplace"))
    read = json.loads(machine if command == "explain" else machine.splitlines()[0])
    assert "żé😀" in (read["title"] if command == "explain" else str(read))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_sessions_are_shown_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    name = "żé😀"
    with SidecarProcess(tmp_path) as live:
        agent = BlockingAgent(live.agent, name)
        agent.turn(1)
        table, listed, shown = (
            subprocess.run(
                [*COMMAND, "sessions", *arguments, "--admin", live.admin],
                stdout=subprocess.PIPE,
                timeout=60,
                check=True,
                env={**os.environ, "PYTHONIOENCODING": encoding},
            ).stdout
            for arguments in (("ls",), ("ls", "--json"), ("show", name))
        )
        agent.half_close()

    assert b"\n" + name.encode("cp1252", "backslashreplace") in table or name.encode() in table
    assert json.loads(listed)["session_id"] == name
    assert json.loads(shown)["session"]["session_id"] == name


def test_a_replay_that_is_interrupted_says_so_by_its_exit_code() -> None:
    # What is started in the background of a shell is not interrupted unless it asks for it.
    interruptible = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    *python, code_of_command = COMMAND
    with subprocess.Popen(
        [*python, interruptible + code_of_command, "replay", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdin.write(b'{"open": {"session_id": "s"}}\n')
        run.stdin.flush()
        assert run.stdout.readline().startswith(b"s  policy default")
        run.send_signal(signal.SIGINT)
        code = run.wait(60)
        said = run.stderr.read()

    assert (code, said) == (130, b"")
