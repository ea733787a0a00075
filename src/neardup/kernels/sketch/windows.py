"""Texts × wanted windows → who has what: the look-up of a small reference side in a stream of texts.

A bitmap that fits the second-level cache answers for most windows of a text that none is wanted; only the others
reach the table of hashes, whose cells are cache misses. Whole short items are looked for by their first tokens, so
that a text is read once whatever their lengths.
"""

import numpy as np

from neardup.kernels.compiler import entry, part
from neardup.kernels.shingles import mix64, shingle_hashes
from neardup.kernels.sketch.documents import unit_hashes
from neardup.kernels.sorting import copy_into, heap_sort, room, with_space

HEAD = 4
"""The first tokens of a whole short item, by which it is looked for; no such item has fewer."""
_BITS = 23
"""Binary logarithm of the bits of the largest bitmap: 1 MB."""
_63, _6, _ONE, _ZERO = np.uint64(63), np.uint64(6), np.uint64(1), np.uint64(0)


@entry("uint64[:] -> (uint64[:], uint64[:], int32[:])")
def window_index(wanted):
    """Return the index of ``wanted`` (uint64, distinct): (wanted, bitmap uint64, table int32).

    Bit h of the bitmap is set if a wanted hash has these high bits. A cell of the table, at the low bits of a hash
    or after it, has its place in ``wanted``, or -1.
    """
    bits = 6
    while bits < _BITS and (1 << bits) < 16 * wanted.size:
        bits += 1
    size = 16
    while size < 3 * wanted.size // 2:
        size *= 2
    bitmap, table = np.zeros(1 << (bits - 6), np.uint64), np.full(size, -1, np.int32)
    shift, mask = np.uint64(64 - bits), size - 1
    for place in range(wanted.size):
        bit = wanted[place] >> shift
        bitmap[np.int64(bit >> _6)] |= _ONE << (bit & _63)
        cell = np.int64(wanted[place] & np.uint64(mask))
        while table[cell] >= 0:
            cell = (cell + 1) & mask
        table[cell] = place
    return wanted, bitmap, table


@entry("uint64[:], bool[:], bool, int64, out int32[:] -> uint64[:]")
def number_windows(hashes, whole, kind, base, numbers):
    """Number the distinct ``hashes`` (uint64) of one kind from ``base`` on, in the order of their first places.

    ``whole`` (bool[n]) is the kind of each. Fills ``numbers`` (int32[n]), and returns the distinct ones (uint64).
    """
    wanted = np.int64(0)
    for i in range(hashes.size):
        wanted += whole[i] == kind
    size = 16
    while size < 3 * wanted // 2:
        size *= 2
    table, mask = np.full(size, -1, np.int32), size - 1
    distinct, used = np.empty(min(wanted, 1024), np.uint64), np.int64(0)
    for i in range(hashes.size):
        if whole[i] != kind:
            continue
        cell = np.int64(hashes[i] & np.uint64(mask))
        while table[cell] >= 0 and distinct[table[cell]] != hashes[i]:
            cell = (cell + 1) & mask
        if table[cell] < 0:
            if used == distinct.size:
                larger = np.empty(min(wanted, 2 * used), np.uint64)
                copy_into(larger, 0, distinct, used)
                distinct = larger
            distinct[used] = hashes[i]
            table[cell] = used
            used += 1
        numbers[i] = base + table[cell]
    return distinct[:used].copy()


@entry("int32[:], int64[:] -> (int32[:], int64[:])")
def distinct_windows(windows, starts):
    """Return the distinct windows of each item, ascending: (int32, offsets int64[items + 1]).

    Item i has ``windows[starts[i]:starts[i + 1]]`` (int32).
    """
    out, offsets = windows.copy(), np.zeros(starts.size, np.int64)
    used = np.int64(0)
    for item in range(starts.size - 1):
        begin, end = starts[item], starts[item + 1]
        heap_sort(out, begin, end)
        for i in range(begin, end):
            if i == begin or out[i] != out[used - 1]:
                out[used] = out[i]
                used += 1
        offsets[item + 1] = used
    return out[:used].copy(), offsets


