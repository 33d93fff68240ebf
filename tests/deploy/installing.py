"""The program installed as deploy/README.md says: by pipx, from this tree."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.deploy.units import ROOT

TOOLS: Final = Path(sys.executable).parent
INSTALLS_WITHIN_S: Final = 240.0

NEEDS: Final = "import ensurepip, sqlite3, ssl, sys; sys.exit(sys.version_info < (3, 11))"
PYTHONS: Final = (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3")


def python_for_all() -> str | None:
    """A Python that other users can run too: a test's own is often below somebody's home."""
    nobody = pwd.getpwnam("nobody")
    for path in PYTHONS:
        if Path(path).exists() and _runs(path, nobody.pw_uid, nobody.pw_gid):
            return path
    return None


@contextmanager
def open_directory() -> Iterator[Path]:
    """A new directory that every user may enter; those of pytest are closed."""
    with tempfile.TemporaryDirectory(prefix="sidecar-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        yield directory


def install(directory: Path, *, python: str) -> Path:
    """Have pipx build the wheel and install it; the program."""
    homes = {"PIPX_HOME": str(directory / "pipx"), "PIPX_BIN_DIR": str(directory / "bin")}
    run(TOOLS / "python", "-m", "pipx", "install", "--python", python, ROOT, **homes)
    return directory / "bin" / "sidecar"


def run(*command: str | Path, **environment: str) -> None:
    """Run it to its end. Raises AssertionError with its output where it fails."""
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=INSTALLS_WITHIN_S,
    )
    assert done.returncode == 0, done.stdout


def _runs(python: str, uid: int, gid: int) -> bool:
    try:
        done = subprocess.run(
            [python, "-c", NEEDS],
            user=uid,
            group=gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=False,
            timeout=30,
        )
    except OSError:
        return False
    return done.returncode == 0


def missing() -> list[str]:
    """Programs that are not here; scripts/install-test-tools.sh deploy installs them."""
    return [name for name in ("systemd-analyze", "systemd-sysusers") if shutil.which(name) is None]
