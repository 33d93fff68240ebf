"""The public sources are said with licence, size, pinned address and checksum, or as not pinned."""

import re
from pathlib import PurePosixPath

import pytest

from sidecar.datasets.catalogue import SOURCES, Source
from sidecar.datasets.converting import FORMATS

PINNED = [source for source in SOURCES.values() if source.pinned]


@pytest.mark.parametrize("source", SOURCES.values(), ids=str)
def test_a_source_names_its_licence_and_a_known_format(source: Source) -> None:
    assert source.licence
    assert source.format in FORMATS
    assert source.permitted or source.note


@pytest.mark.parametrize("source", PINNED, ids=lambda source: source.name)
def test_a_pinned_source_has_a_commit_and_a_checksum_for_each_file(source: Source) -> None:
    assert re.fullmatch("[0-9a-f]{40}", source.commit)
    assert source.size == sum(file.size for file in source.files)
    for file in source.files:
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert file.size > 0
        assert not PurePosixPath(file.path).is_absolute()
        assert ".." not in PurePosixPath(file.path).parts
    assert re.fullmatch("[0-9a-f]{64}", source.sha256)


@pytest.mark.parametrize("source", PINNED, ids=lambda source: source.name)
def test_a_pinned_source_has_files_that_its_format_takes(source: Source) -> None:
    patterns = FORMATS[source.format].files
    runs = [
        file
        for file in source.files
        if any(PurePosixPath(file.path).match(pattern) for pattern in patterns)
    ]
    assert runs


def test_a_source_without_checksums_is_not_pinned_and_says_so() -> None:
    mast = SOURCES["mast"]
    assert not mast.pinned
    assert mast.sha256 == ""
    assert "not pinned" in mast.note


def test_paths_are_quoted_in_addresses() -> None:
    source = SOURCES["who-and-when-magentic"]
    url = source.url(source.files[0].path)
    assert url.startswith("https://raw.githubusercontent.com/mingyin1/")
    assert "/Who%26When/Hand-Crafted/" in url
    mast = SOURCES["mast"].url("a b.json", "http://mirror.test/hf/")
    assert mast == "http://mirror.test/hf/datasets/mcemri/MAST-Data/resolve//a%20b.json"
