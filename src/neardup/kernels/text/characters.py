"""The characters of texts as one hash: equal for texts that differ at most in white space and normal form (NFC).

The texts with equal hashes are those with equal ``neardup.text.characters.canonical``: one definition, made twice.
A byte order mark at the beginning is no character of a text. A *field* is a run of characters without white space
(property White_Space). A text is the sequence of its fields, each hashed with a key from its bytes in UTF-8, and
the hash of a text is a polynomial of those (``kernels.text.hashing``). A text that is well-formed UTF-8 and surely
in NFC is hashed as it is; another one is decoded and normalised first. ``tables`` are those of
``neardup.unicode.canonical_tables``.
"""

import numpy as np

from neardup.kernels.bits import four_steps61, load64, odd_mask, trailing_zeros, white_mask
from neardup.kernels.compiler import entry, part
from neardup.kernels.sorting import room
from neardup.kernels.text.hashing import AS_IS, BLOCK, PADDING, PRIME, keyed_hash, powers61, top_of, write_edges
from neardup.kernels.text.tokens import put_utf8
from neardup.kernels.text.unicode import (
    CHECK,
    MAPPED,
    PAYLOAD,
    REPLACEMENT,
    TO_POOL,
    WHITE_SPACE,
    decode_rare,
    nfc,
    quick_check,
    record,
)

NUL_BYTE = 0xFF
"""Stands for the character NUL, with which the words of a hash are padded; no byte of UTF-8."""

_ALL, _ONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1)
_4, _8, _64 = np.uint64(4), np.uint64(8), np.uint64(64)


@part(inline=True)
def _decode(data, i, end):
    """Decode a sequence like ``decode_rare``: branches, not a computation, say where the next one begins."""
    lead = np.int64(data[i])
    if i + 2 < end and lead >= 0xC2:
        second, third = np.int64(data[i + 1]), np.int64(data[i + 2])
        if lead < 0xE0 and (second & 0xC0) == 0x80:
            return ((lead & 0x1F) << 6) | (second & 0x3F), np.int64(2)
        if 0xE0 < lead < 0xED and (second & 0xC0) == 0x80 and (third & 0xC0) == 0x80:
            return ((lead & 0x0F) << 12) | ((second & 0x3F) << 6) | (third & 0x3F), np.int64(3)
    if lead == 0:
        return lead, np.int64(1)
    return decode_rare(data, i, end)


@part
def field_edges(data, start, end, tables, edges):
    """Write the start and end of each field of ``data[start:end]`` to ``edges``; return the number of fields.

    Returns −1 for a text that is not well-formed, has a NUL, or may not be in NFC. ``edges`` is int64[≥ end −
    start + 80].
    """
    n, carry, block = 0, np.uint64(0), np.int64(start)
    i, last, white_until = np.int64(start), np.int64(0), np.int64(start)
    while block < end:
        stop = min(block + 64, end)
        inside = _ALL if end - block >= 64 else (_ONE << np.uint64(end - block)) - _ONE
        mask, odd = inside & ~white_mask(data, block), inside & odd_mask(data, block)
        if white_until > block:  # by a character that began in the block before
            mask &= ~((_ONE << np.uint64(white_until - block)) - _ONE)
        i = max(i, block)
        while odd != 0 and i < stop:
            if 0 < data[i] < 0x80:
                odd_from_here = odd >> np.uint64(i - block)
                if odd_from_here == 0:
                    break
                i += trailing_zeros(odd_from_here)
                last = np.int64(0)
            code_point, taken = _decode(data, i, end)
            if code_point <= 0:
                return -1
            rec = record(code_point, tables)
            if rec & (MAPPED | CHECK | WHITE_SPACE) == 0:
                last = np.int64(0)
            elif rec & MAPPED:
                return -1
            else:
                last, doubt = quick_check(rec, last)
                if doubt:
                    return -1
                if rec & WHITE_SPACE:
                    white_until = i + taken
                    mask &= ~(((_ONE << np.uint64(taken)) - _ONE) << np.uint64(i - block))
            i += taken
        n, carry = write_edges(mask, carry, block, edges, n)
        block += 64
    if n & 1:
        edges[n] = end
        n += 1
    return n >> 1


