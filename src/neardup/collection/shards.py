"""``Collections``: several collections that answer as one. Each document is in one of them, its shard.

A search asks every shard the same question and merges the answers. A clause that names a stored document asks the
shard that holds it for the document itself, and the others for its text. So each document is judged by the same
counts as in one collection, and the hits have the same order: by score, then by id.
"""

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple, Unpack

from neardup.collection.collection import Arrival, Collection
from neardup.collection.documents import Document
from neardup.collection.fields import unknown, usable_id
from neardup.collection.near import Near
from neardup.collection.pages import Hit, Page
from neardup.collection.query import Query, parse
from neardup.collection.query.syntax import (
    And,
    Fingerprint,
    IdReading,
    Node,
    Not,
    Or,
    Pasted,
    Stored,
    Unresolved,
    canonical,
    clause_text,
    readings,
)
from neardup.collection.query.target import Open
from neardup.collection.records import Added
from neardup.collection.search import LIMIT, near_query, search
from neardup.collection.sets import texts_of
from neardup.collection.view import View
from neardup.errors import InputError, SettingError
from neardup.io.place import DatabaseURL
from neardup.settings import CollectionKeywords

_LONGEST = 200_000
"""The most characters of a token of a page of several shards."""


def shard_of(id: str, shards: int) -> int:
    """Return the shard, from 0 on, of a document: the first 8 bytes of SHA-256 of its id, modulo their number.

    The bytes are big-endian, and the id is in UTF-8. The rule never changes.

    >>> [shard_of(id, 3) for id in ("a", "b", "c")]
    [1, 1, 2]
    """
    return int.from_bytes(hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()[:8], "big") % shards


class Position(NamedTuple):
    """How far the pages of a search have come in a shard: a token of it, and the hits shown after that."""

    after: str | None = None
    shown: int = 0
    ended: bool = False


class ShardView(View):
    """The documents of a shard; a field of metadata exists if any shard has it."""

    others: Sequence[View] = ()

    def has_field(self, field: str) -> bool:
        """Whether the metadata of any document of any shard has this field."""
        return super().has_field(field) or any(View.has_field(other, field) for other in self.others)


