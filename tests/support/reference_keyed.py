"""Naive twins of the keyed hashes of ``neardup.kernels.text.hashing``: the formulas, in numbers of any size."""

from __future__ import annotations

from neardup.kernels.text.hashing import Key
from support import reference
from support.reference_characters import canonical

PRIME = 2**61 - 1
WORDS = 16


def pieces(data: bytes, size: int) -> list[int]:
    """Return the bytes as little-endian numbers of ``size`` bytes each."""
    return [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]


def polynomial(values: list[int], point: int) -> int:
    """Return the value of the polynomial with these coefficients, that of the highest power first."""
    total = 0
    for value in values:
        total = (total * point + value) % PRIME
    return total


class Twin:
    """One key, read as its docstring says."""

    def __init__(self, key: Key) -> None:
        halves, self.odd = key.tokens.tolist()[:-1], key.tokens.tolist()[-1]
        self.sets = halves[: len(halves) // 2], halves[len(halves) // 2 :]
        self.count, *self.factors = key.shingles.tolist()
        self.points = key.stream.tolist()

    def token(self, token: str, which: int = 0) -> int:
        """Return the first or second hash of a token of the normalised text, by the multilinear formula."""
        return self.bytes(token.replace("_", "\x7f").encode("utf-8"), which)

    def bytes(self, data: bytes, which: int = 0) -> int:
        """Return the first or second hash of some bytes."""
        keys = self.sets[which]
        wide = [low + (high << 64) for low, high in zip(keys[:-1:2], keys[1::2], strict=False)]
        summand, factors, (long_factor, long_summand) = wide[0], wide[1 : 1 + WORDS], wide[1 + WORDS :]
        if len(data) > 8 * WORDS:
            total = long_summand + long_factor * polynomial([len(data), *pieces(data, 7)], keys[-1])
        else:
            words = pieces(data, 8)
            total = summand + sum(factor * word for factor, word in zip(factors, words, strict=False))
        return (total & (1 << 128) - 1) >> 64

    def unit(self, text: str) -> int:
        """Return the first hash of a character."""
        low, high, factor_low, factor_high = self.sets[0][:4]
        total = low + (high << 64) + (factor_low + (factor_high << 64)) * (ord(text) + 1)
        return (total & (1 << 128) - 1) >> 64

    def second(self, token: str) -> int:
        """Return the second hash of a token, of 60 bits."""
        data = token.replace("_", "\x7f").encode("utf-8")
        if len(data) > 8:
            return self.token(token, 1) >> 4
        return (self.odd * int.from_bytes(data, "little") & reference.WORD) >> 4

    def stream(self, tokens: list[str]) -> tuple[int, int]:
        """Return the two values of a document: how many tokens, their hashes, zeros up to a multiple of four."""
        zeros = [0] * (-len(tokens) % 4)
        first = [len(tokens), *(self.token(token) >> 4 for token in tokens), *zeros]
        second = [len(tokens), *(self.second(token) for token in tokens), *zeros]
        return polynomial(first, self.points[0]), polynomial(second, self.points[1])

    def characters(self, text: str) -> int:
        """Return the hash of the characters of a text: its fields, NUL written as no byte of UTF-8 is."""
        fields = canonical(text).split(" ") if canonical(text) else []
        hashes = [self.bytes(field.encode().replace(b"\0", b"\xff")) >> 4 for field in fields]
        return polynomial([len(fields), *hashes, *[0] * (-len(fields) % 4)], self.points[0])

    def shingles(self, units: list[int], length: int) -> list[int]:
        """Return the hash of every shingle in text order."""
        if 0 < len(units) < length:
            windows, more = [units], self.count * len(units)
        else:
            windows, more = [units[k : k + length] for k in range(len(units) - length + 1)], 0
        sums = [more + sum(a * b for a, b in zip(self.factors, window, strict=False)) for window in windows]
        return [reference.mix64(total & reference.WORD) for total in sums] if units else []
