"""The similarities of all pairs of some documents, by several kinds of shingles.

Only a bounded part of a sample is looked at: every pair of it is counted, also the pairs of strangers, which no
join below a threshold returns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.advice.choices import sets_of
from neardup.advice.sample import SampledTexts
from neardup.join.criterion import EVERYONE, Related
from neardup.kernels.join.all_counts import count_all
from neardup.kernels.union_find import unite
from neardup.run.found import Found
from neardup.settings import Settings
from neardup.sketch.base_text import NO_BASE_TEXT, BaseText
from neardup.tables import Bools, Floats, Int64s

MOST_DOCUMENTS, MOST_BYTES, MOST_WORK = 2000, 24_000_000, 24_000_000_000
"""More documents than this, or with more bytes, are not looked at together, nor more documents times bytes."""

FAMILIES = 0.75
"""The share of a part that whole families of documents may take."""

BLOCK = 40
"""Documents without a known relative are taken in blocks, because relatives are often neighbours in the input."""


@dataclass(frozen=True)
class RunKind:
    """Shingles to look by.

    Below the ``chance`` of each measure, a large group is a subject, a language or a form, and not one text.
    """

    unit: str
    length: int
    chance: float
    overlap_chance: float

    def settings(self, asked: Settings) -> Settings:
        """Return the asked settings with these shingles."""
        return Settings.of(**{**asked.as_dict(), "unit": self.unit, "length": self.length})


KINDS = (
    RunKind("word", 5, 0.1, 0.2),
    RunKind("word", 3, 0.1, 0.3),
    RunKind("char", 9, 0.125, 0.4),
    RunKind("char", 5, 0.5, 1.0),
)
"""The shingles tried, the preferred first."""


@dataclass(frozen=True, eq=False)
class SharedCounts:
    """``shared`` (int32[n, n]): the shingles any two documents share; ``sizes`` (int64[n]): those of each."""

    kind: RunKind
    shared: np.ndarray[tuple[int, int], np.dtype[np.int32]]
    sizes: Int64s

    def similar(self, measure: str) -> Floats:
        """Return float32[n, n]: the resemblance, or the overlap, of any two; 0 on the diagonal."""
        shared = self.shared.astype(np.float32)
        a, b = self.sizes[:, None].astype(np.float32), self.sizes[None, :].astype(np.float32)
        whole = np.minimum(a, b) if measure == "overlap" else a + b - shared
        found: Floats = shared / np.maximum(whole, 1)
        np.fill_diagonal(found, 0)
        return found


def to_look_at(sample: SampledTexts, full: Bools, found: Found) -> Int64s:
    """Return the numbers of the documents to look at: without exact copies and empty ones, rising.

    If there are too many, whole families of the pairs in ``found`` are taken, so that relatives are not torn
    apart, and blocks of the others, both evenly spaced.
    """
    once = np.setdiff1d(np.flatnonzero(full), found.copies["id"].to_numpy())
    sizes = sample.sizes
    n, total = max(len(once), 1), max(int(sizes[once].sum()), 1)
    share = min(MOST_DOCUMENTS / n, MOST_BYTES / total, (MOST_WORK / (n * total)) ** 0.5)
    if share >= 1:
        return once
    most, room = max(int(share * n), 1), int(share * total)
    family, often = _families(once, len(sizes), found)
    known = np.flatnonzero(often > 1)
    step = max(1.0, float(often[known].sum()) / (FAMILIES * most))
    chosen = known[np.unique((np.arange(int(len(known) / step)) * step).astype(np.int64))]
    related = once[np.isin(family, chosen)]
    related = _fitting(related, sizes, int(FAMILIES * most), int(FAMILIES * room))
    single = once[often[family] == 1]
    blocks = np.arange(len(single)) // BLOCK
    wanted = max(1, -(-len(single) // max(1, most - len(related))))
    others = single[blocks % wanted == 0]
    rest = _fitting(others, sizes, most - len(related), room - int(sizes[related].sum()))
    return np.sort(np.concatenate((related, rest)))


def _families(once: Int64s, documents: int, found: Found) -> tuple[Int64s, Int64s]:
    """Return the family of each document of ``once``, linked by the pairs found, and the size of each family."""
    parent = np.arange(documents)
    unite(parent, found.pairs["id_a"].to_numpy(), found.pairs["id_b"].to_numpy())
    for k in range(documents):  # links lead to smaller numbers
        parent[k] = parent[parent[k]]
    _, family, often = np.unique(parent[once], return_inverse=True, return_counts=True)
    return family, often


def counts_of(
    texts: pa.Array, kind: RunKind, asked: Settings, base: BaseText = NO_BASE_TEXT, related: Related = EVERYONE
) -> SharedCounts:
    """Count the shingles of every text (large_binary[n]) and those any two share.

    Shingles of ``base`` do not count, and documents that are not ``related`` share none.
    """
    sets = sets_of(texts, kind.settings(asked), base)
    n = len(texts)
    order = np.argsort(sets.hashes, kind="stable")
    owners = np.repeat(np.arange(n, dtype=np.int32), sets.sizes)[order]
    hashes = sets.hashes[order]
    fresh = np.concatenate((np.ones(min(len(hashes), 1), np.bool_), hashes[1:] != hashes[:-1]))
    begin = np.concatenate((np.flatnonzero(fresh), [len(hashes)])).astype(np.int64)
    elements = np.empty(len(hashes), np.int32)
    elements[order] = np.cumsum(fresh) - 1
    shared = np.zeros((n, n), np.int32)
    count_all(elements, sets.offsets, owners, begin, shared)
    if related.restricts:
        a, b = np.divmod(np.arange(n * n), n)
        shared[~related.may_pair(a, b).reshape(n, n)] = 0
    return SharedCounts(kind, shared, sets.sizes)


def _fitting(numbers: Int64s, sizes: Int64s, most: int, room: int) -> Int64s:
    """Return the first of the documents, at most ``most`` and of at most ``room`` bytes."""
    return numbers[:most][np.cumsum(sizes[numbers[:most]]) <= room]
