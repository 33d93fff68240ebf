"""Where the commands' output goes: a terminal, a file, or a reader who has left."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

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
