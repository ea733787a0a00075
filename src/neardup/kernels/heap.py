"""A heap of numbers in an array, the greatest on top."""

from __future__ import annotations

from neardup.kernels.compiled import njit


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def heap_sort(values, begin, end):
    """Sort ``values[begin:end]`` in place, in n·log n for any values."""
    n = end - begin
    for root in range(n // 2 - 1, -1, -1):
        sink(values, begin, root, n)
    for last in range(n - 1, 0, -1):
        values[begin], values[begin + last] = values[begin + last], values[begin]
        sink(values, begin, 0, last)
