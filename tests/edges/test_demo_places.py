"""The demo's sidecar listens where it does by default, or beside whoever is there."""

import socket
from pathlib import Path

import pytest

from sidecar.config.keys import ADDRESSES, Config
from sidecar.demo.places import choose
from sidecar.demo.pointers import pointers


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "sidecar"


def taken(path: Path) -> socket.socket:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    return listening


def test_sockets_that_nobody_has_are_the_default_ones(runtime: Path, tmp_path: Path) -> None:
    places = choose(tmp_path)
    assert list(places.addresses) == list(ADDRESSES)
    assert places.addresses["agent_address"] == str(runtime / "agent.sock")
    assert places.addresses["admin_address"] == str(runtime / "admin.sock")


def test_a_socket_that_somebody_answers_at_is_left_alone(runtime: Path, tmp_path: Path) -> None:
    with taken(runtime / "agent.sock"):
        places = choose(tmp_path)
    assert places.addresses["agent_address"] == str(tmp_path / "agent.sock")
    assert places.addresses["admin_address"] == str(runtime / "admin.sock")
    assert f"unix:{runtime}/agent.sock is taken" in places.moved


def test_a_socket_that_was_left_behind_is_not_taken(runtime: Path, tmp_path: Path) -> None:
    taken(runtime / "agent.sock").close()
    assert (runtime / "agent.sock").exists()
    assert choose(tmp_path).addresses["agent_address"] == str(runtime / "agent.sock")


def test_a_directory_that_others_can_enter_is_not_used(runtime: Path, tmp_path: Path) -> None:
    runtime.mkdir(mode=0o755)
    places = choose(tmp_path)
    assert places.addresses["agent_address"] == str(tmp_path / "agent.sock")
    assert "only this user's" in places.moved[0]


def test_a_port_that_is_taken_gives_way_to_any_free_one(runtime: Path, tmp_path: Path) -> None:
    default = Config().agent_tcp_address
    host, port = default.rsplit(":", 1)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, int(port)))
            listening.listen()
        except OSError:  # somebody has it already, which is as good
            pass
        places = choose(tmp_path)
    assert places.addresses["agent_tcp_address"] == f"{host}:0"
    assert any(moved.startswith(f"{default} cannot be had") for moved in places.moved)


def test_the_commands_name_the_admin_address_only_where_it_is_not_the_users(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(runtime))
    addresses = {
        "telemetry_address": "127.0.0.1:1",
        "admin_http_address": "127.0.0.1:2",
        "admin_address": f"unix:{runtime}/admin.sock",
    }
    lines = list(pointers(addresses, session_id="looper-1"))
    assert lines[-2].endswith("sidecar sessions")
    assert lines[-1].endswith("sidecar explain --session looper-1")
    monkeypatch.setenv("SIDECAR_ADMIN_ADDRESS", "/elsewhere/admin.sock")
    lines = list(pointers(addresses, session_id="looper-1"))
    assert lines[-2].endswith(f"sidecar sessions ls --admin unix:{runtime}/admin.sock")
    assert lines[-1].endswith(
        f"sidecar explain --session looper-1 --admin unix:{runtime}/admin.sock"
    )
