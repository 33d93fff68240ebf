"""Files held against the checksums that were pinned for them."""

import hashlib
from pathlib import Path

from sidecar.datasets.catalogue import PinnedFile


class FetchError(Exception):
    """A file could not be had, or is not the one that was pinned; the text names it."""


def changed_upstream(file: PinnedFile, found: str, where: str) -> FetchError:
    """The fault of a file that is not the one that was pinned."""
    return FetchError(
        f"{file.path}: changed upstream: SHA-256 {found}, pinned was {file.sha256} ({where})"
    )


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hex. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
