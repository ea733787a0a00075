"""Sampled shingles: the smallest hashes of every set, chosen so that samples of two sets are comparable.

A sample keeps all shingles whose hash is below 2⁶⁴ / scale (Broder, Glassman, Manasse and Zweig 1997 keep those
with 0 mod m; later *FracMinHash*), and at least the ``floor`` smallest (bottom-k: Broder 1997; Thorup 2013), so
that short documents have a sample too.

Two samples together determine the K smallest hashes of the union, where K is the number of hashes of the union
below the limit, or ``floor`` if that is more. K depends on the hash values but not on which shingle has which, so
the K hashes are drawn from the union at random without replacement. Among them,

  (in both) / K          is an unbiased estimate of the resemblance |A∩B| / |A∪B|,
  (in both) / (in A)     is an unbiased estimate of the containment |A∩B| / |A|, if any of the K is in A.

The 95 % interval is Wilson's for the number of independent trials in the denominator, divided by 1 − 1/scale: the
unseen share of the union is at most 1 − 1/scale, and drawing without replacement reduces the variance by that
factor. Samples with different scales or floors are compared at the coarser of each.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import FormatError
from neardup.kernels.sketch import ALL, common, common_of_pairs, sample_sets, sample_texts
from neardup.settings import Settings
from neardup.tables import Bools, Floats, Int64s, UInt64s
from neardup.text.intervals import wilson
from neardup.text.keys import PUBLIC
from neardup.text.sketch.cleaning import text_batch
from neardup.text.sketch.documents import form_of
from neardup.text.sketch.families import (
    Ids,
    OfFamily,
    ShingleFamily,
    mix_ids,
    offsets_of,
    pair_rows,
    text_arrays,
    whole_number,
)
from neardup.text.sketch.provenance import Estimate, html, require_same, signature_table
from neardup.unicode import unicode_tables

_COUNTED = "sampled shingles"


class SampledShingles(ShingleFamily):
    """Samples of shingle sets: every hash below 2⁶⁴ / ``scale``, and at least the ``floor`` smallest.

    A sample contains about 1/scale of the shingles of a long document. A passage can therefore be found in a
    document many times longer, which is not possible with signatures of a fixed number of slots.

    >>> family = SampledShingles(scale=1)
    >>> one, two = family.of_ids(range(100)), family.of_ids(range(25, 400))
    >>> print(one.containment(two).value, two.containment(one).value)
    0.75 0.2
    >>> (one | two) == family.of_ids(range(400))
    True
    >>> one.downsample(4) == SampledShingles(scale=4).of_ids(range(100))
    True
    >>> (one & two).size
    75.0

    With a ``floor`` of 0 a sample has only the hashes below the limit (*FracMinHash*, Irber and others 2022), so
    short documents may have none.
    """

    family = "sampled shingles"

    def __init__(self, scale: int = 16, floor: int = 32, *, length: int = 5, unit: str = "word") -> None:
        super().__init__(Settings.of(length=length, unit=unit))
        self.scale = whole_number("scale", scale, 1, 1 << 32)
        self.floor = whole_number("floor", floor, 0, 1 << 24)

    @property
    def parameters(self) -> dict[str, Any]:
        """The scale and the floor."""
        return {"scale": self.scale, "floor": self.floor}

    @property
    def limit(self) -> int:
        """The bound below which all hashes are in the sample."""
        return min((1 << 64) // self.scale, int(ALL))

    def sketch(self, texts: Any) -> Samples:
        """Return the samples of n texts: a list of str, or Arrow data. Raises InputError for anything else."""
        parts = [
            sample_texts(text_batch(array), unicode_tables(), form_of(self.settings), PUBLIC, self._rule())
            for array in text_arrays(texts)
        ]
        sizes = [np.diff(ends, prepend=0) for _, ends in parts]
        hashes = np.concatenate([np.empty(0, np.uint64), *(hashes for hashes, _ in parts)])
        return Samples(self, hashes, offsets_of(sizes))

    def sketch_ids(self, ids: Ids, offsets: Int64s) -> Samples:
        """Return the samples of the sets ``ids[offsets[d]:offsets[d + 1]]`` (whole numbers; int64[n + 1])."""
        hashes, ends = sample_sets(mix_ids(ids), np.ascontiguousarray(offsets, np.int64), self._rule())
        return Samples(self, hashes, offsets_of([np.diff(ends, prepend=0)]), of_ids=True)

    def of(self, text: str) -> Sample:
        """Return the sample of one text."""
        return self.sketch([text])[0]

    def of_ids(self, ids: Ids) -> Sample:
        """Return the sample of a set of whole numbers; comparable only with samples of ids."""
        return self.sketch_ids(ids, np.array([0, len(ids)], np.int64))[0]

    def resemblances(self, signatures: Samples, pairs: Any, other: Samples | None = None) -> Floats:
        """Return ``signatures.resemblances(pairs, other)``, for the interface shared with other families."""
        return signatures.resemblances(pairs, other)

    def to_arrow(self, ids: Any, signatures: Samples) -> pa.Table:
        """Return a table of the columns ``id`` and ``signature`` with its provenance; see ``read_signatures``.

        ``ids`` name the documents (strings or whole numbers). Raises FormatError for samples of another family.
        """
        require_same(self.provenance(signatures.of_ids), signatures.provenance)
        return signature_table(signatures.provenance, ids, signatures.hashes, signatures.offsets)

    def coarser(self, other: SampledShingles) -> tuple[int, int]:
        """Return the (limit, floor) by which samples of this family and of another are compared."""
        return min(self.limit, other.limit), min(self.floor, other.floor)

    def is_whole(self, size: int) -> bool:
        """Return whether a sample of that size contains all shingles of its document."""
        return size < self.floor or self.limit == ALL

    def _chosen(self, hashes: UInt64s) -> UInt64s:
        """Return the sample of the set of these hashes, which are sorted and distinct."""
        below = len(hashes) if self.limit == ALL else int((hashes < np.uint64(self.limit)).sum())
        return hashes[: max(below, self.floor)]

    def _coarser(self, scale: int) -> SampledShingles:
        """Return this family with another scale. Raises SettingError if its samples do not hold those."""
        coarser = copy(self)
        coarser.scale = whole_number("scale", scale, self.scale, 1 << 32)
        return coarser

    def _rule(self) -> tuple[np.uint64, np.uint64, np.int64]:
        shift = 64 - (self.limit - 1).bit_length() if self.limit else 0
        return np.uint64(self.limit), np.uint64(shift), np.int64(self.floor)


class BottomK(SampledShingles):
    """The ``k`` smallest hashes of every set (Broder 1997): samples of equal size for all documents.

    The best estimate of resemblance for its size in bytes. It is not made of slots, so it has no bands.

    >>> family = BottomK(100)
    >>> family.of_ids(range(60)).resemblance(family.of_ids(range(30, 90))).value  # fewer than k: exact
    0.3333333333333333
    """

    family = "bottom-k"

    def __init__(self, k: int = 128, *, length: int = 5, unit: str = "word") -> None:
        super().__init__(1, whole_number("k", k, 1, 1 << 24), length=length, unit=unit)

    @property
    def parameters(self) -> dict[str, Any]:
        """The value of k."""
        return {"k": self.floor}

    @property
    def limit(self) -> int:
        """Always 0, so that no hash is below it: only the k smallest count."""
        return 0

    def _coarser(self, scale: int) -> SampledShingles:
        coarser = copy(self)
        coarser.floor = whole_number("k", scale, 1, self.floor)
        return coarser


@dataclass(frozen=True, eq=False, repr=False)
class Samples(OfFamily):
    """The samples of n documents: sample d is ``hashes[offsets[d]:offsets[d + 1]]``, sorted.

    ``hashes`` uint64, ``offsets`` int64[n + 1].
    """

    _data = "provenance", "hashes", "offsets"

    family: SampledShingles
    hashes: UInt64s
    offsets: Int64s
    of_ids: bool = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        of_ids = ", of ids" * self.of_ids
        return f"Samples({len(self)} documents, {len(self.hashes)} hashes, {self.family!r}{of_ids})"

    def _repr_html_(self) -> str:
        lines = [("documents", f"{len(self):,}"), ("hashes", f"{len(self.hashes):,}")]
        return html("Samples", lines, self.provenance.parameters)

    def __getitem__(self, number: int) -> Sample:
        if not -len(self) <= number < len(self):
            raise IndexError(f"there are {len(self)} samples, and none has number {number}")
        begin, end = self.offsets[number % len(self)], self.offsets[number % len(self) + 1]
        return Sample(self.family, self.hashes[begin:end], self.of_ids)

    def downsample(self, scale: int) -> Samples:
        """Return the samples of the same documents in a coarser ``scale``; see :meth:`Sample.downsample`."""
        family = self.family._coarser(scale)
        parts = [family._chosen(self[number].hashes) for number in range(len(self))]
        hashes = np.concatenate([np.empty(0, np.uint64), *parts])
        return Samples(family, hashes, offsets_of([np.array(list(map(len, parts)), np.int64)]), self.of_ids)

    def counts(self, pairs: Any, other: Samples | None = None) -> Int64s:
        """Count the hashes that the samples of each pair cover: those in both, in a, and in b, int64[m, 3].

        ``pairs`` are whole numbers [m, 2]; the second is a sample of ``other``, if given. Raises FormatError for
        samples that are not comparable, and InputError for numbers out of range.
        """
        theirs = self if other is None else other
        _require_comparable(self, theirs)
        rows = pair_rows(pairs, len(self), len(theirs))
        limit, floor = self.family.coarser(theirs.family)
        counts = np.empty((len(rows), 3), np.int64)
        rule = np.uint64(limit), np.int64(floor)
        common_of_pairs(self._arrays(), theirs._arrays(), rows, rule, counts)
        return counts

    def resemblances(self, pairs: Any, other: Samples | None = None) -> Floats:
        """Return the estimated resemblance of each pair, float64[m]; unbiased. NaN if no hash is compared."""
        counts = self.counts(pairs, other)
        union = counts[:, 1] + counts[:, 2] - counts[:, 0]
        a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
        both_empty = np.where(self._empty[a] & (self if other is None else other)._empty[b], 1.0, np.nan)
        return np.where(union == 0, both_empty, counts[:, 0] / np.maximum(union, 1))

    def containments(self, pairs: Any, other: Samples | None = None) -> Floats:
        """Return the estimated share of a that is in b for each pair (a, b); NaN if no compared hash is in a."""
        both, in_a, _ = self.counts(pairs, other).T
        a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
        empty_b = (self if other is None else other)._empty[b]
        of_nothing = np.where(self._empty[a], empty_b, np.nan)
        return np.where(in_a == 0, of_nothing, both / np.maximum(in_a, 1))

    @property
    def _empty(self) -> Bools:
        """Whether a document has no shingle: its sample is whole, and has none."""
        empty: Bools = (np.diff(self.offsets) == 0) & self._arrays()[2]
        return empty

    def _arrays(self) -> tuple[UInt64s, Int64s, Bools]:
        sizes = np.diff(self.offsets)
        whole = np.ones(len(self), np.bool_) if self.family.limit == ALL else sizes < self.family.floor
        return self.hashes, self.offsets, whole


@dataclass(frozen=True, eq=False, repr=False)
class Sample(OfFamily):
    """The sample of one set: ``hashes`` uint64, sorted. ``a | b`` is the sample of the union, ``a & b`` of the
    intersection.
    """

    _data = "provenance", "hashes"

    family: SampledShingles
    hashes: UInt64s
    of_ids: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it contains every shingle of the document; two such samples are compared exactly."""
        return self.family.is_whole(len(self.hashes))

    @property
    def size(self) -> float:
        """The estimated number of shingles of the document: unbiased, and exact if the sample is whole.

        The number of hashes below τ divided by τ / 2⁶⁴, where τ is the limit, or the largest hash of the sample if
        that is more (rank conditioning, Cohen and Kaplan 2007).
        """
        if self.is_whole:
            return float(len(self.hashes))
        bound = max([self.family.limit, *map(int, self.hashes[-1:])])
        return float((self.hashes < np.uint64(bound)).sum()) * 2**64 / bound

    def resemblance(self, other: Sample) -> Estimate:
        """Estimate |A∩B| / |A∪B| with its interval; two empty sets resemble each other."""
        both, in_a, in_b = self._common(other)
        return self._estimate(other, both, in_a + in_b - both)

    def containment(self, other: Sample) -> Estimate:
        """Estimate |A∩B| / |A|, the share of this document that is in the other, with its interval.

        If no sampled shingle of this document falls in the range in which the other was sampled, which can happen
        to a short document, the value is NaN and the interval 0–1.
        """
        both, in_a, _ = self._common(other)
        return self._estimate(other, both, in_a)

    def __or__(self, other: Sample) -> Sample:
        """Return the sample of the union of both sets, identical to a sample of the union itself."""
        require_same(self, other)
        return Sample(self.family, self.family._chosen(np.union1d(self.hashes, other.hashes)), self.of_ids)

    def __and__(self, other: Sample) -> Sample:
        """Return the sample of the intersection of both sets.

        It holds the common hashes in the range that both samples cover, by the coarser scale and the lower floor.
        If these are fewer than the floor, and the samples do not show the whole intersection, its family has their
        number as its floor. Raises FormatError for samples that are not comparable, and for those of BottomK,
        which cover no range of hashes together.
        """
        _require_comparable(self, other)
        if self.family.limit == 0:
            raise FormatError(
                f"Samples of {self.provenance} cover no range of hashes together",
                "Samples of SampledShingles",
                "Use resemblance() or containment(), or sample by a scale",
            )
        covered = min(self._covered, other._covered)
        in_both = np.intersect1d(self.hashes, other.hashes)
        in_both = in_both[: np.searchsorted(in_both, covered)] if covered >> 64 == 0 else in_both
        known = self._ends_below(covered) or other._ends_below(covered)
        family = copy(self.family)
        family.scale = max(self.family.scale, other.family.scale)
        family.floor = min(self.family.floor, other.family.floor)
        if not known:
            family.floor = min(family.floor, len(in_both))
        return Sample(family, family._chosen(in_both), self.of_ids)

    def downsample(self, scale: int) -> Sample:
        """Return the sample of the same document in a coarser ``scale``, identical to one made of the document.

        The floor stays. For BottomK the argument is the smaller k. Raises SettingError for a finer scale, or a
        larger k: the sample does not have these hashes.
        """
        family = self.family._coarser(scale)
        return Sample(family, family._chosen(self.hashes), self.of_ids)

    @property
    def _covered(self) -> int:
        """The bound below which the sample has all hashes of the document."""
        if self.is_whole:
            return 1 << 64
        return max([self.family.limit, *(int(value) + 1 for value in self.hashes[-1:])])

    def _ends_below(self, bound: int) -> bool:
        """Whether all hashes of the document are below the bound, and in the sample."""
        return self.is_whole and all(int(value) < bound for value in self.hashes[-1:])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sample)
            and self.provenance == other.provenance
            and np.array_equal(self.hashes, other.hashes)
        )

    def __hash__(self) -> int:
        return hash(self.hashes.tobytes())

    def __repr__(self) -> str:
        return f"Sample({len(self.hashes)} hashes, {self.family!r}{', of ids' * self.of_ids})"

    def _repr_html_(self) -> str:
        size = "exactly" if self.is_whole else "about"
        lines = [("hashes", f"{len(self.hashes):,}"), ("shingles", f"{size} {round(self.size):,}")]
        return html("Sample", lines, self.provenance.parameters)

    def _common(self, other: Sample) -> tuple[int, int, int]:
        _require_comparable(self, other)
        limit, floor = self.family.coarser(other.family)
        whole = self.is_whole and other.is_whole
        both, in_a, in_b = common(self.hashes, other.hashes, np.uint64(limit), np.int64(floor), whole)
        return int(both), int(in_a), int(in_b)

    def _estimate(self, other: Sample, hits: int, trials: int) -> Estimate:
        """Return the share hits / trials; empty sets and sets known in full give exact shares, not estimates."""
        empty = [side.is_whole and not len(side.hashes) for side in (self, other)]
        if (self.is_whole and other.is_whole) or any(empty):
            share = hits / trials if trials else float(all(empty))
            return Estimate(share, share, share, trials, _COUNTED)
        if trials == 0:
            return Estimate(np.nan, 0.0, 1.0, 0, _COUNTED)
        unseen = 1 - self.family.coarser(other.family)[0] / 2**64
        interval = wilson(hits / trials, trials / unseen)
        return Estimate(interval.value, interval.low, interval.high, trials, _COUNTED)


def _require_comparable(one: Sample | Samples, other: Sample | Samples) -> None:
    """Raise FormatError unless the families differ only in scale and floor, for which the coarser one is used."""
    if type(one) is type(other) and type(one.family) is type(other.family):
        same_scale = copy(other.family)
        same_scale.scale, same_scale.floor = one.family.scale, one.family.floor
        if same_scale.provenance(other.of_ids) == one.provenance:
            return
    require_same(one, other)
