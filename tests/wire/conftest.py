from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.wire.json_ports import Ports, ports
from tests.wire.served import Served, World, served


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(directory=tmp_path)


@pytest.fixture
async def server(world: World) -> AsyncIterator[Served]:
    async with served(world) as running:
        yield running


@pytest.fixture
async def http(server: Served) -> AsyncIterator[Ports]:
    async with ports(server) as serving:
        yield serving
