"""The counts of common text of many pairs by the kernel of runs, and the shingles that such text implies."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.comparison.matching import check_length
from neardup.errors import InputError, SettingError
from neardup.kernels.match import MEASURED, MOST_RUNS, MOST_STEPS, WorkLimits, count_chunks
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.keys import salt


@dataclass(frozen=True, eq=False)
class ChunkCounts:
    """The counts that all chunk measures derive from, for many pairs: int64[pairs] each."""

    tokens_a: Int64s
    tokens_b: Int64s
    common_literal: Int64s
    common_literal_upper_bound: Int64s
    capped: Bools
    new_a: Int64s
    new_b: Int64s
    common_information: Int64s

    def longest(self, matching: str = "literal") -> NDArray[np.float64]:
        """Return chunk-longest of each pair: common text / longer document."""
        a, b, common = self._of(matching)
        return _ratio(common, np.maximum(a, b), (self.tokens_a == 0) & (self.tokens_b == 0))

    def union(self, matching: str = "literal") -> NDArray[np.float64]:
        """Return chunk-union of each pair: common text / all text."""
        a, b, common = self._of(matching)
        return _ratio(common, a + b - common, (self.tokens_a == 0) & (self.tokens_b == 0))

    def _of(self, matching: str) -> tuple[Int64s, Int64s, Int64s]:
        if matching == "literal":
            return self.tokens_a, self.tokens_b, self.common_literal
        if matching == "information":
            return self.new_a, self.new_b, self.common_information
        raise SettingError(f"The matching {matching!r} is not known", "One of literal, information")


def _ratio(part: Int64s, whole: Int64s, equal: Bools) -> NDArray[np.float64]:
    values: NDArray[np.float64] = np.where(equal, 1.0, part / np.maximum(whole, 1))
    return values


def chunk_measures(tokens: UInt64s, offsets: Int64s, a: Int64s, b: Int64s, *, min_chunk: int = 5) -> ChunkCounts:
    """Count the chunks of the pairs (a[k], b[k]) of documents ``tokens[offsets[d]:offsets[d + 1]]``.

    ``tokens`` uint64 (hashes or ids, equal for equal tokens), ``offsets`` int64[documents + 1], a and b
    int64[pairs]. A single kernel call that releases the GIL: to use several threads, pass each a slice of the
    pairs. The counts equal those of ``literal`` and ``information``. Raises InputError if a pair refers to a
    document that does not exist.

    >>> ids = np.array([1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6], np.uint64)
    >>> counts = chunk_measures(ids, np.array([0, 5, 11]), np.array([0]), np.array([1]))
    >>> counts.common_literal.tolist(), counts.union().tolist()
    ([5], [0.8333333333333334])
    """
    check_length("min_chunk", min_chunk)
    for ends in (a, b):
        if len(ends) and not (ends.min() >= 0 and ends.max() < len(offsets) - 1):
            raise InputError(
                "A pair names a document that is not there", f"Documents are numbered 0 to {len(offsets) - 2}"
            )
    out = np.empty((len(a), MEASURED), np.int64)
    keys, bounds = np.ascontiguousarray(tokens, np.uint64), np.ascontiguousarray(offsets, np.int64)
    first, second = (np.ascontiguousarray(ends, np.int64) for ends in (a, b))
    limits = WorkLimits(MOST_RUNS, MOST_STEPS, salt())
    count_chunks(keys, bounds, first, second, min_chunk, limits, out)
    return ChunkCounts(
        tokens_a=out[:, 0],
        tokens_b=out[:, 1],
        common_literal=out[:, 2],
        common_literal_upper_bound=out[:, 3],
        capped=out[:, 4] != 0,
        new_a=out[:, 5],
        new_b=out[:, 6],
        common_information=np.minimum(out[:, 7], out[:, 8]),
    )


def least_shared_shingles(common: int, min_chunk: int, *, matching: str = "literal", repeats: int = 1) -> int:
    """Return the least number of distinct ``min_chunk``-token shingles that documents with common text C share.

    *Literal*: ⌈C / (w·r)⌉. A tile of ℓ ≥ w tokens contains ℓ − w + 1 ≥ ℓ/w windows, and tiles overlap in neither
    document. Their windows therefore occupy at least C/w places of A, paired one to one with as many places of B.
    One shingle accounts for at most r of these pairs, where r = ``repeats``. For each shared shingle, take the
    document in which it occurs less often: r is the largest such count, and r = 1 if no shingle repeats in one of
    the documents. Without r, C implies no more than 1 shared shingle: "a" × 20 compared with itself has C = 20 and
    one shingle, so ⌈C/w⌉ does not hold for distinct shingles. It does hold with multiplicity: always
    Σ min(count) ≥ ⌈C/w⌉.

    *Information*: ⌈C / (2w − 1)⌉, regardless of repeats. A matched token that is not redundant lies in an
    occurrence of a shared shingle that is not a repeat, so the occurrence begins less than w tokens after the
    first one. All tokens due to one shingle lie within 2w − 1 tokens. The bound is sharp: "a" × 9 with w = 5 has 9
    such tokens and one shingle.

    >>> least_shared_shingles(20, 5), least_shared_shingles(20, 5, repeats=16)
    (4, 1)
    >>> least_shared_shingles(9, 5, matching="information")
    1
    """
    if matching not in ("literal", "information"):
        raise SettingError(f"The matching {matching!r} is not known", "One of literal, information")
    tokens_each = min_chunk * repeats if matching == "literal" else 2 * min_chunk - 1
    return -(-common // tokens_each)
