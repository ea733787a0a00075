"""The documents of a collection one by one and page by page, and changes of their metadata."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from neardup.collection.entries import loaded_texts, unpack
from neardup.collection.fields import merged_metadata, metadata_fault, plain, unknown_error, usable_id
from neardup.collection.groups.methods import checked_limit, place
from neardup.collection.pages import short_repr
from neardup.collection.records import document_html, list_html
from neardup.collection.sets import Role
from neardup.collection.store import Store
from neardup.display import counted
from neardup.display.view import PlainData, Public, excerpt, name_of
from neardup.errors import FormatError, InputError
from neardup.io.outputs import common_access, document_bytes, write_documents
from neardup.io.place import Place, file_at

_PAGE = 1000
_TEXT_BYTES = 16_000_000
"""A page with texts ends after this many bytes of text; a longer document is a page of its own."""


@dataclass(frozen=True, repr=False)
class Document(PlainData):
    """A stored document: its id, text and metadata, the numbers of its tokens and distinct shingles, its role."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    tokens: int
    shingles: int
    role: Role = "document"

    def __repr__(self) -> str:
        return f"Document({short_repr(self.id)}, {short_repr(self.text)}, {self.tokens} tokens)"

    def _repr_html_(self) -> str:
        lines = [("tokens", f"{self.tokens:,}"), ("shingles", f"{self.shingles:,}"), ("role", self.role)]
        return document_html(self.id, self.text, self.metadata, lines)


@dataclass(frozen=True, repr=False)
class ListedDocument(PlainData):
    """A line of a list of documents. ``size`` is the bytes of its text, ``group`` the id of its group, or None.

    ``kept`` is False for a member of a group that does not represent it, unless "keep both" was decided about it.
    ``text`` is None unless texts were asked for.
    """

    id: str
    metadata: Mapping[str, Any]
    size: int
    tokens: int
    shingles: int
    role: Role
    group: int | None
    kept: bool = True
    text: str | None = None

    def __repr__(self) -> str:
        return f"ListedDocument({short_repr(self.id)}, {self.tokens} tokens)"


@dataclass(frozen=True, repr=False)
class DocumentPage(PlainData):
    """Some documents in the order in which they were first added, and the ``after`` of the next page, or None."""

    documents: tuple[ListedDocument, ...]
    next: int | None

    def __repr__(self) -> str:
        return f"DocumentPage({counted(len(self.documents), 'document')}, next={self.next})"

    def _repr_html_(self) -> str:
        rows = [
            (name_of(one.id), f"{one.tokens:,}", "" if one.group is None else str(one.group), *self._words(one))
            for one in self.documents
        ]
        head = ("document", "tokens", "group", *(["first words"] if any(map(self._words, self.documents)) else []))
        return list_html(head, rows, frozenset((1, 2)), "Documents")

    def _words(self, one: ListedDocument) -> list[str]:
        return [] if one.text is None else [excerpt(one.text)]


