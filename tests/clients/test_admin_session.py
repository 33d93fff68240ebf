"""docs/admin.md shows what grpcurl, built from its Go module, answers."""

import pytest

from tests.clients.admin_session import PAGE, commands, replayed

pytestmark = pytest.mark.clients

PAGE_TEXT = PAGE.read_text("utf-8")


def test_the_session_shown_is_the_session_that_there_is() -> None:
    assert replayed(PAGE_TEXT) == PAGE_TEXT


@pytest.mark.parametrize(
    "shown", ["list", "describe", "ListSessions", "GetSession", "ContinueSession", "CloseSession"]
)
def test_the_session_shows_each_way_of_asking(shown: str) -> None:
    assert any(shown in command for command in commands(PAGE_TEXT))
