"""Pinned files out of a local clone of their repository, whatever it has checked out."""

import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sidecar.datasets.catalogue import PinnedFile, Source
from sidecar.datasets.verifying import FetchError, changed_upstream, digest_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone:
    """A folder with the repository's files, or a git directory that holds the pinned commit."""

    root: Path
    directory: Path
    """Where files that are only in the history are put."""

    def fetch(self, source: Source, file: PinnedFile) -> Path:
        """The file, verified. Raises FetchError and OSError."""
        path = self.root / file.path
        found = digest_of(path) if path.is_file() else None
        if found == file.sha256:
            return self._kept(file, path.read_bytes())
        content = self._committed(source, file)
        if content is not None:
            found = hashlib.sha256(content).hexdigest()
            if found == file.sha256:
                return self._kept(file, content)
        if found is None:
            raise FetchError(
                f"{file.path}: not in {self.root}: expected a clone of {source.repository} that "
                f"has commit {source.commit[:12]}"
            )
        raise changed_upstream(file, found, str(self.root))

    def _kept(self, file: PinnedFile, content: bytes) -> Path:
        kept = self.directory / file.path
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(content)
        return kept

    def _committed(self, source: Source, file: PinnedFile) -> bytes | None:
        """The file at the pinned commit; None where git or the commit is not there."""
        # A partial clone would go to the network for what it lacks.
        environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
        command = ["git", "-C", str(self.root), "cat-file", "blob", f"{source.commit}:{file.path}"]
        try:
            done = subprocess.run(  # noqa: S603 (no shell, and the path is the user's own)
                command, capture_output=True, check=True, env=environment
            )
        except (OSError, subprocess.CalledProcessError):
            return None
        return done.stdout
