"""The store of a collection in one SQLite file. The only package that contains SQL."""

from neardup.collection.store.sqlite import Store

__all__ = ["Store"]
