"""The program installed by pipx and started as the unit starts it: who may connect to what.

As root, since a service of one user and agents of others are the point.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy import units
from tests.deploy.installing import install, missing, open_directory, python_for_all
from tests.deploy.manifests import GRAFANA
from tests.deploy.notified import Service, running

pytestmark = [
    pytest.mark.deploy,
    pytest.mark.skipif(os.geteuid() != 0, reason="starts processes of three users: run as root"),
    pytest.mark.skipif(bool(missing()), reason="no systemd tools here: see install-test-tools.sh"),
]

SERVICE_ID = 64_101
"""User and group of the service, as numbers that no account here has."""
AGENT_ID = 64_102
OTHER_ID = 64_103
MASKS_OF_OTHERS = 0o007

FAMILIES = {
    "AF_UNIX": socket.AF_UNIX,
    "AF_INET": socket.AF_INET,
    "AF_INET6": socket.AF_INET6,
}

LOOK = """
import errno, json, socket, sys
def look(path):
    with socket.socket(socket.AF_UNIX) as one:
        return errno.errorcode.get(one.connect_ex(path), "connected")
print(json.dumps([look(path) for path in sys.argv[1:]]))
"""

ONE_TURN = """
import sys
from sidecar.client import Client
with Client(sys.argv[1], agent_name="neighbour", session_id="n-1", timeout_s=10.0) as client:
    directive = client.turn(input_tokens=10)
    print(directive.kind.value, directive.decision is not None)
    client.close(timeout_s=10.0)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """A machine with the sidecar on it."""

    program: Path
    config: Path
    runtime: Path
    service: Service

    @property
    def python(self) -> Path:
        """That which the program runs in."""
        return self.program.resolve().parent / "python"

    def as_user(
        self, uid: int, *command: str | Path, groups: Sequence[int] = ()
    ) -> "subprocess.CompletedProcess[str]":
        """Run something as somebody."""
        return subprocess.run(
            command,
            user=uid,
            group=uid,
            extra_groups=groups,
            cwd="/",
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def looks(self, uid: int, *names: str, groups: Sequence[int] = ()) -> list[str]:
        """What comes of connecting to sockets of the runtime directory."""
        paths = [self.runtime / name for name in names]
        done = self.as_user(uid, self.python, "-c", LOOK, *paths, groups=groups)
        assert done.returncode == 0, done.stderr
        found: list[str] = json.loads(done.stdout)
        return found


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    """`sidecar`, installed by pipx."""
    python = python_for_all()
    if python is None:
        pytest.skip("no Python here that other users can run")
    with open_directory() as directory:
        yield install(directory, python=python)


@pytest.fixture(scope="module")
def deployed(program: Path) -> Iterator[Deployed]:
    """The service, started as the unit says, with directories of the test for those of the unit."""
    with open_directory() as directory:
        runtime, state = directory / "run", directory / "state"
        for path, key in ((runtime, "RuntimeDirectoryMode"), (state, "StateDirectoryMode")):
            path.mkdir()
            os.chown(path, SERVICE_ID, SERVICE_ID)
            path.chmod(int(units.one(units.UNIT, key=key), 8))
        config = directory / "config.yaml"
        config.write_text(_configuration(runtime, state))
        command = [*_confined(), program, "serve", "--config", config]
        with running([str(part) for part in command], directory, environment=_environment()) as one:
            yield Deployed(program=program, config=config, runtime=runtime, service=one)


def _configuration(runtime: Path, state: Path) -> str:
    text = units.CONFIG.read_text()
    for shipped, here in (
        (units.RUNTIME, str(runtime)),
        (units.STATE, str(state)),
        ("socket_group: agent-sidecar", f'socket_group: "{SERVICE_ID}"'),
        ("127.0.0.1:9464", "127.0.0.1:0"),
    ):
        assert shipped in text
        text = text.replace(shipped, here)
    return text


def _confined() -> list[str]:
    families = units.one(units.UNIT, key="RestrictAddressFamilies").split()
    settings = {
        "uid": SERVICE_ID,
        "gid": SERVICE_ID,
        "umask": int(units.one(units.UNIT, key="UMask"), 8),
        "calls": units.system_calls(units.service(units.UNIT)["SystemCallFilter"]),
        "families": [FAMILIES[name] for name in families],
    }
    return [sys.executable, str(Path(__file__).parent / "confined.py"), json.dumps(settings)]


def _environment() -> dict[str, str]:
    watchdog_usec = int(units.one(units.UNIT, key="WatchdogSec")) * 1_000_000
    return {"WATCHDOG_USEC": str(watchdog_usec)}


AGENTS_SOCKETS = ("agent.sock", "agent-http.sock")
CONTROL_SOCKETS = ("control/admin.sock", "control/admin-http.sock")


def test_it_starts_and_serves_within_the_filters_of_the_unit(deployed: Deployed) -> None:
    status = Path(f"/proc/{deployed.service.process.pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split() == [str(SERVICE_ID)] * 4
    assert (fields["Seccomp"], fields["NoNewPrivs"]) == ("2", "1")


def test_a_user_of_the_group_connects_and_is_answered(deployed: Deployed) -> None:
    groups = [SERVICE_ID]
    assert deployed.looks(AGENT_ID, *AGENTS_SOCKETS, groups=groups) == ["connected"] * 2
    address = deployed.runtime / "agent.sock"
    health = deployed.as_user(
        AGENT_ID, deployed.program, "health", "--address", address, groups=groups
    )
    assert (health.returncode, health.stdout) == (0, "SERVING\n"), health.stderr
    turn = deployed.as_user(AGENT_ID, deployed.python, "-c", ONE_TURN, address, groups=groups)
    assert turn.stdout == "proceed True\n", turn.stderr


def test_the_commands_of_runbooks_find_the_unit_as_their_page_has_them_for_systemd(
    deployed: Deployed,
) -> None:
    page = (GRAFANA / "alerts" / "README.md").read_text()
    installed = units.one(units.UNIT, key="ExecStart").partition("--config ")[2]
    named = re.findall(rf"`sudo sidecar ([a-z -]+) --config {installed}`", page)
    runbooks = "".join(path.read_text() for path in GRAFANA.glob("runbooks/*.md"))
    asked = {
        command
        for block in re.findall(r"^```sh\n(.*?)^```", runbooks, re.MULTILINE | re.DOTALL)
        for command in re.findall(r"^sidecar ([a-z -]+\b)", block, re.MULTILINE)
    }
    assert set(named) == asked
    for command in named:
        done = deployed.as_user(0, deployed.program, *command.split(), "--config", deployed.config)
        assert done.returncode == 0, done.stderr


def test_a_user_of_the_group_cannot_reach_the_control_plane(deployed: Deployed) -> None:
    found = deployed.looks(AGENT_ID, *CONTROL_SOCKETS, groups=[SERVICE_ID])
    assert found == ["EACCES"] * 2


def test_another_user_cannot_connect_at_all(deployed: Deployed) -> None:
    sockets = (*AGENTS_SOCKETS, *CONTROL_SOCKETS)
    assert deployed.looks(OTHER_ID, *sockets) == ["EACCES"] * 4
    address = deployed.runtime / "agent.sock"
    health = deployed.as_user(OTHER_ID, deployed.program, "health", "--address", address)
    assert health.returncode == 3


def test_nothing_of_it_is_open_to_others(deployed: Deployed) -> None:
    paths = [deployed.runtime, *deployed.runtime.rglob("*")]
    paths += [deployed.runtime.parent / "state", *(deployed.runtime.parent / "state").rglob("*")]
    open_ones = [path for path in paths if path.stat().st_mode & MASKS_OF_OTHERS]
    assert len(paths) > len(AGENTS_SOCKETS) + len(CONTROL_SOCKETS)
    assert open_ones == []


def test_the_watchdog_s_signal_leaves_behind_where_it_hung(program: Path, tmp_path: Path) -> None:
    flags = ["--agent-address", tmp_path / "a.sock", "--admin-address", tmp_path / "b.sock"]
    flags += ["--agent-http-address=", "--agent-tcp-address=", "--agent-http-tcp-address="]
    flags += ["--admin-http-address=", "--telemetry-address=", "--state-directory="]
    command = [str(part) for part in (program, "serve", *flags)]
    with running(command, tmp_path, environment={}) as one:
        one.process.send_signal(signal.SIGABRT)
        assert one.process.wait(30) == -signal.SIGABRT
        assert 'File "' in one.log
        assert "in main" in one.log
