"""The bearer token of the HTTP endpoint, in a file that only its user can read."""

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from sidecar.paths import make_directory

TOKEN_BYTES: Final = 32
OWN_ONLY: Final = 0o600
OTHERS: Final = 0o077


class TokenUnfitError(Exception):
    """A token file that is of no use; the text says why and what would be right."""


def token_in(path: Path) -> str:
    """The token in the file, which is made with a random one where there is none.

    Raises TokenUnfitError for a file that others can read or that holds no token, OSError for one
    that cannot be read or made.
    """
    make_directory(path.parent)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWN_ONLY)
    except FileExistsError:
        return _read(path)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{token}\n")
    return token


def _read(path: Path) -> str:
    with path.open("rb") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & OTHERS:
            raise TokenUnfitError(f"{path} can be read by others: chmod 600 {path}")
        token = file.read(4096).decode("ascii", "replace").strip()
    if not token or not token.isprintable() or not token.isascii() or " " in token:
        raise TokenUnfitError(f"{path} holds no token: one word of printable ASCII")
    return token
