"""One shard of several: the question that all receive, and the answer of a collection in this process."""

import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, NoReturn, Protocol, Unpack

from neardup.collection.collection import Arrival, Collection
from neardup.collection.contract import deadline_in
from neardup.collection.documents import Document, DocumentPage
from neardup.collection.fields import Ids
from neardup.collection.intake import OnDuplicate
from neardup.collection.pages import HitField, Page
from neardup.collection.query import syntax
from neardup.collection.query.target import Open
from neardup.collection.records import Added, StoredGroup
from neardup.collection.search import LIMIT, Bounds, WhyNot, search, why_not
from neardup.collection.sets import texts_of
from neardup.collection.store import Store
from neardup.collection.view import View
from neardup.errors import NeardupError, OutputError
from neardup.runtime import Deadline
from neardup.tables import Int64s, UInt64s


@dataclass(frozen=True)
class LookUp:
    """The texts of the documents that a shard has, by id, and the fields that its metadata has."""

    texts: dict[str, str]
    fields: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ShardQuestion:
    """A page of a query, as a shard is asked for it.

    ``after`` is a token of this shard, and ``skip`` the hits after it that were shown already, which come from
    another page of the same search. ``texts`` are those of documents of other shards by id, which the query names;
    ``known_fields`` exist in the metadata of any shard. ``compared`` bounds the candidates that it compares.
    """

    query: syntax.Query
    limit: int = LIMIT
    after: str | None = None
    skip: int = 0
    include_self: bool = False
    fields: tuple[HitField, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    known_fields: tuple[str, ...] = ()
    compared: int | None = None


class ShardPage(NamedTuple):
    """The page of a shard, and the token after the hits that were skipped."""

    page: Page
    begin: str | None


class OfferedDocuments(Protocol):
    """The documents of a collection, of several that answer as one, or of a service.

    ``GroupsAndDecisions`` is the other half of a ``Collection``, which several together do not have.
    """

    def put(
        self, id: str | int, text: str, metadata: Mapping[str, Any] | None = None, **arrival: Unpack[Arrival]
    ) -> Added:
        """Add a document, or replace the one of this id."""

    def get(self, id: str | int) -> Document:
        """Return the document of this id."""

    def remove(self, ids: Ids, *, missing: Literal["error", "ignore"] = "error") -> int:
        """Remove documents, and return their number."""

    def update_metadata(self, id: str | int, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change the metadata of a document, and return the whole."""

    def list(self, after: int | None = None, limit: int = 100, *, texts: bool = False) -> DocumentPage:
        """Return a page of documents in the order in which they were first added."""

    def group_of(self, id: str | int) -> StoredGroup | None:
        """Return the group of a document, if it is in one."""

    def base_texts(self) -> builtins.list[str]:
        """Return the ids of the boilerplate texts."""

    def info(self) -> dict[str, Any]:
        """Return the size and the settings."""

    def close(self) -> None:
        """Close the files or connections."""

    def __len__(self) -> int:
        """Return the number of documents."""

    def __iter__(self) -> Iterator[str]:
        """Yield the ids."""

    def __contains__(self, id: object) -> bool:
        """Return whether there is a document of this id."""


class ShardDocuments(OfferedDocuments, Protocol):
    """The documents of one shard, which takes records of any number at once."""

    def add(self, documents: Any, *, on_duplicate: OnDuplicate = "error", **arrival: Unpack[Arrival]) -> Added:
        """Add documents."""


class Shard(Protocol):
    """A part of the documents. Raises OutputError, LimitError or FormatError where it cannot answer."""

    name: str
    """Its address in messages, without a password."""
    collection: ShardDocuments
    """The documents, or a client of them."""

    def settings(self) -> Mapping[str, Any]:
        """Return the settings of the collection."""

    def base_texts(self) -> Sequence[str]:
        """Return the boilerplate texts themselves."""

    def look_up(self, ids: Sequence[str], fields: Sequence[str], seconds: float | None) -> LookUp:
        """Return those of the documents and of the fields of metadata that exist."""

    def answer(self, question: ShardQuestion, seconds: float | None, open_file: Open | None = None) -> ShardPage:
        """Return a page."""

    def why_not(self, question: ShardQuestion, id: str, seconds: float | None) -> WhyNot:
        """Return why a document of this shard is not among the hits of a question."""

    def require_ready(self) -> None:
        """Raise an error if it cannot answer questions now."""

    def forget(self) -> None:
        """Ask again for settings that are remembered."""

    def close(self) -> None:
        """Close the collection, or the connections to it."""


class ShardView(View):
    """The documents of a shard, and the texts of documents of other shards, which have numbers below 0."""

    def __init__(self, store: Store, deadline: Deadline, question: ShardQuestion) -> None:
        super().__init__(store, deadline)
        self._question = question
        self._others = {id: -1 - place for place, id in enumerate(question.texts)}

    def numbered(self, ids: Sequence[str]) -> dict[str, int]:
        """The documents of the ids that exist in any shard."""
        others = {id: self._others[id] for id in ids if id in self._others}
        return {**others, **super().numbered(ids)}

    def known_shingles(self, document: int) -> UInt64s | None:
        """The shingles of a document of this shard, if they are known."""
        return super().known_shingles(document) if document > 0 else None

    def text(self, document: int) -> str:
        """The text of a document of any shard."""
        if document >= 0:
            return super().text(document)
        return self._question.texts[list(self._others)[-1 - document]]

    def ids(self, documents: Int64s) -> list[str]:
        """The ids of documents, all of this shard or all of others."""
        if len(documents) and documents[0] < 0:
            return [list(self._others)[-1 - number] for number in documents.tolist()]
        return super().ids(documents)

    def has_field(self, field: str) -> bool:
        """Whether the metadata of any document of any shard has this field."""
        return field in self._question.known_fields or super().has_field(field)


class AbsentShard:
    """A shard that cannot be opened: every request raises the ``error``, as that of a service that is gone."""

    def __init__(self, name: str, error: NeardupError) -> None:
        self.name = name
        self._error = OutputError(error.given, error.allowed, error.do)

    def _raise(self, *_: Any, **__: Any) -> NoReturn:
        raise self._error

    collection: Any = property(_raise)
    settings = base_texts = look_up = answer = why_not = require_ready = _raise

    def forget(self) -> None:
        """Nothing is remembered."""

    def close(self) -> None:
        """Nothing is open."""


class OpenShard:
    """A shard that this process has open; ``most_candidates`` as in ``search``."""

    def __init__(self, collection: Collection, most_candidates: int | None = None) -> None:
        self.collection, self._most_candidates = collection, most_candidates
        self.name = str(collection.path)

    @property
    def has_parts(self) -> bool:
        """Whether the metadata of its documents say which parts beside the text they have."""
        return self.collection.settings.has_parts

    def settings(self) -> Mapping[str, Any]:
        """Return the settings of the collection."""
        return self.collection.settings.as_dict()

    def base_texts(self) -> Sequence[str]:
        """Return the boilerplate texts themselves."""
        return texts_of(self.collection.store)

    def look_up(self, ids: Sequence[str], fields: Sequence[str], seconds: float | None) -> LookUp:
        """Return those of the documents and of the fields of metadata that exist."""
        with self.collection.view(seconds) as view:
            texts = {id: view.text(number) for id, number in view.numbered(ids).items()}
            return LookUp(texts, tuple(name for name in fields if view.has_field(name)))

    def answer(self, question: ShardQuestion, seconds: float | None, open_file: Open | None = None) -> ShardPage:
        """Return a page of one state of the collection."""
        store, deadline = self.collection.store, deadline_in(seconds)
        with store.reading(deadline):
            own = ShardView(store, deadline, question)
            how: dict[str, Any] = {"include_self": question.include_self, "open_file": open_file}
            how["bounds"] = Bounds(self._most_candidates, question.compared)
            begin = question.after
            if question.skip:
                shown = search(own, question.query, limit=question.skip, after=begin, **how)
                begin = shown.next
                if begin is None:  # the others were removed meanwhile
                    return ShardPage(replace(shown, hits=()), None)
            page = search(own, question.query, limit=question.limit, after=begin, fields=question.fields, **how)
            return ShardPage(page, begin)

    def why_not(self, question: ShardQuestion, id: str, seconds: float | None) -> WhyNot:
        """Return why a document of this shard is not among the hits of a question."""
        store, deadline = self.collection.store, deadline_in(seconds)
        with store.reading(deadline):
            view = ShardView(store, deadline, question)
            return why_not(view, question.query, id, include_self=question.include_self)

    def require_ready(self) -> None:
        """Raise StoreUnavailableError if the collection cannot be read."""
        self.collection.store.totals()

    def forget(self) -> None:
        """Nothing is remembered."""

    def close(self) -> None:
        """Close the collection."""
        self.collection.close()


def named_in(query: syntax.Query) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of stored documents that a query may mean, and its fields of metadata.

    >>> from neardup.collection.query import parse
    >>> named_in(parse("FINGERPRINT:a_50 OR NOT year>=2020"))
    (('a', 'a_50'), ('year',))
    """
    ids: dict[str, None] = {}
    fields: dict[str, None] = {}
    for clause in _clauses(query.root):
        if isinstance(clause, syntax.FieldClause):
            fields[clause.field] = None
        elif isinstance(clause, syntax.Fingerprint) and isinstance(clause.source, syntax.Stored):
            ids[clause.source.id] = None
        elif isinstance(clause, syntax.Fingerprint) and isinstance(clause.source, syntax.Unresolved):
            ids |= dict.fromkeys(reading.id for reading in syntax.readings(clause.source.word))
    return tuple(ids), tuple(fields)


def _clauses(node: syntax.Node) -> Iterator[syntax.Node]:
    if isinstance(node, syntax.Not):
        yield from _clauses(node.part)
    elif isinstance(node, syntax.And | syntax.Or):
        for part in node.parts:
            yield from _clauses(part)
    else:
        yield node
