"""The files that the person named: opened here, copied into the container, never opened by path
again."""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of one file: it is copied into memory for each interpreter."""
FILES_MAX: Final = 16
FILES_BYTES_MAX: Final = 128 * 1024 * 1024
"""Of all of them."""


class FileUnusableError(Exception):
    """A file that was named cannot be given to the code; the text says why."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Files that are open for reading."""

    fds: Mapping[str, int]
    """By name."""

    def copy_to(self, directory: str) -> None:
        """Put copies of them there."""
        for name, fd in self.fds.items():
            copy = Path(directory, name)
            # "x", and by the open file: never through a link that somebody has put there.
            with os.fdopen(os.dup(fd), "rb") as source, copy.open("xb") as target:
                source.seek(0)
                shutil.copyfileobj(source, target)
                os.fchmod(target.fileno(), 0o444)


def named(paths: Sequence[Path]) -> dict[str, Path]:
    """The files by the names under which code finds them. Raises FileUnusableError."""
    if len(paths) > FILES_MAX:
        raise FileUnusableError(f"{len(paths)} files; at most {FILES_MAX} can be given")
    found: dict[str, Path] = {}
    bytes_all = 0
    for path in paths:
        if path.name in found:
            raise FileUnusableError(f"{path}: a file named {path.name} is given already")
        found[path.name] = path
        with opened({path.name: path}) as files:
            bytes_all += sum(os.fstat(fd).st_size for fd in files.fds.values())
    if bytes_all > FILES_BYTES_MAX:
        raise FileUnusableError(
            f"{bytes_all} bytes of files; together they may have {FILES_BYTES_MAX}"
        )
    return found


@contextlib.contextmanager
def opened(paths: Mapping[str, Path]) -> Iterator[Opened]:
    """The files, open. Raises FileUnusableError."""
    fds: dict[str, int] = {}
    try:
        for name, path in paths.items():
            fds[name] = _open(path)
        yield Opened(fds)
    finally:
        for fd in fds.values():
            os.close(fd)


def _open(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise FileUnusableError(f"{path}: {error.strerror}") from error
    status = os.fstat(fd)
    fault = ""
    if not stat.S_ISREG(status.st_mode):
        fault = "not a regular file"
    elif status.st_size > FILE_BYTES_MAX:
        fault = f"{status.st_size} bytes; a file may have {FILE_BYTES_MAX}"
    if fault:
        os.close(fd)
        raise FileUnusableError(f"{path}: {fault}")
    return fd
