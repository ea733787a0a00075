"""Texts → their token streams as text again: normalised tokens with one space between them.

This is the input of a full-text index, so that its words are exactly the tokens that shingles are made of.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.sorting import copy_into
from neardup.kernels.text.tokens import LOW_LINE, LOW_LINE_BYTE, tokenise
from neardup.kernels.text.unicode import normalise
from neardup.kernels.text.words import PADDING, is_ascii, token_edges

_SPACE, _LOWER = np.uint8(0x20), np.uint8(0x20)


@njit(cache=True, nogil=True)
def _more(out, used, needed):
    """Return ``out`` with room for ``needed`` elements after the first ``used``: itself, or a larger copy."""
    if used + needed <= out.size:
        return out
    larger = np.empty((used + needed) * 3 // 2 + PADDING, out.dtype)
    copy_into(larger, 0, out, used)
    return larger


@njit(cache=True, nogil=True)
def _write_ascii(data, edges, n, out, used):
    """Write the tokens between ``edges`` of an ASCII text to ``out[used:]``; return the new ``used``."""
    for i in range(n):
        for at in range(edges[2 * i], edges[2 * i + 1]):
            byte = data[at] | _LOWER
            out[used] = LOW_LINE if byte == LOW_LINE_BYTE else byte
            used += 1
        out[used] = _SPACE
        used += 1
    return used


@njit(cache=True, nogil=True)
def _write_tokens(text, ends, n, out, used):
    """Copy the ``n`` tokens that ``tokenise`` wrote to ``text`` to ``out[used:]``; return the new ``used``."""
    begin = np.int64(0)
    for i in range(n):
        for at in range(begin, ends[i]):
            byte = text[at]
            out[used] = LOW_LINE if byte == LOW_LINE_BYTE else byte
            used += 1
        out[used] = _SPACE
        used += 1
        begin = ends[i]
    return used


@njit(cache=True, nogil=True)
def token_streams(batch, tables):
    """Return the token streams of all documents of a TextBatch: (streams uint8, ends int64[n], tokens int64[n]).

    Stream d is ``streams[ends[d - 1]:ends[d]]`` (from 0 for d = 0), UTF-8, each token followed by one space;
    ``tokens[d]`` is the number of its tokens.
    """
    n_documents = batch.offsets.size - 1
    ends, counts = np.empty(n_documents, np.int64), np.empty(n_documents, np.int64)
    out = np.empty(batch.offsets[n_documents] - batch.offsets[0] + n_documents + PADDING, np.uint8)
    edges = np.empty(8192, np.int64)
    used = np.int64(0)
    for d in range(n_documents):
        data, start, end = batch.data, batch.offsets[d], batch.offsets[d + 1]
        if start >= batch.tail_begin:
            data, start, end = batch.tail, start - batch.tail_begin, end - batch.tail_begin
        if is_ascii(data, start, end):
            if edges.size < end - start + 80:
                edges = np.empty((end - start + 80) * 3 // 2, np.int64)
            n = token_edges(data, start, end, edges)
            out = _more(out, used, end - start + 1)
            used = _write_ascii(data, edges, n, out, used)
        else:
            codepoints, size, _ = normalise(data, start, end, tables)
            text, stops = np.empty(4 * size + PADDING, np.uint8), np.empty(size, np.int64)
            n = tokenise(codepoints, size, tables, text, stops)
            out = _more(out, used, (stops[n - 1] if n > 0 else 0) + n)
            used = _write_tokens(text, stops, n, out, used)
        ends[d], counts[d] = used, n
    return out[:used], ends, counts
