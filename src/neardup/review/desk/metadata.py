"""The other values of documents as columns, and their paths: for filters, facets and the order of versions."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neardup.collection.queries import FieldClause
from neardup.deduplication.results import Texts
from neardup.io.decisions import Id
from neardup.review.desk.index import ResultDocuments
from neardup.review.desk.texts import Budget, Whereabouts
from neardup.tables import Bools, Int64s

DATE, SUBJECT = "date", "subject"
"""The column of results that has the dates of documents."""
MOST_DISTINCT = 64
"""A column with more different values is not one of few values."""
MOST_DATES, _DAY, _MONTH, _YEAR = 12, 10, 7, 4
"""Different days of a column before they count as months, and months as years; the characters of each."""
LOOKED_AT, HELD_COLUMNS, AT_ONCE = 1000, 3, 500
"""Documents that are read for the names of columns, columns that are kept, and subjects that are read at once."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_DATE = re.compile(r"[12]\d{3}(-\d{2}){0,2}", re.ASCII)
_TIME = re.compile(r"[12]\d{3}-\d{2}(?:-\d{2}(?:[T ].*)?)?", re.ASCII)
_COMPARED = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}

_PARTS = re.compile(r"\d+|[^\W\d_]+")

_STAGES = {"outline": -2, "draft": -1, "copy": 1, "new": 1, "rev": 1, "revised": 1, "final": 2, "signed": 3}
"""Words of names that say how far a version is; 0 for all others."""


class FewValues:
    """The different values of a column by number, and the number of each document or −1; of times the days.

    Days are counted as months where they are many, and months as years: a list of moments sorts nothing.
    """

    def __init__(self, documents: int) -> None:
        self.codes: dict[str, int] = {}
        self.column: NDArray[np.int8] = np.full(documents, -1, np.int8)
        self._width = _DAY

    def add(self, document: int, value: str) -> bool:
        """Note the value of a document; return whether the column is still one of few values."""
        if _TIME.fullmatch(value):
            while self._name_of(value) not in self.codes and len(self.codes) >= MOST_DATES and self._width > _YEAR:
                self._make_wider()
        name = self._name_of(value)
        if name not in self.codes and len(self.codes) == MOST_DISTINCT:
            return False
        self.column[document] = self.codes.setdefault(name, len(self.codes))
        return True

    def _name_of(self, value: str) -> str:
        return value[: self._width] if _TIME.fullmatch(value) else value

    def _make_wider(self) -> None:
        """Count days as months, or months as years."""
        self._width = _MONTH if self._width == _DAY else _YEAR
        wider: dict[str, int] = {}
        of = [wider.setdefault(self._name_of(value), len(wider)) for value in self.codes]
        self.codes, self.column = wider, np.array([*of, -1], np.int8)[self.column]


class Metadata:
    """The other values of documents: their names, the columns asked for, and those of few values."""

    def __init__(self, documents: ResultDocuments, texts: Texts | None, whereabouts: Whereabouts) -> None:
        self._documents, self._texts, self._whereabouts = documents, texts, whereabouts
        self._held: dict[str, dict[int, str]] = {}
        self.sorts: dict[str, tuple[list[str], NDArray[np.int8]]] = {}
        """Columns of few values, once ``warm`` has read them: the values, and the one of each document or −1."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of the first documents, in the order in which they occur."""
        names: dict[str, None] = {}
        for _, values in self._values(self._documents.rows[:LOOKED_AT]):
            names.update(dict.fromkeys(values))
        return tuple(names)

    @cached_property
    def dates(self) -> dict[int, str]:
        """The date of each document that has one."""
        return self.column(DATE) if DATE in self.names else {}

    def column(self, name: str) -> dict[int, str]:
        """Return the values of a column by document, without those that have none."""
        values = self._held.pop(name, None)
        if values is None:
            every = self._values(self._documents.rows)
            values = {document: str(of[name]) for document, of in every if name in of}
        self._held = {**dict(list(self._held.items())[1 - HELD_COLUMNS :]), name: values}
        return values

    def warm(self) -> None:
        """Read the columns of few different values."""
        if not self.names:
            return
        sorts = {name: FewValues(len(self._documents)) for name in self.names}
        for document, values in self._values(self._documents.rows):
            for name in [name for name in values if name in sorts]:
                if not sorts[name].add(document, str(values[name])):
                    del sorts[name]
        self.sorts = {name: (list(few.codes), few.column) for name, few in sorts.items() if len(few.codes) > 1}

    def _values(self, rows: Int64s) -> Iterator[tuple[int, Mapping[str, Any]]]:
        if self._texts is not None:
            for row, values in self._texts.others(rows):
                yield int(np.searchsorted(self._documents.rows, row)), values

    def where(self, clause: FieldClause) -> Int64s:
        """Return the documents for whose value a comparison holds.

        ``:`` and ``!=`` look for a part of the value, in any case; ``=`` compares all of it, or finds the dates
        within a day, a month or a year. ``<`` and the like compare numbers, or else text, in which dates are in
        order.
        """
        wanted, operator, of = clause.value.casefold(), clause.operator, self.column(clause.field).items()
        if operator in _COMPARED:
            holds = [(document, _order(value, clause.value)) for document, value in of]
            return np.array([document for document, order in holds if order in _COMPARED[operator]], np.int64)
        if operator != "=":
            return np.array([document for document, value in of if wanted in value.casefold()], np.int64)
        is_date = _DATE.fullmatch(wanted)
        same = [
            document
            for document, value in of
            if value.casefold() == wanted or (is_date and _order(value, wanted) == 0)
        ]
        return np.array(same, np.int64)

    def in_path(self, part: str) -> Int64s:
        """Return the documents below a folder, or with a file whose name begins like this."""
        wanted = "/" + part.replace("\\", "/").lstrip("/").casefold()
        return np.array([n for n, path in enumerate(self.paths) if wanted in f"/{path.casefold()}"], np.int64)

    @cached_property
    def paths(self) -> list[str]:
        """The path of each document: its id if that is the name of a file in the input, or else its file."""
        ids = self._documents
        return [self._whereabouts.relative(number, ids.id(number)) for number in range(len(ids))]


