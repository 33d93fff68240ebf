"""The image as it was built: what is in it, and that it serves with a read-only root."""

import json
import os
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest

from tests.deploy.images import MISSING, Container, Image, built, started
from tests.deploy.units import ROOT

pytestmark = [
    pytest.mark.deploy_full,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts and changes its root: run as root"),
    pytest.mark.skipif(
        bool(MISSING), reason=f"no {', '.join(MISSING)}: scripts/install-test-tools.sh deploy-full"
    ),
]

OWN_BYTES_MAX = 120_000_000
STARTS_WITHIN_S = 15.0
"""On a busy machine; deploy/README.md has what was measured."""

PYTHON = "/opt/sidecar/bin/python"
SHIPPED = ROOT / "deploy" / "image" / "config.yaml"

ONE_TURN = """
from sidecar.client import Client
with Client("/run/agent-sidecar/agent.sock", agent_name="a", session_id="s-1",
            timeout_s=10.0) as client:
    directive = client.turn(input_tokens=10)
    print(directive.kind.value, directive.decision is not None)
    client.close(timeout_s=10.0)
"""

READ = """
import sys, urllib.request
sys.stdout.write(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())
"""

AGENT = "65533:65532"
"""As in deploy/compose: of the sidecar's group."""
STRANGER = "65533:65533"

NO_CAPABILITIES = "0000000000000000"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    with built(tmp_path_factory.mktemp("buildah")) as one:
        yield one


@pytest.fixture(scope="module")
def container(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with started(image, tmp_path_factory.mktemp("container")) as one:
        yield one


def installed(image: Image) -> list[Distribution]:
    [site] = (image.root / "opt/sidecar/lib").glob("python3*/site-packages")
    return list(distributions(path=[str(site)]))


def test_its_own_layers_are_at_most_120_mb_unpacked(image: Image) -> None:
    size = image.own_bytes()
    print(f"own layers: {size / 1e6:.1f} MB")  # noqa: T201 - a figure of deploy/README.md
    assert size <= OWN_BYTES_MAX


def test_what_built_it_is_not_in_it(image: Image) -> None:
    names = {one.name for one in installed(image)}
    assert "agent-sidecar" in names
    assert names.isdisjoint({"pip", "setuptools", "hatchling", "cyclonedx-bom", "pytest"})
    assert not (image.root / "src").exists()
    assert not (image.root / "build").exists()


def test_all_of_it_is_compiled_since_a_read_only_root_keeps_nothing(image: Image) -> None:
    [package] = (image.root / "opt/sidecar/lib").glob("python3*/site-packages/sidecar")
    modules = list(package.rglob("*.py"))
    missing = [
        path for path in modules if not list(path.parent.glob(f"__pycache__/{path.stem}.*.pyc"))
    ]
    assert modules
    assert missing == []


def test_the_bill_of_materials_names_every_package_and_no_other(image: Image) -> None:
    bill = json.loads((image.root / "opt/sidecar/sbom.cdx.json").read_text())
    listed = {(part["name"], part["version"]) for part in bill["components"]}
    assert bill["bomFormat"] == "CycloneDX"
    assert listed == {(one.name, one.version) for one in installed(image)}


def test_nothing_of_the_host_came_along(image: Image) -> None:
    # Where a file was mounted while building, an empty one may be left.
    changed = [path for path in image.own_files() if path.is_relative_to(image.root / "etc")]
    assert {str(path.relative_to(image.root)): path.read_bytes() for path in changed} in [
        {"etc/agent-sidecar/config.yaml": SHIPPED.read_bytes(), **left}
        for left in ({}, {"etc/pip.conf": b""})
    ]


def test_it_starts_soon(container: Container) -> None:
    print(f"ready after {container.ready_after_s:.2f} s")  # noqa: T201 - as above
    assert container.ready_after_s < STARTS_WITHIN_S


def test_it_runs_without_root_on_a_root_that_cannot_be_written(container: Container) -> None:
    status = Path(f"/proc/{container.pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    user = container.image.config["User"].partition(":")[0]
    assert fields["Uid"].split() == [user] * 4
    assert fields["CapEff"] == NO_CAPABILITIES
    written = container.run("touch", "/opt/x")
    assert "Read-only file system" in written.stderr


def test_its_health_check_is_answered(container: Container) -> None:
    kind, *command = container.image.config["Healthcheck"]["Test"]
    assert kind == "CMD"
    done = container.run(*command)
    assert (done.returncode, done.stdout) == (0, "SERVING\n"), done.stderr


def test_an_agent_is_answered_and_its_turn_is_kept_in_the_volume(container: Container) -> None:
    done = container.run(PYTHON, "-c", ONE_TURN)
    assert done.stdout == "proceed True\n", done.stderr
    listed = container.run("sidecar", "sessions", "ls", "--json")
    assert "s-1" in listed.stdout, listed.stderr
    assert list(container.volumes["/var/lib/agent-sidecar"].glob("*.db"))


def test_the_demo_s_agents_run_from_it_too_as_another_user_of_the_group(
    container: Container,
) -> None:
    container.mount_tmpfs("/tmp")
    beside = ["--beside", "unix:/run/agent-sidecar/agent.sock"]
    done = container.run("sidecar", "demo", "--exit", "--speed=10", *beside, user=AGENT)
    assert done.returncode == 0, done.stderr
    assert "rotate" in done.stdout and "answered" in done.stdout


def test_a_user_who_is_not_of_the_group_is_not_answered(container: Container) -> None:
    done = container.run("sidecar", "health", user=STRANGER)
    assert done.returncode == 3


def test_metrics_are_served_and_its_store_works(container: Container) -> None:
    metrics = container.run(PYTHON, "-c", READ, "http://127.0.0.1:9464/metrics")
    assert "sidecar_turns_total" in metrics.stdout, metrics.stderr
    status = container.run(PYTHON, "-c", READ, "http://127.0.0.1:9465/statusz")
    assert json.loads(status.stdout)["components"]["store"]["status"] == "OK", status.stderr


def test_it_ends_with_zero_when_it_is_stopped(image: Image, tmp_path: Path) -> None:
    with started(image, tmp_path) as one:
        assert one.stop() == 0
