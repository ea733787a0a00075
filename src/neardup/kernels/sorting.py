"""Sorting of 64-bit keys, places in ascending arrays, and arrays that grow.

Groups of equal keys and sorted sets are those of well-mixed hashes. ``np.searchsorted``, ``sum`` and the like are
Python functions of Numba, which the build would compile into each entry that uses one.
"""

import numpy as np

from neardup.kernels.compiler import entry, part

DIGIT = 11
"""Bits of a pass of radix sort."""
_FEW = 16
"""Hashes that are sorted by insertion at once: cells cost more."""
_RADIX = 1 << DIGIT
_MASK = np.uint64(_RADIX - 1)


@part
def sink(values, begin, root, n):
    """Sink ``values[begin + root]`` to its place in the heap of n values from ``begin`` on."""
    value = values[begin + root]
    while 2 * root + 1 < n:
        child = 2 * root + 1
        if child + 1 < n and values[begin + child] < values[begin + child + 1]:
            child += 1
        if values[begin + child] <= value:
            break
        values[begin + root] = values[begin + child]
        root = child
    values[begin + root] = value


@part
def heap_sort(values, begin, end):
    """Sort ``values[begin:end]`` in place, in n·log n for any values."""
    n = end - begin
    for root in range(n // 2 - 1, -1, -1):
        sink(values, begin, root, n)
    for last in range(n - 1, 0, -1):
        values[begin], values[begin + last] = values[begin + last], values[begin]
        sink(values, begin, 0, last)


@entry("uint64[:], int64 -> int32[:]")
def sorted_by_key(keys, passes):
    """Return the int32 order that sorts ``keys`` (uint64) by their top ``11 · passes`` bits, stable (LSD radix).

    Keys that differ only below those bits are mixed, in input order; ``equal_runs`` repairs that.
    """
    n = keys.size
    order = np.empty(n, np.int32)
    other = np.empty(n, np.int32)
    for i in range(n):
        order[i] = i
    counts = np.empty(_RADIX + 1, np.int64)
    for step in range(passes):
        shift = np.uint64(64 - DIGIT * (passes - step))
        counts[:] = 0
        for i in range(n):
            counts[np.int64((keys[i] >> shift) & _MASK) + 1] += 1
        for digit in range(_RADIX):
            counts[digit + 1] += counts[digit]
        for i in range(n):
            digit = np.int64((keys[order[i]] >> shift) & _MASK)
            other[counts[digit]] = order[i]
            counts[digit] += 1
        order, other = other, order
    return order


@part
def equal_runs(keys, order, top_bits):
    """Return the runs of two or more equal keys in ``order``: (starts, sizes), int64; repairs ``order``.

    ``order`` sorts by the top ``top_bits`` bits; inside a stretch that agrees there, the whole keys are sorted by
    insertion, stable. Stretches of different keys are short because keys are well mixed.
    """
    n = order.size
    shift = np.uint64(64 - top_bits)
    starts = np.empty(n // 2 + 1, np.int64)
    sizes = np.empty(n // 2 + 1, np.int64)
    found = 0
    begin = 0
    while begin < n:
        top = keys[order[begin]] >> shift
        end = begin + 1
        while end < n and keys[order[end]] >> shift == top:
            end += 1
        if end - begin > 1:
            for i in range(begin + 1, end):
                item = order[i]
                j = i
                while j > begin and keys[order[j - 1]] > keys[item]:
                    order[j] = order[j - 1]
                    j -= 1
                order[j] = item
            run = begin
            for i in range(begin + 1, end + 1):
                if i == end or keys[order[i]] != keys[order[run]]:
                    if i - run > 1:
                        starts[found], sizes[found] = run, i - run
                        found += 1
                    run = i
        begin = end
    return starts[:found], sizes[:found]


@entry("uint64[:] -> (int32[:], int64[:], int64[:])")
def equal_groups(keys):
    """Return the runs of two or more equal ``keys`` (uint64, well mixed): (order int32, starts, sizes int64).

    Run k is ``order[starts[k]:starts[k] + sizes[k]]``, in input order. Two or three radix digits are enough to
    keep the stretches that agree in them short.
    """
    bits = 0
    while keys.size >> bits:
        bits += 1
    passes = max(1, min(4, (bits + 3) // DIGIT + 1))
    order = sorted_by_key(keys, passes)
    starts, sizes = equal_runs(keys, order, DIGIT * passes)
    return order, starts, sizes


@entry("out uint64[:], out uint64[:], int64, int64 -> uint64[:]")
def sort_by_bits(keys, scratch, low, high):
    """Return ``keys`` (uint64) sorted by bits [low, high), stable; ``scratch`` (as long) may hold the result."""
    counts = np.empty(_RADIX + 1, np.int64)
    while low < high:
        digit = min(DIGIT, high - low)
        shift, mask = np.uint64(low), np.uint64((1 << digit) - 1)
        counts[:] = 0
        for i in range(keys.size):
            counts[np.int64((keys[i] >> shift) & mask) + 1] += 1
        for k in range(1 << digit):
            counts[k + 1] += counts[k]
        for i in range(keys.size):
            k = np.int64((keys[i] >> shift) & mask)
            scratch[counts[k]] = keys[i]
            counts[k] += 1
        keys, scratch = scratch, keys
        low += digit
    return keys


@part
def copy_into(target, at, source, n):
    """``target[at:at + n] = source[:n]``; as a loop, because a slice costs seconds of compilation."""
    for i in range(n):
        target[at + i] = source[i]


@part
def _insertion_sort(values, begin, end):
    for i in range(begin + 1, end):
        value = values[i]
        j = i
        while j > begin and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@entry("out uint64[:], int64, out uint64[:] -> int64")
def sort_distinct(hashes, n, scratch):
    """Sort ``hashes[:n]`` (uint64) in place and drop repeats; return the number of distinct values.

    The hashes are well mixed, so their top bits spread them over n cells (``scratch``: uint64[≥ n]), and each cell
    is sorted by insertion. A cell that is crowded nevertheless, as in adversarial input, is left to a heap sort.
    """
    if n <= _FEW:
        _insertion_sort(hashes, 0, n)
        few = np.int64(n > 0)
        for i in range(1, n):
            hashes[few] = hashes[i]
            few += hashes[few - 1] != hashes[few]
        return few
    bits = 1
    while (1 << bits) < n and bits < 16:
        bits += 1
    shift = np.uint64(64 - bits)
    counts = np.zeros((1 << bits) + 1, np.int32)
    for i in range(n):
        counts[np.int64(hashes[i] >> shift) + 1] += 1
    for cell in range(1 << bits):
        counts[cell + 1] += counts[cell]
    for i in range(n):
        cell = np.int64(hashes[i] >> shift)
        scratch[counts[cell]] = hashes[i]
        counts[cell] += 1
    distinct = 0
    begin = 0
    for cell in range(1 << bits):
        end = np.int64(counts[cell])
        if end - begin > 64:
            heap_sort(scratch, begin, end)
        else:
            _insertion_sort(scratch, begin, end)
        for i in range(begin, end):
            if distinct == 0 or hashes[distinct - 1] != scratch[i]:
                hashes[distinct] = scratch[i]
                distinct += 1
        begin = end
    return distinct


@part
def first_at_least(values, least):
    """Return the first place in ``values`` (ascending) whose value is at least ``least``; their number if none is.

    >>> import numpy as np
    >>> first_at_least(np.array([2, 4, 4, 9]), 4), first_at_least(np.array([2, 4]), 5)
    (1, 2)
    """
    return first_within(values, 0, values.size, least)


@part
def first_within(values, begin, end, least):
    """Return the first place in ``values[begin:end]`` (ascending) with a value from ``least`` on; or ``end``."""
    while begin < end:
        middle = (begin + end) // 2
        if values[middle] < least:
            begin = middle + 1
        else:
            end = middle
    return begin


@part
def room(scratch, needed):
    """Return ``scratch`` itself, or a larger array if it has fewer than ``needed`` elements."""
    if scratch.size >= needed:
        return scratch
    return np.empty(needed + needed // 2, scratch.dtype)


@part
def with_space(rows, used):
    """Return ``rows`` (two-dimensional), or if all are ``used`` a copy with room for as many again."""
    if used < rows.shape[0]:
        return rows
    more = np.empty((2 * used + 16, rows.shape[1]), rows.dtype)
    for i in range(used):
        for k in range(rows.shape[1]):
            more[i, k] = rows[i, k]
    return more


@part
def append(out, used, values, n):
    """Append ``values[:n]`` to the ``used`` elements of ``out``, or of a larger copy of it; return the array."""
    if used + n > out.size:
        larger = np.empty((used + n) * 3 // 2 + 64, out.dtype)
        copy_into(larger, 0, out, used)
        out = larger
    copy_into(out, used, values, n)
    return out
