"""Journal and snapshots in one SQLite file; start reading at `store`."""

from sidecar.adapters.sqlite_store.file import DATABASE
from sidecar.adapters.sqlite_store.offline import read_journal
from sidecar.adapters.sqlite_store.store import SqliteStore

__all__ = ["DATABASE", "SqliteStore", "read_journal"]
