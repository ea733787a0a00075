"""What goes over the wire: bodies of requests, which are checked, and of answers, which are described."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from neardup.collection.ids import LONGEST_ID, id_fault
from neardup.service.limits import BATCH

DEEPEST = 32
"""Lists and records inside one another in metadata."""
_LARGEST_BITS = 1000
"""Bits of a whole number in metadata: beyond, it cannot be compared as a number."""
LONGEST_QUERY = 1_000_000
"""Characters of a query, and of a text that is asked about."""


def _id(id: str) -> str:
    fault = id_fault(id)
    if fault:
        raise ValueError(f"{fault}; allowed are 1 to {LONGEST_ID} bytes of UTF-8")
    return id


def _unicode(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is no Unicode text") from None
    return text


def _short(text: str) -> str:
    if len(text) > LONGEST_QUERY:
        raise ValueError(f"it has more than {LONGEST_QUERY:,} characters")
    return _unicode(text)


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        inner = [part for outer in level for part in (outer.values() if isinstance(outer, dict) else outer)]
        if any(isinstance(part, int) and part.bit_length() > _LARGEST_BITS for part in inner):
            raise ValueError("a number is too large")
        level = [part for part in inner if isinstance(part, dict | list)]
        if not level:
            return value
    raise ValueError(f"more than {DEEPEST} lists and records are inside one another")


Id = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_ID, description="Any text of 1 to 1,024 bytes of UTF-8."),
    AfterValidator(_id),
]
Query = Annotated[
    str,
    Field(min_length=1, description=f"See the page on the query language. At most {LONGEST_QUERY:,} characters."),
    AfterValidator(_short),
]
Text = Annotated[str, AfterValidator(_unicode)]
Metadata = Annotated[
    dict[str, Any], AfterValidator(_metadata), Field(description="Any JSON; searched by its fields.")
]
Percentage = Annotated[float, Field(ge=0.0001, le=100)]
Limit = Annotated[int | None, Field(ge=1, description="Hits on the page; 20, or fewer where no more are allowed.")]
OnDuplicate = Literal["error", "replace", "skip"]
OnNear = Literal["keep", "link", "reject"]
Note = Annotated[str, Field(max_length=10_000), AfterValidator(_unicode)]


class Strict(BaseModel):
    """A body in which an unknown key is a mistake, and a number no text."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Content(Strict):
    """A document without its id."""

    text: Text
    metadata: Metadata = {}


class NewDocument(Content):
    """A document to be added."""

    id: Id


class NewDocuments(Strict):
    """Documents to be added, all or none."""

    documents: Annotated[list[NewDocument], Field(min_length=1, max_length=BATCH)]
    on_duplicate: Annotated[
        OnDuplicate,
        Field(
            description="What happens when an id is there already: nothing is added, or the one or other stays."
        ),
    ] = "error"
    near: Annotated[
        float | None, Field(gt=0, le=1, description="Resemblance from which on a stored document is repeated.")
    ] = None
    on_near: Annotated[OnNear, Field(description="What happens to a document that repeats one; needs `near`.")] = (
        "keep"
    )


class Judged(Strict):
    """What somebody decided about two documents; `undecided` withdraws it."""

    a: Id
    b: Id
    verdict: Literal["same", "different", "undecided"]
    by: Note = ""
    note: Note = ""


class Asked(Strict):
    """A query."""

    query: Query
    include_self: bool = False


class AskedPage(Asked):
    """A query and which page of its hits."""

    limit: Limit = None
    after: Annotated[str | None, Field(description="The `next` of the page before.")] = None


class AskedWhyNot(Asked):
    """A query and the document that it does not find."""

    id: Id


class AskedNear(Strict):
    """A text; documents that hold so much of it (containment), or resemble it so much, are asked for."""

    text: Annotated[str, Field(min_length=1), AfterValidator(_short)]
    measure: Literal["containment", "resemblance"] = "containment"
    overlap: Annotated[Percentage | None, Field(description="Per cent; without it, anything in common.")] = None
    probability: Annotated[
        Percentage | None, Field(description="Recall in per cent; without it, nothing is missed.")
    ] = None
    limit: Limit = None
    after: str | None = None


class Pair(Strict):
    """Two stored documents."""

    a: Id
    b: Id


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


def percent(value: float | None) -> Decimal | None:
    """A percentage as queries have it, with at most four decimals."""
    return None if value is None else Decimal(f"{value:.4f}").normalize()
