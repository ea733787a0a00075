"""A run by SimHash finds the pairs at the threshold whose fingerprints are within the distance, and no others.

The law, with every pair looked at: of the pairs at or above the threshold those are found whose documents a chain
joins, each link of which is within the distance, or between two hub documents. Groups, reference sets, audits and
stricter thresholds are then those of any run with these pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import floor, sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import neardup as nd
from neardup.deduplication.join.corpus import Corpus
from neardup.deduplication.join.first_pass import fingerprint
from neardup.deduplication.run.find import run
from neardup.deduplication.run.lost_text import COLUMNS
from neardup.deduplication.run.stages.records import Inputs
from neardup.deduplication.run.stages.result import Outcome
from neardup.io.readers import choose_columns, choose_reference, open_documents
from neardup.runtime import Silent
from support import shared_data
from support.closed_pairs import closed
from support.grouped import HOWS, Pair, expected_groups, groups_of, pairs_of, rank_of
from support.made_texts import Writer, punctuated, resemblance
from support.messages import has_parts
from support.reference_measured import counted_pairs, different
from support.small_limits import small_hubs

SHAPES = [
    (64, "char:4", 0),
    (64, "char:4", 3),
    (64, "char:4", 16),
    (64, "shingle:5", 9),
    (64, "word", 3),
    (128, "char:4", 6),
    (128, "shingle:5", 32),
]
SHAPED = pytest.mark.parametrize(("bits", "features", "distance"), SHAPES)
REAL = pytest.mark.parametrize("name", shared_data.PROSE)


def texts_of(name: str) -> list[str]:
    return list(shared_data.documents(name).values())


@cache
def apart(name: str, bits: int, features: str) -> np.ndarray:
    """Return the bits in which any two texts differ, int[n, n]; every pair is compared."""
    words = nd.SimHash(bits, features).sketch(texts_of(name)).reshape(-1, bits // 64)
    counts: np.ndarray = np.bitwise_count(words[:, None, :] ^ words[None, :, :]).sum(axis=2)
    return counts


def within(pairs: Iterable[Pair], distances: np.ndarray, most: int) -> set[Pair]:
    return {(a, b) for a, b in pairs if distances[a, b] <= most}


def at_threshold(name: str, threshold: float) -> dict[Pair, Fraction]:
    """Return the resemblance of all pairs of different texts at or above the threshold."""
    exact = {pair: Fraction(c.shared, c.union) for pair, c in shared_data.all_pairs(name).items()}
    return {pair: value for pair, value in exact.items() if value >= Fraction(repr(threshold))}


def outcome_of(texts: Any, chunk_bytes: int = 1 << 23, **settings: Any) -> Outcome:
    documents = open_documents(texts, chunk_bytes=chunk_bytes)
    chosen = nd.Settings.of(sketch="simhash", **settings)
    return run(Inputs(documents, choose_columns(documents, None, None), chosen))


def hub_ids(outcome: Outcome) -> set[int]:
    """Return the rows of the hub documents, which are the ids of documents in a list."""
    return set(outcome.run.rows.unique[outcome.run.search.hub].tolist())


@pytest.mark.part(16)
@SHAPED
@REAL
def test_the_pairs_of_real_texts(name: str, bits: int, features: str, distance: int) -> None:
    shape: dict[str, Any] = {"bits": bits, "features": features, "distance": distance}
    for threshold in (0.3, 0.8):
        found = outcome_of(texts_of(name), threshold=threshold, pairs="all", **shape)
        true = at_threshold(name, threshold)
        hubs = hub_ids(found)
        expected = within(true, apart(name, bits, features), distance)
        assert pairs_of(found.found) == closed(expected | {pair for pair in true if set(pair) <= hubs}, true)
        for row in found.found.pairs.to_pylist():
            counted = shared_data.all_pairs(name)[row["id_a"], row["id_b"]]
            assert (row["shared"], row["size_a"], row["size_b"]) == (
                counted.shared,
                counted.size_a,
                counted.size_b,
            )
        assert found.found.run.choice.method == "simhash"


def test_the_law_is_not_about_nothing() -> None:
    """Else the tests beside this one compare nothing with nothing: some pairs are near, others are not."""
    for name in shared_data.here(("own", "law_de", "license_texts", "django_docs")):
        true = at_threshold(name, 0.8)
        near = within(true, apart(name, 64, "char:4"), 3)
        assert 5 < len(near) < len(true) - 5


@pytest.mark.part(4)
@pytest.mark.parametrize("hub", [1, 3])
@REAL
def test_with_hubs_their_pairs_are_found_at_any_distance(
    name: str, hub: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_hubs(monkeypatch, hub)
    found = outcome_of(texts_of(name), threshold=0.4, distance=8, pairs="all")
    true, hubs, distances = at_threshold(name, 0.4), hub_ids(found), apart(name, 64, "char:4")
    joined = {pair for pair in true if set(pair) <= hubs}
    assert pairs_of(found.found) == closed(within(true, distances, 8) | joined, true)
    told, more = found.found.run.large_buckets, found.found.run.closed.joined
    assert (told.documents + more, told.buckets > 0) == (len(hubs), len(hubs) > 0)
    # whoever is a hub document by its fingerprint is near another one
    near = (distances <= 8).sum(axis=1)
    in_buckets = found.run.search.in_buckets
    assert in_buckets is not None
    assert all(near[document] > 1 for document in found.run.rows.unique[in_buckets])


def test_the_patched_hubs_are_some_and_find_more() -> None:
    with pytest.MonkeyPatch.context() as patch:
        small_hubs(patch, 1)
        found = outcome_of(texts_of(shared_data.or_own("license_texts")), threshold=0.4, distance=8, pairs="all")
    plain = outcome_of(texts_of(shared_data.or_own("license_texts")), threshold=0.4, distance=8, pairs="all")
    assert len(hub_ids(found)) > 20
    assert hub_ids(plain) == set()
    assert pairs_of(found.found) > pairs_of(plain.found)


def test_a_crowd_is_joined_exactly() -> None:
    """300 forms of one page, of which most are near more than a hundred others; all are pairs."""
    writer = Writer(seed=9)
    page, own = writer.words(120), [writer.words(4) for _ in range(300)]
    texts = [punctuated([*words[:2], *page[:60], *words[2:], *page[60:]]) for words in own]
    found = outcome_of(texts, distance=6, pairs="all")
    prints, hubs = nd.SimHash().sketch(texts), hub_ids(found)
    every = set(combinations(range(300), 2))
    near = within(every, np.bitwise_count(prints[:, None] ^ prints[None, :]), 6)
    joined = {pair for pair in every if set(pair) <= hubs}
    assert pairs_of(found.found) == near | joined > near
    assert found.found.run.large_buckets.documents == len(hubs) > 250


@pytest.mark.part(5)
@pytest.mark.parametrize("measure", ["containment", "overlap"])
@pytest.mark.parametrize("hub", [100, 2])
@pytest.mark.parametrize("name", ["own", "django_docs", "license_texts", "irplag_java"])
def test_measures_of_shingles(name: str, hub: int, measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small_hubs(monkeypatch, hub)
    found = outcome_of(texts_of(name), threshold=0.7, measure=measure, distance=12, pairs="all")
    true = {
        pair
        for pair, c in shared_data.all_pairs(name).items()
        if Fraction(c.shared, min(c.size_a, c.size_b)) >= Fraction(7, 10)
    }
    hubs = hub_ids(found)
    joined = {pair for pair in true if set(pair) <= hubs}
    assert pairs_of(found.found) == closed(within(true, apart(name, 64, "char:4"), 12) | joined, true) != set()


@pytest.mark.part(6)
@pytest.mark.parametrize("measure", ["vocabulary", "multiset"])
@pytest.mark.parametrize("hub", [100, 2])
@pytest.mark.parametrize("name", ["own", "django_docs", "license_texts", "irplag_java"])
def test_measures_of_other_things(name: str, hub: int, measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small_hubs(monkeypatch, hub)
    texts = different(name)
    found = outcome_of(texts, threshold=0.7, measure=measure, distance=12, pairs="all")
    everything = counted_pairs(name, measure)
    true = {pair for pair, counts in everything.items() if counts.value(measure) >= Fraction(7, 10)}
    prints, hubs = nd.SimHash().sketch(texts), hub_ids(found)
    near = within(true, np.bitwise_count(prints[:, None] ^ prints[None, :]), 12)
    assert pairs_of(found.found) == closed(near | {pair for pair in true if set(pair) <= hubs}, true) != set()
    for row in found.found.pairs.to_pylist():
        counts = everything[row["id_a"], row["id_b"]]
        assert (row["common"], row["total_a"], row["total_b"]) == tuple(vars(counts).values())


@pytest.mark.part(6)
@pytest.mark.parametrize("hub", [100, 2])
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", ["own", "django_docs", "license_texts", "irplag_java"])
def test_groups_are_those_of_the_pairs(name: str, how: str, hub: int, monkeypatch: pytest.MonkeyPatch) -> None:
    small_hubs(monkeypatch, hub)
    texts = different(name)
    found = outcome_of(texts, threshold=0.5, distance=10, groups=how, pairs="all")
    place = {k: at for at, k in enumerate(k for k, first in enumerate(shared_data.firsts(name)) if first == k)}
    true = {(place[a], place[b]): value for (a, b), value in at_threshold(name, 0.5).items()}
    prints, hubs = nd.SimHash().sketch(texts), hub_ids(found)
    near = within(true, np.bitwise_count(prints[:, None] ^ prints[None, :]), 10)
    near = closed(near | {pair for pair in true if set(pair) <= hubs}, true)
    units = [len(tokens) for k, tokens in enumerate(shared_data.tokens(name)) if k in place]
    expected = expected_groups(how, {pair: true[pair] for pair in near}, rank_of(units))
    assert groups_of(found.found) == expected
    leader = {member: head for head, members in expected.items() for member in members}
    with_leader = {(a, b) for a, b in true if leader.get(a) == b or leader.get(b) == a}
    # of components the pairs with a leader are counted whatever their distance
    assert pairs_of(found.found) == near | (with_leader if how == "components" else set())


@pytest.mark.part(3)
@pytest.mark.parametrize("hub", [100, 2])
@pytest.mark.parametrize("name", ["own", "django_docs", "site_policy", "license_texts", "irplag_java"])
def test_a_reference_set(name: str, hub: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third text is old: its pairs with new ones are found, and none of two old ones."""
    small_hubs(monkeypatch, hub)
    texts = dict(enumerate(different(name)))
    order = [*list(texts)[::3], *[k for k in texts if k % 3]]
    old = len(list(texts)[::3])

    def table(numbers: list[int], first: int) -> pa.Table:
        ids = [str(first + k) for k in range(len(numbers))]
        return pa.table({"id": ids, "text": [texts[k] for k in numbers]})

    documents, against = (open_documents(part) for part in (table(order[old:], old), table(order[:old], 0)))
    chosen = nd.Settings.of(sketch="simhash", threshold=0.5, distance=10, pairs="all")
    columns = choose_columns(documents, None, None)
    found = run(Inputs(documents, columns, chosen, choose_reference(against, columns)))
    number = {k: place for place, k in enumerate(k for k, f in enumerate(shared_data.firsts(name)) if f == k)}
    place_of = {k: at for at, k in enumerate(order)}
    true = {
        tuple(sorted((place_of[number[a]], place_of[number[b]]))): value
        for (a, b), value in at_threshold(name, 0.5).items()
    }
    wanted = {pair: value for pair, value in true.items() if pair[1] >= old}
    prints = nd.SimHash().sketch([texts[k] for k in order])
    near = within(wanted, np.bitwise_count(prints[:, None] ^ prints[None, :]), 10)
    hubs = set(found.run.search.hub.tolist())
    near = closed(near | {pair for pair in wanted if set(pair) <= hubs}, wanted)
    rows = found.found.pairs.to_pylist()
    assert {(int(row["id_a"]), int(row["id_b"])) for row in rows} == near != set()
    assert all(row["a_in_reference"] == (int(row["id_a"]) < old) for row in rows)
    sizes = [len(shared_data.tokens(name)[k]) for k, f in enumerate(shared_data.firsts(name)) if f == k]
    rank = rank_of([sizes[k] + (10**9 if place_of[k] < old else 0) for k in order])
    expected = expected_groups("principal", {pair: wanted[pair] for pair in near}, rank, old)
    assert groups_of(found.found) == {str(head): {str(d) for d in members} for head, members in expected.items()}


