"""Hypothesis strategies: texts as they come, and texts as an enemy would write them."""

from __future__ import annotations

import unicodedata
from functools import cache

from hypothesis import strategies as st

from neardup.kernels import unicode as kernel
from neardup.unicode_data import unicode_tables


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
