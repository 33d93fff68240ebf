"""How an interpreter is contained: the ways there are, and whether one holds.

A way is judged by what comes of it: before it runs anything, each interpreter says from inside in
which namespaces it is, whether its system calls are filtered, and whether the first process in
there is closed to it, and the kernel which user it is outside. One that shares a namespace with
this process, goes unfiltered, could act by the first process, or is root outside, is refused.
"""

import contextlib
import ctypes
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from sidecar.codeagent.runner.files import FILES_BYTES_MAX, Opened
from sidecar.codeagent.runner.frames import Hello
from sidecar.paths import runtime_directory, state_directory

MIB: Final = 1024 * 1024
DIRECTORY: Final = "/work"
"""Where steps run and write."""
FILES: Final = "/files"
"""Where the files are that the person named."""
DIRECTORIES: Final = (DIRECTORY, "/tmp", "/dev/shm")  # noqa: S108 - inside the container
DIRECTORY_BYTES_MAX: Final = 256 * MIB
"""Of each of them; it is memory of the machine."""

USERS: Final = range(60578, 61184)
"""Ids that systemd's documentation ("Users, Groups, UIDs and GIDs") lists as used by nothing; as
root an interpreter runs as one of them, since root is bound by no number of processes."""

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache")
"""What a Python needs of a system; nothing of it is anybody's own."""

NAMESPACES: Final = ("user", "pid", "mnt", "ipc", "net")

ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": DIRECTORY,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "OPENBLAS_NUM_THREADS": "2",  # it makes a thread a core, which are bounded here
    }
)
"""All that an interpreter has of an environment."""

LIMITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "RLIMIT_AS": 2048 * MIB,
        "RLIMIT_CPU": 900,  # 20 turns of 30 s, and half as much again for threads
        "RLIMIT_FSIZE": DIRECTORY_BYTES_MAX,
        "RLIMIT_NPROC": 64,
        "RLIMIT_NOFILE": 256,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
)
"""By their names in `resource`. Bytes, seconds, or numbers."""

KEYS: Final = ("/proc/keys", "/proc/key-users")
"""Names and numbers of keys of the user outside: by its id there, whatever the namespace."""

_SOURCES = Path(__file__).parent
_JAIL = (_SOURCES / "jail.py").read_text(encoding="utf-8")
_GUEST = (_SOURCES / "guest.py").read_text(encoding="utf-8")


