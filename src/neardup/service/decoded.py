"""Answers of the service as the records that a ``Collection`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from neardup.collection.added import Added, GroupedPending, NearCopy
from neardup.collection.documents import DocumentPage, ListedDocument
from neardup.collection.groups.records import Change, GroupPage, StoredGroup, StoredMember
from neardup.collection.pages import Hit, HitEvidence, Page, Passage
from neardup.collection.why import Cause, WhyNot

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


def record(kind: type[T], data: Mapping[str, Any]) -> T:
    """Return a record of the fields that it has among the values; a later service may send more."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in data.items() if name in names})


def count(into: Added, data: Mapping[str, Any]) -> None:
    """Add the counts of an answer."""
    for name in _ADDED:
        setattr(into, name, getattr(into, name) + data[name])
    into.recall = data["recall"]
    into.near += [record(NearCopy, one) for one in data["near"]]


def listed_page(data: Mapping[str, Any]) -> DocumentPage:
    """Return a page of the list of documents."""
    return DocumentPage(tuple(record(ListedDocument, one) for one in data["documents"]), data["next"])


def hits_page(data: Mapping[str, Any], query: str) -> Page:
    """Return a page of hits; ``query`` is the one that was asked, unless the answer has its canonical form."""
    hits = tuple(map(_hit, data["hits"]))
    warnings = tuple(data.get("warnings", ()))
    return Page(hits, data["found"], data["next"], data.get("query", query), data["recall"], warnings)


def _hit(data: Mapping[str, Any]) -> Hit:
    if data.get("clause") is None:
        return Hit(data["id"], None)
    passage = data.get("passage")
    score = data["resemblance" if data["clause"].startswith("SIMILAR") else "containment_a"]
    found = HitEvidence(
        data["clause"],
        score,
        data["shared"],
        data["size_a"],
        data["size_b"],
        None if passage is None else record(Passage, passage),
        data.get("full_size_a"),
        data.get("full_size_b"),
    )
    return Hit(data["id"], found)


def why_not(data: Mapping[str, Any]) -> WhyNot:
    """Return why a query does not find a document."""
    return WhyNot(data["id"], data["reason"], tuple(record(Cause, cause) for cause in data["causes"]))


def members(data: Mapping[str, Any]) -> tuple[StoredMember, ...]:
    """Return the members of a group."""
    return tuple(record(StoredMember, one) for one in data["members"])


def group(data: Mapping[str, Any]) -> StoredGroup:
    """Return a group."""
    return record(StoredGroup, {**data, "members": members(data)})


def group_page(data: Mapping[str, Any]) -> GroupPage:
    """Return a page of groups."""
    return GroupPage(tuple(map(group, data["groups"])), data["next"])


def changes(data: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return lines of the change log."""
    return tuple(record(Change, one) for one in data["changes"])


def pending(data: Mapping[str, Any]) -> GroupedPending:
    """Return the result of grouping documents that were in no group."""
    return record(GroupedPending, {**data, "near": tuple(record(NearCopy, one) for one in data["near"])})


def comparison(data: Mapping[str, Any]) -> ServiceComparison:
    """Return the measures of two documents."""
    return record(ServiceComparison, {**data, "caps": tuple(data["caps"])})
