"""MinHash as a plain sketch: signatures in bulk, and a single sketch that can be merged and stored."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.errors import FormatError, InputError, SettingError
from neardup.intervals import wilson
from neardup.io.readers import choose_columns, open_documents
from neardup.kernels.shingles import mix_all
from neardup.kernels.sketch.minhash import sketch_sets
from neardup.kernels.sketch.slots import equal_slots
from neardup.settings import Settings
from neardup.sketch.coefficients import SEED, classic_coefficients
from neardup.sketch.documents import shingle_sets, sign
from neardup.sketch.provenance import Provenance, require_same, signature_table
from neardup.tables import FORMAT_VERSION, Bools, Floats, Int64s, UInt32s, UInt64s
from neardup.text.keys import PUBLIC
from neardup.text.unicode_data import UNICODE_VERSION

_MAGIC = b"NDMH"
_HEADER = struct.Struct("<4sBBBBH3s")  # magic, version, sketch, unit, length, slots, Unicode version
_SKETCHES = ("one-permutation", "classic", "one-permutation of ids", "classic of ids")
_UNITS = ("word", "char")


@dataclass(frozen=True)
class Estimate:
    """An estimated share with its 95 % Wilson interval, from ``slots`` slots (or from the unit in ``counted``).

    ``float()``, ``format()`` and <, <=, > and >= (with numbers and other estimates) use its ``value``. Two
    estimates are equal if all fields are equal.

    >>> estimate(138, 200) > 0.6, f"{estimate(138, 200):.2f}", float(estimate(1, 2))
    (True, '0.69', 0.5)
    """

    value: float
    low: float
    high: float
    slots: int
    counted: str = "slots"

    def __str__(self) -> str:
        return f"{self.value:.3f} (95 % interval {self.low:.3f}–{self.high:.3f}, {self.slots} {self.counted})"

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else str(self)

    def __float__(self) -> float:
        return float(self.value)

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other) if isinstance(other, Estimate | Real) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other) if isinstance(other, Estimate | Real) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other) if isinstance(other, Estimate | Real) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.value >= float(other) if isinstance(other, Estimate | Real) else NotImplemented


def estimate(matches: int, slots: int) -> Estimate:
    """Return the estimate for ``matches`` equal slots (Wilson 1927; conservative for one-permutation).

    >>> print(estimate(138, 200))
    0.690 (95 % interval 0.623–0.750, 200 slots)
    """
    found = wilson(matches / slots, slots)
    return Estimate(found.value, found.low, found.high, slots)


class MinHash:
    """A MinHash family: how texts become signatures of ``slots`` 32-bit slots.

    ``sketch`` is ``one-permutation`` (one hash per shingle chooses a slot and competes there; a slot chosen by no
    shingle gets its classic value) or ``classic`` (a·x + b mod 2³² for every slot). Signatures are comparable only
    within one family, format version and Unicode version.

    >>> family = MinHash()
    >>> family.sketch(["the night is dark and the moon is red", "the moon is red"]).shape
    (2, 128)
    >>> one = family.of("the night is dark and the moon is red")
    >>> print(one.resemblance(one))
    1.000 (95 % interval 0.971–1.000, 128 slots)
    """

    def __init__(
        self, slots: int = 128, *, length: int = 5, unit: str = "word", sketch: str = "one-permutation"
    ) -> None:
        self.settings = Settings.of(slots=slots, length=length, unit=unit, sketch=sketch)
        if self.settings.by_simhash:
            raise SettingError("sketch is 'simhash'", "one of one-permutation, classic", "Use neardup.SimHash")

    def __repr__(self) -> str:
        shingles, sketch = self.settings.shingles, self.settings.sketch
        form = f"length={shingles.length}, unit={shingles.unit!r}, sketch={sketch.sketch!r}"
        return f"MinHash(slots={sketch.slots}, {form})"

    def sketch(self, texts: Any) -> UInt32s:
        """Return signatures uint32[n, slots] of n texts: a list of str, or Arrow data (array, table, data frame).

        A text without a token gets all ones. Raises InputError for anything else.
        """
        arrays = text_arrays(texts)
        slots = self.settings.sketch.slots
        out = np.empty((sum(map(len, arrays)), slots), np.uint32)
        at = 0
        for array in arrays:
            block = out[at : at + len(array)]
            units, _ = sign(array, self.settings, block, np.empty((0, 2), np.uint64))
            block[units == 0] = 0xFFFFFFFF
            at += len(array)
        return out

    def of(self, text: str) -> MinHashSketch:
        """Return the sketch of one text, which can be merged, compared and stored."""
        sets = shingle_sets(text_arrays([text])[0], np.zeros(1, np.int64), self.settings, PUBLIC)
        values, bucketed = self._sketch(sets.hashes, sets.offsets)
        return MinHashSketch(self.settings, values[0], bucketed[0])

    def of_ids(self, ids: Sequence[int] | NDArray[np.integer[Any]]) -> MinHashSketch:
        """Return the sketch of a set of whole numbers (row numbers, hashes of custom features).

        They are mixed first, so consecutive ids work as well as random ones. Sketches of ids are comparable with
        each other, not with those of texts. Raises InputError for anything but whole numbers.
        """
        values = whole_numbers(ids)
        signatures, bucketed = self.sketch_ids(values, np.array([0, len(values)], np.int64))
        return MinHashSketch(self.settings, signatures[0], bucketed[0], of_ids=True)

    def sketch_ids(self, ids: UInt64s, offsets: Int64s) -> tuple[UInt32s, Bools]:
        """Return signatures uint32[n, slots] of the sets ``ids[offsets[d]:offsets[d + 1]]``, and the slots chosen.

        ``ids`` uint64, ``offsets`` int64[n + 1]. The second array, bool[n, slots], marks the slots that an id
        chose; merging needs it.
        """
        mixed = np.empty(len(ids), np.uint64)
        mix_all(np.ascontiguousarray(ids, np.uint64), mixed)
        return self._sketch(mixed, np.ascontiguousarray(offsets, np.int64))

    @property
    def parameters(self) -> dict[str, Any]:
        """The sketch, the slots, and the published seed."""
        sketch = self.settings.sketch
        return {"sketch": sketch.sketch, "slots": sketch.slots, "seed": f"{SEED:#x}"}

    def provenance(self, of_ids: bool = False) -> Provenance:
        """Return how the signatures are made, of texts or of ids; the seed is that of the public coefficients."""
        shingles = self.settings.shingles
        texts = {"of": "texts", "length": shingles.length, "unit": shingles.unit}
        return Provenance("minhash", {**self.parameters, **({"of": "ids"} if of_ids else texts)})

    def resemblances(self, signatures: UInt32s, pairs: Any, other: UInt32s | None = None) -> Floats:
        """Return the estimated resemblance (float64[m]) of ``pairs`` of rows of signatures: equal slots / slots.

        ``pairs`` are whole numbers [m, 2]; the second is a row of ``other``, if given. Raises InputError for
        rows that do not exist.
        """
        return count_equal(signatures, pairs, other) / self.settings.sketch.slots

    def to_arrow(self, ids: Any, signatures: UInt32s, *, of_ids: bool = False) -> pa.Table:
        """Return a table of the columns ``id`` and ``signature`` with its provenance; see ``read_signatures``.

        ``ids`` name the documents (strings or whole numbers); ``of_ids``: the signatures are those of ids.
        """
        slots = self.settings.sketch.slots
        return signature_table(self.provenance(of_ids), ids, slots_array(signatures, slots, np.uint32))

    def _sketch(self, hashes: UInt64s, offsets: Int64s) -> tuple[UInt32s, Bools]:
        slots, n = self.settings.sketch.slots, len(offsets) - 1
        signatures, bucketed = np.empty((n, slots), np.uint32), np.empty((n, slots), np.bool_)
        a, b = classic_coefficients(slots)
        sketch_sets(hashes, offsets, self.settings.sketch.sketch == "classic", a, b, signatures, bucketed)
        return signatures, bucketed


@dataclass(frozen=True, eq=False, repr=False)
class MinHashSketch:
    """The MinHash of one set: ``values`` uint32[slots], and ``bucketed``, the slots that a shingle chose.

    ``bytes(sketch)`` stores it, :meth:`from_bytes` reads it back; ``a | b`` is the sketch of the union.
    """

    settings: Settings
    values: UInt32s
    bucketed: Bools
    of_ids: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it is the sketch of the empty set."""
        return bool((self.values == 0xFFFFFFFF).all())

    def resemblance(self, other: MinHashSketch) -> Estimate:
        """Estimate the resemblance: matching slots / slots. The empty set resembles only itself."""
        self._require_same_family(other)
        if self.is_empty != other.is_empty:
            return estimate(0, len(self.values))
        return estimate(int((self.values == other.values).sum()), len(self.values))

    def __or__(self, other: MinHashSketch) -> MinHashSketch:
        """Return the sketch of the union of both sets, identical to a sketch made from the union."""
        self._require_same_family(other)
        lesser = np.minimum(self.values, other.values)
        values = np.where(self.bucketed & ~other.bucketed, self.values, lesser)
        values = np.where(other.bucketed & ~self.bucketed, other.values, values)
        return MinHashSketch(self.settings, values, self.bucketed | other.bucketed, self.of_ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MinHashSketch) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __repr__(self) -> str:
        return f"MinHashSketch({self._description()})"

    def __bytes__(self) -> bytes:
        settings, slots = self.settings, len(self.values)
        header = _HEADER.pack(
            _MAGIC,
            FORMAT_VERSION,
            _SKETCHES.index(self._family),
            _UNITS.index(settings.shingles.unit),
            settings.shingles.length,
            slots,
            _unicode_bytes(),
        )
        flags = np.packbits(self.bucketed, bitorder="little").tobytes()
        return header + self.values.astype("<u4").tobytes() + flags

    @classmethod
    def from_bytes(cls, data: bytes) -> MinHashSketch:
        """Read the output of ``bytes(sketch)``. Raises FormatError for anything else, naming any other version."""
        if len(data) < _HEADER.size or data[:4] != _MAGIC:
            raise FormatError("These bytes are not a MinHash sketch", "The result of bytes(sketch)")
        _, made_by, sketch, unit, length, slots, unicode_version = _HEADER.unpack_from(data)
        if made_by != FORMAT_VERSION or unicode_version != _unicode_bytes():
            written = ".".join(map(str, unicode_version))
            raise FormatError(
                f"The sketch has format {made_by} and Unicode {written}",
                f"This program makes and reads format {FORMAT_VERSION} and Unicode {UNICODE_VERSION}",
                "Sketch the texts again",
            )
        flags = (slots + 7) // 8
        if len(data) != _HEADER.size + 4 * slots + flags or sketch >= len(_SKETCHES) or unit >= len(_UNITS):
            raise FormatError(f"The sketch is damaged: {len(data)} bytes for {slots} slots")
        kind, _, of_ids = _SKETCHES[sketch].partition(" of ")
        try:
            settings = Settings.of(slots=slots, length=length, unit=_UNITS[unit], sketch=kind)
        except SettingError as error:
            raise FormatError(f"The sketch is damaged: {error}") from error
        values = np.frombuffer(data, "<u4", slots, _HEADER.size).astype(np.uint32)
        bits = np.frombuffer(data, np.uint8, flags, _HEADER.size + 4 * slots)
        bucketed = np.unpackbits(bits, count=slots, bitorder="little").astype(np.bool_)
        return cls(settings, values, bucketed, bool(of_ids))

    @property
    def _family(self) -> str:
        return self.settings.sketch.sketch + (" of ids" if self.of_ids else "")

    @property
    def provenance(self) -> Provenance:
        """How it was made."""
        sketch, shingles = self.settings.sketch, self.settings.shingles
        family = MinHash(sketch.slots, length=shingles.length, unit=shingles.unit, sketch=sketch.sketch)
        return family.provenance(self.of_ids)

    def _require_same_family(self, other: MinHashSketch) -> None:
        if not isinstance(other, MinHashSketch):
            require_same(self, other)
        mine, others = self._description(), other._description()
        if mine != others:
            raise FormatError(
                f"One sketch is {mine}, the other {others}",
                "Sketches of one family can be compared",
                "Sketch both with the same settings",
            )

    def _description(self) -> str:
        shingles = self.settings.shingles
        return (
            f"{self._family} MinHash with {len(self.values)} slots of {shingles.length}-{shingles.unit} shingles"
        )


