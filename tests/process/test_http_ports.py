"""The JSON listeners of a real sidecar: TLS and tokens, addresses that are taken, and stopping."""

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from sidecar.testing import SidecarProcess

pytestmark = pytest.mark.process

TOKEN = "a-token-for-tests-only"
WITHIN_S = 15.0
JSON = {"Content-Type": "application/json"}
C = TypeVar("C", bound=http.client.HTTPConnection)
TURN = json.dumps({"turn": {"output_lines": 1}})


class OverSocket(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=WITHIN_S)
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WITHIN_S)
        self.sock.connect(os.fspath(path))


class Dial:
    """Connections that are closed when the test is over."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def keep(self, connection: C) -> C:
        self._stack.callback(connection.close)
        return connection

    def tcp(self, address: str) -> http.client.HTTPConnection:
        return self.keep(http.client.HTTPConnection(address, timeout=WITHIN_S))

    def tls(self, address: str, context: ssl.SSLContext) -> http.client.HTTPConnection:
        connection = http.client.HTTPSConnection(address, timeout=WITHIN_S, context=context)
        return self.keep(connection)

    def socket(self, path: Path) -> http.client.HTTPConnection:
        return self.keep(OverSocket(path))

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def dial() -> Iterator[Dial]:
    with closing(Dial()) as dialling:
        yield dialling


def record(connection: http.client.HTTPConnection, **headers: str) -> tuple[int, Any]:
    connection.request("POST", "/v1/sessions/s/turns", TURN, {**JSON, **headers})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    new = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 2"
    names = "-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    files = f"-keyout {tmp_path}/key.pem -out {tmp_path}/certificate.pem"
    subprocess.run([*new.split(), *names.split(), *files.split()], check=True, capture_output=True)
    return tmp_path / "certificate.pem"


def test_over_tcp_it_speaks_tls_and_wants_the_token_where_both_are_configured(
    tmp_path: Path, dial: Dial, certificate: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    flags = [
        f"--tls-certificate-file={certificate}",
        f"--tls-key-file={tmp_path}/key.pem",
        f"--token-file={token}",
    ]
    trusting = ssl.create_default_context(cafile=os.fspath(certificate))
    with SidecarProcess(tmp_path, flags=flags) as sidecar:
        address = sidecar.addresses["agent_http_tcp_address"]
        secure = dial.tls(address, trusting)
        assert record(secure)[0] == 401
        assert record(secure, Authorization=f"Bearer {TOKEN}")[0] == 200
        plain = dial.tcp(address)
        with pytest.raises((http.client.HTTPException, OSError)):
            record(plain, Authorization=f"Bearer {TOKEN}")
        assert record(dial.socket(tmp_path / "agent-http.sock"))[0] == 200
        admin = dial.tcp(sidecar.addresses["admin_http_address"])
        admin.request("GET", "/v1/sessions")
        assert admin.getresponse().status == 401
        near = dial.tcp(sidecar.addresses["admin_http_address"])
        near.request("GET", "/statusz")
        assert near.getresponse().status == 200


def test_a_caller_without_a_certificate_is_not_let_in_where_one_is_wanted(
    tmp_path: Path, dial: Dial, certificate: Path
) -> None:
    flags = [
        f"--tls-certificate-file={certificate}",
        f"--tls-key-file={tmp_path}/key.pem",
        f"--tls-client-ca-file={certificate}",
    ]
    trusting = ssl.create_default_context(cafile=os.fspath(certificate))
    known = ssl.create_default_context(cafile=os.fspath(certificate))
    known.load_cert_chain(certificate, tmp_path / "key.pem")
    with SidecarProcess(tmp_path, flags=flags) as sidecar:
        address = sidecar.addresses["agent_http_tcp_address"]
        with pytest.raises((http.client.HTTPException, OSError)):
            record(dial.tls(address, trusting))
        connection = dial.tls(address, known)
        assert record(connection)[0] == 200


def test_the_sockets_have_the_mode_that_is_configured_and_are_gone_afterwards(
    tmp_path: Path,
) -> None:
    path = tmp_path / "agent-http.sock"
    with SidecarProcess(tmp_path, flags=["--socket-mode=0600"]) as sidecar:
        assert path.stat().st_mode & 0o777 == 0o600
        assert sidecar.stop() == 0
    assert not path.exists()


def test_connections_that_are_kept_alive_do_not_keep_it_from_stopping(
    tmp_path: Path, dial: Dial
) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        connection = dial.tcp(sidecar.addresses["agent_http_tcp_address"])
        half = socket.create_connection(
            ("127.0.0.1", int(sidecar.addresses["agent_http_tcp_address"].rpartition(":")[2]))
        )
        half.sendall(b"POST /v1/sessions/s/turns HTTP/1.1\r\nHost: localhost\r\n")
        assert record(connection)[0] == 200
        assert sidecar.stop(signal.SIGTERM) == 0
        half.close()


def test_turns_are_there_after_a_kill(tmp_path: Path, dial: Dial) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        record(dial.tcp(sidecar.addresses["agent_http_tcp_address"]))
        assert sidecar.stop() == 0
        sidecar.restart()
        status, answer = record(dial.tcp(sidecar.addresses["agent_http_tcp_address"]))

    assert (status, answer["decision"]["sequence"]) == (200, 2)


@pytest.fixture
def taken(tmp_path: Path) -> Iterator[Path]:
    """The default socket of JSON, with somebody else behind it."""
    path = tmp_path / "sidecar" / "agent-http.sock"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(os.fspath(path))
        other.listen()
        yield path


def serve(directory: Path, *flags: str) -> "subprocess.Popen[str]":
    command = [
        sys.executable, "-c", "from sidecar.cli import main; main()", "serve",
        f"--agent-address={directory}/agent.sock",
        f"--admin-address={directory}/admin.sock",
        "--agent-tcp-address=", "--agent-http-tcp-address=", "--telemetry-address=",
        "--admin-http-address=127.0.0.1:0", "--state-directory=", *flags,
    ]  # fmt: skip
    environment = {**os.environ, "XDG_RUNTIME_DIR": os.fspath(directory)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=environment, **pipes)  # type: ignore[call-overload, no-any-return]


def test_a_default_address_that_is_anothers_is_left_out_and_shown(
    tmp_path: Path, dial: Dial, taken: Path
) -> None:
    with serve(tmp_path) as process:
        try:
            assert process.stdout is not None
            words = process.stdout.readline().split()
            addresses = dict(word.split("=", 1) for word in words[1:])
            admin = dial.tcp(addresses["admin_http_address"])
            admin.request("GET", "/statusz")
            parts = json.loads(admin.getresponse().read())["components"]
        finally:
            process.terminate()

    assert "agent_http_address" not in addresses
    assert parts["agent_http_address"]["status"] == "PERMANENT"
    assert str(taken) in parts["agent_http_address"]["last_error"]
    assert taken.exists()


def test_an_address_that_was_asked_for_and_is_anothers_stops_the_start(
    tmp_path: Path, taken: Path
) -> None:
    with serve(tmp_path, f"--agent-http-address={taken}") as process:
        _, errors = process.communicate(timeout=WITHIN_S)

    assert process.returncode != 0
    assert str(taken) in errors
