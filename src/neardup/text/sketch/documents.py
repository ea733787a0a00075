"""Texts → tokens, shingles, fingerprints or shingle sets: of one text as plain values, of many as Arrow arrays.

*Base text* are shingles that do not count. Sets lose those of the base text. Measures of words or of common text
count the units (tokens or characters) that no base shingle covers, as if the others were not in the text.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.kernels.shingles import mix_all
from neardup.kernels.sketch import (
    ALL,
    CHAR,
    CLASSIC,
    DISTINCT,
    IN_ORDER,
    NUMBERED,
    ONE_PERMUTATION,
    WORD,
    count_among,
    count_sharing,
    keys_and_sets,
    sample_sets,
)
from neardup.kernels.sketch import fingerprint as kernel_fingerprint
from neardup.kernels.sketch import shingle_sets as kernel_shingle_sets
from neardup.kernels.text import AS_IS, PADDING, Key
from neardup.kernels.text import hash_tokens as hash_all
from neardup.settings import Features, Settings, TextSettings, features_of
from neardup.tables import Int64s, UInt32s, UInt64s, fingerprint_schema
from neardup.text.keys import PUBLIC
from neardup.text.sketch.cleaning import clean_texts, some_cleaned, text_batch
from neardup.text.units import read
from neardup.unicode import canonical_tables, unicode_tables

SEED = 0x6E65_6172_6475_7031
_STEP = 0x9E37_79B9_7F4A_7C15
_WORD = (1 << 64) - 1

_UNITS = {"word": WORD, "char": CHAR}
_SKETCHES = {"one-permutation": ONE_PERMUTATION, "classic": CLASSIC}
_CONTENTS = {"occurrences": NUMBERED, "bag": NUMBERED, "tokens": IN_ORDER}
"""The kind of content that features have if they are no set."""
_NUMBER_BITS = 40
"""Bits of the numbers of elements with repeats."""
_NO_SKETCH = CLASSIC  # with 0 slots: a SimHash run makes no signatures


def splitmix64(state: int) -> int:
    """Return the SplitMix64 output for a state (Steele, Lea and Flood 2014, figure 5)."""
    z = (state + _STEP) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & _WORD
    return z ^ (z >> 31)


@cache
def classic_coefficients(slots: int) -> tuple[UInt32s, UInt32s]:
    """Return multipliers a (odd) and offsets b, uint32[slots] each; more slots keep the first ones.

    >>> a, b = classic_coefficients(2)
    >>> [hex(x) for x in a], [hex(x) for x in b]
    (['0x269a4d1d', '0x9acc05e1'], ['0xfc267272', '0xc3a29529'])
    """
    words = [splitmix64((SEED + slot * _STEP) & _WORD) for slot in range(slots)]
    a = np.array([(word >> 32) | 1 for word in words], np.uint32)
    b = np.array([word & 0xFFFF_FFFF for word in words], np.uint32)
    a.flags.writeable = b.flags.writeable = False
    return a, b


@dataclass(frozen=True)
class ShingleSets:
    """Sorted sets of distinct hashes, or tokens in text order: set k is ``hashes[offsets[k]:offsets[k + 1]]``.

    ``ranks`` (uint64) order documents by their content, independently of the key; only set for tokens in order.
    """

    hashes: UInt64s
    offsets: Int64s
    ranks: UInt64s = field(default_factory=lambda: np.empty(0, np.uint64))

    @property
    def sizes(self) -> Int64s:
        """The number of elements of each set."""
        return np.diff(self.offsets)


def fingerprint(texts: pa.Array, settings: TextSettings) -> pa.RecordBatch:
    """Fingerprint each text: a RecordBatch of ``tables.fingerprint_schema``, one row per text, in order.

    All columns use the public key, so they are the same in every installation. Releases the GIL while it computes.
    """
    slots = settings.sketch.slots
    keys, signatures = np.empty((len(texts), 2), np.uint64), np.empty((len(texts), slots), np.uint32)
    units, invalid = sign(texts, settings, signatures, keys, PUBLIC)
    signature = pa.FixedSizeListArray.from_arrays(pa.array(signatures.reshape(-1)), slots)
    columns = [pa.array(column) for column in (units, keys[:, 0].copy(), keys[:, 1].copy())]
    return pa.record_batch([*columns, signature, pa.array(invalid)], schema=fingerprint_schema(slots))


def sign(
    texts: pa.Array, settings: TextSettings, signatures: UInt32s, keys: UInt64s, counting: Key = PUBLIC
) -> tuple[Int64s, Int64s]:
    """Write the signatures (uint32[n, slots]) and stream keys (uint64[n, 2]; [0, 2]: none) of n texts.

    Signatures use the public key, stream keys the key ``counting``. Text that ``settings.cleaning`` leaves out
    counts in the stream keys and the units, not in the signatures.

    Returns int64[n] units of each text and int64[n] invalid UTF-8 sequences. The row of a text without
    units is meaningless. With 0 slots, no signatures are made. Releases the GIL while it computes.
    """
    if settings.cleaning.is_on and signatures.shape[1]:
        clean = clean_texts(texts, settings)
        sign(clean.texts, clean.settings, signatures, keys[:0])
        signatures = signatures[:, :0]
    units, invalid = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
    coefficients, out = classic_coefficients(signatures.shape[1]), (units, keys, signatures, invalid)
    form = form_of(settings)
    kernel_fingerprint(text_batch(texts), unicode_tables(), form, coefficients, (PUBLIC, counting), out)
    return units, invalid


def sign_with_sets(
    texts: pa.Array, settings: TextSettings, keys: UInt64s, counting: Key, features: Features
) -> tuple[Int64s, Int64s, ShingleSets]:
    """Write the stream keys of n texts as :func:`sign` does, and make their sets as :func:`shingle_sets` does.

    ``features`` are shingles or occurrences. Needs two thirds of the time of both. Returns the units and the
    invalid UTF-8 sequences of each text, and the sets. Releases the GIL while it computes.
    """
    if settings.cleaning.is_on:
        units, invalid = sign(texts, settings, np.empty((len(texts), 0), np.uint32), keys, counting)
        return units, invalid, shingle_sets(texts, np.arange(len(texts)), settings, counting, features)
    unit, length, _, content = _form_of_features(settings, features)
    form, batch = np.array((unit, length, content), np.int64), text_batch(texts)
    units, invalid = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
    hashes, ends = keys_and_sets(batch, unicode_tables(), form, counting, (units, keys, invalid))
    return units, invalid, ShingleSets(hashes, np.concatenate((np.zeros(1, np.int64), ends)))


def character_hashes(texts: pa.Array, key: Key) -> UInt64s:
    """Return a hash of the characters of each text, uint64[n], by a ``key`` with tokens.

    Equal for texts that differ at most in runs of white space and in Unicode's canonical normal form. Releases the
    GIL while it computes.
    """
    from neardup.kernels.text import character_hashes as kernel_character_hashes

    hashes = np.empty(len(texts), np.uint64)
    kernel_character_hashes(text_batch(texts), canonical_tables(), key, hashes)
    return hashes


def simhash_rows(texts: pa.Array, features: str, out: UInt64s) -> None:
    """Write the SimHash fingerprints (uint64[n, k] for 64·k bits, low bits first) of n texts.

    ``features`` is a name accepted by ``features_of``. A text without a feature gets 0. Releases the GIL while it
    computes.
    """
    from neardup.kernels.sketch import JOINED, SOLID, simhash_texts

    window = features_of(features)
    assert window is not None
    kind, length = window
    unit = {"char": SOLID, "joined": JOINED}.get(kind, WORD)
    simhash_texts(text_batch(texts), unicode_tables(), (unit, length), PUBLIC, out)


def simhash_words(settings: TextSettings) -> int:
    """Return the 64-bit words that a run keeps of the SimHash of each text; 0 if it does not use SimHash."""
    return settings.simhash.bits // 64 if settings.by_simhash else 0


def shingle_sets(
    texts: pa.Array, rows: Int64s, settings: TextSettings, key: Key, features: Features = "shingles"
) -> ShingleSets:
    """Return the shingle set, or other ``features``, of each text in ``rows``, in that order, hashed by ``key``.

    Releases the GIL while it computes.
    """
    texts, rows, settings = some_cleaned(texts, rows, settings)
    unit, _, length, content = _form_of_features(settings, features)
    form, batch = np.array((unit, length, content), np.int64), text_batch(texts)
    hashes, ends, ranks = kernel_shingle_sets(batch, rows, unicode_tables(), form, (PUBLIC, key))
    return ShingleSets(hashes, np.concatenate((np.zeros(1, np.int64), ends)), ranks)


def shared_shingles(
    texts: pa.Array, wanted: UInt64s, settings: TextSettings, key: Key
) -> tuple[Int64s, UInt64s, Int64s]:
    """Return how many of the shingles ``wanted`` (uint64, distinct, by ``key``) each text contains: int64[n].

    Also the shingles of all texts, repeats included: uint64, in order, of text k from ``offsets[k]`` to
    ``offsets[k + 1]`` (int64[n + 1]). Needs half the time of making the sets. Releases the GIL while it computes.
    """
    texts = clean_texts(texts, settings).texts
    shared = np.empty(len(texts), np.int64)
    batch = text_batch(texts)
    hashes, ends = count_sharing(batch, unicode_tables(), form_of(settings)[:2], key, wanted, shared)
    return shared, hashes, np.concatenate((np.zeros(1, np.int64), ends))


def shared_with_each(sets: Sequence[UInt64s], wanted: UInt64s) -> Int64s:
    """Return how many of the shingles ``wanted`` (uint64, distinct) each of some sets contains: int64[n].

    The sets (uint64) may have repeats, in any order.
    """
    offsets = np.zeros(len(sets) + 1, np.int64)
    np.cumsum([len(hashes) for hashes in sets], out=offsets[1:])
    shared = np.empty(len(sets), np.int64)
    count_among(np.concatenate([np.empty(0, np.uint64), *sets]), offsets, wanted, shared)
    return shared


@dataclass(frozen=True, eq=False)
class WantedWindows:
    """Windows of tokens to look for in many texts: uint64 hashes by ``key``, distinct in each array.

    ``shingles`` have the length of the settings. ``whole`` are short texts of any length, found by their first
    tokens: bit n of ``lengths`` is set if one of n tokens begins with the tokens of ``heads``.
    """

    shingles: UInt64s
    whole: UInt64s
    heads: UInt64s
    lengths: UInt64s
    key: Key

    @cached_property
    def _indexes(self) -> tuple[Any, Any]:
        from neardup.kernels.sketch import window_index

        return window_index(self.shingles), (window_index(self.whole), window_index(self.heads), self.lengths)

    def in_texts(self, texts: pa.Array, settings: TextSettings) -> Int64s:
        """Return int64[n, 2]: the text and the place of each window that it has, once, ascending.

        The places are those in ``shingles``, then those in ``whole``. Releases the GIL while it computes.
        """
        from neardup.kernels.sketch import windows_met

        form, batch = form_of(settings)[:2], text_batch(texts)
        met: Int64s = windows_met(batch, unicode_tables(), form, self.key, *self._indexes)
        return met


def form_of(settings: TextSettings) -> Int64s:
    """Return the settings for the kernels as int64[3]: unit, shingle length, sketch."""
    unit, sketch = _UNITS[settings.shingles.unit], _SKETCHES.get(settings.sketch.sketch, _NO_SKETCH)
    return np.array([unit, settings.shingles.length, sketch], np.int64)


def _form_of_features(settings: TextSettings, features: Features) -> tuple[int, int, int, int]:
    """Return the unit, the length of a shingle, that of a feature, and the kind of content for the kernels."""
    unit, length, _ = form_of(settings).tolist()
    size = 1 if features in ("words", "bag") else length
    return WORD if features == "words" else unit, length, size, _CONTENTS.get(features, DISTINCT)


# the kernels of ``kernels/sketch/base_text.py`` are imported late: runs without base text need none


@dataclass(frozen=True, eq=False)
class BaseText:
    """The shingles that do not count (uint64, sorted, distinct), by the key of counts and by the public one."""

    counted: UInt64s
    published: UInt64s

    def __len__(self) -> int:
        return len(self.counted)

    def __or__(self, other: "BaseText") -> "BaseText":
        return BaseText(np.union1d(self.counted, other.counted), np.union1d(self.published, other.published))

    def table(self, key: Key) -> UInt64s:
        """The table of the shingles under ``key``, which is the key of counts or the public one."""
        return self._tables[0] if key.tokens.size == 0 else self._tables[1]

    @cached_property
    def _tables(self) -> tuple[UInt64s, UInt64s]:
        from neardup.kernels.sketch import table_of

        return table_of(self.published), table_of(self.counted)


NO_BASE_TEXT = BaseText(np.empty(0, np.uint64), np.empty(0, np.uint64))


def base_text_of(texts: pa.Array, settings: TextSettings, key: Key) -> BaseText:
    """Return the shingles of all ``texts``."""
    rows = np.arange(len(texts))
    return BaseText(*(np.unique(shingle_sets(texts, rows, settings, each).hashes) for each in (key, PUBLIC)))


def left_sets(
    texts: pa.Array, rows: Int64s, settings: TextSettings, key: Key, features: Features, base: BaseText
) -> ShingleSets:
    """Return the ``features`` left of each text in ``rows``, like ``sketch.documents.shingle_sets``."""
    from neardup.kernels.sketch import left_sets as left

    texts, rows, settings = some_cleaned(texts, rows, settings)
    by_units = features not in ("shingles", "occurrences")
    form = (*_form_of_features(settings, features), by_units)
    keys, tables = (PUBLIC, key), (base.table(PUBLIC), base.table(key))
    hashes, ends, ranks = left(text_batch(texts), rows, unicode_tables(), np.array(form, np.int64), keys, tables)
    return ShingleSets(hashes, np.concatenate((np.zeros(1, np.int64), ends)), ranks)


def count_left(texts: pa.Array, rows: Int64s, settings: TextSettings, key: Key, base: BaseText) -> Int64s:
    """int64[rows, 3] of the texts in ``rows``: all shingles, those that count, and the units that count."""
    from neardup.kernels.sketch import count_left as count

    texts, rows, settings = some_cleaned(texts, rows, settings)
    counts = np.empty((len(rows), 3), np.int64)
    count(text_batch(texts), rows, unicode_tables(), form_of(settings)[:2], key, base.table(key), counts)
    return counts


def sign_left(texts: pa.Array, rows: Int64s, settings: TextSettings, base: BaseText, slots: int) -> UInt32s:
    """uint32[rows, slots]: the signatures of the rest of the texts in ``rows``."""
    from neardup.kernels.sketch import sketch_sets

    sets = left_sets(texts, rows, settings, PUBLIC, "shingles", base)
    signatures, chosen = np.empty((len(rows), slots), np.uint32), np.empty((len(rows), slots), np.bool_)
    classic = settings.sketch.sketch == "classic"
    sketch_sets(sets.hashes, sets.offsets, classic, *classic_coefficients(slots), signatures, chosen)
    return signatures


def element_sets(lists: pa.Array, features: Features = "shingles") -> ShingleSets:
    """Return sets of numbered elements (large_list<uint64>) as sets of hashes, in which an element is a shingle.

    A hash is a bijection of the number, and of a repeat: numbers of elements with repeats are below 2⁴⁰, and an
    element is at most 2²⁴ times in a set. So the hashes of two elements are never equal.
    """
    offsets: Int64s = lists.offsets.to_numpy()
    values = lists.values.to_numpy()[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    if features == "occurrences":
        values = values | _repeats(values, offsets) << np.uint64(_NUMBER_BITS)
    hashes = np.empty(len(values), np.uint64)
    mix_all(np.ascontiguousarray(values), hashes)
    hashes, ends = sample_sets(hashes, offsets, (ALL, np.uint64(0), np.int64(0)))
    return ShingleSets(hashes, np.concatenate((np.zeros(1, np.int64), ends)))


def _repeats(values: UInt64s, offsets: Int64s) -> UInt64s:
    """uint64[n]: how often each value occurs before in its set."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((values, owner))
    new = np.ones(len(values), np.bool_)
    new[1:] = (np.diff(owner[order]) > 0) | (values[order][1:] != values[order][:-1])
    first = np.flatnonzero(new)
    before = np.empty(len(values), np.uint64)
    before[order] = np.arange(len(values)) - first[np.cumsum(new) - 1]
    return before


