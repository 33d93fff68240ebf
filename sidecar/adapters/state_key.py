"""The key under which digests are stored: 32 random bytes in the state directory.

With it, digests from before a restart can be compared with those after, and nobody who has the
journal but not the key can tell what they were made of by trying.
"""

import os
import secrets
from pathlib import Path
from typing import Final

from sidecar.paths import make_directory

KEY_NAME: Final = "key"

KEY_BYTES: Final = 32
"""Of the digests' key: BLAKE2b takes up to 64; nobody guesses 32."""

OWN_ONLY: Final = 0o600


def load_key(state_directory: Path) -> tuple[bytes, str | None]:
    """The key, made now if there is none; and why it is not the one in the file, if it is not.

    Where the file cannot be read or written, or is not KEY_BYTES long, it is left as it is and
    the key is a fresh one, known to this process only. Never raises.
    """
    path = state_directory / KEY_NAME
    try:
        make_directory(state_directory)
        if not path.exists():
            _create(path, secrets.token_bytes(KEY_BYTES))
        key = path.read_bytes()
    except OSError as fault:
        return secrets.token_bytes(KEY_BYTES), str(fault)
    if len(key) != KEY_BYTES:
        problem = f"{path} has {len(key)} bytes where a key has {KEY_BYTES}"
        return secrets.token_bytes(KEY_BYTES), problem
    return key, None


def put_back_key(state_directory: Path, key: bytes) -> str | None:
    """Keep this key for the next start, where there is none any more: its file went with the
    database that was begun anew since. What is in the way of that, if anything. Never raises."""
    try:
        make_directory(state_directory)
        if not (state_directory / KEY_NAME).exists():
            _create(state_directory / KEY_NAME, key)
    except OSError as fault:
        return str(fault)
    return None


def _create(path: Path, key: bytes) -> None:
    """Put a whole key at the path, unless another process was first."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWN_ONLY)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        # A link, not a rename: it fails where a key stands already, and that key is used.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
