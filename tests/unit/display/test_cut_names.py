"""Names that are cut: they fit, end between words where they can, and stay different."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from neardup.display import columns, distinct, middle_cut, shorten

WORDS = st.text("abcdefgh0123456789", min_size=1, max_size=8)
NAMES = st.lists(st.tuples(WORDS, st.sampled_from("_-/. ")), min_size=1, max_size=14).map(
    lambda parts: f"{''.join(word + mark for word, mark in parts)}end.txt"
)


@given(NAMES, st.integers(20, 60))
def test_a_name_lacks_whole_words_in_its_middle(name: str, width: int) -> None:
    cut = middle_cut(name, width)
    assert columns(cut) <= width
    if len(name) <= width:
        assert cut == name
    else:
        begin, _, end = cut.partition("…")
        assert name.startswith(begin)
        assert name.endswith(end)
        whole = set(re.findall(r"[a-z0-9]+", name))
        assert {*re.findall(r"[a-z0-9]+", begin), *re.findall(r"[a-z0-9]+", end)} <= whole


@given(st.lists(NAMES, min_size=4, max_size=4), st.integers(20, 40))
def test_two_names_that_differ_are_cut_differently(parts: list[str], width: int) -> None:
    """They may differ at their beginning, in the middle or at their end."""
    begin, one, other, end = parts
    assume(one != other)
    for names in (
        (begin + one + end, begin + other + end),
        (one + end, other + end),
        (begin + one, begin + other),
    ):
        cut = distinct(names, width)
        assert max(map(columns, cut)) <= width
        assert cut[0] != cut[1]
        assert "……" not in "".join(cut)


@given(st.text("ab 東é\u0301\u200b…", max_size=12), st.integers(1, 12))
def test_a_text_is_cut_to_the_columns_that_it_may_have(text: str, width: int) -> None:
    begin = max((text[:size] for size in range(len(text) + 1) if columns(text[:size]) < width), key=len)
    assert shorten(text, width) == (text if columns(text) <= width else f"{begin}…")