def slots_array(signatures: Any, slots: int, dtype: Any) -> NDArray[Any]:
    """Return the signatures if they are an array [n, slots] of that dtype. Raises InputError otherwise."""
    right = isinstance(signatures, np.ndarray) and signatures.dtype == dtype and signatures.ndim == 2
    if not right or signatures.shape[1] != slots:
        is_array = isinstance(signatures, np.ndarray)
        what = f"{signatures.dtype}{list(signatures.shape)}" if is_array else f"a {type(signatures).__name__}"
        raise InputError(
            f"The signatures are {what}",
            f"{np.dtype(dtype)}[n, {slots}], as sketch() of the same family gives them",
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


def count_equal(signatures: NDArray[Any], pairs: Any, other: NDArray[Any] | None = None) -> Int64s:
    """Return the number of equal slots (int64[m]) of pairs of rows of ``signatures`` (and ``other``)."""
    theirs = signatures if other is None else other
    rows = pair_rows(pairs, len(signatures), len(theirs))
    out = np.empty(len(rows), np.int64)
    equal_slots(signatures, theirs, rows, out)
    return out


def _unicode_bytes() -> bytes:
    return bytes(int(part) for part in UNICODE_VERSION.split("."))


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
            raise _no_ids(f"the number {int(ids.min())}")
        return ids.reshape(-1).astype(np.uint64)
    if not isinstance(ids, Sequence) or isinstance(ids, (str, bytes)):
        raise _no_ids(f"a {type(ids).__name__}")
    wrong = next((x for x in ids if not isinstance(x, int | np.integer) or not 0 <= x < 1 << 64), None)
    if wrong is not None:
        raise _no_ids(repr(wrong))
    return np.array([int(x) for x in ids], np.uint64)


def _no_ids(what: str) -> InputError:
    return InputError(
        f"The ids hold {what}" if not what.startswith("a ") else f"The ids are {what}",
        "A list or array of whole numbers from 0 to 2⁶⁴ − 1",
        "Hash other features to such numbers first",
    )


__all__ = [
    "Estimate",
    "MinHash",
    "MinHashSketch",
    "count_equal",
    "estimate",
    "pair_rows",
    "slots_array",
    "text_arrays",
    "whole_numbers",
]
