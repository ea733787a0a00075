"""Bodies of answers, as OpenAPI describes them; they are built from plain data and not validated again."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel


class Counted(BaseModel):
    """The shingles that two documents share."""

    shared: int
    size: int
    of_size: int
    resemblance: float


class NearCopy(Counted):
    """A document of the request and the stored document that it repeats."""

    id: str
    of: str
    action: Literal["kept", "linked", "rejected"]
    group: int | None


class Member(Counted):
    """A document of a group, compared with the representative."""

    id: str
    held_by: Literal["representative", "resemblance", "decision"]


class Group(BaseModel):
    """A group of near copies; its id never changes."""

    id: int
    representative: str
    threshold: float
    size: int
    members: list[Member]


class GroupPage(BaseModel):
    """Groups by rising id; `next` is the `after` of the next page."""

    groups: list[Group]
    next: int | None


class GroupOf(BaseModel):
    """The group of a document, or null."""

    group: Group | None


class Members(BaseModel):
    """Members of a group in the order of their addition; the last id is the `after` of the next page."""

    members: list[Member]


class Decision(BaseModel):
    """A decision about two documents."""

    number: int
    a: str
    b: str
    verdict: Literal["same", "different"]
    by: str
    note: str
    at: str


class Decisions(BaseModel):
    """Decisions in force, by number; the last number is the `after` of the next page."""

    decisions: list[Decision]


class Decided(BaseModel):
    """The new decision, or whether a decision was withdrawn."""

    decision: Decision | None
    withdrawn: bool


class Change(BaseModel):
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
    cause: str


class Changes(BaseModel):
    """Changes by number; the last number is the `after` of the next page."""

    changes: list[Change]


class Added(BaseModel):
    """Counts of the documents by outcome."""

    added: int
    replaced: int
    skipped: int
    left_out: int
    near: list[NearCopy]


class Removed(BaseModel):
    """The number of removed documents."""

    removed: int


class Document(BaseModel):
    """A stored document."""

    id: str
    text: str
    metadata: dict[str, Any]
    tokens: int
    shingles: int


class Passage(BaseModel):
    """The longest common passage, and its place in both texts (in characters)."""

    text: str
    words: int
    begin_a: int
    end_a: int
    begin_b: int
    end_b: int


class Hit(BaseModel):
    """A document that fits the query, with counts if a fingerprint clause holds for it."""

    id: str
    containment_a: float | None = None
    containment_b: float | None = None
    resemblance: float | None = None
    shared: int | None = None
    size_a: int | None = None
    size_b: int | None = None
    clause: str | None = None
    passage: Passage | None = None


class NearPage(BaseModel):
    """Hits, best first; `next` is the `after` of the next page."""

    recall: float
    found: int | None
    hits: list[Hit]
    next: str | None


class Page(NearPage):
    """Hits of a query."""

    query: str


class FingerprintPlan(BaseModel):
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


class Plan(BaseModel):
    """The meaning of a query, and its look-ups."""

    query: str
    recall: float
    candidates: float
    documents: int
    fingerprints: list[FingerprintPlan]
    text: list[str]


class Cause(BaseModel):
    """A clause, and its part in a document not being found."""

    reason: str
    clause: str
    sentence: str
    shared: int | None
    size_a: int | None
    size_b: int | None


class WhyNot(BaseModel):
    """The reasons why a query does not find a document."""

    id: str
    reason: str
    causes: list[Cause]


class Compared(BaseModel):
    """All measures of two documents, as in `neardup compare --json`, without the evidence."""

    a: str
    b: str
    settings: dict[str, Any]
    measures: dict[str, Any]
    degraded: bool
    caps: list[str]
    proven: bool


class Bytes(BaseModel):
    """Sizes in bytes."""

    text: int
    text_packed: int
    signatures: int
    file: int


class Stats(BaseModel):
    """Counts and sizes of the collection."""

    documents: int
    tokens: int
    shingles: int
    postings: int
    groups: int
    bytes: Bytes
    changes: int
    settings: dict[str, int]


class Status(BaseModel):
    """The state of the service: alive or ready."""

    status: str


class Fault(BaseModel):
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
    fields: list[Fault]
    request: str


class Error(BaseModel):
    """The body of every error."""

    error: ErrorBody