TextOrSet: TypeAlias = str | Set[object]
"""A text, which stands for the set of its shingles, or any set."""


def tokens(text: str, *, unit: str = "word") -> list[str]:
    """Return the tokens of a text in their compared form, in order; with ``unit="char"`` its characters.

    Case, punctuation and layout are normalised as in every comparison (docs/explanation/measures.md). Raises
    InputError for anything but a str, and SettingError for another unit.

    >>> tokens("Dr. Müller PAYS!")
    ['dr', 'müller', 'pays']
    >>> tokens("A b", unit="char")
    ['a', ' ', 'b']
    """
    return read(text).units(_is_word(5, unit)).strings


def shingles(text: str, *, length: int = 5, unit: str = "word") -> set[str]:
    """Return the shingles of a text: its runs of ``length`` tokens, joined by spaces, or of characters.

    A text with fewer tokens has one shingle, all of it; a text without a token has none. Raises InputError for
    anything but a str, and SettingError for a length or unit out of range.

    >>> sorted(shingles("a rose is a rose is a rose", length=4))
    ['a rose is a', 'is a rose is', 'rose is a rose']
    """
    by_word = _is_word(length, unit)
    units, joint = read(text).units(by_word).strings, " " if by_word else ""
    if not units:
        return set()
    return {joint.join(units[start : start + length]) for start in range(max(1, len(units) - length + 1))}


