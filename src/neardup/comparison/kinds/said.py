"""The kind of a difference in a sentence with its counts."""

from __future__ import annotations

from neardup.comparison.kinds.decide import Kind
from neardup.comparison.kinds.names import CONTAINED, IDENTICAL, INSERTED, MOVED, NUMBERS, QUOTED, STYLE
from neardup.display import counted, number

UNKNOWN = "not determined: the texts repeat themselves too often to be aligned in full"


def sentence(kind: Kind) -> str:
    """Return a sentence about the difference of A and B, without a full stop.

    >>> from neardup.comparison.kinds.decide import kind_of
    >>> from neardup.text.units import read
    >>> sentence(kind_of(read("Pay 10 coins by noon"), read("Pay 1,200 coins by noon")))
    '1 of 1 number differs'
    >>> sentence(kind_of(read("Pay 10 coins"), read("To all: Pay 10 coins by noon")))
    'all of A is in B; B adds 4 tokens in 2 places'
    """
    if kind.name == IDENTICAL:
        return "character by character"
    if kind.name == STYLE:
        return f"the same {counted(kind.sizes[0], 'token')}; only case, punctuation or layout differs"
    if kind.name == NUMBERS:
        differ, count = kind.numbers
        return f"{number(differ)} of {counted(count, 'number')} {'differs' if differ == 1 else 'differ'}"
    return UNKNOWN if kind.name is None else _by_blocks(kind)


def _by_blocks(kind: Kind) -> str:
    blocks = kind.blocks
    assert blocks is not None
    (less, more), left = ("AB" if kind.larger else "BA"), blocks.left
    own = max(kind.larger, 0)
    added = counted(left[own], "token")
    moved = counted(int(blocks.moved.sum()), "passage")
    of_moved = f"{moved} moved ({counted(int(blocks.blocks[blocks.moved][:, 2].sum()), 'token')})"
    if kind.name == CONTAINED:
        places = counted(len(blocks.rest[own]), "place")
        holds = f"all of {less} is in {more}; {more} adds {added} in {places}"
        return f"{holds}; {of_moved}" if blocks.moved.any() else holds
    if kind.name == INSERTED:
        return f"{more} has one more passage, of {added}"
    if kind.name == MOVED:
        same = f"the same {counted(kind.sizes[0], 'token')} in another order"
        return f"{same}; {of_moved}" if blocks.moved.any() else same  # short lines are moved without blocks
    if kind.name == QUOTED:
        quoted = kind.sizes[1 - own] - left[1 - own]
        whole = f"{number(quoted)} of {counted(kind.sizes[1 - own], 'token')}"
        return f"{more} quotes {whole} of {less} and has {number(left[own])} of its own"
    (first, of_first), *others = [(size, side) for size, side in zip(left, "AB", strict=True) if size]
    parts = [
        f"{counted(first, 'token')} only in {of_first}",
        *(f"{number(n)} only in {side}" for n, side in others),
    ]
    only = f"{'at most ' * blocks.at_most}{', '.join(parts)}, in {counted(blocks.places, 'place')}"
    return f"{only}; {of_moved}" if blocks.moved.any() else only
