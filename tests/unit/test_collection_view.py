"""A view gives a search what the texts themselves would give."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import neardup as nd
import shared_data
from neardup.collection import Collection
from neardup.fingerprints import shingle_sets
from neardup.settings import Settings
from neardup.text import tokens

SCALE, FLOOR = 8, 5


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    found = shared_data.documents("site_policy") | shared_data.documents("udhr")
    return dict(list(found.items())[::3]) | {"short": "two words", "empty": ""}


@pytest.fixture(scope="module")
def collection(texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    path = tmp_path_factory.mktemp("view") / "x.neardup"
    rows = {"id": list(texts), "text": list(texts.values()), "size": [len(text) for text in texts.values()]}
    with Collection(path, scale=SCALE, floor=FLOOR) as made:
        made.add(pa.table(rows), metadata=["size"])
        yield made


def all_sets(texts: dict[str, str]) -> list[np.ndarray]:
    array = pa.array(list(texts.values()), pa.large_string())
    sets = shingle_sets(array, np.arange(len(array)), Settings.of())
    return np.split(sets.hashes, sets.offsets[1:-1])


def test_documents_and_their_sets(collection: Collection, texts: dict[str, str]) -> None:
    sets = all_sets(texts)
    with collection.view() as view:
        documents = view.everything()
        assert view.total() == len(documents) == len(texts)
        assert view.ids(documents) == list(texts)
        assert [view.number(id) for id in texts] == documents.tolist()
        assert view.number("nobody") is None
        assert [view.text(number) for number in documents.tolist()] == list(texts.values())
        assert view.sizes(documents).tolist() == [len(own) for own in sets]
        some = documents[::4]
        hashes, offsets = view.shingle_sets(some)
        for mine, theirs in zip(np.split(hashes, offsets[1:-1]), sets[::4], strict=True):
            assert np.array_equal(mine, theirs)


def test_holders_are_those_whose_sample_holds_it(collection: Collection, texts: dict[str, str]) -> None:
    family = nd.SampledShingles(SCALE, FLOOR)
    samples = [set(family.of(text).hashes.tolist()) for text in texts.values()]
    with collection.view() as view:
        assert view.sampling.limit == family.limit
        documents = view.everything()
        for own in all_sets(texts)[::7]:
            asked = np.array([hash for hash in own.tolist() if hash < view.sampling.limit][:20], np.uint64)
            wanted = np.array([len(sample & set(asked.tolist())) for sample in samples])
            found, counts = view.holders(asked)
            assert np.array_equal(found, documents[wanted > 0])
            assert np.array_equal(counts, wanted[wanted > 0])
            for among in (documents[::5], documents[:3]):
                some, fewer = view.holders(asked, among=among)
                assert np.array_equal(some, np.intersect1d(found, among))
                assert np.array_equal(fewer, counts[np.isin(found, among)])
            for least in (2, 5):
                several, hits = view.holders(asked, least)
                assert np.array_equal(several, documents[wanted >= least])
                assert np.array_equal(hits, wanted[wanted >= least])
            held = [sum(hash in sample for sample in samples) for hash in asked.tolist()]
            assert view.posting_counts(asked).tolist() == held


def test_what_is_kept_of_a_search_changes_nothing(
    collection: Collection, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = all_sets(texts)
    with collection.view() as view:
        documents = view.everything()
        for kept in (0, 10, 1_000):
            monkeypatch.setattr("neardup.collection.view._KEPT_SHINGLES", kept * 100)
            monkeypatch.setattr("neardup.collection.view._KEPT_BYTES", kept * 1_000)
            for begin, step in ((0, 7), (0, 5), (3, 7), (0, 1)):
                hashes, offsets = view.shingle_sets(documents[begin::step])
                for mine, theirs in zip(np.split(hashes, offsets[1:-1]), sets[begin::step], strict=True):
                    assert np.array_equal(mine, theirs)
                assert view.text(int(documents[begin])) == list(texts.values())[begin]


def test_phrases_stand_one_after_the_other(collection: Collection, texts: dict[str, str]) -> None:
    words = [tokens(text) for text in texts.values()]
    with collection.view() as view:
        documents = view.everything()
        for own in words[::5]:
            for begin in range(0, len(own) - 4, max(1, len(own) // 4)):
                run = own[begin : begin + 3]
                wanted = [n for n, held in zip(documents, words, strict=True) if holds(held, run)]
                assert view.phrase(run).tolist() == wanted
                assert view.phrase(run, documents[::3]).tolist() == sorted({*wanted} & {*documents[::3].tolist()})
                assert set(view.having(run[::-1]).tolist()) == {
                    n for n, held in zip(documents, words, strict=True) if set(run) <= set(held)
                }
        assert view.phrase(["words", "two"]).tolist() == []
        twice = [n for n, held in zip(documents, words, strict=True) if holds(held, ["two", "two"])]
        assert view.phrase(["two", "two"]).tolist() == twice


def holds(words: list[str], run: list[str]) -> bool:
    return any(words[start : start + len(run)] == run for start in range(len(words)))


def test_words_and_fields(collection: Collection, texts: dict[str, str]) -> None:
    words = [tokens(text) for text in texts.values()]
    with collection.view() as view:
        documents = view.everything()
        asked = sorted({own[len(own) // 2] for own in words if own})[::3]
        counts = [sum(word in own for own in words) for word in asked]
        assert view.word_counts(asked).tolist() == counts
        for word in asked:
            assert view.phrase([word]).tolist() == [
                n for n, own in zip(documents, words, strict=True) if word in own
            ]
        large = [n for n, text in zip(documents.tolist(), texts.values(), strict=True) if len(text) > 5000]
        assert view.compare("size", ">", 5000).tolist() == large
        assert view.compare("size", ">", 5000, documents[:9]).tolist() == [n for n in large if n <= documents[8]]
        assert view.has_field("size")
        assert not view.has_field("colour")


def test_a_view_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.neardup"
    with Collection(path) as reader, Collection(path) as writer:
        writer.add(["one text"])
        with reader.view() as view:
            writer.add(["another text"])
            writer.remove("#1")
            assert (view.total(), view.ids(view.everything()), view.text(1)) == (1, ["#1"], "one text")
        with reader.view() as view:
            assert view.ids(view.everything()) == ["#2"]
