"""Answers about copies name the class of their texts, and the parts of their files that were not compared."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from neardup.collection import Collection
from neardup.collection.fields import differing_parts, parts_in, with_parts
from neardup.collection.shards import Collections
from neardup.collection.store.file import LOG_KEY
from neardup.collection.store.header import sealed_header
from neardup.errors import InputError
from neardup.io.formats import content
from neardup.review.desk.desk import Desk
from neardup.review.source import Question
from support.messages import has_parts

MINUS = "The harbour office is closed on Friday and the balance is -5,000.00 at the end of the year"
PLUS = MINUS.replace("-", "")
SIGN = "sign or operator: “5,000.00” here, “-5,000.00” there"
IMAGES = ("images",)
LIKE_A = {
    "b.html": ("identical", None, ()),
    "c.html": ("identical", None, IMAGES),
    "d.html": ("same words", SIGN, ()),
    "e.html": (None, None, IMAGES),
    "f.txt": ("identical", None, IMAGES),
}
"""The class, the difference and the parts that differ of each file, compared with a.html."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "in"
    place.mkdir()
    pages = {"a": (MINUS, "1.png"), "b": (MINUS, "1.png"), "c": (MINUS, "2.png"), "d": (PLUS, "1.png")}
    pages["e"] = (f"{MINUS} indeed", "2.png")
    for name, (text, image) in pages.items():
        (place / f"{name}.html").write_text(f"<p>{text}</p><img src={image}>", encoding="utf-8")
    (place / "f.txt").write_text(MINUS.replace(" and", "\r\n  and"), encoding="utf-8")
    return place


def alike(found: Any) -> dict[str, tuple[Any, ...]]:
    return {Path(one.id).name: (one.copy, one.difference, one.not_compared) for one in found}


def test_copies_are_named_with_their_class_on_arrival_and_in_groups(folder: Path, tmp_path: Path) -> None:
    with Collection(tmp_path / "c.neardup") as made:
        added = made.add(folder, near=0.8, on_near="link")
        assert alike(added.near) == LIKE_A
        [group] = made.groups().groups
        head, *others = group.members
        assert (alike([head]), alike(others)) == ({"a.html": (None, None, None)}, LIKE_A)
        assert group.as_dict()["members"][2]["not_compared"] == ["images"]
        assert made.compare("a.html", "c.html").not_compared == IMAGES
        assert made.compare("a.html", "b.html").not_compared == ()
    with Collection(tmp_path / "later.neardup") as made:
        made.add(folder)
        assert alike(made.group_pending(0.8).near) == LIKE_A


def test_the_likeness_is_that_to_the_text_that_was_compared(tmp_path: Path) -> None:
    """Within one call a document is replaced after another one was compared with it."""
    with Collection(tmp_path / "c.neardup") as made:
        made.put("old", MINUS)
        rows = [{"id": "new", "text": PLUS}, {"id": "old", "text": "another text with other words " * 3}]
        [found] = made.add(rows, on_duplicate="replace", near=0.8).near
        assert (found.of, found.copy) == ("old", "same words")


def test_a_file_with_other_parts_is_another_document(folder: Path, tmp_path: Path) -> None:
    with Collection(tmp_path / "c.neardup") as made:
        made.add(folder)
        assert made.add(folder).unchanged == 6
        page = folder / "a.html"
        page.write_text(page.read_text(encoding="utf-8").replace("1.png", "3.png"), encoding="utf-8")
        with pytest.raises(InputError) as refused:
            made.add(folder)
        assert has_parts(str(refused.value), "a.html", "in the collection already")


def test_parts_go_with_a_document_that_is_exported(folder: Path, tmp_path: Path) -> None:
    with Collection(tmp_path / "c.neardup") as made, Collection(tmp_path / "d.neardup") as again:
        made.add(folder)
        again.add({"id": one.id, "text": one.text, "metadata": one.metadata} for one in made.documents())
        assert alike(again.group_pending(0.8).near) == LIKE_A
    with Collections.create([tmp_path / f"{name}.neardup" for name in "xy"]) as shards:
        shards.put("a", MINUS, {"not_compared": {"images": "1"}})
        [found] = shards.put("b", PLUS, {"not_compared": {"images": "2"}}, near=0.8).near
        assert (found.copy, found.difference, found.not_compared) == ("same words", SIGN, IMAGES)


def test_in_a_collection_of_an_earlier_version_parts_are_not_known(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.neardup"
    with Collection(path) as made:
        made.add([{"id": "before", "text": MINUS}])
    with closing(sqlite3.connect(path)) as file:
        header = dict(file.execute("SELECT key, value FROM header"))
        header.pop(LOG_KEY)
        assert header.pop("parts") == "named"
        sealed = sealed_header(header)
        file.execute("DELETE FROM header WHERE key = 'parts'")
        file.execute("UPDATE header SET value = ? WHERE key = 'seal'", (sealed["seal"],))
        file.commit()
    with Collection(path) as made:
        found = made.add(folder, near=0.8).near
        assert [one.not_compared for one in found if one.of == "before"] == [None] * len(found)
        assert {one.copy for one in found} == {"identical", "same words", None}
        assert made.compare("before", "a.html").not_compared == ()


def test_pages_fold_only_documents_of_the_same_characters_and_parts(folder: Path, tmp_path: Path) -> None:
    with Collection(tmp_path / "c.neardup") as made:
        made.add(folder, near=0.8, on_near="link")
        with closing(Desk.of_collection(made)) as desk:
            [line] = desk.groups(Question()).lines
            members = desk.group(line.key).members
            copies = {member.id for member in members if member.exact_copy}
            assert copies == {"b.html"}
            key = {member.id: member.key for member in members}
            assert desk.pair(key["a.html"], key["c.html"]).comparison.not_compared == IMAGES


def test_attachments_and_unread_parts_are_kept_as_digests() -> None:
    files = content.sorted_attachments([("plan.pdf", 4, "88d4"), ("b.txt", 1, "ca97")])
    parts = (*files, *content.unread([("comments", b"not binding")]))
    kept = with_parts({"year": 2020}, parts)
    assert [(one.name, one.kind) for one in parts_in(kept)] == [
        ("attachments", content.ATTACHED),
        ("comments", content.UNREAD),
    ]
    other = with_parts({}, (*content.sorted_attachments([("plan.pdf", 4, "88d4")]), *parts[2:]))
    assert differing_parts(kept, other, known=True) == ("attachments",)
    assert differing_parts(kept, kept, known=False) == ()
    assert differing_parts(kept, {}, known=False) is None
    assert differing_parts(kept, {}, known=True) == ("attachments", "comments")
    assert with_parts({"year": 2020}, ()) == {"year": 2020}


@pytest.mark.parametrize("value", [None, "images", ["images"], {"images": 4}, {"images": {"a": "b"}}])
def test_a_value_of_another_form_names_no_parts(value: Any) -> None:
    assert parts_in({"not_compared": value}) == ()