class Subjects:
    """The subjects of mails in small letters, by document: "" without one, or before it is read."""

    def __init__(self, documents: ResultDocuments, texts: Texts | None) -> None:
        self._documents, self._texts = documents, texts
        self._values = np.full(len(documents), "", np.dtypes.StringDType())
        self._have_any = False
        self._known: Bools = np.full(len(documents), texts is None, np.bool_)

    def read(self, some: Int64s, budget: Budget) -> int:
        """Read the subjects of documents, as far as there is time; return the number of those still unknown."""
        waiting = np.unique(some[~self._known[some]])
        while self._texts is not None and len(waiting) and budget.allows():
            part, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
            for row, values in self._texts.others(self._documents.rows[part]):
                self._values[np.searchsorted(self._documents.rows, row)] = _small(str(values.get(SUBJECT, "")))
                self._have_any = self._have_any or SUBJECT in values
            self._known[part] = True
        return len(waiting)

    def with_word(self, some: Int64s, word: str) -> Bools:
        """Return which of some documents have a word in their subjects, in any case of letters."""
        if not self._have_any:
            return np.zeros(len(some), np.bool_)
        holds: Bools = np.strings.find(self._values[some], _small(word)) >= 0
        return holds


def _small(text: str) -> str:
    """Return a text in small letters that UTF-8 can hold, without NUL, which NumPy drops at the end."""
    return text.lower().encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _order(value: str, wanted: str) -> int:
    """Return −1, 0 or 1: whether a value is less than the wanted one, as a number if both are numbers."""
    if _NUMBER.fullmatch(value) and _NUMBER.fullmatch(wanted):
        return (float(value) > float(wanted)) - (float(value) < float(wanted))
    if _DATE.fullmatch(wanted) and value[len(wanted) :][:1] in ("-", "T", " ") and value.startswith(wanted):
        return 0  # a year, a month or a day extends to its end
    return (value > wanted) - (value < wanted)


Version: TypeAlias = tuple[tuple[int, int, str], ...]


def version_of(id: Id) -> Version:
    """Return a key of an id: numbers in it count as numbers, and "draft" is before "final".

    >>> sorted(["terms_FINAL.pdf", "terms_v10.pdf", "terms_v2.pdf", "terms_draft.pdf"], key=version_of)
    ['terms_draft.pdf', 'terms_v2.pdf', 'terms_v10.pdf', 'terms_FINAL.pdf']
    """
    parts = (part.casefold() for part in _PARTS.findall(str(id)))
    return tuple(
        (0, int(part[:18]), part) if part.isascii() and part.isdigit() else (_STAGES.get(part, 0), -1, part)
        for part in parts
    )


def is_earlier(one: tuple[str, Id], other: tuple[str, Id]) -> bool:
    """Return whether a document, as its date (ISO 8601, "" if unknown) and its id, is earlier than another one.

    Dates decide if both are known; otherwise the ids, which are often names with a number.

    >>> is_earlier(("", "terms_v2.txt"), ("", "terms_v10.txt")), is_earlier(("2024-03", "a"), ("2024-01", "b"))
    (True, False)
    """
    if one[0] and other[0] and one[0] != other[0]:
        return one[0] < other[0]
    return version_of(one[1]) < version_of(other[1])
