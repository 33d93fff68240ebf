"""Where the commands' output goes: a terminal, a file, or a reader who has left."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sidecar.cli import main

pytestmark = pytest.mark.process

COMMAND = (sys.executable, "-c", "from sidecar.cli import main; main()")
RUN = Path(__file__).parents[1] / "data" / "founding_table.jsonl"


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
