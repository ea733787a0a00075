"""Texts → one stream of token hashes, with the bytes of each token in its text, and the anchors of their windows.

An anchor is the k-gram with the least hash among those of a window; of several with it, the last. Equal windows
have the same anchor at the same place (minimisers: Roberts et al. 2004, "Reducing storage requirements for
biological sequence comparison"; winnowing: Schleimer et al. 2003). So a window occurs once if its anchor does.
"""

import numpy as np

from neardup.kernels.compiled import njit
from neardup.kernels.shingles import mix64
from neardup.kernels.sketch.documents import unit_hashes
from neardup.kernels.sorting import append, room
from neardup.kernels.text.keyed import is_ascii, token_edges

_6, _63, _ONE = np.uint64(6), np.uint64(63), np.uint64(1)


@njit(cache=True, nogil=True)
def token_stream(batch, tables, unit, key):
    """Return the unit hashes of all documents of a TextBatch, in order: (hashes uint64, ends int64[n])."""
    n_documents = batch.offsets.size - 1
    ends = np.empty(n_documents, np.int64)
    out = np.empty((batch.offsets[n_documents] - batch.offsets[0]) // 5 + 64, np.uint64)
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    used = np.int64(0)
    for d in range(n_documents):
        texts, n, _ = unit_hashes(batch, d, tables, unit, key, texts)
        out = append(out, used, texts[0], n)
        used += n
        ends[d] = used
    return out[:used], ends


@njit(cache=True, nogil=True)
def ascii_token_bytes(batch, d):
    """Return the bytes [begin, end) of each token of document ``d`` of a TextBatch, int64[2 n], flat.

    One number, -1, if the text is not ASCII.
    """
    data, start, end = batch.data, batch.offsets[d], batch.offsets[d + 1]
    if start >= batch.tail_begin:
        data, start, end = batch.tail, start - batch.tail_begin, end - batch.tail_begin
    if not is_ascii(data, start, end):
        return np.full(1, -1, np.int64)
    edges = np.empty(end - start + 80, np.int64)
    n = token_edges(data, start, end, edges)
    for i in range(2 * n):
        edges[i] -= start
    return edges[: 2 * n]


@njit(cache=True, nogil=True)
def ascii_run_bytes(batch, runs):
    """Return the bytes [begin, end) of ``runs`` (document, first token, tokens) of a TextBatch: int64[n, 2].

    ``runs`` (int64[n, 3]) of one document follow each other, to read it once. −1 where a text is not ASCII.
    """
    places = np.full((runs.shape[0], 2), -1, np.int64)
    edges, document = np.empty(0, np.int64), np.int64(-1)
    for k in range(runs.shape[0]):
        if runs[k, 0] != document:
            document = runs[k, 0]
            edges = ascii_token_bytes(batch, document)
        if edges.size > 1:
            places[k, 0] = edges[2 * runs[k, 1]]
            places[k, 1] = edges[2 * (runs[k, 1] + runs[k, 2]) - 1]
    return places


@njit(cache=True, nogil=True)
def anchors_of_windows(tokens, begin, end, form, grams, places):
    """Write the anchors of the windows of the document ``tokens[begin:end]``; return the number of windows.

    ``form`` = (tokens of a window, tokens of a k-gram, odd factor), uint64[3]. ``grams`` (uint64) receives the
    hash of each k-gram, and ``places`` (int64) the anchor of window i; both are as long as the document.
    The hashes are polynomials modulo 2⁶⁴: they only propose, so equal ones of other tokens do no harm.
    """
    length, k, factor = np.int64(form[0]), np.int64(form[1]), form[2]
    n = end - begin
    if n < length:
        return 0
    top, value = _ONE, np.uint64(0)
    for i in range(k):
        top *= factor
        value = value * factor + tokens[begin + i]
    grams[0] = mix64(value)
    for i in range(1, n - k + 1):
        value = value * factor + tokens[begin + i + k - 1] - top * tokens[begin + i - 1]
        grams[i] = mix64(value)
    width, place = length - k + 1, np.int64(0)
    least = grams[0]
    for i in range(n - length + 1):
        last = i + width - 1
        if i == 0 or place < i:
            place, least = np.int64(i), grams[i]
            for j in range(i + 1, last + 1):
                if grams[j] <= least:
                    place, least = np.int64(j), grams[j]
        elif grams[last] <= least:
            place, least = last, grams[last]
        places[i] = place
    return n - length + 1


@njit(cache=True, nogil=True)
def anchors(tokens, ends, form):
    """Return the hashes (uint64) of the anchors of a stream, each place once; ``ends`` (int64) are its documents.

    ``form``: see ``anchors_of_windows``.
    """
    out, used = np.empty(tokens.size // 8 + 64, np.uint64), np.int64(0)
    grams, places = np.empty(4096, np.uint64), np.empty(4096, np.int64)
    begin = np.int64(0)
    for end in ends:
        grams, places = room(grams, end - begin), room(places, end - begin)
        before = np.int64(-1)
        for i in range(anchors_of_windows(tokens, begin, end, form, grams, places)):
            if places[i] != before:
                before = places[i]
                out = append(out, used, grams[before : before + 1], 1)
                used += 1
        begin = end
    return out[:used]


@njit(cache=True, nogil=True)
def mark(hashes, once, again):
    """Set the bits of ``hashes`` (uint64) in ``once``, or in ``again`` where they are set there already.

    ``once`` and ``again`` are bitmaps, uint64[2^b]; the bit of a hash has the number of its upper b + 6 bits.
    """
    bits = 6
    while (1 << bits) < 64 * once.size:
        bits += 1
    shift = np.uint64(64 - bits)
    for value in hashes:
        bit = value >> shift
        word, mask = np.int64(bit >> _6), _ONE << (bit & _63)
        if once[word] & mask:
            again[word] |= mask
        else:
            once[word] |= mask


@njit(cache=True, nogil=True)
def candidate_windows(tokens, ends, form, again):
    """Return the windows of a stream whose anchor is marked in ``again``: runs int64[n, 2], [first, last + 1).

    A run has the places of its windows in the stream, in one document. ``form``: see ``anchors_of_windows``.
    """
    bits = 6
    while (1 << bits) < 64 * again.size:
        bits += 1
    shift = np.uint64(64 - bits)
    runs, used = np.empty((1024, 2), np.int64), np.int64(0)
    grams, places = np.empty(4096, np.uint64), np.empty(4096, np.int64)
    begin = np.int64(0)
    for end in ends:
        grams, places = room(grams, end - begin), room(places, end - begin)
        before, marked, extended = np.int64(-1), False, False
        for i in range(anchors_of_windows(tokens, begin, end, form, grams, places)):
            if places[i] != before:
                before = places[i]
                bit = grams[before] >> shift
                marked = (again[np.int64(bit >> _6)] >> (bit & _63)) & _ONE != np.uint64(0)
            if not marked:
                extended = False
                continue
            if extended:
                runs[used - 1, 1] += 1
                continue
            if used == runs.shape[0]:
                larger = np.empty((2 * used, 2), np.int64)
                larger[:used] = runs
                runs = larger
            runs[used, 0], runs[used, 1] = begin + i, begin + i + 1
            used += 1
            extended = True
        begin = end
    return runs[:used]
