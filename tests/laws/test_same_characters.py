"""Laws of *the same characters*: the hash of copies, the canonical form of comparisons, and their twin agree."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.text.characters import canonical, differences
from neardup.text.keys import key_of
from neardup.text.sketch.documents import character_hashes
from neardup.text.units import words
from support import reference_characters, strategies
from support.reference_keyed import Twin

KEY = key_of(bytes(range(32)))
TWIN = Twin(KEY)
WHITE = ("\t", "\n", "\r\n", "\x0b", "\x0c", " ", "\x85", "\xa0", "\u1680", "\u2000", "\u2001", "\u200a")
WHITE += ("\u2028", "\u2029", "\u202f", "\u205f", "\u3000")
SOLID = (
    "a",
    "B",
    "5",
    "-",
    ".",
    "=",
    "\0",
    "\ufeff",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x1f",
    "\u180e",
    "\u200b",
    "\u200d",
)
SOLID += ("\u2060", "\xad", "é", "e\u0301", "\u0301", "\u0323", "\u0338", "≠", "\u037e", "\u212a", "\u0958", "밤")
SOLID += ("\u1107\u1161\u11b7", "\uac00\u11a8", "\U0001d15e", "\ufb01", "\xb2", "\xbd", "\U00010efd", "\U0001e08f")
SOLID += ("\U00011f42", "\U0001611e\U0001611f", "\u0897")  # of Unicode 15, and of later versions
TEXTS = st.lists(st.sampled_from(WHITE + SOLID), max_size=12).map("".join)


@st.composite
def likely_the_same(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts: the second with other white space, another normal form, or some characters changed."""
    parts = draw(st.lists(st.sampled_from(WHITE + SOLID), max_size=10))
    others = [draw(st.sampled_from(WHITE)) if part in WHITE and draw(st.booleans()) else part for part in parts]
    if others and draw(st.booleans()):
        others[draw(st.integers(0, len(others) - 1))] = draw(st.sampled_from(("", *WHITE, *SOLID)))
    edges = [draw(st.sampled_from(("", "\ufeff", " ", "\ufeff \n"))) for _ in range(3)]
    other = unicodedata.normalize(draw(st.sampled_from(("NFC", "NFD"))), "".join(others))
    return edges[0] + "".join(parts), edges[1] + other + edges[2]


@given(likely_the_same() | st.tuples(TEXTS, TEXTS) | st.tuples(strategies.any_text(), strategies.any_text()))
@example(("\ufeffa", "a"))
@example(("\ufeff\ufeffa", "\ufeffa"))
@example((" \ufeffa", " a"))
@example(("a\x1cb", "a b"))
@example(("a\x1f", "a"))
@example(("a\x85\u2028b", "a b"))
@example(("a\u200bb", "a b"))
@example(("\ufeff e\u0301", "é\r\n"))
@example(("\U0001611e\U00016120", "\U00016121"))
@example(("a\U00010efd\u0301", "a\u0301\U00010efd"))
def test_equal_hashes_are_equal_canonical_forms_and_no_difference(pair: tuple[str, str]) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in pair]
    hashes = character_hashes(pa.array([text.encode() for text in texts], pa.large_binary()), KEY).tolist()
    forms = [canonical(text) for text in texts]
    assert forms == [reference_characters.canonical(text) for text in texts]
    assert hashes == [TWIN.characters(text) for text in texts]
    assert (hashes[0] == hashes[1]) == (forms[0] == forms[1])
    a, b = map(words, texts)
    assert a.strings == b.strings or forms[0] != forms[1]
    if a.strings == b.strings:
        assert (not list(differences(*texts, a.spans, b.spans))) == (forms[0] == forms[1])
