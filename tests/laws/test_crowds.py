"""Crowds of thousands of near copies, and boilerplate over thousands of unlike texts: right, and near-linear.

No time is measured here. What is counted is work: candidate pairs, comparisons of two sets, entries of lists.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import neardup as nd
import neardup.deduplication.group.leaders
import neardup.deduplication.join.prefix_join
from neardup.deduplication.join.candidates import HUB
from neardup.deduplication.join.search import ExactJoin
from neardup.deduplication.run.find import run_stages
from neardup.deduplication.run.pipeline import Meter
from neardup.deduplication.run.stages.records import Inputs
from neardup.deduplication.run.stages.result import Outcome
from neardup.io.readers import choose_columns, open_documents
from neardup.kernels import components as component_kernels
from neardup.kernels import leaders as leader_kernels
from neardup.kernels.join import met_pairs as met_kernels
from neardup.kernels.join import prefix_index as hub_kernels
from neardup.runtime import Advance, Silent
from support import shared_data
from support.full_run import FULL
from support.grouped import HOWS, Pair, all_true_pairs, expected_groups, groups_of, pairs_of, rank_of
from support.made_texts import Writer, edited, shingles
from support.small_limits import small_crowds, small_hubs

CERTAIN = 0.999999


def forms(n: int, seed: int = 31, words: int = 120) -> list[str]:
    """Return a letter n times with another date in its middle: J between .87 and .99."""
    writer = Writer(seed)
    head, tail = writer.text(words // 2), writer.text(words - words // 2)
    first = datetime.date(1990, 1, 1)
    dates = [f"{first + datetime.timedelta(days):%d %B %Y}" for days in range(n)]
    return [f"{head} Dated {date}. {tail}" for date in dates]


def pages(n: int, common: int, own: int, seed: int = 32) -> list[str]:
    """Return n texts that begin with the same page of boilerplate and go on with text of their own."""
    writer = Writer(seed)
    page = writer.text(common)
    return [f"{page} {writer.text(own)}" for _ in range(n)]


# --- crowds


def needed_and_all(how: str, n: int) -> tuple[nd.Found, nd.Found]:
    needed, every = (
        nd.find(forms(n), groups=how, pairs=pairs, method="lsh", recall=CERTAIN) for pairs in ("needed", "all")
    )
    return needed, every


@pytest.mark.part(6)
@pytest.mark.parametrize(
    ("how", "n", "crowd"), [("components", 480, 400), ("principal", 1040, 1000), ("complete", 480, 400)]
)
def test_a_crowd_has_the_same_groups_whether_all_its_pairs_are_asked_for_or_not(
    how: str, n: int, crowd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One crowd has the size that counts as one; smaller ones stand for two others."""
    assert neardup.deduplication.group.leaders.CROWD == 1000
    small_crowds(monkeypatch, crowd)
    needed, every = needed_and_all(how, n)
    assert groups_of(needed) == groups_of(every)
    assert max(map(len, groups_of(needed).values())) > crowd
    assert needed.groups.equals(every.groups)
    assert pairs_of(needed) <= pairs_of(every)
    assert every.pairs.num_rows == n * (n - 1) // 2  # every two forms are alike
    members = sum(crowd.members for crowd in needed.run.large_clusters)
    assert needed.pairs.num_rows <= members
    assert members == needed.run.counts.near_copies + needed.run.counts.groups
    left_out = sum(crowd.pairs_left_out for crowd in needed.run.large_clusters)
    assert left_out == every.pairs.num_rows - needed.pairs.num_rows
    assert every.run.large_clusters == []
    heads = set(groups_of(needed))
    assert {crowd.representative for crowd in needed.run.large_clusters} <= heads


@dataclass
class Totals:
    """Records the total of each stage, and the work that it reports."""

    total: dict[str, int | None] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        self.total[name] = total
        yield lambda amount: self.done.update({name: amount})


def test_grouping_a_crowd_reports_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    small_crowds(monkeypatch, 40)
    progress, n = Totals(), 60
    nd.find(forms(n), groups="components", method="exact", progress=progress)
    stages = ("group", "pairs of large clusters", "links of large clusters")
    assert {name: (progress.total[name], progress.done[name]) for name in stages} == dict.fromkeys(stages, (n, n))


