"""Normalised code points to tokens, to the characters of character shingles, and to token streams as text.

``tables`` is always a ``neardup.unicode.UnicodeTables``; the code points come from
``neardup.kernels.text.unicode.normalise``. Token streams as text, with one space between tokens, are the input of
a full-text index, so that its words are exactly the tokens that shingles are made of.
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.sorting import copy_into
from neardup.kernels.text.hashing import LOW_LINE, PADDING, is_ascii, token_edges
from neardup.kernels.text.unicode import CONNECTOR, CONTINUATION, SPACELESS, TOKEN, WHITE_SPACE, normalise, record

# The ASCII kernel folds case by setting bit 0x20 of every byte, which turns '_' into this byte. It is a control
# character (DEL) and not a token character, so nothing else can be mistaken for it.
LOW_LINE_BYTE = 0x7F

NONE, WORD, SINGLE = 0, 1, 2  # state of the scan


@part
def put_utf8(code_point, out, size):
    """Write one code point as UTF-8 to out[size:] and return the new size (int64)."""
    if code_point < 0x80:
        out[size] = code_point
        return size + 1
    if code_point < 0x800:
        out[size] = 0xC0 | (code_point >> 6)
        out[size + 1] = 0x80 | (code_point & 0x3F)
        return size + 2
    if code_point < 0x10000:
        out[size] = 0xE0 | (code_point >> 12)
        out[size + 1] = 0x80 | ((code_point >> 6) & 0x3F)
        out[size + 2] = 0x80 | (code_point & 0x3F)
        return size + 3
    out[size] = 0xF0 | (code_point >> 18)
    out[size + 1] = 0x80 | ((code_point >> 12) & 0x3F)
    out[size + 2] = 0x80 | ((code_point >> 6) & 0x3F)
    out[size + 3] = 0x80 | (code_point & 0x3F)
    return size + 4


@entry("uint32[:], int64, UnicodeTables, out uint8[:], out int64[:] -> int64")
def tokenise(codepoints, n, tables, out, ends):
    """Write the tokens of codepoints[:n] as UTF-8 back to back into ``out``; return their number (int64).

    Token k is out[ends[k - 1]:ends[k]] (from 0 for k = 0), with '_' as byte 0x7F. The caller supplies ``out``
    uint8[>= 4 n + 64] and ``ends`` int64[>= n]. A token is a maximal run of token characters without connectors at
    its edges, but in scripts written without spaces each grapheme cluster (UAX #29) is one.
    """
    state = NONE
    size = np.int64(0)
    kept = np.int64(0)  # the size up to the last character that is not a connector
    n_tokens = np.int64(0)
    for i in range(np.int64(n)):
        code_point = np.int64(codepoints[i])
        rec = record(code_point, tables)
        if rec & TOKEN == 0 or (rec & CONNECTOR != 0 and state != WORD):
            if state != NONE:
                size = ends[n_tokens] = kept
                n_tokens += 1
                state = NONE
            continue
        single = rec & SPACELESS != 0
        if rec & CONTINUATION == 0:
            if state == SINGLE or (single and state == WORD):
                size = ends[n_tokens] = kept
                n_tokens += 1
            state = SINGLE if single else WORD
        elif state == NONE:
            state = SINGLE if single else WORD
        if code_point == LOW_LINE:
            code_point = np.int64(LOW_LINE_BYTE)
        size = put_utf8(code_point, out, size)
        if rec & CONNECTOR == 0:
            kept = size
    if state != NONE:
        ends[n_tokens] = kept
        n_tokens += 1
    return n_tokens


@entry("out uint32[:], int64, UnicodeTables -> int64")
def collapse_white_space(codepoints, n, tables):
    """Trim codepoints[:n] and make each run of White_Space one U+0020, in place; return the new n (int64)."""
    size = np.int64(0)
    waiting = False
    for i in range(np.int64(n)):
        if record(np.int64(codepoints[i]), tables) & WHITE_SPACE:
            waiting = size > 0
            continue
        if waiting:
            codepoints[size] = 0x20
            size += 1
            waiting = False
        codepoints[size] = codepoints[i]
        size += 1
    return size


_SPACE, _LOWER = np.uint8(0x20), np.uint8(0x20)


@part
def _more(out, used, needed):
    """Return ``out`` with room for ``needed`` elements after the first ``used``: itself, or a larger copy."""
    if used + needed <= out.size:
        return out
    larger = np.empty((used + needed) * 3 // 2 + PADDING, out.dtype)
    copy_into(larger, 0, out, used)
    return larger


@part
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


@part
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


@entry("TextBatch, UnicodeTables -> (uint8[:], int64[:], int64[:])")
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
