"""SimHash: texts, or weighted features, as 64 bits or more that differ little if the texts differ little.

SimHash selects texts that are almost identical; it does not measure resemblance. With 64 bits, two texts that
share .8 of their features still differ in about 10 bits, and unrelated ones in about 32. ``hamming`` finds the
fingerprints that differ in few bits.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from neardup.display.view import Public
from neardup.errors import InputError, SettingError
from neardup.kernels.sketch import JOINED, SOLID, simhash_units, solid_units
from neardup.settings import LONGEST_FEATURE, WIDTHS, WIDTHS_ALLOWED, features_of
from neardup.tables import Int64s, UInt32s, UInt64s
from neardup.text.keys import PUBLIC
from neardup.text.sketch.documents import simhash_rows
from neardup.text.sketch.families import pair_rows, slots_array, text_arrays
from neardup.text.sketch.provenance import Provenance, html, signature_table
from neardup.text.units import read
from neardup.unicode import codepoints_of, tokens, unicode_tables
from neardup.unicode import units as units_of

FEATURE_LENGTH = 4
"""The default length of a feature in characters."""

_INT64 = 1 << 62


class SimHash(Public):
    """A SimHash family: how texts become fingerprints of ``bits`` bits, a multiple of 64 up to 1024.

    ``features`` names the features to hash, weighted by frequency: ``char:4`` (windows of 4 characters of the
    normalised text without white space), ``joined:4`` (the same without punctuation, made of the joined tokens,
    the classic example of the field), ``word`` (tokens), or ``shingle:5`` (5 tokens in a row), with any length
    from 1 to 64. A text shorter than one window has one feature, the whole text. Bit i of the fingerprint is 1 if
    the features whose hash has bit i outweigh the others (Charikar 2002). The first 64 bits are the
    fingerprint of 64 bits, whatever the width. Raises SettingError for other values.

    >>> SimHash().sketch(["The night is dark.", "THE NIGHT  IS DARK."]).tolist()
    [15011219663113816106, 15011219663113816106]
    >>> SimHash(256, "word").sketch(["the moon is red"]).shape
    (1, 4)
    """

    family: ClassVar[str] = "simhash"

    def __init__(self, bits: int = 64, features: str = f"char:{FEATURE_LENGTH}") -> None:
        if bits not in WIDTHS or not isinstance(bits, int | np.integer):
            raise SettingError(f"bits is {bits!r}", WIDTHS_ALLOWED)
        _require(features)
        self.bits, self.features = int(bits), features

    def __repr__(self) -> str:
        return f"SimHash(bits={self.bits}, features={self.features!r})"

    def _repr_html_(self) -> str:
        return html(type(self).__name__, [], self.provenance().parameters)

    def sketch(self, texts: Any) -> UInt64s:
        """Return fingerprints of n texts: uint64[n], or with 64·k bits uint64[n, k] (low bits first).

        ``texts`` is a list of str, or Arrow data (array, table, data frame). A text without a feature gets 0, even
        if it contains other characters: exclude such texts from searches. Raises InputError for anything else.
        """
        arrays = text_arrays(texts)
        out = np.empty((sum(map(len, arrays)), self.bits // 64), np.uint64)
        start = 0
        for array in arrays:
            block = out[start : start + len(array)]
            simhash_rows(array, self.features, block)
            start += len(array)
        return out.reshape(-1) if self.bits == 64 else out

    def distances(self, fingerprints: UInt64s, pairs: Any, other: UInt64s | None = None) -> Int64s:
        """Return the number of bits (int64[m]) in which the ``pairs`` of rows of fingerprints differ.

        ``pairs`` are whole numbers [m, 2]; the second is a row of ``other``, if given. Raises InputError for
        rows that do not exist.

        >>> SimHash().distances(np.array([0b1111, 0b0110], np.uint64), [(0, 1)])
        array([2])
        """
        mine = self._rows(fingerprints)
        theirs = mine if other is None else self._rows(other)
        rows = pair_rows(pairs, len(mine), len(theirs))
        differ = np.bitwise_count(mine[rows[:, 0]] ^ theirs[rows[:, 1]])
        bits: Int64s = differ.sum(axis=1, dtype=np.int64)
        return bits

    def provenance(self, of_ids: bool = False) -> Provenance:
        """Return how the fingerprints are made: of texts, or (``of_ids``) of features that the caller provided."""
        parameters = {"of": "ids"} if of_ids else {"features": self.features, "of": "texts"}
        return Provenance(self.family, {"bits": self.bits, **parameters})

    def to_arrow(self, ids: Any, fingerprints: UInt64s, *, of_ids: bool = False) -> pa.Table:
        """Return a table of the columns ``id`` and ``signature`` with its provenance; see ``read_signatures``.

        ``ids`` name the documents (strings or whole numbers); ``of_ids``: the fingerprints are made by
        ``of_features``.
        """
        return signature_table(self.provenance(of_ids), ids, self._rows(fingerprints))

    def _rows(self, fingerprints: Any) -> UInt64s:
        """Return the fingerprints as uint64[n, words]."""
        words = self.bits // 64
        is_flat = isinstance(fingerprints, np.ndarray) and fingerprints.ndim == 1 and words == 1
        return slots_array(fingerprints.reshape(-1, 1) if is_flat else fingerprints, words, np.uint64)

    def of(self, text: str) -> int:
        """Return the fingerprint of one text as an int, whose bit i is bit i of the fingerprint."""
        return _number(self.sketch([text]))

    def of_features(self, features: Iterable[tuple[str | int, float]]) -> int:
        """Return the fingerprint of pairs (feature, weight), for custom weights such as those of rare words.

        A str in the form that :meth:`features_of` returns is hashed as in texts, any other str by BLAKE2b; a whole
        number is the hash itself. Weights are finite numbers, negative ones vote against; they are added exactly,
        so the order does not matter. Without features the result is 0. Raises InputError for anything else.

        >>> bin(SimHash().of_features([(0b1001, 1), (0b0101, 1), (0b1101, 1)]))
        '0b1101'
        >>> SimHash().of_features([("moon", 2.5), ("red", 1)]) == SimHash().of_features([("moon", 1)])
        True
        """
        named, weights = [], []
        for pair in features:
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                raise InputError(f"A feature is {pair!r}", "A pair (feature, weight)")
            named.append(pair[0])
            weights.append(_ratio(pair[1]))
        hashes = [_feature_hash(feature, self.bits) for feature in named]
        words = [[value >> shift & 0xFFFF_FFFF_FFFF_FFFF for shift in range(0, self.bits, 64)] for value in hashes]
        rows = np.array(words, np.uint64).reshape(-1, self.bits // 64)
        for row, feature in zip(rows, named, strict=True):
            if isinstance(feature, str):
                self._hash_as_in_texts(feature, row)
        return _signs(rows, weights)

    def features_of(self, text: str) -> list[tuple[str, int]]:
        """Return the features of a text with their weights (frequencies), in the order of their first occurrence.

        Tokens in a row are joined by spaces. ``of_features(features_of(text))`` equals ``of(text)``.

        >>> SimHash(features="joined:4").features_of("To be, or to be")
        [('tobe', 2), ('obeo', 1), ('beor', 1), ('eort', 1), ('orto', 1), ('rtob', 1)]
        """
        kind, length = _require(self.features)
        if kind in ("char", "joined"):
            units = [unit for unit in units_of(text, "char") if unit != " "] if kind == "char" else tokens(text)
            units, between = list("".join(units)), ""
        else:
            units, between = tokens(text), " "
        last = max(len(units) - length, 0) if units else -1
        return list(Counter(between.join(units[start : start + length]) for start in range(last + 1)).items())

    def _hash_as_in_texts(self, feature: str, out: UInt64s) -> None:
        """Write the hash that texts use for this feature; write nothing for a str that cannot be a feature."""
        kind, length = _require(self.features)
        if kind not in ("char", "joined"):
            if self.features_of(feature) == [(feature, 1)]:
                out[:] = self.sketch([feature])  # a text of one feature has its hash as fingerprint
            return
        # not normalised again: characters that are adjacent here may have been apart in the text
        codepoints = codepoints_of(feature)
        units = np.empty(len(codepoints), np.uint64)
        unit = SOLID if kind == "char" else JOINED
        if 0 < solid_units(codepoints, len(codepoints), unicode_tables(), unit, units) == len(units) <= length:
            simhash_units(units, len(units), length, PUBLIC.shingles, np.empty(len(units) + 8, np.uint64), out)


def simhash(text: str) -> int:
    """Return the 64-bit SimHash of a text, 0 for a text without a character.

    Features are the substrings of 4 characters of the normalised text without white space (a shorter text is one
    feature), weighted by frequency; the same as ``SimHash().of(text)``.

    >>> distance(simhash("The night is dark."), simhash("THE NIGHT  IS DARK."))
    0
    """
    return of_codepoints(read(text).codepoints)


def of_codepoints(codepoints: UInt32s) -> int:
    """Return the 64-bit SimHash of text that is already normalised (uint32 code points)."""
    units, out = np.empty(len(codepoints), np.uint64), np.empty(1, np.uint64)
    n = solid_units(codepoints, len(codepoints), unicode_tables(), SOLID, units)
    simhash_units(units, n, FEATURE_LENGTH, PUBLIC.shingles, np.empty(n + 8, np.uint64), out)
    return int(out[0])


def of_features(hashes: UInt64s, weights: Int64s | None = None) -> int:
    """Return the 64-bit SimHash of hashed features: uint64[n], with weights int64[n] (default: 1 each).

    >>> bin(of_features(np.array([0b1001, 0b0101, 0b1101], np.uint64)))
    '0b1101'
    """
    whole = [1] * len(hashes) if weights is None else weights.tolist()
    return _signs(hashes.reshape(-1, 1), [(weight, 1) for weight in whole])


def distance(a: int, b: int) -> int:
    """Return the Hamming distance: the number of bits in which two fingerprints differ."""
    return (a ^ b).bit_count()


def _require(features: str) -> tuple[str, int]:
    window = features_of(features)
    if window is None:
        lengths = f"N from 1 to {LONGEST_FEATURE}"
        raise SettingError(
            f"features is {features!r}",
            f"'char:N' (N characters without white space), 'joined:N' (without punctuation, too), 'word', "
            f"'shingle:N' (N tokens); {lengths}",
            "For features of your own use of_features()",
        )
    return window


def _feature_hash(feature: object, bits: int) -> int:
    if isinstance(feature, str):
        data = feature.encode("utf-8", "surrogatepass")
        salts = (block.to_bytes(16, "little") for block in range(-(-bits // 128)))  # the first is that of no salt
        digest = b"".join(hashlib.blake2b(data, digest_size=16, salt=salt).digest() for salt in salts)
        return int.from_bytes(digest[: bits // 8], "little")
    if isinstance(feature, int | np.integer) and 0 <= feature < 1 << bits:
        return int(feature)
    raise InputError(f"A feature is {feature!r}", f"A str, or a hash: a whole number from 0 to 2^{bits} − 1")


def _ratio(weight: Any) -> tuple[int, int]:
    """Return the exact value of a weight as numerator and denominator."""
    if isinstance(weight, int | np.integer):
        return int(weight), 1
    if isinstance(weight, float | np.floating) and math.isfinite(weight):
        return float(weight).as_integer_ratio()
    raise InputError(f"A weight is {weight!r}", "A finite number")


def _signs(words: UInt64s, weights: list[tuple[int, int]]) -> int:
    """Set bit i if Σ ±weight > 0, with + for the hashes that have the bit: ``words`` uint64[n, words]."""
    scale = math.lcm(*(denominator for _, denominator in weights))
    whole = [numerator * (scale // denominator) for numerator, denominator in weights]
    fits = sum(map(abs, whole)) < _INT64
    row_bytes = np.ascontiguousarray(words, "<u8").view(np.uint8).reshape(len(words), 8 * words.shape[1])
    bits = np.unpackbits(row_bytes, axis=1, bitorder="little").astype(np.int64 if fits else object)
    votes = np.array(whole, np.int64 if fits else object) @ bits
    return sum(1 << bit for bit, vote in enumerate(votes.tolist()) if 2 * vote > sum(whole))


def _number(words: UInt64s) -> int:
    return sum(word << 64 * place for place, word in enumerate(words.reshape(-1).tolist()))
