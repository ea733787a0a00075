"""What every store of a collection must do. A new store is one more row of ``STORES``."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reference
import shared_data
from made_collections import made, numbers, put
from neardup import text as plain
from neardup.collection.contract import KEPT, OPERATORS, Operator, Store
from neardup.collection.entries import unpack
from neardup.collection.facts import facts, holds
from neardup.collection.store import SqliteStore
from neardup.errors import InputError, OutputError
from strategies import any_text

Opens = Callable[[], Store]

STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: SqliteStore(folder / "made.neardup", {"scale": 2, "floor": 3}, wait=0.2),
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
    with pytest.raises(RuntimeError, match="halfway"):
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
            assert "written to by somebody else" in str(raised[0])
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


def test_sampled_shingles_are_counted(store: Store) -> None:
    given = put(store, TEXTS)
    entries = made(TEXTS, store.settings)
    samples = {
        number: set(entries.hashes[begin:end].tolist())
        for number, begin, end in zip(
            given.tolist(), entries.offsets[:-1].tolist(), entries.offsets[1:].tolist(), strict=True
        )
    }
    for asked in [*samples.values(), set().union(*samples.values()), {1, 2**64 - 1}, set()]:
        wanted = {number: len(asked & own) for number, own in samples.items() if asked & own}
        hashes = np.array(sorted(asked), np.uint64)
        for least in (1, 2):
            hits = store.holding(hashes, least)
            assert dict(zip(hits.numbers.tolist(), hits.counts.tolist(), strict=True)) == {
                number: count for number, count in wanted.items() if count >= least
            }
            assert (np.diff(hits.numbers) > 0).all()
            for among in (given, given[1:3], given[:1], numbers()):
                chosen = store.holding(hashes, least, among)
                kept = np.isin(hits.numbers, among)
                assert np.array_equal(chosen.numbers, hits.numbers[kept])
                assert np.array_equal(chosen.counts, hits.counts[kept])
        counts = Counter(hash for own in samples.values() for hash in own)
        for most in (1, 100):
            for hash, (first, count) in zip(hashes.tolist(), store.postings(hashes, most), strict=True):
                holders = sorted(number for number, own in samples.items() if hash in own)
                assert first.tolist() == holders[:most]
                assert count == counts[hash] if counts[hash] < most else count >= most


def test_what_is_too_much_to_count_is_estimated(store: Store) -> None:
    put(store, {f"{place}": f"common words{' often' * (place % 4 == 0)}" for place in range(1000)})
    assert store.occurrences(["common", "often", "never"], 100).tolist() == pytest.approx([1000, 250, 0], rel=0.05)
    [(first, count)] = store.postings(made({"0": "common words"}, store.settings).hashes, 100)
    assert len(first) == 100
    assert count == pytest.approx(750, rel=0.05)


def test_words_are_found_where_they_stand(store: Store) -> None:
    dog, cat, _, short, _ = put(store, TEXTS).tolist()
    assert store.containing(["quick", "brown"]).tolist() == [dog, cat, short]
    assert store.containing(["quick", "brown", "fox"]).tolist() == [dog, cat]
    assert store.containing(["fox", "brown", "fox", "quick"]).tolist() == [dog, cat]
    assert store.containing(["brown", "dog"]).tolist() == [dog]
    assert store.containing(["sleep"]).tolist() == []
    assert store.containing(["sleep"], prefix=True).tolist() == [cat]
    assert store.containing(["the", "la"], prefix=True).tolist() == [dog]
    assert store.containing([]).tolist() == []
    assert store.containing(["quick"], limit=2).tolist() == [dog, cat]
    assert store.containing(["quick"], among=numbers(short, cat, 999), limit=5).tolist() == [cat, short]
    assert store.occurrences(["quick", "the", "xyzzy", "lazy", "quick"], 9).tolist() == [3, 2, 0, 1, 3]
    assert store.occurrences([], 9).tolist() == []
    many = "The quick brown fox jumps over the lazy dog and runs away from here".lower().split()
    assert store.containing([*many * 9, *(word + "x" for word in many)]).tolist() == []
    assert store.containing(many * 9).tolist() == [dog]


def test_a_large_choice_gives_the_same_as_a_small_one(store: Store) -> None:
    put(store, {f"{place}": f"common words and number {place % 7}" for place in range(1200)}, [{"k": 1}] * 1200)
    everything = numbers(*range(1, 1201))
    some = everything[::5]
    large = np.concatenate((some, np.arange(5000, 6000)))
    for tokens in (["number", "3"], ["common"], ["absent"]):
        few = store.containing(tokens, among=some[3:9])
        assert few.tolist() == np.intersect1d(store.containing(tokens), some[3:9]).tolist()
        small = store.containing(tokens, among=some)
        assert small.tolist() == store.containing(tokens, among=large).tolist()
        assert small.tolist() == np.intersect1d(store.containing(tokens), some).tolist()
        assert store.containing(tokens, among=large, limit=3).tolist() == small[:3].tolist()
    assert store.where("k", "=", 1, among=large).tolist() == store.where("k", "=", 1, among=some).tolist()


@pytest.mark.parametrize("name", ["udhr", "thaigov_th", "law_de", "irplag_java"])
def test_every_shingle_of_every_script_is_found_by_its_words(store: Store, name: str) -> None:
    texts = dict(list(shared_data.documents(name).items())[:60])
    given = put(store, texts)
    tokens = {number: reference.tokens(text) for number, text in zip(given.tolist(), texts.values(), strict=True)}
    holders: dict[tuple[str, ...], set[int]] = {}
    for number, words in tokens.items():
        for start in range(len(words) - 4):
            holders.setdefault(tuple(words[start : start + 5]), set()).add(number)
    step = max(1, len(holders) // 1500)
    for shingle, wanted in list(holders.items())[::step]:
        holding = {number for number, words in tokens.items() if set(shingle) <= set(words)}
        assert set(store.containing(shingle).tolist()) == holding >= wanted, shingle


@given(texts=st.lists(any_text(), min_size=1, max_size=4), asked=any_text())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_words_of_hostile_texts_are_found_exactly(store: Store, texts: list[str], asked: str) -> None:
    remove(store, *ids(store))
    given = put(store, {str(place): text for place, text in enumerate(texts)}).tolist()
    words = {number: plain.tokens(text) for number, text in zip(given, texts, strict=True)}
    runs = [own[start : start + 3] for own in words.values() for start in range(len(own))] + [plain.tokens(asked)]
    for run in runs:
        wanted = [number for number, own in words.items() if run and set(run) <= set(own)]
        assert store.containing(run).tolist() == wanted


@pytest.mark.parametrize(
    "token",
    [
        "#",
        "#0000000",
        "A",
        "ab\u0000",
        '"',
        "*",
        "a b",
        "^a",
        "-",
        "tokens:",
        "NEAR(a b)",
        "a\0b",
        "\x00",
        "'",
        "()",
    ],
)
def test_what_is_no_token_cannot_become_a_query(store: Store, token: str) -> None:
    put(store, {"letters": "a b tokens near"})
    assert store.containing([token, "xyzzy"]).tolist() == []
    assert store.containing([token], among=numbers(99)).tolist() == []
    assert store.occurrences([token], 9).tolist() == [0]


METADATA: list[dict[str, Any]] = [
    {"n": 1, "from": "ann", "tags": ["a", "b"]},
    {"n": 2.5, "from": "bob", "tags": []},
    {"n": "2", "from": "Ann", "tags": ["b", 3]},
    {"n": None, "inner": {"n": 7, "deep": {"x": True}}},
    {"n": -(2**70), "from": ""},
    {"n": [1, 1.0, 2**70, 2**70 + 1], "from": "änn"},
    {},
]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "key", ["n", "from", "tags", "inner.n", "inner.deep.x", "absent", '$."n"', "n' OR 1=1 --"]
)
def test_metadata_is_compared_within_its_kind(store: Store, key: str, operator: Operator) -> None:
    given = put(store, {str(place): "" for place in range(len(METADATA))}, METADATA)
    assert store.has_key(key) == any(name == key for metadata in METADATA for name, _ in facts(metadata))
    for value in (1, 2.5, -1e300, 2, "2", "ann", "b", "", "true", "ä", 7, 3, "' OR 1=1 --", float(2**70)):
        wanted = [
            number
            for number, metadata in zip(given.tolist(), METADATA, strict=True)
            if holds([known for name, known in facts(metadata) if name == key], operator, value)
        ]
        assert store.where(key, operator, value).tolist() == wanted
        assert store.where(key, operator, value, among=given).tolist() == wanted
        assert store.where(key, operator, value, among=given[:3]).tolist() == [n for n in wanted if n in given[:3]]


@pytest.mark.parametrize("value", [None, True, [1], {"a": 1}, 2**70, "\ud800", b"x"])
def test_what_cannot_be_compared_is_refused(store: Store, value: Any) -> None:
    with pytest.raises(InputError):
        store.where("key", "=", value)


def test_an_unknown_comparison_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="There is no comparison 'LIKE'"):
        store.where("key", "LIKE", "x")  # type: ignore[arg-type]


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
    with pytest.raises(InputError, match="closed"):
        store.totals()
    with pytest.raises(InputError, match="closed"), store.writing():
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
