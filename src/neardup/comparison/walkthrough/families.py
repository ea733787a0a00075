"""The hash functions that the tables show: those of the families of ``sketch``, over row numbers.

MinHash needs functions that order the rows at random, so that each row of a set is equally likely to come first
(Broder 1997). Functions a·x + b only approximate that: over consecutive row numbers they favour some rows,
whatever p is, and if 2ᵘ is near the number of rows, two rows often get the same value. The families of this
program mix the bits of a number first, and are therefore the reliable ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from neardup.errors import SettingError
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.sketch import MinHash, ModP, MultiplyShift

Given = Sequence[Sequence[int]]
"""The pair (a, b) of each function a·x + b, or each order of the row numbers."""

TAKERS = {"coefficients": ("mod-p", "multiply-shift"), "orders": ("permutations",)}
"""The families whose functions may be given instead of a seed, by what is given."""

NOTHING = 0xFFFF_FFFF_FFFF_FFFF
"""The value of a document without any rows."""
_WORD = 1 << 32
_LISTED = 1 << 20
"""Coefficients up to this number are drawn from a list of them, so that none repeats early."""
_SHOWN_ORDER = 12
"""Rows of an order that its formula has."""


@dataclass(frozen=True, eq=False)
class Hashed:
    """The result of a family for n row numbers.

    ``values`` uint64[n, slots] are the values of each row under each function. ``says`` describes the functions,
    and ``functions`` are their formulas (empty if one rule covers all). If ``chosen`` (bool[n, slots]) is given, a
    slot considers only rows that chose it, as long as the document has such a row. ``caution`` describes the flaws
    of estimates of this family.
    """

    says: str
    functions: tuple[str, ...]
    values: UInt64s
    chosen: Bools | None = None
    caution: str = ""

    def signature(self, members: Bools) -> tuple[UInt64s, Int64s]:
        """Return the smallest value in each slot over the rows ``members`` (bool[n]), and the position of its row.

        The arrays are uint64[slots] and int64[slots]. If rows share a value, the first one counts. Without any
        rows, the values are ``NOTHING`` and the positions −1.
        """
        slots = self.values.shape[1]
        if not members.any():
            return np.full(slots, NOTHING, np.uint64), np.full(slots, -1, np.int64)
        numbers = np.flatnonzero(members)
        values = self.values[numbers]
        if self.chosen is not None:
            chosen = self.chosen[numbers]
            values = np.where(chosen | ~chosen.any(axis=0), values, np.uint64(NOTHING))
        first = values.argmin(axis=0)
        return values[first, np.arange(slots)], numbers[first]

    @property
    def permutes(self) -> Bools:
        """Which functions give different rows different values, bool[slots]."""
        ranked = np.sort(self.values, axis=0)
        distinct: Bools = (ranked[1:] != ranked[:-1]).all(axis=0)
        return distinct


Family = Callable[[UInt64s, int, int, Given | None], Hashed]
"""Returns the values of row numbers (uint64[n], rising) under some functions, drawn with a seed or given."""


def hash_mod_p(numbers: UInt64s, slots: int, seed: int, given: Given | None, modulus: int | None = None) -> Hashed:
    """(a·x + b) mod p, where p is the smallest prime above the row numbers, or any other ``modulus``.

    Raises SettingError for an a that p divides: such a function is constant over all rows.
    """
    last = int(numbers[-1]) if len(numbers) else 0
    p = prime_above(last) if modulus is None else modulus
    pairs = _pairs_mod_p(p, slots, seed) if given is None else given
    family = ModP(prime=p, coefficients=pairs)
    why = f"; {p} is the smallest prime above {last}" if modulus is None else ""
    return Hashed(
        f"h(x) = (a·x + b) mod {p}, x the row number{why}.",
        tuple(f"({a}·x {'+' if b >= 0 else '-'} {abs(b)}) mod {p}" for a, b in pairs),
        family.values(numbers % np.uint64(p)),
        caution="mod-p: these functions do not produce all orders of the rows, so an estimate may be off "
        "by a hundredth or two (more with few rows), with any number of slots.",
    )


def _pairs_mod_p(p: int, slots: int, seed: int) -> Given:
    """Draw b from 1 to p − 1, and such an a without a common divisor with p; few repeat before all were used.

    Uses numpy's first generator, as textbooks do; its stream does not change (NEP 19). Of a large p the draw is
    that of ``ModP``.
    """
    if p > _LISTED:
        return [(int(a), int(b)) for a, b in ModP(slots, prime=p, seed=seed).coefficients]
    source = np.random.RandomState(seed)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < slots:
        a, b = source.permutation(p - 1) + 1, source.permutation(p - 1) + 1
        pairs += zip(a[np.gcd(a, p) == 1].tolist(), b.tolist(), strict=False)
    return pairs[:slots]


def _multiply_shift(numbers: UInt64s, slots: int, seed: int, given: Given | None) -> Hashed:
    """((a·x + b) mod 2³²) >> (32 − u), a odd: the top u bits (Dietzfelbinger and others 1997).

    u is the bit length of the number of rows, the usual choice. Raises SettingError for an even a, which would
    waste bits, and for numbers beyond 32 bits.
    """
    bits = max(len(numbers).bit_length(), 1)
    if given is None:  # more slots keep the first functions
        words = np.random.RandomState(seed).randint(0, _WORD, (slots, 2), np.int64)
        given = [(int(a) | 1, int(b)) for a, b in words]
    return Hashed(
        f"h(x) = ((a·x + b) mod 2^32) >> {32 - bits}, x the row number: the top {bits} of 32 bits, "
        f"a number from 0 to {(1 << bits) - 1}. Two rows may get one value.",
        tuple(f"({a}·x + {b}) mod 2^32 >> {32 - bits}" for a, b in given),
        MultiplyShift(bits=bits, coefficients=given).values(numbers),
        caution="multiply-shift: two rows with one value look like a shared one, so estimates are too high, "
        "often by a tenth, with any number of slots.",
    )


def _orders(numbers: UInt64s, slots: int, seed: int, given: Given | None) -> Hashed:
    """The place of a row in an order of the rows: the permutations that the functions of the others replace.

    Raises SettingError for an order that lacks or repeats a row.
    """
    source, rows = np.random.RandomState(seed), numbers.tolist()
    orders = [source.permutation(numbers).tolist() for _ in range(slots)] if given is None else given
    wrong = next((order for order in orders if sorted(order) != rows), None)
    if wrong is not None:
        raise SettingError(
            f"The order {_some(wrong, ':')} is no permutation of the rows",
            f"{len(rows)} row numbers, each once: {_some(rows, ':')}",
        )
    # the place of each row is the order of the order
    places = np.argsort(np.array(orders, np.int64).reshape(len(orders), len(rows)), axis=1).T
    return Hashed(
        "h(x) = the place of row x in an order of the rows, from 0.",
        tuple(f"the place of row x in {_some(order, ' ')}" for order in orders),
        places.astype(np.uint64),
    )


def _own_sketch(sketch: str, says: str, numbers: UInt64s, slots: int, seed: int, given: Given | None) -> Hashed:
    """A sketch of this program, with its published constants; the seed renumbers the rows.

    Seed 1 leaves the row numbers as they are, so a signature equals ``MinHash.of_ids(rows)``. The values are those
    of single rows: a set's value is the smallest among its rows that chose the slot.
    """
    power = slots if sketch == "classic" else 1 << (slots - 1).bit_length()
    ids = numbers + np.uint64((seed - 1) * _WORD)
    values, chosen = MinHash(power, sketch=sketch).sketch_ids(ids, np.arange(len(ids) + 1, dtype=np.int64))
    cut = "" if power == slots else f" (The first {slots} of {power}: this sketch has a power of two of slots.)"
    chosen_slots = chosen[:, :slots] if sketch == "one-permutation" else None
    return Hashed(says + cut, (), values[:, :slots].astype(np.uint64), chosen_slots)


FAMILIES: dict[str, Family] = {
    "mod-p": hash_mod_p,
    "multiply-shift": _multiply_shift,
    "classic": partial(
        _own_sketch,
        "classic",
        "h(x) = (a·m(x) + b) mod 2^32; m mixes the bits of the row number x first, a and b are published "
        "constants.",
    ),
    "one-permutation": partial(
        _own_sketch,
        "one-permutation",
        "One hash of the row number x: its top bits choose a slot (marked *), the others are its value there. "
        "In other slots a row has its classic value, which counts only if no row of the document chose the slot.",
    ),
    "permutations": _orders,
}
"""All families by name."""


def prime_above(number: int) -> int:
    """Return the smallest prime above ``number``.

    >>> prime_above(16), prime_above(17), prime_above(0)
    (17, 19, 2)
    """
    candidate = max(number + 1, 2)
    while any(candidate % divisor == 0 for divisor in range(2, int(candidate**0.5) + 1)):
        candidate += 1
    return candidate


def _some(order: Sequence[int], sign: str) -> str:
    """Return an order of row numbers in words; a long one is cut."""
    return sign.join([*map(str, order[:_SHOWN_ORDER]), *["…"] * (len(order) > _SHOWN_ORDER)])
