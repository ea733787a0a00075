"""Ids of documents, as a collection stores them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neardup.errors import InputError, UnknownIdError

LONGEST_ID = 1024
"""The most bytes of an id."""


def usable_id(value: Any) -> str:
    """Return an id in its stored form: a str, or the digits of an int. Raises InputError for other values."""
    made = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(made, str):
        raise InputError(f"A document cannot be named by a {type(value).__name__}", "A str or an int")
    fault = id_fault(made)
    if fault:
        raise InputError(f"A document cannot be named {made[:80]!r}: {fault}", f"1 to {LONGEST_ID} bytes of UTF-8")
    return made


def id_fault(id: str) -> str:
    """Return why the collection cannot keep a document with this id; empty if it can."""
    if not id:
        return "the id is empty"
    try:
        size = len(id.encode("utf-8"))
    except UnicodeEncodeError:
        return "the id is not Unicode text"
    return f"the id has {size} bytes" if size > LONGEST_ID else ""


def unknown(ids: Sequence[str], where: str = "the collection") -> UnknownIdError:
    """Return the error for documents that do not exist."""
    shown = ", ".join(repr(id[:80]) for id in ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
    return UnknownIdError(f"There is no document {shown} in {where}", "An id of a document in the collection")
