"""Windows of a stream → classes of equal windows, proven token by token → blocks of windows that go together.

A *block* is a longest run of windows such that each occurrence of one of them is an occurrence of the whole run.
"""

import numpy as np

from neardup.kernels.bits import multiply61
from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import mix64
from neardup.kernels.text.hashing import PRIME

_NOTHING, _SEVERAL = -2, -1


@entry("uint64[:], int64[:, :], int64, uint64, out uint64[:] -> None")
def window_hashes(tokens, runs, length, point, out):
    """Write the hash (uint64) of each window of ``length`` tokens in ``runs``, one after the other.

    The hash is a polynomial in the tokens modulo 2⁶¹ − 1 at ``point`` (uint64), finalised. ``runs``: int64[n, 2].
    """
    top = np.uint64(1)
    for _ in range(length):
        top = multiply61(top, point)
    used = np.int64(0)
    for run in range(runs.shape[0]):
        begin, end = runs[run, 0], runs[run, 1]
        value = np.uint64(0)
        for i in range(begin, begin + length):
            value = (multiply61(value, point) + tokens[i] % PRIME) % PRIME
        out[used] = mix64(value)
        used += 1
        for first in range(begin, end - 1):
            gone = multiply61(top, tokens[first] % PRIME) % PRIME
            value = (multiply61(value, point) + tokens[first + length] % PRIME + PRIME - gone) % PRIME
            out[used] = mix64(value)
            used += 1


@entry("int32[:], int64[:], int64[:], out int64[:] -> None")
def first_of_each(order, starts, sizes, first):
    """Write to ``first`` (int64) the first window of each group of equal hashes, for all its windows.

    Group g is ``order[starts[g]:starts[g] + sizes[g]]``, ascending; other windows stay as they are.
    """
    for group in range(starts.size):
        least = order[starts[group]]
        for i in range(starts[group], starts[group] + sizes[group]):
            first[order[i]] = least


@entry("uint64[:], int64[:, :], int64, int64[:], int64[:] -> bool")
def are_equal(tokens, runs, length, offsets, first):
    """Return whether each window has the same tokens as the first one of its group.

    Window w of run r is ``tokens[runs[r, 0] + w - offsets[r]:]``. Where the window before equals the window before
    the first one, only the last token is compared.
    """
    window, of_first = np.int64(0), np.int64(0)
    for run in range(runs.shape[0]):
        before = np.int64(-2)  # the first window of the group of the window before
        for begin in range(runs[run, 0], runs[run, 1]):
            least = first[window]
            if least >= 0 and least != window:
                if not (offsets[of_first] <= least < offsets[of_first + 1]):
                    of_first = _run_of(offsets, least)
                other = runs[of_first, 0] + least - offsets[of_first]
                follows = before >= 0 and least == before + 1 and least > offsets[of_first]
                for i in range(length - 1 if follows else 0, length):
                    if tokens[begin + i] != tokens[other + i]:
                        return False
            before = least
            window += 1
    return True


@part
def _run_of(offsets, window):
    """Return the run that has a window: the last one that begins at or before it."""
    low, high = np.int64(0), np.int64(offsets.size - 1)
    while high - low > 1:
        middle = (low + high) >> 1
        if offsets[middle] <= window:
            low = middle
        else:
            high = middle
    return low


@entry("int64[:, :], out int64[:] -> (int64[:], int64[:], int64)")
def classes(runs, first):
    """Return the windows that occur again: (places in the stream int64[n], classes int64[n], number of classes).

    Classes are numbered in the order of their first windows; ``first`` is overwritten.
    """
    count = np.int64(0)
    for least in first:
        count += least >= 0
    where, of_class = np.empty(count, np.int64), np.empty(count, np.int64)
    window = used = number = np.int64(0)
    for run in range(runs.shape[0]):
        for begin in range(runs[run, 0], runs[run, 1]):
            least = first[window]
            if least >= 0:
                if least == window:
                    first[window] = number
                    number += 1
                else:
                    first[window] = first[least]
                where[used], of_class[used] = begin, first[window]
                used += 1
            window += 1
    return where, of_class, number


@entry("out int64[:], out int64[:], out int64[:], int64 -> (int64[:], int64[:], int64[:])")
def blocks(where, sizes, of_class, number):
    """Return the occurrences of blocks in a stream: (places int64[n], windows int64[n], blocks int64[n]).

    ``where`` and ``of_class`` (below ``number``) are the results of ``classes``, or of this kernel for parts of
    the stream; each has ``sizes[i]`` windows. All three are overwritten, and are the memory of the result. An
    occurrence begins at a place in the stream and has a number of windows; blocks are numbered in the order of
    their first occurrences.
    """
    after, before = np.full(number, _NOTHING, np.int64), np.full(number, _NOTHING, np.int64)
    n = where.size
    for i in range(n):
        one = of_class[i]
        following = of_class[i + 1] if i + 1 < n and where[i + 1] == where[i] + sizes[i] else np.int64(_SEVERAL)
        preceding = of_class[i - 1] if i > 0 and where[i - 1] + sizes[i - 1] == where[i] else np.int64(_SEVERAL)
        after[one] = following if after[one] in (_NOTHING, following) else _SEVERAL
        before[one] = preceding if before[one] in (_NOTHING, preceding) else _SEVERAL
    name = np.full(number, -1, np.int64)
    used = named = np.int64(0)
    last, end = np.int64(_NOTHING), np.int64(_NOTHING)
    for i in range(n):
        one, place, size = of_class[i], where[i], sizes[i]
        if place == end and after[last] == one and before[one] == last:
            sizes[used - 1] += size
        else:
            if name[one] < 0:
                name[one] = named
                named += 1
            where[used], sizes[used], of_class[used] = place, size, name[one]
            used += 1
        last, end = one, place + size
    return where[:used], sizes[:used], of_class[:used]


@entry("uint64[:], int64[:], int64[:], uint64, out uint64[:] -> None")
def range_hashes(tokens, begins, ends, point, out):
    """Write the hash (uint64) of the tokens ``begins[i]`` … ``ends[i] - 1`` (int64), as ``window_hashes`` does."""
    for i in range(begins.size):
        value = np.uint64(ends[i] - begins[i])
        for k in range(begins[i], ends[i]):
            value = (multiply61(value, point) + tokens[k] % PRIME) % PRIME
        out[i] = mix64(value)


@entry("uint64[:], int64[:], int64[:], int64[:] -> bool")
def are_equal_ranges(tokens, begins, ends, first):
    """Return whether each range has the same tokens as ``first[i]`` (int64), the first of its group, or -1."""
    for i in range(begins.size):
        least = first[i]
        if least < 0 or least == i:
            continue
        if ends[i] - begins[i] != ends[least] - begins[least]:
            return False
        for k in range(ends[i] - begins[i]):
            if tokens[begins[i] + k] != tokens[begins[least] + k]:
                return False
    return True