def interpreter() -> str:
    """The Python that steps run on: this one, without its virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def interpreter_for(user: int | None) -> str:
    """As `interpreter`; the system's own where that user cannot come to this one."""
    mine = Path(interpreter())
    reachable = all(parent.stat().st_mode & 0o001 for parent in (mine, *mine.parents))
    if user is None or reachable:
        return str(mine)
    return os.path.realpath(shutil.which("python3", path=ENVIRONMENT["PATH"]) or mine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What an interpreter is to be given. File descriptors are this process's."""

    channel: int
    files: Mapping[str, int]
    """By name."""
    limits: Mapping[str, int]

    def command(self, python: str) -> list[str]:
        """The interpreter itself."""
        limits = json.dumps(dict(self.limits))
        return [python, "-I", "-c", _GUEST, str(self.channel), limits]


def _home() -> Path:
    # Not Path.home(), which raises where a user has none.
    return Path(os.path.expanduser("~"))  # noqa: PTH111


def _mounts(python: str) -> list[str]:
    """Paths that an interpreter sees, read-only: never anybody's home."""
    prefix = Path(python).parent.parent
    if prefix.is_relative_to("/usr"):
        return list(SYSTEM)
    if _home().resolve().is_relative_to(prefix):
        return [*SYSTEM, python, str(prefix / "lib")]
    return [*SYSTEM, str(prefix)]


def _hidden(mounts: Sequence[str]) -> list[str]:
    """Directories below those paths that are somebody's own after all: the home of a service may
    be below /usr/local."""
    places = (_home(), state_directory(), runtime_directory())
    own = sorted({place.resolve() for place in places if place.is_dir()})
    below = [path for path in own if any(path.is_relative_to(mount) for mount in mounts)]
    return [str(path) for path in below if not any(each in path.parents for each in below)]


def _mounts_over(python: str, hidden: Sequence[str]) -> list[str]:
    """What a Python needs of what is hidden."""
    needed = (Path(python), Path(python).parent.parent / "lib")
    return [str(path) for path in needed if any(path.is_relative_to(each) for each in hidden)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start a process."""

    command: Sequence[str]
    user: int | None = None
    """The user to become before; None: as this process."""
    directory: str = DIRECTORY
    """Where steps run, as they see it."""
    files: str = FILES
    """Where the named files are, as steps see it."""


class Isolation(Protocol):
    """A way to contain an interpreter."""

    @property
    def name(self) -> str:
        """For a person."""
        ...

    def launch(self, inside: Inside) -> Launch:
        """How to start it this way."""
        ...

    def fault(self, hello: Hello, user: int | None) -> str:
        """Why what was started is not contained; empty: it is. `user` is its user outside, as the
        kernel says."""
        ...


def _fault(hello: Hello, user: int | None) -> str:
    for name in NAMESPACES:
        theirs = hello.namespaces.get(name)
        if not theirs or theirs == str(Path(f"/proc/self/ns/{name}").readlink()):
            return f"it has no {name} namespace of its own"
    if not hello.filtered:
        return "the kernel filters no system calls here"
    if not hello.first_closed:
        return "it can trace the first process of its namespace"
    if user is None:
        return "the kernel does not say who its user is outside"
    return "its user is root outside" if user == 0 else ""


def _jail(python: str, spec: Mapping[str, object]) -> list[str]:
    return [python, "-I", "-S", "-c", _JAIL, json.dumps(spec)]


def _ids() -> tuple[int, int]:
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    user = USERS[secrets.randbelow(len(USERS))]
    return user, user


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Built by this package's own code: nothing needs to be installed."""

    name: str = "namespaces"

    def launch(self, inside: Inside) -> Launch:
        """Through jail.py."""
        user, group = _ids()
        python = interpreter()
        mounts = _mounts(python)
        hidden = _hidden(mounts)
        spec = {
            "built": False,
            "parent": os.getpid(),
            "user": user,
            "group": group,
            "mounts": mounts,
            "hidden": hidden,
            "mounts_over": _mounts_over(python, hidden),
            "emptied": KEYS,
            "directories": DIRECTORIES,
            "directory_bytes_max": DIRECTORY_BYTES_MAX,
            "root_bytes_max": FILES_BYTES_MAX + MIB,
            "files_directory": FILES,
            "files": dict(inside.files),
            "fds": [inside.channel, *inside.files.values()],
            "open": [inside.channel],
            "command": inside.command(python),
        }
        return Launch(command=_jail(python, spec))

    def fault(self, hello: Hello, user: int | None) -> str:
        """Its own namespaces, and a user of no power outside."""
        return _fault(hello, user)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Built by `bwrap` 0.8 or later, which may do so where other programs may not."""

    name: str = "bwrap"

    def launch(self, inside: Inside) -> Launch:
        """Through bwrap, and jail.py in there; as root, under another user."""
        user, group = _ids()
        dropped = user if os.geteuid() == 0 else None
        python = interpreter_for(dropped)
        options = ["--unshare-all", "--disable-userns", "--die-with-parent", "--new-session"]
        # Its own first process could be traced by the interpreter.
        options += ["--as-pid-1"]
        options += ["--unshare-user", "--uid", str(user), "--gid", str(group), "--cap-drop", "ALL"]
        mounts = _mounts(python)
        for path in mounts:
            if Path(path).is_symlink():
                options += ["--symlink", str(Path(path).readlink()), path]
            else:
                options += ["--ro-bind-try", path, path]
        for path in (hidden := _hidden(mounts)):
            options += ["--tmpfs", path]
        for path in _mounts_over(python, hidden):
            options += ["--ro-bind", path, path]
        for path in hidden:
            options += ["--remount-ro", path]
        options += ["--proc", "/proc", "--dev", "/dev"]
        for path in KEYS:
            if Path(path).exists():
                options += ["--dev-bind", "/dev/null", path]
        for directory in DIRECTORIES:
            options += ["--size", str(DIRECTORY_BYTES_MAX), "--tmpfs", directory]
        for name, fd in inside.files.items():
            options += ["--ro-bind-data", str(fd), f"{FILES}/{name}"]
        options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", DIRECTORY]
        program = shutil.which("bwrap") or "/usr/bin/bwrap"
        spec = {
            "built": True,
            "files": {},
            "open": [inside.channel],
            "command": inside.command(python),
        }
        return Launch(command=[program, *options, "--", *_jail(python, spec)], user=dropped)

    def fault(self, hello: Hello, user: int | None) -> str:
        """Its own namespaces, and a user of no power outside."""
        return _fault(hello, user)


@dataclass(frozen=True, slots=True)
class Nothing:
    """No containment: limits, an empty environment and, as root, another user."""

    directory: str
    """Below it each interpreter gets a directory where steps run; the caller makes and removes
    it."""
    name: str = "none"

    def launch(self, inside: Inside) -> Launch:
        """The interpreter as it is."""
        user = _ids()[0] if os.geteuid() == 0 else None
        # New ones each time, in one that stays this user's own: what an earlier interpreter has
        # put in the place of its directory, a link to another say, is not looked at again.
        place, files = (tempfile.mkdtemp(dir=self.directory) for _ in range(2))
        Opened(inside.files).copy_to(files)
        if user is None:
            inside = _beside_others(inside)
        else:
            Path(self.directory).chmod(0o711)
            os.chown(place, user, user)
            os.chown(files, -1, user)
            Path(files).chmod(0o750)
        _conceal()
        command = inside.command(interpreter_for(user))
        return Launch(command=command, user=user, directory=place, files=files)

    def fault(self, hello: Hello, user: int | None) -> str:
        """None: nothing is claimed."""
        return ""


def _beside_others(inside: Inside) -> Inside:
    """With a number of processes that leaves this user's others out. The kernel counts all tasks
    of a user, and only in a user namespace of its own does an interpreter begin at none."""
    processes = inside.limits["RLIMIT_NPROC"] + _tasks(os.getuid())
    return replace(inside, limits={**inside.limits, "RLIMIT_NPROC": processes})


def _tasks(user: int) -> int:
    """How many the user has, threads included."""
    found = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # It has ended since.
            text = status.read_text("utf-8", "replace")
            rows = dict(row.split(":", 1) for row in text.split("\n") if row)
            if int(rows["Uid"].split()[0]) == user:
                found += int(rows["Threads"])
    return found


def _conceal() -> None:
    """Closes this process's memory and environment to others of its user, tracers included."""
    set_dumpable = 4  # linux/prctl.h
    ctypes.CDLL(None).prctl(set_dumpable, 0, 0, 0, 0)


WAYS: Final[Sequence[Isolation]] = (Namespaces(), Bubblewrap())
"""In the order in which they are tried."""
