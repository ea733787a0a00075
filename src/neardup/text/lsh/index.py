"""LSH over signatures from any source: buckets by band, nearest candidates, pairs.

Signatures are cut into bands of ``rows`` slots; documents that agree in all slots of a band share a bucket
(Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section 3.4). The hash functions that made the slots
do not matter. Candidates are proposals: agreeing slots estimate resemblance, they do not prove it.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.display import counted, similarity
from neardup.display.pictures import SCurve
from neardup.display.view import Public, facts, heading, view
from neardup.errors import InputError, SettingError
from neardup.kernels.lsh import bucket_mates, enter_buckets, neighbours, wrapped_keys
from neardup.kernels.sorting import equal_groups
from neardup.tables import Int32s, Int64s

Signatures = NDArray[np.integer[Any]]

PREPARED = 1 << 24
"""Up to this many, the candidates of all documents are computed at once and kept (8 bytes each)."""

MOST_PAIRS = 1 << 28
"""More pairs than this are refused: they need gigabytes, and result from too few rows for the documents."""

FOUND = pa.schema([("a", pa.uint32()), ("b", pa.uint32()), ("agreeing", pa.int32())])
"""The document numbers of a candidate pair, a < b, and how many slots agree; sorted by a and b."""


def band_probability(similarity: float, slots: int, rows: int, wrap: bool = False) -> float:
    """Probability that two documents of this resemblance agree in some band, for independent slots.

    With ``slots // rows`` bands it is 1 − (1 − Jʳ)ᵇ. With ``wrap`` the slots left over make one more band, filled
    up with the first slots, which are also in the first band. These two bands both miss with probability 1 − 2Jʳ +
    J^(2r − o), where o is the number of slots in both.

    >>> round(band_probability(0.8, 128, 8), 4), band_probability(0.5, 3, 2, wrap=True)
    (0.947, 0.375)
    """
    bands, left = divmod(slots, rows)
    agree = similarity**rows
    if not wrap or left == 0 or bands == 0:
        return 1 - (1 - agree) ** bands
    return 1 - (1 - agree) ** (bands - 1) * (1 - 2 * agree + similarity ** (rows + left))


def most_rows(threshold: float, recall: float, slots: int, wrap: bool = False) -> int:
    """The most rows per band for which a pair at the ``threshold`` is found with probability ``recall`` or better.

    Raises SettingError if even one row per band does not reach the recall.

    >>> most_rows(0.8, 0.99, 128), round(band_probability(0.8, 128, 6), 4), round(band_probability(0.8, 128, 7), 4)
    (6, 0.9983, 0.9855)
    """
    if not 0 < threshold <= 1 or not 0 < recall < 1:
        raise SettingError(
            f"threshold is {threshold!r} and recall is {recall!r}",
            "a threshold above 0 and at most 1, and a recall above 0 and below 1",
        )
    for rows in range(slots, 0, -1):
        if band_probability(threshold, slots, rows, wrap) >= recall:
            return rows
    best = band_probability(threshold, slots, 1)
    raise SettingError(
        f"With {slots} slots no bands find pairs at {threshold:g} with probability {recall:g}",
        f"At most {similarity(best, 4)} is possible there",
        "Lower the recall, raise the threshold, or make signatures of more slots",
    )


class LSH(Public):
    """Buckets of signatures, an integer array [documents, slots], in bands of ``rows`` slots.

    Without ``rows``, the largest number is used that finds a pair at ``threshold`` with probability ``recall``;
    with ``rows``, these two are ignored.

    There are ``slots // rows`` bands. The slots left over are in no band, but they count when candidates are
    ordered by agreeing slots; ``unused`` is their number. With ``wrap`` they make one more band, filled up with
    the first slots. A document whose slots all hold ``empty`` is never a candidate. The default of ``empty`` for
    an unsigned type is its largest value, the one MinHash uses for an empty set. The array is not copied and must
    not change.

    Raises InputError for other shapes and types, SettingError for rows that do not fit, and for a threshold and a
    recall that no number of rows reaches.

    >>> signatures = np.array([[1, 2, 3, 4, 9], [1, 2, 5, 6, 9], [7, 8, 3, 4, 0], [0, 0, 0, 0, 0]])
    >>> lsh = LSH(signatures, rows=2)
    >>> lsh
    LSH(4 documents, 2 bands of 2 rows, 1 of 5 slots in no band)
    >>> lsh.candidates(0).tolist()  # (document, agreeing slots)
    [[1, 3], [2, 2]]
    >>> lsh.pairs().to_pylist()[0]
    {'a': 0, 'b': 1, 'agreeing': 3}
    >>> LSH(np.zeros((2, 128), np.uint32)).rows, LSH(np.zeros((2, 128), np.uint32), threshold=0.5).rows
    (6, 3)
    """

    def __init__(
        self,
        signatures: Signatures,
        rows: int | None = None,
        *,
        threshold: float = 0.8,
        recall: float = 0.99,
        wrap: bool = False,
        empty: int | None = None,
    ) -> None:
        _require_signatures(signatures)
        self.documents, self.slots = signatures.shape
        if rows is None:
            rows = most_rows(threshold, recall, self.slots, wrap)
        if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or not 1 <= rows <= self.slots:
            raise SettingError(f"rows is {rows!r}", f"a whole number from 1 to the number of slots, {self.slots}")
        self.rows, self.wrap = int(rows), wrap
        self.bands = self.slots // self.rows + (wrap and self.slots % self.rows > 0)
        # values are only compared, so signed and unsigned types of one width share the kernels
        unsigned = np.dtype(f"u{signatures.dtype.itemsize}")
        self._signatures = np.ascontiguousarray(signatures).view(unsigned)
        self._enter(_mark(signatures.dtype, empty))
        self._found: Int32s | None = None
        self._ends: Any = None

    @property
    def unused(self) -> int:
        """The number of slots that are in no band."""
        return 0 if self.wrap else self.slots % self.rows

    @property
    def largest_bucket(self) -> int:
        """The number of documents in the largest bucket; 1 if no two share one."""
        sizes = self._places[:, :, 1] - self._places[:, :, 0]
        return max(1, int(sizes.max(initial=0)))

    def probability(self, similarity: float) -> float:
        """Probability that a pair of this resemblance becomes a candidate; see :func:`band_probability`."""
        return band_probability(similarity, self.slots, self.rows, self.wrap)

    def candidates(self, number: int) -> Int32s:
        """Return the documents that share a bucket with document ``number``, most agreeing slots first.

        int32[m, 2]: their numbers, and how many of all slots agree; ties are in ascending order of number. The
        first call prepares the results for all documents, unless there are more than ``PREPARED``. Raises
        IndexError if no document has this number.
        """
        if self._ends is None:
            self._prepare()
        if not 0 <= number < self.documents:
            raise IndexError(f"there are {self.documents} documents, and none has number {number}")
        if self._found is None:
            return self._neighbours(number, number + 1, only_later=False)[0]
        return self._found[self._ends[number] : self._ends[number + 1]]

    def pairs(self) -> pa.Table:
        """Return all candidate pairs, once each, as a table with the columns of ``FOUND``: a, b, agreeing.

        Raises InputError if large buckets would produce more than ``MOST_PAIRS``.
        """
        if self._others // 2 > MOST_PAIRS:
            raise InputError(
                f"The buckets hold {self._others // 2:,} pairs, {self.largest_bucket:,} documents are in one",
                f"At most {MOST_PAIRS:,} pairs",
                "Use more rows a band, drop exact copies first, or ask for candidates() of single documents",
            )
        mates = np.cumsum(bucket_mates(self._places, 0, self.documents))
        cuts = np.searchsorted(mates, np.arange(PREPARED, self._others + PREPARED, PREPARED))
        bounds = np.unique(np.concatenate(([0], np.minimum(cuts + 1, self.documents), [self.documents])))
        columns = [self._later(int(first), int(behind)) for first, behind in pairwise(bounds)]
        a, b, agreeing = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in _transpose(columns))
        order = np.lexsort((b, a))
        arrays = [a[order].astype(np.uint32), b[order].astype(np.uint32), agreeing[order].astype(np.int32)]
        return pa.table(arrays, schema=FOUND)

    def __len__(self) -> int:
        return int(self.documents)

    def __repr__(self) -> str:
        last = ", the last filled up with the first slots" * (self.wrap and self.slots % self.rows > 0)
        rest = f"{self.unused} of {self.slots} slots in no band"
        return f"LSH({self.documents} documents, {self.bands} bands of {self.rows} rows{last}, {rest})"

    def _repr_html_(self) -> str:
        lines = [
            ("documents", f"{self.documents:,}"),
            ("bands", f"{self.bands:,} of {self.rows} rows"),
            ("slots in no band", f"{self.unused} of {self.slots}"),
            ("largest bucket", counted(self.largest_bucket, "document")),
        ]
        curve = SCurve(self.probability, None, f"{self.slots} slots in {self.bands} bands of {self.rows} rows")
        return view(heading("LSH"), facts(lines), curve.figure())

    def _enter(self, empty: tuple[np.bool_, np.uint64]) -> None:
        """Put every document into its buckets, one for each band."""
        keys = np.empty((self.bands, self.documents), np.uint64)
        wrapped_keys(self._signatures, self.rows, empty, keys)
        self._members = np.empty((self.bands, self.documents), np.int32)
        self._places = np.zeros((self.documents, self.bands, 2), np.int32)
        self._others = 0
        for band in range(self.bands):
            order, starts, sizes = equal_groups(keys[band])
            self._members[band] = order
            self._others += int(enter_buckets(order, starts, sizes, band, self._places))

    def _prepare(self) -> None:
        offsets = np.zeros(self.documents + 1, np.int64)
        if self._others <= PREPARED:
            self._found, offsets[1:] = self._neighbours(0, self.documents, only_later=False)
        self._ends = memoryview(offsets.data)  # element access is faster than in an array

    def _neighbours(self, first: int, behind: int, only_later: bool) -> tuple[Int32s, Int64s]:
        rule = np.int64(self.rows), only_later
        numbers, ends = neighbours(self._signatures, self._members, self._places, first, behind, rule)
        return numbers, ends

    def _later(self, first: int, behind: int) -> tuple[Int64s, Int32s, Int32s]:
        """The pairs (a, b, agreeing) of documents ``first`` … ``behind`` − 1 with later ones."""
        numbers, ends = self._neighbours(first, behind, only_later=True)
        return np.repeat(np.arange(first, behind), np.diff(ends, prepend=0)), numbers[:, 0], numbers[:, 1]


def _transpose(columns: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list(zip(*columns, strict=True)) if columns else [(), (), ()]


def _mark(kind: np.dtype[Any], empty: int | None) -> tuple[np.bool_, np.uint64]:
    """(whether a value marks empty documents, that value as the kernels see it)."""
    if empty is None:
        return np.bool_(kind.kind == "u"), np.uint64(np.iinfo(kind).max)
    if not np.iinfo(kind).min <= empty <= np.iinfo(kind).max:
        raise SettingError(f"empty is {empty!r}", f"a value that {kind} can hold")
    return np.bool_(True), np.uint64(int(empty) & ((1 << 8 * kind.itemsize) - 1))


def _require_signatures(signatures: Any) -> None:
    if not isinstance(signatures, np.ndarray):
        raise InputError(
            f"The signatures are a {type(signatures).__name__}",
            "A numpy array [documents, slots] of whole numbers",
            "Make one with numpy.stack or numpy.array",
        )
    if signatures.ndim != 2 or signatures.shape[1] == 0 or len(signatures) >= 1 << 31:
        raise InputError(
            f"The signatures have the shape {list(signatures.shape)}",
            "[documents, slots]: a row for each of fewer than 2³¹ documents, a column for each slot",
        )
    if signatures.dtype.kind not in "iu":
        raise InputError(
            f"The signatures are of type {signatures.dtype}",
            "int8 to int64, or uint8 to uint64",
            "Convert them with astype, if their values are whole numbers",
        )


__all__ = ["FOUND", "LSH", "MOST_PAIRS", "PREPARED", "band_probability", "most_rows"]
