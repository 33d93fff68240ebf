"""Pinned files brought here over HTTP, and what came held against its checksum.

The standard variables name a proxy (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY). A download that
broke off goes on where it ended, in the same call and in a later one.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

import httpx2

from sidecar.datasets.catalogue import PinnedFile, Source
from sidecar.datasets.verifying import FetchError, changed_upstream, digest_of
from sidecar.version import VERSION

ATTEMPTS_MAX: Final = 4
"""In a row that bring nothing new; one that does starts the count again."""
PAUSE_S: Final = 1.0
"""Before the second attempt; doubled before each further one."""
TIMEOUT_S: Final = 30.0
"""Without a byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloads:
    """Where files come from and where they are kept."""

    client: httpx2.Client
    directory: Path
    """Of the source's files; what is there and right is not asked for again."""
    mirror: str = ""
    """Address that stands in for the public host; empty: none."""
    pause: Callable[[float], None] = time.sleep

    def fetch(self, source: Source, file: PinnedFile) -> Path:
        """The file, verified. Raises FetchError and OSError."""
        path = self.directory / file.path
        if path.is_file() and digest_of(path) == file.sha256:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        url = source.url(file.path, self.mirror)
        resumed = _length(part) > 0
        self._download(url, file, part)
        found = digest_of(part)
        if found != file.sha256 and resumed:
            # What was there already may have been another file's beginning.
            part.unlink()
            self._download(url, file, part)
            found = digest_of(part)
        if found != file.sha256:
            part.unlink()
            raise changed_upstream(file, found, url)
        part.replace(path)
        return path

    def _download(self, url: str, file: PinnedFile, part: Path) -> None:
        """Brings the rest of a file, as far as the server has it, and one byte more where there is
        more than was pinned."""
        idle = 0
        while (before := _length(part)) < file.size:
            fault = self._attempt(url, part, before, file.size)
            if fault is None:
                return
            idle = 0 if _length(part) > before else idle + 1
            if idle >= ATTEMPTS_MAX:
                raise FetchError(f"{file.path}: {fault} ({url})")
            self.pause(PAUSE_S * 2 ** max(0, idle - 1))

    def _attempt(self, url: str, part: Path, begun: int, size: int) -> str | None:
        """Appends what comes. The fault that a further attempt may overcome; None: there is no
        more. Raises FetchError for a fault that no attempt will overcome."""
        # The sums are those of the plain files, and a range of a compressed one is of no use.
        headers = {"Accept-Encoding": "identity"}
        if begun:
            headers["Range"] = f"bytes={begun}-"
        try:
            with self.client.stream("GET", url, headers=headers) as response:
                status = response.status_code
                if begun and status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                    return None
                if status in _PASSING:
                    return f"the server answers {status}"
                if not response.is_success:
                    raise FetchError(f"the server answers {status} ({url})")
                return _append(response, part, begun, size)
        except httpx2.InvalidURL as error:
            raise FetchError(f"{url}: {error}") from None
        except httpx2.HTTPError as error:
            return f"{error or type(error).__name__}"


_PASSING: Final = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which it is worth trying again."""


@contextmanager
def client() -> Iterator[httpx2.Client]:
    """A client that follows the environment's proxies and a host's redirects."""
    headers = {"User-Agent": f"agent-sidecar/{VERSION}"}
    with httpx2.Client(headers=headers, timeout=TIMEOUT_S, follow_redirects=True) as made:
        yield made


def _append(response: httpx2.Response, part: Path, begun: int, size: int) -> str | None:
    """Keeps what comes, at most one byte beyond the size: enough to tell that the file is longer.

    The fault where it ended early or is another range than was asked for; an end that contradicts
    the length that the server gave raises HTTPError.
    """
    partial = response.status_code == HTTPStatus.PARTIAL_CONTENT
    if partial and not response.headers.get("Content-Range", "").startswith(f"bytes {begun}-"):
        part.unlink(missing_ok=True)
        return "the server answers with another range"
    room = size + 1 - (begun if partial else 0)
    with part.open("ab" if partial else "wb") as file:
        # As it comes: what waits to fill a chunk is lost where the connection breaks.
        for chunk in response.iter_raw():
            file.write(chunk[:room])
            room -= len(chunk)
            if room <= 0:
                return None
    return None if "Content-Length" in response.headers or room <= 1 else "it ended early"


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
