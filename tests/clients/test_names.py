"""A name with two addresses, of which the first keeps silent, as that of a node that has died."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.clients.languages import LANGUAGES
from tests.clients.transports import PYTHON_DRIVER, asked
from tests.fault.servers import Server, StandIn
from tests.fault.test_fail_open import tcp_black_hole

SILENT, SPEAKING = "127.0.0.1", "127.0.0.9"
NAME = "two.test"
DRIVERS = {
    "python": PYTHON_DRIVER,
    **{each.name: shlex.quote(str(each.driver)) for each in LANGUAGES.values()},
}


def _with_hosts(hosts: Path, driver: str) -> str:
    """The driver, for which this file is the one with the names of hosts."""
    script = f"mount --bind {shlex.quote(str(hosts))} /etc/hosts && exec {driver}"
    return f"{_unshare()} sh -c {shlex.quote(script)}"


def _unshare() -> str:
    return "unshare --mount" if os.geteuid() == 0 else "unshare --mount --map-root-user"


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    may = [*_unshare().split(), "mount", "--bind", "/etc/hosts", "/etc/hosts"]
    if subprocess.run(may, check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody have names of hosts of one's own")
    file = tmp_path / "hosts"
    file.write_text(f"127.0.0.1 localhost\n{SILENT} {NAME}\n{SPEAKING} {NAME}\n")
    return file


@pytest.mark.clients
@pytest.mark.process
@pytest.mark.parametrize("language", DRIVERS)
def test_the_second_address_of_a_name_is_reached_where_the_first_keeps_silent(
    language: str, request: pytest.FixtureRequest, tmp_path: Path, hosts: Path
) -> None:
    if language in LANGUAGES:
        request.getfixturevalue(language)
    with tcp_black_hole(tmp_path) as silent:
        port = silent.rpartition(":")[2]
        with Server(f"{SPEAKING}:{port}", StandIn()):
            _, told, _ = asked(
                _with_hosts(hosts, DRIVERS[language]),
                [
                    {"do": "start", "options": {"address": f"{NAME}:{port}", "timeout_ms": 20_000}},
                    {"do": "turn", "turn": {}},
                    {"do": "stop"},
                ],
            )

    assert told["elapsed_ms"] > 100, "the first address was not asked first"
    assert told["directive"]["fail_open_reason"] == ""
    assert told["directive"]["decision"]["sequence"] == 1
