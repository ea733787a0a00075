"""Two texts → the kind of their difference, by exact rules in a fixed order.

docs/explanation/kinds.md defines the kinds. Each rule is symmetric: exchanging the texts exchanges the sides of
the result and does not change its name.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from unicodedata import normalize

import numpy as np

from neardup.comparison.alignment.breaks import LINE, Breaks, breaks_of
from neardup.comparison.kinds.blocks import Blocks, blocks_of, slides
from neardup.comparison.kinds.digits import different_numbers, numbers_of, same_but_for_numbers
from neardup.comparison.kinds.names import (
    CONTAINED,
    IDENTICAL,
    INSERTED,
    MOVED,
    NUMBERS,
    PASSAGE,
    QUOTED,
    STYLE,
    WORDING,
)
from neardup.comparison.kinds.quotes import depths_of, has_quotes, quotes
from neardup.tables import Int64s
from neardup.text.units import Reading, Units

LEFT_SHARE = 10
"""With moved text, at most a tenth of the tokens may be in no block."""


@dataclass(frozen=True, eq=False)
class Kind:
    """The kind of a difference: its name, and the counts behind it.

    ``name`` is one of ``KINDS``, or None if the texts repeat too often to be aligned in full. ``larger`` is 0 if A
    holds B, or quotes it, 1 the other way round, −1 where neither does. ``blocks`` are set unless the words are
    the same; ``numbers`` (that differ, in all) if the texts differ in numbers only.
    """

    name: str | None
    sizes: tuple[int, int]
    larger: int = -1
    blocks: Blocks | None = None
    numbers: tuple[int, int] = (0, 0)


def kind_of(a: Reading, b: Reading) -> Kind:
    """Return the kind of difference of two texts.

    >>> from neardup.text.units import read
    >>> kind_of(read("Pay 10 coins by noon"), read("Pay 1,200 coins by noon")).name
    'numbers only'
    """
    words = a.words, b.words
    sizes = len(words[0]), len(words[1])
    if without_form(a.text) == without_form(b.text):
        return Kind(IDENTICAL, sizes)
    if np.array_equal(words[0].hashes, words[1].hashes):
        return Kind(STYLE, sizes)
    numbers = numbers_of(a), numbers_of(b)
    if same_but_for_numbers(*numbers):
        return Kind(NUMBERS, sizes, numbers=different_numbers(*numbers))
    del numbers
    blocks = blocks_of(*words)
    quoted = has_quotes(a.text), has_quotes(b.text)
    if any(quoted):
        depths = (
            depths_of(units) if has else np.zeros(len(units), np.int64)
            for units, has in zip(words, quoted, strict=True)
        )
        quoting = quotes(blocks, *depths)
        if quoting:
            return Kind(QUOTED, sizes, int(quoting > 0), blocks)
    name: str | None = _by_blocks(words, blocks)
    if name == WORDING:
        name = _by_lines(words, blocks) or (None if blocks.capped else WORDING)
    larger = int(sizes[1] > sizes[0]) if name in (CONTAINED, INSERTED) else -1
    return Kind(name, sizes, larger, blocks)


def without_form(text: str) -> str:
    """Return a text with one form of line ends and accents, whose differences no reader can see."""
    return normalize("NFC", text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))


def _by_blocks(words: tuple[Units, Units], blocks: Blocks) -> str:
    """Return the kind by what is in no block: nothing, whole passages of one text, or anything else."""
    left = blocks.left
    if not any(left):
        return MOVED
    if all(left):
        return MOVED if _only_moved(words, blocks) else WORDING
    larger = int(left[1] > 0)
    units, rest = words[larger], blocks.rest[larger]
    inside = rest[(rest[:, 0] > 0) & (rest[:, 1] < len(units))]
    short = inside[inside[:, 1] - inside[:, 0] < PASSAGE]
    if len(rest) == 1 and len(inside) and not blocks.moved.any():
        begin, end = inside[0].tolist()
        left_by, right_by = slides(units.hashes, begin, end, len(units))
        if left_by == begin or right_by == len(units) - end:
            return CONTAINED
        return WORDING if len(short) and not _whole(units, breaks_of(units), short[0]) else INSERTED
    if len(short):
        breaks = breaks_of(units)
        if not all(_whole(units, breaks, stretch) for stretch in short):
            return WORDING
    return CONTAINED if _lines_moved(words[1 - larger], blocks, 1 - larger) else WORDING


def _lines_moved(units: Units, blocks: Blocks, side: int) -> bool:
    """Whether the moved blocks of one text are whole lines or sentences of it.

    Otherwise a clause of one sentence may be found in another sentence, which says something else.
    """
    if not blocks.moved.any():
        return True
    begins, kinds = blocks.blocks[blocks.moved][:, side], breaks_of(units).kinds
    return bool((kinds[begins] > 0).all() and (kinds[begins + blocks.blocks[blocks.moved][:, 2]] > 0).all())


def _only_moved(words: tuple[Units, Units], blocks: Blocks) -> bool:
    """Whether the texts have the same words as often, and nearly all of them in blocks, some of them moved."""
    if not blocks.moved.any() or len(words[0]) != len(words[1]):
        return False
    if max(blocks.left) * LEFT_SHARE > len(words[0]):
        return False
    return np.array_equal(np.sort(words[0].hashes), np.sort(words[1].hashes))


def _whole(units: Units, breaks: Breaks, stretch: Int64s) -> bool:
    """Whether a stretch of units is one or more whole lines or sentences, wherever it can slide to."""
    begin, end = stretch.tolist()
    left, right = slides(units.hashes, begin, end, PASSAGE)
    return any(breaks.kinds[begin + by] and breaks.kinds[end + by] for by in range(-left, right + 1))


def _by_lines(words: tuple[Units, Units], blocks: Blocks) -> str | None:
    """Return MOVED if the texts have the same lines in another order, CONTAINED if one has those of the other.

    Lines shorter than a passage are in no block if they are moved, or if they are alone between additions.
    """
    lines = [_lines(units) for units in words]
    few, many = sorted(lines, key=len)
    if len(few) == len(many):
        return MOVED if Counter(few) == Counter(many) else None
    waiting = iter(many)
    return CONTAINED if all(line in waiting for line in few) else None


def _lines(units: Units) -> list[bytes]:
    """Return the tokens of each line with tokens, as bytes."""
    edges = np.flatnonzero(breaks_of(units).kinds == LINE)
    hashes = units.hashes.tobytes()
    return [
        hashes[8 * begin : 8 * end] for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
