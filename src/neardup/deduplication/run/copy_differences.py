"""The first difference of characters of documents with the same words: found for pairs of rows, and looked up."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.comparison.first_difference import first_difference
from neardup.deduplication.group.rows import JudgedRows
from neardup.deduplication.join.rows import Alike
from neardup.deduplication.run.kinds import over_pairs
from neardup.errors import NeardupError
from neardup.tables import Int64s, distinct

MOST = 1_000_000
"""Pairs whose first difference is looked for: their texts are read once more, and the differences held."""
UNREAD = "their texts could not be read again"
TOO_MANY = f"not looked for: this run has more than {MOST:,} such pairs"
NO_TEXTS = "texts are not read again on a cluster"

Texts = Callable[[Int64s], Iterable[bytes]]
"""Reads the texts of some rows, ascending."""


@dataclass(frozen=True, eq=False)
class CopyDifferences:
    """The first difference of documents with the same words and other characters, in words.

    ``keys`` (int64, ascending) are ``later << 32 | earlier`` of two rows, and ``found`` the difference of the
    later one from the earlier one. ``why`` says why others are unknown.
    """

    keys: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    found: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    why: str = UNREAD

    @classmethod
    def of(cls, pairs: Int64s, sizes: Int64s, texts: Texts, threads: int, most: int = MOST) -> "CopyDifferences":
        """Read the texts of the first ``pairs`` (keys) again: rows of ``sizes`` bytes."""
        keys = pairs[:most]
        own, others = keys >> 32, keys & 0xFFFFFFFF
        places, words = [], []
        why = TOO_MANY if len(keys) < len(pairs) else UNREAD
        # fingerprints may outlive the files of their texts; the classes are known without them
        with suppress(NeardupError, OSError):
            for task, some in over_pairs(others, own, sizes, texts, threads, _first_differences):
                places.append(task)
                words.append(pa.array(some, pa.string()))
        if not places:
            return cls(why=why)
        read = np.concatenate(places)
        order = np.argsort(read)
        return cls(keys[read[order]], pa.concat_arrays(words).take(pa.array(order)), why)

    @classmethod
    def of_table(cls, copies: pa.Table, rows: JudgedRows) -> "CopyDifferences":
        """Those that a table of copies holds."""
        copies = copies.filter(pc.is_valid(copies["difference"]))
        own = pc.index_in(copies["id"], value_set=rows.ids.of(np.arange(rows.first_new, len(rows))))
        places = own.to_numpy().astype(np.int64) + rows.first_new
        order = np.argsort(places)
        in_words = copies["difference"].combine_chunks().take(pa.array(order))
        return cls(_keys(places[order], rows.copy_of[places[order]]), in_words)

    def merge(self, other: "CopyDifferences") -> "CopyDifferences":
        """These and others."""
        keys = np.concatenate((self.keys, other.keys))
        order = np.argsort(keys)
        return CopyDifferences(
            keys[order], pa.concat_arrays([self.found, other.found]).take(pa.array(order)), other.why
        )

    def words(self, own: Int64s, others: Int64s, alike: Alike) -> list[str]:
        """Say of each row whether it is identical to the other one; "" for rows with other words."""
        same, identical = (labels[own] == labels[others] for labels in alike)
        in_words = np.where(identical, "identical", "").astype(object)
        places = np.flatnonzero(same & ~identical)
        for place, difference in zip(places.tolist(), self.of_rows(own[places], others[places]), strict=True):
            unnamed = f"same words, other characters ({self.why})"
            in_words[place] = unnamed if difference is None else f"same words; {difference}"
        words: list[str] = in_words.tolist()
        return words

    def of_rows(self, own: Int64s, others: Int64s) -> Iterator[str | None]:
        """Yield the difference of each row from the other one, seen from the row; None if it is unknown."""
        wanted = _keys(own, others)
        places = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        known = self.keys[places] == wanted if len(self.keys) else np.zeros(len(wanted), np.bool_)
        in_words = self.found.take(pa.array(places, mask=~known)).to_pylist()
        for difference, is_turned in zip(in_words, (own < others).tolist(), strict=True):
            yield reverse(difference) if difference and is_turned else difference


def _keys(own: Int64s, others: Int64s) -> Int64s:
    return (np.maximum(own, others) << 32) | np.minimum(own, others)


def pairs_of(own: Int64s, others: Int64s, alike: Alike, known: CopyDifferences | None = None) -> Int64s:
    """Return the keys of the pairs with the same words and other characters, ascending, without ``known`` ones."""
    differ = (alike.words[own] == alike.words[others]) & (alike.characters[own] != alike.characters[others])
    keys = distinct(_keys(own[differ], others[differ]))
    return keys if known is None else np.setdiff1d(keys, known.keys, assume_unique=True)


def reverse(difference: str) -> str:
    """Return a difference seen from the other document.

    >>> reverse("case: “The” here, “the” there")
    'case: “the” here, “The” there'
    """
    kind, _, places = difference.partition(": “")
    here, _, there = places.removesuffix("” there").partition("” here, “")
    return f"{kind}: “{there}” here, “{here}” there"


def _first_differences(others: list[int], own: list[int], texts: dict[int, bytes]) -> Iterator[str]:
    for row, other in zip(own, others, strict=True):
        yield first_difference(texts[row], texts[other])