class Collections:
    """Several collections that answer as one, in the given order; ``create`` makes them.

    Every document is in the shard of ``shard_of``. The settings of all must agree, and so must their base texts.
    Recall is that of one collection; a search without numbers (``FINGERPRINT:id``) finds the same documents only
    if the shards share the secret of their hashes, as those of ``create`` do. Groups are not formed over shards:
    ``on_near="link"`` is refused.

    Raises SettingError for collections whose settings differ, and whatever ``Collection`` raises.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Collections.create([f"{folder}/0.neardup", f"{folder}/1.neardup"]) as mails:
    ...         _ = mails.put("a", "the harbour office is closed on Friday")
    ...         _ = mails.put("b", "the harbour office is closed on Friday afternoon")
    ...         [hit.id for hit in mails.search("FINGERPRINT:a_80").hits]
    ['b']
    """

    def __init__(self, places: Iterable[str | os.PathLike[str] | DatabaseURL], **how: Any) -> None:
        self.shards: list[Collection] = []
        try:
            for place in places:
                self.shards.append(Collection(place, **how))
            if not self.shards:
                raise InputError("No collection was named", "One or more", "Name the shards")
            self._require_alike()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(
        cls, places: Sequence[str | os.PathLike[str]], **settings: Unpack[CollectionKeywords]
    ) -> "Collections":
        """Make new collections in files, with one secret, and open them. Raises OutputError if one exists."""
        if not places:
            raise InputError("No collection was named", "One or more", "Name the shards")
        if existing := [str(place) for place in places if os.path.lexists(place)]:
            raise InputError(f"{existing[0]} exists already", "Names of new files", "Open them with Collections")
        with Collection(places[0], **settings) as first:
            for place in places[1:]:
                first.backup(place)
        return cls(places)

    def _require_alike(self) -> None:
        first = self.shards[0]
        for other in self.shards[1:]:
            other.settings.require(first.settings.as_dict(), str(other.path))
            if sorted(texts_of(other.store)) != sorted(texts_of(first.store)):
                raise SettingError(
                    f"The base texts of {other.path} are not those of {first.path}",
                    "The same base texts in every shard",
                    "Add them to each shard",
                )

    def shard(self, id: str | int) -> Collection:
        """Return the collection in which a document of this id is, or would be."""
        return self.shards[shard_of(usable_id(id), len(self.shards))]

    def search(
        self,
        query: str,
        *,
        limit: int = LIMIT,
        after: str | None = None,
        include_self: bool = False,
        fields: str | Iterable[str] = (),
    ) -> Page:
        """Return the documents that match a query, as :meth:`Collection.search` does.

        Hits of equal score are in the order of their ids.
        """
        return self.page_of(parse(query), limit=limit, after=after, include_self=include_self, fields=fields)

    def near(
        self, text: str, *, overlap: float | str | None = None, limit: int = LIMIT, after: str | None = None
    ) -> Page:
        """Return the documents that contain a text by at least ``overlap``, as :meth:`Collection.near` does."""
        whole = text.encode("utf-8", "replace").decode("utf-8")
        return self.page_of(near_query(whole, overlap), limit=limit, after=after)

    def page_of(
        self,
        query: Query,
        *,
        limit: int = LIMIT,
        after: str | None = None,
        include_self: bool = False,
        fields: str | Iterable[str] = (),
        open_file: Open | None = None,
    ) -> Page:
        """Return a page of a parsed query; ``open_file`` reads FILE:, as in ``search.search``."""
        if query.explain:
            raise InputError("EXPLAIN shows the plan of one collection", "One collection", "Ask one of the shards")
        known = [Position()] * len(self.shards) if after is None else _positions(after, len(self.shards))
        chosen = {"include_self": include_self, "fields": fields, "open_file": open_file}
        with self._views() as views:
            resolved, typed = _resolved(query, views)
            pages: list[Page | None] = []
            for number, (view, position) in enumerate(zip(views, known, strict=True)):
                if position.ended:
                    pages.append(None)
                    continue
                question, begin = resolved[number], position.after
                if position.shown:
                    begin = search(view, question, limit=position.shown, after=begin, **chosen).next  # type: ignore[arg-type]
                    known[number] = Position(begin)
                pages.append(search(view, question, limit=limit, after=begin, **chosen))  # type: ignore[arg-type]
        return _merged(pages, known, limit, query, typed)

    @contextmanager
    def _views(self) -> Iterator[list[View]]:
        """The states of all shards, each read within its own transaction."""
        with ExitStack() as stack:
            for shard in self.shards:
                stack.enter_context(shard.store.reading())
            views = [ShardView(shard.store) for shard in self.shards]
            for view in views:
                view.others = [other for other in views if other is not view]
            yield list(views)

    def put(
        self, id: str | int, text: str, metadata: Mapping[str, Any] | None = None, **arrival: Unpack[Arrival]
    ) -> Added:
        """Add a document to its shard, or replace the one of this id.

        With ``near`` all shards are asked first for a document that it repeats. ``on_near``: "keep" or "reject".
        """
        near, on_near = arrival.get("near"), arrival.get("on_near", "keep")
        if on_near == "link":
            raise InputError(
                "Groups are not formed over shards", 'on_near "keep" or "reject"', "Give another rule"
            )
        shard = self.shard(id)
        if near is None:
            return shard.put(id, text, metadata, **arrival)
        for other in self.shards:
            if other is not shard and on_near == "reject" and _repeats(other, text, near):
                return Added(repeats=1, left_out=1, recall=near.recall if isinstance(near, Near) else None)
        return shard.put(id, text, metadata, **arrival)

    def add(self, records: Iterable[Mapping[str, Any]], **how: Any) -> list[Added]:
        """Add records with ``id`` and ``text``, each to its shard; the results are those of the shards.

        Each shard stores its documents as :meth:`Collection.add` does.
        """
        parts: list[list[Mapping[str, Any]]] = [[] for _ in self.shards]
        for record in records:
            if "id" not in record:
                raise InputError("A record has no id", "Records with id and text", "Give each document an id")
            parts[shard_of(usable_id(record["id"]), len(parts))].append(record)
        if how.get("near") is not None:
            raise InputError("add compares no documents over shards", "add without near", "Use put with near")
        return [shard.add(part, **how) for shard, part in zip(self.shards, parts, strict=True) if part]

    def get(self, id: str | int) -> Document:
        """Return the document of this id. Raises UnknownIdError if no shard has it."""
        for shard in self.shards:
            if id in shard:
                return shard.get(id)
        raise unknown([usable_id(id)], "any shard")

    def remove(self, id: str | int) -> int:
        """Remove a document from the shard that has it; return how many were removed."""
        for shard in self.shards:
            if id in shard:
                return shard.remove(id)
        raise unknown([usable_id(id)], "any shard")

    def close(self) -> None:
        """Close all shards."""
        for shard in self.shards:
            shard.close()

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    def __contains__(self, id: object) -> bool:
        return any(id in shard for shard in self.shards)

    def __iter__(self) -> Iterator[str]:
        for shard in self.shards:
            yield from shard

    def __enter__(self) -> "Collections":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _repeats(shard: Collection, text: str, near: float | str | Near) -> bool:
    """Whether a shard has a document that a text repeats."""
    rule = near if isinstance(near, Near) else Near(near)
    share = Decimal(str(rule.threshold)) * 100
    question = near_query(text, f"{share.normalize():f}%", f"{Decimal(str(rule.recall)) * 100:f}%", "resemblance")
    with shard.view() as view:
        return bool(search(view, question, limit=1).hits)