@pytest.mark.part(4)
@pytest.mark.parametrize("how", ["principal", "complete"])
@pytest.mark.parametrize("name", ["own", "django_docs", "license_texts", "irplag_java"])
def test_a_stricter_threshold_from_the_stored_pairs(name: str, how: str) -> None:
    """Candidates do not depend on the threshold, but chains do: more pairs may be stored than a run finds."""
    settings: dict[str, Any] = {"sketch": "simhash", "distance": 8, "groups": how, "pairs": "all"}
    low, high = (nd.find(texts_of(name), threshold=value, **settings) for value in (0.5, 0.8))
    made = low.at(0.8)
    assert 0 < high.pairs.num_rows < low.pairs.num_rows
    more = pairs_of(made) - pairs_of(high)
    assert pairs_of(made) - more == pairs_of(high)
    assert pairs_of(made) <= at_threshold(name, 0.8).keys()
    for table in () if more else ("pairs", "groups", "copies", "ranks", "removed"):
        assert _stored(getattr(made, table)).equals(_stored(getattr(high, table))), table
    for key in ("recall", "plan", "settings", "settings_digest", "choice", "large_buckets"):
        assert getattr(made.run, key) == getattr(high.run, key), key
    unknown = [text for text in made.run.warnings if text.startswith("the text lost is unknown")]
    assert made.run.warnings == [*high.run.warnings, *unknown]


