"""UTF-8 bytes to normalised code points: strict decoding, NFKC_Casefold mapping, NFC.

The definition is toNFKC_Casefold of The Unicode Standard, section 3.13 (R5): map every code point by the property
NFKC_CF, then normalise the whole to NFC (UAX #15). Tatweel, which only stretches Arabic words, is mapped to
nothing like the characters that Unicode ignores. ``tables`` is always a ``neardup.unicode.UnicodeTables``. A
text that passes the quick check of UAX #15, section 9 skips the NFC half.
"""

import numpy as np

from neardup.kernels.compiler import entry, part

# Flag bits of a record (the layout is described at UnicodeTables)
TOKEN = 1  # general category L*, M*, N* or Pc
SPACELESS = 2  # a token character of a script written without spaces
CONTINUATION = 4  # category M* that extends a grapheme cluster (UAX #29: Extend, SpacingMark, ZWJ)
WHITE_SPACE = 8
MAPPED = 16  # NFKC_Casefold changes it
TO_POOL = 32  # ... into none or several code points
CHECK = 64  # ccc != 0 or NFC_QC = Maybe; only for code points that are not MAPPED
MAYBE = 128  # NFC_QC = Maybe
CONNECTOR = 1 << 30  # category Pc: in a token, but not at its edges
ASSIGNED = 1 << 31  # has a general category other than Cn, Cs; the tests need it, the kernels do not
PAYLOAD = 8  # first bit of the payload
SHIFT = 7  # a block of the two-stage table has 1 << SHIFT records
LOW = (1 << SHIFT) - 1

REPLACEMENT = 0xFFFD
LONG_RUN = 32  # marks in a row; from here on counting beats insertion, and stays linear

# Hangul by arithmetic (The Unicode Standard, section 3.12)
S_BASE, L_BASE, V_BASE, T_BASE = 0xAC00, 0x1100, 0x1161, 0x11A7
L_COUNT, V_COUNT, T_COUNT = 19, 21, 28
S_COUNT = L_COUNT * V_COUNT * T_COUNT


@part
def record(code_point, tables):
    """Return the record (int64) of one code point."""
    block = np.int64(tables.block_of[code_point >> SHIFT])
    return np.int64(tables.blocks[(block << SHIFT) | (code_point & LOW)])


@part
def pair_slot(first, second, n_slots):
    """Return the slot (int64) where the search for a pair of code points starts; n_slots is a power of 2."""
    return (first * 101 + second * 6007) & (n_slots - 1)


@part
def decode_rare(data, i, end):
    """Decode a sequence that is not valid in two or three bytes: (code point or -1 if ill-formed, bytes consumed).

    An ill-formed sequence consumes its maximal subpart (The Unicode Standard, section 3.9, table 3-8).
    """
    lead = np.int64(data[i])
    low, high, tail = np.int64(0x80), np.int64(0xBF), np.int64(0)
    if 0xC2 <= lead <= 0xDF:
        tail = np.int64(1)
    elif 0xE0 <= lead <= 0xEF:
        tail = np.int64(2)
        low = np.int64(0xA0) if lead == 0xE0 else low  # else overlong
        high = np.int64(0x9F) if lead == 0xED else high  # else a surrogate
    elif 0xF0 <= lead <= 0xF4:
        tail = np.int64(3)
        low = np.int64(0x90) if lead == 0xF0 else low  # else overlong
        high = np.int64(0x8F) if lead == 0xF4 else high  # else above U+10FFFF
    if tail == 0:
        return np.int64(-1), np.int64(1)
    code_point = lead & (0x3F >> tail)
    for k in range(1, tail + 1):
        if i + k >= end or not low <= data[i + k] <= high:
            return np.int64(-1), np.int64(k)
        code_point = (code_point << 6) | (np.int64(data[i + k]) & 0x3F)
        low, high = np.int64(0x80), np.int64(0xBF)
    return code_point, tail + 1


@part
def quick_check(rec, last):
    """Return (ccc, whether NFC is in doubt) for a record after a character of combining class ``last``."""
    if rec & CHECK == 0:
        return np.int64(0), False
    ccc = (rec >> PAYLOAD) & 0xFF
    return ccc, (rec & MAYBE) != 0 or (ccc != 0 and ccc < last)


@part
def _spread(rec, tables, out, n, last):
    """Write the sequence of a TO_POOL record to out[n:]; return (n, last, doubt) like ``_fold``."""
    doubt = False
    offset = (rec >> (PAYLOAD + 5)) & 0xFFFF
    for k in range(offset, offset + ((rec >> PAYLOAD) & 0x1F)):
        code_point = np.int64(tables.pool[k])
        out[n] = code_point
        n += 1
        last, odd = quick_check(record(code_point, tables), last)
        doubt |= odd
    return n, last, doubt


