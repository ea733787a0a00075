"""A view gives a search the same answers as the texts themselves."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.collection import Collection
from neardup.collection import view as view_module
from neardup.collection.view import batches
from neardup.settings import Settings
from neardup.text.sketch.documents import shingle_sets
from neardup.unicode import tokens
from support import shared_data

SCALE, FLOOR = 8, 5


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    found = shared_data.documents(shared_data.or_own("site_policy")) | shared_data.documents(
        shared_data.or_own("udhr")
    )
    return dict(list(found.items())[::3]) | {"short": "two words", "empty": ""}


@pytest.fixture(scope="module")
def collection(texts: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    path = tmp_path_factory.mktemp("view") / "x.neardup"
    rows = {"id": list(texts), "text": list(texts.values()), "size": [len(text) for text in texts.values()]}
    with Collection(path, scale=SCALE, floor=FLOOR) as made:
        made.add(pa.table(rows), metadata=["size"])
        yield made


def all_sets(collection: Collection, texts: dict[str, str]) -> list[np.ndarray]:
    array = pa.array(list(texts.values()), pa.large_string())
    sets = shingle_sets(array, np.arange(len(array)), Settings.of(), collection.settings.key)
    return np.split(sets.hashes, sets.offsets[1:-1])


def sample_of(own: np.ndarray) -> set[int]:
    """Return the hashes below the limit, or the smallest few."""
    below = [hash for hash in own.tolist() if hash < (1 << 64) // SCALE]
    return set(below if len(below) >= FLOOR else own.tolist()[:FLOOR])


def test_documents_and_their_sets(collection: Collection, texts: dict[str, str]) -> None:
    sets = all_sets(collection, texts)
    with collection.view() as view:
        documents = view.everything()
        assert view.total() == len(documents) == len(texts)
        assert view.ids(documents) == list(texts)
        assert [view.number(id) for id in texts] == documents.tolist()
        assert view.number("nobody") is None
        assert [view.text(number) for number in documents.tolist()] == list(texts.values())
        assert view.sizes(documents).tolist() == [len(own) for own in sets]
        for own in sets[::9]:
            shared = view.shared(own, documents[::4])
            assert shared.tolist() == [len(np.intersect1d(own, other)) for other in sets[::4]]


def test_holders_are_those_whose_sample_holds_it(collection: Collection, texts: dict[str, str]) -> None:
    samples = [sample_of(own) for own in all_sets(collection, texts)]
    with collection.view() as view:
        assert view.sampling.limit == (1 << 64) // SCALE
        documents = view.everything()
        for own in all_sets(collection, texts)[::7]:
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


def test_how_many_texts_are_compared_together_changes_nothing(
    collection: Collection, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = all_sets(collection, texts)
    with collection.view() as view:
        documents = view.everything()
        for together in (1, 50):
            monkeypatch.setattr(view_module, "_AT_ONCE", together)
            for begin, step in ((0, 7), (0, 5), (3, 7), (0, 1)):
                some = documents[begin::step]
                shared = view.shared(sets[5], some)
                assert shared.tolist() == [len(np.intersect1d(sets[5], other)) for other in sets[begin::step]]
                assert view.text(int(documents[begin])) == list(texts.values())[begin]


def test_long_texts_are_read_by_themselves(tmp_path: Path) -> None:
    """Random digits take more than a megabyte when they are compressed."""
    draw = random.Random(4)
    texts = [" ".join(f"{draw.randrange(10**9)}" for _ in range(count)) for count in (200_000, 20, 30, 190_000)]
    with Collection(tmp_path / "long.neardup") as made:
        made.add(texts)
        assert max(map(len, made.store.packed(np.arange(1, 5)))) > view_module._LONG
        for text in texts:
            page = made.search(f'FINGERPRINT:TEXT:"{" ".join(text.split()[-20:])}"_90')
            assert [hit.evidence.shared for hit in page.hits if hit.evidence] == [page.hits[0].evidence.size_query]


@pytest.mark.parametrize("most", [1, 100])
def test_of_long_documents_few_are_read_at_a_time(most: int) -> None:
    sizes = np.array([5, 200, 40, 60, 1, 0, 300])
    parts = [sizes[part] for part in batches(sizes, most)]
    assert np.array_equal(np.concatenate(parts), sizes)
    assert all(part.sum() <= most or len(part) == 1 for part in parts)


def test_phrases_stand_one_after_the_other(collection: Collection, texts: dict[str, str]) -> None:
    words = [tokens(text) for text in texts.values()]
    spaced, vocabularies = [in_spaces(own) for own in words], [set(own) for own in words]
    with collection.view() as view:
        documents = view.everything()
        for own in words[::5]:
            for begin in range(0, len(own) - 4, max(1, len(own) // 4)):
                run = own[begin : begin + 3]
                wanted = [n for n, held in zip(documents, spaced, strict=True) if in_spaces(run) in held]
                assert view.phrase(run).tolist() == wanted
                assert view.phrase(run, documents[::3]).tolist() == sorted({*wanted} & {*documents[::3].tolist()})
                assert set(view.having(run[::-1]).tolist()) == {
                    n for n, held in zip(documents, vocabularies, strict=True) if set(run) <= held
                }
        assert view.phrase(["words", "two"]).tolist() == []
        twice = [n for n, held in zip(documents, spaced, strict=True) if " two two " in held]
        assert view.phrase(["two", "two"]).tolist() == twice


def in_spaces(words: list[str]) -> str:
    """The words with a space on each side; no word has one in it, so that a run of them is a part of the text."""
    assert not any(" " in word for word in words)
    return f" {' '.join(words)} "


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
