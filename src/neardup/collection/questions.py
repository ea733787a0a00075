"""The methods of ``Collection`` that search, compare and explain, and change nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.collection.base_texts import texts_of
from neardup.collection.contract import deadline_in
from neardup.collection.documents import StoredDocuments
from neardup.collection.ids import usable_id
from neardup.collection.pages import Page
from neardup.collection.search import LIMIT, NearMeasure, near_query, search
from neardup.collection.view import View
from neardup.collection.why import WhyNot, why_not
from neardup.errors import InputError
from neardup.settings import as_compared

if TYPE_CHECKING:
    from neardup.comparison.compare import Comparison


class Questions(StoredDocuments):
    """The part of a collection that answers questions."""

    def base_texts(self) -> list[str]:
        """Return the ids of the base texts, in the order in which they were first added."""
        with self.store.reading():
            return self.store.ids(np.array(sorted(self.store.base_texts()), np.int64))

    def compare(self, a: str | int, b: str | int, **how: Any) -> Comparison:
        """Compare two documents by every measure, as :func:`neardup.compare` does, with the shingles of this file.

        ``how`` are the keywords of that function; base texts are ignored, as by ``ignore``. Raises InputError for
        an unknown id.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["the harbour office is closed", "the harbour office is closed on Friday"])
        ...     mails.compare("#1", "#2").measures["containment_a"]
        1.0
        """
        from neardup.comparison.compare import compare  # other uses need not wait for its kernels

        texts, ignore = (self.get(a).text, self.get(b).text), how.pop("ignore", None) or ()
        if not isinstance(ignore, str):  # compare refuses it
            ignore = [*ignore, *texts_of(self.store)]
        return compare(*texts, **{**as_compared(self.store.settings.as_dict()), **how, "ignore": ignore})

    def search(
        self, query: str, *, limit: int = LIMIT, after: str | None = None, include_self: bool = False
    ) -> Page:
        """Return the documents that match a query, ``limit`` at a time: docs/reference/query.md.

        Every match is verified on the texts. ``after`` is the ``next`` of the previous page. The query document is
        left out unless ``include_self``. A query cannot read files here; FILE: is for the command line. Raises
        QueryError, with the position, for the query; SettingError for the limit; InputError for a token of another
        search.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.add(["harbour office closed on Friday", "the harbour office closed on Friday"])
        ...     page = mails.search("FINGERPRINT:#1_50_95")
        ...     [(hit.id, hit.evidence.containment_a) for hit in page.hits]
        [('#2', 1.0)]
        """
        with self.view() as view:
            return _told(search(view, query, limit=limit, after=after, include_self=include_self))

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
    ) -> Page:
        """Return the documents that contain a text by at least ``overlap``, most of it first, ``limit`` at a time.

        ``overlap`` and ``probability``, the least recall, are shares: 0.8 or "80%". Without ``overlap`` one common
        shingle is enough, and without ``probability`` nothing is missed. ``measure`` "resemblance" compares both
        ways. ``where`` is a query that the documents must fit, too, such as ``from:ann AND date>=2020``. Raises
        SettingError for a share or the limit, and QueryError for ``where`` and for a text without words.

        >>> import tempfile
        >>> from neardup import Collection
        >>> with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/mail.neardup") as mails:
        ...     _ = mails.put("a", "the harbour office is closed on Friday", {"from": "ann"})
        ...     page = mails.near("the harbour office is closed", overlap="80%", where="from:ann")
        ...     [(hit.id, hit.evidence.containment_a) for hit in page.hits]
        [('a', 1.0)]
        """
        if not isinstance(text, str):
            raise InputError(f"The text is a {type(text).__name__}", "A str")
        whole = text.encode("utf-8", "replace").decode("utf-8")
        asked = near_query(whole, overlap, probability, measure, where)
        with self.view() as view:
            return _told(search(view, asked, limit=limit, after=after))

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


def _told(page: Page) -> Page:
    """The page, after its warnings are issued."""
    for sentence in page.warnings:
        warnings.warn(sentence, UserWarning, stacklevel=3)
    return page


__all__ = ["Questions"]
