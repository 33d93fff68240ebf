"""The ways by which an agent reports turns: each plays a script and returns what was decided."""

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import httpx2
from mcp import Client

from sidecar.conformance.python_turn import report_of
from sidecar.testing import SidecarProcess
from tests.clients.languages import LANGUAGES
from tests.clients.script import LIMITS, POLICY, SESSION_ID
from tests.mcp.hosts import PATIENT, give, over_http, over_stdio

PYTHON_DRIVER = f"{shlex.quote(sys.executable)} -m sidecar.conformance.python_driver"
TIMEOUT_MS = 20_000
"""A decision is waited for however busy the machine is: here it counts what was decided."""

ENDS_WITHIN_S = 60.0

Decisions: TypeAlias = list[dict[str, Any]]
Script: TypeAlias = Sequence[Mapping[str, Any]]
Play: TypeAlias = Callable[[SidecarProcess, Script], Decisions]


def asked(driver: str, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a driver replies."""
    done = subprocess.run(
        shlex.split(driver),
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True,
        text=True,
        check=False,
        timeout=ENDS_WITHIN_S,
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(replies) == len(requests), f"{driver}: {done.stderr}"
    return replies


def by_driver(command: str) -> Play:
    """By a client in some language, through its conformance driver."""

    def play(sidecar: SidecarProcess, script: Script) -> Decisions:
        options = {
            "address": sidecar.agent,
            "session_id": SESSION_ID,
            "policy": POLICY,
            "limits": dict(LIMITS),
            "timeout_ms": TIMEOUT_MS,
        }
        requests: list[dict[str, Any]] = [{"do": "start", "options": options}]
        requests += [{"do": "turn", "turn": dict(turn)} for turn in script]
        requests += [{"do": "close", "close": {}}, {"do": "stop"}]
        replies = asked(command, requests)
        return [reply["directive"]["decision"] for reply in replies[1 : 1 + len(script)]]

    return play


def by_json(sidecar: SidecarProcess, script: Script) -> Decisions:
    """By plain JSON over HTTP."""
    url = f"http://{sidecar.addresses['agent_http_tcp_address']}/v1/sessions/{SESSION_ID}/turns"
    opening = {"policy": POLICY, "limits": dict(LIMITS)}
    decisions = []
    with httpx2.Client(timeout=ENDS_WITHIN_S) as http:
        for turn in script:
            response = http.post(url, json={"open": opening, "turn": dict(turn)})
            assert response.status_code == 200, response.text
            decisions.append(response.json()["decision"])
    return decisions


MCP_OPTIONS = (
    f"--session-id={SESSION_ID}",
    f"--policy={POLICY}",
    f"--max-turns={LIMITS['max_turns']}",
    PATIENT,
)


def by_mcp_stdio(sidecar: SidecarProcess, script: Script) -> Decisions:
    """By an MCP host over standard input and output."""

    async def play() -> Decisions:
        async with over_stdio(sidecar.agent, *MCP_OPTIONS) as host:
            return await _reported(host, script)

    return asyncio.run(play())


def by_mcp_http(sidecar: SidecarProcess, script: Script) -> Decisions:
    """By an MCP host over streamable HTTP."""

    async def play() -> Decisions:
        with over_http(sidecar.agent, sidecar.directory, *MCP_OPTIONS) as endpoint:
            async with endpoint.host() as host:
                return await _reported(host, script)

    return asyncio.run(play())


async def _reported(host: Client, script: Script) -> Decisions:
    return [await give(host, "report_turn", report_of(turn)) for turn in script]


TRANSPORTS: Mapping[str, Play] = {
    "python": by_driver(PYTHON_DRIVER),
    "python, asynchronous": by_driver(f"{PYTHON_DRIVER} --asynchronous"),
    **{each.name: by_driver(shlex.quote(str(each.driver))) for each in LANGUAGES.values()},
    "json over http": by_json,
    "mcp over stdio": by_mcp_stdio,
    "mcp over http": by_mcp_http,
}
