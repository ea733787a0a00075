"""The store of a collection in one SQLite file. The only room that knows SQL."""

from neardup.collection.store.sqlite import SqliteStore

__all__ = ["SqliteStore"]
