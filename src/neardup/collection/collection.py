"""``Collection``: documents in one file, added, replaced, removed and looked up by their ids."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from neardup.collection.arrivals import OnNear
from neardup.collection.contract import Entries, deadline_in
from neardup.collection.documents import Document, StoredDocuments
from neardup.collection.entries import entries_again
from neardup.collection.fields import Ids, differing_parts, unknown_error, usable_id, usable_ids
from neardup.collection.groups.formation import Grouping
from neardup.collection.groups.methods import GroupsAndDecisions
from neardup.collection.inspection import faults
from neardup.collection.intake import Adding, OnDuplicate, entries_named, intake_of
from neardup.collection.near import Near
from neardup.collection.pages import Page
from neardup.collection.passages import LENGTH, MOST, SharedPassages, shared_passages
from neardup.collection.records import Added, closed_html, collection_html
from neardup.collection.search import LIMIT, Bounds, NearMeasure, WhyNot, found_by, near_query, search, why_not
from neardup.collection.sets import Role, Sets, require_no_groups, texts_of
from neardup.collection.settings import CollectionSettings
from neardup.collection.store import store_at
from neardup.collection.view import View
from neardup.errors import InputError, NeardupError, SettingError
from neardup.io.inputs import Problem
from neardup.io.place import DatabaseURL, Place, file_at, place_of, require_local
from neardup.runtime import Progress, Silent
from neardup.settings import CollectionKeywords, as_compared
from neardup.tables import Int64s

if TYPE_CHECKING:
    from neardup.comparison.compare import Comparison


class Questions(StoredDocuments):
    """The part of a collection that answers questions."""

    def base_texts(self) -> list[str]:
        """Return the ids of the boilerplate texts, in the order in which they were first added."""
        with self.store.reading():
            return self.store.ids(np.array(sorted(self.store.base_texts()), np.int64))

    def compare(self, a: str | int, b: str | int, **how: Any) -> Comparison:
        """Compare two documents by every measure, as :func:`neardup.compare` does, with the shingles of this file.

        ``how`` are the keywords of that function; boilerplate is ignored, as by ``ignore``. Raises InputError for
        an unknown id.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["the harbour office is closed", "the harbour office is closed on Friday"])
        ...     mails.compare("#1", "#2").measures["containment_a"]
        1.0
        """
        settings = self.store.settings
        how = {**as_compared(settings.as_dict()), **how}
        return compared_documents(
            self.get(a), self.get(b), texts_of(self.store), how, has_parts=settings.has_parts
        )

    def search(
        self,
        query: str,
        *,
        limit: int = LIMIT,
        after: str | None = None,
        include_self: bool = False,
        fields: str | Iterable[str] = (),
        most_compared: int | None = None,
    ) -> Page:
        """Return the documents that match a query, ``limit`` at a time: docs/reference/query.md.

        Every match is verified on the texts. ``after`` is the ``next`` of the previous page. The query document is
        left out unless ``include_self``. ``fields``, such as "metadata,excerpt", are what each hit holds besides
        its evidence: ``metadata``, ``text``, ``excerpt``; a page with fields ends after 16 MB of these. Of more
        candidates of a clause than ``most_compared``, only the most promising are compared (``Page.uncompared``).
        A query cannot read files here; FILE: is for the command line. Raises QueryError, with the position, for
        the query; SettingError for the limit and the fields; InputError for a token of another search.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["harbour office closed on Friday", "the harbour office closed on Friday"])
        ...     page = mails.search("FINGERPRINT:#1_50_95")
        ...     [(hit.id, hit.evidence.in_hit) for hit in page.hits]
        [('#2', 1.0)]
        """
        with self.view() as view:
            page = search(
                view,
                query,
                limit=limit,
                after=after,
                include_self=include_self,
                fields=fields,
                bounds=Bounds(compared=most_compared),
            )
            return _issue_warnings(page)

    def _found_numbers(self, query: str) -> Int64s:
        with self.view() as view:
            return found_by(view, query)

    def near(
        self,
        text: str,
        *,
        overlap: float | str | None = None,
        probability: float | str | None = None,
        measure: NearMeasure = "containment",
        where: str | None = None,
        limit: int = LIMIT,
        after: str | None = None,
        fields: str | Iterable[str] = (),
    ) -> Page:
        """Return the documents that contain a text by at least ``overlap``, most of it first, ``limit`` at a time.

        ``overlap`` and ``probability``, the least recall, are shares: 0.8 or "80%". Without ``overlap`` one common
        shingle is enough, and without ``probability`` nothing is missed. ``measure`` "resemblance" compares both
        ways. ``where`` is a query that the documents must fit, too, such as ``from:ann AND date>=2020``;
        ``fields`` are those of ``search``. Raises SettingError for a share, the limit or the fields, and
        QueryError for ``where`` and for a text without words.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.put("a", "the harbour office is closed on Friday", {"from": "ann"})
        ...     page = mails.near("the harbour office is closed", overlap="80%", where="from:ann")
        ...     [(hit.id, hit.evidence.in_hit) for hit in page.hits]
        [('a', 1.0)]
        """
        if not isinstance(text, str):
            raise InputError(f"The text is a {type(text).__name__}", "A str")
        whole = text.encode("utf-8", "replace").decode("utf-8")
        asked = near_query(whole, overlap, probability, measure, where)
        with self.view() as view:
            return _issue_warnings(search(view, asked, limit=limit, after=after, fields=fields))

    def why_not(self, query: str, id: str | int, *, include_self: bool = False) -> WhyNot:
        """Return why a query does not find a document, or that it does. Raises QueryError as ``search`` does."""
        with self.view() as view:
            return why_not(view, query, usable_id(id), include_self=include_self)

    def passages(self, id: str | int, *, length: int = LENGTH, most: int = MOST) -> SharedPassages:
        """Return the passages of at least ``length`` tokens that a document shares with others, token by token.

        The documents that may have one are found by the index and compared, ``most`` at most. ``recall`` of the
        result is the least probability that a passage of exactly this length is found: 1 but for very long
        documents and short passages. Boilerplate is not looked up.
        Raises UnknownIdError, and SettingError for the numbers.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/m.neardup", scale=1) as mails:
        ...     _ = mails.put("a", "Dear Ann, the harbour office is closed on Friday")
        ...     _ = mails.put("b", "Note: the harbour office is closed on Friday!")
        ...     [(one.id, one.tokens, one.text) for one in mails.passages("a", length=5).passages]
        [('b', 7, 'the harbour office is closed on Friday')]
        """
        with self.view() as view:
            return shared_passages(view, usable_id(id), length, most)

    @contextmanager
    def view(self, seconds: float | None = None) -> Iterator[View]:
        """The current state of the collection, for look-ups of this thread within the block.

        Look-ups raise LimitError when the block takes longer than ``seconds``.
        """
        deadline = deadline_in(seconds)
        with self.store.reading(deadline):
            yield View(self.store, deadline)


def _issue_warnings(page: Page) -> Page:
    """The page, after its warnings are issued."""
    for sentence in page.warnings:
        warnings.warn(sentence, UserWarning, stacklevel=3)
    return page


_REMOVED = 1000
"""Documents removed at a time."""


class Arrival(TypedDict, total=False):
    """How documents arrive, see :meth:`Collection.add`; by default they are compared with none."""

    near: float | str | Near | None
    on_near: OnNear
    role: Role


class Collection(Questions, GroupsAndDecisions):
    """A collection of documents in the file ``path``, which is created if it does not exist.

    ``settings`` (length, slots, scale, floor) are fixed when the file is created; later they may be left out. With
    ``readonly`` nothing is created or changed. ``wait`` is how many seconds to wait while another process or
    thread writes. ``upgrade`` converts a file of an earlier format version to the current one; make a copy before.
    ``on_problem`` is called with every row that ``add`` rejects; the result keeps only the first 1,000.

    Any number of processes and threads may read while one adds or removes. When ``add`` or ``remove`` returns, the
    change is on the disk. A transaction is stored whole or not at all, even if the process is killed.

    Raises FormatError for a file that is not a collection, is damaged or has another format version, and never
    overwrites such a file; SettingError for settings that differ from those of the file; InputError with
    ``readonly`` if the file does not exist.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
    ...     _ = mails.add(["the harbour office", "pay by Friday"])
    ...     len(mails), list(mails), mails.get("#2").text
    (2, ['#1', '#2'], 'pay by Friday')
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | DatabaseURL,
        *,
        readonly: bool = False,
        wait: float = 10.0,
        upgrade: bool = False,
        on_problem: Callable[[Problem], None] | None = None,
        **settings: Unpack[CollectionKeywords],
    ) -> None:
        self.path, self._on_problem = place_of(path), on_problem
        if not 0 <= wait <= 86_400:
            raise SettingError(f"wait is {wait!r}", "A number of seconds from 0 to 86 400")
        self.store = store_at(self.path, settings, readonly=readonly, upgrade=upgrade, wait=wait)

    @property
    def settings(self) -> CollectionSettings:
        """The settings that its documents are fingerprinted with."""
        return self.store.settings

    def add(
        self,
        documents: Any,
        *,
        text: str | Sequence[str] | None = None,
        id: str | None = None,
        metadata: Sequence[str] = (),
        on_duplicate: OnDuplicate = "error",
        progress: Progress | None = None,
        **arrival: Unpack[Arrival],
    ) -> Added:
        """Add documents of any kind that ``neardup.find`` accepts, or records.

        Records are a list or an iterator of dicts with ``text``, perhaps ``id`` and ``metadata`` (any JSON).
        ``metadata`` names other keys to keep instead.

        ``text`` and ``id`` name columns and are guessed otherwise; ``metadata`` names columns to keep with each
        document. Without an id column, documents in files get the ids ``source#row``, others ``#1``, ``#2`` …
        Files that are one document each get their paths as ids, and keep the metadata that they contain
        (docs/reference/formats.md) unless ``metadata`` names some of it. ``on_duplicate`` is the rule for an id
        that already exists or appears twice: "error" adds nothing and raises InputError, "replace" keeps the later
        document, "skip" the earlier one. A document that is stored already with the same text and metadata is no
        error: it is left as it is.

        At most 500 documents with 4 MB of text are stored whole or not at all. More are stored in transactions of
        about a quarter of a second, between which others can write; if the call ends early, the same call again
        adds the others. Within ``together``, and for documents without ids, all are stored or none.

        With ``near``, a resemblance above 0 and at most 1, each document is compared with the stored documents and
        with those before it in this call; the result names the document that it repeats. ``on_near`` is the rule
        for such a document: "keep" stores it, "link" stores it and puts it into the group of the document that it
        repeats, "reject" does not store it. ``neardup.collection.Near(0.8, recall=1)`` misses none, and is slower.

        ``role`` "base" adds boilerplate, such as templates: its shingles count in no document. They must come
        before the first group (docs/reference/collection.md).

        Rows that cannot be read are left out and listed in the result. Raises OutputError when another process or
        thread writes for longer than ``wait``, or when the file cannot be written.
        """
        if isinstance(metadata, str):
            raise InputError(f"metadata is {metadata!r}", "A list of names of columns", f"Give [{metadata!r}]")
        near, on_near, role = _arrival(**arrival)
        adding = Adding(self.store, on_duplicate, near, on_near, self._on_problem, role=role)
        intake = intake_of(documents, text, id, metadata, own_files(self.path))
        return adding.run(intake, progress or Silent())

    def prepare(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, Any]],
        *,
        seconds: float | None = None,
    ) -> Entries:
        """Fingerprint documents for ``put_prepared``, in any thread; nothing is stored. ``metadata``: any JSON.

        Raises InputError for documents that the collection cannot keep, and LimitError when the call takes longer
        than ``seconds``; it stops between two portions of a megabyte.
        """
        return entries_named(ids, texts, metadata, self.settings, deadline_in(seconds))

    def put(
        self,
        id: str | int,
        text: str,
        metadata: Mapping[str, Any] | None = None,
        **arrival: Unpack[Arrival],
    ) -> Added:
        """Add a document, or replace the one of this id.

        ``metadata`` may be any JSON; ``near``, ``on_near`` and ``role`` are those of ``add``. Doing it
        again changes nothing. Raises InputError for a document that the collection cannot keep.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.put("a", "pay by Thursday", {"from": {"name": "ann"}})
        ...     done = mails.put("a", "pay by Friday", {"from": {"name": "ann"}})
        ...     done.replaced, mails["a"].text, "a" in mails, len(mails)
        (1, 'pay by Friday', True, 1)
        """
        near, on_near, role = _arrival(**arrival)
        made = self.prepare([usable_id(id)], [text], [{} if metadata is None else metadata])
        return self.put_prepared(made, "replace", near=near, on_near=on_near, role=role)

    def put_prepared(
        self,
        documents: Entries,
        on_duplicate: OnDuplicate = "error",
        *,
        near: float | str | Near | None = None,
        on_near: OnNear = "keep",
        seconds: float | None = None,
        role: Role = "document",
    ) -> Added:
        """Add prepared documents, all or none, as ``add`` does; within ``together`` as a part of its batch.

        Raises LimitError, and adds none, when finding the documents that they repeat takes longer than
        ``seconds``.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     with mails.together():
        ...         _ = mails.put_prepared(mails.prepare(["a"], ["the harbour office"], [{"year": 2020}]))
        ...         _ = mails.put_prepared(mails.prepare(["b"], ["pay by Friday"], [{}]))
        ...     list(mails)
        ['a', 'b']
        """
        deadline = deadline_in(seconds)
        return Adding(self.store, on_duplicate, near, on_near, deadline=deadline, role=role).put(documents)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Commit the changes of this thread within the block together at its end.

        The changes are calls of ``put``, ``put_prepared``, ``update_metadata``, ``remove`` and ``decide``. Each is
        atomic: a call that raises is undone by itself. When the block itself raises, nothing of it is stored.
        """
        with self.store.together():
            yield

    def remove(self, ids: Ids, *, missing: Literal["error", "ignore"] = "error") -> int:
        """Remove documents with everything that was derived from them, and return how many were removed.

        One transaction. An unknown id raises InputError and nothing is removed, unless ``missing="ignore"``.
        Searches no longer find the removed documents; their text, metadata and postings are overwritten in the
        file. Their words leave the file when their part of the full-text index is next rewritten, at the latest by
        ``compact``.
        """
        named = usable_ids(ids)
        self.prepare(["#"], ["loads what the transaction needs"], [{}])  # now, while no other writer waits for it
        with self.store.writing() as transaction:
            known = self.store.numbers(named)
            missing_ids = [id for id in named if id not in known]
            if missing_ids and missing != "ignore":
                raise unknown_error(missing_ids, str(self.path))
            numbers = np.array(sorted(known.values()), np.int64)
            if not self.store.base_texts().keys().isdisjoint(known.values()):
                require_no_groups(self.store)
            grouping = Grouping(self.store, Sets(self.store))
            grouping.prepare_removal(numbers.tolist())
            grouping.finish()
            for begin in range(0, len(numbers), _REMOVED):
                part = numbers[begin : begin + _REMOVED]
                transaction.remove(entries_again(self.store, part), part)
        return len(known)

    def info(self) -> dict[str, Any]:
        """Return counts, bytes and settings as plain data."""
        totals = self.store.totals()
        return {
            "path": str(self.path),
            "documents": totals.documents,
            "base_texts": len(self.store.base_texts()),
            "tokens": totals.tokens,
            "shingles": totals.shingles,
            "postings": totals.postings,
            "groups": self.store.groups.count(),
            "bytes": {
                "text": totals.text_bytes,
                "text_packed": totals.packed_bytes,
                "signatures": self.settings.slots * totals.documents,
                "file": totals.file_bytes,
            },
            "changes": totals.change,
            "settings": self.settings.as_dict(),
        }

    def check(self, progress: Progress | None = None) -> list[str]:
        """Return the faults of the file, as sentences; empty if there are none.

        Reads every text and recomputes everything that was derived from it.
        """
        return faults(self.store, progress or Silent())

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the collection as it is now into a new file, while other threads and processes read and write.

        The copy is a collection of its own, with the same secret and permissions. It appears complete or not at
        all. Raises OutputError if the file exists or cannot be written.
        """
        require_local(path)
        self.store.backup(Path(path))

    def compact(self) -> None:
        """Rewrite the file without free space, and without the words of removed documents.

        Needs as much free disk space as the file occupies. Raises OutputError while another process or thread
        reads or writes.
        """
        self.store.compact()

    def close(self) -> None:
        """Close the file. Closing it twice is allowed."""
        self.store.close()

    def __repr__(self) -> str:
        return f"Collection({str(self.path)!r})"

    def _repr_html_(self) -> str:
        try:
            return collection_html(self.info())
        except NeardupError as error:  # closed, or gone
            return closed_html(str(self.path), error.given)


