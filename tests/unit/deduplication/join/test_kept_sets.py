"""The sets that the first pass of an exact run makes: in memory, in a file, or none at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import neardup as nd
from neardup.deduplication.join import first_pass as first_pass_module
from neardup.deduplication.join.corpus import Corpus, Part
from neardup.deduplication.join.first_pass import expects_exact, fingerprint
from neardup.deduplication.join.rows import Rows, Sketches
from neardup.deduplication.join.shingle_store import DocumentSets, SpilledSets
from neardup.io.readers import open_documents
from neardup.runtime import Silent
from neardup.settings.measures import MEASURES
from neardup.text.lsh.bands import Plan, plan
from neardup.text.sketch.documents import ShingleSets
from support.made_texts import Writer


def made_texts() -> list[str]:
    """Return texts with copies and empty ones between them, about 50,000 shingles."""
    writer = Writer(seed=5)
    texts = [writer.text(250) for _ in range(200)]
    return [text for k, one in enumerate(texts) for text in (one, "", texts[k // 2])]


def first_pass(**settings: Any) -> tuple[Rows, Sketches]:
    part = Part(open_documents(made_texts(), chunk_bytes=20_000), "text", None)
    return fingerprint(Corpus((part,), nd.Settings.of(**settings)), 0, Silent())


def assert_same(found: ShingleSets, expected: ShingleSets) -> None:
    assert np.array_equal(found.hashes, expected.hashes)
    assert np.array_equal(found.offsets, expected.offsets)


@pytest.mark.parametrize("measure", ["resemblance", "multiset", "overlap"])
@pytest.mark.parametrize(("memory", "in_file"), [(1.0, False), (0.001, True)])
def test_the_sets_are_those_of_the_texts(measure: str, memory: float, in_file: bool) -> None:
    rows, sketches = first_pass(method="exact", memory=memory, measure=measure)
    everything = np.arange(len(rows.unique))
    rows_again, _ = first_pass(method="lsh")
    again = Corpus(rows.corpus.parts, rows.settings, rows.corpus.key, rows_again.corpus.pieces)
    room = np.empty(int(rows.units.sum()), np.uint64)
    expected = again.shingle_sets(rows.unique, room, MEASURES[measure].features)
    assert len(expected.sizes) == 200
    assert isinstance(sketches.sets, SpilledSets) == in_file
    if isinstance(sketches.sets, SpilledSets):
        assert_same(sketches.sets.load(everything).sets, expected)
    else:
        assert sketches.sets is not None
        assert rows.sets(MEASURES[measure].features).get(everything) is sketches.sets
        assert_same(sketches.sets.sets, expected)


@pytest.mark.parametrize(
    "settings", [{"method": "lsh"}, {"method": "auto"}, {"method": "exact", "measure": "bag-of-words"}]
)
def test_other_runs_make_no_sets(settings: dict[str, str]) -> None:
    _, sketches = first_pass(**settings)
    assert sketches.sets is None


def first_pass_for(method: str) -> tuple[Rows, Sketches, Plan]:
    """The first pass of a whole run, over the same texts."""
    part, asked = (
        Part(open_documents(made_texts(), chunk_bytes=20_000), "text", None),
        nd.Settings.of(method=method),
    )
    bands = plan(asked.search.threshold, asked.search.recall, asked.sketch.slots)
    return *fingerprint(Corpus((part,), asked), asked.sketch.slots, Silent(), bands), bands


def assert_signed_alike(found: Sketches, expected: Sketches) -> None:
    assert np.array_equal(np.concatenate(found.signatures()), np.concatenate(expected.signatures()))


def test_a_run_that_will_join_exactly_makes_sets_and_signs_only_when_asked() -> None:
    rows, sketches, bands = first_pass_for("auto")
    expected, signed, _ = first_pass_for("lsh")
    assert isinstance(sketches.sets, DocumentSets)
    assert signed.sets is None
    assert_same(sketches.sets.sets, expected.sets().get(np.arange(200)).sets)
    assert rows.unique.tolist() == expected.unique.tolist()
    assert_signed_alike(sketches, signed)
    assert len(sketches.bands(bands)) == 200


def test_sets_that_do_not_fit_after_all_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a compressed file, whose size says too little."""
    monkeypatch.setattr(first_pass_module, "BYTES_A_SHINGLE", 1_000_000_000 // 20_000)
    rows, sketches, _ = first_pass_for("lsh")
    monkeypatch.setattr(first_pass_module, "_text_bytes", lambda documents: 0)
    given_up, signed, _ = first_pass_for("auto")
    assert expects_exact(given_up.corpus)
    assert signed.sets is None
    assert given_up.unique.tolist() == rows.unique.tolist()
    assert_signed_alike(signed, sketches)
