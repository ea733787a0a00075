"""The record of the first pass, and how long sketches and shingle sets live."""

from __future__ import annotations

import gc
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest

import neardup as nd
from neardup.deduplication.join import first_pass
from neardup.deduplication.join import search as search_module
from neardup.deduplication.join.corpus import Corpus, Part
from neardup.deduplication.join.first_pass import fingerprint
from neardup.deduplication.join.rows import Rows
from neardup.deduplication.join.verification import verify
from neardup.deduplication.run.stages import search
from neardup.errors import InputError
from neardup.io.readers import open_documents
from neardup.io.writers.scratch import RunJournal
from neardup.runtime import Silent
from neardup.text.keys import PUBLIC
from support.made_texts import Writer


def made_texts() -> list[str]:
    writer = Writer(seed=3)
    words = writer.words(40)
    return ["", *(" ".join([*words[: 38 + k % 3], *writer.words(k)]) for k in range(4)), "one", "one"]


def rows_of(*inputs: list[str]) -> Rows:
    parts = tuple(Part(open_documents(texts, chunk_bytes=100), "text", None) for texts in inputs)
    return fingerprint(Corpus(parts, nd.Settings.of()), 0, Silent())[0]


def test_a_further_feature_is_one_function(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its column is held of every row of both inputs, and comes back from a journal."""

    def letters(chunk: first_pass.ChunkTexts) -> None:
        chunk.columns["letters"] = np.array([len(text) for text in chunk.texts.to_pylist()])

    monkeypatch.setattr(first_pass, "FEATURES", (*first_pass.FEATURES, letters))
    monkeypatch.setattr(first_pass, "OF_ROWS", (*first_pass.OF_ROWS, "letters"))
    texts = made_texts()
    assert rows_of(texts, texts[::-1]).columns["letters"].tolist() == [*map(len, texts), *map(len, texts[::-1])]
    journal = RunJournal(tmp_path / "journal", {}, b"s" * 32)
    part = Part(open_documents(texts, chunk_bytes=100), "text", None)
    for _ in range(2):
        rows, _ = fingerprint(Corpus((part,), nd.Settings.of(), journal=journal), 0, Silent())
        assert rows.columns["letters"].tolist() == [*map(len, texts)]
        monkeypatch.setattr(first_pass, "FEATURES", ())  # the second time all is in the journal
    journal.close()


def test_more_documents_than_pairs_can_name_are_refused() -> None:
    part = Part(open_documents(["one text", "another text"]), "text", None)
    corpus = Corpus((part,), nd.Settings.of())
    growing = first_pass._RowsUnderWay(corpus, None)
    growing._rows = (1 << 32) - 1
    (read,) = first_pass.read_chunks(corpus, 0)
    with pytest.raises(InputError) as refused:
        growing.add(read)
    assert "4,294,967,296 in one run" in refused.value.allowed


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The features of every pass over the texts after the first."""
    passes: list[str] = []
    real = Corpus.shingle_sets

    def noted(corpus: Corpus, rows: Any, hashes: Any, features: Any = "shingles") -> Any:
        passes.append(features)
        return real(corpus, rows, hashes, features)

    monkeypatch.setattr(Corpus, "shingle_sets", noted)
    return passes


def test_the_new_input_begins_after_the_reference_set() -> None:
    alone, against = rows_of(made_texts()), rows_of(made_texts(), ["two", "", "one"])
    assert (len(alone), alone.first_new, alone.first_new_document) == (7, 0, 0)
    assert (len(against), against.first_new, against.first_new_document) == (10, 7, 5)
    assert against.unique.tolist() == [1, 2, 3, 4, 5, 7]
    assert against.copy_of.tolist() == [0, 1, 2, 3, 4, 5, 5, 7, 8, 5]
    assert (rows_of([]).first_new, rows_of([], []).first_new_document) == (0, 0)


def test_nothing_of_a_record_can_be_set() -> None:
    rows = rows_of(made_texts())
    with pytest.raises(FrozenInstanceError):
        rows.units = rows.bytes  # type: ignore[misc]
    unnamed = rows.with_numbers_as_names({0})
    assert unnamed.corpus.parts[0].id is None
    assert unnamed.units is rows.units


def test_sets_are_read_again_only_if_nothing_holds_them(reads: list[str]) -> None:
    rows = rows_of(made_texts())
    everything, some = np.arange(5), np.array([1, 3])
    held = rows.sets().get(everything)
    assert rows.sets().get(some) is held
    assert reads == ["shingles"]
    rows.sets("words").get(some)
    assert reads == ["shingles", "words"]
    alone = held.only(some)
    del held
    again = rows.sets().get(some)
    assert reads == ["shingles", "words", "shingles"]
    for one, other in ((alone.sets.hashes, again.sets.hashes), (alone.sets.offsets, again.sets.offsets)):
        assert np.array_equal(one, other)
    with rows.sets().hold(everything):
        assert rows.sets().get(some) is again
        del again
        assert len(rows.sets().get(some).documents) == 5
    assert reads == ["shingles", "words", "shingles", "shingles"]
    assert len(rows.sets().get(some).documents) == 2


def test_another_key_has_sets_of_its_own() -> None:
    rows = rows_of(made_texts())
    everything = np.arange(5)
    own, other = (made.sets().get(everything) for made in (rows, rows.under(PUBLIC)))
    assert own.sets.sizes.tolist() == other.sets.sizes.tolist()
    assert not set(own.sets.hashes.tolist()) & set(other.sets.hashes.tolist())


def test_components_of_an_exact_run_read_the_texts_once(reads: list[str]) -> None:
    """The pairs with far leaders are counted on the sets of the join, which the first pass has made."""
    words = Writer(seed=4).words(60)
    texts = [" ".join(words[k : k + 40]) for k in range(0, 20, 4)]
    found = nd.find(texts, method="exact", groups="components", threshold=0.6)
    assert len(found.groups) == 5
    assert found.run.chaining.weakest.similarity < 0.6
    assert not reads


def test_pairs_are_verified_and_closed_on_sets_that_are_read_once(reads: list[str]) -> None:
    found = nd.find(made_texts(), method="lsh", threshold=0.6)
    assert found.run.closed.components == 1
    assert reads == ["shingles"]


def test_rows_and_sets_are_freed_without_a_collection() -> None:
    rows = rows_of(made_texts())
    alive = [ref(rows), ref(rows.sets().get(np.arange(5))), ref(rows.sets())]
    gc.disable()
    try:
        del rows
        assert [made() for made in alive] == [None] * 3
    finally:
        gc.enable()


@pytest.mark.parametrize("settings", [{"sketch": "simhash", "distance": 8}, {"method": "lsh"}])
def test_sketches_are_gone_before_pairs_are_verified(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    alive = []

    def noted(*given: Any) -> Any:
        rows, sketches = fingerprint(*given)
        alive.append(ref(sketches))
        return rows, sketches

    def checked(*given: Any) -> Any:
        assert [made() for made in alive] == [None]
        return verify(*given)

    monkeypatch.setattr(search, "fingerprint", noted)
    monkeypatch.setattr(search_module, "verify", checked)
    assert nd.find(made_texts(), **settings).pairs.num_rows
    assert alive
