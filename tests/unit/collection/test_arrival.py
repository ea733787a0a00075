"""Near documents on arrival, groups, decisions and the change log: single cases."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from neardup.collection import Collection, Near
from neardup.collection.groups import formation
from neardup.errors import InputError, SettingError, UnknownIdError
from support.full_run import FULL
from support.made_collections import write_documents
from support.messages import assert_refused
from support.reference_groups import replayed

WORDS = "abcdefghijklmnopqrstuvwxyz"


def text(*changed: int) -> str:
    """26 words of which some are others: with shingles of one word, k changed ones leave (26 − k) / (26 + k)."""
    return " ".join(f"new{place}" if place in changed else letter for place, letter in enumerate(WORDS))


def table(texts: dict[str, str]) -> pa.Table:
    return pa.table({"id": list(texts), "text": list(texts.values())})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made.neardup"


@pytest.fixture
def made(path: Path) -> Iterator[Collection]:
    with Collection(path, length=1) as collection:
        yield collection
        assert collection.check() == []


def link(made: Collection, texts: dict[str, str], near: float = 0.8, **more: Any) -> Any:
    return made.add(table(texts), near=near, on_near="link", **more)


def group(made: Collection, id: str) -> tuple[int, str, list[str]] | None:
    found = made.group_of(id)
    return found and (found.id, found.representative, [one.id for one in found.members])


def test_the_most_similar_stored_document_is_told(made: Collection) -> None:
    made.add(table({"far": text(0, 1), "first": text(0), "second": text(1), "empty": ""}))
    done = made.add(table({"new": text(), "copy": text(1).upper(), "other": "x y z", "none": " ."}), near=0.8)
    assert [(one.id, one.of, one.shared, one.size, one.of_size) for one in done.near] == [
        ("new", "first", 25, 26, 26),
        ("copy", "second", 26, 26, 26),
    ]
    assert [one.resemblance for one in done.near] == [25 / 27, 1]
    assert (done.added, done.repeats, done.linked, done.left_out, done.recall) == (4, 2, 0, 0, 0.99)
    assert {one.action for one in done.near} == {"kept"}
    assert made.groups().groups == ()


def test_what_is_rejected_is_not_stored_and_not_repeated(made: Collection) -> None:
    texts = {"a": text(), "b": text(0), "c": text(0, 1, 2, 3), "d": text(0, 1, 2)}
    done = made.add(table(texts), near=0.8, on_near="reject")
    # c reaches b, which was rejected, but not a; d reaches both b and c
    assert [(one.id, one.of, one.action) for one in done.near] == [("b", "a", "rejected"), ("d", "c", "rejected")]
    assert list(made) == ["a", "c"]
    assert (done.added, done.left_out) == (2, 2)
    assert made.info()["documents"] == 2


def test_a_rejected_replacement_leaves_what_was_there(made: Collection) -> None:
    made.add(table({"a": text(), "b": "x y z"}))
    done = made.add(table({"b": text(0), "a": text(1)}), on_duplicate="replace", near=0.8, on_near="reject")
    assert [(one.id, one.of) for one in done.near] == [("b", "a")]
    assert (made.get("b").text, made.get("a").text, done.replaced) == ("x y z", text(1), 1)


def test_names_of_rejected_documents_are_not_given_again_in_a_call(made: Collection) -> None:
    parts = iter(pa.table({"text": [one]}).to_batches()[0] for one in (text(), text(0), "x y z"))
    reader = pa.RecordBatchReader.from_batches(pa.schema({"text": pa.string()}), parts)
    done = made.add(reader, near=0.8, on_near="reject")
    assert [one.id for one in done.near] == ["#2"]
    assert list(made) == ["#1", "#3"]
    made.add(["one more"])
    assert list(made) == ["#1", "#3", "#4"]


def test_a_link_needs_the_representative(made: Collection) -> None:
    link(made, {"a": text(), "b": text(0, 1)})
    done = link(made, {"c": text(0, 1, 2, 3)})
    # c reaches b alone, whose group is around a
    assert [(one.of, one.action, one.group) for one in done.near] == [("b", "kept", None)]
    assert group(made, "c") is None
    done = link(made, {"d": text(0, 1, 2)})
    # d repeats b and c alike, the earlier is b, but its group does not take it: c does
    assert [(one.of, one.action, one.group) for one in done.near] == [("b", "linked", 2)]
    assert (group(made, "d"), group(made, "a")) == ((2, "c", ["c", "d"]), (1, "a", ["a", "b"]))


def test_the_threshold_of_a_group_stays(made: Collection) -> None:
    link(made, {"a": text(), "b": text(0)}, 0.9)
    assert link(made, {"c": text(0, 1, 2)}, 0.7).linked == 0
    found = made.group_of("a")
    assert found
    assert (found.threshold, found.size) == (0.9, 2)


def test_when_the_representative_goes_the_oldest_takes_over(made: Collection) -> None:
    texts = {"a": text(), "b": text(0), "c": text(0, 1), "d": text(3, 4), "e": text(3, 4, 5), "f": text(7, 8)}
    link(made, texts, 0.75)
    assert group(made, "e") == (1, "a", list("abcdef"))
    made.remove("a")
    # b reaches c, d and f: 23 of 29 shingles; not e: 22 of 30
    assert group(made, "b") == (1, "b", ["b", "c", "d", "f"])
    assert group(made, "e") is None
    made.remove(["b", "c"])
    assert group(made, "d") is None


def test_a_group_without_its_representative_may_become_two(made: Collection) -> None:
    link(made, {"a": text(), "b": text(0, 1), "c": text(3, 4), "d": text(0, 1), "e": text(3, 4)})
    made.remove("a")
    assert (group(made, "d"), group(made, "e")) == ((1, "b", ["b", "d"]), (2, "c", ["c", "e"]))
    assert [(change.what, change.group, change.document) for change in made.changes(after=5)] == [
        ("left", 1, "a"),
        ("left", 1, "c"),
        ("left", 1, "e"),
        ("leads", 1, "b"),
        ("made", 2, "c"),
        ("joined", 2, "e"),
    ]
    assert {change.cause for change in made.changes(after=5)} == {"a was removed"}


def test_a_group_of_one_ends_and_its_id_is_not_given_again(made: Collection) -> None:
    link(made, {"a": text(), "b": text(0)})
    made.remove("b")
    assert group(made, "a") is None
    assert made.info()["groups"] == 0
    with pytest.raises(InputError):
        made.group(1)
    assert link(made, {"b": text(0)}).near[0].group == 2
    assert [change.what for change in made.changes()] == [
        "made",
        "joined",
        "left",
        "left",
        "ended",
        "made",
        "joined",
    ]


def test_a_replaced_representative_is_looked_at_again(made: Collection) -> None:
    link(made, {"a": text(), "b": text(0), "c": text(1)})
    made.add(table({"a": "x y z"}), on_duplicate="replace")
    assert group(made, "b") == (1, "b", ["b", "c"])
    assert group(made, "a") is None
    assert {change.cause for change in made.changes(after=3)} == {"a was replaced"}


def test_a_replaced_member_that_still_reaches_it_stays(made: Collection) -> None:
    link(made, {"a": text(), "b": text(0), "c": text(1)})
    made.add(table({"c": text(1, 2), "b": "x"}), on_duplicate="replace")
    assert group(made, "c") == (1, "a", ["a", "c"])
    [changed] = [change for change in made.changes() if change.what == "changed"]
    assert (changed.document, changed.shared, changed.size, changed.of_size) == ("c", 24, 26, 26)


def test_decisions_make_merge_and_split_groups(made: Collection) -> None:
    link(made, {"a": text(), "b": text(0), "x": "one two three", "y": "one two three"})
    made.add(table({"z": "alone"}))
    made.decide("b", "y", "duplicate", by="ann", note="seen")
    # the older id stays; x reaches neither a nor anything else of its group, which ends
    assert group(made, "y") == (1, "a", ["a", "b", "y"])
    assert group(made, "x") is None
    found = made.group_of("y")
    assert found
    assert {one.id: one.held_by for one in found.members} == {
        "a": "representative",
        "b": "resemblance",
        "y": "decision",
    }
    made.decide("z", "x", "duplicate")
    assert group(made, "z") == (3, "x", ["x", "z"])
    made.decide("a", "b", "not alike")
    # a is left alone, so that the id goes with the others
    assert group(made, "b") == (1, "b", ["b", "y"])
    assert group(made, "a") is None
    assert made.undecide("y", "b", by="bob")
    assert not made.undecide("y", "b")
    assert group(made, "b") is None
    assert [one.verdict for one in made.decisions()] == ["duplicate", "not alike"]
    last = [change for change in made.changes() if change.what == "withdrawn"][-1]
    assert (last.document, last.of, last.by, last.verdict) == ("b", "y", "bob", "duplicate")


def test_a_decision_acts_on_later_additions(made: Collection) -> None:
    link(made, {"a": text(), "b": text(0)})
    made.add(table({"c": "x y z"}))
    made.decide("c", "a", "not alike")
    done = link(made, {"c": text(1)}, on_duplicate="replace")
    assert [(one.of, one.action) for one in done.near] == [("a", "kept")]
    assert group(made, "c") is None
    assert [one.verdict for one in made.decisions()] == ["not alike"]
    assert [change.what for change in made.changes(after=3)] == ["stays"]


def test_a_contradiction_names_the_pairs(made: Collection) -> None:
    made.add(table({id: id for id in "abcde"}))
    made.decide("a", "b", "duplicate")
    made.decide("b", "c", "duplicate")
    made.decide("d", "e", "duplicate")
    made.decide("c", "d", "not alike")
    before = made.changes()
    with pytest.raises(InputError) as refused:
        made.decide("a", "c", "not alike")
    said = "'a' and 'c' are not alike contradicts earlier decisions: 'a' and 'b' are duplicates; "
    said += "'b' and 'c' are duplicates"
    assert said in str(refused.value)
    with pytest.raises(InputError) as refused:
        made.decide("e", "a", "duplicate")
    for part in ("'c' and 'd' are not alike", "'a' and 'b' are duplicates", "'a' and 'e' are duplicates"):
        assert part in str(refused.value)
    assert made.changes() == before
    made.decide("b", "c", "not alike")
    made.decide("e", "a", "duplicate")
    assert group(made, "b") == group(made, "d")


def test_decisions_go_with_their_documents(made: Collection) -> None:
    made.add(table({id: id for id in "abc"}))
    made.decide("a", "b", "duplicate", by="ann")
    made.decide("b", "c", "not alike")
    made.remove("b")
    assert made.decisions() == ()
    gone = [change for change in made.changes() if change.what == "withdrawn"]
    assert [(change.why, change.document, change.of) for change in gone] == [
        ("removed", "a", "b"),
        ("removed", "b", "c"),
    ]
    assert group(made, "a") is None


def test_the_order_of_the_log_is_not_that_of_the_clock(made: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    made.add(table({id: text() for id in "abc"}))
    for place, (a, b) in enumerate(["ab", "bc"]):
        monkeypatch.setattr(formation, "now", lambda place=place: f"{2030 - place}-01-01T00:00:00+00:00")
        made.decide(a, b, "duplicate")
    at = [change.at for change in made.changes()]
    assert at == sorted(at, reverse=True)
    assert len(set(at)) == 2
    numbers = [change.number for change in made.changes()]
    assert numbers == sorted(numbers)
    assert replayed(made.changes()) == {1: ("a", {"a", "b", "c"})}


def test_a_crowd_is_told_without_comparing_all_with_all(made: Collection) -> None:
    size = 700 if FULL else 350
    crowd = {f"d{number}": f"{text()} {number}" for number in range(size)}
    done = made.add(table(crowd), near=0.8, on_near="link")
    assert (done.repeats, done.linked, len(done.near)) == (size - 1, size - 1, size - 1)
    assert made.info()["groups"] == 1
    page = made.members(1, limit=300)
    assert [one.id for one in page] == list(crowd)[:300]
    assert [one.id for one in made.members(1, after=page[-1].id)] == list(crowd)[300:]
    assert made.group(1).size == size


def test_pages_of_groups_and_changes(made: Collection) -> None:
    texts = {f"{kind}{number}": f"{kind} of it {kind * 3}" for kind in "pqrst" for number in range(2)}
    link(made, texts)
    first = made.groups(limit=2)
    rest = made.groups(first.next, limit=5)
    assert [one.id for one in first.groups + rest.groups] == [1, 2, 3, 4, 5]
    assert (first.next, rest.next) == (2, None)
    assert made.changes(limit=3) + made.changes(after=3) == made.changes()
    assert first.as_dict()["groups"][0]["members"][1]["resemblance"] == 1


@pytest.mark.parametrize("near", [0, -1, 1.1, True, "80", "most", float("nan"), 1 / 3])
def test_a_resemblance_that_is_none_is_refused(made: Collection, near: Any) -> None:
    with pytest.raises(SettingError):
        made.add(["text"], near=near)
    assert len(made) == 0


def test_what_makes_no_sense_is_refused(made: Collection) -> None:
    made.add(["text", "other"])
    assert_refused(
        (SettingError, "recall of near", lambda: Near(0.8, 0)),
        (SettingError, "on_near is 'drop'", lambda: made.add(["text"], near=0.8, on_near="drop")),  # type: ignore[arg-type]
        (SettingError, "without near", lambda: made.add(["text"], on_near="link")),
        (SettingError, "verdict is 'maybe'", lambda: made.decide("#1", "#2", "maybe")),  # 1", "#2", "maybe")  # type: ignore[arg-type]
        (UnknownIdError, "", lambda: made.decide("#1", "x", "duplicate")),
        (InputError, "given twice", lambda: made.decide("#1", "#1", "duplicate")),
        (InputError, "not a text", lambda: made.decide("#1", "#2", "duplicate", note="x" * 10_001)),
    )
    for place in (-1, 1.5, True, 1 << 63):
        with pytest.raises(InputError, match="not a place"):
            made.changes(after=place)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="limit is 0"):
        made.groups(limit=0)
    assert made.changes() == ()


def test_an_error_leaves_no_group(made: Collection, tmp_path: Path) -> None:
    link(made, {"a": text(), "b": text(0)})
    before = (made.groups(), made.changes())
    twice = write_documents(tmp_path / "in.jsonl", {"c": text(1), "a": text(2)})
    with pytest.raises(InputError):
        made.add(twice, near=0.8, on_near="link")
    assert (made.groups(), made.changes()) == before


DAMAGE = {
    "UPDATE members SET shared = 1 WHERE document = 2": "a row of its groups was changed",
    "UPDATE decisions SET value = 'duplicate'": "a row of its decisions was changed",
    "UPDATE actions SET by = 'eve'": "a row of its decisions was changed",
    "DELETE FROM decisions": "Action 1 has 0 decisions",
    "UPDATE changes SET what = 'joined' WHERE number = 1": "a row of its groups was changed",
    "UPDATE groups SET threshold = 0.1": "a row of its groups was changed",
    "DELETE FROM members WHERE document = 2": "has members that are not there",
    "DELETE FROM groups": "The change log says that there is a group 1",
    "DELETE FROM changes": "Group 1 contradicts the change log",
}


@pytest.mark.parametrize("statement", DAMAGE)
def test_a_check_finds_damaged_groups(path: Path, statement: str) -> None:
    with Collection(path, length=1) as made:
        link(made, {"a": text(), "b": text(0), "c": text(0, 1, 2, 3, 4, 5, 6)})
        made.decide("b", "c", "not alike")
        assert made.check() == []
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with Collection(path) as made:
        assert any(DAMAGE[statement] in fault for fault in made.check())
