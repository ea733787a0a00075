"""The hash functions that the tables show: those of the families of ``sketch``, over row numbers.

MinHash needs functions that order the rows at random, so that each row of a set is equally likely to come first
(Broder 1997). Functions a·x + b only approximate that: over consecutive row numbers they favour some rows,
whatever p is, and if 2ᵘ is near the number of rows, two rows often get the same value. The families of this
program mix the bits of a number first, and are therefore the reliable ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from neardup.errors import SettingError
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.sketch import MinHash, ModP, MultiplyShift, is_multiply_shift

Coefficients = Sequence[tuple[int, int]]
"""The pair (a, b) of each function a·x + b."""

NOTHING = 0xFFFF_FFFF_FFFF_FFFF
"""The value of a document without any rows."""
_WORD = 1 << 32


@dataclass(frozen=True, eq=False)
class Hashed:
    """The result of a family for the row numbers 1 … n.

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
        """Return the smallest value in each slot over the rows ``members`` (bool[n]), and the number of its row.

        The arrays are uint64[slots] and int64[slots]. If rows share a value, the first one counts. Without any
        rows, the values are ``NOTHING`` and the numbers 0.
        """
        slots = self.values.shape[1]
        if not members.any():
            return np.full(slots, NOTHING, np.uint64), np.zeros(slots, np.int64)
        numbers = np.flatnonzero(members)
        values = self.values[numbers]
        if self.chosen is not None:
            chosen = self.chosen[numbers]
            values = np.where(chosen | ~chosen.any(axis=0), values, np.uint64(NOTHING))
        first = values.argmin(axis=0)
        return values[first, np.arange(slots)], numbers[first] + 1


class Family(Protocol):
    """A rule that draws ``slots`` hash functions of row numbers for a family of ``sketch``."""

    takes_coefficients: bool

    def hash_rows(self, rows: int, slots: int, seed: int, given: Coefficients | None) -> Hashed:
        """Return the values of rows 1 … ``rows``, under functions drawn with ``seed`` or ``given``."""


class ModPRows:
    """(a·x + b) mod p, where p is the smallest prime above the number of rows."""

    takes_coefficients = True

    def hash_rows(self, rows: int, slots: int, seed: int, given: Coefficients | None) -> Hashed:
        """Raise SettingError for an a that p divides: such a function is constant over all rows."""
        p = prime_above(rows)
        pairs = self.draw(p, slots, seed) if given is None else given
        for a, b in pairs:
            if a < 0 or b < 0 or a % p == 0:
                raise SettingError(
                    f"The coefficients {a}:{b} make no order of {rows} rows",
                    f"b from 0, a from 1 and no multiple of the prime {p}",
                    "Choose others, or draw them with a seed",
                )
        family = ModP(prime=p, coefficients=[(a % p, b % p) for a, b in pairs])
        return Hashed(
            f"h(x) = (a·x + b) mod {p}, x the row number; {p} is the smallest prime above {rows}.",
            tuple(f"({a}·x + {b}) mod {p}" for a, b in pairs),
            family.values(_numbers(rows)),
            caution="mod-p: these functions do not produce all orders of the rows, so an estimate may be off "
            "by a hundredth or two (more with few rows), with any number of slots.",
        )

    def draw(self, p: int, slots: int, seed: int) -> Coefficients:
        """Draw coefficients from 1 to p − 1; an a, or a b, repeats only after all others have been used.

        Uses numpy's first generator, as textbooks do; its stream does not change (NEP 19).
        """
        source = np.random.RandomState(seed)
        pairs: list[tuple[int, int]] = []
        while len(pairs) < slots:
            a, b = source.permutation(p - 1) + 1, source.permutation(p - 1) + 1
            pairs += [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        return pairs[:slots]


class MultiplyShiftRows:
    """((a·x + b) mod 2³²) >> (32 − u), a odd: the top u bits (Dietzfelbinger and others 1997).

    u is the bit length of the number of rows, the usual choice.
    """

    takes_coefficients = True

    def hash_rows(self, rows: int, slots: int, seed: int, given: Coefficients | None) -> Hashed:
        """Raise SettingError for an even a, which would waste bits, and for numbers beyond 32 bits."""
        bits = max(rows.bit_length(), 1)
        pairs = self.draw(slots, seed) if given is None else given
        for a, b in pairs:
            if not is_multiply_shift(a, b):
                raise SettingError(
                    f"The coefficients {a}:{b} are not those of a multiply-shift function",
                    "a odd and b from 0, both below 2³²",
                    "Choose others, or draw them with a seed",
                )
        family = MultiplyShift(bits=bits, coefficients=pairs)
        return Hashed(
            f"h(x) = ((a·x + b) mod 2^32) >> {32 - bits}, x the row number: the top {bits} of 32 bits, "
            f"a number from 0 to {(1 << bits) - 1}. Two rows may get one value.",
            tuple(f"({a}·x + {b}) mod 2^32 >> {32 - bits}" for a, b in pairs),
            family.values(_numbers(rows)),
            caution="multiply-shift: two rows with one value look like a shared one, so estimates are too high, "
            "often by a tenth, with any number of slots.",
        )

    def draw(self, slots: int, seed: int) -> Coefficients:
        """Draw odd a and any b below 2³²; more slots keep the first ones."""
        words = np.random.RandomState(seed).randint(0, _WORD, (slots, 2), np.int64)
        return [(int(a) | 1, int(b)) for a, b in words]


class OwnSketch:
    """A sketch of this program, with its published constants; the seed renumbers the rows.

    Seed 1 leaves the row numbers as they are, so a signature equals ``MinHash.of_ids(rows)``.
    """

    takes_coefficients = False

    def __init__(self, sketch: str, says: str) -> None:
        self.sketch, self.says = sketch, says

    def hash_rows(self, rows: int, slots: int, seed: int, given: Coefficients | None) -> Hashed:
        """Compute the values of single rows: a set's value is the smallest among its rows that chose the slot."""
        power = slots if self.sketch == "classic" else 1 << (slots - 1).bit_length()
        ids = _numbers(rows) + np.uint64((seed - 1) * _WORD)
        family = MinHash(power, sketch=self.sketch)
        values, chosen = family.sketch_ids(ids, np.arange(rows + 1, dtype=np.int64))
        cut = (
            "" if power == slots else f" (The first {slots} of {power}: this sketch has a power of two of slots.)"
        )
        return Hashed(
            self.says + cut,
            (),
            values[:, :slots].astype(np.uint64),
            chosen[:, :slots] if self.sketch == "one-permutation" else None,
        )


FAMILIES: dict[str, Family] = {
    "mod-p": ModPRows(),
    "multiply-shift": MultiplyShiftRows(),
    "classic": OwnSketch(
        "classic",
        "h(x) = (a·m(x) + b) mod 2^32; m mixes the bits of the row number x first, a and b are published "
        "constants.",
    ),
    "one-permutation": OwnSketch(
        "one-permutation",
        "One hash of the row number x: its top bits choose a slot (marked *), the others are its value there. "
        "In other slots a row has its classic value, which counts only if no row of the document chose the slot.",
    ),
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


def _numbers(rows: int) -> UInt64s:
    return np.arange(1, rows + 1, dtype=np.uint64)
