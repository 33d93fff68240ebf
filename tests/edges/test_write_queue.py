"""What waits for a file, where that is easier to see without one."""

from sidecar.adapters.sqlite_store.queue import DEGRADED_MAX, WriteQueue
from tests.edges.stores import entry, saved


def test_entries_for_a_file_that_fails_are_kept_up_to_a_bound() -> None:
    queue = WriteQueue(entries_max=2 * DEGRADED_MAX, snapshots_max=10, commit_interval_s=0)
    for number in range(DEGRADED_MAX + 5):
        assert queue.put_entry(entry("run", number)) is None
    assert queue.put_snapshot(saved("run", number=1)) is None
    assert queue.begin()
    queue.take(0)
    assert queue.put_entry(entry("run", DEGRADED_MAX + 5)) is None
    assert queue.put_snapshot(saved("run", number=2)) is None
    assert queue.fail() == (6, 0)
    assert queue.put_entry(entry("run", 0)) == "queue_full"
    batch = queue.take(0)
    assert [kept.number for kept in batch.entries] == list(range(DEGRADED_MAX))
    assert [placed.saved.number for placed in batch.snapshots.values()] == [2]
    queue.settle(refused=0)
    assert queue.put_entry(entry("run", 0)) is None


def test_a_snapshot_is_outdated_by_its_place_whatever_was_written_in_between() -> None:
    queue = WriteQueue(entries_max=10, snapshots_max=10, commit_interval_s=0)
    for number in (1, 2, 3):
        queue.put_entry(entry("run", number))
    queue.put_snapshot(saved("run", number=3))
    assert queue.begin()
    batch = queue.take(0)
    queue.written(batch, entries=2, refused=0)
    queue.fail()
    queue.put_entry(entry("run", 2))
    batch = queue.take(0)
    assert [kept.number for kept in batch.entries] == [3, 2]
    batch.drop_outdated()
    assert batch.snapshots == {}