def _stored(table: pa.Table) -> pa.Table:
    """The table without the lost text, of which stored pairs show only a part (tests/laws/test_regroup.py)."""
    return table.drop_columns([name for name in COLUMNS if name in table.column_names])


@pytest.mark.part(2)
@pytest.mark.parametrize("name", ["own", "django_docs", "license_texts", "irplag_java"])
def test_an_audit_measures_what_the_distance_misses(name: str) -> None:
    found = nd.find(texts_of(name), sketch="simhash", threshold=0.7, pairs="all", audit=1_000_000)
    true, pairs = set(at_threshold(name, 0.7)), pairs_of(found)
    missed = found.missed
    assert missed is not None
    assert set(zip(missed["id_a"].to_pylist(), missed["id_b"].to_pylist(), strict=True)) == true - pairs != set()
    said = found.run.audit
    assert said.recall == said.low == said.high == pytest.approx(len(pairs) / len(true))
    # nobody planned more than that
    assert found.run.warnings == []
    assert found.run.recall.planned is None


def test_threads_and_chunks_change_nothing() -> None:
    texts = texts_of(shared_data.or_own("license_texts"))
    one, *others = [
        outcome_of(texts, size, distance=10, threshold=0.5, threads=threads).found
        for threads, size in ((1, 1 << 23), (2, 4000), (8, 4000))
    ]
    assert one.pairs.num_rows > 20
    for other in others:
        assert all(getattr(one, name).equals(getattr(other, name)) for name in ("pairs", "groups", "ranks"))
        assert {**other.run.settings, "threads": 1} == one.run.settings
        assert other.run.recall == one.run.recall


