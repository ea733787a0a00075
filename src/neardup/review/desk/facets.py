"""Facets of a list of groups: values with the number of groups that have them, each as a clause of a filter."""

from collections.abc import Collection, Iterator
from functools import cached_property
from posixpath import commonpath

import numpy as np

from neardup.collection.queries import is_bare_word, quoted_text
from neardup.comparison.kinds import KINDS
from neardup.review.desk.filters import NOBODY
from neardup.review.desk.index import ResultIndex
from neardup.review.desk.metadata import MOST_DISTINCT, Metadata
from neardup.review.desk.verdicts import VerdictIndex
from neardup.review.source import Facet, FacetValue
from neardup.tables import Bools, Int64s

MOST_VALUES = 12
"""Values of a facet that a page lists: those of the most groups."""
_SIZES = (("2", "size:2", 2, 2), ("3 to 5", "size>=3 AND size<=5", 3, 5), ("6 or more", "size>=6", 6, None))


def _first_end(folder: str) -> int:
    """Return the length of the first part of a path, with a slash before it.

    >>> _first_end("/notes/a"), _first_end("mails/b"), _first_end("mails")
    (6, 5, 5)
    """
    end = folder.find("/", folder.startswith("/"))
    return len(folder) if end < 0 else end


class Facets:
    """Counts groups by their decisions, sizes, kinds, batches and folders, and by columns of their documents.

    Columns named as fields ``of_groups`` have no facet: a filter by the name means the field.
    """

    def __init__(
        self, index: ResultIndex, verdicts: VerdictIndex, metadata: Metadata, of_groups: Collection[str]
    ) -> None:
        self._index, self._made, self._metadata, self._of_groups = index, verdicts, metadata, of_groups
        self._last: tuple[tuple[bytes, list[str]] | None, tuple[Facet, ...]] = None, ()  # of the last list

    def warm(self) -> None:
        """Read the folders and the columns of few values, and count them for the list of all groups."""
        self._metadata.warm()
        self._of_documents(np.ones(len(self._index), np.bool_))

    def of(self, listed: Bools) -> tuple[Facet, ...]:
        """Return the facets of the listed groups that divide them; those of kinds only where all are known."""
        folders, *columns = self._of_documents(listed)
        facets = (
            Facet("Decided", tuple(self._decided_values(listed))),
            Facet("Size", tuple(self._sizes(listed))),
            Facet("Kind", tuple(self._kinds(listed))),
            Facet("Batch", tuple(self._batches(listed))),
            folders,
        )
        shown = [facet for facet in facets if len(facet.values) > 1]
        headings = {facet.name for facet in shown}  # the folder of a file is one already
        return (*shown, *(one for one in columns if len(one.values) > 1 and one.name not in headings))

    def _of_documents(self, listed: Bools) -> tuple[Facet, ...]:
        """Return the facets of folders and columns: no decision changes them, and each page of a list has them."""
        which, facets = self._last
        columns = [name for name in self._metadata.sorts if name not in self._of_groups]
        if which != (listed.tobytes(), columns):  # columns come when they are read
            facets = (
                Facet("Folder", tuple(self._folders(listed))),
                *(Facet(name.capitalize(), tuple(self._column(name, listed))) for name in columns),
            )
            self._last = (listed.tobytes(), columns), facets
        return facets

    def _decided_values(self, listed: Bools) -> Iterator[FacetValue]:
        count, pairs = self._made.count[listed], self._made.pairs[listed]
        counts = {
            "no": int(((count == 0) & (pairs > 0)).sum()),
            "partly": int(((count > 0) & (count < pairs)).sum()),
            "yes": int(((count == pairs) & (pairs > 0)).sum()),
            "nothing": int((pairs == 0).sum()),
        }
        words = {"nothing": "nothing to decide"}
        for name, number in counts.items():
            if number:
                yield FacetValue(words.get(name, name), f"decided:{name}", number)

    def _sizes(self, listed: Bools) -> Iterator[FacetValue]:
        size = self._index.size[listed]
        for words, clause, least, most in _SIZES:
            number = int(((size >= least) & (size <= (size if most is None else most))).sum())
            if number:
                yield FacetValue(words, clause, number)

    def _kinds(self, listed: Bools) -> Iterator[FacetValue]:
        index, kinds = self._index, self._made.kinds
        places = self._made.near & listed[index.group]
        if not len(kinds) or (kinds[places] < 0).any():
            return
        counts = self._group_counts(index.group[places], kinds[places].astype(np.int64), len(KINDS))
        for kind in np.argsort(-counts, kind="stable").tolist():
            if counts[kind]:
                yield FacetValue(KINDS[kind], clause_of("kind", KINDS[kind]), int(counts[kind]))

    def _batches(self, listed: Bools) -> Iterator[FacetValue]:
        counts = np.bincount(self._made.batch[listed] + 1, minlength=len(self._made.people) + 1)
        for name, number in zip((NOBODY, *self._made.people), counts.tolist(), strict=True):
            if number:
                yield FacetValue(name, clause_of("batch", name), number)

    def _folders(self, listed: Bools) -> Iterator[FacetValue]:
        """Yield the folders in which the listed documents first part."""
        code, folders = self._folder_of
        groups, documents = self._members(listed)
        codes = code[documents]
        there = [folders[one] for one in np.unique(codes).tolist()]
        if len(there) < 2:
            return
        rooted = {folder.startswith("/") for folder in there}
        shared = commonpath(there).rstrip("/") if all(there) and len(rooted) == 1 else ""
        start = len(shared) + 1 if shared else 0
        names = [folder[: start + _first_end(folder[start:])] for folder in folders]
        distinct = {name: number for number, name in enumerate(dict.fromkeys(names))}
        number_of = np.array([distinct[name] for name in names], np.int64)
        if len(distinct) > 16 * MOST_DISTINCT:
            return
        counts = self._group_counts(groups, number_of[codes], len(distinct))
        named = list(distinct)
        for number in np.argsort(-counts, kind="stable")[:MOST_VALUES].tolist():
            folder = named[number].rstrip("/")
            if counts[number] and folder not in ("", shared):  # the clause of that one finds all
                yield FacetValue(f"{folder[start:]}/", clause_of("path", f"{folder}/"), int(counts[number]))

    def _column(self, name: str, listed: Bools) -> Iterator[FacetValue]:
        values, codes = self._metadata.sorts[name]
        groups, documents = self._members(listed)
        known = codes[documents] >= 0
        if np.bincount(codes[np.unique(documents[known])]).max(initial=0) < 2:
            return  # each value is that of one document, as a name is
        counts = self._group_counts(groups[known], codes[documents][known].astype(np.int64), len(values))
        if counts.max(initial=0) < 2 and np.count_nonzero(counts) > MOST_VALUES:
            return  # each value is that of one group, as a title is
        for number in np.argsort(-counts, kind="stable")[:MOST_VALUES].tolist():
            if counts[number]:
                yield FacetValue(values[number], clause_of(name, values[number], "="), int(counts[number]))

    def _members(self, listed: Bools) -> tuple[Int64s, Int64s]:
        """Return the members of the listed groups: the group and the document of each."""
        inside = listed[self._index.group]
        return self._index.group[inside], self._index.members[inside]

    def _group_counts(self, groups: Int64s, codes: Int64s, size: int) -> Int64s:
        """Return the number of different groups of each code."""
        _, first = np.unique(groups * size + codes, return_index=True)
        return np.bincount(codes[first], minlength=size)

    @cached_property
    def _folder_of(self) -> tuple[Int64s, list[str]]:
        """The folder of each document, by number, and the folders."""
        folders: dict[str, int] = {}
        inside = (path.replace("\\", "/").rpartition("/")[0] for path in self._metadata.paths)
        codes = [folders.setdefault(folder, len(folders)) for folder in inside]
        return np.array(codes, np.int64), list(folders)


def clause_of(field: str, value: str, operator: str = ":") -> str:
    """Return a comparison as it is typed."""
    name = field if is_bare_word(field) else quoted_text(field)
    return f"{name}{operator}{value if is_bare_word(value) else quoted_text(value)}"
