"""``Collections``: several collections that answer as one. Each document is in one of them, its shard.

A search asks every shard the same question and merges the answers. The texts of stored documents that the query
names are looked up first and sent with the question. So each document is judged by the same counts as in one
collection, and the hits have the same order: by score, then by id.
"""

from __future__ import annotations

import builtins
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial as bound
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, Unpack

from neardup.collection.collection import Arrival, Collection, compared_documents
from neardup.collection.contract import deadline_in
from neardup.collection.documents import Document, DocumentPage, DocumentsById
from neardup.collection.entries import likeness
from neardup.collection.fields import Ids, unknown_error, usable_id, usable_ids
from neardup.collection.intake import OnDuplicate
from neardup.collection.near import Near
from neardup.collection.pages import Hit, Page, hit_fields, sealed_token, token_fields
from neardup.collection.query import Query, parse
from neardup.collection.query.target import Open
from neardup.collection.records import Action, Added, NearCopy, count_into
from neardup.collection.search import LIMIT, NearMeasure, WhyNot, near_query
from neardup.collection.shard import LookUp, OpenShard, Shard, ShardDocuments, ShardPage, ShardQuestion, named_in
from neardup.collection.store import is_there, store_at
from neardup.errors import (
    FormatError,
    InputError,
    LimitError,
    NeardupError,
    NetworkError,
    OutputError,
    QueryError,
    SettingError,
)
from neardup.io.place import DatabaseURL, place_of
from neardup.settings import CollectionKeywords, as_compared

if TYPE_CHECKING:
    from neardup.comparison.compare import Comparison

T = TypeVar("T")
_LONGEST = 200_000
"""The most characters of a token of a page of several shards."""
_LIST_BITS = 40
"""The bits of a number of a document in the ``after`` of a list; those above are its shard."""
_GROUPS = "Groups are not formed over shards"


class ShardError(OutputError):
    """A shard does not answer, or cannot do its part; ``number`` is its place, from 0, the message counts from 1.

    ``plain`` are the words for those who may not know its address.
    """

    def __init__(self, number: int, shards: int, error: NeardupError) -> None:
        silent = isinstance(error, NetworkError | LimitError)
        place = f"Shard {number + 1} of {shards}"
        self.number, self.plain = number, f"{place} does not answer" if silent else f"{place}: {error.given}"
        given = f"{place} does not answer: {error.given}" if silent else self.plain
        super().__init__(given, error.allowed, error.do or "Repeat it, or ask for a partial answer")


def shard_of(id: str, shards: int) -> int:
    """Return the shard, from 0 on, of a document: the first 8 bytes of SHA-256 of its id, modulo their number.

    The bytes are big-endian, and the id is in UTF-8. The rule never changes.

    >>> [shard_of(id, 3) for id in ("a", "b", "c")]
    [1, 1, 2]
    """
    return int.from_bytes(hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()[:8], "big") % shards


def _require_once(parts: Sequence[Shard]) -> None:
    """Raise InputError for a shard that is named twice: each of its documents would be found twice."""
    places = [
        os.path.realpath(part.name) if isinstance(part, OpenShard) and os.path.exists(part.name) else part.name
        for part in parts
    ]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise InputError(
                f"{parts[number].name} is named twice, as shard {places.index(place) + 1} and {number + 1}",
                "Each shard once",
            )


class Position(NamedTuple):
    """How far the pages of a search have come in a shard: a token of it, and the hits shown after that.

    ``lost``: it did not answer, and is not asked for the following pages.
    """

    after: str | None = None
    shown: int = 0
    ended: bool = False
    lost: bool = False


