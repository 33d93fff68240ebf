"""Journal and snapshots in one SQLite file; start reading at `store`."""

from sidecar.adapters.sqlite_store.offline import read_journal
from sidecar.adapters.sqlite_store.rows import EntryCodec
from sidecar.adapters.sqlite_store.store import SqliteStore
from sidecar.adapters.sqlite_store.writer import StoreStatus

__all__ = ["EntryCodec", "SqliteStore", "StoreStatus", "read_journal"]
