"""What every store of a collection must do. A new store is one more row of ``STORES``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from neardup.collection.contract import KEPT, StoreUnavailableError
from neardup.collection.entries import unpack
from neardup.collection.store import Store, store_at
from neardup.errors import OutputError
from neardup.io.place import place_of
from neardup.tables import UInt64s
from support import reference
from support.made_collections import made, numbers, put
from support.postgres_server import url_for

Opens = Callable[[], Store]

SETTINGS = {"scale": 2, "floor": 3}
STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: store_at(folder / "made.neardup", SETTINGS, wait=0.2),
    "postgres": lambda folder: store_at(place_of(url_for(folder)), SETTINGS, wait=0.2),
}

TEXTS = {
    "dog": "The quick brown fox jumps over the lazy dog and runs away from here",
    "cat": "The quick brown fox jumps over the sleeping cat and runs away from here",
    "other": "Nothing in common with anything that was said before in this place",
    "short": "quick brown",
    "empty": "",
}


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opens]:
    opened: list[Store] = []

    def again() -> Store:
        opened.append(STORES[request.param](tmp_path))
        return opened[-1]

    yield again
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Opens) -> Store:
    return open_store()


def ids(store: Store) -> list[str]:
    return [id for _, id in store.page(0, 1000)]


def remove(store: Store, *ids: str) -> None:
    known = store.numbers(ids)
    with store.writing() as transaction:
        for id in ids:
            text = unpack(store.packed(numbers(known[id]))[0], id).decode()
            [row] = store.rows(numbers(known[id]))
            transaction.remove(made({id: text}, store.settings, [row.metadata]), numbers(known[id]))


def test_what_was_put_is_there_after_opening_again(open_store: Opens) -> None:
    store = open_store()
    given = put(store, TEXTS, [{"n": place} for place in range(len(TEXTS))])
    store.close()
    store = open_store()
    assert ids(store) == list(TEXTS)
    assert store.numbers([*TEXTS, "unknown"]) == dict(zip(TEXTS, given.tolist(), strict=True))
    rows = store.rows(given)
    assert [row.metadata for row in rows] == [{"n": place} for place in range(len(TEXTS))]
    assert [row.tokens for row in rows] == [len(reference.tokens(text)) for text in TEXTS.values()]
    sets = [reference.shingle_set(text, 5, "word") for text in TEXTS.values()]
    assert [row.shingles for row in rows] == [len(set(of_text)) for of_text in sets]
    assert [unpack(packed, "").decode() for packed in store.packed(given)] == list(TEXTS.values())
    assert np.array_equal(store.signatures(given), made(TEXTS, store.settings).signatures.astype(np.uint8))


def test_answers_come_in_the_order_asked_for(store: Store) -> None:
    given = put(store, TEXTS)
    backwards = given[::-1].copy()
    assert [row.id for row in store.rows(backwards)] == list(TEXTS)[::-1]
    assert [unpack(packed, "").decode() for packed in store.packed(backwards)] == list(TEXTS.values())[::-1]
    assert np.array_equal(store.signatures(backwards), store.signatures(given)[::-1])
    assert store.sizes(backwards).tolist() == [row.shingles for row in store.rows(backwards)]
    assert np.array_equal(store.everything(), given)
    assert store.rows(numbers(999)) == []
    assert store.ids(backwards) == list(TEXTS)[::-1]
    short = [packed if len(packed) <= 60 else None for packed in store.packed(backwards)]
    assert store.short_packed(backwards, 60) == short
    assert {packed is None for packed in short} == {True, False}
    for missing in (store.packed, store.signatures, store.sizes, store.ids):
        with pytest.raises(KeyError):
            missing(numbers(999))


def test_numbers_are_never_given_twice(store: Store) -> None:
    first = put(store, TEXTS)
    remove(store, *TEXTS)
    assert min(put(store, TEXTS)) > max(first)


def test_removing_leaves_nothing_behind(store: Store) -> None:
    put(store, TEXTS, [{"key": "value"}] * len(TEXTS))
    before = store.totals()
    put(store, {"more": "some more words that are put in and taken out again"}, [{"key": "value", "own": 1}])
    remove(store, "more")
    after = store.totals()
    counts = [
        (totals.documents, totals.tokens, totals.shingles, totals.postings, totals.text_bytes, totals.packed_bytes)
        for totals in (before, after)
    ]
    assert counts[0] == counts[1]
    assert after.change == before.change + 2
    assert store.numbers(["more"]) == {}
    assert not len(store.containing(["taken", "out"]))
    assert not len(store.where("own", "=", 1))
    stored = sorted(
        pair
        for hashes, documents in store.sampled()
        for pair in zip((hashes & KEPT).tolist(), documents.tolist(), strict=True)
    )
    wanted = made(TEXTS, store.settings)
    known = [store.numbers([id])[id] for id in TEXTS]
    owners = np.repeat(known, np.diff(wanted.offsets))
    assert stored == sorted(zip((wanted.hashes & KEPT).tolist(), owners.tolist(), strict=True))
    words = {word for text in TEXTS.values() for word in reference.tokens(text)}
    tokens = {number: set(reference.tokens(text)) for number, text in zip(known, TEXTS.values(), strict=True)}
    held = {word: [number for number, own in tokens.items() if word in own] for word in words}
    assert {word.decode(): (count, total) for word, count, total in store.words()} == {
        word: (len(numbers), sum(numbers)) for word, numbers in held.items()
    }
    assert store.faults() == []


def test_replacing_keeps_the_number(store: Store) -> None:
    put(store, TEXTS)
    number = store.numbers(["cat"])["cat"]
    new = "An entirely different story about a mouse"
    with store.writing() as transaction:
        transaction.remove(made({"cat": TEXTS["cat"]}, store.settings), numbers(number))
        transaction.put(made({"cat": new}, store.settings), numbers(number))
    assert store.numbers(["cat"]) == {"cat": number}
    assert store.containing(["sleeping"]).tolist() == []
    assert store.containing(["mouse"]).tolist() == [number]
    assert ids(store) == list(TEXTS)
    assert store.faults() == []


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    put(store, TEXTS)
    before = store.totals()
    with pytest.raises(RuntimeError):
        _put_and_fail(store)
    assert store.totals() == before
    assert store.numbers(["new"]) == {}
    assert not len(store.containing(["new", "document"]))


def _put_and_fail(store: Store) -> None:
    with store.writing() as transaction:
        transaction.put(made({"new": "words of a new document"}, store.settings), numbers(0))
        assert store.numbers(["new"]), "the thread that writes sees what it wrote"
        raise RuntimeError("halfway")


def test_readers_see_a_transaction_when_it_is_over(open_store: Opens) -> None:
    writer, reader = open_store(), open_store()
    put(writer, TEXTS)
    with writer.writing() as transaction:
        transaction.put(made({"new": "words"}, writer.settings), numbers(0))
        assert reader.numbers(["new"]) == {}
    assert list(reader.numbers(["new"])) == ["new"]


def test_a_block_of_reading_sees_one_state(open_store: Opens) -> None:
    writer, reader = open_store(), open_store()
    put(writer, TEXTS)
    with reader.reading():
        put(writer, {"new": "words of another kind"})
        with reader.reading():
            assert reader.numbers(["new"]) == {}
        assert not len(reader.containing(["another"]))
        assert reader.totals().documents == len(TEXTS)
    assert reader.totals().documents == len(TEXTS) + 1


def test_a_second_writer_is_told_to_wait(open_store: Opens) -> None:
    one, other = open_store(), open_store()
    with one.writing():
        for busy in (other, one):
            raised: list[BaseException] = []
            thread = threading.Thread(target=_write, args=(busy, raised))
            thread.start()
            thread.join()
            assert isinstance(raised[0], OutputError)
            assert "another writer" in str(raised[0])
    put(other, TEXTS)


def _write(store: Store, raised: list[BaseException]) -> None:
    try:
        put(store, {"second": "text"})
    except BaseException as error:
        raised.append(error)


def test_pages_are_stable_while_documents_are_added(store: Store) -> None:
    put(store, {f"old {place}": "text" for place in range(10)})
    first = store.page(0, 4)
    remove(store, "old 0", "old 5")
    put(store, {f"new {place}": "text" for place in range(3)})
    rest = store.page(first[-1][0], 100)
    assert [id for _, id in first + rest] == [
        *(f"old {place}" for place in range(10) if place != 5),
        *(f"new {place}" for place in range(3)),
    ]


def test_sampled_shingles_are_found(store: Store) -> None:
    given = put(store, TEXTS)
    entries = made(TEXTS, store.settings)
    samples = {
        number: set(entries.hashes[begin:end].tolist())
        for number, begin, end in zip(
            given.tolist(), entries.offsets[:-1].tolist(), entries.offsets[1:].tolist(), strict=True
        )
    }
    for asked in [*samples.values(), set().union(*samples.values()), {1, 2**64 - 1}, set()]:
        hashes = np.array(sorted(asked), np.uint64)
        lists = [found.tolist() for found in store.postings(hashes)]
        for hash, found in zip(hashes.tolist(), lists, strict=True):
            assert found == sorted(number for number, own in samples.items() if hash in own)
        with store.reading():
            for most in (0, 1, 5, 1000, 1, 0):
                assert_rarest(store, hashes, lists, most)


def _looked_up_often(store: Store, hashes: UInt64s) -> list[list[int]]:
    """The lists of hashes, after enough look-ups that a store may keep them in memory; always the same."""
    with store.reading():
        found = [[one.tolist() for one in store.postings(hashes)] for _ in range(30)]
    assert all(one == found[0] for one in found)
    return found[0]


def _remove_and_fail(store: Store, texts: Mapping[str, str], look: Callable[[], None]) -> None:
    with store.together(), store.writing() as transaction:
        number = store.numbers(list(texts))
        transaction.remove(made(texts, store.settings), numbers(*number.values()))
        look()
        raise RuntimeError("halfway")


def _words(name: str) -> str:
    return " ".join(f"{name}{place}" for place in range(30))


def test_lists_that_are_looked_up_often_are_those_of_the_present_state(store: Store) -> None:
    """Also after a transaction that was undone, and another one that removed or added as many postings."""
    alike: dict[int, dict[str, UInt64s]] = {}
    for name in (f"n{k}" for k in range(200)):
        sample = made({name: _words(name)}, store.settings).hashes
        alike.setdefault(len(sample), {})[name] = sample
    samples = dict(list(max(alike.values(), key=len).items())[:3])
    one, two, six = samples
    texts = {name: _words(name) for name in samples}
    put(store, texts)
    number = store.numbers(list(texts))
    hashes = np.concatenate(list(samples.values()))

    def expected(*names: str) -> list[list[int]]:
        return [[number[name]] if name in names else [] for name, own in samples.items() for _ in own]

    assert _looked_up_often(store, hashes) == expected(one, two, six)
    undone: list[list[list[int]]] = []
    with pytest.raises(RuntimeError):
        _remove_and_fail(store, {one: texts[one]}, lambda: undone.append(_looked_up_often(store, hashes)))
    assert undone == [expected(two, six)]
    assert _looked_up_often(store, hashes) == expected(one, two, six)
    remove(store, two)
    assert _looked_up_often(store, hashes) == expected(one, six)
    remove(store, one, six)
    assert _looked_up_often(store, hashes) == expected()
    for name in texts:  # the same number, and as many postings
        with store.writing() as transaction:
            transaction.put(made({name: texts[name]}, store.settings), numbers(number[six]))
        number[name] = number[six]
        assert _looked_up_often(store, hashes) == expected(name)
        remove(store, name)


def test_the_rarest_shingles_are_those_of_the_present_state(store: Store) -> None:
    for common in range(1, 6):
        put(
            store,
            {f"{common} {place}": f"{'the same header ' * (place < 5 * common)} {place}" for place in range(12)},
        )
        hashes = np.unique(made(TEXTS, store.settings).hashes)
        hashes = np.union1d(hashes, np.unique(np.concatenate([hash_ for hash_, _ in store.sampled()])))
        lists = [found.tolist() for found in store.postings(hashes)]
        for most in (3, 8, 3, 8):
            with store.reading():
                assert_rarest(store, hashes, lists, most)
        remove(store, f"{common} 0", f"{common} 1")


def assert_rarest(store: Store, hashes: UInt64s, lists: list[list[int]], most: int) -> None:
    rarest = sorted(range(len(lists)), key=lambda place: (len(lists[place]), place))
    while len(rarest) > 1 and sum(len(lists[place]) for place in rarest) > most:
        rarest.pop()
    places, some = store.rarest_postings(hashes, most)
    assert places.tolist() == sorted(rarest)
    assert [found.tolist() for found in some] == [lists[place] for place in sorted(rarest)]


def test_what_is_too_much_to_count_is_estimated(store: Store) -> None:
    put(store, {f"{place}": f"common words{' often' * (place % 4 == 0)}" for place in range(1000)})
    assert store.occurrences(["common", "often", "never"], 100).tolist() == pytest.approx([1000, 250, 0], rel=0.05)


HOSTILE_IDS = [
    "'; DROP TABLE documents; --",
    "a\0b",
    "a",
    "\x1b[31m",
    "../../etc/passwd",
    "%s",
    "{}",
    "a\nb",
    " ",
    "١",
]


def test_hostile_ids_are_ids(store: Store) -> None:
    given = put(store, {id: f"text of {place}" for place, id in enumerate(HOSTILE_IDS)})
    assert store.numbers(HOSTILE_IDS) == dict(zip(HOSTILE_IDS, given.tolist(), strict=True))
    assert ids(store) == HOSTILE_IDS
    remove(store, "a\0b")
    assert list(store.numbers(["a", "a\0b"])) == ["a"]


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreUnavailableError, match="closed"):
        store.totals()
    with pytest.raises(StoreUnavailableError), store.writing():
        pass


def test_compacting_changes_nothing_but_the_size(store: Store) -> None:
    put(store, {str(place): f"text with a word{place} of its own " * 30 for place in range(300)})
    remove(store, *(str(place) for place in range(250)))
    before = store.totals()
    store.compact()
    after = store.totals()
    assert after.file_bytes < before.file_bytes
    assert (after.documents, after.postings) == (before.documents, before.postings)
    assert store.containing(["word260"]).tolist() == [261]
    assert store.faults() == []
