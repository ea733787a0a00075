"""Facts that the documentation of datasketch states, one a row, held against this library.

A fact is a sentence of theirs with inputs of theirs or ours; no code of theirs is used. A row of ``HELD`` is true
here, in our spelling; a row of ``REFUSED`` is a feature that is not here, whose error names the way instead.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup as nd
from neardup.errors import FormatError, InputError, NeardupError
from support.facts import held_test, refused_test

DATA1, DATA2 = (
    text.split()
    for text in (
        "minhash is a probabilistic data structure for estimating the similarity between datasets",
        "minhash is a probability data structure for estimating the similarity between documents",
    )
)
FAMILY = nd.MinHash(slots=512)
ONE, OTHER = (FAMILY.of_tokens(words) for words in (DATA1, DATA2))
EXACT = len({*DATA1} & {*DATA2}) / len({*DATA1} | {*DATA2})
WEIGHTED = nd.WeightedMinHash(512)
V1, V2 = ({k: float(v) for k, v in enumerate(vector)} for vector in ([1, 3, 4, 5, 6, 7], [2, 4, 3, 8, 4, 7]))


def index_of(*tokens: list[str], threshold: float = 0.5) -> nd.Index:
    index = nd.Index(threshold, family=FAMILY)
    for number, words in enumerate(tokens):
        index.add(f"m{number}", FAMILY.of_tokens(words))
    return index


def candidates(index: nd.Index, words: list[str]) -> set[Any]:
    return {one.id for one in index.query(FAMILY.of_tokens(words))}


def refuses(kind: type[NeardupError], call: Callable[[], object]) -> bool:
    with pytest.raises(kind):
        call()
    return True


def merged() -> nd.Index:
    here, there = index_of(DATA1), nd.Index(0.5, family=FAMILY)
    there.add("other", OTHER)
    here.merge(there)
    return here


def error_of_copies(bits: int) -> float:
    """Return how far the estimate by slots of some bits is from the exact resemblance."""
    wide = nd.MinHash(4096, sketch="classic")
    small = nd.BBit(wide, bits)
    copies = small.cut(np.stack([wide.of_tokens(words).values for words in (DATA1, DATA2)]))
    return abs(float(small.resemblances(copies, [(0, 1)])[0]) - EXACT)


HELD: dict[str, Callable[[], bool]] = {
    "MinHash estimates the Jaccard similarity of sets of any size": lambda: (
        ONE.resemblance(OTHER).low <= EXACT <= ONE.resemblance(OTHER).high
    ),
    "equal sets have the similarity 1": lambda: ONE.resemblance(FAMILY.of_tokens(DATA1[::-1])).value == 1,
    "updating with a value again changes nothing": lambda: FAMILY.of_tokens(DATA1 * 2) == ONE,
    "more permutations give a better accuracy": lambda: (
        nd.MinHash(64).of_ids([1, 2]).resemblance(nd.MinHash(64).of_ids([2, 3])).error
        > nd.MinHash(1024).of_ids([1, 2]).resemblance(nd.MinHash(1024).of_ids([2, 3])).error
    ),
    "merge gives the union": lambda: FAMILY.of_tokens({*DATA1, *DATA2}) == ONE | OTHER,
    "a union of several is that of their sets": lambda: (
        FAMILY.of_ids([1]) | FAMILY.of_ids([2]) | FAMILY.of_ids([3]) == FAMILY.of_ids([1, 2, 3])
    ),
    "count estimates the number of distinct values": lambda: ONE.size.low <= len({*DATA1}) <= ONE.size.high,
    "a new MinHash is empty": lambda: FAMILY.of_tokens([]).is_empty and not ONE.is_empty,
    "a serialised MinHash is the same when it is read": lambda: type(ONE).from_bytes(bytes(ONE)) == ONE,
    "MinHashes of other lengths cannot be compared": lambda: refuses(
        FormatError, lambda: ONE.resemblance(nd.MinHash(64).of_tokens(DATA1))
    ),
    "a query returns the keys of sets above the threshold": lambda: (
        candidates(index_of(DATA1, DATA2), DATA1) == {"m0", "m1"}
    ),
    "keys below the threshold are mostly left out": lambda: (
        candidates(index_of(["x", "y"], DATA1), DATA2) == {"m1"}
    ),
    "a key is inserted once": lambda: refuses(InputError, lambda: index_of(DATA1).add("m0", ONE)),
    "any hashable value is a key": lambda: (
        list(keyed((1, "a"), frozenset("a"), 2.5)) == [(1, "a"), frozenset("a"), 2.5]
    ),
    "a removed key is not found": lambda: not candidates(without_first(index_of(DATA1)), DATA1),
    "merging adds the keys of another index": lambda: list(merged()) == ["m0", "other"],
    "indexes with a common key are not merged": lambda: refuses(
        InputError, lambda: index_of(DATA1).merge(index_of(DATA2))
    ),
    "weighted MinHash estimates the sum of minima by that of maxima": lambda: (
        WEIGHTED.of_weights(V1).resemblance(WEIGHTED.of_weights(V2)).low
        <= sum(min(V1[k], V2[k]) for k in V1) / sum(max(V1[k], V2[k]) for k in V1)
        <= WEIGHTED.of_weights(V1).resemblance(WEIGHTED.of_weights(V2)).high
    ),
    "equal vectors have the similarity 1": lambda: (
        WEIGHTED.of_weights(V1).resemblance(WEIGHTED.of_weights(V1)).value == 1
    ),
    "a b-bit MinHash has from 1 to 32 bits": lambda: max(map(error_of_copies, range(1, 33))) < 0.06,
    "a b-bit MinHash is smaller": lambda: nd.BBit(FAMILY, 1).pack(nd.BBit(FAMILY, 1).sketch(["a"])).nbytes == 64,
    "many MinHashes are made at once": lambda: FAMILY.sketch(["a b", "c d"]).shape == (2, 512),
}


def keyed(*keys: Any) -> nd.Index:
    index = nd.Index(family=FAMILY)
    for key in keys:
        index.add(key, ONE)
    return index


def without_first(index: nd.Index) -> nd.Index:
    index.remove("m0")
    return index


REFUSED: dict[str, tuple[str, Callable[[], object]]] = {
    "a weighted MinHash is merged": ("sketch the sum", lambda: WEIGHTED.of_weights(V1) | WEIGHTED.of_weights(V2)),
    "a b-bit MinHash is merged": ("were cut from", lambda: nd.BBit(FAMILY).of("a") | nd.BBit(FAMILY).of("b")),
    "a MinHash is updated with bytes": ("str", lambda: FAMILY.of_tokens([b"a"])),  # type: ignore[list-item]
    "an index with keys of any type is stored": ("strings", lambda: keyed((1, 2)).save(Path("never.arrow"))),
}


test_a_fact_holds = held_test(HELD)
test_what_is_not_there_names_the_way = refused_test(REFUSED)


def test_objects_of_the_package_give_what_they_say_of_themselves() -> None:
    datasketch = pytest.importorskip("datasketch")
    made = []
    for words in (DATA1, DATA2):
        made.append(datasketch.MinHash(num_perm=128))
        for word in words:
            made[-1].update(word.encode())
    stored = nd.from_datasketch(made)
    assert stored.resemblances([(0, 1)]).tolist() == [made[0].jaccard(made[1])]
    assert np.array_equal(stored.values, np.stack([one.hashvalues for one in made]))
