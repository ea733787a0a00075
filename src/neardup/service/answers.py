"""Answers that are no records of a collection, written by the service, read by the client, described in OpenAPI.

All other answers are records of ``neardup.collection``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from neardup.collection import Added, Change, NearCopy, PairDecision, StoredGroup, StoredMember
from neardup.collection.answers import Excerpt, Hit, HitEvidence, Page, Passage
from neardup.display.view import PlainData
from neardup.io.decisions import Action


@dataclass(frozen=True)
class FrontAnswer:
    """The name and version of the service, and its main addresses."""

    name: str
    version: str
    links: Mapping[str, str]


@dataclass(frozen=True)
class StatusAnswer:
    """The state of the service: alive or ready."""

    status: str


@dataclass(frozen=True)
class BytesSummary:
    """Sizes in bytes."""

    text: int
    text_packed: int
    signatures: int
    file: int


@dataclass(frozen=True)
class StatsAnswer:
    """Counts and sizes of the collection, or of all its shards."""

    documents: int
    base_texts: int
    tokens: int
    shingles: int
    postings: int
    groups: int
    bytes: BytesSummary
    changes: int
    settings: Mapping[str, int | bool | str | list[str]]
    shards: int | None = None


@dataclass(frozen=True)
class ShardSettings:
    """The part of the statistics that a front reads: the settings of the collection."""

    settings: Mapping[str, int | bool | str | list[str]]


@dataclass(frozen=True)
class RegroupedAnswer:
    """How many groups were brought to the threshold, and how many others have another one."""

    regrouped: int
    left: int


@dataclass(frozen=True)
class GroupOfAnswer:
    """The group of a document, or null."""

    group: StoredGroup | None


@dataclass(frozen=True)
class MembersAnswer:
    """Members of a group in the order of their addition; the last id is the `after` of the next page."""

    members: tuple[StoredMember, ...]


@dataclass(frozen=True)
class DecisionsAnswer:
    """Decisions in force, by number; the last number is the `after` of the next page."""

    decisions: tuple[PairDecision, ...]


@dataclass(frozen=True)
class DecidedAnswer:
    """The new decision, or whether a decision was withdrawn."""

    decision: PairDecision | None
    withdrawn: bool


@dataclass(frozen=True)
class TagsAnswer:
    """Tags by document, for those that have any; `next` is the `after` of the next page, or null."""

    tags: dict[str, tuple[str, ...]]
    next: int | None


@dataclass(frozen=True)
class ActionAnswer:
    """The action that was made, or null if nothing changes."""

    action: Action | None


@dataclass(frozen=True)
class ActionsAnswer:
    """Actions of decisions and tags, the latest first; the last number is the `before` of the next page."""

    actions: tuple[Action, ...]


@dataclass(frozen=True)
class ChangesAnswer:
    """Changes by number; the last number is the `after` of the next page."""

    changes: tuple[Change, ...]


@dataclass(frozen=True)
class AddedAnswer:
    """Counts of the documents by outcome.

    `repeats` of them repeat a stored one, `linked` of these joined a group, `left_out` were not stored, and
    `base_only` consist of boilerplate alone. `recall` is promised for `near`, or null without it.
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
    near: list[NearCopy]

    @classmethod
    def of(cls, added: Added) -> "AddedAnswer":
        """Return the counts of an addition."""
        return cls(*(getattr(added, field.name) for field in fields(cls)))


@dataclass(frozen=True)
class RemovedAnswer:
    """The number of removed documents."""

    removed: int


@dataclass(frozen=True)
class MetadataAnswer:
    """A document and its metadata after the changes."""

    id: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class BaseTextsAnswer:
    """The ids of the boilerplate texts, in the order in which they were first added."""

    ids: list[str]


