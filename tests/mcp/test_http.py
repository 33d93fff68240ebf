"""`sidecar mcp --http`: the SDK's client, a real sidecar, and callers that should not get in."""

import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sidecar.mcp.serving import CONNECTIONS_MAX
from sidecar.testing import SidecarProcess
from tests.mcp.hosts import (
    COMMAND,
    ENDS_WITHIN_S,
    INITIALIZE,
    LOOPING,
    PATIENT,
    Endpoint,
    calling,
    explanation,
    give,
    over_http,
    session_of,
    wait_closed,
)

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def endpoint(
    sidecar: SidecarProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Endpoint]:
    with over_http(sidecar.agent, tmp_path_factory.mktemp("mcp"), PATIENT) as started:
        yield started


async def test_each_http_session_is_a_run_of_its_own(
    endpoint: Endpoint, sidecar: SidecarProcess
) -> None:
    async with endpoint.host() as one, endpoint.host() as other:
        for _ in range(3):
            told = await give(one, "report_turn", LOOPING)
        alone = await give(other, "report_turn", LOOPING)
        ids = [(await give(host, "get_status"))["session_id"] for host in (one, other)]
        turns = [session_of(sidecar, each).last_sequence for each in ids]
        text = await explanation(other)

    assert (told["kind"], alone["kind"]) == ("rotate", "proceed")
    assert turns == [3, 1]
    assert text.startswith(f"# {ids[1]}: ")
    for session_id in ids:
        wait_closed(sidecar, session_id)  # the SDK's client ends its session when it leaves


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("authorization", "", 401),
        ("authorization", "Bearer wrong", 401),
        ("authorization", "Bearer", 401),
        ("authorization", "Basic {token}", 401),
        ("host", "sidecar.example", 403),
        ("host", "127.0.0.1:1", 403),
        ("origin", "https://sidecar.example", 403),
        ("origin", "null", 403),
        ("origin", "http://127.0.0.1", 403),
        ("mcp-session-id", "0" * 32, 404),
        ("content-type", "text/plain", 400),
        ("accept", "text/html", 406),
    ],
)
def test_a_caller_that_should_not_get_in_is_refused(
    endpoint: Endpoint, header: str, value: str, status: int
) -> None:
    token = endpoint.token_file.read_text().strip()
    response = endpoint.post(INITIALIZE, **{header: value.format(token=token)})

    assert response.status_code == status
    if "mcp-session-id" in response.headers:
        session = {"mcp-session-id": response.headers["mcp-session-id"]}
        assert endpoint.post(calling("get_status", {}), **session).status_code == 404


def test_a_page_of_this_server_s_own_gets_in(endpoint: Endpoint) -> None:
    origin = endpoint.url.removesuffix("/mcp")

    assert endpoint.post(INITIALIZE, origin=origin).status_code == 200


def test_callers_by_another_loopback_address_get_in(
    sidecar: SidecarProcess, tmp_path: Path
) -> None:
    with over_http(sidecar.agent, tmp_path, "--http=127.0.0.2:0", PATIENT) as endpoint:
        origin = endpoint.url.removesuffix("/mcp")
        own = endpoint.post(INITIALIZE, origin=origin)
        other = endpoint.post(INITIALIZE, host=endpoint.url.split("/")[2].replace("0.2", "0.3"))

    assert origin.startswith("http://127.0.0.2:")
    assert (own.status_code, other.status_code) == (200, 403)
    assert f"'{origin.removeprefix('http://')}'" in other.text


def test_a_session_s_id_is_of_no_use_without_the_token(endpoint: Endpoint) -> None:
    session = {"mcp-session-id": endpoint.begin()}
    stranger = endpoint.post(calling("get_status", {}), authorization="Bearer x", **session)
    owner = endpoint.post(calling("get_status", {}), **session)

    assert (stranger.status_code, owner.status_code) == (401, 200)


def test_a_version_without_sessions_is_answered_with_those_that_have_them(
    endpoint: Endpoint,
) -> None:
    headers = {"mcp-protocol-version": "2026-07-28"}
    response = endpoint.post({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}, **headers)
    error = response.json()["error"]

    assert (response.status_code, error["code"]) == (400, -32022)
    assert "2025-11-25" in error["data"]["supported"]


def test_a_body_above_4_mib_is_refused_and_the_session_goes_on(endpoint: Endpoint) -> None:
    session = {"mcp-session-id": endpoint.begin()}
    large = endpoint.post(calling("report_turn", {"text": "x" * 5_000_000}), **session)
    small = endpoint.post(calling("report_turn", {"text": "x" * 3_000_000}), **session)

    assert (large.status_code, small.status_code) == (413, 200)
    assert small.json()["result"]["structuredContent"]["sequence"] == 1


