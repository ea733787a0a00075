"""Ids of documents, as a collection keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neardup.errors import InputError

LONGEST_ID = 1024
"""Bytes of an id at most."""


def usable_id(value: Any) -> str:
    """An id as the collection keeps it: a str, or a whole number as its digits. Raises InputError for others."""
    made = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(made, str):
        raise InputError(f"A document cannot be named by a {type(value).__name__}", "A str or an int")
    fault = id_fault(made)
    if fault:
        raise InputError(f"A document cannot be named {made[:80]!r}: {fault}", f"1 to {LONGEST_ID} bytes of UTF-8")
    return made


def id_fault(id: str) -> str:
    """Why the collection cannot keep a document of this name; empty when it can."""
    if not id:
        return "the id is empty"
    try:
        size = len(id.encode("utf-8"))
    except UnicodeEncodeError:
        return "the id is no Unicode text"
    return f"the id has {size} bytes" if size > LONGEST_ID else ""


def unknown(ids: Sequence[str], where: str = "the collection") -> InputError:
    """The error that there are no such documents."""
    shown = ", ".join(repr(id[:80]) for id in ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
    return InputError(f"There is no document {shown} in {where}", "An id of a document in the collection")
