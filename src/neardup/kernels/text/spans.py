"""Normalised code points and tokens, with the place in the original text that each comes from.

The text is the one that ``kernels.text.unicode.normalise`` and ``kernels.text.tokens.tokenise`` produce, with two
more numbers for each code point: the characters of the original that it comes from. If a character becomes several
(ß, ligatures), each of them comes from that one; if several become one (a letter and its marks), it comes from all
of them.

Tokens to leave out, numbers and words of a list, become white space. A text of ASCII keeps its other bytes.
Another text becomes its normalised form, which normalises to itself: its other tokens and characters stay the
same.
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.sorting import copy_into, room
from neardup.kernels.text.hashing import AS_IS, LOWER, PADDING, hash_tokens, is_ascii, token_edges
from neardup.kernels.text.tokens import put_utf8, tokenise
from neardup.kernels.text.unicode import (
    CHECK,
    CONNECTOR,
    MAPPED,
    PAYLOAD,
    REPLACEMENT,
    TO_POOL,
    TOKEN,
    WHITE_SPACE,
    nfc,
    normalise,
    record,
)


@part
def _scalar(code_point):
    """Return the code point itself, or U+FFFD for a surrogate, which UTF-8 text cannot contain."""
    return np.int64(REPLACEMENT) if 0xD800 <= code_point <= 0xDFFF else np.int64(code_point)


@part
def fold(text, tables):
    """Map every code point of ``text`` (uint32) by NFKC_CF: (code points uint32, index in ``text`` int32)."""
    size = 0
    for i in range(text.size):
        rec = record(_scalar(text[i]), tables)
        size += (rec >> PAYLOAD) & 0x1F if rec & TO_POOL else 1
    out, origin = np.empty(size, np.uint32), np.empty(size, np.int32)
    n = 0
    for i in range(text.size):
        code_point = _scalar(text[i])
        rec = record(code_point, tables)
        if rec & TO_POOL:
            offset = (rec >> (PAYLOAD + 5)) & 0xFFFF
            for k in range(offset, offset + ((rec >> PAYLOAD) & 0x1F)):
                out[n], origin[n] = tables.pool[k], i
                n += 1
        else:
            out[n] = (rec >> PAYLOAD) & 0x1FFFFF if rec & MAPPED else code_point
            origin[n] = i
            n += 1
    return out, origin


@entry("uint32[:], UnicodeTables -> (uint32[:], int32[:], int32[:])")
def normalise_with_origin(text, tables):
    """Return the normalised text and its origin: (code points uint32[n], begins int32[n], ends int32[n]).

    Code point k comes from the characters ``text[begins[k]:ends[k]]`` (uint32 code points). NFC works on segments:
    a character with ccc = 0 and NFC_QC = Yes and everything up to the next such character. Each result of a
    segment comes from all its characters.
    """
    folded, origin = fold(text, tables)
    n = folded.size
    room = n
    for i in range(n):
        # 1 + c code points with c of them checked decompose to 4 (1 + c) at most, and 1 + 7 c is not less
        room += 6 * (record(np.int64(folded[i]), tables) & CHECK != 0)
    out, begins, ends = np.empty(room, np.uint32), np.empty(room, np.int32), np.empty(room, np.int32)
    size = i = 0
    while i < n:
        stop = i + 1
        while stop < n and record(np.int64(folded[stop]), tables) & CHECK:
            stop += 1
        first = size
        if stop - i == 1:
            out[size] = folded[i]
            size += 1
        else:
            piece = np.empty(stop - i, np.uint32)
            for k in range(i, stop):
                piece[k - i] = folded[k]
            piece, length = nfc(piece, stop - i, tables)
            for k in range(length):
                out[size] = piece[k]
                size += 1
        for k in range(first, size):
            begins[k], ends[k] = origin[i], origin[stop - 1] + 1
        i = stop
    return out[:size], begins[:size], ends[:size]


@part
def _utf8_length(code_point):
    """Return the number of bytes of a code point in UTF-8."""
    if code_point < 0x80:
        return 1
    if code_point < 0x800:
        return 2
    return 3 if code_point < 0x10000 else 4


@entry("uint32[:], int64[:], UnicodeTables -> int64[:, :]")
def token_places(codepoints, ends, tables):
    """Return int64[tokens, 2]: the code points [begin, end) of each token that ``tokenise`` found.

    ``ends`` (int64) are the token ends in UTF-8: the tokens are all token characters in order, cut there, without
    the connectors between two tokens.
    """
    places = np.empty((ends.size, 2), np.int64)
    token = size = 0
    fresh = True
    for i in range(codepoints.size):
        code_point = np.int64(codepoints[i])
        rec = record(code_point, tables)
        if rec & TOKEN == 0 or (fresh and rec & CONNECTOR != 0):
            continue
        if fresh:
            places[token, 0] = i
            fresh = False
        size += _utf8_length(code_point)
        if size == ends[token]:
            places[token, 1] = i + 1
            token += 1
            fresh = True
    return places


@part
def is_digit(code_point, zeros):
    """Return whether a code point is a decimal digit; ``zeros`` (int64) are the digits 0.

    Decimal digits have ten consecutive code points, from 0 to 9 (The Unicode Standard, section 4.6).
    """
    if code_point < 0x80:
        return 0x30 <= code_point <= 0x39
    found = False
    for zero in zeros:
        found |= zero <= code_point <= zero + 9
    return found


@entry("uint32[:], int64[:, :], int64[:] -> bool[:]")
def only_digits(codepoints, places, zeros):
    """Return bool[tokens]: whether a token consists of decimal digits only; ``zeros`` (int64) are the digits 0."""
    numbers = np.ones(places.shape[0], np.bool_)
    for k in range(places.shape[0]):
        for i in range(places[k, 0], places[k, 1]):
            numbers[k] = numbers[k] and is_digit(np.int64(codepoints[i]), zeros)
    return numbers


@entry("uint32[:], int32[:], int32[:], UnicodeTables -> (uint32[:], int64[:, :])")
def characters(codepoints, begins, ends, tables):
    """Return the characters of character shingles: (code points uint32[n], spans int64[n, 2]).

    White space is trimmed at both ends, and each run of it inside is one space. ``begins`` and ``ends`` (int32)
    come from ``normalise_with_origin``; the spans are in characters of the original.
    """
    room = codepoints.size
    shown, spans = np.empty(room, np.uint32), np.empty((room, 2), np.int64)
    size = 0
    blank = np.int64(-1)  # start of the white space that waits for a character after it
    for i in range(room):
        if record(np.int64(codepoints[i]), tables) & WHITE_SPACE:
            blank = i if blank < 0 and size > 0 else blank
            continue
        if blank >= 0:
            shown[size], spans[size, 0], spans[size, 1] = SPACE, begins[blank], ends[i - 1]
            size += 1
            blank = np.int64(-1)
        shown[size], spans[size, 0], spans[size, 1] = codepoints[i], begins[i], ends[i]
        size += 1
    return shown[:size], spans[:size]


SPACE = 0x20


@part
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


@part
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


@part
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


@entry("TextBatch, UnicodeTables, Key, (bool, uint64[:]), int64[:], out int64[:, :] -> (uint8[:], int64[:])")
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
