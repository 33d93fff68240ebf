"""The token as it is sent, and as it is not told."""

import logging
import socket
from pathlib import Path

import pytest

from sidecar.client import Client
from sidecar.client.channel import metadata_of
from sidecar.client.intake import Intake
from sidecar.client.settings import settings_of


@pytest.mark.parametrize("token", ["s3cret", "s3cret\n", " s3cret\r\n"])
def test_a_token_is_sent_without_the_white_space_around_it(token: str) -> None:
    """Read from a file it ends with a newline, with which gRPC sends no header."""
    settings = settings_of("h:1", {"token": token}, Intake())

    assert metadata_of(settings) == (("authorization", "Bearer s3cret"),)


def test_a_token_of_white_space_is_none() -> None:
    assert metadata_of(settings_of("h:1", {"token": "\n"}, Intake())) == ()


@pytest.mark.parametrize("token", ["s3cret\u200b", "s3\ncret", "s3crét", "s3cret\x7f"])
def test_a_token_that_cannot_be_sent_is_told_once_and_not_shown(
    token: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Where something listens: gRPC itself speaks of it on standard error, at each attempt."""
    caplog.set_level(logging.DEBUG)
    with socket.socket(socket.AF_UNIX) as sidecar:
        sidecar.bind(str(tmp_path / "agent.sock"))
        sidecar.listen()
        with Client(f"unix:{tmp_path}/agent.sock", token=token) as run:
            reasons = [run.turn().fail_open_reason for _ in range(3)]
            shown = repr(run)

    assert reasons == ["connect"] * 3
    told = [one.getMessage() for one in caplog.records if one.name == "sidecar.client"]
    assert len(told) == 1
    assert "(connect: the token has a character that cannot be sent)" in told[0]
    assert "s3" not in caplog.text + shown + capfd.readouterr().err


def test_no_token_is_shown_with_the_settings() -> None:
    assert "s3cret" not in repr(settings_of("h:1", {"token": "s3cret"}, Intake()))
