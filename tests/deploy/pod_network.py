"""A pod as a container runtime makes one, as far as it matters here, and a node beside it.

Two network namespaces with a pair of interfaces between them; the pod's containers run in bwrap
with a read-only root, the users, groups and volumes of the manifest, and no capability. Needs root:
only root may be several users.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.deploy.effective import environment
from tests.deploy.manifests import Pod

POD: Final = "10.99.0.2"
NODE: Final = "10.99.0.1"
PROGRAMS: Final = ("bwrap", "unshare", "nsenter", "setpriv", "ip")
MASKED: Final = ("etc", "run", "var", "tmp", "proc", "dev", "sys", "lost+found")
"""Of the machine's root, what a pod has its own of, or none."""
FROM_ETC: Final = (
    "passwd",
    "group",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ssl",
    "localtime",
)
IMAGE: Final = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "SIDECAR_CONFIG": "/etc/agent-sidecar/config.yaml",
}
"""Variables of the image, as its Dockerfile has them."""
PROJECT: Final = Path(__file__).parents[2]
READY_WITHIN_S: Final = 60
STOPS_WITHIN_S: Final = 30


def missing() -> str:
    """Why there can be no pod here; empty: there can."""
    if os.geteuid() != 0:
        return "only root can be the manifest's users"
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"no {', '.join(lacking)}: run scripts/install-test-tools.sh deploy"
    made = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if made.returncode == 0 else f"no network of its own can be made: {made.stderr}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A network namespace, held by a process of it."""

    pid: int

    def command(self, *arguments: str) -> list[str]:
        """A command that is run in it."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *arguments]

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run it."""
        return subprocess.run(
            self.command(*arguments), capture_output=True, text=True, check=False, timeout=60
        )

    def python(self, code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run Python in it."""
        return self.run(sys.executable, "-c", code, *arguments)


@contextmanager
def node_and_pod() -> Iterator[tuple[Place, Place]]:
    """The two, for as long as the block lasts: the node at NODE, the pod at POD."""
    with ExitStack() as stack:
        node, pod = (Place(pid=stack.enter_context(_namespace())) for _ in range(2))
        _must(node, "ip link add pod0 type veth peer name eth0 netns", str(pod.pid))
        for place, interface, address in ((node, "pod0", NODE), (pod, "eth0", POD)):
            _must(place, f"ip address add {address}/30 dev {interface}")
            _must(place, f"ip link set {interface} up")
            _must(place, "ip link set lo up")
        yield node, pod


@contextmanager
def _namespace() -> Iterator[int]:
    # Says a word once it is in the namespace, and ends with its standard input.
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo in; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as held:
        assert held.stdout is not None
        assert held.stdout.readline() == "in\n"
        try:
            yield held.pid
        finally:
            held.kill()


def _must(place: Place, command: str, *more: str) -> None:
    done = place.run(*command.split(), *more)
    assert done.returncode == 0, done.stderr


class Volumes:
    """The volumes of a pod, as directories that the kubelet would have made."""

    def __init__(self, pod: Pod, directory: Path) -> None:
        self._pod = pod
        self._group = int(pod.spec["securityContext"]["fsGroup"])
        self._places = {each["name"]: self._made(each, directory) for each in pod.spec["volumes"]}

    def _made(self, volume: Mapping[str, Any], directory: Path) -> Path:
        place = directory / str(volume["name"])
        place.mkdir()
        if "configMap" in volume or "secret" in volume:
            for name, text in self._pod.files(volume).items():
                (place / name).write_text(text)
                os.chown(place / name, 0, self._group)
                (place / name).chmod(0o440)
        os.chown(place, 0, self._group)
        place.chmod(0o2777)
        return place

    def arguments(self, container: Mapping[str, Any]) -> Iterator[str]:
        """bwrap's, for what a container mounts."""
        for mount in container["volumeMounts"]:
            bind = "--ro-bind" if mount.get("readOnly") else "--bind"
            yield from (bind, str(self._places[mount["name"]]), mount["mountPath"])


class Container:
    """One container of a pod, in its network and with its volumes."""

    def __init__(self, pod: Pod, spec: Mapping[str, Any], place: Place, volumes: Volumes) -> None:
        self._spec = spec
        self._place = place
        self._volumes = volumes
        self._groups = str(pod.spec["securityContext"]["fsGroup"])

    def command(self, *program: str) -> list[str]:
        """A program in the container, as its user."""
        context = self._spec["securityContext"]
        assert context["readOnlyRootFilesystem"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        return self._place.command(
            *("bwrap", "--cap-add", "ALL", "--unshare-pid", "--die-with-parent"),
            *_root(),
            *self._volumes.arguments(self._spec),
            *_image(),
            *("--remount-ro", "/"),
            *("setpriv", f"--reuid={context['runAsUser']}", f"--regid={context['runAsGroup']}"),
            *(f"--groups={self._groups}", "--no-new-privs", "--bounding-set=-all"),
            *("--inh-caps=-all", "--ambient-caps=-all", "--", *program),
        )

    @property
    def environment(self) -> dict[str, str]:
        """Of the manifest, in that of the image."""
        return {**IMAGE, **environment(self._spec)}

    def run(self, *program: str) -> "subprocess.CompletedProcess[str]":
        """Run a program to its end."""
        return subprocess.run(
            self.command(*program),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=READY_WITHIN_S,
        )

    @contextmanager
    def serving(self, log: Path) -> Iterator["subprocess.Popen[str]"]:
        """The sidecar with the manifest's arguments, ready."""
        program = [sys.executable, "-m", "sidecar.cli", *self._spec["args"]]
        with (
            log.open("w") as errors,
            subprocess.Popen(
                self.command(*program),
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            ) as process,
        ):
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                assert line.startswith("ready "), log.read_text()
                yield process
            finally:
                process.kill()


def stop(process: "subprocess.Popen[str]") -> int:
    """SIGTERM to the sidecar itself, which bwrap has below it. Returns the exit code."""
    sidecar = _innermost(process.pid)
    os.kill(sidecar, signal.SIGTERM)
    return process.wait(STOPS_WITHIN_S)


def status_of(process: "subprocess.Popen[str]") -> Mapping[str, str]:
    """`/proc/PID/status` of the sidecar itself."""
    text = Path(f"/proc/{_innermost(process.pid)}/status").read_text()
    return {
        key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())
    }


def _innermost(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return _innermost(int(children[0])) if children else pid


def _root() -> Iterator[str]:
    """bwrap's arguments for a root that is the machine's without what is private to it."""
    for name in ("etc", "run", "var", "var/lib", "tmp"):
        yield from ("--perms", "0755", "--dir", f"/{name}")
    for path in sorted(Path("/").iterdir()):
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir() and path.name not in MASKED:
            yield from ("--ro-bind", str(path), str(path))
    for name in FROM_ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev")


def _image() -> Iterator[str]:
    """What the image would have, where it is kept in a folder that the pod has its own of."""
    for path in (PROJECT, sys.prefix, sys.base_prefix):
        if Path(path).parts[1] in MASKED:
            # Folders that bwrap makes by itself are for root only.
            for parent in reversed(Path(path).parents[:-2]):
                yield from ("--perms", "0755", "--dir", str(parent))
            yield from ("--ro-bind", str(path), str(path))


def fetched(place: Place, url: str) -> Sequence[str]:
    """Status and body of a GET from a place; the status is `refused` where nobody listens."""
    done = place.python(FETCH, url)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n", 1)


FETCH: Final = """
import sys, urllib.error, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    with opener.open(sys.argv[1], timeout=5) as got:
        print(got.status, got.read().decode(), sep="\\n")
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode(), sep="\\n")
except urllib.error.URLError as error:
    refused = isinstance(error.reason, ConnectionRefusedError)
    print("refused" if refused else error.reason, "", sep="\\n")
"""
