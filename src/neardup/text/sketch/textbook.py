"""The hash functions of textbooks, (a·x + b) mod p and multiply-shift, and signatures of a few bits per slot.

Functions a·x + b are drawn from families that treat any *two* elements alike, but not any set of elements. Over
random numbers, such as shingle hashes, they work as well as others. Over consecutive row numbers they favour some
rows, and estimates are biased by some hundredths, whatever the number of slots: two runs of 150 rows that share a
third were estimated .05 too low. The MinHash of this program mixes first; prefer it.
"""

from collections.abc import Sequence
from itertools import count
from math import exp, gcd, lgamma, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.errors import InputError, SettingError
from neardup.kernels.sketch import cut, mod_p_sets, sketch_sets
from neardup.settings import Settings
from neardup.tables import Bools, Int64s, UInt32s, UInt64s
from neardup.text.sketch.documents import splitmix64
from neardup.text.sketch.families import Ids, PlainSlotFamily, SlotFamily, mix, slots_array, whole_number
from neardup.text.sketch.provenance import Provenance

Coefficients = Sequence[Sequence[int]]
"""The pair (a, b) of every function a·x + b."""

_STEP = 0x9E37_79B9_7F4A_7C15

_ROWS = 1 << 14
"""Rows that are packed at once, a byte for each bit."""


class _Linear(PlainSlotFamily):
    """Functions a·x + b, drawn with ``seed`` or given as ``coefficients``."""

    def __init__(self, slots: int, seed: int, coefficients: Coefficients | None, length: int, unit: str) -> None:
        super().__init__(Settings.of(length=length, unit=unit))
        self.seed = whole_number("seed", seed, 0, (1 << 63) - 1)
        self.given = None if coefficients is None else self._check(coefficients)
        self.slots = whole_number("slots", slots, 1, 1 << 16) if self.given is None else len(self.given)
        self.coefficients = np.array(self.given or self._draw(), np.uint64)

    def values(self, ids: Ids) -> UInt64s:
        """Return the value of each row number under each function, uint64[n, slots]; a signature has the smallest.

        Raises InputError as :meth:`of_ids` does.

        >>> ModP(prime=17, coefficients=[(4, 9), (14, 4)]).values([1, 5]).tolist()
        [[13, 1], [12, 6]]
        """
        a, b = self.coefficients.T
        return self._reduce(self._elements(ids)[:, None] * a + b)

    def _reduce(self, sums: UInt64s) -> UInt64s:
        """Return the values of the functions from a·x + b."""
        raise NotImplementedError

    @property
    def _functions(self) -> dict[str, Any]:
        if self.given is None:
            return {"slots": self.slots, "seed": self.seed}
        return {"slots": self.slots, "coefficients": self.given}

    def _draw(self) -> list[tuple[int, int]]:
        words = [splitmix64((self.seed + k * _STEP) % (1 << 64)) for k in range(2 * self.slots)]
        return [self._function(words[2 * k], words[2 * k + 1]) for k in range(self.slots)]

    def _function(self, one: int, other: int) -> tuple[int, int]:
        """Return (a, b) from two random words of 64 bits."""
        raise NotImplementedError

    def _check(self, coefficients: Coefficients) -> list[list[int]]:
        """Return the coefficients as plain lists. Raises SettingError for coefficients that define no order."""
        pairs = [list(map(int, pair)) for pair in coefficients]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise SettingError("The coefficients are not a list of pairs", "a pair (a, b) for every slot")
        return pairs

    def _require_below(self, ids: UInt64s, bound: int, what: str) -> UInt64s:
        if len(ids) and int(ids.max()) >= bound:
            raise InputError(
                f"The ids hold {int(ids.max())}",
                f"Row numbers below {what}",
                "Number the rows from 0, or use a larger one, or sketch hashes with MinHash",
            )
        return ids