@entry("(int32[:], int64[:]), int64[:], int64 -> (int32[:], int32[:])")
def rarest_windows(sets, least, distinct):
    """Return int32 (items, starts): the items by window, for the n - ``least`` + 1 rarest of its n windows.

    ``sets`` as in ``items_met``; there are ``distinct`` windows. A window is rare if few items have it, and of
    equally rare ones those with the lowest numbers are taken.
    """
    places, offsets = sets
    frequency, starts = np.zeros(distinct, np.int32), np.zeros(distinct + 1, np.int32)
    for place in places:
        frequency[place] += 1
    chosen, used = np.empty(places.size, np.int32), np.int64(0)
    keys = np.empty(64, np.int64)
    for item in range(least.size):
        size = offsets[item + 1] - offsets[item]
        keys = room(keys, size)
        for i in range(size):
            place = np.int64(places[offsets[item] + i])
            keys[i] = (np.int64(frequency[place]) << 32) | place
        heap_sort(keys, 0, size)
        for i in range(size - least[item] + 1):
            chosen[used] = keys[i] & 0xFFFFFFFF
            starts[chosen[used] + 1] += 1
            used += 1
    for place in range(distinct):
        starts[place + 1] += starts[place]
        frequency[place] = starts[place]  # where the items of this window go on
    items, used = np.empty(used, np.int32), np.int64(0)
    for item in range(least.size):
        for _ in range(offsets[item + 1] - offsets[item] - least[item] + 1):
            items[frequency[chosen[used]]] = item
            frequency[chosen[used]] += 1
            used += 1
    return items, starts


@entry("int64[:, :], int64[:, :], int64[:], int32[:], int64[:] -> (int32[:], int64[:])")
def places_matched(met, ranges, items, windows, starts):
    """Return the places in items whose windows are in a text: (int32, ends int64[n]), in the order of the item.

    Match k is of item ``items[k]`` and the rows ``ranges[k]`` (int64[n, 2]) of ``met``, those of one text.
    """
    ends, total = np.empty(items.size, np.int64), np.int64(0)
    for item in items:
        total += starts[item + 1] - starts[item]
    matched, used = np.empty(total, np.int32), np.int64(0)
    for k in range(items.size):
        begin = starts[items[k]]
        for i in range(begin, starts[items[k] + 1]):
            if _has(met, ranges[k, 0], ranges[k, 1], windows[i]):
                matched[used] = i - begin
                used += 1
        ends[k] = used
    return matched[:used], ends


@part
def _proposed(hashes, n, bitmap, out):
    """Write the places of the ``hashes[:n]`` whose bit is set to ``out``; return their number.

    Without a branch, because no processor can predict it; the few others are looked up afterwards.
    """
    bits = 6
    while (1 << bits) < 64 * bitmap.size:
        bits += 1
    shift, count = np.uint64(64 - bits), 0
    for i in range(n):
        bit = hashes[i] >> shift
        out[count] = i
        count += np.int64((bitmap[np.int64(bit >> _6)] >> (bit & _63)) & _ONE)
    return count


@part
def _place_of(value, wanted, table):
    """The place of a hash among the wanted ones; -1 if it is not wanted."""
    mask = table.size - 1
    cell = np.int64(value & np.uint64(mask))
    while table[cell] >= 0 and wanted[table[cell]] != value:
        cell = (cell + 1) & mask
    return np.int64(table[cell])


@part
def _distinct(met, begin, end):
    """Sort the rows of one text by place, each place once; return the new end."""
    if end - begin < 2:
        return end
    places = met[begin:end, 1].copy()
    heap_sort(places, 0, places.size)
    last = begin
    met[begin, 1] = places[0]
    for k in range(1, places.size):
        if places[k] != met[last, 1]:
            last += 1
            met[last, 0], met[last, 1] = met[begin, 0], places[k]
    return last + 1


