"""A sidecar for the hosts of one module."""

from collections.abc import Iterator

import pytest

from sidecar.testing import SidecarProcess


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarProcess]:
    with SidecarProcess(tmp_path_factory.mktemp("sidecar")) as started:
        yield started
