"""Texts → one stream of token hashes, with the bytes of each token in its text, and the anchors of their windows.

An anchor is the k-gram with the least hash among those of a window; of several with it, the last. Equal windows
have the same anchor at the same place (minimisers: Roberts et al. 2004, "Reducing storage requirements for
biological sequence comparison"; winnowing: Schleimer et al. 2003). So a window occurs once if its anchor does.
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import mix64
from neardup.kernels.sketch.documents import unit_hashes
from neardup.kernels.sorting import append, room, with_space
from neardup.kernels.text.hashing import is_ascii, token_edges
from neardup.kernels.text.spans import normalise_with_origin, token_places
from neardup.kernels.text.tokens import NONE, SINGLE, WORD, tokenise
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
    decode_rare,
    record,
)

_6, _63, _ONE = np.uint64(6), np.uint64(63), np.uint64(1)
_GOLD = np.uint64(0x9E3779B97F4A7C15)


@entry("TextBatch, UnicodeTables, int64, Key -> (uint64[:], int64[:])")
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


@part
def _decode(data, i, end):
    """Decode a sequence like ``decode_rare``; those of three bytes, as in CJK text, without its loop."""
    if i + 2 < end and 0xE1 <= data[i] <= 0xEC:
        second, third = np.int64(data[i + 1]), np.int64(data[i + 2])
        if (second & 0xC0) == 0x80 and (third & 0xC0) == 0x80:
            return ((np.int64(data[i]) & 0x0F) << 12) | ((second & 0x3F) << 6) | (third & 0x3F), np.int64(3)
    return decode_rare(data, i, end)


@entry("TextBatch, UnicodeTables -> int64")
def graphemes(batch, tables):
    """Return the characters of a TextBatch that begin a token alone: those of scripts written without spaces."""
    count = np.int64(0)
    for d in range(batch.offsets.size - 1):
        data, start, end = batch.data, batch.offsets[d], batch.offsets[d + 1]
        if start >= batch.tail_begin:
            data, start, end = batch.tail, start - batch.tail_begin, end - batch.tail_begin
        if is_ascii(data, start, end):
            continue
        while start < end:
            if data[start] < 0xE0:  # the scripts have sequences of three bytes and more
                start += 1
                continue
            code_point, taken = _decode(data, start, end)
            start += taken
            if code_point >= 0:
                rec = record(code_point, tables)
                count += rec & TOKEN != 0 and rec & SPACELESS != 0 and rec & CONTINUATION == 0
    return count


@part
def _decoded(data, start, end):
    """Decode the UTF-8 ``data[start:end]``: (code points uint32[n], byte from ``start`` on of each int64[n + 1]).

    Each maximal ill-formed subpart is one U+FFFD. The last byte is the size of the text.
    """
    codepoints, edges = np.empty(end - start, np.uint32), np.empty(end - start + 1, np.int64)
    n, i = np.int64(0), np.int64(start)
    while i < end:
        edges[n] = i - start
        lead = np.int64(data[i])
        code_point, taken = lead, np.int64(1)
        if lead >= 0x80:
            code_point, taken = decode_rare(data, i, end)
            code_point = np.int64(REPLACEMENT) if code_point < 0 else code_point
        codepoints[n] = code_point
        n += 1
        i += taken
    edges[n] = end - start
    return codepoints[:n], edges[: n + 1]


@part
def _separates(rec, tables):
    """Return whether no code point of a TO_POOL record takes part in a token, or composes with another."""
    offset, size = (rec >> (PAYLOAD + 5)) & 0xFFFF, (rec >> PAYLOAD) & 0x1F
    for k in range(offset, offset + size):
        if record(np.int64(tables.pool[k]), tables) & (TOKEN | CHECK) != 0:
            return False
    return True


@part
def _plain_token_bytes(data, start, end, tables, edges):
    """Write the bytes [begin, end) of each token to ``edges`` (int64[≥ 2 (end − start)]); return their number.

    Returns -1 for a text that has a character with combining marks, or one that becomes several of a token: its
    tokens are those of the normalised text. In other texts each character is a code point of the tokens.
    """
    state, n, i, after = NONE, np.int64(0), np.int64(start), np.int64(start)
    while i < end:
        code_point, taken = np.int64(data[i]), np.int64(1)
        if code_point >= 0x80:
            code_point, taken = _decode(data, i, end)
            code_point = np.int64(REPLACEMENT) if code_point < 0 else code_point
        rec = record(code_point, tables)
        begin = i
        i += taken
        if rec & TO_POOL:
            if (rec >> PAYLOAD) & 0x1F == 0:  # no character at all
                continue
            if not _separates(rec, tables):
                return np.int64(-1)
            rec = np.int64(0)
        elif rec & MAPPED:
            rec = record((rec >> PAYLOAD) & 0x1FFFFF, tables)
        if rec & CHECK:
            return np.int64(-1)
        if rec & TOKEN == 0 or (rec & CONNECTOR != 0 and state != WORD):
            if state != NONE:
                edges[2 * n - 1] = after
                state = NONE
            continue
        if rec & CONNECTOR != 0:  # in the token if another character of it follows
            continue
        single = rec & SPACELESS != 0
        if state == NONE or (rec & CONTINUATION == 0 and (single or state == SINGLE)):
            if state != NONE:
                edges[2 * n - 1] = after
            edges[2 * n] = begin
            n += 1
            state = SINGLE if single else WORD
        after = i
    if state != NONE:
        edges[2 * n - 1] = after
    return n


@part
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


@entry("TextBatch, int64, UnicodeTables -> int64[:]")
def token_bytes(batch, d, tables):
    """Return the bytes [begin, end) of each token of document ``d`` of a TextBatch, int64[2 n], flat."""
    edges = ascii_token_bytes(batch, d)
    if edges.size != 1:
        return edges
    data, start, end = batch.data, batch.offsets[d], batch.offsets[d + 1]
    if start >= batch.tail_begin:
        data, start, end = batch.tail, start - batch.tail_begin, end - batch.tail_begin
    edges = np.empty(2 * (end - start), np.int64)
    n_tokens = _plain_token_bytes(data, start, end, tables, edges)
    if n_tokens >= 0:
        for i in range(2 * n_tokens):
            edges[i] -= start
        return edges[: 2 * n_tokens]
    shown, of_characters = _decoded(data, start, end)
    codepoints, begins, ends = normalise_with_origin(shown, tables)
    n = codepoints.size
    written, stops = np.empty(4 * n + 64, np.uint8), np.empty(n, np.int64)
    n_tokens = tokenise(codepoints, n, tables, written, stops)
    places = token_places(codepoints, stops[:n_tokens], tables)
    edges = np.empty(2 * n_tokens, np.int64)
    for i in range(n_tokens):
        edges[2 * i] = of_characters[begins[places[i, 0]]]
        edges[2 * i + 1] = of_characters[ends[places[i, 1] - 1]]
    return edges


@entry("TextBatch, UnicodeTables, int64[:], int64[:], int64[:, :], out int64[:, :] -> bool")
def range_bytes(batch, tables, documents, sizes, ranges, out):
    """Write the bytes of ranges of tokens to ``out`` (int64[n, 2]); return whether the documents are as expected.

    Range i has the tokens ``ranges[i, 0]`` … ``ranges[i, 1] - 1`` (int64[n, 2]) of document ``documents[i]``
    (int64, ascending) of a TextBatch, which is expected to have ``sizes[i]`` tokens (int64).
    """
    before, edges = np.int64(-1), np.empty(0, np.int64)
    for i in range(documents.size):
        if documents[i] != before:
            before = documents[i]
            edges = token_bytes(batch, before, tables)
            if edges.size != 2 * sizes[i]:
                return False
        out[i, 0], out[i, 1] = edges[2 * ranges[i, 0]], edges[2 * ranges[i, 1] - 1]
    return True


@entry("TextBatch, int64[:, :] -> int64[:, :]")
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


@part
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


@entry("uint64[:], int64[:], uint64[:] -> uint64[:]")
def anchors(tokens, ends, form):
    """Return the names (uint64) of the anchors of a stream, each place once; ``ends`` (int64) are its documents.

    A name is the hash of the anchor times an odd number, because the least hashes have small upper bits. ``form``:
    see ``anchors_of_windows``.
    """
    out, used = np.empty(tokens.size // 8 + 64, np.uint64), np.int64(0)
    grams, places, one = np.empty(4096, np.uint64), np.empty(4096, np.int64), np.empty(1, np.uint64)
    begin = np.int64(0)
    for end in ends:
        grams, places = room(grams, end - begin), room(places, end - begin)
        before = np.int64(-1)
        for i in range(anchors_of_windows(tokens, begin, end, form, grams, places)):
            if places[i] != before:
                before = places[i]
                one[0] = grams[before] * _GOLD
                out = append(out, used, one, 1)
                used += 1
        begin = end
    return out[:used]


@entry("uint64[:], out uint64[:], out uint64[:] -> None")
def mark(names, once, again):
    """Set the bits of ``names`` (uint64) in ``once``, or in ``again`` where they are set there already.

    ``once`` and ``again`` are bitmaps, uint64[2^b]; the bit of a name has the number of its upper b + 6 bits.
    """
    bits = 6
    while (1 << bits) < 64 * once.size:
        bits += 1
    shift = np.uint64(64 - bits)
    for name in names:
        bit = name >> shift
        word, mask = np.int64(bit >> _6), _ONE << (bit & _63)
        if once[word] & mask:
            again[word] |= mask
        else:
            once[word] |= mask


@entry("uint64[:], int64[:], uint64[:], uint64[:], int64 -> int64[:, :]")
def marked_windows(tokens, ends, form, again, portions):
    """Return the windows of a stream whose anchor is marked in ``again``: runs int64[n, 3].

    A run is (first window, last + 1, portion): places in the stream, in one document, whose anchors are of the
    same one of ``portions`` (a power of two). Equal windows are in the same portion. ``form``: see
    ``anchors_of_windows``.
    """
    bits = 6
    while (1 << bits) < 64 * again.size:
        bits += 1
    shift, last = np.uint64(64 - bits), np.uint64(portions - 1)
    runs, used = np.empty((1024, 3), np.int64), np.int64(0)
    grams, places = np.empty(4096, np.uint64), np.empty(4096, np.int64)
    begin = np.int64(0)
    for end in ends:
        grams, places = room(grams, end - begin), room(places, end - begin)
        before, marked, portion, extended = np.int64(-1), False, np.int64(0), np.int64(-1)
        for i in range(anchors_of_windows(tokens, begin, end, form, grams, places)):
            if places[i] != before:
                before = places[i]
                name = grams[before] * _GOLD
                bit = name >> shift
                marked = (again[np.int64(bit >> _6)] >> (bit & _63)) & _ONE != np.uint64(0)
                portion = np.int64(grams[before] & last)
            if not marked:
                extended = np.int64(-1)
                continue
            if extended == portion:
                runs[used - 1, 1] += 1
                continue
            runs = with_space(runs, used)
            runs[used, 0], runs[used, 1], runs[used, 2] = begin + i, begin + i + 1, portion
            used += 1
            extended = portion
        begin = end
    return runs[:used]


@entry("uint64[:], int64[:, :], int64, int64 -> (uint64[:], int64[:])")
def packed(tokens, runs, begin, length):
    """Return runs of windows with their tokens: (uint64 words, int64[n + 1] first word of each run).

    A run is (place in the stream, windows, tokens); its windows have ``length`` tokens. ``tokens`` are those of
    the stream from ``begin`` on, and ``runs`` (int64[n, 3]) are counted from there as well.
    """
    edges = np.zeros(runs.shape[0] + 1, np.int64)
    for i in range(runs.shape[0]):
        edges[i + 1] = edges[i] + 2 + runs[i, 1] - runs[i, 0] + length - 1
    words = np.empty(edges[runs.shape[0]], np.uint64)
    for i in range(runs.shape[0]):
        word = edges[i]
        words[word], words[word + 1] = begin + runs[i, 0], runs[i, 1] - runs[i, 0]
        for k in range(edges[i + 1] - word - 2):
            words[word + 2 + k] = tokens[runs[i, 0] + k]
    return words, edges


@entry("uint64[:], int64 -> (int64[:], int64[:, :])")
def unpacked(words, length):
    """Return the runs of ``packed`` words: (places in the stream int64[n], runs int64[n, 2]).

    A run has the places of its windows among the words: [first, last + 1). Windows of two runs are never adjacent.
    """
    count = word = np.int64(0)
    while word < words.size:
        word += np.int64(words[word + 1]) + length + 1
        count += 1
    places, runs = np.empty(count, np.int64), np.empty((count, 2), np.int64)
    word = np.int64(0)
    for i in range(count):
        places[i] = words[word]
        runs[i, 0], runs[i, 1] = word + 2, word + 2 + np.int64(words[word + 1])
        word = runs[i, 1] + length - 1
    return places, runs
