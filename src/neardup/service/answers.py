"""Bodies of answers, as OpenAPI describes them; they are made of plain data and not checked again."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel


class Counted(BaseModel):
    """What two documents share, in shingles."""

    shared: int
    size: int
    of_size: int
    resemblance: float


class NearCopy(Counted):
    """A document of the request and the stored one it repeats."""

    id: str
    of: str
    action: Literal["kept", "linked", "rejected"]
    group: int | None


class Member(Counted):
    """A document of a group; counted with the representative."""

    id: str
    held_by: Literal["representative", "resemblance", "decision"]


class Group(BaseModel):
    """A group of near copies; its id stays."""

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
    """The group of a document, if it is in one."""

    group: Group | None


class Members(BaseModel):
    """Members of a group in the order in which they were added; the last id is the `after` of the next page."""

    members: list[Member]


class Decision(BaseModel):
    """What was decided about two documents."""

    number: int
    a: str
    b: str
    verdict: Literal["same", "different"]
    by: str
    note: str
    at: str


class Decisions(BaseModel):
    """Decisions that hold, by number; the last number is the `after` of the next page."""

    decisions: list[Decision]


class Decided(BaseModel):
    """What was decided now, or whether something was withdrawn."""

    decision: Decision | None
    withdrawn: bool


class Change(BaseModel):
    """A line of the change log of groups and decisions."""

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
    """What became of the documents."""

    added: int
    replaced: int
    skipped: int
    left_out: int
    near: list[NearCopy]


class Removed(BaseModel):
    """How many documents were removed."""

    removed: int


class Document(BaseModel):
    """A stored document."""

    id: str
    text: str
    metadata: dict[str, Any]
    tokens: int
    shingles: int


class Passage(BaseModel):
    """The longest passage in common, and where it stands in both texts (characters)."""

    text: str
    words: int
    begin_a: int
    end_a: int
    begin_b: int
    end_b: int


class Hit(BaseModel):
    """A document found; the counts are there when a fingerprint clause holds for it."""

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
    """Hits, best first; `next` asks for the next page."""

    recall: float
    found: int | None
    hits: list[Hit]
    next: str | None


class Page(NearPage):
    """Hits of a query."""

    query: str


class FingerprintPlan(BaseModel):
    """How a fingerprint clause is looked up."""

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
    """How a query is understood and looked up."""

    query: str
    recall: float
    candidates: float
    documents: int
    fingerprints: list[FingerprintPlan]
    text: list[str]


class Cause(BaseModel):
    """One clause and what it has to do with a document not being found."""

    reason: str
    clause: str
    sentence: str
    shared: int | None
    size_a: int | None
    size_b: int | None


class WhyNot(BaseModel):
    """Why a document is not found."""

    id: str
    reason: str
    causes: list[Cause]


class Compared(BaseModel):
    """Every measure of two documents, as `neardup compare --json` has them, without the evidence."""

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
    """What the collection holds."""

    documents: int
    tokens: int
    shingles: int
    postings: int
    groups: int
    bytes: Bytes
    changes: int
    settings: dict[str, int]


class Status(BaseModel):
    """Whether the service lives, or is ready."""

    status: str


class Fault(BaseModel):
    """One field that is not as it must be."""

    where: str
    message: str


class ErrorBody(BaseModel):
    """What is wrong, what would be right, what to do. `position` is a character of the query, from 0."""

    code: str
    message: str
    allowed: str
    todo: str
    position: int | None
    fields: list[Fault]
    request: str


class Error(BaseModel):
    """The one error body."""

    error: ErrorBody
