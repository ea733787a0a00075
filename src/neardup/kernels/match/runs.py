"""The longest run of tokens that two texts share, in time that grows with the sum of their lengths.

The suffix automaton of the first text (Blumer et al. 1985) reads the second: each state holds the texts that end
at the same places of the first, so the state after a token is the longest run that ends with it.
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import mix64


@part
def _cell_of(cells, state, token):
    """The cell of the step from ``state`` by ``token``, or the free cell where it belongs."""
    states, tokens = cells[0], cells[1]
    mask = states.size - 1
    cell = np.int64(mix64(token + np.uint64(state) * np.uint64(0x9E3779B97F4A7C15)) & np.uint64(mask))
    while states[cell] >= 0 and (states[cell] != state or tokens[cell] != token):
        cell = (cell + 1) & mask
    return cell


@part
def _step(cells, heads, state, token, target):
    """Set the step from ``state`` by ``token``."""
    states, tokens, targets, following = cells
    cell = _cell_of(cells, state, token)
    if states[cell] < 0:
        states[cell], tokens[cell] = state, token
        following[cell] = heads[state]
        heads[state] = cell
    targets[cell] = target


@part
def automaton(tokens):
    """Return the suffix automaton of ``tokens`` (uint64[n]): (lengths, links, ends, cells).

    int64 for each of at most 2n states: its longest text, the state of its longest suffix elsewhere (-1 for the
    first state), and the end of its first place; and the table of its steps.
    """
    n = tokens.size
    size = 16
    while size < 6 * n:  # at most 3n steps
        size *= 2
    states, steps = np.full(size, -1, np.int64), np.empty(size, np.uint64)
    cells = (states, steps, np.empty(size, np.int64), np.empty(size, np.int64))
    lengths, links, ends = (
        np.zeros(2 * n + 2, np.int64),
        np.full(2 * n + 2, -1, np.int64),
        np.zeros(2 * n + 2, np.int64),
    )
    heads = np.full(2 * n + 2, -1, np.int64)
    count, last = 1, 0
    for i in range(n):
        token, new = tokens[i], count
        count += 1
        lengths[new], ends[new] = i + 1, i + 1
        state = last
        while state >= 0 and cells[0][_cell_of(cells, state, token)] < 0:
            _step(cells, heads, state, token, new)
            state = links[state]
        last = new
        if state < 0:
            links[new] = 0
            continue
        target = cells[2][_cell_of(cells, state, token)]
        if lengths[target] == lengths[state] + 1:
            links[new] = target
            continue
        twin = count
        count += 1
        lengths[twin], links[twin], ends[twin] = lengths[state] + 1, links[target], ends[target]
        cell = heads[target]
        while cell >= 0:
            _step(cells, heads, twin, cells[1][cell], cells[2][cell])
            cell = cells[3][cell]
        while state >= 0:
            cell = _cell_of(cells, state, token)
            if cells[0][cell] < 0 or cells[2][cell] != target:
                break
            cells[2][cell] = twin
            state = links[state]
        links[target] = links[new] = twin
    return lengths, links, ends, cells


@part
def longest_run(first, second):
    """Return (begin in ``first``, begin in ``second``, tokens) of their longest common run; the earliest.

    uint64[n] and uint64[m]; 0 tokens if they share none.
    """
    lengths, links, ends, cells = automaton(first)
    state, length = 0, 0
    best, best_first, best_second = 0, 0, 0
    for i in range(second.size):
        cell = _cell_of(cells, state, second[i])
        while cells[0][cell] < 0 and state > 0:
            state = links[state]
            length = lengths[state]
            cell = _cell_of(cells, state, second[i])
        if cells[0][cell] < 0:
            continue
        state = cells[2][cell]
        length += 1
        if length > best:
            best, best_first, best_second = length, ends[state] - length, i + 1 - length
    return best_first, best_second, best


@entry("(uint64[:], int64[:]), (uint64[:], int64[:]), int64[:, :] -> int64[:, :]")
def longest_runs(first, second, pairs):
    """Return ``longest_run`` of each of ``pairs`` (int64[n, 2]) of texts: int64[n, 3].

    ``first`` and ``second`` = (tokens uint64, ends int64): the tokens of text k end before ``ends[k]``.
    """
    runs = np.empty((pairs.shape[0], 3), np.int64)
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        begin_a, begin_b = first[1][a - 1] if a > 0 else 0, second[1][b - 1] if b > 0 else 0
        runs[k, 0], runs[k, 1], runs[k, 2] = longest_run(
            first[0][begin_a : first[1][a]], second[0][begin_b : second[1][b]]
        )
    return runs
