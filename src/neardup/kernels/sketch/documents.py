"""Arrow text buffers → fingerprints, and → sorted shingle sets: the two passes over documents.

Each document becomes a stream of 64-bit unit hashes (tokens, or characters) on the ASCII fast path or through the
Unicode tables; all later steps are the same for both.
"""

from typing import NamedTuple

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.declarations import Int64, Int64s, Uint8s, record
from neardup.kernels.names import name_keys
from neardup.kernels.shingles import shingle_hashes, stream_key
from neardup.kernels.sketch.minhash import (
    add_classic,
    choose_nothing,
    chosen,
    classic,
    compete,
    low_halves,
    one_permutation,
)
from neardup.kernels.sorting import append, copy_into, room, sort_distinct
from neardup.kernels.text.hashing import (
    AS_IS,
    BLOCK,
    LOWER,
    PADDING,
    hash_characters,
    hash_some_characters,
    hash_tokens,
    is_ascii,
    occurrence,
    stream_of_characters,
    stream_of_tokens,
    token_edges,
)
from neardup.kernels.text.tokens import collapse_white_space, tokenise
from neardup.kernels.text.unicode import normalise

WORD, CHAR = 0, 1
DISTINCT, NUMBERED, IN_ORDER = 0, 1, 2
ONE_PERMUTATION, CLASSIC = 0, 1


@record
class TextBatch(NamedTuple):
    """Texts in Arrow's layout: document d is ``data[offsets[d]:offsets[d + 1]]``.

    Wide loads read up to PADDING bytes after a text, and must not leave the buffer. So the documents that end
    close to its end are read from ``tail``, a padded copy of ``data[tail_begin:]``.
    """

    data: Uint8s  # uint8[bytes]
    offsets: Int64s  # int64[documents + 1]
    tail: Uint8s  # uint8
    tail_begin: Int64  # int64, the start of some document


@part
def _units_of(batch, d, tables, unit, edges):
    """Locate the units of document ``d``: (data, edges, code points, number of units, fold, invalid sequences).

    Token i is ``data[edges[2 i]:edges[2 i + 1]]``, each byte or-ed with ``fold``; characters are the code points.
    ``edges`` may be replaced by a larger array.
    """
    data, start, end = batch.data, batch.offsets[d], batch.offsets[d + 1]
    if start >= batch.tail_begin:
        data, start, end = batch.tail, start - batch.tail_begin, end - batch.tail_begin
    if unit == WORD and is_ascii(data, start, end):
        edges = room(edges, end - start + 80)
        return data, edges, np.empty(0, np.uint32), token_edges(data, start, end, edges), LOWER, 0
    codepoints, n, invalid = normalise(data, start, end, tables)
    if unit == CHAR:
        return data, edges, codepoints, collapse_white_space(codepoints, n, tables), AS_IS, invalid
    text, ends = np.empty(4 * n + PADDING, np.uint8), np.empty(n, np.int64)
    n_tokens = tokenise(codepoints, n, tables, text, ends)
    edges = room(edges, 2 * n_tokens)
    begin = np.int64(0)
    for i in range(n_tokens):
        edges[2 * i], edges[2 * i + 1] = begin, ends[i]
        begin = ends[i]
    return text, edges, codepoints, n_tokens, AS_IS, invalid


@part
def unit_hashes(batch, d, tables, unit, key, scratch):
    """Hash by a ``Key`` the tokens (WORD) or characters (CHAR) of document ``d`` of a TextBatch, in order.

    ``scratch`` = (units uint64, edges int64); both may be replaced by larger ones. Returns (scratch, number of
    units, number of invalid UTF-8 sequences, each read as one U+FFFD); the hashes are in units.
    """
    units, edges = scratch
    data, edges, codepoints, n, fold, invalid = _units_of(batch, d, tables, unit, edges)
    units = room(units, n)
    if unit == CHAR:
        hash_characters(codepoints, n, key, units)
    else:
        hash_tokens(data, edges, n, fold, key, units)
    return (units, edges), n, invalid