def test_copies_empty_and_short_documents() -> None:
    writer = Writer(seed=4)
    page = writer.words(80)
    texts = [
        "",
        punctuated(page),
        "!",
        punctuated(page).upper(),
        " \n",
        punctuated([*page, "more"]),
        "Yes",
        "yes.",
    ]
    assert groups_of(nd.find(texts, sketch="simhash", distance=10)) == {5: {1, 3, 5}, 6: {6, 7}}
    found = nd.find(texts, sketch="simhash", distance=10, empty="one")
    assert found.copies.select(["id", "copy_of"]).to_pylist() == [
        {"id": 2, "copy_of": 0},
        {"id": 3, "copy_of": 1},
        {"id": 4, "copy_of": 0},
        {"id": 7, "copy_of": 6},
    ]
    assert pairs_of(found) == {(1, 5)}
    assert groups_of(found) == {0: {0, 2, 4}, 5: {1, 3, 5}, 6: {6, 7}}
    assert found.run.counts.empty == 3
    for nothing in ([], ["", " "]):
        assert nd.find(nothing, sketch="simhash").pairs.num_rows == 0


def test_texts_without_a_feature_have_one_fingerprint() -> None:
    """By characters a text of marks is no empty one; words it has none, so its fingerprint is 0."""
    texts = ["!!!!!!!!!!?", "!!!!!!!!!!??", "one word"]
    found = nd.find(texts, sketch="simhash", features="word", distance=0, unit="char", length=3, threshold=0.6)
    assert pairs_of(found) == {(0, 1)}


