"""The common base of all families of sketches: checked inputs, sets of shingles, and signatures of slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.display.view import PlainData, Public
from neardup.errors import FormatError, InputError, SettingError
from neardup.io.inputs import choose_columns, open_documents
from neardup.kernels.shingles import mix_all
from neardup.kernels.sketch import equal_slots
from neardup.settings import TextSettings
from neardup.tables import Floats, Int64s, UInt64s
from neardup.text.keys import PUBLIC
from neardup.text.sketch.documents import ShingleSets, shingle_sets
from neardup.text.sketch.provenance import Estimate, Provenance, estimate, html, require_same, signature_table


def text_arrays(texts: Any) -> list[pa.Array]:
    """Return the texts as Arrow arrays of strings or bytes."""
    if isinstance(texts, str):
        raise InputError("The texts are one str", "A list of str, or Arrow data", "Use of() for a single text")
    documents = open_documents(texts)
    name = choose_columns(documents, None, None).text
    columns = (chunk.read([name]).table.column(0) for chunk in documents.chunks(None, [name]))
    return [array for column in columns for array in column.chunks]


def whole_numbers(ids: Any) -> UInt64s:
    """Return a list or array of whole numbers as uint64, without numpy's detour through floats."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
        if ids.size and int(ids.min()) < 0:
            raise _no_ids_error(f"the number {int(ids.min())}")
        return ids.reshape(-1).astype(np.uint64)
    if not isinstance(ids, Sequence) or isinstance(ids, (str, bytes)):
        raise _no_ids_error(f"a {type(ids).__name__}")
    wrong = next((x for x in ids if not isinstance(x, int | np.integer) or not 0 <= x < 1 << 64), None)
    if wrong is not None:
        raise _no_ids_error(repr(wrong))
    return np.array([int(x) for x in ids], np.uint64)


def slots_array(signatures: Any, slots: int, dtype: Any) -> NDArray[Any]:
    """Return the signatures if they are an array [n, slots] of that dtype. Raises InputError otherwise."""
    right = isinstance(signatures, np.ndarray) and signatures.dtype == dtype and signatures.ndim == 2
    if not right or signatures.shape[1] != slots:
        is_array = isinstance(signatures, np.ndarray)
        what = f"{signatures.dtype}{list(signatures.shape)}" if is_array else f"a {type(signatures).__name__}"
        raise InputError(
            f"The signatures are {what}",
            f"{np.dtype(dtype)}[n, {slots}], from sketch() of the same family",
        )
    return np.ascontiguousarray(signatures)


def pair_rows(pairs: Any, documents: int, others: int) -> Int64s:
    """Return ``pairs`` as int64[m, 2]. Raises InputError for rows not below ``documents`` and ``others``."""
    rows: Int64s = np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)
    if len(rows) and (rows.min() < 0 or rows[:, 0].max() >= documents or rows[:, 1].max() >= others):
        raise InputError(
            "The pairs name a document that is not there",
            f"numbers from 0 to {documents - 1} in the first column and to {others - 1} in the second",
        )
    return rows


def _no_ids_error(what: str) -> InputError:
    return InputError(
        f"The ids hold {what}" if not what.startswith("a ") else f"The ids are {what}",
        "A list or array of whole numbers from 0 to 2⁶⁴ − 1",
        "Hash other features to such numbers first",
    )


Ids = Sequence[int] | NDArray[np.integer[Any]]
"""A set of whole numbers from 0 to 2⁶⁴ − 1: row numbers, or hashes of custom features."""