def _resolved(query: Query, views: Sequence[View]) -> tuple[list[Query], dict[str, str]]:
    """The query for each shard: an id that another shard holds is replaced by its text.

    And the clauses that were replaced → as they were typed.
    """
    typed: dict[str, str] = {}

    def of(node: Node, number: int) -> Node:
        if isinstance(node, Not):
            return Not(of(node.part, number))
        if isinstance(node, And | Or):
            return type(node)(tuple(of(part, number) for part in node.parts))
        if not isinstance(node, Fingerprint) or not isinstance(node.source, Stored | Unresolved):
            return node
        source = node.source
        given = readings(source.word) if isinstance(source, Unresolved) else (IdReading(source.id),)
        homes = [
            (reading, home)
            for reading in given
            for home, view in enumerate(views)
            if view.number(reading.id) is not None
        ]
        if len({reading.id for reading, _ in homes}) != 1:
            return node  # the shard refuses it, in the words of one collection
        reading, home = homes[0]
        if home == number:
            return node
        document = views[home].number(reading.id)
        assert document is not None
        question = replace(
            node,
            source=Pasted(views[home].text(document)),
            overlap=reading.overlap or node.overlap,
            probability=reading.probability or node.probability,
        )
        typed[clause_text(question)] = clause_text(node)
        return question

    return [replace(query, root=of(query.root, number)) for number in range(len(views))], typed


def _merged(
    pages: Sequence[Page | None], known: Sequence[Position], limit: int, query: Query, typed: Mapping[str, str]
) -> Page:
    """The first hits of all pages, and the positions after them."""
    there = [(number, page) for number, page in enumerate(pages) if page is not None]
    first = _first(dict(there), limit)
    positions = [Position(ended=True)] * len(pages)
    for number, page in there:
        shown = sum(of == number for of, _ in first)
        if shown < len(page.hits):
            positions[number] = Position(known[number].after, shown)
        elif page.next:
            positions[number] = Position(page.next)
    found = sum(page.found or 0 for _, page in there) + _found_before(known)
    more = not all(position.ended for position in positions)
    some = [page for _, page in there]
    return Page(
        tuple(_as_typed(hit, typed) for _, hit in first),
        found,
        _token(positions, pages, known) if more else None,
        canonical(query),
        min((page.recall for page in some), default=1.0),
        tuple(dict.fromkeys(sentence for page in some for sentence in page.warnings)),
    )


def _first(pages: Mapping[int, Page], limit: int) -> list[tuple[int, Hit]]:
    """The first hits of several pages, each with the number of its page; those of a page keep their order."""
    first: list[tuple[int, Hit]] = []
    shown = dict.fromkeys(pages, 0)
    while len(first) < limit:
        if any(page.next and shown[number] == len(page.hits) for number, page in pages.items()):
            break  # the next hit of this shard is on its next page
        heads = [
            (-_score(page.hits[shown[number]]), page.hits[shown[number]].id, number)
            for number, page in pages.items()
            if shown[number] < len(page.hits)
        ]
        if not heads:
            break
        number = min(heads)[2]
        first.append((number, pages[number].hits[shown[number]]))
        shown[number] += 1
    return first


def _found_before(known: Sequence[Position]) -> int:
    return sum(position.shown for position in known if position.ended)


def _token(positions: Sequence[Position], pages: Sequence[Page | None], known: Sequence[Position]) -> str:
    """The positions as ASCII text. A shard that has ended keeps the number of its hits, for the total."""
    plain = []
    for position, page, before in zip(positions, pages, known, strict=True):
        total = (page.found or 0) if page is not None else before.shown
        plain.append([position.after, total if position.ended else position.shown, position.ended])
    data = json.dumps(plain).encode("ascii")
    check = hashlib.sha256(data).digest()[:8]
    return base64.urlsafe_b64encode(check + data).decode("ascii").rstrip("=")


def _positions(token: str, shards: int) -> list[Position]:
    """Return the positions of a token. Raises InputError for one that no search over these shards returned."""
    try:
        stored = base64.b64decode(token[:_LONGEST] + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        if hashlib.sha256(stored[8:]).digest()[:8] != stored[:8]:
            raise ValueError
        positions = [Position(*one) for one in json.loads(stored[8:])]
    except (ValueError, TypeError) as error:
        raise _damaged() from error
    if len(positions) != shards:
        raise _damaged()
    return positions


def _damaged() -> InputError:
    return InputError(
        "This page token is damaged, or of other shards",
        "The token that a page of the same search names as its next one",
        "Begin with the first page",
    )


def _score(hit: Hit) -> float:
    return hit.evidence.score if hit.evidence is not None else 0.0


def _as_typed(hit: Hit, typed: Mapping[str, str]) -> Hit:
    evidence = hit.evidence
    if evidence is None or evidence.clause not in typed:
        return hit
    return replace(hit, evidence=replace(evidence, clause=typed[evidence.clause]))