@part
def _fold(data, i, end, tables, out, n, last):
    """Decode data[i:end] and map it by NFKC_CF into out[n:].

    Returns (i, n, n_invalid, last, doubt): the positions reached in data and out, the number of ill-formed
    sequences, the combining class of the last character, and whether the quick check requires NFC. It stops early
    only if a mapping to several code points leaves less room in ``out`` than there are bytes to come.
    """
    n_invalid = np.int64(0)
    doubt = False
    while i < end:
        lead = np.int64(data[i])
        if lead < 0x80:
            out[n] = lead + 0x20 if 0x41 <= lead <= 0x5A else lead
            n += 1
            i += 1
            last = np.int64(0)
            continue
        # Well-formed sequences are decoded here, and branches set ``taken`` instead of a computation: the
        # processor then predicts the start of the next character and need not wait for this one (2 to 3 times as
        # fast).
        code_point, taken = np.int64(-1), np.int64(0)
        if i + 3 < end:
            second, third = np.int64(data[i + 1]), np.int64(data[i + 2])
            if lead < 0xE0:
                if lead >= 0xC2 and (second & 0xC0) == 0x80:
                    code_point, taken = ((lead & 0x1F) << 6) | (second & 0x3F), np.int64(2)
            elif lead < 0xF0 and (second & 0xC0) == 0x80 and (third & 0xC0) == 0x80:
                scalar = ((lead & 0x0F) << 12) | ((second & 0x3F) << 6) | (third & 0x3F)
                if scalar >= 0x800 and (scalar & 0xF800) != 0xD800:
                    code_point, taken = scalar, np.int64(3)
        if taken == 0:
            code_point, taken = decode_rare(data, i, end)
            if code_point < 0:
                code_point = np.int64(REPLACEMENT)
                n_invalid += 1
        rec = record(code_point, tables)
        if rec & (MAPPED | CHECK) == 0:
            out[n] = code_point
            n += 1
            last = np.int64(0)
        elif rec & TO_POOL:
            if n + ((rec >> PAYLOAD) & 0x1F) + end - i > out.size:
                return i, n, n_invalid, last, doubt
            n, last, odd = _spread(rec, tables, out, n, last)
            doubt |= odd
        else:
            if rec & MAPPED:
                code_point = (rec >> PAYLOAD) & 0x1FFFFF
                rec = record(code_point, tables)
            out[n] = code_point
            n += 1
            last, odd = quick_check(rec, last)
            doubt |= odd
        i += taken
    return i, n, n_invalid, last, doubt


@entry("uint8[:], int64, int64, UnicodeTables -> (uint32[:], int64, int64)")
def normalise(data, start, end, tables):
    """Return (code points uint32[], n int64, n_invalid int64): the text of the UTF-8 data[start:end].

    The first n entries are the normalised text; the array may be longer. Each maximal ill-formed subpart becomes
    one U+FFFD, exactly as in ``bytes.decode("utf-8", errors="replace")``, and counts in n_invalid.
    """
    start, end = np.int64(start), np.int64(end)
    out = np.empty(max(end - start, np.int64(0)) + 64, np.uint32)
    i, n, n_invalid, last, doubt = _fold(data, start, end, tables, out, np.int64(0), np.int64(0))
    while i < end:
        bigger = np.empty(2 * out.size, np.uint32)
        for k in range(n):  # a slice would cost seconds of compilation
            bigger[k] = out[k]
        out = bigger
        i, n, more_invalid, last, more_doubt = _fold(data, i, end, tables, out, n, last)
        n_invalid += more_invalid
        doubt |= more_doubt
    if doubt:
        out, n = nfc(out, n, tables)
    return out, n, n_invalid


@part
def nfc(codepoints, n, tables):
    """Return (code points uint32[], n int64): the NFC of codepoints[:n], already mapped by NFKC_CF.

    Works segment by segment: a text can be cut before each character with ccc = 0 and NFC_QC = Yes (UAX #15,
    section 9.1), and a segment of one such character is in NFC.
    """
    out = np.empty(_decomposed_length(codepoints, n, tables), np.uint32)
    size = np.int64(0)
    i = np.int64(0)
    while i < n:
        stop = i + 1
        last = np.int64(0)
        last, doubt = quick_check(record(np.int64(codepoints[i]), tables), last)
        while stop < n:
            rec = record(np.int64(codepoints[stop]), tables)
            if rec & CHECK == 0:
                break
            last, odd = quick_check(rec, last)
            doubt |= odd
            stop += 1
        first = size
        if doubt:
            for k in range(i, stop):
                size = _decompose(np.int64(codepoints[k]), tables, out, size)
            _order(out, first, size, tables)
            size = _compose(out, first, size, tables)
        else:
            for k in range(i, stop):
                out[size] = codepoints[k]
                size += 1
        i = stop
    return out, size


