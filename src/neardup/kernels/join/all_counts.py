"""How many elements any two of some sets share, for all pairs at once."""

from __future__ import annotations

from neardup.kernels.compiled import njit


@njit(cache=True, nogil=True)
def count_all(elements, offsets, holders, begin, shared):
    """Add to ``shared`` (int32[n, n], both triangles) the elements that sets a and b have in common.

    Set k has the elements ``elements[offsets[k]:offsets[k + 1]]``, numbered from 0. The sets with element e are
    ``holders[begin[e]:begin[e + 1]]``, rising. The cost is the sum of the counts; a row fits into a fast cache.
    """
    for a in range(offsets.size - 1):
        row = shared[a]
        for k in range(offsets[a], offsets[a + 1]):
            element = elements[k]
            for place in range(begin[element], begin[element + 1]):
                b = holders[place]
                if b >= a:
                    break
                row[b] += 1
        for b in range(a):
            shared[b, a] = row[b]