@entry(
    "TextBatch, UnicodeTables, int64[:], (uint32[:], uint32[:]), (Key, Key), out (int64[:], uint64[:, "
    ":], uint32[:, :], int64[:]) -> None"
)
def fingerprint(batch, tables, form, coefficients, keys, out):
    """Fingerprint every document of a TextBatch.

    ``form`` = (unit, shingle length, sketch kind), int64[3]; ``coefficients`` = (a, b), uint32[slots] each, of
    classic MinHash; ``keys`` = (public, counting): the ``Key`` of signatures and that of streams; ``out`` = (sizes
    int64[n] units, stream keys uint64[n, 2] or [0, 2] for none, signatures uint32[n, slots], invalid int64[n]). A
    document without units gets size 0 and a meaningless signature. With zero slots nothing is sketched.
    """
    unit, length, kind = form[0], form[1], form[2]
    a, b = coefficients
    public, counting = keys
    sizes, streams, signatures, invalid = out
    published = streams.shape[0] > 0 and counting.tokens.size == 0
    edges = np.empty(8192, np.int64)
    units, nothing = np.empty(4096, np.uint64), np.empty(0, np.uint64)
    first, second = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    hashes = np.empty(4096, np.uint64)
    low = np.empty(4096, np.uint32)
    best, spare = np.empty(a.size, np.uint64), np.empty(a.size, np.uint32)
    for d in range(batch.offsets.size - 1):
        data, edges, codepoints, n, fold, wrong = _units_of(batch, d, tables, unit, edges)
        sizes[d], invalid[d] = n, wrong
        keyed, in_blocks = streams.shape[0] > 0 and not published, unit == CHAR and n > 4 * BLOCK and not published
        if not in_blocks:
            units = room(units, n)
        if unit == CHAR:
            if keyed:
                streams[d, 0], streams[d, 1] = stream_of_characters(codepoints, n, counting, (first, second))
            if not in_blocks and (a.size > 0 or not keyed):
                hash_characters(codepoints, n, public, units)
        elif keyed:
            all_three = (units if a.size > 0 else nothing, first, second)
            streams[d, 0], streams[d, 1] = stream_of_tokens(data, edges, n, fold, counting, all_three, False)
        else:
            hash_tokens(data, edges, n, fold, public, units)
        if published:
            streams[d, 0], streams[d, 1] = stream_key(units, n)
        if n == 0 or a.size == 0:
            continue
        if in_blocks:
            units, hashes, low = room(units, BLOCK + length), room(hashes, BLOCK), room(low, BLOCK)
            in_block = (units, hashes, low, best, spare)
            _sketch_in_blocks(codepoints, n, form, public, coefficients, in_block, signatures[d])
            continue
        hashes, low = room(hashes, n), room(low, n + 63)
        n_shingles = shingle_hashes(units, n, length, public.shingles, hashes)
        if kind == CLASSIC:
            low_halves(hashes, n_shingles, low)
            classic(low, n_shingles, a, b, signatures[d])
        else:
            one_permutation(hashes, n_shingles, a, b, (low, best, spare), signatures[d])


@part
def _sketch_in_blocks(codepoints, n, form, public, coefficients, scratch, signature):
    """Write the signature of ``codepoints[:n]`` (more than a shingle) without arrays as long as the text.

    ``scratch`` = (units, hashes, low, best, spare) for BLOCK shingles.
    """
    units, hashes, low, best, spare = scratch
    a, b = coefficients
    length, n_shingles = form[1], n - form[1] + 1
    choose_nothing(best, signature)
    if form[2] == ONE_PERMUTATION:
        for begin in range(0, n_shingles, BLOCK):
            size = min(BLOCK, n_shingles - begin)
            hash_some_characters(codepoints, begin, size + length - 1, public, units)
            compete(hashes, shingle_hashes(units, size + length - 1, length, public.shingles, hashes), best)
        if chosen(best, signature) == 0:
            return
    for begin in range(0, n_shingles, BLOCK):
        size = min(BLOCK, n_shingles - begin)
        hash_some_characters(codepoints, begin, size + length - 1, public, units)
        shingle_hashes(units, size + length - 1, length, public.shingles, hashes)
        low_halves(hashes, size, low)
        add_classic(low, size, a, b, (best, spare, signature))


