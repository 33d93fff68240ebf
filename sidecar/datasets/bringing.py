"""A public source brought here whole: its files verified, one after another."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from sidecar.datasets.catalogue import PinnedFile, Source
from sidecar.datasets.clone import Clone
from sidecar.datasets.fetching import Downloads, client

Progress: TypeAlias = Callable[[Sequence[PinnedFile]], Iterable[PinnedFile]]


def bring(
    source: Source,
    cache: Path,
    *,
    clone: Path | None = None,
    mirror: str = "",
    progress: Progress = iter,
) -> list[Path]:
    """The files of a source, below a folder of its own in the cache.

    They come out of a local clone of the repository where one is named, else over HTTP. Raises
    FetchError and OSError.
    """
    directory = cache / f"{source.name}-{source.commit[:12]}"
    if clone is not None:
        local = Clone(root=clone, directory=directory)
        return [local.fetch(source, file) for file in progress(source.files)]
    with client() as made:
        downloads = Downloads(client=made, directory=directory, mirror=mirror)
        return [downloads.fetch(source, file) for file in progress(source.files)]