def test_twenty_thousand_copies_are_one_class_without_a_pair() -> None:
    text = Writer(seed=33).text(40)
    found = nd.find([text, text.upper()] * 10_000)
    assert found.run.counts.exact_copies == found.copies.num_rows == 19_999
    assert found.copies["copy_of"].unique().to_pylist() == [0]
    assert found.run.counts.candidates == found.pairs.num_rows == 0
    assert groups_of(found) == {0: frozenset(range(20_000))}


# --- counted work


KERNELS = (hub_kernels, met_kernels, leader_kernels, component_kernels)
COMPARISONS = ("shared_of", "shared_rest")


def searching_kernels() -> dict[str, Callable[..., Any]]:
    """Return the kernels that look at pairs of documents: all that call a comparison or may_pair, at any depth."""
    compiled = {
        name: kernel for module in KERNELS for name, kernel in vars(module).items() if hasattr(kernel, "py_func")
    }
    found = {*COMPARISONS, "may_pair"}
    while True:
        more = {name for name, kernel in compiled.items() if found & set(kernel.py_func.__code__.co_names)} - found
        if not more:
            return {name: compiled[name] for name in found}
        found |= more


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Run the searching kernels as plain Python that counts the calls inside."""
    calls: Counter[str] = Counter()

    def counting(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            calls[name] += 1
            return kernel(*arguments)

        return call

    with monkeypatch.context() as patch:
        for name, kernel in searching_kernels().items():
            counting_kernel = counting(name, kernel.py_func)
            for module in (*KERNELS, neardup.deduplication.group.leaders, neardup.deduplication.join.prefix_join):
                if vars(module).get(name) is kernel:
                    patch.setattr(module, name, counting_kernel)
        yield calls


def work_of(texts: list[str], monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Counter[str]:
    """Return how often the kernels compared sets (COMPARISONS) and looked at the sizes of two (may_pair)."""
    with counted(monkeypatch) as calls:
        found = nd.find(texts, threads=1, method="lsh", **settings)
    assert found.run.large_buckets.buckets > 0
    assert calls["lead"] == 1
    return calls


def of_many_lengths(n: int) -> list[str]:
    """Return texts that begin with one page and have 5 to 44 words of their own: J from .5 to .9."""
    writer = Writer(seed=34)
    page = writer.text(90)
    return [f"{page} {writer.text(5 + k % 40)}" for k in range(n)]


CORPORA: dict[str, Callable[[int], list[str]]] = {
    "crowd": lambda n: forms(n, words=60),
    "many crowds": lambda n: [text for seed in range(4) for text in forms(n // 4, seed=seed, words=60)],
    "boilerplate of half the text": lambda n: pages(n, common=64, own=30),
    "boilerplate of 85 %": lambda n: pages(n, common=80, own=14),
    "boilerplate and own texts of many lengths": of_many_lengths,
    "crowd and boilerplate": lambda n: [*forms(n // 2, words=60), *pages(n - n // 2, common=80, own=14)],
}
LIMIT = 20


@pytest.mark.part(3)
@pytest.mark.parametrize("how", ["principal", "components"])
@pytest.mark.parametrize("corpus", CORPORA)
def test_comparisons_of_sets_are_linear(corpus: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Crowds of more than 20 stand for those of more than 1 000, so that plain Python can count.

    A document looks at up to LIMIT leaders, and at up to LIMIT partners from either side of each pair. Beyond
    that there are comparisons that find no pair: as many again are allowed. All pairs would be 500 comparisons a
    document, four times that.
    """
    small_crowds(monkeypatch, LIMIT)
    monkeypatch.setattr(leader_kernels, "MOST_LEADERS", LIMIT)
    n = 1000
    calls = work_of(CORPORA[corpus](n), monkeypatch, groups=how)
    assert sum(calls[name] for name in COMPARISONS) <= n * 3 * LIMIT * 2


