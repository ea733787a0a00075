"""The live pages of a collection: they offer the decisions that a collection stores, and no others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup.collection import Collection
from neardup.collection.groups.methods import collection_table
from neardup.review.desk.desk import Desk
from neardup.review.source import Question
from support.live_pages import Pages, live
from support.messages import has_parts

TEXT = "the quick brown fox jumps over the lazy dog and runs far away into the dark and quiet wood"


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Collection(tmp_path / "mail.neardup") as made:
        made.add([TEXT, f"{TEXT} again", f"{TEXT} again and again"], near=0.5, on_near="link")
        yield made


@pytest.fixture
def pages(collection: Collection) -> Iterator[Pages]:
    with live(Desk.of_collection(collection)) as made:
        yield made


def test_every_page_of_a_collection_is_there(pages: Pages, collection: Collection) -> None:
    desk = Desk.of_collection(collection)
    [line] = desk.groups(Question()).lines
    first, other, *_ = desk.group(line.key).members
    addresses = [
        "/",
        "/threshold",
        "/history",
        "/sitting",
        "/batches",
        "/export",
        "/find",
        "/find?q=1",
        "/keys",
        "/kinds",
        "/queues/undecided",
        f"/groups/{line.key}",
    ]
    addresses += [f"/pairs/{other.key}/{first.key}", f"/pairs/{other.key}/{first.key}?view=list"]
    addresses += [f"/pairs/{other.key}/{first.key}?view=quotes&length=10"]
    for address in addresses:
        seen = pages.get(address)
        assert seen.status == 200, address
        assert "0 of 2 pairs decided · 3 documents · 1 group open" in seen.words, address
        for absent in ("Always keep", "representative</button>"):
            assert absent not in seen.text


def test_quotes_are_of_the_whole_collection(pages: Pages, collection: Collection) -> None:
    far = " ".join(f"word{number}" for number in range(30))
    collection.add([{"id": "later", "text": f"{TEXT} {far}", "date": "2026-02-01"}], metadata=["date"])
    desk = Desk.of_collection(collection)
    [line] = desk.groups(Question()).lines
    quotes = desk.quotes(line.key, 10)
    assert (quotes.shared, quotes.tokens, quotes.compared) == (19, 19, 3)
    assert [(one.id, one.key is None) for one in quotes.passages[0].others][-1] == ("later", True)
    collection.update_metadata("#1", {"date": "2026-01-01"})
    collection.update_metadata("#2", {"date": "2026-03-01"})
    other = desk.group(line.key).members[1].key
    assert "#2 later, 2026-03-01" in pages.get(f"/pairs/{line.key}/{other}?view=quotes&length=10").words


def test_a_decision_takes_effect_and_is_undone(pages: Pages, collection: Collection) -> None:
    desk = Desk.of_collection(collection)
    [line] = desk.groups(Question()).lines
    first, other, *_ = desk.group(line.key).members
    pair = pages.get(f"/pairs/{other.key}/{first.key}")
    decided = pages.submit(pair, "/decide", ("verdict", "not alike"))
    assert decided.status == 303
    assert [one.verdict for one in collection.decisions()] == ["not alike"]
    pages.submit(pages.get(decided.to), "/undo")
    assert not list(collection.decisions())


def test_every_verdict_is_stored(pages: Pages, collection: Collection) -> None:
    desk = Desk.of_collection(collection)
    [line] = desk.groups(Question()).lines
    for number, verdict in enumerate(("unsure", "keep both", "duplicate", "not alike")):
        asked = {"asked": "group", "group": line.key, "seen": number, "verdict": verdict}
        assert pages.post("/decide", asked).status == 303
        assert {one.verdict for one in collection.decisions()} == {verdict}


def test_a_note_alone_decides_nothing_in_a_collection_and_comes_back(
    pages: Pages, collection: Collection, tmp_path: Path
) -> None:
    desk = Desk.of_collection(collection)
    [line] = desk.groups(Question()).lines
    before = collection.group_of(line.id)
    asked = {"asked": "group", "group": line.key, "seen": 0, "verdict": "note", "note": "ask Ben"}
    assert pages.post("/decide", asked).status == 303
    others = [one for one in desk.group(line.key).members if not one.representative]
    assert {(one.verdict, one.note) for one in others} == {(None, "ask Ben")}
    assert not collection.decisions()
    assert collection.group_of(line.id) == before
    exported = collection_table(collection, "decisions").to_pylist()
    assert {(row["decision"], row["note"]) for row in exported} == {("note", "ask Ben")}
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in exported))
    again = collection.import_decisions(file, "jsonl", by="ann")
    assert again is not None
    assert again.decisions == 0  # the notes hold already
    number = collection.actions()[0].number
    collection.decide(others[0].id, line.id, "duplicate", by="ann")
    assert desk.pair(others[0].key, line.key).note == "ask Ben"  # a verdict without a note hides none
    collection.undo("ann", 2)
    collection.undo("ann", number)
    assert {one.note for one in desk.group(line.key).members} == {""}
    collection.import_decisions(file, "jsonl", by="ann")
    assert not collection.decisions()
    assert {one.note for one in desk.group(line.key).members if not one.representative} == {"ask Ben"}
    collection.remove([others[0].id])  # notes go with their document
    assert others[0].id not in str(collection_table(collection, "decisions").to_pylist())
    assert not collection.check()


def test_groups_are_named_by_their_representative(pages: Pages, collection: Collection) -> None:
    desk = Desk.of_collection(collection)
    [line] = desk.groups(Question()).lines
    first = next(member for member in desk.group(line.key).members if member.representative)
    assert line.id == desk.group(line.key).id == first.id != line.key
    listed = pages.get("/")
    assert "Text at stake" not in listed.text  # a collection keeps every document
    assert f"Group of {first.id}" in pages.get(f"/groups/{line.key}").words


def test_a_group_whose_members_have_one_name_is_titled_with_the_folder(tmp_path: Path) -> None:
    with Collection(tmp_path / "mail.neardup") as made:
        rows = [{"id": f"{folder}/a.txt", "text": f"{TEXT} {folder}"} for folder in ("one", "two")]
        made.add(rows, near=0.5, on_near="link")
        with live(Desk.of_collection(made)) as pages:
            [line] = Desk.of_collection(made).groups(Question()).lines
            assert "Group of one/a.txt" in pages.get(f"/groups/{line.key}").words


def test_a_group_has_a_column_of_differences_and_none_of_fates(collection: Collection) -> None:
    """No document of a collection is removed: its members differ, and have no fate."""
    desk = Desk.of_collection(collection)
    [line] = desk.groups(Question()).lines
    with live(desk) as pages:
        seen = pages.get(f"/groups/{line.key}").text
    assert 'data-label="Difference"' in seen
    assert 'data-label="Fate"' not in seen
    assert re.search(r'<td class="fate" data-label="Difference"><span class="quiet">[^<]+<', seen)


@pytest.mark.parametrize("texts", [[], [TEXT, "something else about mountains"]])
def test_without_groups_the_page_has_the_command_to_type(tmp_path: Path, texts: list[str]) -> None:
    with Collection(tmp_path / "mail.neardup") as made:
        made.add(texts)
        with live(Desk.of_collection(made)) as pages:
            words = pages.get("/").words
            if texts:
                assert has_parts(
                    words, "2 documents", "in a group", "neardup collection groups mail.neardup --complete"
                )
            else:
                assert has_parts(words, "No document yet", "neardup collection add mail.neardup FOLDER")
            assert "No group fits" not in words
            made.add([f"{TEXT} {n}" for n in range(3)], near=0.5, on_near="link")
            assert "No group fits" in pages.get("/?filter=size%3E9").words
