"""Metadata as facts that can be looked up, (key, value), and how values compare."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias

from neardup.collection.contract import Operator, Value

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
    return any(_COMPARE[compared](_ordered(other), _ordered(value)) for other in alike)


def merged(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with changes: a None deletes, a record is merged, anything else replaces (RFC 7396).

    >>> merged({"a": 1, "b": {"c": 1, "d": 2}}, {"a": None, "b": {"c": None, "e": 3}, "f": {"g": None}})
    {'b': {'d': 2, 'e': 3}, 'f': {}}
    """
    found = dict(before)
    for name, value in changes.items():
        if value is None:
            found.pop(name, None)
        elif isinstance(value, Mapping):
            known = found.get(name)
            found[name] = merged(known if isinstance(known, Mapping) else {}, value)
        else:
            found[name] = value
    return found


def plain(value: Any) -> Any:
    """Convert a value of a table to JSON: dates in ISO 8601, decimals as numbers, bytes as text.

    Values that JSON cannot represent are refused before (``limits.metadata_fault``).
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


def _ordered(value: Value) -> Any:
    """Strings by their UTF-8 bytes, which is by code point."""
    return value.encode("utf-8") if isinstance(value, str) else value


__all__ = ["Fact", "facts", "holds", "merged", "plain"]