@part(inline=True)
def without_mark(data, start, end):
    """Return where a text begins, after its byte order mark."""
    marked = end - start > 2 and data[start] == 0xEF and data[start + 1] == 0xBB and data[start + 2] == 0xBF
    return start + 3 if marked else start


@entry("uint8[:], int64, int64, UnicodeTables -> (uint32[:], int64)")
def normal_points(data, start, end, tables):
    """Return (code points uint32, their number) of any text in NFC."""
    points, n, i = np.empty(end - start + 8, np.uint32), np.int64(0), np.int64(start)
    while i < end:
        code_point, taken = np.int64(data[i]), np.int64(1)
        if code_point >= 0x80:
            code_point, taken = decode_rare(data, i, end)
            code_point = np.int64(REPLACEMENT) if code_point < 0 else code_point
        i += taken
        rec = record(code_point, tables)
        if rec & TO_POOL:
            offset = (rec >> (PAYLOAD + 5)) & 0xFFFF
            for k in range(offset, offset + ((rec >> PAYLOAD) & 0x1F)):
                points[n] = tables.pool[k]
                n += 1
        else:
            points[n] = (rec >> PAYLOAD) & 0x1FFFFF if rec & MAPPED else code_point
            n += 1
    return nfc(points, n, tables)


@part
def normalised_fields(data, start, end, tables):
    """Return (bytes uint8, edges int64, number of fields) of any text, in NFC; NUL is written as NUL_BYTE."""
    points, n = normal_points(data, start, end, tables)
    text, edges = np.empty(4 * n + PADDING, np.uint8), np.empty(n + 2, np.int64)
    size, fields, within = np.int64(0), np.int64(0), False
    for k in range(n):
        code_point = np.int64(points[k])
        solid = record(code_point, tables) & WHITE_SPACE == 0
        if solid != within:
            edges[2 * fields + within] = size
            fields += within
            within = solid
        if solid and code_point == 0:
            text[size] = NUL_BYTE
            size += 1
        elif solid:
            size = put_utf8(code_point, text, size)
    if within:
        edges[2 * fields + 1] = size
        fields += 1
    return text, edges, fields


@part
def hash_of_fields(data, edges, n, key, hashes):
    """Return a polynomial (uint64) of n and the hashes of n fields; ``hashes`` (uint64[BLOCK]) is scratch."""
    k, powers, value = key.tokens, powers61(key.stream[0]), np.uint64(n)
    few = (k[0], k[1], k[2], k[3])
    for begin in range(0, n, BLOCK):
        size = min(BLOCK, n - begin)
        for j in range(size):
            first, until = edges[2 * (begin + j)], edges[2 * (begin + j) + 1]
            length = np.uint64(until - first)
            if length <= _8:
                hashes[j] = top_of(few, load64(data, first) & (_ALL >> (_64 - _8 * length))) >> _4
            else:
                hashes[j] = keyed_hash(data, first, until, AS_IS, k, 0) >> _4
        for j in range(size, (size + 3) & ~3):
            hashes[j] = np.uint64(0)
        for j in range(0, size, 4):
            value = four_steps61(value, powers, hashes[j], hashes[j + 1], hashes[j + 2], hashes[j + 3])
    return value % PRIME


@entry("TextBatch, UnicodeTables, Key, out uint64[:] -> None")
def character_hashes(batch, tables, key, out):
    """Write the hash of the characters of each document of a TextBatch to ``out`` (uint64[n]), by a ``Key``."""
    edges, hashes = np.empty(8192, np.int64), np.empty(BLOCK, np.uint64)
    for d in range(out.size):
        data, start, end = batch.data, batch.offsets[d], batch.offsets[d + 1]
        if start >= batch.tail_begin:
            data, start, end = batch.tail, start - batch.tail_begin, end - batch.tail_begin
        start = without_mark(data, start, end)
        edges = room(edges, end - start + 80)
        n = field_edges(data, start, end, tables, edges)
        if n >= 0:
            out[d] = hash_of_fields(data, edges, n, key, hashes)
        else:
            text, own, n = normalised_fields(data, start, end, tables)
            out[d] = hash_of_fields(text, own, n, key, hashes)