class ModP(_Linear):
    """(a·x + b) mod p (Broder and others 1998; Leskovec, Rajaraman and Ullman, section 3.3).

    For ids, x are the ids themselves, row numbers below ``prime``; for texts, the shingle hashes mod ``prime``.
    ``prime`` is the modulus p, from 2 to 2³² − 1; the default is the largest prime below 2³². ``coefficients`` are
    pairs (a, b) in place of ``slots`` drawn with ``seed``, and are reduced mod p; a is no multiple of p. A
    function permutes the numbers 0 … p − 1 if a and p have no common divisor (``permutes``): with a prime each
    function does, and with any modulus each that is drawn.

    >>> textbook = ModP(prime=17, coefficients=[(4, 9), (14, 4), (8, 14), (3, 10)])
    >>> textbook.of_ids([1, 5]).values.tolist()
    [12, 1, 3, 8]
    >>> exercise = ModP(prime=6, coefficients=[(2, 1), (3, 2), (5, 2)])
    >>> exercise.of_ids([2, 5]).values.tolist(), exercise.permutes.tolist()
    ([5, 2, 0], [False, False, True])
    """

    family = "mod-p"
    LARGEST = 4_294_967_291

    def __init__(
        self,
        slots: int = 128,
        *,
        prime: int = LARGEST,
        seed: int = 1,
        coefficients: Coefficients | None = None,
        length: int = 5,
        unit: str = "word",
    ) -> None:
        self.prime = whole_number("prime", prime, 2, (1 << 32) - 1)
        super().__init__(slots, seed, coefficients, length, unit)

    @property
    def parameters(self) -> dict[str, Any]:
        """The prime, the slots, and the seed or the coefficients."""
        return {"prime": self.prime, **self._functions}

    @property
    def permutes(self) -> Bools:
        """Which functions permute the numbers 0 … p − 1, bool[slots]."""
        coprime: Bools = np.gcd(self.coefficients[:, 0], np.uint64(self.prime)) == 1
        return coprime

    def _function(self, one: int, other: int) -> tuple[int, int]:
        # from a random a upwards to the next one that makes a permutation: of a prime, a itself
        a = next(a for a in count(1 + one % (self.prime - 1)) if gcd(a, self.prime) == 1)
        return a % self.prime, other % self.prime

    def _check(self, coefficients: Coefficients) -> list[list[int]]:
        pairs = super()._check(coefficients)
        for a, b in pairs:
            if a % self.prime == 0:
                raise SettingError(
                    f"The coefficients ({a}, {b}) make no order of numbers below {self.prime}",
                    f"a no multiple of {self.prime}",
                )
        return [[a % self.prime, b % self.prime] for a, b in pairs]

    def _elements(self, ids: Ids) -> UInt64s:
        return self._require_below(super()._elements(ids), self.prime, f"the modulus {self.prime}")

    def _reduce(self, sums: UInt64s) -> UInt64s:
        return sums % np.uint64(self.prime)

    def _sketch(self, elements: UInt64s, offsets: Int64s) -> UInt32s:
        out = np.empty((len(offsets) - 1, self.slots), np.uint32)
        a, b = np.ascontiguousarray(self.coefficients.T)
        mod_p_sets(elements, offsets, (a, b), np.uint64(self.prime), out)
        return out


class MultiplyShift(_Linear):
    """((a·x + b) mod 2³²) >> (32 − u), a odd: the top u ``bits`` (Dietzfelbinger and others 1997).

    For ids, x are the ids themselves, row numbers below 2³²; for texts, the low halves of the shingle hashes. With
    few bits, two elements often get the same value, which looks like a shared element. Estimates are then too
    high, the more so the nearer the number of elements is to 2ᵘ.

    >>> MultiplyShift(bits=8, coefficients=[(3 << 24 | 1, 0)]).of_ids([1, 2, 100]).values.tolist()
    [3]
    """

    family = "multiply-shift"

    def __init__(
        self,
        slots: int = 128,
        *,
        bits: int = 32,
        seed: int = 1,
        coefficients: Coefficients | None = None,
        length: int = 5,
        unit: str = "word",
    ) -> None:
        self.bits = whole_number("bits", bits, 1, 32)
        super().__init__(slots, seed, coefficients, length, unit)

    @property
    def parameters(self) -> dict[str, Any]:
        """The bits, the slots, and the seed or the coefficients."""
        return {"bits": self.bits, **self._functions}

    def _function(self, one: int, other: int) -> tuple[int, int]:
        return (one >> 32) | 1, other >> 32

    def _check(self, coefficients: Coefficients) -> list[list[int]]:
        pairs = super()._check(coefficients)
        for a, b in pairs:
            if not (0 < a < 1 << 32 and 0 <= b < 1 << 32 and a % 2 == 1):  # an even a would waste bits
                raise SettingError(
                    f"The coefficients ({a}, {b}) are not those of a multiply-shift function",
                    "a odd and b from 0, both below 2³²",
                )
        return pairs

    def _elements(self, ids: Ids) -> UInt64s:
        return self._require_below(super()._elements(ids), 1 << 32, "2³²")

    def _reduce(self, sums: UInt64s) -> UInt64s:
        return (sums & np.uint64(0xFFFFFFFF)) >> np.uint64(32 - self.bits)

    def _sketch(self, elements: UInt64s, offsets: Int64s) -> UInt32s:
        n = len(offsets) - 1
        out, chosen = np.empty((n, self.slots), np.uint32), np.empty((n, self.slots), np.bool_)
        a, b = np.ascontiguousarray(self.coefficients.T.astype(np.uint32))
        sketch_sets(elements, offsets, True, a, b, out, chosen)
        out >>= np.uint32(32 - self.bits)  # shifting preserves the order: the minimum stays the minimum
        out[np.diff(offsets) == 0] = 0xFFFFFFFF
        return out