def compared_documents(
    one: Document, other: Document, base_texts: Sequence[str], how: dict[str, Any], *, has_parts: bool
) -> Comparison:
    """Compare two stored documents by the keywords ``how``, without the boilerplate ``base_texts``, too.

    ``has_parts``: their metadata say which parts beside the text they have.
    """
    from neardup.comparison.compare import compare  # other uses need not wait for its kernels

    ignore = how.pop("ignore", None) or ()
    if not isinstance(ignore, str):  # compare refuses it
        ignore = [*ignore, *base_texts]
    compared = compare(one.text, other.text, **{**how, "ignore": ignore})
    return replace(compared, not_compared=differing_parts(one.metadata, other.metadata, known=has_parts) or ())


def _arrival(
    *, near: float | str | Near | None = None, on_near: OnNear = "keep", role: Role = "document"
) -> tuple[float | str | Near | None, OnNear, Role]:
    """Return the values of ``Arrival`` with their defaults. Raises TypeError for another name."""
    return near, on_near, role


def own_files(path: Place) -> tuple[Path, ...]:
    """The file of a collection and its companion files; these are not documents, in whatever folder they are."""
    file = file_at(path)
    return () if file is None else tuple(file.with_name(file.name + suffix) for suffix in ("", "-wal", "-shm"))
