"""Answers of the service as the records that a ``Collection`` returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from neardup.collection.added import Added, NearCopy
from neardup.collection.pages import Hit, HitEvidence, Page
from neardup.errors import NetworkError

T = TypeVar("T")

_ADDED = ("added", "replaced", "skipped", "left_out", "repeats", "linked", "base_only", "text_bytes")


@dataclass(frozen=True)
class ServiceComparison:
    """Every measure of two stored documents, as ``Comparison`` has them, without the texts and the evidence."""

    a: str
    b: str
    settings: dict[str, Any]
    measures: dict[str, Any]
    kind: str | None
    degraded: bool
    caps: tuple[str, ...]
    proven: bool


def record(kind: type[T]) -> Callable[[Any], T]:
    """Return the function from an answer to a record, a tuple of them, or a value, whose types it checks.

    Fields that are unknown are left out: a later service may send more. Raises ValueError for a wrong type.
    """
    return lambda data: msgspec.convert(data, kind)


def part(name: str, kind: Any) -> Callable[[Any], Any]:
    """Return the function from an answer to one of its values, which must have the type ``kind``."""
    return lambda data: msgspec.convert(data[name], kind)


def count(into: Added) -> Callable[[Any], None]:
    """Return the function that adds the counts of an answer."""

    def add(data: Mapping[str, Any]) -> None:
        counts = {name: msgspec.convert(data[name], int) for name in _ADDED}
        recall, near = part("recall", float | None)(data), part("near", list[NearCopy])(data)
        for name, value in counts.items():
            setattr(into, name, getattr(into, name) + value)
        into.recall = recall
        into.near += near

    return add


class _Hits(msgspec.Struct):
    hits: list[dict[str, Any]]
    found: int | None
    next: str | None
    recall: float
    query: str | None = None
    warnings: tuple[str, ...] = ()


def hits_page(query: str) -> Callable[[Any], Page]:
    """Return the function to a page of hits; ``query`` was asked, unless the answer has its canonical form."""

    def read(data: Any) -> Page:
        sent = msgspec.convert(data, _Hits)
        said = query if sent.query is None else sent.query
        return Page(tuple(map(_hit, sent.hits)), sent.found, sent.next, said, sent.recall, sent.warnings)

    return read


def _hit(data: Mapping[str, Any]) -> Hit:
    id = part("id", str)(data)
    if data.get("clause") is None:
        return Hit(id, None)
    clause = part("clause", str)(data)
    score = data["resemblance" if clause.startswith("SIMILAR") else "containment_a"]
    return Hit(id, msgspec.convert({"passage": None, **data, "score": score}, HitEvidence))


def require_further(after: int | None, next: int) -> None:
    """Raise NetworkError if the place where the next request begins is not after that of this one."""
    if next <= (after or 0):
        raise NetworkError(
            f"The page after {after or 0:,} names {next:,} as its next, which does not lead on",
            "",
            "Check that the address is that of neardup serve",
        )