class Collections(DocumentsById):
    """Several collections that answer as one, in the given order; ``create`` makes them.

    Every document is in the shard of ``shard_of``. The settings of all must agree, and so must their boilerplate.
    Recall is as in one collection; a search without numbers (``FINGERPRINT:id``) finds the same documents only
    if the shards share the secret of their hashes, as those of ``create`` do. Groups are not formed over shards:
    ``on_near="link"`` is refused.

    A shard that does not answer is an OutputError, or with ``partial`` of ``search`` a page without its documents,
    whose ``missing`` names it.

    Raises SettingError for collections whose settings differ, and whatever ``Collection`` raises.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Collections.create([f"{folder}/0.neardup", f"{folder}/1.neardup"]) as mails:
    ...         _ = mails.put("a", "the harbour office is closed on Friday")
    ...         _ = mails.put("b", "the harbour office is closed on Friday afternoon")
    ...         [hit.id for hit in mails.search("FINGERPRINT:a_80").hits]
    ['b']
    """

    def __init__(self, places: Iterable[str | os.PathLike[str] | DatabaseURL | Shard], **how: Any) -> None:
        self.parts: list[Shard] = []
        self._alike: set[int] = set()
        self._first: tuple[str, Mapping[str, Any], list[str]] | None = None
        self._comparing = threading.Lock()
        self._pool = ThreadPoolExecutor(32, thread_name_prefix="neardup-shards")
        self._near = threading.Lock()
        self.watch: Callable[[ShardError], None] = lambda error: None
        try:
            for place in places:
                named = isinstance(place, str | os.PathLike | DatabaseURL)
                self.parts.append(OpenShard(Collection(place, **how)) if named else place)  # type: ignore[arg-type]
            if not self.parts:
                raise InputError("No collection was named", "One or more", "Name the shards")
            _require_once(self.parts)
            for number, part in enumerate(self.parts):
                if isinstance(part, OpenShard):
                    self._require_alike(number)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(
        cls, places: Iterable[str | os.PathLike[str] | DatabaseURL], **settings: Unpack[CollectionKeywords]
    ) -> Collections:
        """Make new collections with one secret, and open them. Raises InputError if one exists."""
        named = [place_of(place) for place in places]
        if not named:
            raise InputError("No collection was named", "One or more", "Name the shards")
        if existing := [place for place in named if is_there(place)]:
            raise InputError(f"{existing[0]} exists already", "Places of new ones", "Open them with Collections")
        with Collection(named[0], **settings) as first:
            for place in named[1:]:
                store_at(place, first.settings).close()
        return cls(named)

    @property
    def shards(self) -> list[ShardDocuments]:
        """The collections."""
        return [part.collection for part in self.parts]

    def _require_alike(self, number: int) -> None:
        """Raise SettingError unless a shard is like those that have answered before; asks each shard once."""
        if number in self._alike:
            return
        part = self.parts[number]
        name, settings, texts = part.name, part.settings(), sorted(part.base_texts())
        with self._comparing:
            first = self._first = self._first or (name, settings, texts)
        if settings != first[1]:
            differences = [
                f"{key} {settings.get(key, 'off')}, not {first[1].get(key, 'off')}"
                for key in {**settings, **first[1]}
                if settings.get(key) != first[1].get(key)
            ]
            self._forget()
            raise SettingError(
                f"{name} was made with {'; '.join(differences)}", f"The settings of {first[0]} in every shard"
            )
        if texts != first[2]:
            self._forget()
            raise SettingError(
                f"The boilerplate of {name} are not those of {first[0]}",
                "The same boilerplate in every shard",
                "Add them to each shard",
            )
        self._alike.add(number)

    def _forget(self) -> None:
        """Compare all shards again at the next question, since either of two may have given a wrong answer."""
        with self._comparing:
            self._first = None
            self._alike.clear()
        for part in self.parts:
            part.forget()

    def shard(self, id: str | int) -> ShardDocuments:
        """Return the collection in which a document of this id is, or would be."""
        return self.parts[shard_of(usable_id(id), len(self.parts))].collection

    def ask(
        self, work: Callable[[int, Shard], T], among: Iterable[int] | None = None, *, partial: bool = False
    ) -> tuple[dict[int, T], list[ShardError]]:
        """Return the results of ``work`` for shards by number, and the errors of those that do not answer.

        Raises the first of these errors unless ``partial``, and if no shard answers.
        """
        numbers = range(len(self.parts)) if among is None else list(among)

        def one(number: int) -> T | ShardError:
            try:
                self._require_alike(number)
                return work(number, self.parts[number])
            except (OutputError, LimitError, FormatError) as error:
                failure = ShardError(number, len(self.parts), error)
                failure.__cause__ = error
                self.watch(failure)
                return failure

        far = {
            number: self._pool.submit(one, number)
            for number in numbers
            if not isinstance(self.parts[number], OpenShard)
        }
        try:
            # those of this process in this thread, which has its connections to them
            results = {number: one(number) for number in numbers if number not in far}
        finally:
            wait(far.values())
        results |= {number: future.result() for number, future in far.items()}
        errors = [result for result in results.values() if isinstance(result, ShardError)]
        answers = {number: results[number] for number in numbers}
        if errors and (not partial or len(errors) == len(answers)):
            raise errors[0]
        return {number: answer for number, answer in answers.items() if not isinstance(answer, ShardError)}, errors

    def settings(self) -> Mapping[str, Any]:
        """Return the settings of all shards."""
        known, _ = self.ask(lambda _, part: part.settings(), partial=True)
        return next(iter(known.values()))

    def search(
        self,
        query: str,
        *,
        limit: int = LIMIT,
        after: str | None = None,
        include_self: bool = False,
        fields: str | Iterable[str] = (),
        partial: bool = False,
        most_compared: int | None = None,
    ) -> Page:
        """Return the documents that match a query, as :meth:`Collection.search` does.

        Hits of equal score are in the order of their ids. ``partial``: a shard that does not answer is left out.
        ``most_compared`` is for each shard.
        """
        question = ShardQuestion(
            query=parse(query),
            limit=limit,
            after=after,
            include_self=include_self,
            fields=hit_fields(fields),
            compared=most_compared,
        )
        return self.page_of(question, partial=partial)

    def near(
        self,
        text: str,
        *,
        overlap: float | str | None = None,
        measure: NearMeasure = "containment",
        limit: int = LIMIT,
        after: str | None = None,
        partial: bool = False,
    ) -> Page:
        """Return the documents that contain a text by at least ``overlap``, as :meth:`Collection.near` does."""
        whole = text.encode("utf-8", "replace").decode("utf-8")
        question = ShardQuestion(query=near_query(whole, overlap, measure=measure), limit=limit, after=after)
        return self.page_of(question, partial=partial)

    def why_not(self, query: str, id: str | int, *, include_self: bool = False) -> WhyNot:
        """Return why a query does not find a document, as :meth:`Collection.why_not` does."""
        name, parsed = usable_id(id), parse(query)
        lent, _ = self._looked_up(parsed, range(len(self.parts)), False, None)
        question = ShardQuestion(
            query=parsed, include_self=include_self, texts=lent.texts, known_fields=lent.fields
        )
        number = shard_of(name, len(self.parts))
        answers, _ = self.ask(lambda _, part: part.why_not(question, name, None), [number])
        return answers[number]

    def compare(self, a: str | int, b: str | int, **how: Any) -> Comparison:
        """Compare two documents by every measure, as :meth:`Collection.compare` does, in whatever shards they are.

        Raises UnknownIdError, and what :func:`neardup.compare` raises.
        """
        return compared_documents(
            self.get(a),
            self.get(b),
            self.parts[0].base_texts(),
            {**as_compared(self.settings()), **how},
            has_parts=all(getattr(part, "has_parts", True) for part in self.parts),  # services have them
        )

    def page_of(
        self,
        question: ShardQuestion,
        *,
        partial: bool = False,
        seconds: float | None = None,
        open_file: Open | None = None,
    ) -> Page:
        """Return a page; ``after`` of the question is a token of all shards.

        ``seconds`` is the time limit of each collection that this process has open; ``open_file`` reads FILE:.
        """
        if question.query.explain:
            raise InputError("EXPLAIN shows the plan of one collection", "One collection", "Ask one of the shards")
        after, deadline = question.after, deadline_in(seconds)
        known = [Position()] * len(self.parts) if after is None else _positions(after, len(self.parts))
        active = [number for number, position in enumerate(known) if not position.ended]
        lent, errors = self._looked_up(question.query, active, partial, seconds)
        lost = {error.number for error in errors}

        def answer(number: int, part: Shard) -> ShardPage:
            position = known[number]
            own = replace(
                question,
                after=position.after,
                skip=position.shown,
                texts=lent.texts,
                known_fields=lent.fields,
            )
            return part.answer(own, None if seconds is None else deadline.left, open_file)

        try:
            pages, errors = self.ask(answer, [number for number in active if number not in lost], partial=partial)
        except QueryError:
            if errors:  # the missing shard may have the document or the field
                raise errors[0] from None
            raise
        lost |= {error.number for error in errors}
        for number in lost:
            known[number] = Position(ended=True, lost=True)
        return _merged_pages(pages, known, question.limit)

    def _looked_up(
        self, query: Query, active: Sequence[int], partial: bool, seconds: float | None
    ) -> tuple[LookUp, list[ShardError]]:
        """Look up the documents that a query names and its fields in all shards."""
        ids, fields = named_in(query)
        if not (ids or fields) or len(self.parts) == 1:
            return LookUp({}, ()), []
        known, errors = self.ask(lambda _, part: part.look_up(ids, fields, seconds), partial=partial)
        texts = {id: text for one in known.values() for id, text in one.texts.items()}
        return LookUp(texts, tuple({name: None for one in known.values() for name in one.fields})), errors

    def put(
        self, id: str | int, text: str, metadata: Mapping[str, Any] | None = None, **arrival: Unpack[Arrival]
    ) -> Added:
        """Add a document to its shard, or replace the one of this id.

        With ``near`` all shards are asked first for a document that it repeats. Other threads wait meanwhile, but
        another process may store one. ``on_near``: "keep" or "reject".
        """
        name = usable_id(id)
        near = arrival.get("near")
        if arrival.get("on_near") == "link":
            raise InputError(_GROUPS, 'on_near "keep" or "reject"', "Give another rule")
        if near is None:
            return self._at_home(name, lambda home: home.put(name, text, metadata, **arrival))
        rule = Near.of(near)
        with self._near:
            rejected = arrival.get("on_near") == "reject"
            copy = self._nearest_copy(name, text, metadata or {}, rule, rejected=rejected)
            if copy is None:
                return self._at_home(name, lambda home: home.put(name, text, metadata, **arrival))
            if copy.action == "rejected":
                return Added(repeats=1, left_out=1, recall=rule.recall, near=[copy])
            role = arrival.get("role", "document")
            added = self._at_home(name, lambda home: home.put(name, text, metadata, role=role))
        return replace(added, repeats=1, recall=rule.recall, near=[copy])

    def _at_home(self, id: str, work: Callable[[ShardDocuments], T]) -> T:
        """Return the result of work with the collection of an id."""
        number = shard_of(id, len(self.parts))
        results, _ = self.ask(lambda _, part: work(part.collection), [number])
        return results[number]

    def _nearest_copy(
        self, id: str, text: str, metadata: Mapping[str, Any], rule: Near, *, rejected: bool
    ) -> NearCopy | None:
        """Return the most similar document that a new one repeats, of all shards."""
        query = near_query(text, rule.threshold, rule.recall, "resemblance")
        try:
            pages, _ = self.ask(lambda _, part: part.answer(ShardQuestion(query=query, limit=2), None))
        except QueryError:  # no word of it counts
            return None
        hits = [hit for answer in pages.values() for hit in answer.page.hits if hit.id != id]
        best = min(hits, key=lambda hit: (-_score(hit), hit.id), default=None)
        if best is None or best.evidence is None:
            return None
        shared, size, of_size = best.evidence.shared, best.evidence.size_query, best.evidence.size_hit
        there = self.get(best.id)
        texts = (text.encode("utf-8", "replace"), there.text.encode("utf-8", "replace"))
        alike = likeness(metadata, there.metadata, texts if shared == size == of_size else None, known=True)
        action: Action = "rejected" if rejected else "kept"
        return NearCopy(id, best.id, shared, size, of_size, action, **vars(alike))

    def add(
        self,
        records: Iterable[Mapping[str, Any]],
        *,
        on_duplicate: OnDuplicate = "error",
        **arrival: Unpack[Arrival],
    ) -> Added:
        """Add records with ``id`` and ``text``, each to its shard, as :meth:`Collection.add` does.

        When a shard fails, the others have stored their documents, and the same call with ``on_duplicate="skip"``
        adds those left. With ``near`` they are added one after the other, as by ``put``.
        """
        parts: list[list[Mapping[str, Any]]] = [[] for _ in self.parts]
        records = builtins.list(records)
        for record in records:
            if "id" not in record:
                raise InputError("A record has no id", "Records with id and text", "Give each document an id")
            parts[shard_of(usable_id(record["id"]), len(parts))].append(record)
        if arrival.get("near") is not None:
            return _summed_additions(self._put_arrival(record, on_duplicate, arrival) for record in records)

        def store(number: int, part: Shard) -> Added:
            return part.collection.add(parts[number], on_duplicate=on_duplicate, **arrival)

        # a wrong document is an error of its shard alone, after the others have stored theirs
        added, _ = self.ask(store, [number for number, part in enumerate(parts) if part])
        return _summed_additions(added.values())

    def _put_arrival(self, record: Mapping[str, Any], on_duplicate: OnDuplicate, arrival: Arrival) -> Added:
        if on_duplicate != "replace" and record["id"] in self:
            if on_duplicate == "skip":
                return Added(skipped=1)
            raise InputError("A document with this id exists already", "New ids", "Give on_duplicate")
        return self.put(record["id"], record["text"], record.get("metadata"), **arrival)

    def get(self, id: str | int) -> Document:
        """Return the document of this id. Raises UnknownIdError if no shard has it."""
        return self._holder(usable_id(id)).collection.get(id)

    def update_metadata(self, id: str | int, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change the metadata of a document, as :meth:`Collection.update_metadata` does."""
        return self._holder(usable_id(id)).collection.update_metadata(id, changes)

    def remove(self, ids: Ids, *, missing: Literal["error", "ignore"] = "error") -> int:
        """Remove documents from the shards that have them, as :meth:`Collection.remove` does; return their number.

        When a shard fails, the others have removed theirs.
        """
        named = usable_ids(ids)
        holders = self._holders(tuple(named))
        if missing == "error" and (gone := [id for id in named if id not in holders]):
            raise unknown_error(gone, "any shard")
        parts = {number: [id for id in named if holders.get(id) == number] for number in set(holders.values())}
        removed, _ = self.ask(lambda number, part: part.collection.remove(parts[number], missing="ignore"), parts)
        return sum(removed.values())

    def existing(self, ids: Sequence[str]) -> list[str]:
        """Return those of the ids that any shard has."""
        return list(self._holders(ids))

    def _holders(self, ids: Sequence[str]) -> dict[str, int]:
        """The shards of those of the documents that exist."""
        known, _ = self.ask(lambda _, part: part.look_up(ids, (), None))
        return {id: number for number, one in known.items() for id in one.texts}

    def _holder(self, id: str) -> Shard:
        """The shard that has a document, mostly the first that is asked. Raises UnknownIdError."""
        home = shard_of(id, len(self.parts))
        for number in (home, *(number for number in range(len(self.parts)) if number != home)):
            there, _ = self.ask(lambda _, part: id in part.collection, [number])
            if there[number]:
                return self.parts[number]
        raise unknown_error([id], "any shard")

    def group_of(self, id: str | int) -> None:
        """Return None: groups are not formed over shards. Raises UnknownIdError if the document does not exist."""
        self._holder(usable_id(id))

    def base_texts(self) -> builtins.list[str]:
        """Return the ids of the boilerplate texts, which are those of every shard."""
        return self.parts[0].collection.base_texts()

    def list(self, after: int | None = None, limit: int = 100, *, texts: bool = False) -> DocumentPage:
        """Return documents, shard after shard, each in the order in which they were first added.

        A page ends with its shard. ``after`` is the ``next`` of the previous page.
        """
        shard, number = divmod(after or 0, 1 << _LIST_BITS)
        page = DocumentPage((), None)
        while shard < len(self.parts):
            pages, _ = self.ask(bound(_list_shard, after=number, limit=limit, texts=texts), [shard])
            page = pages[shard]
            if page.next is not None:
                return replace(page, next=(shard << _LIST_BITS) + page.next)
            shard, number = shard + 1, 0
            if page.documents:
                break
        return replace(page, next=shard << _LIST_BITS if shard < len(self.parts) else None)

    def info(self) -> dict[str, Any]:
        """Return counts, bytes and settings of all shards together, and their number."""
        known, _ = self.ask(lambda _, part: part.collection.info())
        first = known[0]
        total: dict[str, Any] = {"shards": len(known)}
        for name in ("documents", "base_texts", "tokens", "shingles", "postings", "groups"):
            total[name] = first[name] if name == "base_texts" else sum(one[name] for one in known.values())
        total["bytes"] = {name: sum(one["bytes"][name] for one in known.values()) for name in first["bytes"]}
        return total | {
            "changes": sum(one["changes"] for one in known.values()),
            "settings": dict(first["settings"]),
        }

    def close(self) -> None:
        """Close all shards."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for part in self.parts:
            part.close()

    def __repr__(self) -> str:
        return f"Collections({', '.join(repr(part.name) for part in self.parts)})"

    def __len__(self) -> int:
        counts, _ = self.ask(lambda _, part: len(part.collection))
        return sum(counts.values())

    def __contains__(self, id: object) -> bool:
        return any(id in shard for shard in self.shards)

    def __iter__(self) -> Iterator[str]:
        for shard in self.shards:
            yield from shard


def _list_shard(_: int, part: Shard, after: int, limit: int, texts: bool) -> DocumentPage:
    return part.collection.list(after, limit, texts=texts)


def _summed_additions(parts: Iterable[Added]) -> Added:
    """Return the results of several additions as one; lists are joined."""
    total = Added()
    for part in parts:
        count_into(total, part)
    return total


def _merged_pages(pages: Mapping[int, ShardPage], known: Sequence[Position], limit: int) -> Page:
    """The first hits of all pages, and the positions after them."""
    first = _first({number: answer.page for number, answer in pages.items()}, limit)
    positions = list(known)
    for number, (page, begin) in pages.items():
        shown = sum(of == number for of, _ in first)
        if shown < len(page.hits):
            positions[number] = Position(begin, shown)
        elif page.next:
            positions[number] = Position(page.next)
        else:
            positions[number] = Position(shown=page.found or 0, ended=True)
    some = [page for page, _ in pages.values()]
    before = sum(position.shown for position in known if position.ended)
    return Page(
        tuple(hit for _, hit in first),
        before + sum(page.found or 0 for page in some),
        None if all(position.ended for position in positions) else sealed_token(positions),
        some[0].query,
        0.0 if any(position.lost for position in known) else min(page.recall for page in some),
        tuple(dict.fromkeys(sentence for page in some for sentence in page.warnings)),
        missing=tuple(number for number, position in enumerate(known, 1) if position.lost),
        uncompared=sum(page.uncompared for page in some),
        shards=len(known),
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


def _positions(token: str, shards: int) -> list[Position]:
    """Return the positions of a token. Raises InputError for one that no search over these shards returned."""
    try:
        positions = [Position(*one) for one in token_fields(token, _LONGEST)]
    except (ValueError, TypeError) as error:
        raise _damaged_error() from error
    if len(positions) != shards:
        raise _damaged_error()
    return positions


def _damaged_error() -> InputError:
    return InputError(
        "This page token is damaged, or of other shards",
        "The token that a page of the same search names as its next one",
        "Begin with the first page",
    )


def _score(hit: Hit) -> float:
    return hit.evidence.score if hit.evidence is not None else 0.0
