"""What a sidecar serves over HTTP: pages for supervisors, JSON for agents and operators.

The pages of the telemetry listener are served by threads, since `/livez` has to answer while the
event loop is blocked. The JSON is served on the event loop, beside gRPC.
"""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry

from sidecar.adapters.calls import Calls
from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.http import CONNECTIONS_MAX, HttpListener, telemetry_pages
from sidecar.adapters.json_http import (
    Application,
    HttpSettings,
    JsonListener,
    Routes,
    agent_document,
    agent_routes,
    control_document,
    control_routes,
)
from sidecar.addresses import Address
from sidecar.config.keys import Config
from sidecar.health import Health
from sidecar.ports import Recorder
from sidecar.serving.listening import Listening
from sidecar.serving.secret_files import Secrets

AGENT_KEYS: Final = ("agent_http_address", "agent_http_tcp_address")
TELEMETRY_KEY: Final = "telemetry_address"
ADMIN_KEY: Final = "admin_http_address"

CONTROL_CONNECTIONS_MAX: Final = 32
"""At a time: a console and a few people."""


class HttpSide:
    """The listeners for HTTP of one sidecar."""

    def __init__(
        self,
        config: Config,
        secrets: Secrets,
        *,
        listening: Listening,
        health: Health,
        registry: CollectorRegistry,
        recorder: Recorder,
        calls: Calls,
    ) -> None:
        self._config = config
        self._secrets = secrets
        self._listening = listening
        self._health = health
        self._registry = registry
        self._recorder = recorder
        self._agent_routes = agent_routes(calls.turns, calls.answers)
        self._control_routes = control_routes(calls.control)
        self._pages: HttpListener | None = None
        self._listeners: list[JsonListener] = []

    @property
    def connections_max(self) -> int:
        """Connections that may be open at a time, of all listeners."""
        agents = sum(bool(getattr(self._config, key)) for key in AGENT_KEYS)
        return agents * self._config.streams_max + CONTROL_CONNECTIONS_MAX + CONNECTIONS_MAX

    async def start(self) -> None:
        """Listen. Raises OSError naming an address that there is no sidecar without."""
        for key in AGENT_KEYS:
            await self._listening.listen(key, partial(self._serve, key, self._agent_routes))
        await self._listening.listen(
            ADMIN_KEY, partial(self._serve, ADMIN_KEY, self._control_routes)
        )
        await self._listening.listen(TELEMETRY_KEY, self._serve_pages)

    async def stop(self, grace_s: float) -> None:
        """Serve no JSON any more; what is being answered may take the grace, in seconds."""
        await asyncio.gather(*(listener.stop(grace_s) for listener in self._listeners))

    async def close(self) -> None:
        """Serve no pages any more: they are for as long as there is a process."""
        if self._pages is not None:
            await asyncio.to_thread(self._pages.close)

    async def _serve_pages(self, address: Address) -> Address:
        pages = HttpListener(address, telemetry_pages(self._health, self._registry))
        await asyncio.to_thread(pages.start)
        self._pages = pages
        return pages.address

    async def _serve(self, key: str, routes: Routes, address: Address) -> Address:
        config, is_admin = self._config, key == ADMIN_KEY
        settings = HttpSettings(
            address=address,
            connections_max=CONTROL_CONNECTIONS_MAX if is_admin else config.streams_max,
            socket_mode=config.socket_permissions,
            socket_group=config.socket_group,
            tls=None if is_admin else self._secrets.http_tls,
        )
        listener = JsonListener(settings, recorder=self._recorder)
        await listener.start(self._application(routes, address, is_admin=is_admin))
        self._listeners.append(listener)
        return listener.address

    def _application(self, routes: Routes, address: Address, *, is_admin: bool) -> Application:
        documents: dict[str, Callable[[], bytes]] = {"/openapi.json": agent_document}
        if is_admin:
            documents = {"/openapi.json": control_document, "/statusz": self._statusz}
        return Application(
            routes,
            documents,
            address=address,
            authorization=Authorization(token=self._secrets.token),
            message_bytes_max=self._config.message_bytes_max,
            recorder=self._recorder,
        )

    def _statusz(self) -> bytes:
        return json.dumps(self._health.statusz(), indent=2).encode() + b"\n"
