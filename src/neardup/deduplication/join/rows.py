"""The record of the first pass: all columns of every row, and the feature sets of some rows on request."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from neardup.deduplication.join.candidates import BandKeys, SignatureBands
from neardup.deduplication.join.corpus import Corpus
from neardup.deduplication.join.criterion import Related
from neardup.deduplication.join.shingle_store import DocumentSets, FeatureStores, ShingleStore, SpilledSets
from neardup.io.contents import Attachment
from neardup.io.inputs import Problem, Problems
from neardup.kernels.text import Key
from neardup.settings import Features, JoinSettings
from neardup.tables import Int64s, UInt32s, UInt64s
from neardup.text.lsh.bands import Plan


@dataclass(frozen=True, eq=False)
class Sketches:
    """The sketches of the documents, in order: signatures or SimHash fingerprints, as the search needs them.

    They are apart from the rows, because verification needs their memory: whoever holds them drops them.
    ``signatures`` returns the signatures in blocks, uint32[m, slots], and makes them first if nothing needed them.
    Under a memory limit there are the ``keys`` of the bands instead. ``sets`` are the shingle sets of all
    documents, if a later stage needs them; in a working file if an exact join needs them and they do not fit.
    """

    signatures: Callable[[], tuple[UInt32s, ...]]
    simhashes: UInt64s  # [documents, words]
    sets: DocumentSets | SpilledSets | None = None
    keys: BandKeys | None = None

    def bands(self, plan: Plan) -> BandKeys:
        """The keys of the documents in the bands of ``plan``."""
        return SignatureBands(self.signatures(), plan) if self.keys is None else self.keys


class Met(NamedTuple):
    """Counts of an input: rows without a text, invalid UTF-8 sequences that were replaced, and rejected rows."""

    nulls: int = 0
    invalid: int = 0
    rejected: int = 0


NOTHING_MET = Met()


class Alike(NamedTuple):
    """Labels of rows, int64[rows]: equal for rows with the same words in the same order, and the same characters.

    A label is the first row of its kind. Rows with the same characters have the same words. Attachments, unread
    parts and relations count as words.
    """

    words: Int64s
    characters: Int64s

    def take(self, rows: Int64s) -> "Alike":
        """The labels of some rows."""
        return Alike(self.words[rows], self.characters[rows])


def first_of_equal(*values: npt.NDArray[Any]) -> Int64s:
    """int64[n]: for each place, the first one where all ``values`` are the same.

    >>> first_of_equal(np.array([5, 5, 7, 5]), np.array([1, 2, 1, 1]))
    array([0, 1, 2, 0])
    """
    n = len(values[0])
    first = np.arange(n)
    if n:
        order = np.lexsort(values)
        new = np.ones(n, np.bool_)
        new[1:] = np.logical_or.reduce([one[order][1:] != one[order][:-1] for one in values])
        first[order] = np.repeat(order[new], np.diff(np.append(np.flatnonzero(new), n)))
    return first


def first_within(classes: Int64s, values: npt.NDArray[Any]) -> Int64s:
    """int64[n]: for each place, the first one of its class with the same value; sorts classes of several only.

    >>> first_within(np.array([0, 0, 2, 0]), np.array([7, 8, 7, 8]))
    array([0, 1, 2, 1])
    """
    first = np.arange(len(classes))
    several = np.flatnonzero(np.bincount(classes, minlength=len(classes))[classes] > 1)
    first[several] = several[first_of_equal(classes[several], values[several])]
    return first


@dataclass(frozen=True, eq=False)
class Rows:
    """What one pass over the input finds out about its rows; ``len`` is their number.

    Rows that are *documents* are new and not empty, and do not consist of base text: a document number is an index
    into ``unique``. Feature sets are read again on request (``sets``); nothing else of the texts is kept.
    """

    corpus: Corpus
    columns: Mapping[str, Any]  # of the first pass, of each row: see ``io.fingerprints.chunk``
    copy_of: Int64s  # the first row of the same document: with the same words or, if asked, characters
    alike: Alike
    unique: Int64s  # the row of each document
    ids: tuple[pa.Array, ...]  # per part: the id column, or an empty array where rows are named by number
    extra: Mapping[str, pa.Array] = field(default_factory=dict)  # columns of the new input, held whole
    problems: Problems = field(default_factory=Problems)
    left_aside: tuple[tuple[int, Problem], ...] = ()  # (input, file that holds no known text)
    attachments: dict[int, tuple[Attachment, ...]] = field(default_factory=dict)  # of the rows that have some
    met: Met = NOTHING_MET  # in the new input
    met_before: Met = NOTHING_MET  # in the reference set
    scans: Int64s = field(default_factory=lambda: np.empty(0, np.int64))  # rows that look like the output of OCR
    cleaned: Int64s = field(default_factory=lambda: np.empty((0, 2), np.int64))  # of new rows: see ``Cleaned``

    def __len__(self) -> int:
        return len(self.units)

    @property
    def units(self) -> Int64s:
        """The tokens (or characters) of each row."""
        units: Int64s = self.columns["units"]
        return units

    @property
    def bytes(self) -> Int64s:
        """The size of each text."""
        sizes: Int64s = self.columns["bytes"]
        return sizes

    @property
    def left(self) -> Int64s | None:
        """With base text, int64[rows, 3]: see ``sketch.base_text.count_left``."""
        return self.columns.get("left")

    def with_left(self, left: Int64s) -> "Rows":
        """The same rows, with these counts of the rest."""
        return replace(self, columns={**self.columns, "left": left})

    @property
    def row_related(self) -> Related:
        """Which rows may be pairs."""
        return Related(**{name: self.columns[name] for name in ("within", "across") if name in self.columns})

    @cached_property
    def related(self) -> Related:
        """Which documents may be pairs."""
        return self.row_related.of(self.unique).simplify()

    @property
    def across(self) -> UInt64s:
        """uint64[rows]: equal for rows that are not pairs because of ``across``; empty without it."""
        return self.row_related.across

    @property
    def settings(self) -> JoinSettings:
        """The settings under which the rows were read."""
        return self.corpus.settings

    @property
    def new_part(self) -> int:
        """The number of the new input among the inputs of the corpus."""
        return len(self.corpus.parts) - 1

    @property
    def first_new(self) -> int:
        """The first row of the new input; the rows before it are the reference set."""
        return self.part_first(self.new_part)

    @property
    def first_new_document(self) -> int:
        """The first document of the new input; the documents before it are the reference set."""
        return int(np.searchsorted(self.unique, self.first_new))

    @property
    def base_only(self) -> Int64s:
        """The rows with text of which nothing counts, except exact copies of earlier ones.

        All of it is base text, or left out as ``settings.cleaning`` says.
        """
        new = (self.units > 0) & (self.copy_of == np.arange(len(self)))
        new[self.unique] = False
        return np.flatnonzero(new)

    def part_first(self, part: int) -> int:
        """The first row of an input of the corpus."""
        return next((piece.first for piece in self.corpus.pieces if piece.part >= part), len(self))

    @cached_property
    def stores(self) -> FeatureStores:
        """The stores of all features of the documents."""
        return FeatureStores(self.corpus, self.units, self.unique)

    def sets(self, features: Features = "shingles") -> ShingleStore:
        """The store of the shingle sets, or other ``features``, of the documents; the same for all stages."""
        return self.stores.of(features)

    def under(self, key: Key) -> "Rows":
        """The same rows, with features hashed by another key from now on."""
        return replace(self, corpus=replace(self.corpus, key=key))

    def with_numbers_as_names(self, parts: set[int]) -> "Rows":
        """The same rows; those of some ``parts`` are named by number and not by their id column."""
        if not parts:
            return self  # with the sets that its stores know
        named = (
            replace(part, id=None) if number in parts else part for number, part in enumerate(self.corpus.parts)
        )
        return replace(self, corpus=replace(self.corpus, parts=tuple(named)))
