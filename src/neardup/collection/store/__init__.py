"""The stores of a collection: one SQLite file, or a schema in PostgreSQL. The only package that contains SQL."""

from typing import Any

from neardup.collection.settings import GivenSettings
from neardup.collection.store.store import Store
from neardup.errors import InputError, unusable
from neardup.io.place import Place, file_at

__all__ = ["Store", "is_there", "remove_untouched", "store_at"]


def store_at(
    place: Place, given: GivenSettings, *, readonly: bool = False, upgrade: bool = False, wait: float = 10.0
) -> Store:
    """Open the store at a place, or create it; see ``Store``."""
    opened: Store
    file = file_at(place)
    if file is None:
        opened = _postgres().PostgresStore(place, given, readonly=readonly, upgrade=upgrade, wait=wait)
    else:
        from neardup.collection.store.sqlite import SqliteStore

        opened = SqliteStore(file, given, readonly=readonly, upgrade=upgrade, wait=wait)
    return opened


def is_there(place: Place) -> bool:
    """Whether there is a file, or a schema with tables, at a place."""
    file = file_at(place)
    return bool(_postgres().is_there(place)) if file is None else file.exists()


def remove_untouched(place: Place) -> bool:
    """Remove a collection in which nothing was ever stored, and that nobody has open; return whether it is gone.

    A schema stays, since other tables may be in it.
    """
    path = file_at(place)
    if path is None:
        return False
    from neardup.collection.store import file

    return file.remove_untouched(path)


def _postgres() -> Any:
    """The module that needs the extra. Raises InputError without it."""
    try:
        from neardup.collection.store import postgres
    except ImportError as error:
        why, solution = unusable("psycopg", "postgres", error)
        raise InputError(f"A collection in PostgreSQL needs psycopg, which {why}", "", solution) from error
    return postgres
