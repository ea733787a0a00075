"""The fields of a document: its id, its text and its metadata, with their limits; metadata as facts to look up.

The limits are checked before anything is stored, and are the same for every interface.
"""

import hashlib
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from neardup.collection.contract import Operator, Value
from neardup.errors import InputError, UnknownIdError
from neardup.io.contents import ATTACHED, UNREAD, Attachment, differing_kinds, own_of, unread_of

Ids: TypeAlias = str | int | Iterable[str | int]
"""One id, or several."""

LARGEST_TEXT = 64_000_000
"""The most bytes of a text."""
MOST_WORDS = 1_000_000
"""The most distinct words of a text: each is a row of the index.

Two million take ten seconds to commit (measured).
"""
FEW_WORDS = 4_000_000
"""A text of at most this many bytes cannot have too many distinct words: not enough words are that short."""
DEEPEST = 32
"""The deepest nesting of lists and records in metadata."""
MOST_KEYS = 1_000
"""The most distinct names in the metadata of a document, including those of records in records."""
LONGEST_KEY = 1_024
"""The most bytes of a name, ``outer.inner`` in full."""
MOST_VALUES = 10_000
"""The most values in the metadata of a document: elements of lists and fields of records."""
MOST_METADATA = 1_000_000
"""The most bytes of names and strings in the metadata of a document."""
MOST_DIGITS = 300
"""The most digits of a whole number: a larger one cannot be ordered among the other numbers."""

LARGEST_STREAM = 2 * LARGEST_TEXT
"""The most bytes of the normalised words of a text, each followed by a space.

One character, U+FDFA, becomes 33 bytes.
"""

STREAM_FAULT = f"the text has more than {LARGEST_STREAM:,} bytes when it is normalised"
WORDS_FAULT = f"the text has more than {MOST_WORDS:,} different words"

_SHOWN = 80
_TOO_LARGE = 10**MOST_DIGITS


def text_fault(size: int) -> str:
    """Return why a text of ``size`` bytes cannot be kept; empty if it can."""
    return f"the text has {size:,} bytes, more than {LARGEST_TEXT:,}" if size > LARGEST_TEXT else ""


def metadata_fault(metadata: Any) -> str:
    """Return why metadata cannot be kept; empty if it can. Examines no more than the limits allow.

    >>> metadata_fault({"n": 10**300})
    'the metadata holds a whole number of more than 300 digits'
    >>> metadata_fault({"scores": [1.5, float("nan")]})
    "the metadata holds nan in 'scores', which JSON cannot represent; leave it out"
    """
    if not isinstance(metadata, Mapping):
        return f"the metadata is a {type(metadata).__name__}, not a record"
    level: list[tuple[str, Any]] = [("", metadata)]
    keys: set[str] = set()
    values = size = 0
    for _ in range(DEEPEST):
        deeper: list[tuple[str, Any]] = []
        for name, value in _parts(level):
            values += 1
            if values > MOST_VALUES:
                return f"the metadata has more than {MOST_VALUES:,} values"
            fault = _fault(name, value)
            if fault:
                return fault
            keys.add(name)
            size += _size(name) + (_size(value) if isinstance(value, str | bytes) else 0)
            if isinstance(value, Mapping | list | tuple):
                deeper.append((name, value))
        if len(keys) > MOST_KEYS:
            return f"the metadata has {len(keys):,} different names, more than {MOST_KEYS:,}"
        if size > MOST_METADATA:
            return f"the names and strings of the metadata have {size:,} bytes, more than {MOST_METADATA:,}"
        if not deeper:
            return ""
        level = deeper
    return f"the lists and records of the metadata are nested more than {DEEPEST} deep"


