"""The file itself: who may have it, what can be wrong with it, and moving it out of the way."""

import errno
import fcntl
import glob
import os
import sqlite3
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Final

from sidecar.adapters.sqlite_store.schema import NewerSchemaError, SchemaError
from sidecar.paths import make_directory

DATABASE: Final = "sidecar.db"
"""Its name in the state directory."""

SUFFIXES: Final = ("", "-wal", "-shm")
"""An SQLite database in WAL mode is these files."""

SET_ASIDE_MAX: Final = 3
"""Databases that are kept after they were moved out of the way; older ones are deleted, or a
failing disk would be filled by them."""

OWN_ONLY: Final = 0o600


class InUseError(Exception):
    """Another process has the file."""


class GoneError(Exception):
    """The file that is open is no longer the one at its path."""


class LogGoneError(GoneError):
    """Its -wal file is gone, and nothing of it is lost."""


class Remedy(Enum):
    """What ends a fault."""

    TIME = "time"
    """It may pass by itself: a full disk, another process."""
    PERSON = "person"
    """Somebody has to change permissions or paths."""
    REPLACEMENT = "replacement"
    """The file is of no use any more."""


PERSON_ERRNOS: Final = frozenset(
    {
        errno.EACCES,
        errno.EEXIST,  # a file where a directory should be
        errno.EISDIR,
        errno.ENAMETOOLONG,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)
PERSON_CODES: Final = frozenset(
    {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH}
)
REPLACEMENT_CODES: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
PRIMARY_CODE: Final = 0xFF
"""The lower eight bits of SQLite's error code; those above tell variants apart."""


def remedy(fault: Exception) -> Remedy:
    """What ends this fault."""
    match fault:
        case SchemaError():
            return Remedy.REPLACEMENT
        case OSError():
            return Remedy.PERSON if fault.errno in PERSON_ERRNOS else Remedy.TIME
        case sqlite3.Error():
            code = getattr(fault, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & PRIMARY_CODE
            if code in REPLACEMENT_CODES:
                return Remedy.REPLACEMENT
            return Remedy.PERSON if code in PERSON_CODES else Remedy.TIME
    return Remedy.TIME


class FileLock:
    """An advisory lock on `NAME.lock`, held for as long as the store may write.

    The kernel drops it when the process ends, however it ends. The file stays and says which
    process had it last.
    """

    def __init__(self, path: Path) -> None:
        """Nothing is held yet."""
        self._path = path.with_name(f"{path.name}.lock")
        self._descriptor: int | None = None

    def hold(self) -> None:
        """Take the lock, if it is not held already, in a directory made for it if need be.

        Raises InUseError, OSError.
        """
        if self._descriptor is not None and same_file(self._descriptor, self._path):
            return
        self.release()
        make_directory(self._path.parent)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWN_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            owner = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise InUseError(f"in use by process {owner or 'unknown'}") from None
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back, if it is held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def prepare(path: Path) -> None:
    """Make an empty file that only its owner can read, if there is none. Raises OSError."""
    # One that exists is left alone: closing it here would drop the locks that SQLite holds on it
    # for another connection of this process.
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWN_ONLY))


def same_file(descriptor: int, path: Path) -> bool:
    """Whether the open file is still the one at the path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def why_unusable(fault: Exception) -> str:
    """Why a file had to be replaced, in the one word that names and counts it."""
    match fault:
        case NewerSchemaError():
            return "newer"
        case SchemaError():
            return "foreign"
    return "corrupt"


def set_aside(path: Path, fault: Exception, *, now_s: float) -> Path:
    """Rename the database and what belongs to it; returns its new path. Raises OSError."""
    reason = why_unusable(fault)
    moment = datetime.fromtimestamp(now_s, UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{path.name}.{reason}-{moment}"
    number = 1
    while (aside := path.with_name(name if number == 1 else f"{name}.{number}")).exists():
        number += 1
    # The database last: without its -wal it is still recognised as what it is.
    for suffix in reversed(SUFFIXES):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    _delete_oldest(path.parent, f"{path.name}.{reason}-")
    return aside


def _delete_oldest(directory: Path, beginning: str) -> None:
    """Keep SET_ASIDE_MAX of the databases whose names begin so; they sort by time."""
    kept = [
        part
        for part in directory.glob(f"{glob.escape(beginning)}*")
        if not part.name.endswith(SUFFIXES[1:])
    ]
    for old in sorted(kept)[:-SET_ASIDE_MAX]:
        for suffix in SUFFIXES:
            old.with_name(old.name + suffix).unlink(missing_ok=True)