class ShingleFamily(Public):
    """A way to sketch sets of shingles or of ids. ``family`` is its name in stored signatures."""

    family: ClassVar[str]

    def __init__(self, settings: TextSettings) -> None:
        self.settings = settings

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that define this family, seeds included, by argument name."""
        raise NotImplementedError

    def provenance(self, of_ids: bool = False) -> Provenance:
        """Return how its signatures are made: of texts, or of ids."""
        shingles = self.settings.shingles
        parameters = {"of": "ids"} if of_ids else {"of": "texts", "length": shingles.length, "unit": shingles.unit}
        return Provenance(self.family, {**self.parameters, **parameters})

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({given})"

    def _repr_html_(self) -> str:
        return html(type(self).__name__, [], self.provenance().parameters, getattr(self, "slots", 0))

    def sets_of(self, texts: Any) -> Iterator[ShingleSets]:
        """Yield the shingle sets of texts, a few megabytes of text at a time."""
        for array in text_arrays(texts):
            yield shingle_sets(array, np.arange(len(array)), self.settings, PUBLIC)


def mix_ids(ids: Ids) -> UInt64s:
    """Mix the ids, so that consecutive ids work as well as random ones. Raises InputError for anything else."""
    return mix(whole_numbers(ids))


def mix(values: UInt64s) -> UInt64s:
    """Return the values with their bits mixed, uint64[n]."""
    out = np.empty(len(values), np.uint64)
    mix_all(np.ascontiguousarray(values, np.uint64), out)
    return out


def offsets_of(ends: Sequence[Int64s]) -> Int64s:
    """Return the int64[n + 1] offsets of sets whose sizes come in blocks."""
    sizes = np.concatenate([np.zeros(1, np.int64), *ends])
    return np.cumsum(sizes)


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    """Return ``value`` as an int from ``low`` to ``high``. Raises SettingError for anything else."""
    right = isinstance(value, int | np.integer) and not isinstance(value, bool) and low <= value <= high
    if not right:
        raise SettingError(f"{name} is {value!r}", f"A whole number from {low} to {high:,}")
    return int(value)


SignatureT = TypeVar("SignatureT", bound="Signature")


class SlotFamily(ShingleFamily, Generic[SignatureT]):
    """Turns sets of shingles or ids into arrays [n, ``slots``] of ``dtype``.

    Subclasses implement ``_sketch``, ``_signature`` and ``_union``. An empty set has the largest value of the
    dtype in every slot. ``narrows``: whether ``BBit`` may cut the signatures to a few bits per slot.
    """

    slots: int
    dtype: Any = np.uint32
    narrows: ClassVar[bool] = True

    def sketch(self, texts: Any) -> NDArray[Any]:
        """Return signatures [n, slots] of n texts: a list of str, or Arrow data. Raises InputError otherwise."""
        blocks = [self._sketch(sets.hashes, sets.offsets) for sets in self.sets_of(texts)]
        return np.concatenate([np.empty((0, self.slots), self.dtype), *blocks])

    def of(self, text: str) -> SignatureT:
        """Return the signature of one text."""
        [sets] = self.sets_of([text])
        return self._signature(sets.hashes, sets.offsets, of_ids=False)

    def of_ids(self, ids: Ids) -> SignatureT:
        """Return the signature of a set of whole numbers (row numbers, hashes of custom features).

        It is comparable only with signatures of ids. Raises InputError for anything but whole numbers.
        """
        elements = self._elements(ids)
        return self._signature(elements, np.array([0, len(elements)], np.int64), of_ids=True)

    def counts(self, signatures: NDArray[Any], pairs: Any, other: NDArray[Any] | None = None) -> Int64s:
        """Count (agreeing, compared) slots of ``pairs`` of rows of ``signatures``, int64[m, 2].

        ``pairs`` are whole numbers [m, 2]; the second is a row of ``other``, if given. Raises InputError for
        rows that do not exist.
        """
        theirs = signatures if other is None else other
        rows = pair_rows(pairs, len(signatures), len(theirs))
        equal = np.empty(len(rows), np.int64)
        equal_slots(signatures, theirs, rows, equal)
        return np.stack([equal, np.full(len(equal), self.slots)], axis=1)

    def resemblances(self, signatures: NDArray[Any], pairs: Any, other: NDArray[Any] | None = None) -> Floats:
        """Return the estimated resemblance of each pair of rows, float64[m]; arguments as in :meth:`counts`."""
        agreeing, of = self.counts(signatures, pairs, other).T
        # no slots to compare: both documents are empty
        return np.where(of == 0, 1.0, self._correct_bias(agreeing / np.maximum(of, 1)))

    def to_arrow(self, ids: Any, signatures: NDArray[Any], *, of_ids: bool = False) -> pa.Table:
        """Return a table of the columns ``id`` and ``signature`` with its provenance; see ``read_signatures``.

        ``ids`` name the documents (strings or whole numbers); ``of_ids``: the signatures are those of ids.
        """
        return signature_table(self.provenance(of_ids), ids, slots_array(signatures, self.slots, self.dtype))

    def _elements(self, ids: Ids) -> UInt64s:
        """Return the ids as the elements to hash."""
        return whole_numbers(ids)

    def _sketch(self, elements: UInt64s, offsets: Int64s) -> NDArray[Any]:
        """Return signatures [n, slots] of the sets ``elements[offsets[d]:offsets[d + 1]]``."""
        raise NotImplementedError

    def _signature(self, elements: UInt64s, offsets: Int64s, of_ids: bool) -> SignatureT:
        """Return the signature of the only set."""
        raise NotImplementedError

    def _union(self, one: SignatureT, other: SignatureT) -> SignatureT:
        """Return the signature of the union of the sets of two comparable signatures."""
        raise NotImplementedError

    def _agreement(self, one: NDArray[Any], other: NDArray[Any]) -> tuple[int, int]:
        """Return the :meth:`counts` of two signatures [slots]."""
        return int((one == other).sum()), self.slots

    def _correct_bias(self, share: Floats) -> Floats:
        """Return unbiased estimates from the shares of agreeing slots."""
        return share

    def _size(self, signature: SignatureT) -> Estimate:
        """Return the estimated size of the set of a signature."""
        raise FormatError(
            f"A signature of {self.provenance(signature.of_ids)} does not show how large its set is",
            "Signatures of MinHash.of, of_ids and of_tokens",
            "Use MinHash, or Sample.size of SampledShingles",
        )


class PlainSlotFamily(SlotFamily["Signature"]):
    """Families whose signatures consist of the values of their slots alone, which suffice to merge them.

    ``no_union``: what to do instead, for families whose slots do not show those of a union.
    """

    no_union: ClassVar[str] = ""

    def sketch_ids(self, ids: Ids, offsets: Int64s) -> NDArray[Any]:
        """Return signatures [n, slots] of the sets ``ids[offsets[d]:offsets[d + 1]]`` of whole numbers."""
        return self._sketch(self._elements(ids), np.ascontiguousarray(offsets, np.int64))

    def merged(self, one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
        """Return the signature of the union of two sets, from theirs: the smaller value of every slot.

        Raises FormatError for families whose values do not show which is the smaller.
        """
        if self.no_union:
            raise FormatError(
                f"Signatures of {self.provenance()} cannot be merged",
                "Families that keep the smallest value of every slot",
                self.no_union,
            )
        lesser: NDArray[Any] = np.minimum(one, other)
        return lesser

    def _signature(self, elements: UInt64s, offsets: Int64s, of_ids: bool) -> Signature:
        return Signature(self, self._sketch(elements, offsets)[0], of_ids)

    def _union(self, one: Signature, other: Signature) -> Signature:
        return Signature(self, self.merged(one.values, other.values), one.of_ids)


class OfFamily(PlainData):
    """A record of signatures that a ``family`` made, of texts, or ``of_ids``."""

    family: Any
    of_ids: bool

    @property
    def provenance(self) -> Provenance:
        """How they were made: family, parameters, seeds, versions."""
        provenance: Provenance = self.family.provenance(self.of_ids)
        return provenance


@dataclass(frozen=True, eq=False, repr=False)
class Signature(OfFamily):
    """The signature of one set: ``values`` [slots]; ``a | b`` is that of the union, if the family supports it."""

    _data = "provenance", "values"

    family: SlotFamily[Any]
    values: NDArray[Any]
    of_ids: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it is the signature of the empty set."""
        return bool((self.values == np.iinfo(self.family.dtype).max).all())

    @property
    def size(self) -> Estimate:
        """The estimated number of elements of the set, with its 95 % interval and its standard error.

        Raises FormatError for families other than MinHash, whose slots do not show it.
        """
        estimated: Estimate = self.family._size(self)
        return estimated

    def resemblance(self, other: Signature) -> Estimate:
        """Estimate the resemblance with its 95 % interval, clipped to 0 … 1.

        The empty set resembles only itself.
        """
        agreeing, of = self.family._agreement(self.values, self._comparable(other).values)
        if self.is_empty or other.is_empty:
            agreeing, of = self.family.slots * (self.is_empty and other.is_empty), self.family.slots
        estimated = estimate(agreeing, max(of, 1))
        value, low, high = np.clip(
            self.family._correct_bias(np.array([estimated.value, estimated.low, estimated.high])), 0, 1
        )
        return Estimate(float(value), float(low), float(high), of)

    def __or__(self, other: Signature) -> Self:
        """Return the signature of the union of both sets, identical to one made from the union.

        Raises FormatError if the family does not support it.
        """
        union: Self = self.family._union(self, self._comparable(other))
        return union

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    def __repr__(self) -> str:
        return f"Signature({len(self.values)} slots, {self.family!r}{', of ids' * self.of_ids})"

    def _repr_html_(self) -> str:
        lines = [("of", "the empty set" if self.is_empty else "a set of ids" if self.of_ids else "a text")]
        parameters = {"family": self.provenance.family, **self.provenance.parameters}
        parameters.pop("of", None)  # in words above
        return html(type(self).__name__, lines, parameters, self.family.slots)

    @property
    def _content(self) -> tuple[Any, bytes]:
        """What equal signatures have in common."""
        return self.provenance, self.values.tobytes()

    def _comparable(self, other: Any) -> Any:
        """Return the other signature. Raises an error that names both unless it is comparable with this one."""
        require_same(self, other)
        return other
