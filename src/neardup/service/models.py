"""Bodies of requests, and their validation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from neardup.collection.base_texts import Role
from neardup.collection.ids import LONGEST_ID, id_fault
from neardup.collection.limits import metadata_fault, text_fault
from neardup.collection.search import NearMeasure
from neardup.io.decisions.records import Verdict
from neardup.settings.rules import required_share

BATCH = 1000
"""Documents in one request."""
PENDING = 1000
"""Documents compared by a request that groups those in no group."""
LONGEST_QUERY = 1_000_000
"""Characters of a query, and of a posted text."""


def _id(id: str) -> str:
    fault = id_fault(id)
    if fault:
        raise ValueError(f"{fault}; allowed are 1 to {LONGEST_ID:,} bytes of UTF-8")
    return id


def _unicode(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is not Unicode text") from None
    return text


def _short(text: str) -> str:
    if len(text) > LONGEST_QUERY:
        raise ValueError(f"it has more than {LONGEST_QUERY:,} characters")
    return _unicode(text)


def _text(text: str) -> str:
    fault = text_fault(len(_unicode(text).encode("utf-8")))
    if fault:
        raise ValueError(fault)
    return text


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    fault = metadata_fault(value)
    if fault:
        raise ValueError(fault)
    return value


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
Text = Annotated[str, AfterValidator(_text)]
Metadata = Annotated[
    dict[str, Any], AfterValidator(_metadata), Field(description="Any JSON; searched by its fields.")
]
Share = Annotated[
    float,
    BeforeValidator(lambda value: required_share("the share", value)),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1}, {"type": "string"}]}),
]
"""A share: 0.8 or "80%"."""
Limit = Annotated[int | None, Field(ge=1, description="Hits on the page; by default 20, at most --most-hits.")]
OnDuplicate = Literal["error", "replace", "skip"]
OnNear = Literal["keep", "link", "reject"]
Note = Annotated[str, Field(max_length=10_000), AfterValidator(_unicode)]


class Strict(BaseModel):
    """A body that refuses unknown keys, and numbers in place of text."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Arriving(Strict):
    """How new documents arrive; by default they are compared with none."""

    near: Annotated[
        Share | None,
        Field(description='Smallest resemblance to a stored document that counts, such as 0.8 or "80%".'),
    ] = None
    recall: Annotated[
        Share | None, Field(description="Least share of the near documents to find; by default 0.99.")
    ] = None
    on_near: Annotated[OnNear, Field(description="For a document that repeats a stored one; needs `near`.")] = (
        "keep"
    )
    role: Annotated[Role, Field(description="base: a template, whose text counts in no document.")] = "document"


class NewContent(Arriving):
    """A document without its id."""

    text: Text
    metadata: Metadata = {}


class NewDocument(Strict):
    """A document to be added."""

    id: Id
    text: Text
    metadata: Metadata = {}


class ChangedMetadata(Strict):
    """Changes of metadata: null deletes, a record is merged, any other value replaces (RFC 7396)."""

    metadata: Metadata


class Removed(Strict):
    """Documents to be removed, all or none."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=BATCH)]
    missing: Annotated[
        Literal["error", "ignore"], Field(description="For an unknown id: error removes nothing.")
    ] = "error"


class AskedPending(Strict):
    """How documents that are in no group are compared."""

    near: Annotated[Share, Field(description='Smallest resemblance that counts, such as 0.8 or "80%".')] = 0.8
    recall: Share | None = None
    after: Annotated[int, Field(ge=0, le=(1 << 63) - 1, description="The `next` of the previous answer.")] = 0
    limit: Annotated[int, Field(ge=1, le=PENDING, description="Documents to compare at most.")] = 100


class NewDocuments(Arriving):
    """Documents to be added, all or none."""

    documents: Annotated[list[NewDocument], Field(min_length=1, max_length=BATCH)]
    on_duplicate: Annotated[
        OnDuplicate,
        Field(
            description="For an existing id: error adds nothing, replace stores the new one, skip keeps the old."
        ),
    ] = "error"


class Judged(Strict):
    """A decision about two documents; `undecided` withdraws it."""

    a: Id
    b: Id
    verdict: Verdict | Literal["undecided"]
    by: Note = ""
    note: Note = ""


class Asked(Strict):
    """A query."""

    query: Query
    include_self: bool = False


class AskedPage(Asked):
    """A query, and the page of its hits."""

    limit: Limit = None
    after: Annotated[str | None, Field(description="The `next` of the previous page.")] = None


class AskedWhyNot(Asked):
    """A query and the document that it does not find."""

    id: Id


class AskedNear(Strict):
    """A text, to find the documents that contain it (containment) or resemble it, by at least `overlap`."""

    text: Annotated[str, Field(min_length=1), AfterValidator(_short)]
    measure: NearMeasure = "containment"
    overlap: Annotated[Share | None, Field(description='Such as 0.8 or "80%"; by default any overlap.')] = None
    probability: Annotated[Share | None, Field(description="Recall; by default nothing is missed.")] = None
    where: Annotated[Query | None, Field(description="A query that the documents must fit, too.")] = None
    limit: Limit = None
    after: str | None = None


class Pair(Strict):
    """Two stored documents."""

    a: Id
    b: Id


BODIES: tuple[type[BaseModel], ...] = (
    NewDocuments,
    NewContent,
    ChangedMetadata,
    Removed,
    AskedPending,
    Judged,
    Asked,
    AskedPage,
    AskedWhyNot,
    AskedNear,
    Pair,
)
"""All request bodies."""
