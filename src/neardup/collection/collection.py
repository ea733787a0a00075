"""``Collection``: documents in one file, added, replaced, removed and looked up by their ids."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

import numpy as np

from neardup.collection.added import Added
from neardup.collection.adding import Adding, OnDuplicate, entries_named
from neardup.collection.arrivals import OnNear
from neardup.collection.base_texts import Role, require_no_groups, texts_of
from neardup.collection.contract import Entries, Store, deadline_in
from neardup.collection.groups.grouping import Grouping
from neardup.collection.groups.public import GroupsAndDecisions
from neardup.collection.ids import unknown, usable_id
from neardup.collection.inspection import faults
from neardup.collection.near import Near
from neardup.collection.pages import Page, short_repr
from neardup.collection.search import LIMIT, search
from neardup.collection.sets import Sets
from neardup.collection.settings import CollectionSettings
from neardup.collection.store import SqliteStore
from neardup.collection.stored import entries_again, loaded
from neardup.collection.view import View
from neardup.collection.why import WhyNot, why_not
from neardup.errors import FormatError, InputError, SettingError
from neardup.io.readers import Problem, open_documents
from neardup.runtime import Progress, Silent
from neardup.settings import as_compared

if TYPE_CHECKING:
    from neardup.comparison.compare import Comparison

_PAGE = 1000

Ids: TypeAlias = str | int | Iterable[str | int]


@dataclass(frozen=True, repr=False)
class Document:
    """A stored document: its id, text and metadata, the numbers of its tokens and distinct shingles, its role."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    tokens: int
    shingles: int
    role: Role = "document"

    def __repr__(self) -> str:
        return f"Document({short_repr(self.id)}, {short_repr(self.text)}, {self.tokens} tokens)"


class Arrival(TypedDict, total=False):
    """How documents arrive, see :meth:`Collection.add`; by default they are compared with none."""

    near: float | Near | None
    on_near: OnNear
    role: Role


