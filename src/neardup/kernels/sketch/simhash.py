"""Texts → SimHash: bit by bit, the sign of the votes of the text's features (Charikar 2002; Manku et al. 2007).

A feature votes with every bit of its hash. The votes of eight features are added at once to 64 counters of one
byte, which are emptied into wide ones before they can overflow. A feature that occurs k times votes k times:
weights by count need no table.
"""

import numpy as np

from neardup.kernels.bits import add_bits
from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import mix64, shingle_hashes
from neardup.kernels.sketch.documents import WORD, unit_hashes
from neardup.kernels.text.hashing import is_ascii
from neardup.kernels.text.unicode import TOKEN, WHITE_SPACE, normalise, record

SOLID, JOINED = 2, 3
"""Units of character windows besides WORD of documents.py: without white space; of tokens joined."""

ROUND = 31
"""Rounds of eight votes that a byte can count: 248 ≤ 255."""

_GOLD, _ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(1)


@entry("uint32[:], int64, UnicodeTables, int64, out uint64[:] -> int64")
def solid_units(codepoints, n, tables, unit, units):
    """Write the hash of each character of the normalised codepoints[:n] that belongs to ``unit``; return how many.

    SOLID: all but white space; JOINED: characters that can be in a token.
    """
    size = 0
    for i in range(n):
        rec = record(np.int64(codepoints[i]), tables)
        if (rec & TOKEN != 0) if unit == JOINED else (rec & WHITE_SPACE == 0):
            units[size] = mix64(_GOLD * np.uint64(codepoints[i] + np.uint32(1)))
            size += 1
    return size


@part
def ascii_hashes(unit):
    """Return uint64[128]: the hash of each ASCII character of the unit, without case; 0 for all others."""
    table = np.zeros(128, np.uint64)
    for byte in range(128):
        folded = byte + 32 if 65 <= byte <= 90 else byte
        in_token = 48 <= folded <= 57 or 97 <= folded <= 122 or folded == 95
        if in_token if unit == JOINED else folded != 32 and not 9 <= folded <= 13:
            table[byte] = mix64(_GOLD * np.uint64(folded + 1))
    return table


@part
def _solid(batch, d, tables, unit, ascii_table, scratch):
    """Hash the characters of document ``d`` like the tokens in ``unit_hashes``: (scratch, how many)."""
    units, edges = scratch
    data, start, end = batch.data, batch.offsets[d], batch.offsets[d + 1]
    if start >= batch.tail_begin:
        data, start, end = batch.tail, start - batch.tail_begin, end - batch.tail_begin
    if units.size < end - start:
        units = np.empty((end - start) * 3 // 2, np.uint64)
    if is_ascii(data, start, end):
        n = 0
        for i in range(start, end):
            units[n] = ascii_table[data[i]]
            n += units[n] != 0  # branch-free: the end of a word cannot be predicted
        return (units, edges), n
    codepoints, n, _ = normalise(data, start, end, tables)
    if units.size < n:
        units = np.empty(n * 3 // 2, np.uint64)
    return (units, edges), solid_units(codepoints, n, tables, unit, units)


@part
def majority(hashes, n, counts, votes):
    """Return uint64: bit i is 1 if more than half of ``hashes[:n]`` (uint64) have it; 0 without any hash.

    ``hashes`` has room for n + 7, and its entries from n on are overwritten. ``counts`` (uint8[64]) and ``votes``
    (int64[64]) are scratch.
    """
    for i in range(n, (n + 7) & ~7):
        hashes[i] = np.uint64(0)  # votes for nothing
    for bit in range(64):
        votes[bit] = 0
    for begin in range(0, n, 8 * ROUND):
        for bit in range(64):
            counts[bit] = np.uint8(0)
        for at in range(begin, min(n, begin + 8 * ROUND), 8):
            add_bits(counts, hashes, at)
        for bit in range(64):
            votes[bit] += counts[bit]
    out = np.uint64(0)
    for bit in range(64):
        out |= np.uint64(2 * votes[bit] > n) << np.uint64(bit)
    return out


@entry("uint64[:], int64, int64, uint64[:], out uint64[:], out uint64[:] -> None")
def simhash_units(units, n, length, factors, hashes, out):
    """Fill ``out`` (uint64[words]) with the SimHash of the windows of ``length`` units of ``units[:n]``.

    ``factors`` are the factors of the public ``Key``; ``hashes`` uint64[≥ n + 8] is scratch. Word 0 is the SimHash
    of 64 bits; each further word hashes the features once more.
    """
    counts, votes = np.empty(64, np.uint8), np.empty(64, np.int64)
    features = shingle_hashes(units, n, length, factors, hashes)
    for word in range(out.size):
        if word > 0:
            for i in range(features):
                hashes[i] = mix64(hashes[i] + _GOLD)
        out[word] = majority(hashes, features, counts, votes)


@entry("TextBatch, UnicodeTables, (int64, int64), Key, out uint64[:, :] -> None")
def simhash_texts(batch, tables, form, public, out):
    """Fill ``out`` (uint64[documents, words]) with the SimHash of every document of a TextBatch.

    ``form`` = (unit, length): WORD (windows of ``length`` tokens), SOLID or JOINED (windows of characters: see
    ``solid_units``); ``public`` is the public ``Key``.
    """
    unit, length = form
    ascii_table = ascii_hashes(unit)
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    hashes = np.empty(4096, np.uint64)
    for d in range(batch.offsets.size - 1):
        if unit == WORD:
            texts, n, _ = unit_hashes(batch, d, tables, WORD, public, texts)
        else:
            texts, n = _solid(batch, d, tables, unit, ascii_table, texts)
        if hashes.size < n + 8:
            hashes = np.empty(n * 3 // 2 + 8, np.uint64)
        simhash_units(texts[0], n, length, public.shingles, hashes, out[d])
