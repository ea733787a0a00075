"""Texts → the features that are left of them when the shingles of base texts do not count.

Base shingles are in an open-addressing table. Features of shingles lose the shingles in the table. Features of
units (words, tokens) lose the units that such a shingle covers, as if they were not in the text.
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sketch.documents import IN_ORDER, NUMBERED, content_rank, number_occurrences, unit_hashes
from neardup.kernels.sorting import append, copy_into, room, sort_distinct

_FREE, _ONE = np.uint64(0), np.uint64(1)


@entry("uint64[:] -> uint64[:]")
def table_of(hashes):
    """Return a table (uint64) of distinct ``hashes`` (uint64) for ``_is_in``.

    A power of two of cells, at most a quarter full, in which 0 is free; then one element: whether 0 is a hash.
    """
    size = 16
    while size < 4 * hashes.size:
        size *= 2
    table = np.zeros(size + 1, np.uint64)
    mask = size - 1
    for value in hashes:
        if value == _FREE:
            table[size] = _ONE
            continue
        at = np.int64(value & np.uint64(mask))
        while table[at] != _FREE:
            at = (at + 1) & mask
        table[at] = value
    return table


@part
def _is_in(table, value):
    mask = table.size - 2
    if value == _FREE:
        return table[mask + 1] == _ONE
    at = np.int64(value & np.uint64(mask))
    while table[at] != _FREE:
        if table[at] == value:
            return True
        at = (at + 1) & mask
    return False


@part
def keep_others(hashes, n, table):
    """Move the hashes of ``hashes[:n]`` that are not in the table to the front, in order; return their number."""
    left = 0
    for i in range(n):
        value = hashes[i]
        if not _is_in(table, value):
            hashes[left] = value
            left += 1
    return left


@part
def mark_covered(shingles, n_shingles, n_units, table, covered):
    """Set ``covered[:n_units]`` (bool): which units are in a shingle of the table; return the number of others.

    ``shingles[:n_shingles]`` (uint64) are the hashes of all shingles of the units, in text order.
    """
    length, until, left = n_units - n_shingles + 1, 0, 0
    for i in range(n_units):
        if i < n_shingles and _is_in(table, shingles[i]):
            until = i + length
        covered[i] = i < until
        left += i >= until
    return left


@part
def _drop(units, n, covered):
    """Move the units of ``units[:n]`` that are not covered to the front, in order; return their number."""
    left = 0
    for i in range(n):
        units[left] = units[i]
        left += not covered[i]
    return left


@part
def _left_units(texts, n, length, key, table, scratch):
    """Drop the covered units of ``texts[0][:n]``; return their number. ``scratch`` = (hashes, covered)."""
    hashes, covered = scratch
    n_shingles = shingle_hashes(texts[0], n, length, key.shingles, hashes)
    mark_covered(hashes, n_shingles, n, table, covered)
    return _drop(texts[0], n, covered)


@entry(
    "TextBatch, int64[:], UnicodeTables, int64[:], (Key, Key), (uint64[:], uint64[:]) -> (uint64[:], "
    "int64[:], uint64[:])"
)
def left_sets(batch, rows, tables, form, keys, ignored):
    """Hash what is left of the documents ``rows`` (int64) of a TextBatch, see ``kernels.sketch.documents``.

    Returns (hashes, ends, ranks) like ``shingle_sets``. ``form`` = (unit, length of base shingles, length of the
    features, content, whether covered units are dropped first), int64[5]; ``ignored`` = the tables of base
    shingles under the two ``keys`` (public, counting).
    """
    unit, base_length, length, content = form[0], form[1], form[2], form[3]
    out, used = np.empty(4096, np.uint64), np.int64(0)
    ends = np.empty(rows.size, np.int64)
    ranks = np.empty(rows.size if content == IN_ORDER else 0, np.uint64)
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    hashes, scratch = np.empty(4096, np.uint64), np.empty(4096, np.uint64)
    covered = np.empty(4096, np.bool_)
    for k in range(rows.size):
        if content == IN_ORDER:
            texts, n, _ = unit_hashes(batch, rows[k], tables, unit, keys[0], texts)
            hashes, covered = room(hashes, n), room(covered, n)
            n = _left_units(texts, n, base_length, keys[0], ignored[0], (hashes, covered))
            ranks[k] = content_rank(texts[0], n)
        texts, n, _ = unit_hashes(batch, rows[k], tables, unit, keys[1], texts)
        hashes, scratch, covered = room(hashes, n), room(scratch, n), room(covered, n)
        if form[4]:
            n = _left_units(texts, n, base_length, keys[1], ignored[1], (hashes, covered))
        if content == IN_ORDER:
            copy_into(hashes, 0, texts[0], n)
        else:
            n = shingle_hashes(texts[0], n, length, keys[1].shingles, hashes)
            if not form[4]:
                n = keep_others(hashes, n, ignored[1])
            if content == NUMBERED:
                number_occurrences(hashes, n, keys[1])
            n = sort_distinct(hashes, n, scratch)
        out = append(out, used, hashes, n)
        used += n
        ends[k] = used
    return out[:used], ends, ranks


@entry("TextBatch, int64[:], UnicodeTables, int64[:], Key, uint64[:], out int64[:, :] -> None")
def count_left(batch, rows, tables, form, key, ignored, counts):
    """``counts[k]`` (int64[m, 3]) = all shingles of document ``rows[k]``, those that count, units that count.

    ``form`` = (unit, shingle length), int64[2]; ``ignored`` is the table of base shingles under ``key``. Shingles
    are distinct.
    """
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    hashes, scratch = np.empty(4096, np.uint64), np.empty(4096, np.uint64)
    covered = np.empty(4096, np.bool_)
    for k in range(rows.size):
        texts, n, _ = unit_hashes(batch, rows[k], tables, form[0], key, texts)
        hashes, scratch, covered = room(hashes, n), room(scratch, n), room(covered, n)
        n_shingles = shingle_hashes(texts[0], n, form[1], key.shingles, hashes)
        counts[k, 2] = mark_covered(hashes, n_shingles, n, ignored, covered)
        counts[k, 0] = sort_distinct(hashes, n_shingles, scratch)
        counts[k, 1] = keep_others(hashes, counts[k, 0], ignored)


@entry("uint64[:], uint64, out uint32[:] -> None")
def add_to_cells(hashes, shift, cells):
    """Add 1 to the cell (uint32) of the top bits of each hash (uint64), by which ``shift`` leaves an index."""
    for value in hashes:
        cells[value >> shift] += np.uint32(1)


@entry("uint64[:], uint64, uint32[:], uint32 -> int64[:]")
def in_full_cells(hashes, shift, cells, most):
    """Return int64[hits]: the places in ``hashes`` (uint64) of those whose cell has more than ``most``."""
    places, hits = np.empty(hashes.size, np.int64), 0
    for i in range(hashes.size):
        places[hits] = i
        hits += cells[hashes[i] >> shift] > most
    return places[:hits]


@entry("out uint64[:], int64[:], bool[:], uint64[:] -> (uint64[:], int64[:])")
def drop_from_sets(hashes, offsets, affected, table):
    """Move the hashes that are not in a table to the front, in place; return (hashes, offsets) of what is left.

    Set k is ``hashes[offsets[k]:offsets[k + 1]]`` (uint64); only ``affected`` (bool) sets may have such hashes.
    """
    ends, used = np.zeros(offsets.size, np.int64), np.int64(0)
    for k in range(offsets.size - 1):
        if affected[k]:
            for i in range(offsets[k], offsets[k + 1]):
                value = hashes[i]
                hashes[used] = value
                used += not _is_in(table, value)
        elif used == offsets[k]:
            used = offsets[k + 1]
        else:
            for i in range(offsets[k], offsets[k + 1]):
                hashes[used] = hashes[i]
                used += 1
        ends[k + 1] = used
    return hashes[:used], ends
