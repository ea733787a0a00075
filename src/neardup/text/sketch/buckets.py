"""The MinHash filter of full-text engines: ``hash_count``, ``bucket_count``, ``hash_set_size``, ``with_rotation``.

Every hash function assigns shingles to buckets by the top bits of their hash, and keeps the smallest hashes of
each bucket (Li, Owen and Zhang 2012; the filters of Lucene, Solr, Elasticsearch and OpenSearch have these
parameters). *Rotation* copies the value of the next bucket into an empty one (Shrivastava and Li 2014), so every
document has the same number of values. Engines count the values that two documents have in common. This misjudges
documents with few shingles for their buckets, because a shingle counts once for each copy.

This module detects the copies: a hash that is not in its own bucket is a copy. The remaining values are, in every
bucket, the smallest hashes of the union of two documents. They are drawn from the union without replacement, so
the share of them in both documents is an unbiased estimate of resemblance, with or without rotation.

The hashes are those of this program: its signatures are not comparable with those stored by an engine.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.errors import SettingError
from neardup.kernels.sketch import EMPTY, bucketed_sets, read_pairs, rotate, score_pairs, without_blanks
from neardup.settings import Settings
from neardup.tables import Floats, Int64s, UInt64s
from neardup.text.lsh.index import LSH, most_rows
from neardup.text.sketch.families import Ids, PlainSlotFamily, mix_ids, pair_rows, slots_array, whole_number

MOST_SLOTS = 1 << 16


class BucketMinHash(PlainSlotFamily):
    """Signatures uint64[n, hash_count · bucket_count · hash_set_size].

    Warning: :meth:`engine_scores` returns the scores of an engine. With ``with_rotation`` it misstates documents
    with fewer than about four shingles per bucket (2,000 for 512 buckets), and bands then also find such documents
    more often than calculated. :meth:`resemblances` has no such bias. The fingerprints page has a table.

    >>> family = BucketMinHash(bucket_count=16)
    >>> made = family.sketch_ids([1, 2, 3, 4, 3, 4, 5, 6], np.array([0, 4, 8]))
    >>> made.shape, made.dtype
    ((2, 16), dtype('uint64'))
    >>> family.counts(made, [(0, 1)]).tolist()  # 2 of the union's 6 are in both
    [[2, 6]]
    """

    family = "bucketed minhash"
    dtype = np.uint64
    narrows = False

    def __init__(
        self,
        hash_count: int = 1,
        bucket_count: int = 512,
        hash_set_size: int = 1,
        *,
        with_rotation: bool | None = None,
        length: int = 5,
        unit: str = "word",
    ) -> None:
        super().__init__(Settings.of(length=length, unit=unit))
        self.hash_count = whole_number("hash_count", hash_count, 1, MOST_SLOTS)
        self.bucket_count = whole_number("bucket_count", bucket_count, 1, MOST_SLOTS)
        self.hash_set_size = whole_number("hash_set_size", hash_set_size, 1, MOST_SLOTS)
        self.slots = self.hash_count * self.bucket_count * self.hash_set_size
        if self.slots > MOST_SLOTS:
            raise SettingError(
                f"A signature would have {self.slots} values",
                f"{MOST_SLOTS} at most",
            )
        can_rotate = self.hash_set_size == 1 and self.bucket_count > 1
        if with_rotation and not can_rotate:
            raise SettingError(
                "with_rotation is set for buckets that cannot rotate",
                "hash_set_size 1 and two buckets or more",
                "Leave with_rotation out",
            )
        self.with_rotation = can_rotate if with_rotation is None else bool(with_rotation)

    @property
    def parameters(self) -> dict[str, Any]:
        """The four parameters of the engines."""
        return {
            "hash_count": self.hash_count,
            "bucket_count": self.bucket_count,
            "hash_set_size": self.hash_set_size,
            "with_rotation": self.with_rotation,
        }

    def counts(self, signatures: NDArray[Any], pairs: Any, other: NDArray[Any] | None = None) -> Int64s:
        """Count the union's hashes that both signatures cover: (in both, in total), int64[m, 2]; no copies."""
        ours, theirs, rows = self._checked_pairs(signatures, pairs, other)
        out = np.empty((len(rows), 2), np.int64)
        read_pairs(ours, theirs, rows, self._form, out)
        return out

    def engine_scores(self, signatures: NDArray[Any], pairs: Any, other: NDArray[Any] | None = None) -> Floats:
        """Return the score of a search engine: the share of the values of a that are among those of b, float64[m].

        Copies made by rotation count. The score is not symmetric, is neither resemblance nor containment, and is
        biased for short documents. It serves for comparison with :meth:`resemblances`.
        """
        ours, theirs, rows = self._checked_pairs(signatures, pairs, other)
        out = np.empty(len(rows), np.float64)
        score_pairs(ours, theirs, rows, self._form, out)
        return out

    def band_rows(self, similarity: float, probability: float) -> int:
        """Return the most rows a band may have to find pairs of ``similarity`` with ``probability``.

        Counts the bands as :meth:`lsh` makes them: slots // rows, and one more that is filled up with the first
        slots. Raises SettingError if even one row per band misses the probability, and for bands of sets.

        >>> BucketMinHash().band_rows(0.8, 0.99), BucketMinHash(bucket_count=100).band_rows(0.8, 0.9995)
        (10, 5)
        """
        if self.hash_set_size > 1:
            raise SettingError(
                f"There are no bands of sets of {self.hash_set_size} hashes", "hash_set_size 1", "Use more buckets"
            )
        return most_rows(similarity, probability, self.slots, wrap=True)

    def lsh(self, signatures: NDArray[Any], similarity: float, probability: float) -> LSH:
        """Return bands with the rows of :meth:`band_rows`, the last one filled up with the first slots.

        An empty bucket agrees with nothing. Documents with few shingles for their buckets are therefore found less
        often than the probability indicates without rotation, and more often with it.
        """
        rows = self.band_rows(similarity, probability)
        checked = slots_array(signatures, self.slots, np.uint64)
        filled = np.empty_like(checked)
        without_blanks(checked, filled)
        return LSH(filled, rows, wrap=True)

    def merged(self, one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
        """Return the signature of the union of two sets, from their signatures."""
        cells = np.concatenate([self._own(one), self._own(other)], axis=1)
        cells.sort(axis=1)
        cells[:, 1:][cells[:, 1:] == cells[:, :-1]] = EMPTY
        cells.sort(axis=1)
        out = np.ascontiguousarray(cells[:, : self.hash_set_size]).reshape(-1)
        if self.with_rotation:
            rotate(out, self._form)
        return out

    @property
    def _form(self) -> tuple[int, int, int, np.uint64]:
        width = -(-(1 << 32) // self.bucket_count)
        return self.hash_count, self.bucket_count, self.hash_set_size, np.uint64(width)

    def _own(self, signature: NDArray[Any]) -> NDArray[Any]:
        """Return the cells [hash_count · bucket_count, hash_set_size] without the copies made by rotation."""
        cells = signature.reshape(-1, self.hash_set_size).copy()
        own = (cells >> np.uint64(32)) // self._form[3]
        numbers = np.arange(len(cells), dtype=np.uint64) % np.uint64(self.bucket_count)
        cells[own != numbers[:, None]] = EMPTY
        return cells

    def _checked_pairs(self, signatures: Any, pairs: Any, other: Any) -> tuple[UInt64s, UInt64s, Int64s]:
        ours = slots_array(signatures, self.slots, np.uint64)
        theirs = ours if other is None else slots_array(other, self.slots, np.uint64)
        return ours, theirs, pair_rows(pairs, len(ours), len(theirs))

    def _agreement(self, one: NDArray[Any], other: NDArray[Any]) -> tuple[int, int]:
        agreeing, compared = self.counts(np.stack([one, other]), [(0, 1)])[0].tolist()
        return agreeing, compared

    def _elements(self, ids: Ids) -> UInt64s:
        return mix_ids(ids)

    def _sketch(self, elements: UInt64s, offsets: Int64s) -> UInt64s:
        out = np.empty((len(offsets) - 1, self.slots), np.uint64)
        bucketed_sets(elements, offsets, self._form, self.with_rotation, out)
        return out
