"""Answers and their parts, as OpenAPI describes them; they are built from plain data and not validated again.

A name that ends in Answer is a whole answer, one that ends in Body a part of one.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from neardup.io.decisions.records import Verdict


class CountsBody(BaseModel):
    """The shingles that two documents share."""

    shared: int
    size: int
    of_size: int
    resemblance: float


class NearCopyBody(CountsBody):
    """A document of the request and the stored document that it repeats."""

    id: str
    of: str
    action: Literal["kept", "linked", "rejected"]
    group: int | None


class MemberBody(CountsBody):
    """A document of a group, compared with the representative."""

    id: str
    held_by: Literal["representative", "resemblance", "decision"]


class GroupAnswer(BaseModel):
    """A group of near copies; its id never changes."""

    id: int
    representative: str
    threshold: float
    size: int
    members: list[MemberBody]


class GroupsAnswer(BaseModel):
    """Groups by rising id; `next` is the `after` of the next page."""

    groups: list[GroupAnswer]
    next: int | None


class GroupOfAnswer(BaseModel):
    """The group of a document, or null."""

    group: GroupAnswer | None


class MembersAnswer(BaseModel):
    """Members of a group in the order of their addition; the last id is the `after` of the next page."""

    members: list[MemberBody]


class DecisionBody(BaseModel):
    """A decision about two documents."""

    number: int
    a: str
    b: str
    verdict: Verdict
    by: str
    note: str
    at: str


class DecisionsAnswer(BaseModel):
    """Decisions in force, by number; the last number is the `after` of the next page."""

    decisions: list[DecisionBody]


class DecidedAnswer(BaseModel):
    """The new decision, or whether a decision was withdrawn."""

    decision: DecisionBody | None
    withdrawn: bool


class ChangeBody(BaseModel):
    """An entry of the change log of groups and decisions."""

    number: int
    at: str
    what: str
    group: int | None
    document: str
    why: str
    of: str | None
    shared: int | None
    size: int | None
    of_size: int | None
    verdict: str | None
    by: str
    note: str
    action: int | None
    undoes: int | None
    cause: str


class ChangesAnswer(BaseModel):
    """Changes by number; the last number is the `after` of the next page."""

    changes: list[ChangeBody]


class AddedAnswer(BaseModel):
    """Counts of the documents by outcome.

    `repeats` of them repeat a stored one, `linked` of these joined a group, `left_out` were not stored, and
    `base_only` consist of base text alone. `recall` is promised for `near`, or null without it.
    """

    added: int
    replaced: int
    skipped: int
    left_out: int
    repeats: int
    linked: int
    base_only: int
    text_bytes: int
    recall: float | None
    near: list[NearCopyBody]


class PendingAnswer(BaseModel):
    """Documents in no group that were compared; `next` is the `after` of the next request, or null."""

    compared: int
    repeats: int
    linked: int
    recall: float
    near: list[NearCopyBody]
    next: int | None


class RemovedAnswer(BaseModel):
    """The number of removed documents."""

    removed: int


class DocumentAnswer(BaseModel):
    """A stored document; the text of one in the role of base text counts in no other."""

    id: str
    text: str
    metadata: dict[str, Any]
    tokens: int
    shingles: int
    role: Literal["document", "base"]


class ListedBody(BaseModel):
    """A line of the list of documents; `size` is the bytes of its text, which is null unless asked for."""

    id: str
    metadata: dict[str, Any]
    size: int
    tokens: int
    shingles: int
    role: Literal["document", "base"]
    group: int | None
    text: str | None


class DocumentsAnswer(BaseModel):
    """Documents in the order in which they were first added; `next` is the `after` of the next page, or null."""

    documents: list[ListedBody]
    next: int | None


class MetadataAnswer(BaseModel):
    """A document and its metadata after the changes."""

    id: str
    metadata: dict[str, Any]


class BaseTextsAnswer(BaseModel):
    """The ids of the base texts, in the order in which they were first added."""

    ids: list[str]


class PassageBody(BaseModel):
    """The longest common passage, and its place in both texts (in characters)."""

    text: str
    words: int
    begin_a: int
    end_a: int
    begin_b: int
    end_b: int


class HitBody(BaseModel):
    """A document that fits the query, with counts if a fingerprint clause holds for it.

    `full_size_a` and `full_size_b` include base text, if the collection has any.
    """

    id: str
    containment_a: float | None = None
    containment_b: float | None = None
    resemblance: float | None = None
    shared: int | None = None
    size_a: int | None = None
    size_b: int | None = None
    full_size_a: int | None = None
    full_size_b: int | None = None
    clause: str | None = None
    passage: PassageBody | None = None


class NearAnswer(BaseModel):
    """Hits, best first; `next` is the `after` of the next page.

    `warnings` are sentences about numbers that surely mean something else.
    """

    recall: float
    found: int | None
    hits: list[HitBody]
    next: str | None
    warnings: list[str]


class SearchAnswer(NearAnswer):
    """Hits of a query."""

    query: str


class FingerprintBody(BaseModel):
    """The look-up of a fingerprint clause."""

    clause: str
    measure: str
    overlap: float | None
    probability: float | None
    shingles: int
    least_shared: int
    way: str
    postings: int
    phrases: int
    hits: int
    recall: float
    candidates: float


class ExplainAnswer(BaseModel):
    """The meaning of a query, and its look-ups."""

    query: str
    recall: float
    candidates: float
    documents: int
    fingerprints: list[FingerprintBody]
    text: list[str]
    warnings: list[str]


class CauseBody(BaseModel):
    """A clause, and its part in a document not being found."""

    reason: str
    clause: str
    sentence: str
    shared: int | None
    size_a: int | None
    size_b: int | None


class WhyNotAnswer(BaseModel):
    """The reasons why a query does not find a document."""

    id: str
    reason: str
    causes: list[CauseBody]


class CompareAnswer(BaseModel):
    """All measures of two documents, as in `neardup compare --json`, without the evidence."""

    a: str
    b: str
    settings: dict[str, Any]
    measures: dict[str, Any]
    left_out: dict[str, Any]
    kind: str | None
    degraded: bool
    caps: list[str]
    proven: bool


class BytesBody(BaseModel):
    """Sizes in bytes."""

    text: int
    text_packed: int
    signatures: int
    file: int


class StatsAnswer(BaseModel):
    """Counts and sizes of the collection."""

    documents: int
    base_texts: int
    tokens: int
    shingles: int
    postings: int
    groups: int
    bytes: BytesBody
    changes: int
    settings: dict[str, int | bool | str | list[str]]


class StatusAnswer(BaseModel):
    """The state of the service: alive or ready."""

    status: str


class FaultBody(BaseModel):
    """An invalid field of the request."""

    where: str
    message: str


class ErrorBody(BaseModel):
    """The mistake, the right values, and the way out. `position` is an index into the query, from 0."""

    code: str
    message: str
    given: str
    allowed: str
    do: str
    position: int | None
    fields: list[FaultBody]
    request: str


class ErrorAnswer(BaseModel):
    """The body of every error."""

    error: ErrorBody