def test_no_minhash_is_made_for_simhash_and_no_simhash_for_minhash() -> None:
    texts = texts_of(shared_data.or_own("irplag_java"))
    corpus = outcome_of(texts, bits=128).run.rows.corpus
    rows, sketches = fingerprint(corpus, 0, Silent())
    assert {block.shape[1] for block in sketches.signatures()} == {0}
    assert np.array_equal(sketches.simhashes, nd.SimHash(128).sketch([texts[row] for row in rows.unique]))
    _, other = fingerprint(Corpus(corpus.parts, nd.Settings.of(method="lsh")), 8, Silent())
    assert {block.shape[1] for block in other.signatures()} == {8}
    assert other.simhashes.shape == (len(rows.unique), 0)


# --- what is said


def test_the_recall_says_what_is_known_and_no_more() -> None:
    texts = texts_of(shared_data.or_own("irplag_java"))
    plain = nd.find(texts, sketch="simhash").run.recall
    assert (plain.planned, plain.predicted, plain.missed, plain.at_threshold) == (None, None, None, None)
    for part in ("resemblance 0.8", "3 of 64 bits", "char:4", "0.968", "--audit"):
        assert part in plain.statement
    own = nd.find(texts, sketch="simhash", features="shingle:5", distance=10).run.recall
    assert own.at_threshold == nd.hamming_plan(1, 64, 10).probability(0.8)
    assert has_parts(own.statement, "0.6247 of the pairs", "0.8, half", "0.765; ")
    others: list[dict[str, Any]] = [
        {"length": 4},
        {"measure": "overlap"},
        {"measure": "multiset"},
        {"unit": "char"},
    ]
    for other in others:
        said = nd.find(texts, sketch="simhash", features="shingle:5", **other).run.recall
        assert said.at_threshold is None


@pytest.mark.part(3)
@pytest.mark.parametrize(("threshold", "size"), [(0.9, 601), (0.95, 801), (0.98, 1001)])
def test_what_is_expected_at_the_threshold_is_what_is_found_there(threshold: float, size: int) -> None:
    """Pairs of equal size just at the threshold: the share that a run finds is the one that it stated."""
    trials, pairs = 250, []
    # c words changed at the end leave s − 4 − c of s − 4 shingles: J = (s − 4 − c) / (s − 4 + c)
    changed = round((size - 4) * (1 - threshold) / (1 + threshold))
    for trial in range(trials):
        words = [f"w{trial}x{number}" for number in range(size + changed)]
        pairs.append((words[:size], [*words[: size - changed], *words[size:]]))
    at = {resemblance(*pair) for pair in pairs}
    least = floor(1e6 * at.pop()) / 1e6
    assert not at
    texts = [" ".join(words) for pair in pairs for words in pair]
    found = nd.find(texts, threshold=least, sketch="simhash", features="shingle:5", distance=8)
    assert nd.find(texts, threshold=least, method="exact").pairs.num_rows == trials
    told = found.run.recall.at_threshold
    assert 0.3 < told < 1
    limit = 6.2 * sqrt(told * (1 - told) / trials) + 0.01  # as in test_hamming_laws.py
    assert found.pairs.num_rows / trials == pytest.approx(told, abs=limit)
