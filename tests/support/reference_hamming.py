"""Naive twins of SimHash, of the search by Hamming distance and of its cost: plain Python, by the definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

from support import reference

Pair = tuple[int, int, int]
"""(a, b, distance)."""


def features(text: str, spec: str) -> list[int]:
    """Return the hashes of the features of a text, with repeats: char:N, joined:N, word or shingle:N."""
    kind, _, length = spec.partition(":")
    if kind not in ("char", "joined"):
        return reference.shingle_hashes(reference.unit_hashes(text, "word"), int(length or 1))
    normalised = reference.nfkc_casefold(text)
    joined = (char for char in normalised if reference.state_of(char)[0] != "none")
    characters = [char for char in reference.characters(text) if char != " "] if kind == "char" else joined
    units = [reference.mix64(reference.GOLD * (ord(char) + 1) & reference.WORD) for char in characters]
    return reference.shingle_hashes(units, int(length))


def widened(hash64: int, bits: int) -> int:
    """Return the hash of a feature in ``bits`` bits: its 64 bits, then each word mixed once more."""
    words = [hash64]
    while 64 * len(words) < bits:
        words.append(reference.mix64(words[-1] + reference.GOLD & reference.WORD))
    return sum(word << 64 * place for place, word in enumerate(words))


def signs(weighted: Iterable[tuple[int, float]], bits: int) -> int:
    """Return the SimHash of (hash, weight): bit i is 1 where Σ ±weight > 0, reckoned in fractions."""
    counted: Counter[int] = Counter()
    exact = [(value, Fraction(weight)) for value, weight in weighted]
    for bit in range(bits):
        votes = sum((weight if value >> bit & 1 else -weight) for value, weight in exact)
        counted[bit] = int(votes > 0)
    return sum(1 << bit for bit, one in counted.items() if one)


def simhash(text: str, bits: int = 64, spec: str = "char:4") -> int:
    """Return the SimHash of a text."""
    return signs([(widened(value, bits), 1) for value in features(text, spec)], bits)


def near(numbers: Sequence[int], distance: int) -> list[Pair]:
    """Return (a, b, distance) of all pairs that differ in at most ``distance`` bits, in order."""
    return [
        (a, b, apart)
        for a, b in combinations(range(len(numbers)), 2)
        if (apart := (numbers[a] ^ numbers[b]).bit_count()) <= distance
    ]


def prefix_sizes(bits: int, levels: Sequence[tuple[int, int]]) -> list[int]:
    """Return the bits of the prefix of every table of a design, by making every choice."""
    if not levels:
        return [0]
    (blocks, chosen), *rest = levels
    sizes = [bits // blocks + (block < bits % blocks) for block in range(blocks)]
    found = []
    for choice in combinations(sizes, chosen):
        found += [sum(choice) + more for more in prefix_sizes(bits - sum(choice), rest)]
    return sorted(found)