class DocumentsById(Public):
    """The base of a collection, of several that answer as one, and of a client; a ``with`` block closes it."""

    def get(self, id: str | int) -> Document:
        """Return the document of this id."""
        raise NotImplementedError

    def list(self, after: int | None = None, limit: int = 100, *, texts: bool = False) -> DocumentPage:
        """Return a page of documents in the order in which they were first added."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the files or connections."""
        raise NotImplementedError

    def _pages(self, *, texts: bool = False) -> Iterator[DocumentPage]:
        after: int | None = None
        while True:
            page = self.list(after, _PAGE, texts=texts)
            yield page
            if page.next is None:
                return
            after = page.next

    def __bool__(self) -> bool:
        return True  # without documents, too

    def __getitem__(self, id: str | int) -> Document:
        return self.get(id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StoredDocuments(DocumentsById):
    """The part of a collection that handles single documents; ``store`` holds them."""

    store: Store
    path: Place

    def get(self, id: str | int) -> Document:
        """Return the document of this id. Raises UnknownIdError if it does not exist, FormatError if damaged."""
        name = usable_id(id)
        with self.store.reading():
            number = self.store.numbers([name]).get(name)
            if number is None:
                raise unknown_error([name], str(self.path))
            [(row, data)] = loaded_texts(self.store, np.array([number], np.int64))
            role: Role = "base" if number in self.store.base_texts() else "document"
        if row.id != name:
            raise FormatError(f"The index of ids of {self.path} is damaged", "", "Restore it from a copy")
        return Document(row.id, data.decode("utf-8", "replace"), row.metadata, row.tokens, row.shingles, role)

    def list(self, after: int | None = None, limit: int = 100, *, texts: bool = False) -> DocumentPage:
        """Return documents in the order in which they were first added, ``limit`` at a time.

        ``after`` is the ``next`` of the previous page: a number that stays valid while documents come and go. With
        ``texts``, a page also ends after 16 MB of text. Raises SettingError for the limit, from 1 to 10,000.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["the harbour office", "pay by Friday"])
        ...     first = mails.list(limit=1)
        ...     [one.id for one in (*first.documents, *mails.list(first.next).documents)]
        ['#1', '#2']
        """
        begin, limit = place(after or 0), checked_limit(limit)
        with self.store.reading():
            rows = self.store.page(begin, limit + 1)
            numbers = [number for number, _ in rows[:limit]]
            found = self._listed_documents(numbers, texts)
        more = len(found) < len(numbers) or len(rows) > limit
        return DocumentPage(tuple(found), numbers[len(found) - 1] if more else None)

    def documents(self) -> Iterator[Document]:
        """Yield all documents with their texts, in the order in which they were first added, page by page.

        Documents that are added meanwhile come at the end, and removed ones are left out.
        """
        for page in self._pages(texts=True):
            for one in page.documents:
                yield Document(one.id, one.text or "", one.metadata, one.tokens, one.shingles, one.role)

    def update_metadata(self, id: str | int, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change the metadata of a document, and return all of it; the text, the sets and the groups stay.

        ``changes`` are merged (RFC 7396): a value replaces the one of the same name, None deletes it, and a record
        is merged with the record of that name. Raises UnknownIdError if the document does not exist, and
        InputError for metadata beyond the limits.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.put("a", "pay by Friday", {"year": 2020, "draft": True})
        ...     mails.update_metadata("a", {"draft": None, "from": "ann"})
        {'year': 2020, 'from': 'ann'}
        """
        name = usable_id(id)
        _require_metadata(name, changes)
        with self.store.writing() as transaction:
            number = self.store.numbers([name]).get(name)
            if number is None:
                raise unknown_error([name], str(self.path))
            [row] = self.store.rows(np.array([number], np.int64))
            new: dict[str, Any] = plain(merged_metadata(row.metadata, changes))
            _require_metadata(name, new)
            transaction.set_metadata(number, new)
        return new

    def export(
        self, path: str | PathLike[str], form: str | None = None, *, overwrite: bool = False, kept: bool = False
    ) -> int:
        """Write all documents to a file, "jsonl" or "parquet" by its suffix, and return their number.

        A row has ``id``, ``text``, ``metadata`` (in Parquet as JSON text), ``role`` and ``group``, the id of its
        group or null. With ``kept``, only the documents that stay are written: those in no group, representatives,
        and members about which "keep both" was decided. All rows are of one state, whatever is added meanwhile.
        Raises SettingError for another form, and OutputError for a file that exists (unless ``overwrite``) or
        cannot be written.
        """
        file = file_at(self.path)
        access = common_access([] if file is None else [file])
        with self.store.reading():
            pages = (rows_of_page(page, kept) for page in self._pages(texts=True))
            return write_documents(pages, Path(path), form, overwrite=overwrite, access=access)

    def exported(self, form: str = "jsonl", *, kept: bool = False) -> Iterator[bytes]:
        """Yield the file of ``export`` in pieces, for a pipe."""
        parts = document_bytes((rows_of_page(page, kept) for page in self._pages(texts=True)), form)
        with self.store.reading():
            for _, part in parts:
                yield part

    def _listed_documents(self, numbers: Sequence[int], texts: bool) -> Sequence[ListedDocument]:
        asked = np.array(numbers, np.int64)
        rows, bases = self.store.rows(asked), self.store.base_texts()
        if len(rows) < len(numbers):
            raise FormatError(f"{self.path} is damaged: documents lack their row", "", "Restore it from a copy")
        groups = self.store.groups.memberships(numbers)
        rows_of_groups = self.store.groups.rows({member.group for member in groups.values()})
        staying = {row.representative for row in rows_of_groups.values()}
        decisions = self.store.decisions.pairs_of(list(groups))
        staying.update(one for made in decisions if made.value == "keep both" for one in (made.a, made.b))
        if texts:
            ends = np.cumsum([row.size for row in rows])
            rows = rows[: max(1, int(np.searchsorted(ends, _TEXT_BYTES, side="right")))]
        packed = self.store.packed(asked[: len(rows)]) if texts else [None] * len(rows)
        return [
            ListedDocument(
                row.id,
                row.metadata,
                row.size,
                row.tokens,
                row.shingles,
                "base" if row.number in bases else "document",
                groups[row.number].group if row.number in groups else None,
                row.number not in groups or row.number in staying,
                None if data is None else unpack(data, row.id).decode("utf-8", "replace"),
            )
            for row, data in zip(rows, packed, strict=True)
        ]

    def __len__(self) -> int:
        return self.store.totals().documents

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


def rows_of_page(page: DocumentPage, kept: bool) -> Sequence[dict[str, Any]]:
    """The rows of an export for the documents of a page with texts; with ``kept``, for those that stay alone."""
    names = ("id", "text", "metadata", "role", "group")
    return [{name: getattr(one, name) for name in names} for one in page.documents if one.kept or not kept]


def _require_metadata(name: str, metadata: Any) -> None:
    fault = metadata_fault(metadata)
    if fault:
        raise InputError(
            f"The metadata of document {name[:80]!r} cannot be kept: {fault}",
            "The limits in docs/reference/collection.md; nothing was changed",
            "Leave some of it out",
        )
