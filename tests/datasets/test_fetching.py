"""Pinned files over HTTP, from a real server on loopback."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.datasets.bringing import bring
from sidecar.datasets.catalogue import NONE, PinnedFile, Source
from sidecar.datasets.fetching import ATTEMPTS_MAX, Downloads, client
from sidecar.datasets.verifying import FetchError
from tests.datasets.http_files import Answer, Files, served

BODY = bytes(range(256)) * 1_000


def _pinned(path: str, body: bytes = BODY) -> PinnedFile:
    return PinnedFile(path=path, size=len(body), sha256=hashlib.sha256(body).hexdigest())


FILE = _pinned("runs & more/a.json")
SOURCE = Source(
    name="made-up",
    about="made up",
    format="openhands",
    repository="owner/name",
    licence=NONE,
    commit="c0ffee" * 6,
    files=(FILE,),
)
URL_PATH = f"/owner/name/{SOURCE.commit}/runs%20%26%20more/a.json"


@pytest.fixture
def files() -> Iterator[Files]:
    with served(Files(bodies={URL_PATH: BODY})) as found:
        yield found


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def downloads(files: Files, tmp_path: Path, pauses: list[float]) -> Iterator[Downloads]:
    with client() as made:
        yield Downloads(
            client=made, directory=tmp_path, mirror=f"{files.address}/", pause=pauses.append
        )


def _part(tmp_path: Path) -> Path:
    part = tmp_path / f"{FILE.path}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    return part


def test_a_file_is_fetched_from_the_mirror_under_the_hosts_path_and_verified(
    files: Files, downloads: Downloads, tmp_path: Path
) -> None:
    path = downloads.fetch(SOURCE, FILE)
    assert path == tmp_path / "runs & more" / "a.json"
    assert path.read_bytes() == BODY
    assert files.asked == [(URL_PATH, None)]


def test_a_file_that_is_there_and_right_is_not_asked_for_again(
    files: Files, downloads: Downloads
) -> None:
    downloads.fetch(SOURCE, FILE)
    downloads.fetch(SOURCE, FILE).write_bytes(b"spoilt")
    assert len(files.asked) == 1
    assert downloads.fetch(SOURCE, FILE).read_bytes() == BODY
    assert len(files.asked) == 2


@pytest.mark.parametrize("length", [True, False])
def test_a_download_that_breaks_off_goes_on_where_it_ended(
    files: Files, downloads: Downloads, pauses: list[float], *, length: bool
) -> None:
    files.answers = [
        Answer(break_after=100_000, length=length),
        Answer(break_after=50_000, length=length),
    ]
    assert downloads.fetch(SOURCE, FILE).read_bytes() == BODY
    assert [asked for _, asked in files.asked] == [None, "bytes=100000-", "bytes=150000-"]
    assert pauses == [1.0, 1.0]


def test_a_later_call_goes_on_with_what_an_earlier_one_left(
    files: Files, downloads: Downloads, tmp_path: Path
) -> None:
    _part(tmp_path).write_bytes(BODY[:777])
    assert downloads.fetch(SOURCE, FILE).read_bytes() == BODY
    assert files.asked == [(URL_PATH, "bytes=777-")]
    assert not _part(tmp_path).exists()


def test_a_server_without_ranges_sends_the_whole_again(
    files: Files, downloads: Downloads, tmp_path: Path
) -> None:
    _part(tmp_path).write_bytes(BODY[:777])
    files.answers = [Answer(ranges=False)]
    assert downloads.fetch(SOURCE, FILE).read_bytes() == BODY


def test_another_range_than_asked_for_is_not_believed(
    files: Files, downloads: Downloads, tmp_path: Path
) -> None:
    _part(tmp_path).write_bytes(BODY[:777])
    files.answers = [Answer(content_range=f"bytes 0-10/{len(BODY)}")]
    assert downloads.fetch(SOURCE, FILE).read_bytes() == BODY
    assert [asked for _, asked in files.asked] == ["bytes=777-", None]


@pytest.mark.parametrize("stale", [b"another file's beginning", b"x" * (len(BODY) + 1)])
def test_a_stale_beginning_is_thrown_away_before_the_file_is_called_changed(
    downloads: Downloads, tmp_path: Path, stale: bytes
) -> None:
    _part(tmp_path).write_bytes(stale)
    assert downloads.fetch(SOURCE, FILE).read_bytes() == BODY


@pytest.mark.parametrize(
    ("why", "body"),
    [
        ("other content", bytes(len(BODY))),
        ("longer", BODY + b"!"),
        ("much longer", BODY * 2),
        ("shorter", BODY[:-1]),
        ("empty", b""),
    ],
)
def test_a_file_that_changed_upstream_is_refused_with_both_sums(
    files: Files, downloads: Downloads, tmp_path: Path, why: str, body: bytes
) -> None:
    files.bodies[URL_PATH] = body
    with pytest.raises(FetchError, match="changed upstream") as refused:
        downloads.fetch(SOURCE, FILE)
    seen = hashlib.sha256(body[: len(BODY) + 1]).hexdigest()
    assert FILE.sha256 in str(refused.value), why
    assert seen in str(refused.value), why
    assert list(tmp_path.rglob("*.json*")) == []


def test_no_more_than_the_pinned_size_and_one_byte_is_kept(
    files: Files, downloads: Downloads, tmp_path: Path
) -> None:
    files.bodies[URL_PATH] = BODY * 40
    files.answers = [Answer(length=False)]
    with pytest.raises(FetchError):
        downloads.fetch(SOURCE, FILE)
    assert len(files.asked) == 1


def test_passing_faults_are_tried_again_with_longer_pauses(
    files: Files, downloads: Downloads, pauses: list[float]
) -> None:
    files.answers = [Answer(status=503), Answer(status=429), Answer(status=500)]
    assert downloads.fetch(SOURCE, FILE).read_bytes() == BODY
    assert pauses == [1.0, 2.0, 4.0]


def test_a_fault_that_stays_ends_with_one_line(
    files: Files, downloads: Downloads, pauses: list[float]
) -> None:
    files.answers = [Answer(status=503)] * 20
    with pytest.raises(FetchError, match="the server answers 503"):
        downloads.fetch(SOURCE, FILE)
    assert len(files.asked) == ATTEMPTS_MAX
    assert len(pauses) == ATTEMPTS_MAX - 1


def test_a_server_that_always_breaks_off_at_one_place_is_given_up(
    files: Files, downloads: Downloads
) -> None:
    files.answers = [Answer(ranges=False, break_after=100)] * 20
    with pytest.raises(FetchError):
        downloads.fetch(SOURCE, FILE)
    assert len(files.asked) == ATTEMPTS_MAX + 1


def test_a_file_that_is_not_there_is_not_tried_again(files: Files, downloads: Downloads) -> None:
    files.bodies.clear()
    with pytest.raises(FetchError, match="the server answers 404"):
        downloads.fetch(SOURCE, FILE)
    assert len(files.asked) == 1


def test_a_redirect_is_followed(files: Files, downloads: Downloads) -> None:
    files.bodies["/elsewhere"] = BODY
    files.answers = [Answer(status=302, location="/elsewhere")]
    assert downloads.fetch(SOURCE, FILE).read_bytes() == BODY


def test_a_host_that_nobody_answers_at_is_named(downloads: Downloads, tmp_path: Path) -> None:
    nowhere = replace(downloads, mirror="http://127.0.0.1:1")
    with pytest.raises(FetchError, match=r"http://127\.0\.0\.1:1/owner/name"):
        nowhere.fetch(SOURCE, FILE)


def test_the_environments_proxy_is_asked_for_the_whole_address(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", files.address)
    mirror = "http://data.invalid"
    with client() as made:
        Downloads(client=made, directory=tmp_path, mirror=mirror).fetch(SOURCE, FILE)
    assert files.asked == [(f"http://data.invalid{URL_PATH}", None)]


def test_a_source_is_brought_whole_into_a_folder_of_its_own(files: Files, tmp_path: Path) -> None:
    second = _pinned("b.json", b"[]")
    files.bodies[f"/owner/name/{SOURCE.commit}/b.json"] = b"[]"
    source = replace(SOURCE, files=(FILE, second))
    paths = bring(source, tmp_path, mirror=files.address)
    assert [path.read_bytes() for path in paths] == [BODY, b"[]"]
    assert {path.relative_to(tmp_path).parts[0] for path in paths} == {"made-up-c0ffeec0ffee"}
