"""MinHash as a plain sketch: signatures in bulk, and a single sketch that can be merged and stored."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neardup.errors import FormatError, InputError, SettingError
from neardup.kernels.sketch import sketch_sets, weighted_sets
from neardup.settings import Settings, TextSettings
from neardup.tables import FORMAT_VERSION, Bools, Floats, Int64s, UInt32s, UInt64s
from neardup.text.sketch.documents import SEED, classic_coefficients, hash_tokens, sign
from neardup.text.sketch.families import Ids, PlainSlotFamily, Signature, SlotFamily, mix, mix_ids, text_arrays
from neardup.text.sketch.provenance import SizeEstimate, require_same
from neardup.unicode import UNICODE_VERSION

_MAGIC = b"NDMH"
_HEADER = struct.Struct("<4sBBBBH3s")  # magic, version, sketch, unit, length, slots, Unicode version
_SKETCHES = ("one-permutation", "classic", "one-permutation of ids", "classic of ids")
_UNITS = ("word", "char")

LARGEST = float(np.finfo(np.float64).max)
"""The largest weight."""


class MinHash(SlotFamily["MinHashSketch"]):
    """A MinHash family: how texts become signatures of ``slots`` 32-bit slots.

    ``sketch`` is ``one-permutation`` (one hash per shingle chooses a slot and competes there; a slot chosen by no
    shingle gets its classic value) or ``classic`` (a·x + b mod 2³² for every slot). Signatures are comparable only
    within one family, format version and Unicode version.

    >>> family = MinHash()
    >>> family.sketch(["the night is dark and the moon is red", "the moon is red"]).shape
    (2, 128)
    >>> one = family.of("the night is dark and the moon is red")
    >>> print(one.resemblance(one))
    1.000 (95 % interval 0.970–1.000, 128 slots)
    >>> print(family.of_ids(range(1000)).size)
    1,009 (95 % interval 848.5–1,201, 128 slots)
    """

    family = "minhash"

    def __init__(
        self, slots: int = 128, *, length: int = 5, unit: str = "word", sketch: str = "one-permutation"
    ) -> None:
        super().__init__(Settings.of(slots=slots, length=length, unit=unit, sketch=sketch))
        if self.settings.by_simhash:
            raise SettingError("sketch is 'simhash'", "one of one-permutation, classic", "Use neardup.SimHash")
        self.slots = self.settings.sketch.slots

    def __repr__(self) -> str:
        shingles, sketch = self.settings.shingles, self.settings.sketch
        form = f"length={shingles.length}, unit={shingles.unit!r}, sketch={sketch.sketch!r}"
        return f"MinHash(slots={self.slots}, {form})"

    @property
    def parameters(self) -> dict[str, Any]:
        """The sketch, the slots, and the published seed."""
        return {"sketch": self.settings.sketch.sketch, "slots": self.slots, "seed": f"{SEED:#x}"}

    def sketch(self, texts: Any) -> UInt32s:
        """Return signatures uint32[n, slots] of n texts: a list of str, or Arrow data (array, table, data frame).

        A text without a token gets all ones. Raises InputError for anything else.
        """
        arrays = text_arrays(texts)
        out = np.empty((sum(map(len, arrays)), self.slots), np.uint32)
        start = 0
        for array in arrays:
            block = out[start : start + len(array)]
            units, _ = sign(array, self.settings, block, np.empty((0, 2), np.uint64))
            block[units == 0] = 0xFFFFFFFF
            start += len(array)
        return out

    def sketch_ids(self, ids: UInt64s, offsets: Int64s) -> tuple[UInt32s, Bools]:
        """Return signatures uint32[n, slots] of the sets ``ids[offsets[d]:offsets[d + 1]]``, and the slots chosen.

        ``ids`` uint64, ``offsets`` int64[n + 1]. They are mixed first, so consecutive ids work as well as random
        ones. The second array, bool[n, slots], marks the slots that an id chose; merging needs it.
        """
        return self._choose(mix(ids), np.ascontiguousarray(offsets, np.int64))

    def of_tokens(self, tokens: Iterable[str]) -> MinHashSketch:
        """Return the signature of a set of strings: of your own tokens or features, which are not normalised.

        It is that of the ids ``hash_tokens(tokens)``, and comparable with signatures of ids and tokens only.
        Raises InputError for anything but str.
        """
        return self.of_ids(hash_tokens(tokens))

    def _elements(self, ids: Ids) -> UInt64s:
        return mix_ids(ids)

    def _sketch(self, elements: UInt64s, offsets: Int64s) -> UInt32s:
        return self._choose(elements, offsets)[0]

    def _signature(self, elements: UInt64s, offsets: Int64s, of_ids: bool) -> MinHashSketch:
        values, bucketed = self._choose(elements, offsets)
        return MinHashSketch(self, values[0], of_ids, bucketed=bucketed[0])

    def _union(self, one: MinHashSketch, other: MinHashSketch) -> MinHashSketch:
        """A slot that only one of the sets chose has its value; any other the smaller of both values."""
        values = np.minimum(one.values, other.values)
        values = np.where(one.bucketed & ~other.bucketed, one.values, values)
        values = np.where(other.bucketed & ~one.bucketed, other.values, values)
        return MinHashSketch(self, values, one.of_ids, bucketed=one.bucketed | other.bucketed)

    def _size(self, signature: MinHashSketch) -> SizeEstimate:
        """The least of n values exceeds u with probability (1 − u)ⁿ, so −ln(1 − u) is exponential with rate n.

        In one-permutation a slot has a share 1/k of the range of hashes, and u is that share of the value. If no
        hash is there, which has probability (1 − 1/k)ⁿ, the wait goes on with the classic value of all n.
        """
        least = (signature.values + 0.5) / 2**32
        if self.settings.sketch.sketch == "classic":
            waits = -np.log1p(-least)
        else:
            over = -np.log1p(-1 / self.slots) if self.slots > 1 else 0.0
            waits = np.where(signature.bucketed, -np.log1p(-least / self.slots), over - np.log1p(-least))
        return SizeEstimate.of(np.full(self.slots, np.inf) if signature.is_empty else waits)

    def _choose(self, elements: UInt64s, offsets: Int64s) -> tuple[UInt32s, Bools]:
        n = len(offsets) - 1
        signatures, bucketed = np.empty((n, self.slots), np.uint32), np.empty((n, self.slots), np.bool_)
        a, b = classic_coefficients(self.slots)
        sketch_sets(elements, offsets, self.settings.sketch.sketch == "classic", a, b, signatures, bucketed)
        return signatures, bucketed


@dataclass(frozen=True, eq=False, repr=False)
class MinHashSketch(Signature):
    """The MinHash of one set: ``values`` uint32[slots], and ``bucketed``, the slots that a shingle chose.

    ``bytes(sketch)`` stores it, :meth:`from_bytes` reads it back; ``a | b`` is the sketch of the union.
    """

    family: MinHash
    bucketed: Bools = field(kw_only=True)

    @property
    def settings(self) -> TextSettings:
        """The settings of its family: length, unit, slots and sketch."""
        return self.family.settings

    def __repr__(self) -> str:
        return f"MinHashSketch({self._description})"

    def __bytes__(self) -> bytes:
        shingles = self.settings.shingles
        header = _HEADER.pack(
            _MAGIC,
            FORMAT_VERSION,
            _SKETCHES.index(self._kind),
            _UNITS.index(shingles.unit),
            shingles.length,
            len(self.values),
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
            family = MinHash(slots, length=length, unit=_UNITS[unit], sketch=kind)
        except SettingError as error:
            raise FormatError(f"The sketch is damaged: {error}") from error
        values = np.frombuffer(data, "<u4", slots, _HEADER.size).astype(np.uint32)
        bits = np.frombuffer(data, np.uint8, flags, _HEADER.size + 4 * slots)
        bucketed = np.unpackbits(bits, count=slots, bitorder="little").astype(np.bool_)
        return cls(family, values, bool(of_ids), bucketed=bucketed)

    @property
    def _kind(self) -> str:
        return self.settings.sketch.sketch + (" of ids" if self.of_ids else "")

    @property
    def _description(self) -> str:
        shingles = self.settings.shingles
        return f"{self._kind} MinHash with {len(self.values)} slots of {shingles.length}-{shingles.unit} shingles"

    @property
    def _content(self) -> tuple[Any, bytes]:
        return MinHashSketch, bytes(self)

    def _comparable(self, other: Any) -> Any:
        if not isinstance(other, MinHashSketch):
            require_same(self, other)
        mine, others = self._description, other._description
        if mine != others:
            raise FormatError(
                f"One sketch is {mine}, the other {others}",
                "Sketches of one family can be compared",
                "Sketch both with the same settings",
            )
        return other


class WeightedMinHash(PlainSlotFamily):
    """Signatures of sets whose elements have weights: consistent weighted sampling (Ioffe 2010, section 3).

    Two signatures agree in a slot with probability Σ min(a, b) / Σ max(a, b) over the weights of all elements, the
    weighted resemblance, which :meth:`Signature.resemblance` estimates. A set is a mapping of strings or whole
    numbers to weights, such as counts or tf-idf. Every element of a text or of ids has the weight 1. The random
    numbers come from the hashes of the elements, so there is no table and no number of dimensions.

    Equal weights give equal signatures on every machine: only operations are used that IEEE 754 rounds alike.
    Weights that were computed may differ between machines, and then some slots do.

    >>> family = WeightedMinHash(256)
    >>> one, other = family.of_weights({"moon": 3.0, "red": 1.0}), family.of_weights({"moon": 2.0, "dark": 1.0})
    >>> print(one.resemblance(other))  # exactly 2 / 5
    0.410 (95 % interval 0.351–0.471, 256 slots)
    """

    family = "weighted minhash"
    dtype = np.uint64
    no_union = "Add the weights, and sketch the sum"

    def __init__(self, slots: int = 128, *, length: int = 5, unit: str = "word") -> None:
        super().__init__(Settings.of(slots=slots, length=length, unit=unit, sketch="classic"))
        self.slots = self.settings.sketch.slots

    @property
    def parameters(self) -> dict[str, Any]:
        """The number of slots."""
        return {"slots": self.slots}

    def of_weights(self, weights: Mapping[Any, float]) -> Signature:
        """Return the signature of one set: comparable with those of weights and of ids.

        Raises InputError, which names the element, for weights that are negative, infinite or no numbers, and for
        elements other than strings and whole numbers from 0 to 2⁶⁴ − 1. Elements of weight 0 are not in the set.
        """
        return Signature(self, self.sketch_weights([weights])[0], of_ids=True)

    def sketch_weights(self, sets: Iterable[Mapping[Any, float]]) -> UInt64s:
        """Return the signatures of several sets, uint64[n, slots]; see :meth:`of_weights`."""
        parts = [_elements_of(weights) for weights in sets]
        offsets = np.cumsum([0, *(len(elements) for elements, _ in parts)])
        elements = np.concatenate([np.empty(0, np.uint64), *(elements for elements, _ in parts)])
        return self._sample(elements, np.concatenate([np.empty(0), *(weights for _, weights in parts)]), offsets)

    def _elements(self, ids: Ids) -> UInt64s:
        return mix_ids(ids)

    def _sketch(self, elements: UInt64s, offsets: Int64s) -> UInt64s:
        return self._sample(elements, np.ones(len(elements)), offsets)

    def _sample(self, elements: UInt64s, weights: Floats, offsets: Int64s) -> UInt64s:
        out = np.empty((len(offsets) - 1, self.slots), np.uint64)
        weighted_sets(elements, weights, offsets, out)
        return out


def _elements_of(weights: Any) -> tuple[UInt64s, Floats]:
    """Return the hashes of the elements of a set, sorted, and their weights. Raises InputError."""
    if not isinstance(weights, Mapping):
        raise InputError(f"A weighted set is a {type(weights).__name__}", "A mapping of elements to weights")
    for element, weight in weights.items():
        if not isinstance(weight, int | float | np.number) or not 0 <= weight <= LARGEST:
            raise InputError(
                f"The weight of {element!r} is {weight!r}"[:200], "A number from 0, finite as a float"
            )
    names = {element: float(weight) for element, weight in weights.items() if isinstance(element, str)}
    numbers = {element: float(weight) for element, weight in weights.items() if not isinstance(element, str)}
    elements = np.concatenate([mix(hash_tokens(names)), mix_ids(list(numbers))])
    kept = np.array([*names.values(), *numbers.values()], np.float64)
    return elements[kept > 0], kept[kept > 0]


def _unicode_bytes() -> bytes:
    return bytes(int(part) for part in UNICODE_VERSION.split("."))
