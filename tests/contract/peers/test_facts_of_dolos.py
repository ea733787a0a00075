"""Facts that the documentation of Dolos states, one a row, held against this library.

Version 1.2.1 of its core was run in November 2026 on the sequences of tokens, with windows of 1 and 17 k-grams.
Parsers of languages were not run: these facts are from the pages *How Dolos works* and *Running Dolos* of
version 2.9. No code of it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import neardup as nd
from support.facts import held_test, refused_test

SUM = "function sum(a, b) {\n  return a + b;\n}\n"
RENAMED = "// adds\nfunction add(first,second)\n{ return first + second; }"
OTHER = "for (let i = 0; i < 9; i++) { console.log(i * 2); }\n"
TEMPLATE = "import fs from 'fs';\nconst lines = fs.readFileSync(0).toString().split('\\n');\n"
ONE, TWO = TEMPLATE + SUM, TEMPLATE + OTHER


def tokens(number: int, *others: str) -> str:
    return " ".join([*(f"t{place}" for place in range(number)), *others])


def by_code(one: str, other: str, **how: Any) -> nd.Comparison:
    return nd.compare(one, other, tokenizer="code", **how)


def clusters(**settings: Any) -> int:
    """The number of groups of two pairs of programs that begin with the template."""
    texts = [TEMPLATE + program for program in (SUM, SUM * 2, OTHER, OTHER * 3)]
    return len(
        {*nd.find(texts, tokenizer="code", length=3, threshold=0.3, **settings).groups["group"].to_pylist()}
    )


def similarity(one: str, other: str, length: int) -> float:
    """Twice the common k-grams, by the k-grams of both."""
    return float(nd.compare(one, other, length=length).measures["dice"])


HELD: dict[str, Callable[[], bool]] = {
    "names of variables and functions do not count": lambda: by_code(SUM, RENAMED).resemblance == 1,
    "comments and layout do not count": lambda: by_code(SUM, f"/* {OTHER} */\n\n{SUM}").resemblance == 1,
    "other programs are not similar": lambda: by_code(SUM, OTHER).resemblance == 0,
    "equal sequences have the similarity 1": lambda: similarity(tokens(10), tokens(10), 3) == 1,
    "the similarity is the share of fingerprints of both that are common": lambda: (
        similarity(tokens(10), tokens(6, "x", "y", "z"), 3) == 8 / 15
    ),
    "fragments shorter than a k-gram are not found": lambda: similarity(tokens(22, "q"), tokens(22, "s"), 23) == 0,
    "fragments of a k-gram and a window are found": lambda: similarity(tokens(39, "q"), tokens(39, "s"), 23) > 0,
    "the longest fragment is measured": lambda: (
        nd.compare(tokens(10, "x"), tokens(10, "y"), length=3).measures["chunk_longest_literal"] == 10 / 11
    ),
    "the total overlap is a number": lambda: (
        nd.compare(tokens(10), tokens(6), length=3).measures["common_literal"] == 6
    ),
    "code of a template does not count": lambda: (
        by_code(ONE, TWO).resemblance > 0 == by_code(ONE, TWO, ignore=[TEMPLATE]).resemblance
    ),
    "fragments of many files are left out on request": lambda: (clusters(), clusters(ignore_common=0.6)) == (1, 2),
    "pairs with a common fingerprint are listed": lambda: (
        len(nd.find([ONE, TWO], tokenizer="code", threshold=0.000001).pairs) == 1
    ),
}

REFUSED: dict[str, tuple[str, Callable[[], object]]] = {
    "a language without a rule": ("code", lambda: nd.compare(SUM, SUM, tokenizer="prolog")),
    "the length of k-grams by its name": ("'length'", lambda: nd.find([SUM], kgram_length=23)),
    "a window of k-grams": ("Allowed", lambda: nd.find([SUM], kgrams_in_window=17)),
    "a number of files instead of a share": ("at most", lambda: nd.find([SUM], ignore_common=3)),
}


def test_every_shared_shingle_counts_not_one_of_a_window() -> None:
    """A shared fragment of 23 tokens, shorter than a k-gram and a window together, is found here."""
    assert similarity(tokens(23, "q"), tokens(23, "s"), 23) == 1 / 2


test_a_fact_holds = held_test(HELD)
test_what_is_not_there_names_the_way = refused_test(REFUSED)
