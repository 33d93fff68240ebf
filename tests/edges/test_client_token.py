"""The token as it is sent."""

import pytest

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
