"""The first difference of texts with the same words: that of a whole comparison, however long they are."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.comparison.first_difference import first_difference
from neardup.deduplication.join.rows import Alike
from neardup.deduplication.run.copy_differences import (
    MOST,
    TOO_MANY,
    UNREAD,
    CopyDifferences,
    pairs_of,
    reverse,
)
from neardup.errors import InputError
from neardup.text.characters import KINDS, canonical, differences
from neardup.text.units import words

MARKS = st.text(st.sampled_from(" \n\t-\u2212+<>=.,;!*&|$%('\u2019\u2611\u00a0\u3000\x1c\ufeff\u0338"), max_size=3)
TOKENS = st.sampled_from(
    ["5", "70", "x", "Rate", "rate", "caf\u00e9", "cafe\u0301", "\u6771\u4eac", "m\u00b2", "m2"]
)


@st.composite
def same_words(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts with the same tokens, after a beginning that both have, with other white space in it or not."""
    before = draw(st.sampled_from(["", "the sum of may \u2013 ", "word, " * 400, "\u6771" * 900]))
    texts = [before, before.replace(" ", draw(st.sampled_from([" ", "\r\n"])))]
    for token in draw(st.lists(TOKENS, max_size=5)):
        other = draw(st.sampled_from([token, token.upper() if token.isascii() else token]))
        gap = draw(MARKS)
        gaps = gap or " ", draw(st.one_of(st.just(gap), MARKS)) or " "
        texts = [text + of + one for text, of, one in zip(texts, gaps, (token, other), strict=True)]
    after = draw(MARKS) + draw(st.sampled_from(["", " and so on" * 300]))
    return texts[0] + after, texts[1] + draw(MARKS) + after


@given(same_words())
@example(("1,5", "1, 5"))
@example(("x", "x."))
@example(("\ufeffx", "x-"))
@example(("...", "---"))
def test_it_is_the_first_one_of_the_whole_comparison(pair: tuple[str, str]) -> None:
    a, b = pair
    one, other = words(a), words(b)
    if one.strings != other.strings or canonical(a) == canonical(b):
        return
    first = next(differences(a, b, one.spans, other.spans))
    in_words = first_difference(a.encode(), b.encode())
    assert in_words.startswith(f"{KINDS[first.kind]}: ")
    assert reverse(in_words) == first_difference(b.encode(), a.encode())


@pytest.mark.parametrize(
    ("a", "b", "begins"),
    [
        ("balance -5,000.00 of", "balance 5,000.00 of", "sign or operator: “-5,000.00” here, “5,000.00” there"),
        ("1,5", "1, 5", "sign or operator: “1,5” here, “1, 5” there"),
        ("x a - b", "x a-b", "white space: “a - b” here, “a-b” there"),
        ("x " * 300_000 + "-5 y", "x\n" * 300_000 + "5 y", "sign or operator: “-5” here, “5” there"),
        ("paid 5 of 9", "paid 6 of 9", "text left out: “5” here, “6” there"),
        ("a" + "-" * 5000 + " b", "a" + "-" * 5001 + " b", "punctuation: "),
        ("x" * 900 + "R" + "y" * 5000, "x" * 900 + "r" + "y" * 5000, f"case: “{'x' * 24}Ry"),
        ("so\u00adft", "soft", "form of letters: “so\\xadft” here, “soft” there"),
    ],
)
def test_it_names_the_words_that_it_touches(a: str, b: str, begins: str) -> None:
    assert first_difference(a.encode(), b.encode()).startswith(begins)


TEXTS = [b"the sum is 5", b"the sum is -5", b"the sum is $5", b"the  sum is -5", b"another sum"]
ALIKE = Alike(np.array([0, 0, 0, 0, 4]), np.array([0, 1, 2, 1, 4]))
OWN, OTHERS = np.array([1, 2, 0, 3, 4, 3]), np.array([0, 1, 2, 1, 0, 2])


def differences_of(texts: list[bytes], most: int = MOST) -> CopyDifferences:
    sizes = np.array([len(text) for text in TEXTS])
    pairs = pairs_of(OWN, OTHERS, ALIKE)
    return CopyDifferences.of(pairs, sizes, lambda rows: (texts[row] for row in rows.tolist()), 1, most)


def test_each_pair_is_named_from_the_side_that_is_asked() -> None:
    in_words = differences_of(TEXTS).words(OWN, OTHERS, ALIKE)
    assert [re.findall("“(.*?)”", one) or one for one in in_words] == [
        ["-5", "5"],
        ["$5", "-5"],
        ["5", "$5"],
        "identical",
        "",
        ["-5", "$5"],
    ]


def test_where_texts_cannot_be_read_the_words_say_why() -> None:
    def gone(rows: np.ndarray) -> list[bytes]:
        raise InputError("The file is gone", "a file", "bring it back")

    pairs = pairs_of(OWN, OTHERS, ALIKE)
    unread = CopyDifferences.of(pairs, np.ones(5, np.int64), gone, 1)
    assert UNREAD in unread.words(OWN, OTHERS, ALIKE)[0]


def test_only_so_many_are_looked_for() -> None:
    in_words = differences_of(TEXTS, most=2).words(OWN, OTHERS, ALIKE)
    assert sum(TOO_MANY in one for one in in_words) == 2
    assert sum("here" in one for one in in_words) == 2


def test_those_of_a_stored_table_are_merged_with_others() -> None:
    some, more = (
        differences_of(TEXTS),
        CopyDifferences(np.array([1 << 32]), pa.array(["case: “a” here, “A” there"])),
    )
    few = CopyDifferences(some.keys[1:], some.found.slice(1), some.why)
    assert next(few.merge(more).of_rows(np.array([0]), np.array([1]))) == "case: “A” here, “a” there"
