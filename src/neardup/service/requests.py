"""Bodies of requests: records that are checked while they are read from JSON, and described in OpenAPI."""

import re
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct, field

from neardup.collection.answers import HitField, NearMeasure, Role
from neardup.collection.changes import LONGEST_ID, MOST_METADATA, MOST_VALUES, id_fault, metadata_fault, text_fault
from neardup.io.decisions import Verdict
from neardup.service.web.limits import RefusedError
from neardup.settings import required_share

T = TypeVar("T")

BATCH = 1000
"""Documents in one request."""
PENDING = 1000
"""Documents compared by a request that groups those in no group."""
LONGEST_QUERY = 1_000_000
"""Characters of a query, and of a posted text."""
LONGEST_METADATA = 10 * MOST_METADATA
"""Bytes of metadata as JSON: more than the names, strings and numbers that are allowed need with every escape."""
MOST_PARTS = 1_000_000
"""Commas and opening brackets in the metadata of all documents of a request, which takes seconds to check."""
_SHOWN = 300
_FEW = 100

Id: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_ID, description="Any text of 1 to 1,024 bytes of UTF-8.")
]
Query: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_QUERY, description="See the page on the query language.")
]
Share: TypeAlias = Annotated[float, Meta(extra_json_schema={"exclusiveMinimum": 0, "maximum": 1})] | str
"""A share: 0.8 or "80%"."""
Limit: TypeAlias = (
    Annotated[int, Meta(ge=1, description="Hits on the page; by default 20, at most --most-hits.")] | None
)
COMPARED = "Of more candidates of a clause, the most promising are compared."
Fields: TypeAlias = Annotated[Sequence[HitField], Meta(description="What each hit holds besides its evidence.")]
Note: TypeAlias = Annotated[str, Meta(max_length=10_000)]
ActionNumber: TypeAlias = Annotated[int, Meta(ge=0, le=(1 << 63) - 1, description="The number of an action.")]
OnDuplicate: TypeAlias = Literal["error", "replace", "skip"]
OnNear: TypeAlias = Literal["keep", "link", "reject"]
if TYPE_CHECKING:
    Metadata: TypeAlias = dict[str, Any]
else:  # read once its size is known
    Metadata = Annotated[
        Raw, Meta(description="Any JSON; searched by its fields.", extra_json_schema={"type": "object"})
    ]

PERSON = "neardup.person"
"""The key of a request's scope for the name of its token."""