def jaccard(a: TextOrSet, b: TextOrSet, *, length: int = 5, unit: str = "word") -> float:
    """Return the resemblance |A∩B| / |A∪B| of two texts, by their shingles, or of two sets of anything.

    Two empty sets have resemblance 1. Raises InputError for anything else, and SettingError for a length or unit
    out of range (Broder 1997, "On the resemblance and containment of documents", section 2).

    >>> jaccard({1, 2, 3}, {2, 3, 4}), jaccard("the night is dark", "the night is red", length=2)
    (0.5, 0.5)
    """
    one, other = _set_of(a, length, unit), _set_of(b, length, unit)
    union = len(one | other)
    return len(one & other) / union if union else 1.0


def containment(a: TextOrSet, b: TextOrSet, *, length: int = 5, unit: str = "word") -> float:
    """Return the containment |A∩B| / |A| of ``a`` in ``b``: the share of A that is in B.

    The empty set is contained in the empty set only. Arguments and errors are those of :func:`jaccard`.

    >>> containment("the night is", "the night is dark", length=2)
    1.0
    """
    one, other = _set_of(a, length, unit), _set_of(b, length, unit)
    return len(one & other) / len(one) if one else float(not other)


def hash_tokens(tokens: Iterable[str]) -> UInt64s:
    """Return the published hash of each token, uint64[n], in order; the tokens are not normalised.

    The hashes are the same in every installation. They are those of the words that signatures are made from,
    and they suit ``of_ids`` of any family. Raises InputError for anything but str.

    >>> [hex(value) for value in hash_tokens(["night", ""]).tolist()]
    ['0x4aee0ee892a2e805', '0x0']
    """
    if isinstance(tokens, str):
        raise InputError("The tokens are one str", "A list of str", "Use tokens(text) to cut a text into tokens")
    encoded = [_utf8(token) for token in tokens]
    stops = np.cumsum(np.array([len(token) for token in encoded], np.int64), dtype=np.int64)
    edges = np.column_stack((np.concatenate((np.zeros(1, np.int64), stops))[:-1], stops)).reshape(-1)
    data = np.frombuffer(b"".join(encoded) + bytes(PADDING), np.uint8)
    hashes = np.empty(len(encoded), np.uint64)
    hash_all(data, edges, len(encoded), AS_IS, PUBLIC, hashes)
    hashes[edges[::2] == edges[1::2]] = 0  # the kernel reads tokens of at least one byte
    return hashes


def _utf8(token: object) -> bytes:
    if not isinstance(token, str):
        raise InputError(f"A token is a {type(token).__name__}", "Tokens of type str", "Use of_ids for numbers")
    return token.encode("utf-8", "replace")


def _set_of(given: TextOrSet, length: int, unit: str) -> Set[object]:
    if isinstance(given, str):
        return shingles(given, length=length, unit=unit)
    if not isinstance(given, Set):
        raise InputError(f"One side is a {type(given).__name__}", "Two texts or sets", "Give set(a) and set(b)")
    return given


def _is_word(length: int, unit: str) -> bool:
    """Return whether the unit is the word. Raises SettingError for a length or unit out of range."""
    return Settings.of(length=length, unit=unit).shingles.unit == "word"
