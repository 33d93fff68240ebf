"""Each client is built and checked once, before the first test that needs it."""

import os
from collections.abc import Iterator

import pytest

from tests.clients.languages import GO_OF_PYPI, LANGUAGES, Language, checked


@pytest.fixture(scope="session", autouse=True)
def _go_is_found() -> Iterator[None]:
    """The Go that was installed for these tests comes before an older one."""
    with pytest.MonkeyPatch.context() as patch:
        if GO_OF_PYPI.is_dir():
            patch.setenv("PATH", f"{GO_OF_PYPI}:{os.environ['PATH']}")
        yield


@pytest.fixture(scope="session")
def go(_go_is_found: None) -> Language:
    return checked(LANGUAGES["go"])


@pytest.fixture(scope="session")
def typescript() -> Language:
    return checked(LANGUAGES["typescript"])


@pytest.fixture(scope="session")
def java() -> Language:
    return checked(LANGUAGES["java"])