@dataclass(frozen=True)
class HitLine:
    """A document that fits the query, with counts if a fingerprint clause holds for it, and the fields asked for.

    `full_size_query` and `full_size_hit` include boilerplate, if the collection has any.
    """

    id: str
    in_hit: float | None = None
    in_query: float | None = None
    resemblance: float | None = None
    shared: int | None = None
    size_query: int | None = None
    size_hit: int | None = None
    full_size_query: int | None = None
    full_size_hit: int | None = None
    clause: str | None = None
    passage: Passage | None = None
    metadata: dict[str, Any] | None = None
    text: str | None = None
    excerpt: Excerpt | None = None

    def hit(self) -> Hit:
        """Return the hit. Raises ValueError if counts are missing."""
        fields = self.metadata, self.text, self.excerpt
        if self.clause is None:
            return Hit(self.id, None, *fields)
        score = self.resemblance if self.clause.startswith("SIMILAR") else self.in_hit
        if score is None or self.shared is None or not self.size_query or not self.size_hit:
            raise ValueError("a hit of a fingerprint clause lacks its counts")
        sizes = self.shared, self.size_query, self.size_hit
        full = self.full_size_query, self.full_size_hit
        return Hit(self.id, HitEvidence(self.clause, score, *sizes, self.passage, *full), *fields)


@dataclass(frozen=True)
class NearAnswer:
    """Hits, best first; `next` is the `after` of the next page.

    `warnings` are sentences about numbers that surely mean something else. `missing`: the numbers, from 1, of
    shards (of all `shards`) that did not answer, whose documents are neither among the hits nor in `found`.
    `uncompared` are the candidates beyond `most_compared`. If there are any of either, at least `found` documents
    match, and the recall is 0.
    """

    recall: float
    found: int | None
    hits: list[HitLine]
    next: str | None
    warnings: tuple[str, ...] = ()
    missing: tuple[int, ...] = ()
    uncompared: int = 0
    shards: int = 1

    def page(self, query: str) -> Page:
        """Return the page. Raises ValueError for a hit without its counts."""
        hits = tuple(line.hit() for line in self.hits)
        page = Page(hits, self.found, self.next, query, self.recall, self.warnings)
        return replace(page, missing=self.missing, uncompared=self.uncompared, shards=self.shards)


@dataclass(frozen=True, kw_only=True)
class SearchAnswer(NearAnswer):
    """Hits of a query."""

    query: str


@dataclass(frozen=True, kw_only=True)
class ShardAnswer(SearchAnswer):
    """Hits of a shard, and the token after those that were skipped."""

    begin: str | None


@dataclass(frozen=True)
class LookUpAnswer:
    """The texts of the documents that the shard has, by id, and the fields of its metadata."""

    texts: dict[str, str]
    fields: tuple[str, ...]


@dataclass(frozen=True)
class FingerprintLookUp:
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


@dataclass(frozen=True)
class ExplainAnswer:
    """The meaning of a query, and its look-ups."""

    query: str
    recall: float
    candidates: float
    documents: int
    fingerprints: list[FingerprintLookUp]
    text: list[str]
    warnings: list[str]


@dataclass(frozen=True)
class ServiceComparison(PlainData):
    """All measures and differences of two stored documents, as in `neardup compare --json`, without the evidence.

    `not_compared`: the kinds of parts beside the texts that differ, or null where they are not known.
    """

    a: str
    b: str
    settings: dict[str, Any]
    measures: dict[str, Any]
    left_out: dict[str, Any]
    kind: str | None
    degraded: bool
    caps: tuple[str, ...]
    proven: bool
    difference: str = ""
    not_compared: tuple[str, ...] | None = None
    differences: dict[str, Any] | None = None


@dataclass(frozen=True)
class Fault:
    """An invalid field of the request."""

    where: str
    message: str


@dataclass(frozen=True)
class ErrorDescription:
    """The mistake, the right values, and the way out. `position` is an index into the query, from 0."""

    code: str
    message: str
    given: str
    allowed: str
    do: str
    position: int | None
    fields: list[Fault]
    request: str


@dataclass(frozen=True)
class ErrorAnswer:
    """The body of every error."""

    error: ErrorDescription
