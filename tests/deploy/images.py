"""The image, built for real by buildah on a base of debootstrap's, and run without a container
engine: its own root, read-only, its own network and processes, its user."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from tests.deploy.units import ROOT

DOCKERFILE: Final = ROOT / "deploy" / "image" / "Dockerfile"

SUITE: Final = "trixie"
"""As the Dockerfile's own BASE."""
MIRROR: Final = "http://deb.debian.org/debian"
PACKAGES: Final = "python3,python3-venv,ca-certificates"
KEPT: Final = ROOT / ".tools" / f"base-{SUITE}"
"""Made once: it takes minutes."""

FROM_HOST: Final = ("/etc/ssl/certs", "/etc/pip.conf")
"""By what this machine reaches the package index; mounted while building, in no layer."""

BUILDS_WITHIN_S: Final = 1_800.0
RUNS_WITHIN_S: Final = 180.0
TAR_BLOCK: Final = 512

PROGRAMS: Final = ("buildah", "debootstrap", "unshare", "nsenter", "ip")
MISSING: Final = [name for name in PROGRAMS if shutil.which(name) is None]
"""Programs that are not here; scripts/install-test-tools.sh deploy-full installs them."""

ENTER: Final = """
set -e
root=$1; shift
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done
shift
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
ip link set lo up
exec chroot --userspec="$1" --groups= "$root" "${@:2}"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image that was built, and its files."""

    config: Mapping[str, Any]
    """As Docker has it: Env, Entrypoint, Cmd, User, Volumes, Healthcheck ..."""
    root: Path
    base: Path

    @property
    def environment(self) -> list[str]:
        """NAME=VALUE."""
        return list(self.config["Env"])

    def own_files(self) -> Iterator[Path]:
        """What our layers bring."""
        for path in self.root.rglob("*"):
            below = self.base / path.relative_to(self.root)
            if not path.is_dir() and not os.path.lexists(below):
                yield path

    def own_bytes(self) -> int:
        """Bytes of our layers, unpacked: as in a tar, with a header for each file."""
        return sum(_in_tar(path.lstat().st_size) for path in self.own_files())


def _in_tar(size: int) -> int:
    return TAR_BLOCK + -(-size // TAR_BLOCK) * TAR_BLOCK


@contextmanager
def built(directory: Path) -> Iterator[Image]:
    """The image of this tree; `directory` gets buildah's storage, and is left empty of mounts."""
    buildah = _Buildah(directory)
    try:
        base = buildah("from", "scratch")
        buildah("add", "--quiet", base, str(_base()), "/")
        buildah("commit", "--quiet", base, "localhost/base")
        buildah(
            "build", "--isolation=chroot", "--format=docker", "--layers=false", "--pull-never",
            "--build-arg=BASE=localhost/base",
            *(f"--volume={path}:{path}:ro" for path in FROM_HOST if Path(path).exists()),
            "--file", str(DOCKERFILE), "--tag", "localhost/agent-sidecar", str(ROOT),
        )  # fmt: skip
        inspected = json.loads(buildah("inspect", "--type=image", "localhost/agent-sidecar"))
        container = buildah("from", "--pull-never", "localhost/agent-sidecar")
        yield Image(
            config=inspected["Docker"]["config"],
            root=Path(buildah("mount", container)),
            base=Path(buildah("mount", base)),
        )
    finally:
        buildah("umount", "--all")
        buildah("rm", "--all")
        buildah("rmi", "--all", "--force")


class _Buildah:
    """buildah with a storage of its own."""

    def __init__(self, directory: Path) -> None:
        self._options = [f"--root={directory}/storage", f"--runroot={directory}/run"]

    def __call__(self, *arguments: str) -> str:
        """The last line of its output. Raises AssertionError with what it said where it fails."""
        done = subprocess.run(
            ["buildah", *self._options, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=BUILDS_WITHIN_S,
        )
        assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
        whole = done.stdout.strip()
        return whole if arguments[0] == "inspect" else whole.rpartition("\n")[2]


def _base() -> Path:
    """A system with Python and certificates, and nothing else."""
    if not KEPT.exists():
        making = KEPT.with_suffix(".making")
        shutil.rmtree(making, ignore_errors=True)
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, making, MIRROR],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=BUILDS_WITHIN_S,
        )
        for archive in (making / "var/cache/apt/archives").glob("*.deb"):
            archive.unlink()
        making.rename(KEPT)
    return KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A sidecar that runs in the image."""

    image: Image
    process: "subprocess.Popen[bytes]"
    log_path: Path
    volumes: Mapping[str, Path]
    ready_after_s: float

    @property
    def pid(self) -> int:
        """Of the program itself."""
        [child] = psutil.Process(self.process.pid).children()
        return int(child.pid)

    def mount_tmpfs(self, name: str) -> None:
        """As `--tmpfs`: a directory that every user may write to, and nobody keeps."""
        target = f"{self.image.root}{name}"
        subprocess.run(
            ["nsenter", f"--target={self.pid}", "--mount",
             "mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", target],
            check=True,
            timeout=30,
        )  # fmt: skip

    def run(self, *command: str, user: str = "") -> "subprocess.CompletedProcess[str]":
        """As `docker exec`: in the same namespaces, by the same user, or another `UID:GID`."""
        user, _, group = (user or self.image.config["User"]).partition(":")
        enter = ["nsenter", f"--target={self.pid}", "--mount", "--net", "--pid", "--root", "--wd=/"]
        who = [f"--setuid={user}", f"--setgid={group}"]
        return subprocess.run(
            [*enter, *who, "/usr/bin/env", "-i", *self.image.environment, *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=RUNS_WITHIN_S,
        )

    def stop(self) -> int:
        """As `docker stop`; the exit code."""
        os.kill(self.pid, getattr(signal, self.image.config["StopSignal"]))
        return self.process.wait(30)


@contextmanager
def started(image: Image, directory: Path) -> Iterator[Container]:
    """A container with a read-only root and new volumes; it does not outlive the block."""
    volumes = {name: _volume(image, name, directory) for name in image.config["Volumes"]}
    mounts = [str(part) for name, path in volumes.items() for part in (path, name)]
    program = [*image.config["Entrypoint"], *image.config["Cmd"]]
    command = [
        "unshare", "--mount", "--propagation=private", "--net", "--pid", "--fork",
        "bash", "-c", ENTER, "enter", str(image.root), *mounts, "--", image.config["User"],
        "/usr/bin/env", "-i", *image.environment, *program,
    ]  # fmt: skip
    log_path = directory / "log"
    began_s = time.monotonic()
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
        )
        try:
            _wait_ready(process, log_path)
            yield Container(
                image=image,
                process=process,
                log_path=log_path,
                volumes=volumes,
                ready_after_s=time.monotonic() - began_s,
            )
        finally:
            # unshare's own child outlives it: to become another user is to leave --kill-child.
            if process.poll() is None:
                for child in psutil.Process(process.pid).children():
                    child.kill()
                process.kill()
            process.communicate()


def _wait_ready(process: "subprocess.Popen[bytes]", log_path: Path) -> None:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith(b"ready "), log_path.read_text()


def _volume(image: Image, name: str, directory: Path) -> Path:
    """As an engine makes it: with the owner and mode of the image's directory."""
    given = (image.root / name.lstrip("/")).stat()
    volume = directory / name.strip("/").replace("/", "-")
    volume.mkdir()
    os.chown(volume, given.st_uid, given.st_gid)
    volume.chmod(given.st_mode & 0o7777)
    return volume
