"""Where a sidecar's sockets and files are when nobody says otherwise.

The XDG Base Directory Specification 0.8: sockets under $XDG_RUNTIME_DIR, state under
$XDG_STATE_HOME. It tells a program to ignore a relative path there. A container or a service often
has no runtime directory; a directory of one's own under /tmp stands in for it.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

# Not tempfile.gettempdir(): an agent and its sidecar must agree, and TMPDIR differs by process.
FALLBACK_PARENT = Path("/tmp")  # noqa: S108 (who uses it asks is_private or make_private)

WRITING = 0o022
"""What lets others put something into a directory."""


def runtime_directory(environment: Mapping[str, str] | None = None) -> Path:
    """The directory of the sockets; it may not exist. `environment` stands in for os.environ."""
    given = (os.environ if environment is None else environment).get("XDG_RUNTIME_DIR", "")
    if Path(given).is_absolute():
        return Path(given) / "sidecar"
    return FALLBACK_PARENT / f"sidecar-{os.getuid()}"


def agent_socket(environment: Mapping[str, str] | None = None) -> Path:
    """The socket that agents report to."""
    return runtime_directory(environment) / "agent.sock"


def agent_http_socket(environment: Mapping[str, str] | None = None) -> Path:
    """The socket that agents report to in JSON."""
    return runtime_directory(environment) / "agent-http.sock"


def admin_socket(environment: Mapping[str, str] | None = None) -> Path:
    """The socket that operators ask."""
    return runtime_directory(environment) / "admin.sock"


def state_directory(environment: Mapping[str, str] | None = None) -> Path:
    """The directory of what outlives a restart; it may not exist."""
    return _below_home(environment, "XDG_STATE_HOME", ".local/state", else_="state")


def cache_directory(environment: Mapping[str, str] | None = None) -> Path:
    """The directory of what can be had again; it may not exist."""
    return _below_home(environment, "XDG_CACHE_HOME", ".cache", else_="cache")


def _below_home(
    environment: Mapping[str, str] | None, variable: str, standard: str, *, else_: str
) -> Path:
    variables = os.environ if environment is None else environment
    for given, below in ((variables.get(variable, ""), ""), (variables.get("HOME", ""), standard)):
        if Path(given).is_absolute():
            return Path(given, below, "sidecar")
    return runtime_directory(variables) / else_


def is_private(directory: Path) -> bool:
    """Whether it is a directory, no link, of this user, and closed to everybody else.

    Anybody may make /tmp/sidecar-UID first; a socket in it is to be trusted only when this holds.
    """
    return _is_own(directory, closed_to_others=0o077)


def _is_own(directory: Path, *, closed_to_others: int) -> bool:
    """Whether it is a directory, no link, of this user, without any of these bits."""
    try:
        status = directory.lstat()
    except OSError:
        return False
    is_closed = stat.S_IMODE(status.st_mode) & closed_to_others == 0
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and is_closed


def is_shared(directory: Path) -> bool:
    """Whether anybody could have made the runtime directory before: it is right under /tmp."""
    own = (runtime_directory(), FALLBACK_PARENT / f"sidecar-{os.getuid()}")
    return directory.parent == FALLBACK_PARENT and directory in own


def make_directory(directory: Path) -> None:
    """Makes a directory of sockets or files, with mode 0700, and those above it, unless they are
    there.

    Raises PermissionError where it is the stand-in under /tmp, or in it, and that is not private:
    who can write there can put a socket or a file of their own in the place of ours. OSError if it
    cannot be made.
    """
    for each in (directory, *directory.parents):
        if is_shared(each):
            make_private(each)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def make_private(directory: Path) -> None:
    """Makes the directory with mode 0700, or takes the one that is there if it is private. One of
    this user's in which others could only read is closed to them.

    Raises PermissionError if it is another user's or open to others, OSError if it cannot be made.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _is_own(directory, closed_to_others=WRITING):
        directory.chmod(0o700)
    if not is_private(directory):
        raise PermissionError(f"{directory} is not a directory of this user's with mode 0700")
