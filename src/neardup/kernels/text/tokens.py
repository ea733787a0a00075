"""Normalised code points to tokens, and to the characters of character shingles.

``tables`` is always a ``neardup.text.unicode_data.UnicodeTables``; the code points come from
``neardup.kernels.text.unicode.normalise``.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.text.unicode import CONTINUATION, SPACELESS, TOKEN, WHITE_SPACE, record

LOW_LINE = 0x5F
# The ASCII kernel folds case by setting bit 0x20 of every byte, which turns '_' into this byte. It is a control
# character (DEL) and not a token character, so nothing else can be mistaken for it.
LOW_LINE_BYTE = 0x7F

NONE, WORD, SINGLE = 0, 1, 2  # state of the scan


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def tokenise(codepoints, n, tables, out, ends):
    """Write the tokens of codepoints[:n] as UTF-8 back to back into ``out``; return their number (int64).

    Token k is out[ends[k - 1]:ends[k]] (from 0 for k = 0), with '_' as byte 0x7F. The caller supplies ``out``
    uint8[>= 4 n + 64] and ``ends`` int64[>= n]. A token is a maximal run of token characters, but in scripts
    written without spaces each grapheme cluster (UAX #29) is one.
    """
    state = NONE
    size = np.int64(0)
    n_tokens = np.int64(0)
    for i in range(np.int64(n)):
        code_point = np.int64(codepoints[i])
        rec = record(code_point, tables)
        if rec & TOKEN == 0:
            if state != NONE:
                ends[n_tokens] = size
                n_tokens += 1
                state = NONE
            continue
        single = rec & SPACELESS != 0
        if rec & CONTINUATION == 0:
            if state == SINGLE or (single and state == WORD):
                ends[n_tokens] = size
                n_tokens += 1
            state = SINGLE if single else WORD
        elif state == NONE:
            state = SINGLE if single else WORD
        if code_point == LOW_LINE:
            code_point = np.int64(LOW_LINE_BYTE)
        size = put_utf8(code_point, out, size)
    if state != NONE:
        ends[n_tokens] = size
        n_tokens += 1
    return n_tokens


@njit(cache=True, nogil=True)
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
