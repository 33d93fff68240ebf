"""What may be typed for the commands' parameters: numbers that are some, and texts of any bytes."""

import math
import os
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from sidecar.cli import main
from sidecar.cli.parameters import SENDABLE
from sidecar.sessions.commands import EXTRA_MAX

NO_SIDECAR = ("--admin", "unix:/none/sidecar.sock")
UNREACHABLE = 3


def float_ranges(command: click.Command) -> Iterator[tuple[str, click.FloatRange]]:
    context = click.Context(command)
    for parameter in command.get_params(context):
        if isinstance(parameter.type, click.FloatRange):
            yield f"{command.name} {parameter.opts[0]}", parameter.type
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from float_ranges(found)


def takes(range_: click.FloatRange, number: float) -> bool:
    try:
        range_.convert(number, None, None)
    except click.BadParameter:
        return False
    return True


def test_no_range_of_any_command_takes_nan() -> None:
    ranges = dict(float_ranges(main))

    assert len(ranges) >= 5
    assert [name for name, range_ in ranges.items() if takes(range_, math.nan)] == []
    assert [name for name, range_ in ranges.items() if not takes(range_, 1.0)] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tune", "none", "--false-stops", "nan"), "'--false-stops': nan is not in the range"),
        (("demo", "--speed", "-NaN"), "'--speed': nan is not in the range 0.01<=x<=1000"),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_nan_is_answered_with_the_range_before_anything_is_done(
    arguments: tuple[str, ...], said: str
) -> None:
    refused = CliRunner().invoke(main, arguments)

    assert refused.exit_code == 2
    assert said in refused.output


@pytest.mark.parametrize("option", ["--extra-turns", "--extra-input-tokens"])
@pytest.mark.parametrize("count", [-1, EXTRA_MAX + 1, 2**64])
def test_an_extension_that_no_sidecar_takes_is_answered_with_its_range(
    option: str, count: int
) -> None:
    arguments = ("sessions", "continue", "s", "--reason", "why", option, str(count))
    refused = CliRunner().invoke(main, [*arguments, *NO_SIDECAR])

    assert refused.exit_code == 2
    assert f"'{option}': {count} is not in the range 0<=x<={EXTRA_MAX}" in refused.output


@pytest.mark.parametrize("option", ["--extra-turns", "--extra-input-tokens"])
def test_the_largest_extension_is_sent(option: str) -> None:
    arguments = ("sessions", "continue", "s", "--reason", "why", option, str(EXTRA_MAX))
    assert CliRunner().invoke(main, [*arguments, *NO_SIDECAR]).exit_code == UNREACHABLE


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        (b"caf\xe9", "caf\\udce9"),
        ("café".encode(), "café"),
        (b"\xff\xfe", "\\udcff\\udcfe"),
        (b"", ""),
    ],
)
def test_a_byte_that_is_not_utf_8_is_sent_as_an_escape(typed: bytes, sent: str) -> None:
    assert SENDABLE.convert(os.fsdecode(typed), None, None) == sent
