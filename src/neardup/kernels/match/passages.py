"""The longest passage that each of some texts has in common with one document, all in one call.

A text is read once: each code point is mapped, and added to its token, whose place in the text is then known. A
text with marks that may combine is normalised first (``kernels.text.spans``). Tokens are the same either way.
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.match.lcs import longest_run
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sorting import first_at_least
from neardup.kernels.text.hashing import AS_IS, LOW_LINE, PADDING, hash_tokens
from neardup.kernels.text.spans import normalise_with_origin, token_places
from neardup.kernels.text.tokens import LOW_LINE_BYTE, NONE, SINGLE, WORD, put_utf8, tokenise
from neardup.kernels.text.unicode import (
    CHECK,
    CONNECTOR,
    CONTINUATION,
    MAPPED,
    PAYLOAD,
    REPLACEMENT,
    SPACELESS,
    TO_POOL,
    TOKEN,
    record,
)


@part
def _read_once(text, tables, written, edges, spans):
    """Write the tokens of code points like ``tokenise``, with their places; −1 if some may combine.

    Token k is ``written[edges[2 k]:edges[2 k + 1]]``, from the characters ``spans[k, 0]`` up to ``spans[k, 1]``.
    """
    state, size, n = NONE, np.int64(0), np.int64(0)
    for i in range(text.size):
        code_point = np.int64(text[i])
        if 0xD800 <= code_point <= 0xDFFF:
            code_point = np.int64(REPLACEMENT)
        rec = record(code_point, tables)
        if rec & CHECK:
            return np.int64(-1)
        first, count = np.int64(0), np.int64(1)
        if rec & TO_POOL:
            first, count = (rec >> (PAYLOAD + 5)) & 0xFFFF, (rec >> PAYLOAD) & 0x1F
        elif rec & MAPPED:
            code_point = (rec >> PAYLOAD) & 0x1FFFFF
        for k in range(first, first + count):
            if rec & TO_POOL:
                code_point = np.int64(tables.pool[k])
            own = record(code_point, tables) if rec & (MAPPED | TO_POOL) else rec
            if own & CHECK:
                return np.int64(-1)
            if own & TOKEN == 0 or (own & CONNECTOR != 0 and state != WORD):
                n += state != NONE
                state = NONE
                continue
            single = own & SPACELESS != 0
            if own & CONTINUATION == 0 or state == NONE:
                n += state == SINGLE or (single and state == WORD)
                if state != WORD or single:
                    edges[2 * n], spans[n, 0] = size, i
                state = SINGLE if single else WORD
            size = put_utf8(np.int64(LOW_LINE_BYTE) if code_point == LOW_LINE else code_point, written, size)
            if own & CONNECTOR == 0:
                edges[2 * n + 1], spans[n, 1] = size, i + 1
    return n + (state != NONE)


@part
def _read_normalised(text, tables):
    """Do the same for any code points: (written, edges, spans, number of tokens)."""
    points, begins, ends = normalise_with_origin(text, tables)
    written, stops = np.empty(4 * points.size + PADDING, np.uint8), np.empty(points.size, np.int64)
    n = tokenise(points, points.size, tables, written, stops)
    places = token_places(points, stops[:n], tables)
    edges, spans = np.empty(2 * n, np.int64), np.empty((n, 2), np.int64)
    for k in range(n):
        edges[2 * k], edges[2 * k + 1] = stops[k - 1] if k else 0, stops[k]
        spans[k, 0], spans[k, 1] = begins[places[k, 0]], ends[places[k, 1] - 1]
    return written, edges, spans, n


@part
def located_tokens(text, tables, key):
    """Return (hashes uint64[n], places int64[n, 2]) of the tokens of code points (uint32), by a ``Key``.

    Token k comes from the characters ``places[k, 0]`` up to ``places[k, 1]``.
    """
    room = text.size
    for i in range(text.size):
        rec = record(np.int64(text[i]), tables)
        if rec & TO_POOL:
            room += (rec >> PAYLOAD) & 0x1F
    written, edges, spans = (
        np.empty(4 * room + PADDING, np.uint8),
        np.empty(2 * room, np.int64),
        np.empty((room, 2), np.int64),
    )
    n = _read_once(text, tables, written, edges, spans)
    if n < 0:
        written, edges, spans, n = _read_normalised(text, tables)
    hashes = np.empty(n, np.uint64)
    hash_tokens(written, edges, n, AS_IS, key, hashes)
    return hashes, spans[:n]


@entry("uint32[:], int64[:], (uint64[:], int64[:], uint64[:]), UnicodeTables, Key, int64[:] -> int64[:, :]")
def passages(texts, bounds, asked, tables, key, rule):
    """Return int64[n, 5]: the longest passage in common of each text with a document A.

    Each row has the first token in A and in the text, the number of shingles as ``longest_run`` returns it, and
    the characters of the text [begin, end). Text d is ``texts[bounds[d]:bounds[d + 1]]`` (code points, uint32).
    ``asked`` = (shingles uint64 of A, sorted; the place of each, int64; shingles that do not count, uint64,
    sorted). ``key`` is the ``Key`` of the shingles, ``rule`` = (shingle length, most places to compare), int64[2].
    """
    shingles, places, ignored = asked
    length, most = rule[0], rule[1]
    out = np.zeros((bounds.size - 1, 5), np.int64)
    for d in range(bounds.size - 1):
        hashes, spans = located_tokens(texts[bounds[d] : bounds[d + 1]], tables, key)
        in_order = np.empty(max(hashes.size, 1), np.uint64)
        n = shingle_hashes(hashes, hashes.size, length, key.shingles, in_order)
        if ignored.size:
            for i in range(n):
                place = first_at_least(ignored, in_order[i])
                if place < ignored.size and ignored[place] == in_order[i]:
                    in_order[i] = np.uint64(
                        0
                    )  # the hash of no shingle, but for one case in 2⁶⁴: the run ends there
        out[d, 0], out[d, 1], out[d, 2] = longest_run(shingles, places, in_order[:n], most)
        if out[d, 2] > 0:
            out[d, 3], out[d, 4] = spans[out[d, 1], 0], spans[out[d, 1] + out[d, 2] + length - 2, 1]
    return out
