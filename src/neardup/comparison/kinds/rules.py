"""Two texts → the kind of their difference, by exact rules in a fixed order.

docs/explanation/kinds.md defines the kinds. Each rule is symmetric: exchanging the texts exchanges the sides of
the result and does not change its name.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from neardup.comparison import kinds
from neardup.comparison.alignment import LINE, LINE_ENDS, Breaks, breaks_of
from neardup.comparison.expressions import without_numbers
from neardup.comparison.kinds.blocks import Blocks, blocks_of, depths_of, has_quotes, quotes, slides
from neardup.display import counted, number
from neardup.tables import Bools, Int64s, UInt32s
from neardup.text.characters import KINDS as NAMES
from neardup.text.characters import SIGN, SPACE, canonical, differences
from neardup.text.units import Reading, Units, read
from neardup.unicode import DIGITS_ZERO

LEFT_SHARE = 10
"""With moved text, at most a tenth of the tokens may be in no block."""

UNKNOWN = "not determined: the texts repeat themselves too often to be aligned in full"

_ZEROS = np.sort(DIGITS_ZERO)
_NUMBER = np.uint32(ord("#"))

_BEGIN = np.uint32(1 << 31)
"""Marks the first code point of a token; code points have 21 bits."""


@dataclass(frozen=True, eq=False)
class Kind:
    """The kind of a difference: its name, and the counts behind it.

    ``name`` is one of ``KINDS``, or None if the texts repeat too often to be aligned in full. ``larger`` is 0 if A
    holds B, or quotes it, 1 the other way round, −1 where neither does. ``blocks`` are set unless the words are
    the same; ``numbers`` (that differ, in all) if the texts differ in numbers only. ``quoted`` are the tokens that
    one text quotes of the other; words that both have outside of the quotation, such as a greeting, do not count.
    ``characters`` has the number of differences between equal tokens by their kind (``text.characters``).
    """

    name: str | None
    sizes: tuple[int, int]
    larger: int = -1
    blocks: Blocks | None = None
    numbers: tuple[int, int] = (0, 0)
    quoted: int = 0
    characters: Counter[int] = field(default_factory=Counter)

    @property
    def own(self) -> int:
        """The tokens that only the larger text has; of a text that quotes the other, all that are not quoted."""
        assert self.blocks is not None
        return (
            self.sizes[self.larger] - self.quoted if self.name == kinds.QUOTED else self.blocks.left[self.larger]
        )


def kind_of(a: Reading, b: Reading) -> Kind:
    """Return the kind of difference of two texts.

    >>> from neardup.text.units import read
    >>> kind_of(read("Pay 10 coins by noon"), read("Pay 1,200 coins by noon")).name
    'numbers only'
    """
    words = a.words, b.words
    sizes = len(words[0]), len(words[1])
    if np.array_equal(words[0].hashes, words[1].hashes):
        if canonical(a.text) == canonical(b.text):
            return Kind(kinds.IDENTICAL, sizes, characters=Counter({SPACE: int(a.text != b.text)}))
        characters = Counter(each.kind for each in differences(a.text, b.text, words[0].spans, words[1].spans))
        return Kind(kinds.SIGNS if characters[SIGN] else kinds.STYLE, sizes, characters=characters)
    numbers = None if _first_words_differ(*words) else (numbers_of(a), numbers_of(b))
    if numbers is not None and same_but_for_numbers(*numbers):
        signs = _signs_beside_numbers(a.text, b.text)
        if not signs:
            return Kind(kinds.NUMBERS, sizes, numbers=different_numbers(*numbers))
        return Kind(kinds.WORDING, sizes, blocks=blocks_of(*words), characters=Counter({SIGN: signs}))
    del numbers
    blocks = blocks_of(*words)
    characters = _in_blocks(words, blocks)
    quoted = has_quotes(a.text), has_quotes(b.text)
    if any(quoted):
        depths = (
            depths_of(units) if has else np.zeros(len(units), np.int64)
            for units, has in zip(words, quoted, strict=True)
        )
        quoting, tokens = quotes(blocks, *depths)
        if quoting:
            return Kind(kinds.QUOTED, sizes, int(quoting > 0), blocks, quoted=tokens, characters=characters)
    name: str | None = _by_blocks(words, blocks)
    if name == kinds.WORDING:
        name = _by_lines(words, blocks) or (None if blocks.capped else kinds.WORDING)
    if name is not None and characters[SIGN]:
        name = kinds.WORDING
    larger = int(sizes[1] > sizes[0]) if name in (kinds.CONTAINED, kinds.INSERTED) else -1
    return Kind(name, sizes, larger, blocks, characters=characters)


def _first_words_differ(a: Units, b: Units) -> bool:
    """Whether the first tokens that differ have letters alone: then the texts do not differ in numbers only."""
    size = min(len(a), len(b))
    differ = np.flatnonzero(a.hashes[:size] != b.hashes[:size])
    first = int(differ[0]) if len(differ) else size
    longer = [units for units in (a, b) if first < len(units)]
    return all(units.text[slice(*units.spans[first].tolist())].isalpha() for units in longer)


def _in_blocks(words: tuple[Units, Units], blocks: Blocks) -> Counter[int]:
    """Return the number of differences of characters between the tokens of common blocks, by their kind."""
    one, other = words
    characters: Counter[int] = Counter()
    for i, j, size in blocks.blocks.tolist():
        bounds = [
            (int(units.spans[first, 0]), int(units.spans[first + size - 1, 1]))
            for units, first in ((one, i), (other, j))
        ]
        if one.text[slice(*bounds[0])] != other.text[slice(*bounds[1])]:
            spans = one.spans[i : i + size], other.spans[j : j + size]
            differ = differences(one.text, other.text, *spans, (bounds[0], bounds[1]))
            characters.update(each.kind for each in differ)
    return characters


def _signs_beside_numbers(a: str, b: str) -> int:
    """Return how many signs and operators differ, apart from those of numbers, in texts equal but for numbers."""
    one, other = (read(without_numbers(text)).words for text in (a, b))
    if not np.array_equal(one.hashes, other.hashes):
        return 0
    return sum(each.kind == SIGN for each in differences(one.text, other.text, one.spans, other.spans))


def _by_blocks(words: tuple[Units, Units], blocks: Blocks) -> str:
    """Return the kind by what is in no block: nothing, whole passages of one text, or anything else."""
    left = blocks.left
    if not any(left):
        return kinds.MOVED
    if all(left):
        return kinds.MOVED if _only_moved(words, blocks) else kinds.WORDING
    larger = int(left[1] > 0)
    units, rest = words[larger], blocks.rest[larger]
    inside = rest[(rest[:, 0] > 0) & (rest[:, 1] < len(units))]
    short = inside[inside[:, 1] - inside[:, 0] < kinds.PASSAGE]
    if len(rest) == 1 and len(inside) and not blocks.moved.any():
        begin, end = inside[0].tolist()
        left_by, right_by = slides(units.hashes, begin, end, len(units))
        if left_by == begin or right_by == len(units) - end:
            return kinds.CONTAINED
        return kinds.WORDING if len(short) and not _whole(units, breaks_of(units), short[0]) else kinds.INSERTED
    if len(short):
        breaks = breaks_of(units)
        if not all(_whole(units, breaks, stretch) for stretch in short):
            return kinds.WORDING
    return kinds.CONTAINED if _lines_moved(words[1 - larger], blocks, 1 - larger) else kinds.WORDING


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
    left, right = slides(units.hashes, begin, end, kinds.PASSAGE)
    return any(breaks.kinds[begin + by] and breaks.kinds[end + by] for by in range(-left, right + 1))


def _by_lines(words: tuple[Units, Units], blocks: Blocks) -> str | None:
    """Return MOVED if the texts have the same lines in another order, CONTAINED if one has those of the other.

    Lines shorter than a passage are in no block if they are moved, or if they are alone between additions.
    """
    tokens = [set(units.hashes.tolist()) for units in words]
    if not (tokens[0] <= tokens[1] or tokens[1] <= tokens[0]):
        return None  # each text has a word that the other lacks
    lines = [_lines(units) for units in words]
    few, many = sorted(lines, key=len)
    if len(few) == len(many):
        return kinds.MOVED if Counter(few) == Counter(many) else None
    waiting = iter(many)
    return kinds.CONTAINED if all(line in waiting for line in few) else None


def _lines(units: Units) -> list[bytes]:
    """Return the tokens of each line with tokens, as bytes."""
    edges = np.flatnonzero(breaks_of(units).kinds == LINE)
    hashes = units.hashes.tobytes()
    return [
        hashes[8 * begin : 8 * end] for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]


def sentence(kind: Kind) -> str:
    """Return a sentence about the difference of A and B, without a full stop.

    >>> from neardup.comparison.kinds.rules import kind_of
    >>> from neardup.text.units import read
    >>> sentence(kind_of(read("Pay 10 coins by noon"), read("Pay 1,200 coins by noon")))
    '1 of 1 number differs'
    >>> sentence(kind_of(read("Pay 10 coins"), read("To all: Pay 10 coins by noon")))
    'all of A is in B; B adds 4 tokens in 2 places'
    """
    if kind.name == kinds.IDENTICAL:
        space = "but for line ends, white space or Unicode normal form"
        return space if kind.characters[SPACE] else "character by character"
    if kind.name in (kinds.STYLE, kinds.SIGNS):
        return f"the same {counted(kind.sizes[0], 'token')}; {by_kind(kind.characters)}"
    if kind.name == kinds.NUMBERS:
        differ, count = kind.numbers
        return f"{number(differ)} of {counted(count, 'number')} {'differs' if differ == 1 else 'differ'}"
    if kind.name is None:
        return UNKNOWN
    signs = counted(kind.characters[SIGN], "sign or operator differs", "signs or operators differ")
    return _block_sentence(kind) + f"; in equal text {signs}" * bool(kind.characters[SIGN])


def by_kind(characters: Mapping[int, int]) -> str:
    """Return the number of differences of each kind of characters, the weightiest first.

    >>> from neardup.text.characters import CASE, SIGN
    >>> by_kind({SIGN: 1, CASE: 2})
    'sign or operator 1, case 2'
    """
    order = sorted((kind for kind, count in characters.items() if count), reverse=True)
    return ", ".join(f"{NAMES[kind]} {number(characters[kind])}" for kind in order)


def _block_sentence(kind: Kind) -> str:
    blocks = kind.blocks
    assert blocks is not None
    less, more = "AB" if kind.larger else "BA"
    moved = counted(int(blocks.moved.sum()), "passage")
    of_moved = f"{moved} moved ({counted(int(blocks.blocks[blocks.moved][:, 2].sum()), 'token')})"
    if kind.name == kinds.CONTAINED:
        places = counted(len(blocks.rest[kind.larger]), "place")
        holds = f"all of {less} is in {more}; {more} adds {counted(kind.own, 'token')} in {places}"
        return f"{holds}; {of_moved}" if blocks.moved.any() else holds
    if kind.name == kinds.INSERTED:
        return f"{more} has one more passage, of {counted(kind.own, 'token')}"
    if kind.name == kinds.MOVED or not any(blocks.left):  # of the same words, with other signs: wording
        same = f"the same {counted(kind.sizes[0], 'token')} in another order"
        return f"{same}; {of_moved}" if blocks.moved.any() else same  # short lines are moved without blocks
    if kind.name == kinds.QUOTED:
        whole = f"{number(kind.quoted)} of {counted(kind.sizes[1 - kind.larger], 'token')}"
        return f"{more} quotes {whole} of {less} and has {number(kind.own)} of its own"
    (first, of_first), *others = [(size, side) for size, side in zip(blocks.left, "AB", strict=True) if size]
    parts = [
        f"{counted(first, 'token')} only in {of_first}",
        *(f"{number(n)} only in {side}" for n, side in others),
    ]
    only = f"{'at most ' * blocks.at_most}{', '.join(parts)}, in {counted(blocks.places, 'place')}"
    return f"{only}; {of_moved}" if blocks.moved.any() else only


@dataclass(frozen=True, eq=False)
class Numbers:
    """A text as its words with one mark for each number, and the digits of the numbers.

    ``words`` uint32: the code points of the tokens. ``digits`` uint32, and ``number`` int64: the number, counted
    from 0, that each digit belongs to. The first code point of each token has the bit ``_BEGIN``.
    """

    words: UInt32s
    digits: UInt32s
    number: Int64s


def numbers_of(reading: Reading) -> Numbers:
    """Return the numbers of a text and the rest of it."""
    points, places = reading.codepoints, reading.token_places
    begins, inside = _tokens_in(places, len(points))
    digit = _digits(points) & inside
    numerals = np.flatnonzero(digit)
    first = digit & ~np.concatenate(([False], digit[:-1] & ~begins[1:]))[: len(digit)]
    first[places[_continued_numbers(reading, numerals), 0]] = False
    kept = inside & (first | ~digit)
    digits, words = points.copy(), points.copy()
    words[digit] = _NUMBER
    for shown in (digits, words):
        shown[begins] |= _BEGIN
    return Numbers(words[kept], digits[numerals], np.cumsum(first[numerals]) - 1)


def same_but_for_numbers(a: Numbers, b: Numbers) -> bool:
    """Whether the words are equal, in the same order, with a number in the same places."""
    return np.array_equal(a.words, b.words)


def different_numbers(a: Numbers, b: Numbers) -> tuple[int, int]:
    """Return how many numbers differ, and how many there are, for texts that are the same but for numbers."""
    count = int(a.number[-1]) + 1 if len(a.number) else 0
    sizes = [np.bincount(side.number, minlength=count) for side in (a, b)]
    differ: Bools = sizes[0] != sizes[1]
    digits = [side.digits[~differ[side.number]] for side in (a, b)]
    places = a.number[~differ[a.number]]
    differ[places[digits[0] != digits[1]]] = True
    return int(differ.sum()), count


def _digits(points: UInt32s) -> Bools:
    """Return which code points are decimal digits."""
    zero = _ZEROS[np.maximum(np.searchsorted(_ZEROS, points, "right") - 1, 0)]
    digits: Bools = (points >= zero) & (points <= zero + 9)
    return digits


def _tokens_in(places: Int64s, size: int) -> tuple[Bools, Bools]:
    """Return which code points begin a token, and which are in one."""
    begins, edges = np.zeros(size, np.bool_), np.zeros(size + 1, np.int8)
    begins[places[:, 0]] = True
    edges[places[:, 0]] += 1  # tokens do not overlap
    edges[places[:, 1]] -= 1
    return begins, np.cumsum(edges, dtype=np.int8)[:-1] > 0


def _continued_numbers(reading: Reading, digits: Int64s) -> Int64s:
    """Return the tokens that continue the number before them: both are ``digits``, without a line end between."""
    places = reading.token_places
    tokens, counts = np.unique(np.searchsorted(places[:, 0], digits, "right") - 1, return_counts=True)
    numbers = tokens[counts == places[tokens, 1] - places[tokens, 0]]
    later: Int64s = numbers[1:][np.diff(numbers) == 1]
    if not len(later):
        return later
    ends = np.flatnonzero(np.isin(reading.codepoints, [ord(char) for char in LINE_ENDS]))
    before, behind = (np.searchsorted(ends, place) for place in (places[later - 1, 1], places[later, 0]))
    same_line: Bools = before == behind
    return later[same_line]
