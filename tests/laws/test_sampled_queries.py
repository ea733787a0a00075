"""A fingerprint clause without numbers finds the documents that share a sampled shingle; it compares no others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup import Collection, QueryError
from neardup.collection.pages import Hit
from neardup.collection.query import parse
from neardup.collection.query import plan as query_plan
from neardup.collection.query.explanation import describe, expected_shares
from neardup.collection.query.plan import BOILERPLATE, MOST_BY_WORDS, FingerprintStep, plan
from neardup.collection.search import Bounds, Counts, Evaluation, search
from neardup.collection.sets import KnownShingles, Sets, ShingleOutlines, outlines_of
from neardup.collection.settings import CollectionSettings
from neardup.errors import InputError, SettingError
from neardup.tables import Int64s
from neardup.text.keys import key_of
from neardup.text.sketch.documents import ShingleSets, shingle_sets
from support.memory_collection import MemoryCollection
from support.messages import has_parts

WORDS = [f"word{number}" for number in range(150)]


def made_texts(seed: int) -> dict[str, str]:
    """Texts of 1 to 400 words that quote each other, and a sentence that many contain."""
    draw = random.Random(seed)
    texts: dict[str, str] = {"one": "alone", "none": "… !"}
    for number in range(60):
        words = draw.choices(WORDS, k=draw.choice((2, 20, 80, 400)))
        if texts and draw.random() < 0.7:
            quoted = draw.choice([*texts.values()]).split()
            words[5:5] = quoted[: draw.randint(1, 120)]
        if draw.random() < 0.5:
            words += WORDS[:20]
        texts[f"d{number}"] = " ".join(words)
    return texts


class Naive:
    """Sets of Python: the sample of each document, and the ranking that the reference page states."""

    def __init__(self, collection: Collection) -> None:
        settings = collection.settings
        self.ids = list(collection)
        numbers = collection.store.numbers(self.ids)
        sets = Sets(collection.store).of([numbers[id] for id in self.ids])
        self.sets = {id: set(found.tolist()) for id, found in zip(self.ids, sets, strict=True)}
        self.samples = {
            id: {hash for rank, hash in enumerate(sorted(found)) if hash < settings.limit or rank < settings.floor}
            for id, found in self.sets.items()
        }

        self.long = [
            id for id, found in self.sets.items() if sum(hash >= settings.limit for hash in found) > MOST_BY_WORDS
        ]

    def ranked(self, id: str, *, symmetric: bool) -> list[str]:
        sample, a = self.samples[id], self.sets[id]
        scores = {}
        for other in self.ids:
            held = len(sample & self.samples[other])
            if other != id and held:
                part = Fraction(held, len(sample))
                shared = part * len(a)
                whole = max(len(a) + len(self.sets[other]) - shared, Fraction(1))
                scores[other] = float(min(shared / whole, Fraction(1))) if symmetric else float(part)
        # sums of floats may differ in the last place from those of fractions
        return sorted(scores, key=lambda other: (-round(scores[other], 9), self.ids.index(other)))


@pytest.fixture(scope="module", params=[(1, 16, 8), (2, 4, 2)])
def collection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    seed, scale, floor = request.param
    with Collection(tmp_path_factory.mktemp("made") / "made.neardup", scale=scale, floor=floor) as made:
        made.add([{"id": id, "text": text} for id, text in made_texts(seed).items()])
        yield made


@pytest.mark.parametrize("form", ["FINGERPRINT", "SIMILAR"])
def test_the_hits_share_a_sampled_shingle_and_are_ranked_by_their_number(
    collection: Collection, form: str
) -> None:
    naive = Naive(collection)
    for id in naive.long:
        wanted = naive.ranked(id, symmetric=form == "SIMILAR")
        hits, after = [], None
        while True:
            page = collection.search(f'{form}:"{id}"', limit=7, after=after)
            assert page.found == len(wanted)
            hits += page.hits
            after = page.next
            if after is None:
                break
        assert [hit.id for hit in hits] == wanted
        for hit in hits:
            found = hit.evidence
            assert found is not None
            a, b = naive.sets[id], naive.sets[hit.id]
            assert (found.shared, found.size_query, found.size_hit) == (len(a & b), len(a), len(b))
            assert found.score == (found.resemblance if form == "SIMILAR" else found.in_hit)


def test_of_common_shingles_only_the_rarest_are_looked_up(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    naive = Naive(collection)
    common = 0
    for most in (0, 25, 60):
        monkeypatch.setattr(query_plan, "MOST_POSTINGS", most)
        for id in naive.long:
            lists = [{other for other in naive.ids if hash in naive.samples[other]} for hash in naive.samples[id]]
            sizes = sorted(map(len, lists))
            within = [size for place, size in enumerate(sizes) if place == 0 or sum(sizes[: place + 1]) <= most]
            with collection.view() as view:
                planned = plan(parse(f'FINGERPRINT:"{id}"'), view)
                [step] = planned.fingerprints
                found = set(view.ids(Evaluation(planned, view).documents()))
            hashes = step.sampled.tolist()
            looked_up = [{other for other in naive.ids if hash in naive.samples[other]} for hash in hashes]
            assert sorted(map(len, looked_up)) == within
            assert found == set().union(*looked_up) - {id}
            assert step.common == len(lists) - len(within)
            assert planned.recall <= len(within) / len(naive.sets[id])
            assert ("the common ones" in "".join(describe(planned))) == (step.common > 0)
            common += step.common
    assert common


def test_beside_a_clause_with_numbers_its_hits_alone_are_compared(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    naive = Naive(collection)
    compared: set[int] = set()
    count = Evaluation._count

    def counted(self: Evaluation, step: FingerprintStep, documents: Int64s, *more: tuple[int, int]) -> Counts:
        compared.update(documents.tolist())
        return count(self, step, documents, *more)

    monkeypatch.setattr(Evaluation, "_count", counted)
    first, second = naive.long[:2]
    numbered = f'FINGERPRINT:"{second}"_90_95'
    hits = collection.search(numbered, limit=1000).hits
    candidates = set(compared)
    assert len(candidates) < len(naive.ids) / 2
    compared.clear()
    page = collection.search(f'FINGERPRINT:"{first}" OR {numbered}', limit=1)
    assert page.found == len({*naive.ranked(first, symmetric=False), *(hit.id for hit in hits)})
    assert len(compared - candidates) <= 1  # the document on the page


def test_the_recall_is_that_of_a_single_shared_shingle_and_is_kept(collection: Collection) -> None:
    naive = Naive(collection)
    found = expected = 0.0
    for id in naive.long:
        with collection.view() as view:
            planned = plan(parse(f'FINGERPRINT:"{id}"'), view)
            step = planned.fingerprints[0]
            documents = view.ids(Evaluation(planned, view).documents())
        assert (step.way, len(step.sampled)) == ("sample", len(naive.samples[id]))
        share = len(naive.sets[id] & naive.samples[id]) / len(naive.sets[id])
        assert planned.recall <= share
        sharing = [other for other in naive.ids if other != id and naive.sets[id] & naive.sets[other]]
        found += len(set(documents) & set(sharing))
        expected += planned.recall * len(sharing)
        assert set(documents) <= set(sharing)
    assert found >= expected


KEYS, ASKED = 160, 6


@pytest.mark.parametrize("words", [5, 9])
def test_the_chance_is_one_over_keys_and_not_over_documents(words: int) -> None:
    """Documents with one shingle of a template (of 5 words) in common, or five of them (of 9 words)."""
    header, shared = " ".join(f"header{k}" for k in range(words)), words - 4
    texts = {f"d{k}": f"{header} " + " ".join(f"t{k}x{w}" for w in range(60)) for k in range(24)}
    found, stated = np.zeros((KEYS, ASKED)), np.zeros((KEYS, ASKED))
    for number in range(KEYS):
        view = MemoryCollection(texts, scale=5, floor=1, key=key_of(number.to_bytes(32, "big")))
        for asked in range(ASKED):
            planned = plan(parse(f"FINGERPRINT:d{asked}"), view)
            [step] = planned.fingerprints
            assert step.way == "sample"
            found[number, asked] = len(Evaluation(planned, view).documents()) / (len(texts) - 1)
            stated[number, asked] = dict(expected_shares(step))[shared]
            if shared == 1:
                assert planned.recall <= stated[number, asked] + 1e-9
    assert set(np.unique(found)) == {0.0, 1.0}  # one shingle, or the draw among a few, decides for all of them
    difference = (found - stated).mean(axis=1)  # the queries under one key are not independent
    error = difference.std(ddof=1) / np.sqrt(KEYS)
    assert abs(difference.mean()) <= 3.5 * error
    assert found.mean() >= stated.mean() - 3.5 * error


def test_a_shingle_of_boilerplate_is_not_looked_up_beside_rarer_ones() -> None:
    header = "this message and its attachments are meant for the named recipient alone and for nobody else at all"
    texts = {f"d{k}": f"{header} " + " ".join(f"t{k}x{w}" for w in range(30)) for k in range(BOILERPLATE + 1)}
    texts["twin"] = texts["d0"] + " with an end of its own"
    view = MemoryCollection(texts, scale=2)
    planned = plan(parse("FINGERPRINT:d0"), view)
    [step] = planned.fingerprints
    assert step.common > 0
    assert view.ids(Evaluation(planned, view).documents()) == ["twin"]
    assert has_parts("\n".join(describe(planned)), "rarest", "common ones", "rarer than those")
    alone = MemoryCollection({f"d{k}": f"{header} {header.upper()}" for k in range(40)}, scale=2)
    assert len(Evaluation(plan(parse("FINGERPRINT:d0"), alone), alone).documents()) in (0, 39)


def test_no_document_is_compared_and_a_refusal_names_the_quick_form(collection: Collection) -> None:
    longest = max(collection, key=lambda id: len(collection[id].text))
    with collection.view() as view:
        page = search(view, f"FINGERPRINT:{longest}", bounds=Bounds(3), limit=3)
        assert page.found > 3
        with pytest.raises(QueryError) as refused:
            search(view, f"FINGERPRINT:{longest}_1_100", bounds=Bounds(0))
    assert f"FINGERPRINT:{longest} for" in str(refused.value)


def test_a_short_text_is_looked_up_completely(collection: Collection) -> None:
    naive = Naive(collection)
    for id in set(naive.ids) - set(naive.long) - {"none"}:
        sharing = {other for other in naive.ids if other != id and naive.sets[id] & naive.sets[other]}
        page = collection.search(f'FINGERPRINT:"{id}"', limit=1000)
        assert (page.recall, {hit.id for hit in page.hits}) == (1, sharing)
    quote = " ".join(WORDS[3:15])
    holding = {id for id in naive.ids if quote in collection[id].text}
    assert {hit.id for hit in collection.near(quote, limit=1000).hits} >= holding > set()


def test_combinations_keep_the_meaning(collection: Collection) -> None:
    naive = Naive(collection)
    for id in naive.long[:10]:
        held = set(naive.ranked(id, symmetric=False))
        clause = f"FINGERPRINT:{id}"
        having = {other for other in naive.ids if "word3" in collection[other].text.split()}

        def found(query: str) -> set[str]:
            return {hit.id for hit in collection.search(query, limit=1000).hits}

        assert found(f"{clause} AND word3") == held & having
        assert found(f"{clause} OR word3") == held | having
        assert found(f"word3 AND NOT {clause}") == having - held - {id}


def test_why_a_document_that_shares_other_shingles_is_not_found(tmp_path: Path) -> None:
    with Collection(tmp_path / "made", scale=1000, floor=1) as made:
        made.add([{"id": id, "text": text} for id, text in made_texts(3).items()])
        naive = Naive(made)
        for id in naive.long:
            held = naive.ranked(id, symmetric=False)
            for other in naive.ids[2:]:
                if other != id and other not in held and naive.sets[id] & naive.sets[other]:
                    reason = made.why_not(f"FINGERPRINT:{id}", other)
                    assert reason.reason == "missed"
                    assert "holds 0" in str(reason)
                    return
    raise AssertionError("every document shares a sampled shingle")


def all_hits(collection: Collection, query: str, compared: int | None, limit: int) -> tuple[list[Hit], set[int]]:
    """The hits of all pages, and the numbers of candidates that were not compared."""
    hits, after, left = [], None, set()
    while True:
        page = collection.search(query, most_compared=compared, limit=limit, after=after)
        hits += page.hits
        left.add(page.uncompared)
        if page.next is None:
            assert page.found == len(hits)
            assert (page.recall == 0) == (page.uncompared > 0)
            return hits, left
        after = page.next


@pytest.mark.parametrize(
    "form", ['FINGERPRINT:"{}"_20_80', 'SIMILAR:"{}"_10_90', 'FINGERPRINT:"{}"_20_80 AND word1']
)
def test_of_more_candidates_than_are_compared_those_with_the_most_hits_are(
    collection: Collection, form: str
) -> None:
    bounded = 0
    for id in Naive(collection).long[:12]:
        query = form.format(id)
        every, left = all_hits(collection, query, None, 1000)
        assert left == {0}
        with collection.view() as view:
            step = plan(parse(query), view).fingerprints[0]
            hits_of = dict(zip(*(found.tolist() for found in view.holders(step.sampled)), strict=True))
            names = dict(zip(view.ids(np.array([*hits_of])), hits_of, strict=True))
        for compared in (1, 3, 10_000):
            some, left = all_hits(collection, query, compared, 2)
            assert some == [hit for hit in every if hit in some]  # with the same evidence, in the same order
            missing = [hit for hit in every if hit not in some]
            assert len(left) == 1
            assert len(missing) <= max(left)
            if compared == 10_000 or not max(left):
                assert not missing
            elif some and missing and step.way != "every document":
                least = min(hits_of.get(names.get(hit.id, 0), 0) for hit in some)
                assert all(hits_of.get(names.get(hit.id, 0), 0) <= least for hit in missing)
                bounded += 1
    assert bounded


def test_a_page_of_a_bounded_search_says_so(collection: Collection) -> None:
    asked = [f'FINGERPRINT:"{id}"_20_80' for id in Naive(collection).long]
    pages = [(query, collection.search(query, most_compared=2, limit=1)) for query in asked]
    query, page = next((query, page) for query, page in pages if page.uncompared and page.next)
    assert (page.found, page.recall) == (2, 0)
    assert page.as_dict()["uncompared"] == page.uncompared
    assert "1 of at least 2 hits" in repr(page)
    assert "1 of at least 2" in page._repr_html_()
    with pytest.raises(InputError):
        collection.search(query, most_compared=3, limit=1, after=page.next)
    for wrong in (0, -1, True):
        with pytest.raises(SettingError):
            collection.search("word1", most_compared=wrong)


def outlined(texts: list[str]) -> tuple[list[set[int]], ShingleSets]:
    settings = CollectionSettings.of(scale=4)
    rows = np.arange(len(texts))
    sets = shingle_sets(pa.array(texts), rows, settings.fingerprint, settings.key)
    bounds = pairwise(sets.offsets.tolist())
    return [set(sets.hashes[begin:end].tolist()) for begin, end in bounds], sets


@pytest.mark.parametrize("most", [10, 2_000, 1_000_000])
def test_an_outline_rules_out_no_document_that_shares_enough(most: int) -> None:
    naive, sets = outlined([*made_texts(5).values()])
    outlines, numbers = ShingleOutlines("a state", most), np.arange(3, 3 + len(naive))
    draw, ruled_out = random.Random(1), 0
    for _ in range(20):
        asked = draw.choice(naive)
        least = draw.randint(1, len(asked) + 1)
        hashes = np.array(sorted(asked), np.uint64)
        may = outlines.may_share(hashes, numbers, least)
        for possible, own in zip(may.tolist(), naive, strict=True):
            assert possible or len(own & asked) < least
        ruled_out += int((~may).sum())
        assert most > 10_000 or not all(number in outlines for number in numbers.tolist())
        outlines.keep(numbers.tolist(), np.split(sets.hashes, sets.offsets[1:-1]))
    assert (ruled_out > 0) == (most > 10)
    assert not any(number in outlines for number, own in zip(numbers.tolist(), naive, strict=True) if not own)


def test_shingles_are_kept_for_a_stored_text_and_for_no_other() -> None:
    sets = [np.arange(n, dtype=np.uint64) for n in (100, 200, 300)]
    known = KnownShingles(most=2500)
    for number, own in enumerate(sets[:2]):
        known.keep(number, "first", b"text %d" % number, own)
    assert known.in_state([0, 1, 2], "first") == [sets[0], sets[1], None]
    assert [number in known for number in range(3)] == [True, True, False]
    assert known.in_state([0], "second") == known.in_state([0], "") == [None]
    texts = [b"text 0", b"text 1", b"text 2", b"changed"]
    assert known.of([0, 1, 2, 1], texts, "second") == [sets[0], sets[1], None, None]
    assert known.in_state([0, 1, 2], "second") == [sets[0], sets[1], None]
    known.keep(1, "third", b"changed", sets[0])
    assert known.of([0, 1, 1], [b"text 0", b"text 1", b"changed"], "third") == [sets[0], None, sets[0]]
    known.keep(2, "third", b"text 2", sets[2])  # 2,400 bytes: those kept first are forgotten
    assert known.of([0, 1, 2], [b"text 0", b"changed", b"text 2"], "") == [None, None, sets[2]]
    assert known.in_state([2], "") == [None]


def test_known_shingles_make_the_same_query_document(tmp_path: Path) -> None:
    texts = {**made_texts(7), "short": "two words", "base": " ".join(WORDS[:20])}
    with Collection(tmp_path / "made.neardup", scale=4) as collection:
        collection.add([{"id": "base", "text": texts.pop("base")}], role="base")
        collection.add([{"id": id, "text": text} for id, text in texts.items() if id != "none"])
        with collection.view() as view:
            documents = view.everything()
            view.shared(np.arange(3, dtype=np.uint64), documents)
            for id in set(texts) - {"none"}:
                target = plan(parse(f'FINGERPRINT:"{id}"_50_95'), view).fingerprints[0].target
                read = replace(target, in_order=None)
                assert target.in_order is not None
                assert all(map(np.array_equal, target.placed, read.placed))
                assert (target.hashes.tolist(), target.is_short) == (read.hashes.tolist(), read.is_short)


def test_answers_are_the_same_before_and_after_outlines_are_kept(tmp_path: Path) -> None:
    draw = random.Random(6)
    header = " ".join(WORDS[:30])

    def text(number: int) -> str:
        return f"{header} {' '.join(f'own{draw.randrange(5000)}' for _ in range(draw.choice((40, 80, 160))))}"

    def answers(collection: Collection) -> list[tuple[str, float]]:
        found = []
        for id in ("d0", "d1", "d2"):
            for form in ("FINGERPRINT", "SIMILAR"):
                page = collection.search(f'{form}:"{id}"_20_95', limit=1000)
                assert page.found == len(page.hits)
                found += [(hit.id, hit.evidence.score) for hit in page.hits if hit.evidence]
        return found

    with Collection(tmp_path / "made.neardup", scale=2) as collection:
        for _ in range(2):  # the second time, all texts are replaced
            records = [{"id": f"d{number}", "text": text(number)} for number in range(300)]
            collection.add(records, on_duplicate="replace")
            first = answers(collection)
            assert answers(collection) == first
            assert 0 < len(first) < 1500
            with Collection(collection.path) as other:
                assert answers(other) == first
            with collection.view() as view:
                numbers, kept = view.everything(), outlines_of(collection.store)
                assert kept is not None
                assert sum(number in kept for number in numbers.tolist()) > 0


@pytest.mark.parametrize("seed", [1, 2])
def test_every_quick_way_finds_what_a_comparison_of_all_finds(tmp_path: Path, seed: int) -> None:
    """Pages, counts and order around the bound: at first, with outlines and sets known, and after changes."""
    draw = random.Random(seed)
    base = [f"base{number}" for number in range(150)]

    def text() -> str:
        begin, end = sorted(draw.sample(range(len(base) + 1), 2))
        return " ".join(
            [*base[begin:end], *(f"own{draw.randrange(9999)}" for _ in range(draw.choice((0, 9, 60))))]
        )

    def slow(collection: Collection, form: str, share: int) -> list[tuple[str, int, int, int]]:
        naive = Naive(collection)
        a, found = naive.sets["base"], []
        for id, b in naive.sets.items():
            shared = len(a & b)
            whole = len(a | b) if form == "SIMILAR" else len(a)
            if id != "base" and shared and 100 * shared >= share * whole:
                found.append((-Fraction(shared, whole), id, shared, len(b)))
        return [(id, shared, len(a), size) for _, id, shared, size in sorted(found)]

    def quick(collection: Collection, query: str, limit: int) -> list[tuple[str, int, int, int]]:
        hits = all_hits(collection, query, None, limit)[0]
        return [
            (hit.id, hit.evidence.shared, hit.evidence.size_query, hit.evidence.size_hit)
            for hit in hits
            if hit.evidence
        ]

    with Collection(tmp_path / "made.neardup", scale=2) as collection:
        collection.put("base", " ".join(base))
        collection.add([{"id": f"d{number}", "text": text()} for number in range(400)])
        for _ in range(2):
            for form, share in (("FINGERPRINT", 20), ("FINGERPRINT", 55), ("SIMILAR", 30), ("FINGERPRINT", 20)):
                wanted = slow(collection, form, share)
                assert len(wanted) > 20
                for limit in (7, 1000):
                    assert quick(collection, f"{form}:base_{share}_100", limit) == wanted
                assert set(quick(collection, f"{form}:base_{share}_90", 1000)) <= set(wanted)
            changed = draw.sample(range(400), 200)
            collection.add([{"id": f"d{n}", "text": text()} for n in changed], on_duplicate="replace")
            collection.remove([f"d{n}" for n in draw.sample(range(400), 20)], missing="ignore")
