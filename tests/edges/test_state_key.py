"""The key of stored digests."""

import secrets
import stat
import threading
from pathlib import Path

import pytest

from sidecar.adapters.state_key import KEY_BYTES, KEY_NAME, load_key, put_back_key


def test_a_key_is_made_once_and_found_again(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    key, problem = load_key(directory)
    assert (len(key), problem) == (KEY_BYTES, None)
    assert load_key(directory) == (key, None)
    assert [part.name for part in directory.iterdir()] == [KEY_NAME]
    assert stat.S_IMODE((directory / KEY_NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert load_key(tmp_path / "another")[0] != key


@pytest.mark.parametrize("content", [b"", b"x" * (KEY_BYTES - 1), b"x" * (KEY_BYTES + 1)])
def test_a_key_of_another_length_is_left_alone_and_not_used(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / KEY_NAME
    path.write_bytes(content)
    key, problem = load_key(tmp_path)
    assert len(key) == KEY_BYTES and key != content
    assert problem is not None and str(path) in problem and str(len(content)) in problem
    assert path.read_bytes() == content
    assert load_key(tmp_path)[0] != key


def test_a_key_that_is_gone_is_put_back_and_no_other_is_replaced(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    key, _ = load_key(directory)
    (directory / KEY_NAME).unlink()
    directory.rmdir()
    assert put_back_key(directory, key) is None
    assert load_key(directory) == (key, None)
    assert put_back_key(directory, bytes(KEY_BYTES)) is None
    assert load_key(directory) == (key, None)


def test_why_a_key_cannot_be_put_back_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a directory should be")
    problem = put_back_key(tmp_path / "state", bytes(KEY_BYTES))
    assert problem is not None and str(tmp_path / "state") in problem


def test_a_directory_out_of_reach_gives_a_key_for_this_process_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a directory should be")
    key, problem = load_key(tmp_path / "state")
    assert len(key) == KEY_BYTES
    assert problem is not None and str(tmp_path / "state") in problem


def test_a_key_that_is_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / KEY_NAME).mkdir()
    key, problem = load_key(tmp_path)
    assert len(key) == KEY_BYTES
    assert problem is not None and KEY_NAME in problem


def test_all_who_start_at_once_get_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(4)
    token_hex = secrets.token_hex

    def token_hex_together(count: int) -> str:  # between the look for a key and its creation
        together.wait(10)
        return token_hex(count)

    monkeypatch.setattr(secrets, "token_hex", token_hex_together)
    found: list[tuple[bytes, str | None]] = []
    threads = [threading.Thread(target=lambda: found.append(load_key(tmp_path))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1
    assert [part.name for part in tmp_path.iterdir()] == [KEY_NAME]
