"""Tokens, shingles and overlaps as plain values agree with the comparison of texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.text.sketch.documents import hash_tokens
from neardup.text.units import read
from support.messages import assert_refused

TEXTS = [
    "Please hand in your travel costs for March, with all receipts, by Friday noon.",
    "Please hand in the travel costs for March, with ALL receipts, by Friday!",
    "Straße 7\nﬁsh and ½ of it, so\u00adft; 昨夜の雨 ไทย",
    "one two",
    "",
]


@pytest.mark.parametrize(("length", "unit"), [(5, "word"), (2, "word"), (4, "char")])
def test_overlaps_are_those_of_a_comparison(length: int, unit: str) -> None:
    for a in TEXTS:
        for b in TEXTS:
            compared = nd.compare(a, b, length=length, unit=unit).measures
            assert len(nd.shingles(a, length=length, unit=unit)) == compared["shingles_a"]
            if a or b:  # a comparison does not judge two empty texts
                assert nd.jaccard(a, b, length=length, unit=unit) == pytest.approx(compared["resemblance"])
            if a:
                assert nd.containment(a, b, length=length, unit=unit) == pytest.approx(compared["containment_a"])


def test_empty_sets() -> None:
    assert nd.jaccard("", "") == nd.jaccard(set(), frozenset()) == nd.containment("", "") == 1
    assert nd.jaccard("", "word") == nd.containment("", "word") == nd.containment("word", "") == 0


@given(st.lists(st.text()))
def test_hashes_depend_on_the_token_alone(tokens: list[str]) -> None:
    hashes = hash_tokens(tokens)
    assert hashes.tolist() == [int(hash_tokens([token])[0]) for token in tokens]


def test_hashes_are_those_of_the_words_of_signatures() -> None:
    for text in TEXTS:
        assert np.array_equal(hash_tokens(nd.tokens(text)), read(text).words.published)


def test_signatures_of_tokens_estimate_the_overlap_of_sets() -> None:
    one, other = {f"w{n}" for n in range(300)}, {f"w{n}" for n in range(100, 400)}
    for family in (nd.MinHash(256), nd.MinHash(256, sketch="classic")):
        estimate = family.of_tokens(one).resemblance(family.of_tokens(other))
        assert estimate.low <= nd.jaccard(one, other) <= estimate.high
        assert family.of_tokens([*one, *one]) == family.of_tokens(one)


def test_near_misses_are_refused_in_words() -> None:
    assert_refused(
        (nd.InputError, r"tokens\(text\)", lambda: hash_tokens("a text")),
        (nd.InputError, "is a bytes", lambda: hash_tokens([b"token"])),  # type: ignore[list-item]
        (nd.InputError, "is a list", lambda: nd.jaccard(["a"], {"a"})),  # type: ignore[arg-type]
        (nd.SettingError, "", lambda: nd.tokens("a", unit="line")),
        (nd.SettingError, "", lambda: nd.shingles("a", length=0)),
    )
