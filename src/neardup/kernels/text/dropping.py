"""Texts without some tokens: numbers, and words of a list. In place of each such token there is white space.

A text of ASCII keeps its bytes. Another text becomes its normalised form, which normalises to itself: its other
tokens and characters stay the same.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.growing import room
from neardup.kernels.sorting import copy_into
from neardup.kernels.text.keyed import hash_tokens
from neardup.kernels.text.spans import is_digit, token_places
from neardup.kernels.text.tokens import put_utf8, tokenise
from neardup.kernels.text.unicode import normalise
from neardup.kernels.text.words import AS_IS, LOWER, PADDING, is_ascii, token_edges

SPACE = 0x20


@njit(cache=True, nogil=True)
def is_among(listed, value):
    """Return whether ``value`` is in ``listed`` (uint64, ascending)."""
    low, high = 0, listed.size
    while low < high:
        middle = (low + high) >> 1
        if listed[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < listed.size and listed[low] == value


@njit(cache=True, nogil=True)
def _without(text, edges, hashes, rule, counts, out, used):
    """Copy the ASCII ``text`` = (data, start, end) to ``out[used:]``, with spaces for the tokens to drop."""
    (data, start, end), (numbers, listed) = text, rule
    for i in range(end - start):
        out[used + i] = data[start + i]
    for k in range(hashes.size):
        digits = numbers
        for i in range(edges[2 * k], edges[2 * k + 1]):
            digits &= 0x30 <= data[i] <= 0x39
        named = not digits and is_among(listed, hashes[k])
        counts[0] += digits
        counts[1] += named
        if digits or named:
            for i in range(edges[2 * k] - start, edges[2 * k + 1] - start):
                out[used + i] = SPACE
    return used + end - start


@njit(cache=True, nogil=True)
def _normalised_without(text, rule, zeros, counts, out, used):
    """Write code points to ``out[used:]`` as UTF-8, with spaces for the tokens to drop; return the new size.

    ``text`` = (code points uint32, places of the tokens int64[n, 2], their hashes uint64[n]).
    """
    (codepoints, places, hashes), (numbers, listed) = text, rule
    at = 0
    for k in range(places.shape[0]):
        while at < places[k, 0]:
            used = put_utf8(np.int64(codepoints[at]), out, used)
            at += 1
        digits = numbers
        for i in range(places[k, 0], places[k, 1]):
            digits = digits and is_digit(np.int64(codepoints[i]), zeros)
        named = not digits and is_among(listed, hashes[k])
        counts[0] += digits
        counts[1] += named
        while at < places[k, 1]:
            used = put_utf8(SPACE if digits or named else np.int64(codepoints[at]), out, used)
            at += 1
    while at < codepoints.size:
        used = put_utf8(np.int64(codepoints[at]), out, used)
        at += 1
    return used


@njit(cache=True, nogil=True)
def drop_tokens(batch, tables, key, rule, zeros, counts):
    """Return the texts of a TextBatch without some tokens: (data uint8, ends int64[n]).

    ``rule`` = (whether tokens of decimal digits are dropped, the hashes by ``key`` of other tokens to drop:
    uint64, ascending); ``zeros`` (int64) are the digits 0. ``counts[d]`` (int64[n, 2]) receives the dropped
    numbers and the other dropped tokens of text d.
    """
    n_texts = batch.offsets.size - 1
    ends, used = np.empty(n_texts, np.int64), np.int64(0)
    out = np.empty(batch.offsets[n_texts] - batch.offsets[0] + PADDING, np.uint8)
    edges, hashes = np.empty(8192, np.int64), np.empty(4096, np.uint64)
    for d in range(n_texts):
        data, start, end = batch.data, batch.offsets[d], batch.offsets[d + 1]
        if start >= batch.tail_begin:
            data, start, end = batch.tail, start - batch.tail_begin, end - batch.tail_begin
        counts[d, 0] = counts[d, 1] = 0
        plain = is_ascii(data, start, end)
        codepoints, n, needed = np.empty(0, np.uint32), np.int64(0), end - start
        if not plain:
            codepoints, n, _ = normalise(data, start, end, tables)
            needed = 4 * np.int64(n)
        if used + needed > out.size:
            larger = np.empty((used + needed) * 3 // 2, np.uint8)
            copy_into(larger, 0, out, used)
            out = larger
        if plain:
            edges = room(edges, end - start + 80)
            n_tokens = token_edges(data, start, end, edges)
            hashes = room(hashes, n_tokens)
            hash_tokens(data, edges, n_tokens, LOWER, key, hashes)
            used = _without((data, start, end), edges, hashes[:n_tokens], rule, counts[d], out, used)
        else:
            text, stops = np.empty(4 * n + PADDING, np.uint8), np.empty(n, np.int64)
            n_tokens = tokenise(codepoints, n, tables, text, stops)
            edges, hashes = room(edges, 2 * n_tokens), room(hashes, n_tokens)
            begin = np.int64(0)
            for k in range(n_tokens):
                edges[2 * k], edges[2 * k + 1] = begin, stops[k]
                begin = stops[k]
            hash_tokens(text, edges, n_tokens, AS_IS, key, hashes)
            places = token_places(codepoints[:n], stops[:n_tokens], tables)
            own = codepoints[:n], places, hashes[:n_tokens]
            used = _normalised_without(own, rule, zeros, counts[d], out, used)
        ends[d] = used
    return out[:used], ends