@entry(
    "TextBatch, UnicodeTables, int64[:], Key, (uint64[:], uint64[:], int32[:]), ((uint64[:], uint64[:], "
    "int32[:]), (uint64[:], uint64[:], int32[:]), uint64[:]) -> int64[:, :]"
)
def windows_met(batch, tables, form, key, shingles, short):
    """Return int64[n, 2]: (text, place) of each wanted window of each text, once, by text and then by place.

    ``batch`` is a TextBatch, ``form`` = (unit, shingle length), int64[2], and ``key`` the ``Key`` of the windows.
    ``shingles`` is the ``window_index`` of shingles. ``short`` = (index of whole items, index of their first HEAD
    tokens, lengths uint64): bit n of the lengths of a head is set if an item of n tokens begins with it. The
    places of whole items follow those of the shingles.
    """
    # unpacked here: an array that is taken out of a tuple in a loop is counted by Numba each time
    wanted, bitmap, table = shingles
    (whole, _, whole_table), (heads, head_bitmap, head_table), lengths = short
    texts = (np.empty(4096, np.uint64), np.empty(8192, np.int64))
    hashes, proposed = np.empty(4096, np.uint64), np.empty(4096, np.int64)
    met, n_met = np.empty((1024, 2), np.int64), np.int64(0)
    for d in range(batch.offsets.size - 1):
        texts, n, _ = unit_hashes(batch, d, tables, form[0], key, texts)
        tokens, begin = texts[0], n_met
        hashes, proposed = room(hashes, n), room(proposed, n)
        if wanted.size > 0:
            count = shingle_hashes(tokens, n, form[1], key.shingles, hashes)
            for k in range(_proposed(hashes, count, bitmap, proposed)):
                place = _place_of(hashes[proposed[k]], wanted, table)
                if place >= 0:
                    met = with_space(met, n_met)
                    met[n_met, 0], met[n_met, 1] = d, place
                    n_met += 1
        if heads.size > 0 and n >= HEAD:
            count = shingle_hashes(tokens, n, HEAD, key.shingles, hashes)
            for k in range(_proposed(hashes, count, head_bitmap, proposed)):
                head = _place_of(hashes[proposed[k]], heads, head_table)
                if head < 0:
                    continue
                value, left = _ZERO, lengths[head]
                for position in range(n - proposed[k]):
                    if left == _ZERO:
                        break
                    value += key.shingles[1 + position] * tokens[proposed[k] + position]
                    bit = _ONE << np.uint64(position + 1)
                    if left & bit:
                        left &= ~bit
                        place = _place_of(mix64(value), whole, whole_table)
                        if place >= 0:
                            met = with_space(met, n_met)
                            met[n_met, 0], met[n_met, 1] = d, wanted.size + place
                            n_met += 1
        n_met = _distinct(met, begin, n_met)
    return met[:n_met]


@part
def _has(places, begin, end, wanted):
    """Whether the ascending ``places[begin:end, 1]`` have ``wanted``."""
    while begin < end:
        middle = (begin + end) // 2
        if places[middle, 1] < wanted:
            begin = middle + 1
        elif places[middle, 1] > wanted:
            end = middle
        else:
            return True
    return False


@entry("int64[:, :], (int32[:], int32[:]), (int32[:], int64[:]), int64[:] -> int64[:, :]")
def items_met(met, probes, sets, least):
    """Return int64[n, 3]: (text, item, windows) of the items that have enough windows in a text.

    ``met`` is the result of ``windows_met``. ``sets`` = (places int32, offsets int64): the distinct windows of
    each item; a text must have ``least`` (int64[items]). ``probes`` = (items int32, starts int64): the items by
    place, for some of their windows; every text with enough windows has one of these.
    """
    of_place, starts = probes
    places, offsets = sets
    items, enough, n_enough = np.empty(64, np.int64), np.empty((64, 3), np.int64), np.int64(0)
    begin = 0
    while begin < met.shape[0]:
        end, n_items = begin, np.int64(0)
        while end < met.shape[0] and met[end, 0] == met[begin, 0]:
            first, after = starts[met[end, 1]], starts[met[end, 1] + 1]
            if n_items + after - first > items.size:
                larger = np.empty(2 * (n_items + after - first), np.int64)
                copy_into(larger, 0, items, n_items)
                items = larger
            for k in range(first, after):
                items[n_items] = of_place[k]
                n_items += 1
            end += 1
        heap_sort(items, 0, n_items)
        for k in range(n_items):
            item = items[k]
            if k > 0 and item == items[k - 1]:
                continue
            shared = 0
            for w in range(offsets[item], offsets[item + 1]):
                shared += _has(met, begin, end, places[w])
            if shared >= least[item]:
                enough = with_space(enough, n_enough)
                enough[n_enough, 0], enough[n_enough, 1], enough[n_enough, 2] = met[begin, 0], item, shared
                n_enough += 1
        begin = end
    return enough[:n_enough]