@pytest.mark.parametrize(
    "params",
    [
        {"name": "report_turn", "arguments": [1]},
        {"name": "report_turn", "arguments": "x"},
        {"name": 7},
        {},
        [],
    ],
)
def test_a_call_that_is_none_is_an_error_of_the_protocol(endpoint: Endpoint, params: Any) -> None:
    session = {"mcp-session-id": endpoint.begin()}
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    response = endpoint.post(message, **session)

    assert response.status_code in (200, 400)
    assert response.json()["error"]["code"] in (-32602, -32600, -32700)
    assert endpoint.post(calling("report_turn", {}), **session).status_code == 200


def test_a_session_that_is_not_used_is_closed_with_its_run(
    sidecar: SidecarProcess, tmp_path: Path
) -> None:
    with over_http(sidecar.agent, tmp_path, "--http-idle=6", PATIENT) as endpoint:
        session = {"mcp-session-id": endpoint.begin()}
        status = endpoint.post(calling("get_status", {}), **session).json()
        session_id = status["result"]["structuredContent"]["session_id"]
        wait_closed(sidecar, session_id)
        gone = endpoint.post(calling("get_status", {}), **session)

    assert gone.status_code == 404


def test_a_session_id_of_one_s_own_is_one_run_at_a_time(
    sidecar: SidecarProcess, tmp_path: Path
) -> None:
    with over_http(sidecar.agent, tmp_path, "--session-id=only", PATIENT) as endpoint:
        first = {"mcp-session-id": endpoint.begin()}
        assert endpoint.post(calling("report_turn", {}), **first).status_code == 200
        second = endpoint.post(INITIALIZE)
        assert session_of(sidecar, "only").last_sequence == 1
        ended = endpoint.delete(**first)
        third = endpoint.post(INITIALIZE)

    assert (second.status_code, ended, third.status_code) == (503, 200, 200)


def test_what_begins_no_session_takes_no_place(sidecar: SidecarProcess, tmp_path: Path) -> None:
    with over_http(sidecar.agent, tmp_path, "--session-id=place", PATIENT) as endpoint:
        refused = [endpoint.post(calling("get_status", {})).status_code for _ in range(3)]

        assert refused == [400, 400, 400]
        assert endpoint.post(INITIALIZE).status_code == 200


def test_stopped_by_sigterm_it_closes_its_runs_and_ends_with_0(
    sidecar: SidecarProcess, tmp_path: Path
) -> None:
    with over_http(sidecar.agent, tmp_path, "--session-id=stopped", PATIENT) as endpoint:
        session = {"mcp-session-id": endpoint.begin()}
        endpoint.post(calling("report_turn", {}), **session)
        endpoint.process.send_signal(signal.SIGTERM)

        assert endpoint.process.wait(ENDS_WITHIN_S) == 0
    wait_closed(sidecar, "stopped")


def test_the_token_is_made_once_for_its_user_only(sidecar: SidecarProcess, tmp_path: Path) -> None:
    with over_http(sidecar.agent, tmp_path) as endpoint:
        token, mode = endpoint.token_file.read_text(), endpoint.mode
    with over_http(sidecar.agent, tmp_path) as endpoint:
        again = endpoint.token_file.read_text()

    assert (mode, again) == (0o600, token)
    assert len(token.strip()) >= 32


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        ("secret\n", 0o644, "can be read by others: chmod 600"),
        ("\n", 0o600, "holds no token"),
        ("two words\n", 0o600, "holds no token"),
    ],
)
def test_a_token_file_that_is_of_no_use_is_refused(
    tmp_path: Path, content: str, mode: int, said: str
) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(mode)
    done = _refused("--http=127.0.0.1:0", f"--http-token-file={path}")

    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "sidecar.example:80", "/tmp/mcp", "9"])
def test_it_listens_on_loopback_only(address: str) -> None:
    done = _refused(f"--http={address}")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sidecar: --http {address}: it must be a loopback address")


def _refused(*options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *options], capture_output=True, text=True, check=False, timeout=ENDS_WITHIN_S
    )


def test_connections_that_never_end_a_head_are_bounded(
    sidecar: SidecarProcess, tmp_path: Path
) -> None:
    with over_http(sidecar.agent, tmp_path) as endpoint, ExitStack() as begun:
        where = ("127.0.0.1", int(urlsplit(endpoint.url).port or 0))
        for _ in range(CONNECTIONS_MAX):
            begun.enter_context(socket.create_connection(where)).sendall(b"POST")
        with socket.create_connection(where, timeout=ENDS_WITHIN_S) as beyond:
            refused = beyond.recv(64)
        begun.close()

        assert refused.startswith(b"HTTP/1.1 429 ")
        assert endpoint.post(INITIALIZE).status_code == 200
