"""SimHash fingerprints in Arrow and Parquet: written, read, compared; other features and families refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup as nd
from neardup.errors import FormatError, InputError
from support.messages import assert_refused

TEXTS = ["The night is dark and the moon is red over the harbour.", "", "the moon is red", "Ünïcode — 東京 は 夜"]
IDS = ["a", "b", "c", "d"]
PAIRS = [(0, 2), (1, 1), (3, 0), (2, 2)]
SIMHASHES = [(64, "char:4"), (64, "shingle:2"), (128, "word"), (128, "char:4")]


@pytest.mark.parametrize("name", ["one.parquet", "one.arrow"])
@pytest.mark.parametrize(("bits", "features"), SIMHASHES)
def test_fingerprints_are_stored_as_well(bits: int, features: str, name: str, tmp_path: Path) -> None:
    family = nd.SimHash(bits, features)
    made = family.sketch(TEXTS)
    nd.write_signatures(family.to_arrow(IDS, made), tmp_path / name)
    found = nd.read_signatures(tmp_path / name)
    numbers = [family.of(text) for text in TEXTS]
    expected = [(numbers[a] ^ numbers[b]).bit_count() for a, b in PAIRS]
    assert found.distances(PAIRS).tolist() == found.distances(PAIRS, found).tolist() == expected
    assert np.array_equal(found.values, made)
    assert (str(found.family), found.ids.to_pylist(), len(found)) == (str(family), IDS, 4)
    assert found.provenance == family.provenance()
    assert found.to_arrow().equals(family.to_arrow(IDS, made), check_metadata=True)
    assert nd.hamming_pairs(found.values).copies.equals(nd.hamming_pairs(made).copies)
    empty = nd.read_signatures(family.to_arrow([], family.sketch([])))
    assert (len(empty), empty.distances([]).tolist()) == (0, [])


def test_fingerprints_of_given_features_are_told_apart() -> None:
    family = nd.SimHash()
    given = np.array([family.of_features([("moon", 2.0)]), 0], np.uint64)
    found = nd.read_signatures(family.to_arrow([7, 8], given, of_ids=True))
    assert found.of_ids
    assert str(found.provenance) == "simhash (version 2, Unicode 15.0.0, bits 64, of ids)"
    assert found.to_arrow().equals(family.to_arrow([7, 8], given, of_ids=True), check_metadata=True)
    with pytest.raises(FormatError, match=r"bits 64, of ids\).*simhash .*features char:4, of texts"):
        found.distances([(0, 0)], nd.read_signatures(family.to_arrow(IDS, family.sketch(TEXTS))))


@pytest.mark.parametrize(("bits", "features"), SIMHASHES)
def test_fingerprints_of_two_kinds_are_refused_and_both_are_named(bits: int, features: str) -> None:
    mine = nd.SimHash(bits, features)
    one = nd.read_signatures(mine.to_arrow(IDS, mine.sketch(TEXTS)))
    others = [nd.SimHash(*kind) for kind in SIMHASHES if kind != (bits, features)]
    for other in [*others, nd.MinHash(16), nd.SampledShingles(), nd.BBit(nd.MinHash(16))]:
        two = nd.read_signatures(other.to_arrow(IDS, other.sketch(TEXTS)))
        for compare in (lambda: one.distances([(0, 0)], two), lambda: two.resemblances([(0, 0)], one)):  # noqa: B023
            with pytest.raises(FormatError) as caught:
                compare()
            assert str(mine.provenance()) in str(caught.value)
            assert str(other.provenance()) in str(caught.value)


def test_fingerprints_tell_distances_and_signatures_resemblances() -> None:
    one = nd.read_signatures(nd.SimHash().to_arrow(IDS, nd.SimHash().sketch(TEXTS)))
    other = nd.read_signatures(nd.MinHash(16).to_arrow(IDS, nd.MinHash(16).sketch(TEXTS)))
    assert_refused(
        (InputError, r"are simhash .*Distances only\. Try: Use distances", lambda: one.resemblances(PAIRS)),
        (InputError, r"are minhash .*Try: Use resemblances", lambda: other.distances(PAIRS)),
        (InputError, "", lambda: one.distances([(0, 4)])),
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"family": "simhash"},
            "The signatures are simhash .*Families of this program: minhash, weighted minhash, simhash",
        ),
        ({"bits": 64.0}, r"bits 64\.0"),
        ({"bits": 128}, "says simhash .*bits 128.* and holds other signatures"),
        ({"features": "char:65"}, "features char:65"),
        ({"features": ["char:4"]}, "The signatures are simhash"),
        ({"of": "ids"}, "The signatures are simhash"),
        ({"more": 1}, "more 1"),
    ],
)
def test_tables_that_are_no_fingerprints(values: dict[str, Any], message: str) -> None:
    table = nd.SimHash().to_arrow(IDS, nd.SimHash().sketch(TEXTS))
    whole = json.loads(table.schema.metadata[b"neardup"])
    if values == {"family": "simhash"}:
        whole = {name: whole[name] for name in ("version", "unicode")} | {"slots": 3}
    table = table.replace_schema_metadata({b"neardup": json.dumps(whole | values).encode()})
    with pytest.raises(FormatError, match=message):
        nd.read_signatures(table)


def test_what_makes_no_table_of_fingerprints() -> None:
    wide = np.zeros((4, 2), np.uint64)
    for family, made, words in (
        (nd.SimHash(), wide, r"are uint64\[4, 2\]"),
        (nd.SimHash(), np.zeros(4, np.int64), r"are int64\[4, 1\]"),
        (nd.SimHash(), np.zeros((4, 1), np.uint32), r"are uint32\[4, 1\]"),
        (nd.SimHash(), [1, 2, 3, 4], "are a list"),
        (nd.SimHash(128), wide.reshape(-1), r"are uint64\[8\]\. Allowed: uint64\[n, 2\]"),
    ):
        with pytest.raises(InputError, match=words):
            family.to_arrow(IDS, made)
