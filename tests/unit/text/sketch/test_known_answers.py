"""Known answers: stored signatures can be compared only as long as nothing here changes.

A failure means that the format changed. If that is meant, raise ``FORMAT_VERSION`` and make the file again.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import make_golden_signatures
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sketch.documents import WORD, unit_hashes
from neardup.settings import Settings
from neardup.tables import FORMAT_VERSION
from neardup.text.keys import PUBLIC
from neardup.text.sketch.cleaning import text_batch
from neardup.text.sketch.documents import fingerprint, shingle_sets
from neardup.text.sketch.minhash import MinHash
from neardup.unicode import UNICODE_VERSION, tokens, unicode_tables
from support import reference

STORED: dict[str, Any] = json.loads(make_golden_signatures.FILE.read_text(encoding="ascii"))
FAMILIES = pytest.mark.parametrize("sketch", ["one-permutation", "classic"])
NAMES = pytest.mark.parametrize("name", STORED["texts"])


def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = STORED["texts"][name]
    return found


def digits(values: Any, width: int) -> str:
    return "".join(f"{int(value):0{width}x}" for value in values)


def test_the_versions_are_those_of_the_file() -> None:
    assert STORED["format"] == FORMAT_VERSION
    assert STORED["unicode"] == UNICODE_VERSION
    assert (STORED["length"], STORED["slots"]) == (Settings().shingles.length, Settings().sketch.slots)


def test_the_reference_gives_the_file() -> None:
    assert make_golden_signatures.golden() == STORED


@NAMES
def test_tokens(name: str) -> None:
    assert tokens(stored(name)["text"]) == stored(name)["tokens"]


@NAMES
def test_stream_key(name: str) -> None:
    made = fingerprint(pa.array([stored(name)["text"]]), Settings()).to_pylist()[0]
    assert [digits([made[half]], 16) for half in ("key_high", "key_low")] == stored(name)["stream_key"]
    assert made["units"] == len(stored(name)["tokens"])
    assert made["invalid"] == 0


@NAMES
def test_first_shingles(name: str) -> None:
    batch = text_batch(pa.array([stored(name)["text"]]))
    scratch = (np.empty(4, np.uint64), np.empty(4, np.int64))
    (units, _), n, _ = unit_hashes(batch, 0, unicode_tables(), WORD, PUBLIC, scratch)
    hashes = np.empty(max(n, 1), np.uint64)
    n_shingles = shingle_hashes(units, n, STORED["length"], PUBLIC.shingles, hashes)
    first = hashes[: min(n_shingles, make_golden_signatures.FIRST)]
    assert [digits([value], 16) for value in first] == stored(name)["shingles"]
    every = shingle_sets(pa.array([stored(name)["text"]]), np.zeros(1, np.int64), Settings(), PUBLIC).hashes
    assert set(first.tolist()) <= set(every.tolist())


@FAMILIES
@NAMES
def test_signatures(name: str, sketch: str) -> None:
    text, expected = stored(name)["text"], stored(name)[sketch]
    family = MinHash(sketch=sketch)
    found = family.sketch([text])[0]
    if stored(name)["tokens"]:
        assert digits(found, 8) == expected
        assert digits(family.of(text).values, 8) == expected
        made = fingerprint(pa.array([text]), family.settings)
        assert digits(made.column("signature")[0].as_py(), 8) == expected
    else:
        assert expected == ""
        assert set(found.tolist()) == {reference.EMPTY_SLOT}


@pytest.mark.parametrize(
    ("one", "other"),
    [("accented, composed", "accented, decomposed"), ("Greek, lower case", "Greek, upper case")],
)
def test_variants_of_a_text_are_one(one: str, other: str) -> None:
    assert stored(one)["text"] != stored(other)["text"]
    assert stored(one) | {"text": ""} == stored(other) | {"text": ""}


def test_the_file_has_what_it_is_for() -> None:
    """Short and long texts, both paths, slots that shingles chose, and slots that the fallback filled."""
    chosen = [
        reference.one_permutation(reference.shingle_hashes(reference.unit_hashes(text["text"], "word"), 5), 128)[1]
        for text in STORED["texts"].values()
        if text["tokens"]
    ]
    assert any(all(slots) for slots in chosen)
    assert any(sum(slots) == 1 for slots in chosen)
    assert {text["text"].isascii() for text in STORED["texts"].values()} == {True, False}
