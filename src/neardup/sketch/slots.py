"""Families whose signatures have a fixed number of slots, with the same interface as ``MinHash``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.sketch.base import Ids, ShingleFamily
from neardup.sketch.minhash import Estimate, count_equal, estimate, slots_array, whole_numbers
from neardup.sketch.provenance import Provenance, require_same, signature_table
from neardup.tables import Floats, Int64s, UInt64s


class SlotFamily(ShingleFamily):
    """Turns sets of shingles or ids into arrays [n, ``slots``] of ``dtype``; subclasses implement ``_sketch``.

    An empty set has the largest value of the dtype in every slot. ``narrows``: whether ``BBit`` may cut the
    signatures to a few bits per slot.
    """

    slots: int
    dtype: Any = np.uint32
    narrows: ClassVar[bool] = True

    def sketch(self, texts: Any) -> NDArray[Any]:
        """Return signatures [n, slots] of n texts: a list of str, or Arrow data. Raises InputError otherwise."""
        blocks = [self._sketch(sets.hashes, sets.offsets) for sets in self.sets_of(texts)]
        return np.concatenate([np.empty((0, self.slots), self.dtype), *blocks])

    def sketch_ids(self, ids: Ids, offsets: Int64s) -> NDArray[Any]:
        """Return signatures [n, slots] of the sets ``ids[offsets[d]:offsets[d + 1]]`` of whole numbers."""
        return self._sketch(self._elements(ids), np.ascontiguousarray(offsets, np.int64))

    def of(self, text: str) -> Signature:
        """Return the signature of one text."""
        return Signature(self, self.sketch([text])[0])

    def of_ids(self, ids: Ids) -> Signature:
        """Return the signature of a set of whole numbers; comparable only with signatures of ids."""
        return Signature(self, self.sketch_ids(ids, np.array([0, len(ids)], np.int64))[0], of_ids=True)

    def counts(self, signatures: NDArray[Any], pairs: Any, other: NDArray[Any] | None = None) -> Int64s:
        """Count (agreeing, compared) slots of ``pairs`` of rows of ``signatures``, int64[m, 2].

        ``pairs`` are whole numbers [m, 2]; the second is a row of ``other``, if given.
        """
        equal = count_equal(signatures, pairs, other)
        return np.stack([equal, np.full(len(equal), self.slots)], axis=1)

    def resemblances(self, signatures: NDArray[Any], pairs: Any, other: NDArray[Any] | None = None) -> Floats:
        """Return the estimated resemblance of each pair of rows, float64[m]; arguments as in :meth:`counts`."""
        agreeing, of = self.counts(signatures, pairs, other).T
        # no slots to compare: both documents are empty
        return np.where(of == 0, 1.0, self._corrected(agreeing / np.maximum(of, 1)))

    def to_arrow(self, ids: Any, signatures: NDArray[Any], *, of_ids: bool = False) -> pa.Table:
        """Return a table of the columns ``id`` and ``signature`` with its provenance; see ``read_signatures``.

        ``ids`` name the documents (strings or whole numbers); ``of_ids``: the signatures are those of ids.
        """
        return signature_table(self.provenance(of_ids), ids, slots_array(signatures, self.slots, self.dtype))

    def merged(self, one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
        """Return the signature of the union of two sets, from theirs: the smaller value of every slot."""
        lesser: NDArray[Any] = np.minimum(one, other)
        return lesser

    def _elements(self, ids: Ids) -> UInt64s:
        """Return the ids as the elements to hash."""
        return whole_numbers(ids)

    def _sketch(self, elements: UInt64s, offsets: Int64s) -> NDArray[Any]:
        raise NotImplementedError

    def _corrected(self, share: Floats) -> Floats:
        """Return unbiased estimates from the shares of agreeing slots."""
        return share


@dataclass(frozen=True, eq=False, repr=False)
class Signature:
    """The signature of one set: ``values`` [slots]; ``a | b`` is that of the union, if the family supports it."""

    family: SlotFamily
    values: NDArray[Any]
    of_ids: bool = False

    @property
    def provenance(self) -> Provenance:
        """How it was made."""
        return self.family.provenance(self.of_ids)

    @property
    def is_empty(self) -> bool:
        """Whether it is the signature of the empty set."""
        return bool((self.values == np.iinfo(self.family.dtype).max).all())

    def resemblance(self, other: Signature) -> Estimate:
        """Estimate the resemblance with its 95 % interval, clipped to 0 … 1.

        The empty set resembles only itself.
        """
        require_same(self, other)
        agreeing, of = self.family.counts(np.stack([self.values, other.values]), [(0, 1)])[0].tolist()
        if self.is_empty or other.is_empty:
            agreeing, of = self.family.slots * (self.is_empty and other.is_empty), self.family.slots
        found = estimate(agreeing, max(of, 1))
        value, low, high = np.clip(self.family._corrected(np.array([found.value, found.low, found.high])), 0, 1)
        return Estimate(float(value), float(low), float(high), of)

    def __or__(self, other: Signature) -> Signature:
        """Return the signature of the union of both sets. Raises FormatError if the family does not support it."""
        require_same(self, other)
        return Signature(self.family, self.family.merged(self.values, other.values), self.of_ids)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Signature)
            and self.provenance == other.provenance
            and np.array_equal(self.values, other.values)
        )

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    def __repr__(self) -> str:
        return f"Signature({len(self.values)} slots, {self.family!r}{', of ids' * self.of_ids})"


__all__ = ["Signature", "SlotFamily"]
