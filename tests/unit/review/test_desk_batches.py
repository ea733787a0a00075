"""Batches: groups that are handed to people, and the rest of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.collection import Collection
from neardup.collection.query.grammar import parse
from neardup.errors import ChangedMeanwhileError, InputError, QueryError
from neardup.io.decisions import NO_DECISIONS, JudgedPair, SecondLook, pair_of, read_pairs
from neardup.review.desk.batches import deal, draw_seconds, kappa, second_reviews
from neardup.review.desk.desk import Desk
from neardup.review.source import Decide, DrawSeconds, HandOut, Question
from neardup.text.intervals import wilson
from support.made_reviews import make_result
from support.reference_review import agreements_of, holds, kappa_of

WORDS = [f"word{number}" for number in range(40)]
TEXTS = {
    f"{group}{member}": " ".join([f"{group}{word}" for word in WORDS] + ["more"] * member)
    for group, size in (("a", 4), ("b", 3), ("c", 3), ("d", 2))
    for member in range(size)
}
"""Groups of four, three, three and two documents."""
HAND_OUT = HandOut("", "size", (("Ann", 1), ("Bea", 1)), None, False, "Max", 0)

Opened = Callable[[], Desk]


@pytest.fixture(params=["result", "collection"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """A way to open the same matter, a result or a collection, as often as people look at it."""
    if request.param == "result":
        folder = make_result(tmp_path, TEXTS, keep="first")
        yield lambda: Desk.open(folder)
        return
    with Collection(tmp_path / "matter.neardup") as collection:
        rows = [{"id": id, "text": text} for id, text in TEXTS.items()]
        collection.add(rows, near=0.5, on_near="link")
        yield lambda: Desk.of_collection(collection)


def groups_of(desk: Desk, filter: str) -> list[str]:
    return sorted(str(line.id) for line in desk.groups(Question(filter)).lines)


def test_groups_are_dealt_by_their_pairs_and_seen_by_everybody(opened: Opened) -> None:
    with closing(opened()) as desk, closing(opened()) as other:
        assert [(line.person, line.groups, line.pairs) for line in other.batches()] == [("", 4, 8)]
        done = desk.hand_out(HAND_OUT)
        assert (done.action.by, done.action.changes) == ("Max", 4)
        assert groups_of(other, "batch:ann") == ["a0", "d0"]
        assert groups_of(other, "batch!=Ann") == groups_of(other, "batch:Bea") == ["b0", "c0"]
        assert groups_of(other, "batch:none") == []
        lines = other.batches()
        assert [(line.person, line.clause, line.groups, line.pairs) for line in lines] == [
            ("Ann", "batch:Ann", 2, 4),
            ("Bea", "batch:Bea", 2, 4),
        ]
        facets = {facet.name: facet.values for facet in other.groups(Question()).facets}
        assert [(value.words, value.clause, value.groups) for value in facets["Batch"]] == [
            ("Ann", "batch:Ann", 2),
            ("Bea", "batch:Bea", 2),
        ]
        desk.undo("Max")
        assert [(line.person, line.groups) for line in other.batches()] == [("", 4)]
        with pytest.raises(QueryError):
            desk.groups(Question("batch:Cy"))


def test_a_person_goes_through_the_own_batch_alone(opened: Opened) -> None:
    with closing(opened()) as desk:
        desk.hand_out(replace(HAND_OUT, people=(("Ann Lee", 1), ("Bea", 1))))
        line = desk.batches()[0]
        seen, pair = [], line.next
        while pair is not None:
            group = desk.pair(*pair).group
            assert group is not None
            seen.append(str(desk.group(group).id))
            pair = desk.decide(Decide("pair", "duplicate", "Ann Lee", 99, pair=pair, filter=line.clause)).next
        assert Counter(seen) == {"a0": 3, "d0": 1}
        assert [(one.decided, one.next) for one in desk.batches() if one.person == "Ann Lee"] == [(4, None)]


def test_handing_out_leaves_decided_groups_and_those_of_others(opened: Opened) -> None:
    with closing(opened()) as desk:
        [group] = [line.key for line in desk.groups(Question("id:b0")).lines]
        desk.decide(Decide("group", "duplicate", "Ann", 0, group))
        desk.hand_out(replace(HAND_OUT, filter="size>2", people=(("Ann", 1),), each=1, seen=9))
        assert groups_of(desk, "batch:Ann") == ["a0"]
        desk.hand_out(replace(HAND_OUT, people=(("Bea", 1),), seen=9))
        assert groups_of(desk, "batch:Bea") == ["c0", "d0"]
        with pytest.raises(InputError):
            desk.hand_out(replace(HAND_OUT, seen=9))
        desk.hand_out(replace(HAND_OUT, filter="size:4", people=(("Bea", 1),), again=True, seen=9))
        assert groups_of(desk, "batch:Bea") == ["a0", "c0", "d0"]
        desk.hand_out(replace(HAND_OUT, filter="batch:Bea AND size:3", people=(), seen=9))
        assert groups_of(desk, "batch:Bea") == ["a0", "d0"]
        assert [action.what for action in desk.history(limit=4)] == [
            "batch: 1 group found by batch:Bea AND size:3 taken back",
            "batch: 1 group found by size:4 to Bea 1",
            "batch: 2 groups to Bea 2",
            "batch: 1 group found by size>2 to Ann 1",
        ]
        with pytest.raises(InputError):
            desk.hand_out(replace(HAND_OUT, filter="batch:none", people=(), seen=9))


def test_a_group_handed_out_meanwhile_is_not_handed_out_again(opened: Opened) -> None:
    with closing(opened()) as desk:
        first = desk.hand_out(replace(HAND_OUT, people=(("Ann", 1),)))
        with pytest.raises(ChangedMeanwhileError):
            desk.hand_out(replace(HAND_OUT, people=(("Bea", 1),), again=True))
        assert desk.hand_out(replace(HAND_OUT, again=True, seen=first.action.number)).action.number == 2


def test_batches_are_exported_with_the_decisions_and_not_imported_as_such(opened: Opened, tmp_path: Path) -> None:
    with closing(opened()) as desk:
        desk.hand_out(replace(HAND_OUT, filter="size:4", people=(("Ann", 1),)))
        data = b"".join(desk.export("decisions", "jsonl"))
        row = json.loads(data)
        assert [row[name] for name in ("decision", "id", "other", "note", "by")] == [
            "batch",
            "a0",
            None,
            "Ann",
            "Max",
        ]
        (tmp_path / "decisions.jsonl").write_bytes(data)
        rows = read_pairs(tmp_path / "decisions.jsonl", "jsonl")
        assert rows is not None
        assert [row.reviewing for row in rows] == [True]


@pytest.mark.parametrize("people", [(("Ann", 1), ("ann", 1)), (("none", 1),), ((" ", 1),), (("A\nB", 1),)])
def test_impossible_people_get_nothing(opened: Opened, people: tuple[tuple[str, float], ...]) -> None:
    with closing(opened()) as desk:
        with pytest.raises(InputError):
            desk.hand_out(replace(HAND_OUT, people=people))
        assert not desk.history()


def test_a_batch_outlives_another_representative_and_new_groups(tmp_path: Path) -> None:
    folder = make_result(tmp_path, TEXTS, keep="first")
    with closing(Desk.open(folder)) as desk:
        desk.hand_out(replace(HAND_OUT, filter="size:4", people=(("Ann", 1),)))
        [line] = desk.groups(Question("size:4")).lines
        desk.represent(line.key, desk.group(line.key).members[1].key, "Ann", 9)
        assert groups_of(desk, "batch:Ann") == ["a0"]
    with Collection(tmp_path / "matter.neardup") as collection:
        rows = [{"id": id, "text": text} for id, text in TEXTS.items()]
        collection.add(rows[:7], near=0.5, on_near="link")
        with closing(Desk.of_collection(collection)) as desk:
            desk.hand_out(replace(HAND_OUT, filter="size:4", people=(("Ann", 1),)))
            collection.add(rows[7:], near=0.5, on_near="link")
            collection.remove(["a0"])
            assert groups_of(desk, "batch:Ann") == ["a1"]
            assert groups_of(desk, "batch:none") == ["b0", "c0", "d0"]


@given(st.lists(st.integers(1, 50), max_size=60), st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_everybody_gets_the_share_of_pairs_within_one_group(pairs: list[int], shares: list[int]) -> None:
    places = deal(pairs, shares)
    assert set(places) <= set(range(len(shares)))
    loads = [
        sum(size for size, to in zip(pairs, places, strict=True) if to == place) for place in range(len(shares))
    ]
    for own, share in zip(loads, shares, strict=True):
        for load, other in zip(loads, shares, strict=True):
            assert load / other <= (own + max(pairs, default=0)) / share


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(1, 4), st.integers(1, 9))
def test_nobody_gets_more_groups_than_allowed(pairs: list[int], people: int, each: int) -> None:
    counts = Counter(deal(pairs, [1.0] * people, each))
    left = counts.pop(-1, 0)
    assert all(count <= each for count in counts.values())
    assert left == max(0, len(pairs) - people * each)


DRAW = DrawSeconds(("Bea",), 100, 1, "Max", 99)


def undecided(desk: Desk) -> dict[tuple[str, str], tuple[int, int]]:
    """All pairs by their ids, the member first, with their keys."""
    pairs = {}
    for line in desk.groups(Question(order="place")).lines:
        group = desk.group(line.key)
        [head] = [member for member in group.members if member.representative]
        others = [member for member in group.members if not member.representative]
        pairs.update({(str(member.id), str(head.id)): (member.key, head.key) for member in others})
    return pairs


def decided(desk: Desk) -> dict[tuple[str, str], tuple[int, int]]:
    """All pairs, decided by Ann: their ids, with their keys."""
    pairs = undecided(desk)
    for keys in pairs.values():
        desk.decide(Decide("pair", "duplicate", "Ann", 99, pair=keys, note="first"))
    return pairs


def test_second_verdicts_stand_beside_the_first_ones_which_count(opened: Opened) -> None:
    with closing(opened()) as desk, closing(opened()) as other:
        pairs = decided(desk)
        with pytest.raises(InputError):
            desk.draw_seconds(replace(DRAW, people=("Ann",)))
        assert desk.draw_seconds(DRAW).action.what == "second review: 8 of 8 decided pairs by seed 1 to Bea 8"
        [(person, count, following)] = other.second_reviews().waiting
        assert (person, count) == ("Bea", 8)
        with pytest.raises(InputError):
            desk.decide_second(following, "duplicate", "", "Ann", 99)
        [*rest] = range(8)
        for turn in rest:
            verdict = "not alike" if turn == 3 else "duplicate"
            done = other.decide_second(following, verdict, f"note {turn}", "Bea", 99)  # type: ignore[arg-type]
            if turn == 3:
                disputed = following
            assert (done.next is None) == (turn == 7)
            following = done.next or following
        reviews = desk.second_reviews()
        together = reviews.agreement
        assert together is not None
        assert (together.judged, together.alike, reviews.waiting, reviews.drawn_from) == (8, 7, (), 0)
        assert together.share == wilson(7 / 8, 8)
        assert reviews.by_people == (replace(together, first="Ann", second="Bea"),)
        [draw] = reviews.draws
        assert (draw.by, draw.number, draw.at) == ("Max", 9, other.history()[-9].at)
        sitting = other.last_sitting("Bea")
        assert sitting is not None
        assert {name: count for name, count in sitting.others if count} == {"second verdicts": 8, "conflicts": 1}
        assert sitting.total.pairs == 0
        verdicts = [("duplicate", "duplicate")] * 7 + [("duplicate", "not alike")]
        assert together.kappa == pytest.approx(kappa_of(verdicts))
        [conflict] = reviews.conflicts
        assert ((conflict.a, conflict.b) in (disputed, disputed[::-1]), conflict.first.note) == (True, "first")
        assert (conflict.first.by, conflict.second.by, conflict.second.note) == ("Ann", "Bea", "note 3")
        assert {desk.pair(*keys).verdict for keys in pairs.values()} == {"duplicate"}
        desk.decide(Decide("pair", "not alike", "Max", 99, pair=disputed))
        assert not other.second_reviews().conflicts
        assert other.second_reviews().agreement == together


def test_no_decision_of_a_second_reviewer_replaces_a_first_verdict_unseen(opened: Opened) -> None:
    with closing(opened()) as desk:
        pairs = decided(desk)
        desk.draw_seconds(replace(DRAW, percent=12))
        [(_, _, waiting)] = desk.second_reviews().waiting
        group = desk.pair(*waiting).group
        for way in (
            Decide("pair", "not alike", "Bea", 99, pair=waiting),
            Decide("pair", None, "Bea", 99, pair=waiting),
        ):
            with pytest.raises(InputError):
                desk.decide(way)
        assert group is not None
        size = len(desk.group(group).members) - 1
        assert size > 1
        done = desk.decide(Decide("group", "unsure", "Bea", 99, group))
        assert done.action.what.rpartition(", ")[2].startswith("without 1 pair")
        assert done.action.changes == size - 1
        assert (desk.pair(*waiting).verdict, desk.second_reviews().waiting[0][1]) == ("duplicate", 1)
        desk.decide(Decide("pair", "keep both", "Max", 99, pair=waiting))  # of anybody else
        assert desk.pair(*waiting).verdict == "keep both"
        assert len(pairs) == 8


@given(
    st.integers(1, 600), st.integers(1, 100), st.integers(0, 2**32), st.sets(st.sampled_from("ABC"), min_size=1)
)
@example(134, 7, 1, {"A"})
def test_the_sample_has_the_share_and_never_the_same_reviewer(
    count: int, percent: int, seed: int, people: set[str]
) -> None:
    by = {(f"a{n}", f"b{n}"): "ABCD"[n % 4] for n in range(count)}
    judgements = {pair: JudgedPair(name, "", 1, "", "duplicate") for pair, name in by.items()}
    state = replace(NO_DECISIONS, judgements=judgements)
    draw = DrawSeconds(tuple(sorted(people)), percent, seed, "Max", 0)
    able, frame = [pair for pair, name in by.items() if people - {name}], list(by)
    if not able:
        with pytest.raises(InputError):
            draw_seconds(state, draw, frame)
        return
    changes, what = draw_seconds(state, draw, frame)
    assert changes == draw_seconds(state, draw, frame)[0]
    assert (", without " in what) == (len(able) < count)
    pairs = [(change.a, change.b) for change in changes]  # type: ignore[union-attr]
    assert len(set(pairs)) == len(pairs) == -(-percent * len(able) // 100)
    assert all(change.person in people - {by[change.a, change.b]} for change in changes)  # type: ignore[union-attr]


def test_a_sample_is_shared_evenly_among_those_who_may_judge() -> None:
    pairs = [(f"a{n}", f"b{n}") for n in range(10)]
    judgements = {pair: JudgedPair("Max", "", 1, "", "duplicate") for pair in pairs}
    draw = DrawSeconds(("Ann", "Bea", "Cleo"), 100, 1, "Max", 0)
    changes, what = draw_seconds(replace(NO_DECISIONS, judgements=judgements), draw, pairs)
    assert Counter(change.person for change in changes) == {"Ann": 4, "Bea": 3, "Cleo": 3}  # type: ignore[union-attr]
    assert what.endswith("Ann 4, Bea 3, Cleo 3")


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), min_size=1, max_size=20))
def test_kappa_is_that_of_the_twin(verdicts: list[tuple[str, str]]) -> None:
    expected = kappa_of(verdicts)
    assert kappa(verdicts) == (None if expected is None else pytest.approx(expected))


FILTERS = (
    "verdict:duplicate",
    "verdict!=duplicate",
    "size>2 AND verdict:unsure",
    "NOT size:4",
    "verdict:duplicate OR decided:partly",
    "decided:yes AND NOT verdict:unsure",
    "batch:Ann",
    "batch:none verdict:unsure",
    "id:a1",
    "awordbody OR bword1",
)


@pytest.mark.parametrize("filter", FILTERS)
def test_a_sample_is_of_the_pairs_that_a_filter_finds(opened: Opened, filter: str) -> None:
    """Against the twin that evaluates the filter for one pair after the other, with the values of its group."""
    with closing(opened()) as desk:
        desk.hand_out(replace(HAND_OUT, filter="size:4", people=(("Ann", 1),)))
        pairs = [*undecided(desk).items()][:-2]
        verdicts = dict(zip((ids for ids, _ in pairs), ["duplicate", "unsure"] * 9, strict=False))
        for ids, keys in pairs:
            desk.decide(Decide("pair", verdicts[ids], "Ann", 99, pair=keys))  # type: ignore[arg-type]
        sizes = Counter(head for _, head in undecided(desk))
        count = Counter(head for _, head in verdicts)
        expected = {
            pair_of(member, head)
            for (member, head), verdict in verdicts.items()
            if holds(
                parse(filter).root,
                {
                    "size": sizes[head] + 1,
                    "verdict": {verdict},
                    "decided": "yes" if count[head] == sizes[head] else "partly",
                    "batch": {"Ann" if sizes[head] == 3 else "none"},
                    "id": {head, *(member for member, of in undecided(desk) if of == head)},
                    "texts": [text.casefold() for id, text in TEXTS.items() if id[0] == head[0]],
                },
            )
        }
        draw = replace(DRAW, filter=f" {filter} ")
        if not expected:
            with pytest.raises(InputError):
                desk.draw_seconds(draw)
            return
        done = desk.draw_seconds(draw)
        assert {pair for pair, look in desk._made.state.seconds.items() if look.person == "Bea"} == expected
        total = f"{len(expected)} of {len(expected)} decided pair{'s' * (len(expected) > 1)} that fit"
        assert done.action.what == f"second review: {total} {filter} by seed 1 to Bea {len(expected)}"
        assert desk.second_reviews().draws == (done.action,)
        with pytest.raises(InputError):  # they have a second look
            desk.draw_seconds(draw)
        desk.undo("Max")
        assert not desk.second_reviews().draws


def test_conflicts_are_a_queue_that_ends_when_all_are_resolved(opened: Opened) -> None:
    with closing(opened()) as desk, closing(opened()) as other:
        decided(desk)
        desk.draw_seconds(DRAW)
        following: tuple[int, int] | None = desk.second_reviews().waiting[0][2]
        disputed = []
        for verdict in ("not alike", "duplicate", "unsure", "keep both"):
            assert following is not None
            if verdict != "duplicate":
                disputed.append({*following})
            following = desk.decide_second(following, verdict, "", "Bea", 99).next
        queue = other.queue("conflicts")
        assert [{line.a, line.b} for line in queue.lines] == disputed
        assert {line.verdict for line in queue.lines} == {"duplicate"}
        [first, second, last] = ((line.a, line.b) for line in queue.lines)
        done = other.decide(Decide("pair", "unsure", "Max", 99, pair=second, queue="conflicts"))
        assert done.next == first
        two = other.pair(*second).two
        assert two is not None
        assert two.counts is not None
        assert (two.resolved, two.conflicts, two.counts.by, two.second.verdict) == (True, False, "Max", "unsure")
        assert other.pair(*last, "conflicts").before == first
        assert other.undo("Max") is not None
        assert len(desk.queue("conflicts").lines) == 3
        for pair, rest in ((first, second), (second, last), (last, None)):
            assert desk.decide(Decide("pair", "unsure", "Max", 99, pair=pair, queue="conflicts")).next == rest


def test_a_sample_by_an_impossible_filter_is_refused(opened: Opened) -> None:
    with closing(opened()) as desk:
        decided(desk)
        for filter in ("verdict:perhaps", "verdict>3", "kind:none", "unknown_field:3 AND (", "EXPLAIN size:3"):
            with pytest.raises(QueryError):
                desk.draw_seconds(replace(DRAW, filter=filter))
        assert not desk.second_reviews().draws


NAMES, WORDS_OF = st.sampled_from(["Ann", "Bea", ""]), st.sampled_from(["duplicate", "unsure", "not alike"])


@given(st.lists(st.tuples(NAMES, NAMES, WORDS_OF, WORDS_OF), max_size=30))
def test_the_agreement_of_two_people_is_that_of_their_pairs(rows: list[tuple[str, str, str, str]]) -> None:
    seconds = {
        (number, -number): SecondLook(second, "", 2, "", second, two, JudgedPair(first, "", 1, "", one))  # type: ignore[arg-type]
        for number, (first, second, one, two) in enumerate(rows, 1)
    }
    waiting = {(0, 1): SecondLook("Max", "", 1, "", "Bea", None, None)}
    reviews = second_reviews(replace(NO_DECISIONS, seconds={**seconds, **waiting}), lambda _: (0, 0), ())
    expected = agreements_of(rows)
    assert [(part.first, part.second) for part in reviews.by_people] == [*expected]
    for part in reviews.by_people:
        judged, alike, kappa = expected[part.first, part.second]
        assert (part.judged, part.alike) == (judged, alike)
        assert part.kappa == (None if kappa is None else pytest.approx(kappa))
        for bound in (part.share.low, part.share.high):  # where the score test of Wilson just rejects
            at_bound = (part.share.value - bound) ** 2 * judged, 1.959964**2 * bound * (1 - bound)
            assert at_bound[0] == pytest.approx(at_bound[1], abs=1e-6)
    together = reviews.agreement
    assert (together is None) == (not rows)
    if together is not None:
        assert together.judged == sum(part.judged for part in reviews.by_people) == len(rows)
        assert together.alike == sum(part.alike for part in reviews.by_people)
        swapped = [(one, two) for _, _, two, one in rows]
        expected_kappa = kappa_of(swapped)  # which exchanges the two verdicts, and nothing else
        assert together.kappa == (None if expected_kappa is None else pytest.approx(expected_kappa))