def menus(n: int) -> list[str]:
    """Return texts of 40 phrases of the same 60, in order; no two are alike."""
    writer = Writer(seed=35)
    phrases = [writer.text(8) for _ in range(60)]
    return [" ".join(phrases[k] for k in sorted(writer.random.sample(range(60), 40))) for _ in range(n)]


@pytest.mark.parametrize("pairs", ["needed", "all"])
def test_texts_of_one_stock_are_passed_once(pairs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No two are alike, but each meets all others in dozens of lists: these hold 25 places for every two texts.

    The search for pairs passes each two of them once, and finds few pairs, so the leaders look at its pairs alone.
    """
    n, passed = 300, Counter[str]()

    def counting(module: Any, name: str) -> None:
        kernel, span_at = vars(module)[name], 4 if module is leader_kernels else 3

        def call(*arguments: Any) -> Any:
            found = kernel(*arguments)
            first, until = arguments[span_at][:2]
            at = until if name in ("_met_in_list", "_swept") else found[0] if isinstance(found, tuple) else found
            passed[name] += abs(at - first)
            return found

        monkeypatch.setattr(module, name, call)

    for module, name in ((met_kernels, "_next_met"), (met_kernels, "_next_swept")):
        counting(module, name)
    for name in ("_met_in_list", "_swept"):
        counting(leader_kernels, name)
    for module, names in (
        (met_kernels, ("_smaller_partners", "_larger_partners", "met_pairs")),
        (leader_kernels, ("_met_in_lists", "lead")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, vars(module)[name].py_func)
    for module, name, kernel in (
        (neardup.deduplication.group.leaders, "lead", leader_kernels.lead),
        (neardup.deduplication.join.prefix_join, "joined_pairs", met_kernels.met_pairs),
    ):
        monkeypatch.setattr(module, name, kernel)
    found = nd.find(menus(n), method="exact", threads=1, pairs=pairs)
    assert found.pairs.num_rows == 0
    assert passed["_next_swept"] > n
    assert sum(passed.values()) <= n * n


@pytest.mark.parametrize(("common", "own"), [(140, 66), (160, 25)])
def test_boilerplate_over_thousands_of_unlike_texts(common: int, own: int) -> None:
    """J about .5 and about .74, both below the threshold: no pair, and few documents are left to be compared."""
    n = 20_000 if FULL else 8_000
    texts = pages(n, common, own)
    documents = open_documents(texts)
    settings = nd.Settings.of(method="lsh")
    inputs = Inputs(documents, choose_columns(documents, None, None), settings)
    outcome, exact = run_stages(inputs, Meter(Silent()), wanted=(Outcome, ExactJoin))
    found, hubs = outcome.found, exact.index
    assert found.pairs.num_rows == found.groups.num_rows == 0
    assert found.run.large_buckets.largest > n // 10
    # what the buckets of at most HUB members can propose: fewer than HUB / 2 pairs a document and band
    bands = len(outcome.run.search.plan.bands)
    assert found.run.counts.verified <= n * bands * HUB // 2
    assert found.run.counts.verified <= 10 * n
    # a document is in as many lists as it may fail to share shingles, at most: not in all of its shingles
    assert len(hubs.members) <= len(hubs.documents) * (int(hubs.sizes.max(initial=0)) // 5 + 1)
    assert hub_kernels.with_partners(hubs).sum() <= n // 100


# --- right on small ones, against brute force


def test_the_pairs_left_out_of_popular_documents_are_not_overstated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader has four members and two partners that are nearer to another leader: only these are left out."""
    small_crowds(monkeypatch, 5)
    small_hubs(monkeypatch, 1)
    words = Writer(seed=3).words(240)
    leader, between = words[:200], words[18:225]
    members = [[*leader, *(f"own{k}x{word}" for word in range(9))] for k in range(4)]
    texts = [" ".join(some) for some in (words[25:], leader, *members, between, [*between, "more"])]
    needed, every = (
        nd.find(texts, keep="first", pairs=pairs, method="lsh", recall=CERTAIN) for pairs in ("needed", "all")
    )
    assert groups_of(needed) == groups_of(every) == {0: frozenset({0, 6, 7}), 1: frozenset(range(1, 6))}
    assert pairs_of(every) - pairs_of(needed) == {(1, 6), (1, 7)}
    assert needed.run.popular.examples == [1]
    assert needed.run.popular.pairs_left_out_at_least <= 2


@cache
def mixture() -> list[str]:
    """Return two crowds, boilerplate with own text, edits of edits of one page, and texts apart."""
    writer = Writer(seed=41)
    texts = [*forms(60, seed=42), *forms(40, seed=43), *pages(60, 100, 20, seed=44), *pages(30, 100, 34, seed=44)]
    words = writer.words(150)
    for _ in range(60):
        texts.append(" ".join(words))
        words = edited(words, 0.9, writer)
    texts += [writer.text(100) for _ in range(30)]
    writer.random.shuffle(texts)
    return texts


@pytest.mark.part(4)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("pairs", ["needed", "all"])
@pytest.mark.parametrize(("hub", "crowd"), [(100, 1000), (2, 1000), (2, 10), (20, 20), (1, 3)])
def test_hubs_and_crowds_of_any_size_give_the_same(
    how: str, pairs: str, hub: int, crowd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Smaller limits send more documents through the exact join, and leave more pairs unlooked at."""
    small_hubs(monkeypatch, hub)
    small_crowds(monkeypatch, crowd)
    sets, true = mixed_sets()
    lengths = [len(plain_words(text)) for text in mixture()]
    check_against_brute_force(mixture(), sets, lengths, true, 0.8, how=how, pairs=pairs)


@cache
def mixed_sets() -> tuple[list[set[tuple[str, ...]]], dict[Pair, Fraction]]:
    sets = [shingles(plain_words(text)) for text in mixture()]
    return sets, all_true_pairs(sets, Fraction(4, 5))


def plain_words(text: str) -> list[str]:
    return text.lower().replace(".", " ").split()


@pytest.mark.part(6)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("threshold", [0.5, 0.8])
@pytest.mark.parametrize("name", ["own", "license_texts", "irplag_java", "site_policy"])
def test_real_texts_through_hubs_and_crowds(
    name: str, threshold: float, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_hubs(monkeypatch, 1)
    small_crowds(monkeypatch, 5)
    numbers = [k for k, first in enumerate(shared_data.firsts(name)) if first == k]
    texts = list(shared_data.documents(name).values())
    place = {k: at for at, k in enumerate(numbers)}
    check_against_brute_force(
        [texts[k] for k in numbers],
        [set(shared_data.sets(name)[k]) for k in numbers],
        [len(shared_data.tokens(name)[k]) for k in numbers],
        {
            (place[a], place[b]): Fraction(counts.shared, counts.union)
            for (a, b), counts in shared_data.all_pairs(name).items()
            if Fraction(counts.shared, counts.union) >= Fraction(repr(threshold))
        },
        threshold,
        how=how,
        pairs="needed",
    )


def check_against_brute_force(
    texts: list[str],
    sets: list[set[tuple[str, ...]]],
    lengths: list[int],
    true: dict[Pair, Fraction],
    threshold: float,
    how: str,
    pairs: str,
) -> None:
    found = nd.find(texts, threshold=threshold, method="lsh", recall=CERTAIN, groups=how, pairs=pairs)
    assert groups_of(found) == expected_groups(how, true, rank_of(lengths))
    assert pairs_of(found) <= true.keys()
    for row in found.pairs.to_pylist():
        a, b = sets[row["id_a"]], sets[row["id_b"]]
        assert (row["shared"], row["size_a"], row["size_b"]) == (len(a & b), len(a), len(b))
    if pairs == "all":
        assert pairs_of(found) == true.keys()
        assert found.run.large_clusters == []
        return
    reported, run_file = pairs_of(found), found.run
    for head, members in groups_of(found).items():
        with_head = {(min(head, member), max(head, member)) for member in members - {head}}
        if how == "components":  # where a chain may have joined them, below the threshold
            with_head &= true.keys()
        assert with_head <= reported
    left_out = len(true) - len(reported)
    assert (left_out > 0) <= bool(run_file.large_clusters or run_file.popular.documents)
    assert left_out >= run_file.popular.pairs_left_out_at_least
    assert left_out >= 0
