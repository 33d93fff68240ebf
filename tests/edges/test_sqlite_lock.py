"""Two stores of one file: who may write, also where the lock's own file is gone."""

from pathlib import Path

from sidecar.testing import Losses
from tests.edges.stores import FLUSH_S, entry, numbers, sqlite_store


def test_a_lock_that_was_deleted_is_not_left_to_another_store(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    with sqlite_store(path, lost=losses) as first:
        first.append(entry("run", 1))
        assert first.flush(FLUSH_S)
        path.with_name("store.db.lock").unlink()
        first.append(entry("run", 2))
        assert first.flush(FLUSH_S)
        with sqlite_store(path, lost=Losses()) as second:
            second.append(entry("run", 1))
            assert not second.flush(FLUSH_S)
            assert second.status().detail.startswith("in use")
        assert numbers(first, "run") == [1, 2]
    assert losses.counts == {}


def test_a_store_whose_lock_another_has_taken_writes_no_more(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    with sqlite_store(path, lost=losses) as first:
        first.append(entry("run", 1))
        assert first.flush(FLUSH_S)
        path.with_name("store.db.lock").unlink()
        with sqlite_store(path, lost=Losses()) as second:
            second.append(entry("run", 2))
            assert second.flush(FLUSH_S)
            first.append(entry("run", 2))
            assert not first.flush(FLUSH_S)
            assert first.status().detail.startswith("in use")
        assert first.flush(FLUSH_S)
    assert ("journal", "fault") not in losses.counts
