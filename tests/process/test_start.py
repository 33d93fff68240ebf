"""P9: it starts degraded rather than not at all; only an invalid configuration stops it."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk import environment_variables

from sidecar.config.keys import flag_name
from sidecar.testing import SidecarProcess
from sidecar.testing.process import COMMAND
from tests.process.streams import agents
from tests.process.test_health_matrix import WITHIN_S, until

pytestmark = pytest.mark.process

TCP = ("agent_tcp_address", "agent_http_tcp_address", "telemetry_address", "admin_http_address")
DEFAULT_TCP = """
import json, sys
from sidecar.cli import main
from sidecar.config.keys import Config

Config.__init__.__kwdefaults__.update(json.loads(sys.argv.pop(1)))
# The double's own free ports are left out, so that the defaults stand.
free = [flag for flag in sys.argv if flag.endswith("-address=127.0.0.1:0")]
again = [flag for flag in free if free.count(flag) > 1]
sys.argv = [flag for flag in sys.argv if flag not in free] + again[:1]
main()
"""


def part(sidecar: SidecarProcess, component: str) -> dict[str, Any]:
    url = f"http://{sidecar.addresses['admin_http_address']}/statusz"
    with urllib.request.urlopen(url, timeout=WITHIN_S) as page:
        found: dict[str, Any] = json.load(page)["components"][component]
    return found


def status(sidecar: SidecarProcess, component: str) -> str:
    return str(part(sidecar, component)["status"])


def counted(sidecar: SidecarProcess, metric: str) -> dict[str, float]:
    """The series of a metric, by their labels."""
    url = f"http://{sidecar.addresses['telemetry_address']}/metrics"
    with urllib.request.urlopen(url, timeout=WITHIN_S) as page:
        lines = page.read().decode().splitlines()
    series = [line.removeprefix(metric + "{").rsplit("} ", 1) for line in lines if metric in line]
    return {pair[0]: float(pair[1]) for pair in series if len(pair) > 1}


def serves(sidecar: SidecarProcess) -> bool:
    with agents(sidecar, 1) as fleet:
        return fleet[0].turn(1).sequence == 1


def test_the_socket_answers_before_ready_is_said(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        assert serves(sidecar)


@pytest.mark.parametrize("streams", [">/dev/full", ">&-", "2>&-", "<&-"])
def test_a_standard_stream_that_cannot_be_used_stops_nothing(tmp_path: Path, streams: str) -> None:
    command = ("sh", "-c", f'exec "$@" {streams}', "sh", *COMMAND)
    sidecar = SidecarProcess(tmp_path, command=command)
    sidecar.spawn()
    with sidecar:
        assert until((tmp_path / "agent-http.sock").exists)
        assert serves(sidecar)
        assert sidecar.stop() == 0

    assert not list(tmp_path.glob("*.sock"))
    assert "Traceback" not in sidecar.log
    assert sidecar.log.count("nobody takes the line `ready`") == streams.startswith(">")


def test_who_has_left_before_it_is_ready_stops_nothing(tmp_path: Path) -> None:
    sidecar = SidecarProcess(tmp_path)
    sidecar.spawn()
    with sidecar:
        assert sidecar.process.stdout is not None
        sidecar.process.stdout.close()
        assert until((tmp_path / "agent-http.sock").exists)
        assert serves(sidecar)
        assert sidecar.stop() == 0

    assert not list(tmp_path.glob("*.sock"))
    assert sidecar.log.count("nobody takes the line `ready`") == 1


def test_a_collector_that_is_absent_stops_nothing(tmp_path: Path) -> None:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with SidecarProcess(tmp_path, environment=environment) as sidecar:
        assert serves(sidecar)


@pytest.mark.parametrize(("exporter", "named"), [("none", False), ("otlp", True)])
def test_variables_of_opentelemetry_that_cannot_be_understood_stop_nothing(
    tmp_path: Path, exporter: str, *, named: bool
) -> None:
    names = [name for name in dir(environment_variables) if name.startswith("OTEL_")]
    environment = dict.fromkeys(names, "?") | {"OTEL_TRACES_EXPORTER": exporter}
    with SidecarProcess(tmp_path, environment=environment) as sidecar:
        assert serves(sidecar)
        assert ("exporter is permanent: " in sidecar.log) is named


def test_no_api_key_stops_nothing(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path, environment={"ANTHROPIC_API_KEY": ""}) as sidecar:
        assert serves(sidecar)


def test_a_state_directory_that_cannot_be_made_stops_nothing_and_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    flags = [f"--state-directory={tmp_path}/file/state"]
    with SidecarProcess(tmp_path, flags=flags) as sidecar:
        assert serves(sidecar)
        assert until(lambda: status(sidecar, "store") == "RECOVERABLE")
        assert "digests are kept under a key of this process only" in sidecar.log


def test_a_key_that_was_lost_is_replaced_and_that_is_said_once(tmp_path: Path) -> None:
    said_so_far = []
    for is_lost in (False, True, False):
        if is_lost:
            (tmp_path / "state" / "key").unlink()
        with SidecarProcess(tmp_path) as sidecar:
            assert serves(sidecar)
        said_so_far.append(sidecar.log.count("so a new one was made: what a run did before"))

    assert said_so_far == [0, 1, 1]


def test_a_socket_left_behind_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "agent.sock"))
    with SidecarProcess(tmp_path) as sidecar:
        assert serves(sidecar)


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "agent.sock").write_text("notes")
    sidecar = SidecarProcess(tmp_path)
    sidecar.spawn()
    with sidecar:
        code = sidecar.process.wait(WITHIN_S)

    assert code == 1
    assert "no socket" in sidecar.log
    assert (tmp_path / "agent.sock").read_text() == "notes"


def test_a_socket_that_somebody_answers_at_is_left_alone(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as first:
        second = SidecarProcess(tmp_path)
        second.spawn()
        with second:
            code = second.process.wait(WITHIN_S)
        assert code == 1
        at = f"agent_address: another process answers at unix:{tmp_path}/agent.sock"
        assert second.log.splitlines()[-1] == f"sidecar: {at}; --agent-address gives another"
        assert serves(first)


@pytest.fixture
def taken() -> Iterator[dict[str, str]]:
    """Default TCP addresses with somebody behind them, by configuration key.

    They are the test's own: who is at the real ones, and for how long, is no matter of a test.
    """
    with ExitStack() as held:
        others = {key: held.enter_context(socket.create_server(("127.0.0.1", 0))) for key in TCP}
        yield {key: "{}:{}".format(*other.getsockname()) for key, other in others.items()}


def beside(taken: dict[str, str], directory: Path, *asked_for: str) -> SidecarProcess:
    """A sidecar with sockets and state of its own, under default TCP addresses that are taken."""
    command = (sys.executable, "-c", DEFAULT_TCP, json.dumps(taken))
    return SidecarProcess(directory, flags=asked_for, command=command)


def test_default_tcp_addresses_that_are_anothers_stop_nothing_and_are_said(
    tmp_path: Path, taken: dict[str, str]
) -> None:
    with beside(taken, tmp_path, "--admin-http-address=127.0.0.1:0") as sidecar:
        assert serves(sidecar)
        left_out = set(TCP) - {"admin_http_address"}
        assert left_out.isdisjoint(sidecar.addresses)
        assert {status(sidecar, key) for key in left_out} == {"PERMANENT"}
        said = [line for line in sidecar.log.splitlines() if "WARNING" in line]

    assert len(said) == len(left_out)
    for key in left_out:
        at = f"cannot listen at {taken[key]}: Address already in use"
        assert [line for line in said if f"{key} is permanent: {at}" in line]


@pytest.mark.parametrize("key", TCP)
def test_a_default_tcp_address_that_was_asked_for_and_is_anothers_stops_it(
    tmp_path: Path, taken: dict[str, str], key: str
) -> None:
    sidecar = beside(taken, tmp_path, f"{flag_name(key)}={taken[key]}")
    sidecar.spawn()
    with sidecar:
        code = sidecar.process.wait(WITHIN_S)

    assert code == 1
    assert sidecar.log.splitlines()[-1] == (
        f"sidecar: {key}: cannot listen at {taken[key]}: Address already in use; "
        f"{flag_name(key)} gives another"
    )


def test_an_address_of_a_file_that_is_anothers_is_told_with_its_place_there(
    tmp_path: Path, taken: dict[str, str]
) -> None:
    key = "telemetry_address"
    file = tmp_path / "sidecar.yaml"
    file.write_text(f"# mine\n{key}: {taken[key]}\n")
    sidecar = beside(taken, tmp_path, f"--config={file}")
    sidecar.spawn()
    with sidecar:
        code = sidecar.process.wait(WITHIN_S)

    assert code == 1
    assert sidecar.log.splitlines()[-1] == (
        f"sidecar: {file}:2: {key}: cannot listen at {taken[key]}: Address already in use; "
        f"{flag_name(key)} gives another"
    )


@pytest.mark.parametrize(
    ("place", "why"), [("/proc", "No such file or directory"), ("/proc/cpuinfo", "File exists")]
)
def test_a_socket_that_cannot_be_made_stops_it_with_one_line_that_says_why(
    tmp_path: Path, place: str, why: str
) -> None:
    sidecar = SidecarProcess(tmp_path, flags=[f"--agent-address={place}/agent.sock"])
    sidecar.spawn()
    with sidecar:
        code = sidecar.process.wait(WITHIN_S)

    assert code == 1
    assert "Traceback" not in sidecar.log
    assert sidecar.log.splitlines()[-1] == (
        f"sidecar: agent_address: cannot listen at unix:{place}/agent.sock: {why}; "
        "--agent-address gives another"
    )


def test_a_corrupt_database_is_set_aside_counted_and_said(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "sidecar.db").write_bytes(b"this is no database" * 1000)
    with SidecarProcess(tmp_path) as sidecar:
        assert serves(sidecar)
        assert until(lambda: status(sidecar, "store") == "OK")
        remembered = part(sidecar, "store")["last_error"]
        lost = counted(sidecar, "sidecar_lost_total")
    aside = [path.name for path in state.iterdir() if "corrupt" in path.name]

    assert aside
    assert aside[0] in sidecar.log
    assert lost['reason="corrupt",what="store"'] == 1
    assert remembered == "file is not a database"


def test_a_half_written_snapshot_is_quarantined_and_the_journal_stands_in(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        with agents(sidecar, 1) as fleet:
            for sequence in range(1, 6):
                fleet[0].turn(sequence)
            fleet[0].half_close()
        assert sidecar.stop() == 0
        with sqlite3.connect(tmp_path / "state" / "sidecar.db") as database:
            database.execute("UPDATE snapshot SET body = substr(body, 1, 20)")
        database.close()
        sidecar.restart()
        with agents(sidecar, 1) as fleet:
            assert fleet[0].last_sequence == 5
        lost = counted(sidecar, "sidecar_lost_total")

    assert {key: count for key, count in lost.items() if "snapshot" in key} == {
        'reason="corrupt",what="snapshot"': 1
    }


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--streams-max=many"], ("streams_max", "many")),
        (["--streams-max=0"], ("streams_max", "0")),
        (["--agent-tcp-address=0.0.0.0:4300"], ("agent_tcp_address", "0.0.0.0")),
        (["--default-policy=nonesuch"], ("default_policy", "nonesuch")),
    ],
)
def test_an_invalid_configuration_ends_it_with_2_and_one_line(
    tmp_path: Path, flags: list[str], said: tuple[str, ...]
) -> None:
    sidecar = SidecarProcess(tmp_path, flags=flags)
    sidecar.spawn()
    with sidecar:
        code = sidecar.process.wait(WITHIN_S)

    assert code == 2
    assert len(sidecar.log.splitlines()) == 1
    assert all(word in sidecar.log for word in said)


def test_a_config_file_with_a_mistyped_key_names_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("stream_max: 5\n")
    run = subprocess.run(
        [sys.executable, "-c", "from sidecar.cli import main; main()", "check-config",
         f"--config={path}"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        check=False,
        timeout=WITHIN_S,
    )  # fmt: skip

    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert "stream_max" in run.stderr
    assert "streams_max" in run.stderr
