"""Facts that the README and the tests of text-dedup state, one a row, held against this library.

Of version 0.4.0 the functions of n-grams and of components were run in November 2026. The rest is from the README
and the tests of its repository, and was not run. No code of it is used.
"""

from __future__ import annotations

from collections.abc import Callable

import neardup as nd
from neardup.errors import SettingError
from support.facts import held_test, refused_test

PANGRAM, TEST = "The quick brown fox jumps over the lazy dog", "This is a test"
CHAIN = [" ".join(f"w{place}" for place in range(first, first + 24)) for first in (0, 4, 8)]
"""Each resembles the next by 16 of 24 shingles, and the first the last by 12 of 28."""
BASE, PART, OTHER = {"hello", "world", "test"}, {"hello", "foo", "bar"}, {"hello", "foo", "bar", "baz"}


def kept(texts: list[str], **settings: object) -> list[str]:
    return list(nd.find(texts, keep="first", **settings).kept)  # type: ignore[arg-type]


HELD: dict[str, Callable[[], bool]] = {
    "n-grams are windows of n tokens": lambda: (
        nd.shingles("hello world this is test", length=3) == {"hello world this", "world this is", "this is test"}
    ),
    "n-grams may be single tokens": lambda: nd.shingles("hello world test", length=1) == BASE,
    "a text of n tokens has one n-gram": lambda: nd.shingles("hello world test", length=3) == {"hello world test"},
    "a text of fewer than n tokens has one n-gram, the whole": lambda: (
        nd.shingles("hello world test case example text", length=8) == {"hello world test case example text"}
    ),
    "repeated tokens are in n-grams as often as they are": lambda: (
        nd.shingles("hello hello world hello test", length=3)
        == {"hello hello world", "hello world hello", "world hello test"}
    ),
    "a hundred tokens have 97 n-grams of 4": lambda: (
        len(nd.shingles(" ".join(f"word{number}" for number in range(100)), length=4)) == 97
    ),
    "no tokens have no n-gram": lambda: nd.shingles("", length=2) == set(),
    "case and signs do not count": lambda: (
        nd.tokens("Hello, World! @test #case") == nd.tokens("hello world test case")
    ),
    "equal sets have the Jaccard similarity 1": lambda: nd.jaccard(BASE, set(BASE)) == 1,
    "sets without common elements have the similarity 0": lambda: (
        nd.jaccard({"hello", "world"}, {"foo", "bar"}) == 0
    ),
    "one of five elements is common": lambda: nd.jaccard(BASE, PART) == 1 / 5,
    "a subset": lambda: nd.jaccard({"hello", "world"}, {"hello", "world", "test", "foo"}) == 2 / 4,
    "elements may be bytes": lambda: (
        nd.jaccard({b"hello", b"world", b"test"}, {b"hello", b"foo", b"bar"}) == 1 / 5
    ),
    "one empty set": lambda: nd.jaccard(BASE, set()) == nd.jaccard(set(), BASE) == 0,
    "the similarity is symmetric": lambda: nd.jaccard(BASE, OTHER) == nd.jaccard(OTHER, BASE),
    "of equal texts the first is kept": lambda: kept([PANGRAM, PANGRAM, TEST, TEST]) == [PANGRAM, TEST],
    "clusters are connected components, on request": lambda: (
        kept(CHAIN, threshold=0.6, groups="components") == CHAIN[:1]
    ),
    "a cluster is numbered by its first document": lambda: (
        nd.find([PANGRAM, PANGRAM, TEST, TEST], keep="first").groups["group"].to_pylist() == [0, 0, 2, 2]
    ),
    "bands and rows may be set by hand": lambda: len(nd.LSH(nd.MinHash(256).sketch(CHAIN), rows=10)) == 3,
    "fingerprints of SimHash have 64 or 128 bits": lambda: (
        [nd.SimHash(bits).of(PANGRAM).bit_length() <= bits for bits in (64, 128)] == [True, True]
    ),
    "near duplicates by SimHash differ in few bits": lambda: (
        kept([PANGRAM, PANGRAM.upper(), TEST], sketch="simhash") == [PANGRAM, TEST]
    ),
    "repeated substrings of a least length are found": lambda: (
        nd.passages([f"{CHAIN[0]} end", f"begin {CHAIN[0]}"], length=20).passages["tokens"].to_pylist() == [24]
    ),
}

REFUSED: dict[str, tuple[str, Callable[[], object]]] = {
    "texts shorter than a least length are left out": ("'length'", lambda: kept([TEST], min_length=5)),
    "a Bloom filter with a rate of errors": ("Allowed", lambda: kept([TEST], error_rate=1e-5)),
    "weights of false positives and negatives": ("'recall'", lambda: kept([TEST], weights=(0.1, 0.9))),
    "the number of permutations by its name": ("'slots'", lambda: kept([TEST], num_perm=256)),
    "n-grams of no tokens": ("from 1", lambda: nd.shingles(TEST, length=0)),
    "n-grams of −1 tokens": ("from 1", lambda: nd.shingles(TEST, length=-1)),
}


def test_members_of_a_chain_need_a_pair_with_the_representative_unless_components_are_asked_for() -> None:
    """There the whole component goes but one."""
    assert kept(CHAIN, threshold=0.6) == [CHAIN[0], CHAIN[2]]
    assert nd.compare(CHAIN[0], CHAIN[2]).resemblance == 12 / 28


def test_two_empty_sets_are_equal() -> None:
    """Its tests have the similarity 0."""
    assert nd.jaccard(set(), set()) == 1


test_a_fact_holds = held_test(HELD)
test_what_is_not_there_names_the_way = refused_test(REFUSED, SettingError)
