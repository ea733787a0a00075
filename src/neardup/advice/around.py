"""The pairs around the recommended line, with the passages in which they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from neardup.advice.outlook import Outlook
from neardup.advice.record import Apart, Around
from neardup.tables import Int64s

EACH = 5
"""Pairs shown on either side."""

EXAMINED = 2000
"""More pairs than this are not examined for five that have no document in common."""

WORDS, SHOWN, LETTERS = 600, 12, 90
"""Words of a text that are compared for a passage; words, and letters, of the passage that are shown."""

AGREEING, FARTHEST = 2, 80
"""Texts agree again where this many words are the same; they are looked for within this many words."""


def around(ids: Sequence[str], texts: Sequence[str], chosen: Outlook) -> Around:
    """Return the pairs closest to the threshold; a document appears twice only if there are no others."""
    a, b = np.triu_indices(len(texts), 1)
    values = chosen.similar[a, b].astype(np.float64)
    over = np.flatnonzero(values >= chosen.threshold)
    under = np.flatnonzero((values < chosen.threshold) & (values > 0))
    sides = []
    for side, away in ((over, values[over]), (under, -values[under])):
        order = side[np.argsort(away, kind="stable")[:EXAMINED]]
        near = sorted(_different(a, b, order), key=lambda k: -values[k])
        sides.append(tuple(_apart(ids, texts, int(a[k]), int(b[k]), float(values[k])) for k in near))
    kind = chosen.counts.kind
    return Around(kind.unit, kind.length, chosen.measure, chosen.threshold, sides[0], sides[1])


def _different(a: Int64s, b: Int64s, order: Int64s) -> list[int]:
    """Return the first EACH of the pairs, those without a document seen before first."""
    seen: set[int] = set()
    fresh, again = [], []
    for k in order.tolist():
        ends = {int(a[k]), int(b[k])}
        if seen & ends:
            again.append(k)
        else:
            fresh.append(k)
            seen |= ends
        if len(fresh) == EACH:
            break
    return (fresh + again)[:EACH]


def _apart(ids: Sequence[str], texts: Sequence[str], a: int, b: int, value: float) -> Apart:
    only_a, only_b = passages(texts[a], texts[b])
    return Apart(ids[a], ids[b], value, only_a, only_b)


def passages(a: str, b: str) -> tuple[str, str]:
    """Return the passages of the longest difference between two texts, cut to some words; "" for nothing.

    >>> passages("pay the invoice by Friday noon", "pay the invoice by Monday morning at noon")
    ('Friday', 'Monday morning at')
    """
    first, second = a.split()[:WORDS], b.split()[:WORDS]
    longest = max(_differences(first, second), key=lambda found: len(found[0]) + len(found[1]), default=([], []))
    return _cut(longest[0]), _cut(longest[1])


def _differences(a: list[str], b: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the stretches of words between the places where the texts agree again, in linear time."""
    i = j = 0
    while i < len(a) or j < len(b):
        if a[i : i + 1] == b[j : j + 1]:
            i, j = i + 1, j + 1
            continue
        skip_a, skip_b = _agreement(a, b, i, j)
        yield a[i : i + skip_a], b[j : j + skip_b]
        i, j = i + skip_a, j + skip_b


def _agreement(a: list[str], b: list[str], i: int, j: int) -> tuple[int, int]:
    """Return how many words to skip in both until AGREEING words are the same; all that is left if none are."""
    for skipped in range(1, FARTHEST + 1):
        for skip_a in range(skipped + 1):
            x, y = i + skip_a, j + skipped - skip_a
            if x < len(a) and y < len(b) and a[x : x + AGREEING] == b[y : y + AGREEING]:
                return skip_a, skipped - skip_a
    return len(a) - i, len(b) - j


def _cut(words: list[str]) -> str:
    shown = " ".join(words[:SHOWN])
    if len(shown) > LETTERS:
        return shown[:LETTERS] + " …"
    return shown + " …" * (len(words) > SHOWN)
