"""Differences of characters between equal tokens: their kinds on examples, and their places by a naive twin."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.text.characters import KINDS, canonical, differences
from neardup.text.units import words
from support import reference_characters


def found(a: str, b: str) -> list[tuple[str, str, str]]:
    """The kinds and the characters of the differences of two texts with equal tokens."""
    one, other = words(a), words(b)
    assert one.strings == other.strings
    each = differences(a, b, one.spans, other.spans)
    return [(KINDS[one.kind], a[slice(*one.a)], b[slice(*one.b)]) for one in each]


SIGNS = [
    ("balance -5,000.00", "balance 5,000.00", "-", ""),
    ("balance: - 70", "balance: 70", "-", ""),
    ("owed 70.25-\nnext", "owed 70.25\nnext", "-", ""),
    ("if it is > 3", "if it is < 3", ">", "<"),
    ("x>3", "x<3", ">", "<"),
    ("its rate is\n> 3", "its rate is\n< 3", ">", "<"),
    ("x + y", "x - y", "+", "-"),
    ("plot f -x", "plot f x", "-", ""),
    ("if (!ready)", "if (ready)", "!", ""),
    ("a && b", "a & b", "&", ""),
    ("7 %", "7", "%", ""),
    ("$12", "\u20ac12", "$", "\u20ac"),
    ("1.5", "1,5", ".", ","),
    ("1,5", "1, 5", "", ""),
    ("a .5 share", "a 5 share", ".", ""),
    ("12:30", "12.30", ":", "."),
    ("7-9", "7 9", "-", ""),
    ("2*3", "2 3", "*", ""),
    ("10\u00b2 m", "102 m", "10\u00b2", "102"),
    ("loss (1,200.50)", "loss 1,200.50)", "(", ""),
    ("\u2611 paid", "\u2610 paid", "\u2611", "\u2610"),
    ("\U0001f44d so", "\U0001f44e so", "\U0001f44d", "\U0001f44e"),
    ("\u2605\u2605\u2605\u2605\u2606", "\u2605\u2605\u2606\u2606\u2606", "\u2605\u2605", "\u2606\u2606"),
]


@pytest.mark.parametrize(("a", "b", "of_a", "of_b"), SIGNS)
def test_a_sign_that_changes_a_number_or_formula_is_named(a: str, b: str, of_a: str, of_b: str) -> None:
    assert found(a, b) == [("sign or operator", of_a, of_b)]
    assert found(b, a) == [("sign or operator", of_b, of_a)]


OTHERS = [
    ("punctuation", "so it ends.", "so it ends!"),
    ("punctuation", "well-known", "well known"),
    ("punctuation", "don\u2019t", "don't"),
    ("punctuation", "3, 4", "3 4"),
    ("punctuation", "pages 7\u20139", "pages 7-9"),
    ("punctuation", "COVID-19", "COVID 19"),
    ("punctuation", "- 5 pears", "\u2022 5 pears"),
    ("punctuation", "\u25a0 pears", "\u2022 pears"),
    ("punctuation", "(5) pears", "5) pears"),
    ("punctuation", "> quoted", "quoted"),
    ("punctuation", "no\n> quoted", "no\nquoted"),
    ("punctuation", "the <b> x", "the b x"),
    ("punctuation", "top\n=====\nx", "top\nx"),
    ("punctuation", "a | b", "a b"),
    ("case", "The end", "THE end"),
    ("form of letters", "\uff21\uff22", "ab"),
    ("form of letters", "\ufb01t", "fit"),
    ("form of letters", "so\u00adft", "soft"),
    ("white space", "a-b", "a - b"),
]


@pytest.mark.parametrize(("kind", "a", "b"), OTHERS)
def test_other_characters_are_named_by_their_kind(kind: str, a: str, b: str) -> None:
    assert {each for each, _, _ in found(a, b)} == {kind}
    assert {each for each, _, _ in found(b, a)} == {kind}


@pytest.mark.parametrize(
    ("a", "b"), [("a  b\r\n", "a\nb"), ("caf\u00e9", "cafe\u0301"), ("\ufeffa b", "a b"), ("  a b", "a b")]
)
def test_line_ends_white_space_and_normal_form_are_no_difference(a: str, b: str) -> None:
    assert found(a, b) == []
    assert canonical(a) == canonical(b)


_MARKS = st.text(st.sampled_from("  \n\t-\u2013\u2212+<>=.,:;!*&|$%(/)'\u2019\u2611\u25a0^\u00a0"), max_size=4)
_TOKENS = st.sampled_from(["5", "70", "x", "rate", "7a"])


@st.composite
def same_tokens(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts with the same tokens, and other characters between some of them."""
    texts = ["", ""]
    for token in draw(st.lists(_TOKENS, max_size=5)):
        gap = draw(_MARKS)
        gaps = gap, draw(st.one_of(st.just(gap), _MARKS))
        texts = [text + (of or " ") + token for text, of in zip(texts, gaps, strict=True)]
    return texts[0] + draw(_MARKS), texts[1] + draw(_MARKS)


@given(same_tokens())
@example(("a\n> 5", "a\n5"))
@example(("5 - 7", "5 -7"))
def test_places_and_kinds_are_those_of_the_naive_twin(pair: tuple[str, str]) -> None:
    a, b = pair
    one, other = words(a), words(b)
    of_module = list(differences(a, b, one.spans, other.spans))
    spans = [[(begin, end) for begin, end in units.spans.tolist()] for units in (one, other)]
    naive = list(reference_characters.differences(a, b, *spans))
    assert [KINDS[each.kind] for each in of_module] == [kind for kind, _, _ in naive]
    for each, (_, at, place) in zip(of_module, naive, strict=True):
        assert (a[slice(*each.a)], b[slice(*each.b)]) == (a[slice(*at)].strip(), b[slice(*place)].strip())
    assert (not of_module) == (canonical(a) == canonical(b))
