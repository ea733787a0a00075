"""Texts × wanted shingles → who has what: the look-up of a small reference side in a stream of texts.

A bitmap that fits the second-level cache answers for most shingles of a text that none is wanted; only the others
reach the table of hashes, whose cells are cache misses.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sketch.documents import unit_hashes
from neardup.kernels.sorting import room

_BITS = 23
"""Binary logarithm of the bits of the largest bitmap: 1 MB."""
_63, _6, _ONE = np.uint64(63), np.uint64(6), np.uint64(1)


@njit(cache=True, nogil=True)
def window_index(wanted):
    """Return the index of ``wanted`` (uint64, distinct): (bitmap uint64, table int64).

    Bit h of the bitmap is set if a wanted hash has these high bits. A cell of the table, at the low bits of a hash
    or after it, has its place in ``wanted``, or -1.
    """
    bits = 6
    while bits < _BITS and (1 << bits) < 16 * wanted.size:
        bits += 1
    size = 16
    while size < 2 * wanted.size:
        size *= 2
    bitmap, table = np.zeros(1 << (bits - 6), np.uint64), np.full(size, -1, np.int64)
    shift, mask = np.uint64(64 - bits), size - 1
    for place in range(wanted.size):
        bit = wanted[place] >> shift
        bitmap[np.int64(bit >> _6)] |= _ONE << (bit & _63)
        cell = np.int64(wanted[place] & np.uint64(mask))
        while table[cell] >= 0:
            cell = (cell + 1) & mask
        table[cell] = place
    return bitmap, table


@njit(cache=True, nogil=True)
def windows_met(batch, tables, form, key, wanted, index):
    """Return int64[n, 2]: (text, place in ``wanted``) of each wanted shingle of each text, once, by text.

    ``batch`` is a TextBatch, ``form`` = (unit, shingle length), int64[2], ``key`` the ``Key`` of the shingles, and
    ``index`` the result of ``window_index``. The places of a text are in the order of their first occurrence.
    """
    bitmap, table = index
    bits = 6
    while (1 << bits) < 64 * bitmap.size:
        bits += 1
    shift, mask = np.uint64(64 - bits), table.size - 1
    seen = np.full(wanted.size, -1, np.int64)
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    hashes = np.empty(4096, np.uint64)
    met, n_met = np.empty((1024, 2), np.int64), np.int64(0)
    for d in range(batch.offsets.size - 1):
        texts, n, _ = unit_hashes(batch, d, tables, form[0], key, texts)
        hashes = room(hashes, n)
        for i in range(shingle_hashes(texts[0], n, form[1], key.shingles, hashes)):
            bit = hashes[i] >> shift
            if (bitmap[np.int64(bit >> _6)] >> (bit & _63)) & _ONE == np.uint64(0):
                continue
            cell = np.int64(hashes[i] & np.uint64(mask))
            while table[cell] >= 0 and wanted[table[cell]] != hashes[i]:
                cell = (cell + 1) & mask
            place = table[cell]
            if place < 0 or seen[place] == d:
                continue
            seen[place] = d
            if n_met == met.shape[0]:
                larger = np.empty((2 * n_met, 2), np.int64)
                larger[:n_met] = met
                met = larger
            met[n_met, 0], met[n_met, 1] = d, place
            n_met += 1
    return met[:n_met]