class BBit(PlainSlotFamily):
    """Copies of signatures ``of`` another family with ``bits`` bits per slot, 1 to 32 (Li and König 2010).

    Values are mixed before they are cut. So two slots that differ agree in b bits with probability 2⁻ᵇ, to which
    C₁ and C₂ of Li and König tend for small sets in a large universe (section 3). Estimates correct for that:
    (share − 2⁻ᵇ) / (1 − 2⁻ᵇ), with variance (1 − J)(J + 1/(2ᵇ − 1)) / k for independent slots. The estimate for
    dissimilar documents can therefore be slightly below 0.

    In memory a slot has the next larger of 8, 16 and 32 bits; :meth:`pack` leaves ``bits`` of them. With 8 bits
    they need a quarter of the memory and are read four times as fast, so they serve to discard pairs before a
    closer look (``may_reach``). They are not suited for bands, whose rows would agree by chance too often.

    >>> from neardup.text.sketch.minhash import MinHash
    >>> full = MinHash()
    >>> small = BBit(full, bits=8)
    >>> copies = small.cut(full.sketch(["the moon is red over the bay tonight"] * 2 + ["no news is good news"]))
    >>> copies.dtype, copies.shape
    (dtype('uint8'), (3, 128))
    >>> small.may_reach(copies, [(0, 1), (0, 2)], 0.8).tolist()
    [True, False]
    >>> one_bit = BBit(full, bits=1)
    >>> packed = one_bit.pack(one_bit.cut(full.sketch(["the moon is red over the bay tonight"])))
    >>> packed.shape, one_bit.unpack(packed).shape
    ((1, 16), (1, 128))
    """

    family = "b-bit minhash"
    narrows = False
    no_union = "Merge signatures of the family that these were cut from"

    def __init__(self, of: SlotFamily[Any], bits: int = 8) -> None:
        if not isinstance(of, SlotFamily) or not of.narrows:
            raise SettingError(f"BBit is to be of {of!r}", "a MinHash, ModP, MultiplyShift or Datasketch family")
        self.base, self.bits = of, whole_number("bits", bits, 1, 32)
        shingles = of.settings.shingles
        super().__init__(Settings.of(length=shingles.length, unit=shingles.unit))
        self.slots = of.slots
        self.dtype = np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32

    @property
    def parameters(self) -> dict[str, Any]:
        """The bits, and the family and parameters of the full signatures."""
        base = self.base.provenance()
        return {"bits": self.bits, "base": base.family, "base_parameters": dict(self.base.parameters)}

    def provenance(self, of_ids: bool = False) -> Provenance:
        """Return how its signatures are made: those of the base family, of texts or of ids."""
        base = self.base.provenance(of_ids).parameters
        shingles = {name: base[name] for name in ("of", "length", "unit") if name in base}
        return Provenance(self.family, {**self.parameters, **shingles})

    def cut(self, signatures: NDArray[Any]) -> NDArray[Any]:
        """Return the small copies [n, slots] (uint8, uint16 or uint32) of signatures of the base family."""
        checked = slots_array(signatures, self.slots, self.base.dtype)
        if checked.dtype == np.uint64:
            empty = (checked == np.iinfo(np.uint64).max).all(axis=1)
            checked = mix(checked.reshape(-1)).astype(np.uint32).reshape(checked.shape)
            checked[empty] = 0xFFFFFFFF
        out = np.empty(checked.shape, self.dtype)
        cut(checked, np.uint64(self._mask), out)
        return out

    def pack(self, copies: NDArray[Any]) -> NDArray[np.uint8]:
        """Return small copies with ``bits`` bits per slot, uint8[n, ⌈slots · bits / 8⌉], the low bits first.

        Raises InputError for anything but small copies.
        """
        checked = slots_array(copies, self.slots, self.dtype)
        width = self.slots * self.bits
        out = np.empty((len(checked), -(-width // 8)), np.uint8)
        for begin in range(0, len(checked), _ROWS):
            block = checked[begin : begin + _ROWS, :, None] >> np.arange(self.bits, dtype=self.dtype) & 1
            out[begin : begin + _ROWS] = np.packbits(
                block.astype(np.uint8).reshape(-1, width), axis=1, bitorder="little"
            )
        return out

    def unpack(self, packed: NDArray[np.uint8]) -> NDArray[Any]:
        """Return the small copies of :meth:`pack`. Raises InputError for an array of another form.

        A row of ones only is read as the empty set; of any other set it is with probability 2^(−slots · bits).
        """
        width = self.slots * self.bits
        checked = slots_array(packed, -(-width // 8), np.uint8)
        out = np.zeros((len(checked), self.slots), self.dtype)
        for begin in range(0, len(checked), _ROWS):
            block = np.unpackbits(checked[begin : begin + _ROWS], axis=1, count=width, bitorder="little")
            for bit in range(self.bits):
                out[begin : begin + _ROWS] |= block[:, bit :: self.bits].astype(self.dtype) << self.dtype(bit)
        out[(out == self._mask).all(axis=1)] = np.iinfo(self.dtype).max
        return out

    @property
    def _mask(self) -> int:
        return (1 << self.bits) - 1

    def sketch(self, texts: Any) -> NDArray[Any]:
        """Return the small copies of the signatures of n texts."""
        return self.cut(self.base.sketch(texts))

    def may_reach(
        self, signatures: NDArray[Any], pairs: Any, threshold: float, *, other: NDArray[Any] | None = None
    ) -> Bools:
        """Return which ``pairs`` of rows agree in enough slots to reach the ``threshold``, bool[m].

        A pair at the threshold is missed with a probability of at most 10⁻⁶; see :meth:`least_agreeing`.
        """
        enough: Bools = self.counts(signatures, pairs, other)[:, 0] >= self.least_agreeing(threshold)
        return enough

    def least_agreeing(self, threshold: float, risk: float = 1e-6) -> int:
        """Return the most slots q such that a pair at the threshold agrees in fewer with probability <= ``risk``.

        The number of agreeing slots is binomial for independent slots, and varies less for one-permutation (after
        Satuluri and Parthasarathy 2012, *BayesLSH-Lite*).

        >>> from neardup.text.sketch.minhash import MinHash
        >>> BBit(MinHash(128), 16).least_agreeing(0.8)
        79
        """
        chance = threshold + (1 - threshold) / (1 << self.bits)
        if chance >= 1:
            return self.slots
        below, k = 0.0, self.slots
        for q in range(k + 1):
            ways = lgamma(k + 1) - lgamma(q + 1) - lgamma(k - q + 1)
            below += exp(ways + q * log(chance) + (k - q) * log(1 - chance)) if chance > 0 else float(q == 0)
            if below > risk:
                return q
        return k

    def _correct_bias(self, share: Any) -> Any:
        chance = 2.0**-self.bits
        return (share - chance) / (1 - chance)

    def _elements(self, ids: Ids) -> UInt64s:
        return self.base._elements(ids)

    def _sketch(self, elements: UInt64s, offsets: Int64s) -> NDArray[Any]:
        return self.cut(self.base._sketch(elements, offsets))
