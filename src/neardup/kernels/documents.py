"""Arrow text buffers → fingerprints, and → sorted shingle sets: the two passes over documents.

Each document becomes a stream of 64-bit unit hashes (tokens, or characters) on the ASCII fast path or through
the Unicode tables; what follows is the same for both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.order import copy_into, sort_distinct
from neardup.kernels.shingles import mix64, shingle_hashes, stream_key
from neardup.kernels.sketch import classic, low_halves, one_permutation
from neardup.kernels.tokens import collapse_white_space, tokenise
from neardup.kernels.unicode import normalise
from neardup.kernels.windows import name_keys
from neardup.kernels.words import AS_IS, PADDING, ascii_tokens, hash_token, is_ascii

WORD, CHAR = 0, 1
DISTINCT, NUMBERED, IN_ORDER = 0, 1, 2
ONE_PERMUTATION, CLASSIC = 0, 1

_GOLD = np.uint64(0x9E3779B97F4A7C15)


class TextBatch(NamedTuple):
    """Texts as Arrow holds them: document d is ``data[offsets[d]:offsets[d + 1]]``.

    Wide loads read up to PADDING bytes behind a text, which must not leave the buffer. So the documents
    that end close to its end are read from ``tail``, a padded copy of ``data[tail_begin:]``.
    """

    data: Any  # uint8[bytes]
    offsets: Any  # int64[documents + 1]
    tail: Any  # uint8
    tail_begin: Any  # int64, the start of some document


@njit(cache=True, nogil=True)
def _room(scratch, needed):
    """``scratch`` itself, or a larger array when it has fewer than ``needed`` elements."""
    if scratch.size >= needed:
        return scratch
    return np.empty(needed + needed // 2, scratch.dtype)


@njit(cache=True, nogil=True)
def _unicode_units(data, start, end, tables, unit, units):
    """Unit hashes of a text with other than ASCII bytes; (units, number of units, invalid sequences)."""
    codepoints, n, invalid = normalise(data, start, end, tables)
    if unit == CHAR:
        n = collapse_white_space(codepoints, n, tables)
        units = _room(units, n)
        for i in range(n):
            units[i] = mix64(_GOLD * np.uint64(codepoints[i] + np.uint32(1)))
        return units, n, invalid
    text = np.empty(4 * n + PADDING, np.uint8)
    ends = np.empty(n, np.int64)
    n_tokens = tokenise(codepoints, n, tables, text, ends)
    units = _room(units, n_tokens)
    begin = np.int64(0)
    for i in range(n_tokens):
        units[i] = hash_token(text, begin, ends[i], AS_IS)
        begin = ends[i]
    return units, n_tokens, invalid


@njit(cache=True, nogil=True)
def unit_hashes(batch, d, tables, unit, scratch):
    """Hashes of the tokens (WORD) or characters (CHAR) of document ``d`` of a TextBatch in text order.

    ``scratch`` = (units uint64, edges int64); both may be replaced by larger ones. Returns (scratch, number
    of units, number of invalid UTF-8 sequences, each read as one U+FFFD); the hashes are in units.
    """
    units, edges = scratch
    data, start, end = batch.data, batch.offsets[d], batch.offsets[d + 1]
    if start >= batch.tail_begin:
        data, start, end = batch.tail, start - batch.tail_begin, end - batch.tail_begin
    if unit == WORD and is_ascii(data, start, end):
        units, edges = _room(units, (end - start) // 2 + 1), _room(edges, end - start + 80)
        return (units, edges), ascii_tokens(data, start, end, edges, units), 0
    units, n, invalid = _unicode_units(data, start, end, tables, unit, units)
    return (units, edges), n, invalid


@njit(cache=True, nogil=True)
def fingerprint(batch, tables, form, a, b, out):
    """Fingerprint every document of a TextBatch.

    ``form`` = (unit, shingle length, sketch kind), int64[3]; a, b: uint32[slots] classic coefficients;
    ``out`` = (sizes int64[n] units, keys uint64[n, 2] stream keys or [0, 2] for none, signatures
    uint32[n, slots], invalid int64[n]). A document without units gets size 0 and a signature that means nothing.
    Without slots nothing is sketched.
    """
    unit, length, kind = form[0], form[1], form[2]
    sizes, keys, signatures, invalid = out
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    hashes = np.empty(4096, np.uint64)
    low = np.empty(4096, np.uint32)
    best, spare = np.empty(a.size, np.uint64), np.empty(a.size, np.uint32)
    for d in range(batch.offsets.size - 1):
        texts, n, wrong = unit_hashes(batch, d, tables, unit, texts)
        units = texts[0]
        sizes[d], invalid[d] = n, wrong
        if keys.shape[0] > 0:
            keys[d, 0], keys[d, 1] = stream_key(units, n)
        if n == 0 or a.size == 0:
            continue
        hashes, low = _room(hashes, n), _room(low, n + 63)
        n_shingles = shingle_hashes(units, n, length, hashes)
        if kind == CLASSIC:
            low_halves(hashes, n_shingles, low)
            classic(low, n_shingles, a, b, signatures[d])
        else:
            one_permutation(hashes, n_shingles, a, b, (low, best, spare), signatures[d])


@njit(cache=True, nogil=True)
def number_occurrences(hashes, n):
    """Make the second, third, … occurrence of a hash in ``hashes[:n]`` (uint64) a hash of its own, in place.

    The Jaccard coefficient of sets of numbered occurrences is Σ min / Σ max of how often each element occurs.
    """
    names = np.empty(n, np.int32)
    seen = np.zeros(name_keys(hashes, n, names), np.uint64)
    for i in range(n):
        times = seen[names[i]]
        seen[names[i]] += np.uint64(1)
        if times > 0:
            hashes[i] = mix64(hashes[i] ^ mix64(times))


@njit(cache=True, nogil=True)
def shingle_sets(batch, rows, tables, form):
    """Hashes of the documents ``rows`` (int64) of a TextBatch: sorted distinct shingles, or as ``form`` says.

    Returns (hashes uint64, ends int64[len(rows)]): set k ends before ``hashes[ends[k]]`` and begins where
    the one before it ends. ``form`` = (unit, shingle length, what), int64[3]; what is DISTINCT, NUMBERED (sorted
    shingles, every occurrence counts), or IN_ORDER (the units themselves, in text order).
    """
    total = np.int64(0)
    for row in rows:
        total += batch.offsets[row + 1] - batch.offsets[row]
    out = np.empty(total // 6 + 64, np.uint64)  # about one token in six bytes of prose; grows when wrong
    ends = np.empty(rows.size, np.int64)
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    hashes = np.empty(4096, np.uint64)
    scratch = np.empty(4096, np.uint64)
    used = np.int64(0)
    for k in range(rows.size):
        texts, n, _ = unit_hashes(batch, rows[k], tables, form[0], texts)
        hashes, scratch = _room(hashes, n), _room(scratch, n)
        if form[2] == IN_ORDER:
            copy_into(hashes, 0, texts[0], n)
        else:
            n = shingle_hashes(texts[0], n, form[1], hashes)
            if form[2] == NUMBERED:
                number_occurrences(hashes, n)
            n = sort_distinct(hashes, n, scratch)
        if used + n > out.size:
            larger = np.empty((used + n) * 3 // 2 + 64, np.uint64)
            copy_into(larger, 0, out, used)
            out = larger
        copy_into(out, used, hashes, n)
        used += n
        ends[k] = used
    return out[:used], ends
