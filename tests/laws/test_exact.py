"""The exact method misses nothing: on real text it gives all pairs of brute force, at every threshold."""

from __future__ import annotations

from fractions import Fraction

import pytest

import neardup as nd
from support import shared_data

SETS = ("own", "django_docs", "law_de", "license_texts", "irplag_java", "bible_pd", "site_policy")


@pytest.mark.part(6)
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("name", SETS)
def test_all_pairs_of_real_text(name: str, threshold: float) -> None:
    texts = list(shared_data.documents(name).values())
    oracle = shared_data.all_pairs(name)
    least = Fraction(repr(threshold))
    found = nd.find(texts, threshold=threshold, method="exact", pairs="all")
    pairs = {(row["id_a"], row["id_b"]): row for row in found.pairs.to_pylist()}
    copies = {row["id"] for row in found.copies.to_pylist()}
    expected = {
        pair
        for pair, counted in oracle.items()
        if Fraction(counted.shared, counted.union) >= least and not copies & set(pair)
    }
    assert set(pairs) == expected
    for pair, row in pairs.items():
        counted = oracle[pair]
        assert (row["shared"], row["size_a"], row["size_b"]) == (counted.shared, counted.size_a, counted.size_b)
    assert found.run.recall.statement.startswith("exact")