@part
def _decomposed_length(codepoints, n, tables):
    """Return the number of code points of the full canonical decomposition, an upper bound for the NFC."""
    length = np.int64(n)
    for i in range(n):
        code_point = np.int64(codepoints[i])
        if S_BASE <= code_point < S_BASE + S_COUNT:
            length += 2
        else:
            entry = record(code_point, tables) >> (PAYLOAD + 8)
            length += entry & 3
    return length


@part
def _decompose(code_point, tables, out, size):
    """Write the full canonical decomposition to out[size:] and return the new size."""
    syllable = code_point - S_BASE
    if 0 <= syllable < S_COUNT:
        out[size] = L_BASE + syllable // (V_COUNT * T_COUNT)
        out[size + 1] = V_BASE + syllable % (V_COUNT * T_COUNT) // T_COUNT
        if syllable % T_COUNT == 0:
            return size + 2
        out[size + 2] = T_BASE + syllable % T_COUNT
        return size + 3
    entry = (record(code_point, tables) >> (PAYLOAD + 8)) & 0x1FFF
    if entry == 0:
        out[size] = code_point
        return size + 1
    length = (entry & 3) + 1
    for k in range(length):
        out[size + k] = tables.decompositions[(entry >> 2) + k]
    return size + length


@part
def _ccc(code_point, tables):
    """Return the canonical combining class (int64) of a code point that is not MAPPED."""
    return (record(np.int64(code_point), tables) >> PAYLOAD) & 0xFF


@part
def _order(text, start, end, tables):
    """Sort each run of ccc != 0 in text[start:end] by ccc, stably (canonical ordering, D109)."""
    i = start
    while i < end:
        if _ccc(text[i], tables) == 0:
            i += 1
            continue
        stop = i + 1
        while stop < end and _ccc(text[stop], tables) != 0:
            stop += 1
        if stop - i > LONG_RUN:
            _order_long(text, i, stop, tables)
        else:
            for k in range(i + 1, stop):
                mark = text[k]
                ccc = _ccc(mark, tables)
                j = k
                while j > i and _ccc(text[j - 1], tables) > ccc:
                    text[j] = text[j - 1]
                    j -= 1
                text[j] = mark
        i = stop


@part
def _order_long(text, start, end, tables):
    """Sort text[start:end] by ccc with a stable counting sort: linear for any run of marks."""
    places = np.zeros(257, np.int64)
    for k in range(start, end):
        places[_ccc(text[k], tables) + 1] += 1
    for ccc in range(256):
        places[ccc + 1] += places[ccc]
    marks = text[start:end].copy()
    for k in range(marks.size):
        ccc = _ccc(marks[k], tables)
        text[start + places[ccc]] = marks[k]
        places[ccc] += 1


@part
def _pair(first, second, tables):
    """Return the primary composite (int64) of two code points, 0 without one (D114, D115)."""
    if 0 <= second - V_BASE < V_COUNT and 0 <= first - L_BASE < L_COUNT:
        return S_BASE + ((first - L_BASE) * V_COUNT + second - V_BASE) * T_COUNT
    if 0 < second - T_BASE < T_COUNT and 0 <= first - S_BASE < S_COUNT and (first - S_BASE) % T_COUNT == 0:
        return first + second - T_BASE
    key = (first << 21) | second
    n_slots = np.int64(tables.pair_keys.size)
    slot = np.int64(pair_slot(first, second, n_slots))
    while tables.pair_keys[slot] != 0:
        if tables.pair_keys[slot] == key:
            return np.int64(tables.pair_values[slot])
        slot = (slot + 1) & (n_slots - 1)
    return np.int64(0)


@part
def _compose(text, start, end, tables):
    """Compose text[start:end], decomposed and ordered, in place (D117); return its new end."""
    size = start
    starter = np.int64(-1)
    last = np.int64(0)  # combining class of text[size - 1]
    for k in range(start, end):
        code_point = np.int64(text[k])
        ccc = _ccc(code_point, tables)
        # blocked: a character of the same or higher class, or another starter, is in between (D115)
        if starter >= 0 and (size == starter + 1 or last < ccc):
            composite = _pair(np.int64(text[starter]), code_point, tables)
            if composite != 0:
                text[starter] = composite
                continue
        if ccc == 0:
            starter = size
        text[size] = code_point
        size += 1
        last = ccc
    return size