class Collection(GroupsAndDecisions):
    """A collection of documents in the file ``path``, which is created if it does not exist.

    ``settings`` (length, slots, scale, floor) are fixed when the file is created; later they may be left out. With
    ``readonly`` nothing is created or changed. ``wait`` is how many seconds to wait while another process or
    thread writes. ``upgrade`` converts a file of an earlier format version to the current one; make a copy before.
    ``on_problem`` is called with every row that ``add`` rejects; the result keeps only the first 1,000.

    Any number of processes and threads may read while one adds or removes. When ``add`` or ``remove`` returns, the
    change is on the disk. A batch is stored whole or not at all, even if the process is killed.

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
        path: str | os.PathLike[str],
        *,
        readonly: bool = False,
        wait: float = 10.0,
        upgrade: bool = False,
        on_problem: Callable[[Problem], None] | None = None,
        **settings: Any,
    ) -> None:
        self.path, self._on_problem = Path(path), on_problem
        if not 0 <= wait <= 86_400:
            raise SettingError(f"wait is {wait!r}", "A number of seconds from 0 to 86 400")
        self.store: Store = SqliteStore(self.path, settings, readonly=readonly, upgrade=upgrade, wait=wait)

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
        """Add documents of any kind that ``neardup.find`` accepts, all of them in one transaction.

        ``text`` and ``id`` name columns and are guessed otherwise; ``metadata`` names columns to keep with each
        document. Without an id column, documents in files get the ids ``source#row``, others ``#1``, ``#2`` …
        Files that are one document each get their paths as ids, and keep the metadata that they contain
        (docs/reference/formats.md) unless ``metadata`` names some of it. ``on_duplicate`` is the rule for an id
        that already exists or appears twice: "error" adds nothing and raises InputError, "replace" keeps the later
        document, "skip" the earlier one.

        With ``near``, a resemblance above 0 and at most 1, each document is compared with the stored documents and
        with those before it in this call; the result names the document that it repeats. ``on_near`` is the rule
        for such a document: "keep" stores it, "link" stores it and puts it into the group of the document that it
        repeats, "reject" does not store it. ``neardup.collection.Near(0.8, recall=1)`` misses none, and is slower.

        ``role`` "base" adds base texts, such as templates: their shingles count in no document. They must come
        before the first group (docs/reference/collection.md).

        Rows that cannot be read are left out and listed in the result. Raises OutputError when another process or
        thread writes for longer than ``wait``, or when the file cannot be written.
        """
        if isinstance(metadata, str):
            raise InputError(f"metadata is {metadata!r}", "A list of names of columns", f"Give [{metadata!r}]")
        near, on_near, role = _arrival(**arrival)
        asked = None if near is None else Near.of(near)
        adding = Adding(self.store, on_duplicate, asked, on_near, self._on_problem, role=role)
        opened = open_documents(documents, without=own_files(self.path))
        return adding.run(opened, text, id, metadata, progress or Silent())

    def prepare(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        metadata: Sequence[Mapping[str, Any]],
        *,
        seconds: float | None = None,
    ) -> Entries:
        """Fingerprint documents for ``put``, in any thread; nothing is stored. ``metadata`` may be any JSON.

        Raises InputError for documents that the collection cannot keep, and LimitError when the call takes longer
        than ``seconds``; it stops between two portions of a megabyte.
        """
        return entries_named(ids, texts, metadata, self.settings, deadline_in(seconds))

    def put(
        self,
        documents: Entries,
        on_duplicate: OnDuplicate = "error",
        *,
        near: float | Near | None = None,
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
        ...         _ = mails.put(mails.prepare(["a"], ["the harbour office"], [{"year": 2020}]))
        ...         _ = mails.put(mails.prepare(["b"], ["pay by Friday"], [{}]))
        ...     list(mails)
        ['a', 'b']
        """
        asked = None if near is None else Near.of(near)
        deadline = deadline_in(seconds)
        return Adding(self.store, on_duplicate, asked, on_near, deadline=deadline, role=role).put(documents)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Commit the changes of this thread within the block together at its end.

        The changes are calls of ``put``, ``remove`` and ``decide``. Each call is atomic: a call that raises is
        undone by itself. When the block itself raises, nothing of it is stored.
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
        named = list(dict.fromkeys(usable_id(id) for id in ([ids] if isinstance(ids, str | int) else ids)))
        with self.store.writing() as transaction:
            known = self.store.numbers(named)
            missing_ids = [id for id in named if id not in known]
            if missing_ids and missing != "ignore":
                raise unknown(missing_ids, str(self.path))
            numbers = np.array(sorted(known.values()), np.int64)
            if not self.store.base_texts().keys().isdisjoint(known.values()):
                require_no_groups(self.store)
            grouping = Grouping(self.store, transaction, Sets(self.store))
            grouping.removing(numbers.tolist())
            grouping.finish()
            for begin in range(0, len(numbers), _PAGE):
                part = numbers[begin : begin + _PAGE]
                transaction.remove(entries_again(self.store, part), part)
        return len(known)

    def get(self, id: str | int) -> Document:
        """Return the document of this id. Raises InputError if it does not exist, FormatError if it is damaged."""
        name = usable_id(id)
        with self.store.reading():
            number = self.store.numbers([name]).get(name)
            if number is None:
                raise unknown([name], str(self.path))
            [(row, data)] = loaded(self.store, np.array([number], np.int64))
            role: Role = "base" if number in self.store.base_texts() else "document"
        if row.id != name:
            raise FormatError(f"The index of ids of {self.path} is damaged", "", "Restore it from a copy")
        return Document(row.id, data.decode("utf-8", "replace"), row.metadata, row.tokens, row.shingles, role)

    def base_texts(self) -> list[str]:
        """Return the ids of the base texts, in the order in which they were first added."""
        with self.store.reading():
            return self.store.ids(np.array(sorted(self.store.base_texts()), np.int64))

    def compare(self, a: str | int, b: str | int, **how: Any) -> Comparison:
        """Compare two documents by every measure, as :func:`neardup.compare` does, with the shingles of this file.

        ``how`` are the keywords of that function; base texts are ignored, as by ``ignore``. Raises InputError for
        an unknown id.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["the harbour office is closed", "the harbour office is closed on Friday"])
        ...     mails.compare("#1", "#2").measures["containment_a"]
        1.0
        """
        from neardup.comparison.compare import compare  # other uses need not wait for its kernels

        texts, ignore = (self.get(a).text, self.get(b).text), how.pop("ignore", None) or ()
        if not isinstance(ignore, str):  # compare refuses it
            ignore = [*ignore, *texts_of(self.store)]
        return compare(*texts, **{**as_compared(self.settings.as_dict()), **how, "ignore": ignore})

    def search(
        self, query: str, *, limit: int = LIMIT, after: str | None = None, include_self: bool = False
    ) -> Page:
        """Return the documents that match a query, ``limit`` at a time: docs/reference/query.md.

        Every match is verified on the texts. ``after`` is the ``next`` of the previous page. The query document is
        left out unless ``include_self``. A query cannot read files here; FILE: is for the command line. Raises
        QueryError, with the position, for the query; SettingError for the limit; InputError for a token of another
        search.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["harbour office closed on Friday", "the harbour office closed on Friday"])
        ...     page = mails.search("FINGERPRINT:#1_50_95")
        ...     [(hit.id, hit.evidence.containment_a) for hit in page.hits]
        [('#2', 1.0)]
        """
        with self.view() as view:
            return search(view, query, limit=limit, after=after, include_self=include_self)

    def why_not(self, query: str, id: str | int, *, include_self: bool = False) -> WhyNot:
        """Return why a query does not find a document, or that it does. Raises QueryError as ``search`` does."""
        with self.view() as view:
            return why_not(view, query, usable_id(id), include_self=include_self)

    @contextmanager
    def view(self, seconds: float | None = None) -> Iterator[View]:
        """The current state of the collection, for look-ups of this thread within the block.

        Look-ups raise LimitError when the block takes longer than ``seconds``.
        """
        deadline = deadline_in(seconds)
        with self.store.reading(deadline):
            yield View(self.store, deadline)

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

    def compact(self) -> None:
        """Rewrite the file without free space, and without the words of removed documents.

        Needs as much free disk space as the file occupies. Raises OutputError while another process or thread
        reads or writes.
        """
        self.store.compact()

    def close(self) -> None:
        """Close the file. Closing it twice is allowed."""
        self.store.close()

    def __len__(self) -> int:
        return self.store.totals().documents

    def __bool__(self) -> bool:
        return True  # an empty collection is a collection, too

    def __iter__(self) -> Iterator[str]:
        """The ids, in the order in which they were first added; ids added meanwhile come at the end."""
        after = 0
        while page := self.store.page(after, _PAGE):
            yield from (id for _, id in page)
            after = page[-1][0]

    def __contains__(self, id: object) -> bool:
        try:
            name = usable_id(id)
        except InputError:
            return False
        return bool(self.store.numbers([name]))

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Collection({str(self.path)!r})"


def _arrival(
    *, near: float | Near | None = None, on_near: OnNear = "keep", role: Role = "document"
) -> tuple[float | Near | None, OnNear, Role]:
    """Return the values of ``Arrival`` with their defaults. Raises TypeError for another name."""
    return near, on_near, role


def own_files(path: Path) -> tuple[Path, ...]:
    """The file of a collection and its companion files; these are not documents, in whatever folder they are."""
    return tuple(path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm"))


__all__ = ["Added", "Collection", "Document"]
