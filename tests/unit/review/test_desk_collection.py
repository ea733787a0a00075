"""The review of a collection: its groups and pairs, and the decisions it can store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from neardup import Collection
from neardup.errors import ChangedMeanwhileError, InputError
from neardup.review.desk.desk import Desk
from neardup.review.source import QUEUES, Decide, Question
from support.made_reviews import TEXTS, key


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Collection(tmp_path / "mail.neardup") as collection:
        rows = [
            {"id": id, "text": text, "from": "ann" if id.startswith("fox") else "ben"}
            for id, text in TEXTS.items()
        ]
        collection.add(pa.Table.from_pylist(rows), metadata=["from"], near=0.5, on_near="link")
        yield collection


@pytest.fixture
def desk(collection: Collection) -> Iterator[Desk]:
    desk = Desk.of_collection(collection)
    yield desk
    desk.close()


def ids(desk: Desk, filter: str = "") -> set[str]:
    numbers = [line.key for line in desk.groups(Question(filter)).lines]
    return {str(desk.group(number).members[0].id).partition("-")[0] for number in numbers}


def test_groups_are_listed_with_their_members(desk: Desk) -> None:
    page = desk.groups(Question(order="size"))
    assert [line.size for line in page.lines] == [4, 2, 2]
    fox = page.lines[0]
    assert fox.words.startswith("the quick brown fox")
    assert (fox.decided, fox.pairs, fox.exact_copies) == (0, 2, 1)
    view = desk.group(fox.key, Question(order="size"))
    assert (view.before, view.after) == (None, page.lines[1].key)
    assert {str(member.id) for member in view.members} == {"fox", "fox-12", "fox-copy", "fox-less"}
    head, *others = view.members
    assert head.representative
    assert head.metadata == (("from", "ann"),)
    assert not any(member.representative for member in others)
    twelve = next(member for member in others if member.id == "fox-12")
    assert twelve.similarity is not None
    assert twelve.kind == "differs in 1 number"
    assert desk.about().groups == 3


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ("size>2", {"fox"}),
        ("from:ben", {"plan", "night"}),
        ("budgets", {"plan"}),
        ('NOT "quick brown"', {"plan", "night"}),
        ("FINGERPRINT:fox_50", {"fox"}),
        ("SIMILAR:plan_90 OR size>3", {"fox", "plan"}),
        ("verdict:duplicate", set()),
    ],
)
def test_filters_join_fields_of_groups_and_queries_for_documents(desk: Desk, filter: str, found: set[str]) -> None:
    assert ids(desk, filter) == found


def test_a_pair_is_compared(desk: Desk) -> None:
    fox, twelve = key(desk, "fox"), key(desk, "fox-12")
    view = desk.pair(twelve, fox)
    assert view.comparison.kind == "numbers only"
    assert view.place.endswith("of 2")
    assert {view.a.id, view.b.id} == {"fox", "fox-12"}
    assert desk.pair(twelve, key(desk, "plan")).group is None
    with pytest.raises(InputError):
        desk.pair(twelve, 10**6)


def test_verdicts_are_stored_and_undone(desk: Desk, collection: Collection) -> None:
    fox, twelve = key(desk, "fox"), key(desk, "fox-12")
    seen = desk.pair(twelve, fox).seen
    done = desk.decide(Decide("pair", "duplicate", "ann", seen, pair=(twelve, fox)))
    assert done.action.what == "duplicate: fox-12 and fox"
    assert done.next is not None
    assert [one.verdict for one in collection.decisions()] == ["duplicate"]
    assert desk.pair(twelve, fox).verdict == "duplicate"
    assert ids(desk, "verdict:duplicate") == ids(desk, "decided:partly") == {"fox"}
    with pytest.raises(ChangedMeanwhileError):
        desk.decide(Decide("pair", "not alike", "ben", seen, pair=(twelve, fox)))
    desk.decide(Decide("pair", "not alike", "ben", done.action.number, pair=(twelve, fox)))
    assert desk.pair(twelve, fox).group is None
    assert desk.undo("ben") is not None
    assert [one.verdict for one in collection.decisions()] == ["duplicate"]
    assert desk.pair(twelve, fox).group is not None
    assert desk.undo("carl") is None
    assert [action.what.partition(":")[0] for action in desk.history()][-1] == "duplicate"


def test_a_decision_for_a_group_is_undone_as_a_whole(desk: Desk, collection: Collection) -> None:
    group = next(line.key for line in desk.groups(Question("size>3")).lines)
    done = desk.decide(Decide("group", "duplicate", "ann", desk.group(group).seen, group=group))
    assert done.action.changes == 2, "identical texts need no verdict"
    assert ids(desk, "decided:yes") == {"fox"}
    assert ids(desk, "decided:nothing") == {"night"}, "copies alone need no verdict"
    undone = desk.undo("ann", done.action.number)
    assert undone is not None
    assert undone.action.undoes == done.action.number
    assert collection.decisions() == ()


def test_an_undo_restores_the_decision_of_another_person_after_a_restart(
    desk: Desk, collection: Collection
) -> None:
    fox, twelve = key(desk, "fox"), key(desk, "fox-12")
    first = desk.decide(Decide("pair", "duplicate", "ann", 0, pair=(twelve, fox), note="same order"))
    held = collection.decisions()
    desk.decide(Decide("pair", "not alike", "ben", first.action.number, pair=(twelve, fox)))
    again = Desk.of_collection(collection)
    undone = again.undo("ben")
    assert undone is not None
    assert undone.action.by == "ben"
    assert collection.decisions() == held
    assert (again.pair(twelve, fox).note, again.pair(twelve, fox).verdict) == ("same order", "duplicate")
    assert again.undo("ben") is None
    assert collection.decisions() == held
    shown = [(action.by, action.undoes, action.undone_by) for action in again.history()]
    decided = again.history()[1].number
    assert shown == [("ben", decided, None), ("ben", None, undone.action.number), ("ann", None, None)]
    desk.undo("carl", undone.action.number)
    assert [(one.verdict, one.by) for one in collection.decisions()] == [("not alike", "ben")]


def test_an_undo_brings_a_document_back_into_its_group(desk: Desk, collection: Collection) -> None:
    for one, other in (("fox", "fox-12"), ("plan", "plan-more")):
        before = collection.group_of(other)
        assert before is not None
        pair = key(desk, other), key(desk, one)
        desk.decide(Decide("pair", "not alike", "ann", desk.pair(*pair).seen, pair=pair))
        assert collection.group_of(other) is None
        desk.undo("ann")
        found = collection.group_of(other)
        assert found is not None
        assert (found.representative, found.threshold) == (before.representative, 0.5)
        assert {one.id for one in found.members} == {one.id for one in before.members}
    assert collection.check() == []


def test_the_decision_of_a_removed_document_is_not_restored(desk: Desk, collection: Collection) -> None:
    fox, twelve = key(desk, "fox"), key(desk, "fox-12")
    done = desk.decide(Decide("pair", "duplicate", "ann", 0, pair=(twelve, fox)))
    desk.decide(Decide("pair", None, "ben", done.action.number, pair=(twelve, fox)))
    text = collection.get("fox-12").text
    collection.remove("fox-12")
    collection.put("fox-12", text)
    with pytest.raises(InputError):
        desk.undo("ben")
    assert collection.decisions() == ()


def test_a_line_of_the_history_of_another_session_is_undone(desk: Desk, collection: Collection) -> None:
    collection.decide("fox", "fox-12", "duplicate", by="ann")
    [action] = desk.history()
    assert (action.by, action.changes) == ("ann", 1)
    assert desk.history(before=action.number) == ()
    desk.undo("ben", action.number)
    assert collection.decisions() == ()
    with pytest.raises(InputError):
        desk.undo("ben", 1)


def test_everything_that_a_collection_cannot_store_is_refused_in_words(desk: Desk) -> None:
    fox = key(desk, "fox")
    refused: list[Callable[[], object]] = [
        lambda: desk.represent(fox, fox, "ann", 0),
        lambda: desk.keep(fox, "keep", "ann", 0),
    ]
    for ask in refused:
        with pytest.raises(InputError, match="Verdicts on pairs"):
            ask()


def test_queues_and_thresholds(desk: Desk) -> None:
    assert [desk.queue(queue).found for queue in QUEUES] == [3, 3, 0, 0, 0, 0]
    values = [line.similarity for line in desk.queue("threshold").lines]
    assert values == sorted(values)  # type: ignore[type-var]
    first = desk.queue("undecided", limit=2)
    assert len(first.lines) == 2
    assert len(desk.queue("undecided", first.next).lines) == 1
    view = desk.threshold()
    assert sum(view.counts) == len(view.around) == 3
    assert [(line.groups, line.documents, line.removed) for line in view.lines] == [(3, 8, 5)]
    assert view.notes


def test_groups_and_decisions_are_exported(desk: Desk, collection: Collection) -> None:
    collection.decide("fox", "fox-12", "duplicate", by="ann")
    for form in ("csv", "jsonl", "dat"):
        assert b"night-copy" in b"".join(desk.export("groups", form))
    assert b"".join(desk.export("groups", "jsonl")).count(b"\n") == 8
    assert b'"duplicate"' in b"".join(desk.export("decisions", "jsonl"))
    collection.tag("hot", ["fox"], by="ann")
    assert b"".join(desk.export("tags", "csv")) == b"id,tags\nfox,hot\n"


def test_tags_are_added_on_the_pages_and_undone(desk: Desk, collection: Collection) -> None:
    fox = key(desk, "fox")
    desk.tag(fox, "hot", True, "ann", 0)
    assert collection.tags() == {"fox": ("hot",)}
    assert [line.id for line in desk.groups(Question("tag:hot")).lines] == ["fox"]
    with pytest.raises(InputError):
        desk.tag(fox, "hot", True, "ben", collection.actions()[0].number)
    desk.undo("ann")
    assert collection.tags() == {}


def test_a_tag_is_added_to_a_whole_group_and_undone(desk: Desk, collection: Collection) -> None:
    fox, number = key(desk, "fox"), collection.group_of("fox")
    assert number is not None
    members = {member.id for member in collection.members(number.id)}
    collection.tag("hot", ["fox"], by="ben")
    seen = collection.actions()[0].number
    done = desk.tag_group(fox, " hot ", True, "ann", seen)
    assert (done.action.changes, collection.tags()) == (len(members) - 1, dict.fromkeys(members, ("hot",)))
    with pytest.raises(InputError):
        desk.tag_group(fox, "hot", True, "ann", done.action.number)
    with pytest.raises(ChangedMeanwhileError):
        desk.tag_group(fox, "hot", False, "ann", seen)
    desk.undo("ann")
    assert collection.tags() == {"fox": ("hot",)}
    assert desk.tag_group(fox, "hot", False, "ann", collection.actions()[0].number).action.changes == 1


def test_members_are_in_the_order_of_their_dates(desk: Desk, collection: Collection) -> None:
    for id, day in (("fox", "2024-05-03"), ("fox-less", "2024-05-01"), ("fox-12", "2024-05-02")):
        collection.update_metadata(id, {"from": "ann", "date": day})
    members = desk.group(key(desk, "fox")).members
    assert [member.id for member in members] == ["fox-less", "fox-12", "fox", "fox-copy"]
    assert [member.step is None for member in members] == [True, False, False, True]


def test_pairs_of_a_kind_are_decided_at_once(desk: Desk, collection: Collection) -> None:
    sample = desk.sample_of_kind("numbers")
    assert [(line.a_id, line.b_id) for line in sample.sample] == [("fox-12", "fox")]
    desk.decide(Decide("kind", "keep both", "ann", 0, kind="numbers"))
    assert [one.verdict for one in collection.decisions()] == ["keep both"]
    assert desk.sample_of_kind("numbers").pairs == 0


def test_new_removed_and_replaced_documents_are_seen(desk: Desk, collection: Collection) -> None:
    before = {line.id: line.size for line in desk.groups(Question()).lines}
    collection.put("plan-again", TEXTS["plan"], {"from": "carl"}, near=0.5, on_near="link")
    assert {line.id: line.size for line in desk.groups(Question()).lines} == before | {"plan": 3}
    assert ids(desk, "from:carl") == {"plan"}
    collection.update_metadata("plan", {"from": "dora"})
    plan = next(line.key for line in desk.groups(Question("size:3")).lines)
    assert desk.group(plan).members[0].metadata == (("from", "dora"),)
    collection.put("fox-12", TEXTS["fox"].replace("10", "13"))
    assert "13 times" in desk.pair(key(desk, "fox-12"), key(desk, "fox")).a.words
    collection.remove("fox")
    assert "fox" not in {line.id for line in desk.groups(Question()).lines}
    again = Desk.of_collection(collection)
    assert again.groups(Question()) == desk.groups(Question())
    again.close()


def test_a_pair_that_was_taken_apart_keeps_its_page(desk: Desk) -> None:
    plan, more = key(desk, "plan"), key(desk, "plan-more")
    desk.decide(Decide("pair", "not alike", "ann", 0, pair=(more, plan)))
    view = desk.pair(more, plan)
    assert (view.group, view.verdict) == (None, "not alike")
    desk.decide(Decide("pair", None, "ann", 1, pair=(more, plan)))
    assert desk.pair(more, plan).verdict is None
