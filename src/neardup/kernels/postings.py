"""Posting lists as bytes: encoded, decoded, and searched without decoding the rest.

A posting is a uint64: the key of a shingle in the high 32 bits, the number of a document that contains it in the
low 32. A block holds the sorted postings whose keys agree in their first bits. It begins with a checksum of four
bytes. Then follow, for each key: twice its difference to the key before, plus 1 if several documents contain it;
if so, the number of documents beyond two; the first document; the difference of each further document to the one
before.

A number takes 7 bits per byte. Blocks are read from files that anybody may have made: for any bytes, nothing is
read or written outside the arrays, and a block that no encoder has made is reported as damaged.
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.sorting import first_at_least, heap_sort

CHECK = 4
"""Bytes of the checksum."""
_LOW = np.uint64(0xFFFF_FFFF)
_PRIME = np.uint64(0x0000_0100_0000_01B3)
_DAMAGED = np.int64(-1)


@part
def _checksum(data, begin, end):
    """FNV-1a of every fourth byte, four times, folded: a flipped bit is certain to change one of the four."""
    a = b = c = d = np.uint64(0xCBF2_9CE4_8422_2325)
    at = begin
    while at + 4 <= end:
        a = (a ^ np.uint64(data[at])) * _PRIME
        b = (b ^ np.uint64(data[at + 1])) * _PRIME
        c = (c ^ np.uint64(data[at + 2])) * _PRIME
        d = (d ^ np.uint64(data[at + 3])) * _PRIME
        at += 4
    while at < end:
        a = (a ^ np.uint64(data[at])) * _PRIME
        at += 1
    whole = ((a * _PRIME + b) * _PRIME + c) * _PRIME + d
    return np.int64((whole ^ (whole >> np.uint64(32))) & _LOW)


@part
def _write(out, at, value):
    """Write a number at ``at``; return the position after it."""
    while value >= 128:
        out[at] = np.uint8(128 | (value & 127))
        value >>= 7
        at += 1
    out[at] = np.uint8(value)
    return at + 1


@part
def _read(data, at, end):
    """Read the number at ``at`` (-1: none of at most 35 bits); return it and the position of the next one."""
    value, shift = np.int64(0), np.int64(0)
    while at < end and shift < 35:
        byte = np.int64(data[at])
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
    return _DAMAGED, at


@entry("uint64[:], int64, out int64[:], out int64[:], out uint8[:] -> int64")
def encode(postings, shift, blocks, ends, out):
    """Encode sorted distinct postings into blocks by their keys >> ``shift``; return the number of blocks.

    ``blocks`` int64[len(postings)] and ``ends`` receive the number and the end of each block; ``out`` needs 14
    bytes per posting.
    """
    n, k, at, n_blocks = len(postings), 0, 0, 0
    while k < n:
        block = np.int64(postings[k] >> np.uint64(32)) >> shift
        begin, before = at, block << shift
        at += CHECK
        while k < n and np.int64(postings[k] >> np.uint64(32)) >> shift == block:
            key = np.int64(postings[k] >> np.uint64(32))
            last = k + 1
            while last < n and np.int64(postings[last] >> np.uint64(32)) == key:
                last += 1
            at = _write(out, at, 2 * (key - before) + (last - k > 1))
            if last - k > 1:
                at = _write(out, at, last - k - 2)
            document = np.int64(0)
            for place in range(k, last):
                number = np.int64(postings[place] & _LOW)
                at = _write(out, at, number - document)
                document = number
            before, k = key, last
        check = _checksum(out, begin + CHECK, at)
        for place in range(CHECK):
            out[begin + place] = np.uint8((check >> (8 * place)) & 255)
        blocks[n_blocks], ends[n_blocks] = block, at
        n_blocks += 1
    return n_blocks


@part
def is_sound(data, begin, end):
    """Return whether the bytes of a block match its checksum."""
    if end - begin <= CHECK:
        return False
    stored = np.int64(0)
    for place in range(CHECK):
        stored |= np.int64(data[begin + place]) << (8 * place)
    return stored == _checksum(data, begin + CHECK, end)


@part
def _documents(data, at, end, several):
    """Return the number of documents of a key (-1: damaged), and the position of the first one."""
    if not several:
        return np.int64(1), at
    more, at = _read(data, at, end)
    # each document needs at least a byte, so a larger number cannot be right
    return (more + 2, at) if 0 <= more <= end - at - 2 else (_DAMAGED, at)


@entry("uint8[:], int64[:], int64[:], int64, out uint64[:] -> int64")
def decode(data, ends, blocks, shift, out):
    """Decode consecutive blocks in ``data`` to postings; return their number, -1 if damaged.

    ``ends``, ``blocks`` as in ``encode``; ``out`` uint64[len(data)].
    """
    n, begin = 0, np.int64(0)
    for place in range(len(ends)):
        end = ends[place]
        if not is_sound(data, begin, end):
            return _DAMAGED
        at, key, first = begin + CHECK, blocks[place] << shift, True
        while at < end:
            step, at = _read(data, at, end)
            key += step >> 1
            if step < 0 or key >> shift != blocks[place] or (step < 2 and not first):
                return _DAMAGED
            count, at = _documents(data, at, end, step & 1)
            if count < 0:
                return _DAMAGED
            document = np.int64(0)
            for k in range(count):
                more, at = _read(data, at, end)
                document += more
                if more < (k > 0) or document > np.int64(_LOW):
                    return _DAMAGED
                out[n] = (np.uint64(key) << np.uint64(32)) | np.uint64(document)
                n += 1
            first = False
        begin = end
    return n


@entry("uint8[:], int64[:], int64[:], int64[:], out int64[:], out int64[:] -> bool")
def locate(data, bounds, rows, steps, counts, places):
    """Find keys in blocks: of pair p the key ``steps[p]`` above the first one of block ``rows[p]`` (-1: none).

    ``bounds`` int64[blocks + 1]. ``counts[p]`` receives the number of documents that contain the key,
    ``places[p]`` the position of the first one. Returns False if a block is damaged.
    """
    for p in range(len(rows)):
        counts[p] = 0
        if rows[p] < 0:
            continue
        at, end, key = bounds[rows[p]] + CHECK, bounds[rows[p] + 1], np.int64(0)
        while at < end:
            step, at = _read(data, at, end)
            if step < 0:
                return False
            key += step >> 1
            count, at = _documents(data, at, end, step & 1)
            if count < 0:
                return False
            if key >= steps[p]:
                if key == steps[p]:
                    counts[p], places[p] = count, at
                break
            for _ in range(count):
                while at < end and data[at] >= 128:
                    at += 1
                at += 1
    return True


@entry("uint8[:], int64[:] -> int64")
def first_damaged(data, bounds):
    """Return the first block that is not sound, -1 if all are."""
    for row in range(len(bounds) - 1):
        if not is_sound(data, bounds[row], bounds[row + 1]):
            return row
    return -1


@entry("uint8[:], int64[:], int64[:], int64[:], out int64[:] -> bool")
def gather(data, counts, places, starts, out):
    """Write the documents that ``locate`` found to ``out`` from ``starts[p]`` on. Returns False if damaged."""
    for p in range(len(counts)):
        at, document = places[p], np.int64(0)
        for k in range(counts[p]):
            more, at = _read(data, at, len(data))
            document += more
            if more < (k > 0):
                return False
            out[starts[p] + k] = document
    return True


@entry("uint64[:], int64[:], out int64[:], out int64[:] -> None")
def find_lists(postings, keys, counts, places):
    """Find keys (int64) in sorted postings: ``counts[p]`` of key p, the first at ``places[p]``."""
    for p in range(len(keys)):
        first = np.uint64(keys[p]) << np.uint64(32)
        places[p] = end = first_at_least(postings, first)
        while end < len(postings) and postings[end] <= first | _LOW:
            end += 1
        counts[p] = end - places[p]


@entry("uint64[:], int64[:], int64[:], int64[:], out int64[:] -> None")
def copy_lists(postings, counts, places, starts, out):
    """Write the documents that ``find_lists`` found to ``out`` from ``starts[p]`` on."""
    for p in range(len(counts)):
        for k in range(counts[p]):
            out[starts[p] + k] = np.int64(postings[places[p] + k] & _LOW)


@entry("out int64[:], int64[:] -> None")
def sort_lists(documents, offsets):
    """Sort each list ``documents[offsets[k]:offsets[k + 1]]`` in place; most are already sorted."""
    for k in range(len(offsets) - 1):
        begin, end = offsets[k], offsets[k + 1]
        for place in range(begin + 1, end):
            if documents[place] < documents[place - 1]:
                heap_sort(documents, begin, end)
                break


@entry("int64[:], int64, out int64[:], out int64[:] -> int64")
def tally(documents, least, seen, out):
    """Count the occurrences of each document in ``seen``; return the number of documents written to ``out``.

    ``seen`` is all zeros, and longer than the largest document number. ``out`` receives the documents that occur
    ``least`` times or more, in no particular order.
    """
    n = 0
    for document in documents:
        seen[document] += 1
        if seen[document] == least:
            out[n] = document
            n += 1
    return n
