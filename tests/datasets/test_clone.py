"""Pinned files out of local clones, without a network."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from sidecar.datasets.bringing import bring
from sidecar.datasets.catalogue import MIT, PinnedFile, Source
from sidecar.datasets.verifying import FetchError

BODY = b'{"a": 1}\n'


def _source(commit: str) -> Source:
    pinned = PinnedFile(
        path="runs & more/a.json", size=len(BODY), sha256=hashlib.sha256(BODY).hexdigest()
    )
    return Source(
        name="made-up",
        about="made up",
        format="openhands",
        repository="owner/name",
        licence=MIT,
        commit=commit,
        files=(pinned,),
    )


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.test"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, str]:
    """A repository whose newest commit has another file than the one before, and that one's id."""
    folder = tmp_path / "clone"
    (folder / "runs & more").mkdir(parents=True)
    _git(folder, "init", "--quiet")
    for body in (BODY, b"[]"):
        (folder / "runs & more" / "a.json").write_bytes(body)
        _git(folder, "add", ".")
        _git(folder, "commit", "--quiet", "--message", "a file")
    return folder, _git(folder, "rev-parse", "HEAD~1")


def test_a_plain_folder_with_the_files_will_do(tmp_path: Path) -> None:
    (tmp_path / "copy" / "runs & more").mkdir(parents=True)
    (tmp_path / "copy" / "runs & more" / "a.json").write_bytes(BODY)
    (path,) = bring(_source("c0ffee"), tmp_path / "cache", clone=tmp_path / "copy")
    assert path.read_bytes() == BODY


def test_the_pinned_commit_counts_and_not_what_is_checked_out(
    clone: tuple[Path, str], tmp_path: Path
) -> None:
    folder, commit = clone
    (path,) = bring(_source(commit), tmp_path / "cache", clone=folder)
    assert path.read_bytes() == BODY
    assert (folder / "runs & more" / "a.json").read_bytes() == b"[]"


def test_a_bare_clone_will_do(clone: tuple[Path, str], tmp_path: Path) -> None:
    folder, commit = clone
    bare = tmp_path / "bare"
    _git(tmp_path, "clone", "--quiet", "--bare", str(folder), str(bare))
    (path,) = bring(_source(commit), tmp_path / "cache", clone=bare)
    assert path.read_bytes() == BODY


def test_a_clone_with_another_file_says_that_it_changed_with_both_sums(
    clone: tuple[Path, str], tmp_path: Path
) -> None:
    folder, _ = clone
    source = _source(_git(folder, "rev-parse", "HEAD"))
    with pytest.raises(FetchError, match="changed upstream") as refused:
        bring(source, tmp_path / "cache", clone=folder)
    assert source.files[0].sha256 in str(refused.value)
    assert hashlib.sha256(b"[]").hexdigest() in str(refused.value)


def test_a_folder_without_the_file_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="expected a clone of owner/name that has commit c0ffee"):
        bring(_source("c0ffee"), tmp_path / "cache", clone=tmp_path)
