"""The standard streams, seen to at the entry of all commands, so that none has to think of them.

A stream that was closed is open again and cannot be used, so that no file or socket takes its
number. What standard output does not take is told apart from what an input does not give, and ends
the command with one line. A character that its encoding has not is escaped.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

LOST: Final = 1
"""Exit code of a command whose output nobody has."""

CLOSED: Final = ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY))
"""How a closed stream is opened: reading the first and writing the second fails as before. What the
third would say is lost; it is no reason for a sidecar not to start."""


class OutputLost(Exception):  # noqa: N818 - says what is the case
    """Standard output takes no more. No OSError, which is what an input that cannot be read is."""


class _StandardOutput(io.FileIO):
    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except BrokenPipeError:
            # Nobody reads on, as before `| head`; click ends the process without a word.
            raise
        except OSError as fault:
            raise OutputLost(f"standard output cannot be written: {fault.strerror}") from None


@contextmanager
def standard_streams() -> Iterator[None]:
    """The streams as above for as long as the block lasts; in a test they are the test's own."""
    if sys.stdout is not sys.__stdout__:
        yield
        return
    _open_closed()
    sys.stdout = _owned(sys.stdout)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except (OutputLost, BrokenPipeError) as lost:
        drop_output()
        if isinstance(lost, OutputLost):
            click.echo(f"sidecar: {lost}", err=True)
        sys.exit(LOST)


def drop_output() -> None:
    """Let go of what could not be written, which would be tried again at the end, and of all that
    is written from here on."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout.flush()


def speak_json() -> None:
    """What is written from here on is JSON: in UTF-8, whatever the terminal's encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def _open_closed() -> None:
    for number, mode in CLOSED:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest number that is free, which is this
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - as long as the process
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _owned(given: Any) -> io.TextIOWrapper:
    """Standard output as it is given, None where it was closed, but for what is said above."""
    by_line = given is not None and (given.line_buffering or given.write_through)
    return io.TextIOWrapper(
        io.BufferedWriter(_StandardOutput(1, "w", closefd=False)),
        encoding=given.encoding if given is not None else "utf-8",
        errors="backslashreplace",
        line_buffering=by_line,
    )
