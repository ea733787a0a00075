"""Hypothesis strategies: texts as they come, and texts as an enemy would write them."""

from __future__ import annotations

import unicodedata
from functools import cache

from hypothesis import strategies as st

from neardup.kernels.text import unicode as kernel
from neardup.unicode import unicode_tables


@cache
def comparable() -> str:
    """Return all characters assigned in Unicode 15.0.0 and in the interpreter's version.

    Only on these can ``unicodedata`` be an oracle: Python 3.11 knows Unicode 14.0, and 3.13 and later know
    characters that are not in 15.0.
    """
    tables = unicode_tables()
    records = tables.blocks.reshape(-1, 1 << kernel.SHIFT)[tables.block_of].reshape(-1)
    assigned = (records & kernel.ASSIGNED).nonzero()[0].tolist()
    return "".join(char for char in map(chr, assigned) if unicodedata.category(char) != "Cn")


@cache
def marks() -> str:
    """Return the characters with a combining class, or that compose with the one before."""
    tables = unicode_tables()
    records = tables.blocks.reshape(-1, 1 << kernel.SHIFT)[tables.block_of].reshape(-1)
    return "".join(char for char in comparable() if records[ord(char)] & kernel.CHECK)


# One row of everyday characters for each way a script can behave
SCRIPTS = (
    "abcXYZ019_ .,-'\n\t",
    "äöüßÄéèñçøåŁİıſﬁﬀŉǅ",
    "αβγςσΑΆΰΐᾳᾼΏ",
    "абвЯЖйЙёЁіЇ",
    "אבגשׁשׂבּ",
    "ابةؤئﷺﻻ",
    "कखग़क्षिी\u200d",
    "কোকৌ",
    "கொகோ",
    "ഊണ്ന്‍",
    "กขคำเ้์ที",
    "ກຂຄຳໍ",
    "ខ្មែរ",
    "မြန်မာါ့း",
    "漢字東京都々〇",
    "ひらがなゞゟ゛゙゚",
    "カタカナヴガーｶﾞﾊﾟﾌﾟ",
    "한국어각힣ᄀ각",
    "ＡＢＣ１２３　Ⅷ①㎏½",
)
HOSTILE = (
    "\ufdfa\u2126\u212b\U0002f800"  # expands eighteenfold; maps to one
    "\u00ad\u034f\u200b\u200d\ufeff\ufe0f"  # vanishes
    "\ufffd\uffff\U0010ffff\x00\x7f\x85\u2028\u3000"  # no character, control, white space
    "\u0345\u0344\u0f73\u0958\U0001d15e"  # a mark that folds to a letter; excluded from composition
    "\u0315\u0300\u0323\u031b\u3099\u1161\u11a8"  # sorted by class, or composed with the one before
)


def ascii_text() -> st.SearchStrategy[str]:
    """Text of ASCII characters."""
    return st.text(st.characters(max_codepoint=127), max_size=200)


def mixed_text() -> st.SearchStrategy[str]:
    """Text that changes between scripts."""
    runs = st.one_of(*(st.text(script + " ", min_size=1, max_size=12) for script in SCRIPTS))
    return st.lists(runs, max_size=8).map("".join)


def marked_text() -> st.SearchStrategy[str]:
    """Text of letters under many marks, and of conjoining jamo."""
    base = st.sampled_from("aeoAEOαωıвиקשक가ㅏ가각" + "".join(map(chr, range(0x1100, 0x1113))))
    return st.lists(st.tuples(base, st.text(st.sampled_from(marks()), max_size=6)), max_size=12).map(
        lambda pairs: "".join(letter + tail for letter, tail in pairs)
    )


def hostile_text() -> st.SearchStrategy[str]:
    """Text of code points that expand, vanish, reorder, or are no characters."""
    return st.text(st.sampled_from(HOSTILE + "aA 東"), max_size=60)


@cache  # 23 MB each
def any_text() -> st.SearchStrategy[str]:
    """Text of all kinds, restricted to what the oracle knows (see ``comparable``)."""
    everything = st.text(st.sampled_from(comparable()), max_size=60)
    return st.one_of(ascii_text(), mixed_text(), marked_text(), hostile_text(), everything)


@st.composite
def edited_pair(draw: st.DrawFn) -> tuple[str, str]:
    """Return a text and the same text after one to three small edits: delete, insert, repeat a piece."""
    before = draw(mixed_text())
    after = before
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(after)))
        stop = draw(st.integers(start, min(len(after), start + 8)))
        piece = draw(st.sampled_from(["", "x", " new words ", after[start:stop] * 2]))
        after = after[:start] + piece + after[stop:]
    return before, after


# Values at which shifts, masks and signs go wrong
EDGES = (0, 1, 2**11, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 2**53, 2**64 - 1)


def words64() -> st.SearchStrategy[int]:
    """Numbers of 64 bits: any, edges, and those that differ only in their lowest or highest bits."""
    low = st.integers(0, 7).map(lambda bits: (1 << 40) + bits)
    high = st.integers(0, 7).map(lambda bits: bits << 61)
    return st.one_of(st.integers(0, 2**64 - 1), st.sampled_from(EDGES), low, high)


def mixed_hash(number: int) -> int:
    """Return a hash as shingles have them, of a number below 2³¹: well mixed, not 0, never the same for two."""
    return (number + 1) * 0x9E3779B97F4A7C15 % 2**64


def colliding_hash(number: int) -> int:
    """Return a hash that shares its low 33 bits with those of a third of all numbers."""
    return (number + 1) << 33 | number % 3


@st.composite
def families(draw: st.DrawFn, most: int = 24) -> list[set[int]]:
    """Return sets of numbers that overlap: families with a core each, crowds, boilerplate, words of their own.

    Sizes go from 1 to about 40, so that many pairs stand exactly at a threshold with a small denominator.
    """
    sizes = draw(st.lists(st.integers(1, 20), min_size=1, max_size=3))
    sets: list[set[int]] = []
    own = 1_000_000
    for _ in range(draw(st.integers(0, most // 3))):
        family = draw(st.integers(0, len(sizes) - 1))
        core = {1000 * family + k for k in range(sizes[family])}
        dropped = draw(st.sets(st.integers(0, sizes[family] - 1), max_size=3))
        boilerplate = {500_000 + k for k in range(draw(st.sampled_from([0, 0, 0, 1, 5, 12])))}
        unlike = draw(st.integers(0, 6))  # elements of its own, or a member of a crowd without any
        for copy in range(draw(st.sampled_from([1, 1, 1, 2, 5]))):
            tail = set(range(own, own + unlike))
            own += unlike
            edited = {1000 * family + (copy - 1)} if copy > 1 else set()
            sets.append((core - {1000 * family + k for k in dropped} - edited) | boilerplate | tail)
    return [values or {0} for values in sets][:most]
