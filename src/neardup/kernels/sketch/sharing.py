"""The number of shingles of one set in each of many texts, without building the sets of the texts."""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sketch.documents import unit_hashes


@njit(cache=True, nogil=True)
def count_sharing(batch, tables, form, key, wanted, shared):
    """Fill ``shared`` (int64[n]) with the number of ``wanted`` (uint64, distinct) that are shingles of each text.

    ``batch`` is a TextBatch, ``form`` = (unit, shingle length), int64[2], ``key`` the ``Key`` of the shingles.
    """
    bits = 4
    while (1 << bits) < 4 * wanted.size:
        bits += 1
    mask = (1 << bits) - 1
    # indices of the hashes in ``wanted``: a table with linear probing, indexed by the low bits, which are random
    places = np.full(1 << bits, -1, np.int64)
    for k in range(wanted.size):
        at = np.int64(wanted[k] & np.uint64(mask))
        while places[at] >= 0:
            at = (at + 1) & mask
        places[at] = k
    seen = np.full(wanted.size, -1, np.int64)
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    hashes = np.empty(4096, np.uint64)
    for d in range(shared.size):
        texts, n, _ = unit_hashes(batch, d, tables, form[0], key, texts)
        if hashes.size < n:
            hashes = np.empty(2 * n, np.uint64)
        found = np.int64(0)
        for i in range(shingle_hashes(texts[0], n, form[1], key.shingles, hashes)):
            value = hashes[i]
            at = np.int64(value & np.uint64(mask))
            while places[at] >= 0:
                k = places[at]
                if wanted[k] == value:
                    found += seen[k] != d
                    seen[k] = d
                    break
                at = (at + 1) & mask
        shared[d] = found