@entry("TextBatch, UnicodeTables, int64[:], Key, out (int64[:], uint64[:, :], int64[:]) -> (uint64[:], int64[:])")
def keys_and_sets(batch, tables, form, key, out):
    """Compute the stream keys of ``fingerprint`` and the sets of ``shingle_sets`` of all documents in one pass.

    ``form`` = (unit, shingle length, DISTINCT or NUMBERED), int64[3]; ``key`` is a ``Key`` with tokens; ``out`` =
    (sizes int64[n], stream keys uint64[n, 2], invalid int64[n]). Returns (hashes uint64, ends int64[n]).
    """
    sizes, streams, invalid = out
    edges, units = np.empty(8192, np.int64), np.empty(4096, np.uint64)
    first, second = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    hashes = np.empty(4096, np.uint64)
    found = np.empty((batch.offsets[batch.offsets.size - 1] - batch.offsets[0]) // 6 + 64, np.uint64)
    ends = np.empty(sizes.size, np.int64)
    used = np.int64(0)
    for d in range(sizes.size):
        data, edges, codepoints, n, fold, wrong = _units_of(batch, d, tables, form[0], edges)
        sizes[d], invalid[d] = n, wrong
        units = room(units, n)
        if form[0] == CHAR:
            hash_characters(codepoints, n, key, units)
            streams[d, 0], streams[d, 1] = stream_of_characters(codepoints, n, key, (first, second))
        else:
            hash_tokens(data, edges, n, fold, key, units)
            all_three = (units, first, second)
            streams[d, 0], streams[d, 1] = stream_of_tokens(data, edges, n, fold, key, all_three, True)
        hashes = room(hashes, n)
        m = shingle_hashes(units, n, form[1], key.shingles, hashes)
        if form[2] == NUMBERED:
            number_occurrences(hashes, m, key)
        m = sort_distinct(hashes, m, units)  # the units are not needed any more
        found = append(found, used, hashes, m)
        used += m
        ends[d] = used
    return found[:used], ends


@part
def number_occurrences(hashes, n, key):
    """Turn the second, third, … occurrence of a hash in ``hashes[:n]`` (uint64) into a hash of its own, in place.

    The Jaccard coefficient of sets of numbered occurrences is Σ min / Σ max of the counts of each element.
    """
    names = np.empty(n, np.int32)
    seen = np.zeros(name_keys(hashes, n, names), np.uint64)
    k = (key.occurrences[0], key.occurrences[1], key.occurrences[2], key.occurrences[3])
    for i in range(n):
        times = seen[names[i]]
        seen[names[i]] += np.uint64(1)
        if times > 0:
            hashes[i] = occurrence(hashes[i], times, k)


@part
def content_rank(tokens, n):
    """Return a uint64 that orders documents by content; ``tokens`` (uint64) are published hashes."""
    return stream_key(tokens, n)[0]


@entry("TextBatch, int64[:], UnicodeTables, int64[:], (Key, Key) -> (uint64[:], int64[:], uint64[:])")
def shingle_sets(batch, rows, tables, form, keys):
    """Hash the documents ``rows`` (int64) of a TextBatch: sorted distinct shingles, or as ``form`` requests.

    Returns (hashes uint64, ends int64[len(rows)], ranks uint64): set k ends before ``hashes[ends[k]]`` and begins
    at the end of the set before. ``form`` = (unit, shingle length, content), int64[3]; content is DISTINCT,
    NUMBERED (sorted shingles, every occurrence counts), or IN_ORDER (the units themselves, in text order, and the
    ``content_rank`` of each document; the others have no ranks). ``keys`` = (public, counting), see
    ``fingerprint``.
    """
    public, counting = keys
    total = np.int64(0)
    for row in rows:
        total += batch.offsets[row + 1] - batch.offsets[row]
    out = np.empty(total // 6 + 64, np.uint64)  # about one token in six bytes of prose; grows if that is too few
    ends = np.empty(rows.size, np.int64)
    ranks = np.empty(rows.size if form[2] == IN_ORDER else 0, np.uint64)
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    hashes = np.empty(4096, np.uint64)
    used = np.int64(0)
    for k in range(rows.size):
        if form[2] == IN_ORDER:
            texts, n, _ = unit_hashes(batch, rows[k], tables, form[0], public, texts)
            ranks[k] = content_rank(texts[0], n)
        texts, n, _ = unit_hashes(batch, rows[k], tables, form[0], counting, texts)
        hashes = room(hashes, n)
        if form[2] == IN_ORDER:
            copy_into(hashes, 0, texts[0], n)
        else:
            n = shingle_hashes(texts[0], n, form[1], counting.shingles, hashes)
            if form[2] == NUMBERED:
                number_occurrences(hashes, n, counting)
            n = sort_distinct(hashes, n, texts[0])  # the units are not needed any more
        out = append(out, used, hashes, n)
        used += n
        ends[k] = used
    return out[:used], ends, ranks


@part
def table_of_wanted(wanted):
    """Return places int64[2 ** bits] of hashes (uint64, distinct), −1 where free: a table with linear probing.

    It is indexed by the low bits, which are random.
    """
    bits = 4
    while (1 << bits) < 4 * wanted.size:
        bits += 1
    mask = (1 << bits) - 1
    places = np.full(1 << bits, -1, np.int64)
    for k in range(wanted.size):
        at = np.int64(wanted[k] & np.uint64(mask))
        while places[at] >= 0:
            at = (at + 1) & mask
        places[at] = k
    return places


@part
def count_wanted(hashes, begin, end, wanted, places, seen, name):
    """Return how many of ``wanted`` are in ``hashes[begin:end]``, which may have repeats.

    ``places`` is ``table_of_wanted``; ``seen`` int64[wanted] notes those count by ``name``, another one each time.
    """
    mask, count = places.size - 1, np.int64(0)
    for i in range(begin, end):
        slot = np.int64(hashes[i] & np.uint64(mask))
        while places[slot] >= 0:
            k = places[slot]
            if wanted[k] == hashes[i]:
                count += seen[k] != name
                seen[k] = name
                break
            slot = (slot + 1) & mask
    return count


@entry("uint64[:], int64[:], uint64[:], out int64[:] -> None")
def count_among(hashes, offsets, wanted, shared):
    """Fill ``shared`` (int64[n]) with the number of ``wanted`` (uint64, distinct) in each of some sets.

    Set k is ``hashes[offsets[k]:offsets[k + 1]]`` (uint64); it may have repeats.
    """
    places, seen = table_of_wanted(wanted), np.full(wanted.size, -1, np.int64)
    for d in range(shared.size):
        shared[d] = count_wanted(hashes, offsets[d], offsets[d + 1], wanted, places, seen, d)


@entry("TextBatch, UnicodeTables, int64[:], Key, uint64[:], out int64[:] -> (uint64[:], int64[:])")
def count_sharing(batch, tables, form, key, wanted, shared):
    """Fill ``shared`` (int64[n]) with the number of ``wanted`` (uint64, distinct) that are shingles of each text.

    ``batch`` is a TextBatch, ``form`` = (unit, shingle length), int64[2], ``key`` the ``Key`` of the shingles.
    Returns (hashes uint64, ends int64[n]): the shingles of each text, in its order and with repeats; those of text
    k end before ``hashes[ends[k]]``.
    """
    places, seen = table_of_wanted(wanted), np.full(wanted.size, -1, np.int64)
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    out = np.empty((batch.offsets[shared.size] - batch.offsets[0]) // 6 + 64, np.uint64)
    hashes = np.empty(4096, np.uint64)
    ends = np.empty(shared.size, np.int64)
    used = np.int64(0)
    for d in range(shared.size):
        texts, n, _ = unit_hashes(batch, d, tables, form[0], key, texts)
        hashes = room(hashes, n)
        n = shingle_hashes(texts[0], n, form[1], key.shingles, hashes)
        shared[d] = count_wanted(hashes, 0, n, wanted, places, seen, d)
        out = append(out, used, hashes, n)
        used += n
        ends[d] = used
    return out[:used], ends
