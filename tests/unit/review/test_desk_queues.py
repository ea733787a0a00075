"""Queues, thresholds and kinds of difference of a result, as the pages of a review get them."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import neardup as nd
from neardup.deduplication.run import find
from neardup.deduplication.run.stages.records import Inputs
from neardup.errors import InputError, QueryError, SettingError
from neardup.io.readers import choose_columns, open_files
from neardup.review.desk.desk import Desk
from neardup.review.desk.lines import KindSweep
from neardup.review.desk.subjects import ResultSubject
from neardup.review.desk.thresholds import WIDTHS
from neardup.review.source import QUEUES, Decide, PairLine, Question, Queue, ThresholdView
from neardup.settings import Settings
from neardup.text.intervals import wilson
from support.made_reviews import TEXTS, key, make_result
from support.messages import has_parts

WORDS = [f"word{n}" for n in range(60)]
CHAIN = {f"c{n}": " ".join(WORDS[4 * n : 4 * n + 40]) for n in range(6)}
"""Documents of which only neighbours resemble each other: groups with pairs between them."""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_result(tmp_path_factory.mktemp("queues"), {**CHAIN, **TEXTS}, threshold=0.6, length=2)


def whole(desk: Desk, queue: Queue, limit: int = 50) -> list[PairLine]:
    lines: list[PairLine] = []
    after = ""
    while True:
        page = desk.queue(queue, after, limit)
        lines += page.lines
        after = page.next
        if not after:
            assert page.found == len(lines)
            return lines


def stored(desk: Desk) -> dict[frozenset[object], float]:
    rows = desk._subject.found.pairs.to_pylist()
    return {frozenset((row["id_a"], row["id_b"])): row["resemblance"] for row in rows}


def counted(desk: Desk) -> ThresholdView:
    for _ in range(20):
        view = desk.threshold()
        if not view.notes:
            return view
    raise AssertionError(view.notes)


def test_the_undecided_queue_holds_each_member_until_it_has_a_verdict(desk: Desk) -> None:
    pairs = [(line.a_id, line.b_id) for line in whole(desk, "undecided", 2)]
    groups = desk._subject.found.groups.to_pylist()
    copies = set(desk._subject.found.copies["id"].to_pylist())
    expected = {(r["id"], r["group"]) for r in groups if not r["representative"] and r["id"] not in copies}
    assert set(pairs) == expected
    assert len(pairs) == len(expected)
    first = desk.queue("undecided").lines[0]
    done = desk.decide(Decide("pair", "unsure", "ann", 0, pair=(first.a, first.b), queue="undecided"))
    second = desk.queue("undecided").lines[0]
    assert done.next == (second.a, second.b)
    assert [(line.a_id, line.b_id) for line in whole(desk, "undecided")] == pairs[1:]


def test_the_threshold_queue_begins_with_the_closest_pairs(desk: Desk) -> None:
    lines = whole(desk, "threshold", 3)
    assert {frozenset((line.a_id, line.b_id)): line.similarity for line in lines} == stored(desk)
    values = [line.similarity for line in lines]
    assert values == sorted(values)  # type: ignore[type-var]
    assert lines[0].why.endswith("above the threshold")


def test_the_outside_queue_holds_pairs_of_different_groups(desk: Desk) -> None:
    group = dict(zip(*(desk._subject.found.groups[name].to_pylist() for name in ("id", "group")), strict=True))
    crossing = {pair for pair in stored(desk) if len({group.get(id) for id in pair}) > 1}  # type: ignore[call-overload]
    assert crossing
    lines = whole(desk, "outside", 1)
    assert {frozenset((line.a_id, line.b_id)) for line in lines} == crossing
    for line in lines:
        places = [
            f"in the group of {group[id]}" if id in group else "in no group" for id in (line.a_id, line.b_id)
        ]
        assert line.why == " and ".join(places)


def test_the_queue_of_tags_compares_members_with_their_representative(desk: Desk) -> None:
    assert whole(desk, "tags") == []
    desk.tag(key(desk, "fox-copy"), "hot", True, "ann", 0)
    assert [(line.a_id, line.why) for line in whole(desk, "tags")] == [("fox-copy", "hot against no tag")]
    desk.tag(key(desk, "fox"), "hot", True, "ann", 1)
    assert {line.a_id for line in whole(desk, "tags")} == {"fox-12", "fox-less"}
    for number, id in enumerate(("fox-12", "fox-less")):
        desk.tag(key(desk, id), "hot", True, "ann", 2 + number)
    assert whole(desk, "tags") == []


def test_the_queue_of_missed_pairs_is_that_of_the_audit(desk: Desk, result: Path) -> None:
    assert whole(desk, "missed") == []
    found = nd.load(result)
    audited = Desk(ResultSubject(nd.Found(**{**vars(found), "missed": found.pairs.slice(0, 2)}), result))
    lines = whole(audited, "missed")
    expected = {frozenset((row["id_a"], row["id_b"])) for row in found.pairs.slice(0, 2).to_pylist()}
    assert {frozenset((line.a_id, line.b_id)) for line in lines} == expected
    assert all("by the audit" in line.why for line in lines)
    audited.close()


@pytest.mark.parametrize("queue", ["undecided", "threshold", "outside"])
def test_a_pair_knows_its_place_in_a_queue(desk: Desk, queue: Queue) -> None:
    ends = [(line.a, line.b) for line in whole(desk, queue)]
    views = [desk.pair(a, b, queue) for a, b in ends]
    assert [view.place for view in views] == [f"pair {n + 1} of {len(ends)}" for n in range(len(ends))]
    assert [view.before for view in views] == [None, *ends[:-1]]
    assert [view.after for view in views] == [*ends[1:], None]


def test_a_decision_in_a_queue_leads_to_the_next_pair_without_a_verdict(desk: Desk) -> None:
    ends = [(line.a, line.b) for line in whole(desk, "threshold")]
    desk.decide(Decide("pair", "duplicate", "ann", 0, pair=ends[1]))
    done = desk.decide(Decide("pair", "duplicate", "ann", 1, pair=ends[0], queue="threshold"))
    assert done.next == ends[2]
    for number, pair in enumerate(ends[2:]):
        done = desk.decide(Decide("pair", "duplicate", "ann", 2 + number, pair=pair, queue="threshold"))
    assert done.next is None


def test_unknown_queues_and_pages_of_others_are_refused(desk: Desk) -> None:
    with pytest.raises(InputError, match=", ".join(QUEUES)):
        desk.queue("everything")  # type: ignore[arg-type]
    after = desk.queue("threshold", limit=1).next
    with pytest.raises(InputError):
        desk.queue("outside", after)


def test_thresholds_have_the_effect_of_regrouping(desk: Desk) -> None:
    view = counted(desk)
    assert (view.edges[0], view.edges[-1], len(view.edges) - len(view.counts)) == (0.6, 1.0, 1)
    assert sum(view.counts) == desk._subject.found.pairs.num_rows
    assert view.lines[0].threshold == 0.6
    assert [line.threshold for line in view.lines] == sorted({line.threshold for line in view.lines})
    assert 12 <= len(view.lines) <= 20
    for line in view.lines[::4]:
        there = desk._subject.found.at(line.threshold)
        counts = there.run.counts
        assert (line.groups, line.documents, line.removed) == (
            counts.groups,
            there.groups.num_rows,
            counts.removed,
        )


def test_the_pairs_around_a_line_are_the_same_each_time_and_give_a_precision(desk: Desk) -> None:
    view = desk.threshold(0.8)
    assert desk.threshold(0.8).around == view.around
    assert len(view.around) == min(10, desk._subject.found.pairs.num_rows)
    assert (view.precision, view.labelled) == (None, 0)
    verdicts = ["duplicate", "keep both", "not alike", "unsure"]
    for number, (line, verdict) in enumerate(zip(view.around, verdicts, strict=False)):
        desk.decide(Decide("pair", verdict, "ann", number, pair=(line.a, line.b)))  # type: ignore[arg-type]
    view = desk.threshold(0.8)
    share = wilson(2 / 3, 3)
    assert (view.labelled, view.alike, view.precision) == (3, 2, (share.value, share.low, share.high))


def graded(folder: Path) -> Desk:
    """Of 60 documents with 1 to 60 words of their own, each is alike with the common text in its own measure."""
    common = [f"w{n}" for n in range(240)]
    texts = {f"d{k}": " ".join([*common, *(f"x{k}y{n}" for n in range(k))]) for k in range(1, 61)}
    return Desk.open(make_result(folder, {"whole": " ".join(common)} | texts, threshold=0.6, length=1))


def test_pairs_to_label_are_those_nearest_to_the_line(tmp_path: Path) -> None:
    with closing(graded(tmp_path)) as desk:
        values = np.sort(list(stored(desk).values()))
        for line in (0.6, 0.8, 0.9, 1.0):
            view = desk.threshold(line)
            assert view.range is not None
            low, high = view.range
            width = next(w for w in WIDTHS if (abs(values - line) <= w + 1e-12).sum() >= 10)
            inside = values[abs(values - line) <= width + 1e-12]
            assert (low, high, view.among) == (inside[0], inside[-1], len(inside))
            assert len(view.around) == 10
            drawn = [one.similarity for one in view.around]
            assert drawn == sorted(drawn)
            assert (drawn[0], drawn[-1]) == (low, high)
            assert width < 0.2  # nothing far from the line


def test_when_all_are_labelled_others_are_drawn_between_them(tmp_path: Path) -> None:
    """The interval becomes narrower with each ten, until all pairs are labelled."""
    with closing(graded(tmp_path)) as desk:
        labelled: set[tuple[int, int]] = set()
        widths, among = [], desk.threshold(0.9).among
        while len(labelled) < among:
            new = {(line.a, line.b) for line in desk.threshold(0.9).around} - labelled
            assert new
            for pair in sorted(new):
                desk.decide(Decide("pair", "duplicate", "ann", len(labelled), pair=pair))
                labelled.add(pair)
            view = desk.threshold(0.9)
            assert view.precision is not None
            assert view.labelled == view.alike == len(labelled)
            widths.append(view.precision[2] - view.precision[1])
        assert widths == sorted(widths, reverse=True)
        assert len(widths) > 1


def test_few_pairs_are_all_drawn(desk: Desk) -> None:
    values = sorted(stored(desk).values())
    view = desk.threshold(0.8)
    assert len(values) < 10 or view.among >= 10
    assert view.range is not None
    assert view.range[0] >= values[0]
    whys = [line.why for line in desk.threshold(values[len(values) // 2]).around]
    assert {why.rpartition(" ")[0].split(" ", 1)[1] for why in whys} == {"below the", "above the"}


def test_a_result_of_group_shows_what_dedup_from_would_remove(tmp_path: Path) -> None:
    removed = nd.load(make_result(tmp_path, kinds=False)).run.counts.removed
    settings = Settings.of(threshold=0.5)
    documents = open_files([str(tmp_path / "documents.jsonl")], reading=settings.reading)
    columns = choose_columns(documents, "text", "id")
    grouped = find.run(Inputs(documents, columns, settings, action="group")).found
    assert grouped.run.counts.removed == 0 < removed
    grouped.save(tmp_path / "grouped")
    with closing(Desk.open(tmp_path / "grouped")) as desk:
        lines = counted(desk).lines
        assert lines[0].removed == removed
        assert lines[-1].removed == 2  # the exact copies


@pytest.mark.parametrize("value", [0.5, 1.1])
def test_a_line_below_the_threshold_of_the_run_is_refused(desk: Desk, value: float) -> None:
    with pytest.raises(InputError, match=r"0\.6 to 1"):
        desk.threshold(value)


def test_a_sample_of_a_kind_shows_the_pairs_that_a_decision_concerns(desk: Desk) -> None:
    sample = desk.sample_of_kind("contained")
    assert sample.kind == "one is contained"
    assert {str(line.a_id) for line in sample.sample} == {"fox-less", "plan"}
    assert sample.pairs == 2
    assert desk.sample_of_kind("contained", "size<4").pairs == 1
    done = desk.decide(Decide("kind", "keep both", "ann", 0, kind="contained", filter="size<4"))
    assert has_parts(done.action.what, "keep both: 1 pair", "“one is contained”", "size<4")
    assert desk.sample_of_kind("contained").pairs == 1
    withdrawn = desk.decide(Decide("kind", None, "ann", 1, kind="contained"))
    assert withdrawn.action.what.startswith("verdict withdrawn: 1 pair")
    assert desk.sample_of_kind("contained").pairs == 2
    with pytest.raises(InputError, match="numbers only"):
        desk.sample_of_kind("colour")


def test_kinds_that_are_not_stored_are_computed(desk: Desk, tmp_path: Path) -> None:
    other = Desk.open(make_result(tmp_path, {**CHAIN, **TEXTS}, threshold=0.6, length=2, kinds=False))
    assert other._subject.found.pairs.schema.get_field_index("kind") < 0
    for filter in ("kind:numbers", "kind:contained", "NOT kind:wording"):
        other._kinds.read_ahead()
        assert other._kinds._done.wait(30)
        page = other.groups(Question(filter))
        assert page.notes == ()
        assert [line.id for line in page.lines] == [line.id for line in desk.groups(Question(filter)).lines]
    other.close()


def test_kinds_are_counted_the_most_frequent_first_and_none_without_a_pair(desk: Desk) -> None:
    counts = desk.kinds().kinds
    heads = [line.key for line in desk.groups(Question()).lines]
    near = [
        (member.key, head)
        for head in heads
        for member in desk.group(head).members
        if not member.representative and not member.exact_copy
    ]
    kinds = Counter(desk.pair(*pair).comparison.kind for pair in near)
    assert {kind: every for kind, _, every in counts} == kinds
    assert [every for *_, every in counts] == sorted(kinds.values(), reverse=True)
    kind = desk.pair(*near[0]).comparison.kind
    desk.decide(Decide("pair", "unsure", "ann", 0, pair=near[0]))
    left = {kind: left for kind, left, _ in desk.kinds().kinds}
    assert left == {**kinds, kind: kinds[kind] - 1}


def test_kinds_are_refused_where_nothing_shows_them(tmp_path: Path) -> None:
    desk = Desk.open(make_result(tmp_path, kinds=False, store_texts=False))
    with pytest.raises(QueryError):
        desk.groups(Question("kind:numbers"))
    desk.close()


def test_decisions_are_exported(desk: Desk) -> None:
    desk.decide(Decide("pair", "duplicate", "ann", 0, pair=(key(desk, "fox-12"), key(desk, "fox"))))
    whole = b"".join(desk.export("decisions", "csv"))
    assert b"fox-12" in whole
    assert b"duplicate" in whole
    with pytest.raises(SettingError):
        desk.export("decisions", "docx")


def test_a_page_does_not_wait_for_very_many_kinds(tmp_path: Path) -> None:
    with closing(Desk.open(make_result(tmp_path, TEXTS, kinds=False))) as own:
        sweep = KindSweep(own._lines)
        sweep.most_awaited = 0
        sweep.wait(3600.0)  # returns at once, although nothing computes them
        assert sweep.note() == "kinds are known for 0 of 3 pairs so far"