_NAMED = re.compile(r"^Object (?:contains unknown|missing required) field `(.*)`$", re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class FieldError(ValueError):
    """A value of a field that its type allows and its record does not."""

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(fault)
        self.name = name


class ServiceRequest(Struct, forbid_unknown_fields=True):
    """The body of a request, without unknown names; ids and shares are checked."""

    def __post_init__(self) -> None:
        for name in ("id", "a", "b"):
            _require_id(name, getattr(self, name, "-"))
        for name in ("near", "recall", "overlap", "probability"):
            share = getattr(self, name, None)
            if share is not None:
                try:
                    setattr(self, name, required_share("the share", share))
                except ValueError as error:
                    raise FieldError(name, str(error)) from None


class NewDocument(ServiceRequest):
    """A document to be added."""

    id: Id
    text: str
    metadata: Metadata = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_content(self)
        # a list is read whole before its length is checked, and could have millions of documents
        _read.documents += 1
        if _read.documents > BATCH:
            raise ValueError(f"there are more than {BATCH:,} documents")


class Arriving(ServiceRequest):
    """How new documents arrive; by default they are compared with none."""

    near: Annotated[
        Share | None,
        Meta(description='Smallest resemblance to a stored document that counts, such as 0.8 or "80%".'),
    ] = None
    recall: Annotated[
        Share | None, Meta(description="Least share of the near documents to find; by default 0.99.")
    ] = None
    on_near: Annotated[OnNear, Meta(description="For a document that repeats a stored one; needs `near`.")] = (
        "keep"
    )
    role: Annotated[Role, Meta(description="base: a template, whose text counts in no document.")] = "document"


class NewContent(Arriving, kw_only=True):
    """A document without its id."""

    text: str
    metadata: Metadata = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_content(self)


class NewDocuments(Arriving, kw_only=True):
    """Documents to be added, all or none."""

    documents: Annotated[list[NewDocument], Meta(min_length=1, max_length=BATCH)]
    on_duplicate: Annotated[
        OnDuplicate,
        Meta(
            description="For an existing id: error adds nothing, replace stores the new one, skip keeps the old."
        ),
    ] = "error"


class MetadataRequest(ServiceRequest):
    """Changes of metadata: null deletes, a record is merged, any other value replaces (RFC 7396)."""

    metadata: Metadata

    def __post_init__(self) -> None:
        self.metadata = _read_metadata(self.metadata)


class RemoveRequest(ServiceRequest):
    """Documents to be removed, all or none."""

    ids: Annotated[list[Id], Meta(min_length=1, max_length=BATCH)]
    missing: Annotated[
        Literal["error", "ignore"], Meta(description="For an unknown id: error removes nothing.")
    ] = "error"

    def __post_init__(self) -> None:
        for id in self.ids:
            _require_id("ids", id)


class PendingRequest(ServiceRequest):
    """How documents that are in no group are compared."""

    near: Annotated[Share, Meta(description='Smallest resemblance that counts, such as 0.8 or "80%".')] = 0.8
    recall: Share | None = None
    after: Annotated[int, Meta(ge=0, le=(1 << 63) - 1, description="The `next` of the previous answer.")] = 0
    limit: Annotated[int, Meta(ge=1, le=PENDING, description="Documents to compare at most.")] = 100


class RegroupRequest(ServiceRequest):
    """The threshold that groups are brought to; those that have it already are not among the `limit`."""

    near: Annotated[Share, Meta(description='Least resemblance to the representative, such as 0.8 or "80%".')]
    recall: Share | None = None
    limit: Annotated[int, Meta(ge=1, le=PENDING, description="Groups to change at most.")] = 100


class DecisionRequest(ServiceRequest):
    """A decision about two documents; `undecided` withdraws it."""

    a: Id
    b: Id
    verdict: Literal[Verdict, "undecided"]
    by: Note = ""
    note: Note = ""


class TagRequest(ServiceRequest):
    """Documents to tag, as one action: `ids`, the members of a `group`, and all that a `query` finds."""

    tag: Note
    ids: Annotated[list[Id], Meta(max_length=BATCH)] = []
    group: Annotated[int, Meta(ge=1, le=(1 << 63) - 1)] | None = None
    query: Query | None = None
    on: Annotated[bool, Meta(description="false takes the tag away.")] = True
    by: Note = ""
    what: Annotated[str, Meta(max_length=10_000, description="A sentence for the history.")] = ""
    seen: ActionNumber | None = None

    def __post_init__(self) -> None:
        for id in self.ids:
            _require_id("ids", id)


class TagsRequest(ServiceRequest):
    """Documents whose tags are looked up."""

    ids: Annotated[list[Id], Meta(max_length=BATCH)]


class UndoRequest(ServiceRequest):
    """An action to undo, by default the last one of this person that is not undone."""

    by: Note = ""
    action: ActionNumber | None = None


class QueryRequest(ServiceRequest):
    """A query."""

    query: Query
    include_self: bool = False


Partial: TypeAlias = Annotated[
    bool,
    Meta(description="Of several shards: answer without those that do not answer, and list them as `missing`."),
]


class SearchRequest(QueryRequest):
    """A query, and the page of its hits."""

    limit: Limit = None
    after: Annotated[str | None, Meta(description="The `next` of the previous page.")] = None
    fields: Fields = ()
    partial: Partial = False
    most_compared: Annotated[int, Meta(ge=1, description=COMPARED)] | None = None


class LookUpRequest(ServiceRequest):
    """Ids of documents and fields of metadata, which another shard asks for."""

    ids: Annotated[list[Id], Meta(max_length=BATCH)] = []
    fields: Annotated[list[str], Meta(max_length=BATCH)] = []


class LentRequest(QueryRequest):
    """A query over several shards, with the parts that it needs of other ones."""

    texts: Annotated[
        dict[str, str], Meta(description="Texts of documents of other shards, by id, that the query names.")
    ] = {}
    known_fields: Annotated[
        list[str], Meta(max_length=BATCH, description="Fields of metadata that another shard has.")
    ] = []


class ShardWhyNotRequest(LentRequest, kw_only=True):
    """A query over several shards and a document of one of them that it does not find."""

    id: Id


class ShardRequest(LentRequest):
    """A page of a query over several shards, as one of them is asked for it."""

    limit: Limit = None
    after: Annotated[str | None, Meta(description="The `next` of a previous page of this shard.")] = None
    skip: Annotated[int, Meta(ge=0, le=BATCH, description="Hits after it that were shown already.")] = 0
    fields: Fields = ()
    most_compared: Annotated[int, Meta(ge=1, description=COMPARED)] | None = None


class WhyNotRequest(QueryRequest, kw_only=True):
    """A query and the document that it does not find."""

    id: Id


class NearRequest(ServiceRequest):
    """A text, to find the documents that contain it (containment) or resemble it, by at least `overlap`."""

    text: Annotated[str, Meta(min_length=1, max_length=LONGEST_QUERY)]
    measure: NearMeasure = "containment"
    overlap: Annotated[Share | None, Meta(description='Such as 0.8 or "80%"; by default any overlap.')] = None
    probability: Annotated[Share | None, Meta(description="Recall, by default 1.")] = None
    where: Annotated[Query | None, Meta(description="A query that the documents must fit, too.")] = None
    limit: Limit = None
    after: str | None = None
    fields: Fields = ()
    partial: Partial = False


class CompareRequest(ServiceRequest):
    """Two stored documents."""

    a: Id
    b: Id


def signature(scope: Mapping[str, Any], by: str) -> str:
    """Return the name in the history: that of the token, or ``by`` if the token has none.

    Raises RefusedError if the request names somebody else than its token.
    """
    name = str(scope.get(PERSON, ""))
    if name and by not in ("", name):
        raise RefusedError(403, f"by is {by[:_FEW]!r}, and the token belongs to {name!r}", f"{name!r}, or no name")
    return name or by


def parse_body(body: bytes, kind: type[T]) -> T:
    """Return the record of a body. Raises RefusedError for anything else than its JSON."""
    _read.documents = _read.parts = 0
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        fields = (_fault(error, kind),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RefusedError(400, "The body is not JSON", "JSON in UTF-8", code="json") from None
    given = f"The request is invalid: {': '.join(fields[0])}"
    raise RefusedError(422, given, "Requests that /openapi.json describes", fields=fields)


def _fault(error: msgspec.ValidationError, kind: type) -> tuple[str, str]:
    """Return the path of a wrong value in the body, and the fault."""
    fault, _, place = str(error).partition(" - at `$")
    path = ["body", *re.findall(r"\w+", place)]
    if isinstance(error.__cause__, FieldError):
        path.append(error.__cause__.name)
    elif named := _NAMED.search(fault):
        path.append(named[1])
    elif fault.startswith("Invalid enum value"):
        _, schemas = msgspec.json.schema_components((kind,))
        choices = [schema["properties"].get(path[-1], {}).get("enum", ()) for schema in schemas.values()]
        fault += f", allowed are {', '.join(next(filter(None, choices), ()))}"
    return ".".join(path)[:_SHOWN], fault[:_SHOWN]


class _Reading(threading.local):
    """The counts of the body that this thread reads."""

    documents = 0
    parts = 0


_read = _Reading()


def _require_id(name: str, id: str) -> None:
    fault = id_fault(id)
    _require(name, fault and f"{fault}; allowed are 1 to {LONGEST_ID:,} bytes of UTF-8")


def _check_content(new: NewDocument | NewContent) -> None:
    _require("text", text_fault(len(new.text.encode())))
    new.metadata = _read_metadata(new.metadata)


def _read_metadata(metadata: Any) -> dict[str, Any]:
    """Return metadata from its JSON, which is bounded first: a few bytes of it may become a large object."""
    if isinstance(metadata, Raw):
        content = bytes(metadata)
        _require("metadata", f"it has more than {LONGEST_METADATA:,} bytes" * (len(content) > LONGEST_METADATA))
        parts = _parts(content)
        if parts > _FEW:
            parts = _parts(_STRING.sub(b"", content))
        _read.parts += parts
        _require("metadata", f"the metadata has more than {MOST_VALUES:,} values" * (parts > 2 * MOST_VALUES))
        _require("metadata", "the documents of this request have too many values" * (_read.parts > MOST_PARTS))
        metadata = msgspec.json.decode(content)
    _require("metadata", metadata_fault(metadata))
    values: dict[str, Any] = metadata
    return values


def _parts(content: bytes) -> int:
    """Return the number of commas and opening brackets; twice the values of a record is more than enough."""
    return sum(map(content.count, (b",", b"[", b"{")))


def _require(name: str, fault: str) -> None:
    if fault:
        raise FieldError(name, fault)