def _parts(level: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The fields and elements of records and lists, each with its name."""
    for name, outer in level:
        if isinstance(outer, Mapping):
            for key, value in outer.items():
                yield f"{name}.{key}" if name else str(key), value
        else:
            for value in outer:
                yield name, value


def _fault(name: str, value: Any) -> str:
    if len(name) > LONGEST_KEY or _size(name) > LONGEST_KEY:
        return f"a name in the metadata has {_size(name):,} bytes, more than {LONGEST_KEY:,}"
    if isinstance(value, int) and not -_TOO_LARGE < value < _TOO_LARGE:
        return f"the metadata holds a whole number of more than {MOST_DIGITS} digits"
    if isinstance(value, float | Decimal | np.floating) and not math.isfinite(value):
        return f"the metadata holds {value} in {name[:_SHOWN]!r}, which JSON cannot represent; leave it out"
    return ""


def _size(text: str | bytes) -> int:
    return len(text.encode("utf-8", "replace") if isinstance(text, str) else text)


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


def usable_ids(ids: Ids) -> list[str]:
    """Return one id or several in their stored form, each once. Raises InputError as :func:`usable_id`."""
    return list(dict.fromkeys(usable_id(id) for id in ([ids] if isinstance(ids, str | int) else ids)))


def id_fault(id: str) -> str:
    """Return why the collection cannot keep a document with this id; empty if it can."""
    if not id:
        return "the id is empty"
    try:
        size = len(id.encode("utf-8"))
    except UnicodeEncodeError:
        return "the id is not Unicode text"
    return f"the id has {size} bytes" if size > LONGEST_ID else ""


def unknown_error(ids: Sequence[str], where: str = "the collection") -> UnknownIdError:
    """Return the error for documents that do not exist."""
    shown = ", ".join(repr(id[:80]) for id in ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
    return UnknownIdError(f"There is no document {shown} in {where}", "An id of a document in the collection")


Fact: TypeAlias = tuple[str, Value]

_LARGEST = 2**63

_COMPARE: Mapping[Operator, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def facts(metadata: Mapping[str, Any]) -> Iterator[Fact]:
    """The facts of a document: scalars by key; elements of lists; records in records as ``outer.inner``.

    >>> sorted(facts({"from": {"name": "ann", "new": True}, "tags": ["a", "b"], "size": None}))
    [('from.name', 'ann'), ('from.new', 'true'), ('tags', 'a'), ('tags', 'b')]
    """
    return iter(dict.fromkeys(_walk("", metadata)))


def holds(values: Iterable[Value], compared: Operator, value: Value) -> bool:
    """Whether a document with these values of a key matches: the Python twin of ``Store.where``.

    >>> holds(["a", "b"], "=", "a"), holds(["a", "b"], "!=", "a"), holds([], "!=", "a"), holds([3], ">", "a")
    (True, False, False, False)
    """
    if compared == "!=":
        known = list(values)
        return bool(known) and not holds(known, "=", value)
    alike = (other for other in values if isinstance(other, str) == isinstance(value, str))
    return any(_COMPARE[compared](_sort_key(other), _sort_key(value)) for other in alike)


def merged_metadata(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with changes: a None deletes, a record is merged, anything else replaces (RFC 7396).

    >>> merged_metadata({"a": 1, "b": {"c": 1, "d": 2}}, {"a": None, "b": {"c": None, "e": 3}, "f": {"g": None}})
    {'b': {'d': 2, 'e': 3}, 'f': {}}
    """
    found = dict(before)
    for name, value in changes.items():
        if value is None:
            found.pop(name, None)
        elif isinstance(value, Mapping):
            known = found.get(name)
            found[name] = merged_metadata(known if isinstance(known, Mapping) else {}, value)
        else:
            found[name] = value
    return found


NOT_COMPARED = "not_compared"
"""The name in the metadata under which a digest of each kind of parts beside the text is kept."""
_ATTACHED = "attachments"
"""The kind of the files within a document, which have one digest."""
_DIGITS = 32


def with_parts(metadata: dict[str, Any], parts: Sequence[Attachment]) -> dict[str, Any]:
    """Return metadata with the digests of the parts of a file that are not in its text, if it has any."""
    digests = {one.name: one.sha256[:_DIGITS] for one in unread_of(parts)}
    if own := own_of(parts):
        listed = repr([one[:3] for one in own]).encode("utf-8", "replace")
        digests[_ATTACHED] = hashlib.sha256(listed).hexdigest()[:_DIGITS]
    return {**metadata, NOT_COMPARED: digests} if digests else metadata


def parts_in(metadata: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """Return the parts that metadata names; none for a value of another form."""
    kept = metadata.get(NOT_COMPARED)
    digests = sorted(kept.items()) if isinstance(kept, Mapping) else ()
    return tuple(
        Attachment(name, 0, digest, ATTACHED if name == _ATTACHED else UNREAD)
        for name, digest in digests
        if isinstance(digest, str)
    )


def differing_parts(a: Mapping[str, Any], b: Mapping[str, Any], *, known: bool) -> tuple[str, ...] | None:
    """Return the kinds of parts beside the text in which two documents differ, by their metadata.

    ``known``: a document whose metadata names no parts has none; else the kinds are None unless both name some.

    >>> differing_parts({"not_compared": {"images": "88d4"}}, {"year": 2020}, known=True)
    ('images',)
    """
    if not known and not (NOT_COMPARED in a and NOT_COMPARED in b):
        return None
    return differing_kinds(parts_in(a), parts_in(b))


def plain(value: Any) -> Any:
    """Convert a value of a table to JSON: dates in ISO 8601, decimals as numbers, bytes as text.

    Values that JSON cannot represent are refused before (``metadata_fault``).
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        # the store keeps UTF-8, which cannot represent a lone surrogate
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return plain(float(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return str(value)


def _walk(key: str, value: Any) -> Iterator[Fact]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _walk(f"{key}.{name}" if key else name, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(key, inner)
    elif isinstance(value, bool):
        yield key, "true" if value else "false"
    elif isinstance(value, int):
        # SQLite and most stores have 64-bit integers; beyond them order matters more than the last digit
        yield key, value if -_LARGEST <= value < _LARGEST else float(value)
    elif value is not None:
        yield key, value


def _sort_key(value: Value) -> Any:
    """Strings by their UTF-8 bytes, which is by code point."""
    return value.encode("utf-8") if isinstance(value, str) else value
