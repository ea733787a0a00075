"""Base texts of a collection: what they leave out, what is refused, and who sees a change."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from neardup.collection import Collection
from neardup.collection.store import schema
from neardup.errors import FormatError, InputError, QueryError, SettingError
from support import forked
from support.messages import assert_refused

FORM = " ".join(f"form{k}" for k in range(200))
LETTERS = {f"letter {k}": f"{FORM} " + " ".join(f"own{k}x{j}" for j in range(12)) for k in range(60)}


def table(texts: Mapping[str, str]) -> pa.Table:
    return pa.table({"id": list(texts), "text": list(texts.values())})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made.neardup"


def test_sixty_letters_in_one_form_are_different(path: Path, tmp_path: Path) -> None:
    with Collection(tmp_path / "without.neardup") as without:
        assert without.add(table(LETTERS), near=0.8).repeats == 59
    with Collection(path) as made:
        made.add(table({"form": FORM}), role="base")
        done = made.add(table(LETTERS), near=0.8, on_near="link")
        assert (done.repeats, done.base_only) == (0, 0)
        assert made.search('SIMILAR:"letter 7"_1').found == 0
        copy = made.add(table({"copy": LETTERS["letter 7"] + " more", "empty": FORM}), near=0.8, on_near="link")
        [near] = copy.near
        assert (near.of, near.shared, near.size, near.of_size, copy.base_only) == ("letter 7", 12, 13, 12, 1)
        [hit] = made.search('SIMILAR:"letter 7"_50').hits
        assert hit.evidence is not None
        assert (hit.evidence.full_size_query, hit.evidence.full_size_hit) == (208, 209)
        assert hit.evidence.passage is not None
        assert hit.evidence.passage.text.split() == LETTERS["letter 7"].split()[-16:]  # of shingles that count
        assert made.check() == []


def test_near_documents_are_found_whose_samples_hold_base_text_alone(path: Path) -> None:
    """The smallest shingles of a letter are those of the form: the promise for short documents needs others."""
    some = dict(list(LETTERS.items())[:20])
    with Collection(path, scale=100_000) as made:
        made.add(table({"form": FORM}), role="base")
        made.add(table(some))
        copies = {f"copy of {id}": text + " more" for id, text in some.items()}
        done = made.add(table(copies), near=0.85)
        assert [(one.id, one.of) for one in done.near] == [(f"copy of {id}", id) for id in some]


def test_base_texts_are_documents_of_a_role(path: Path) -> None:
    with Collection(path) as made:
        made.add(table({"form": FORM}), role="base")
        made.add(table({"letter": LETTERS["letter 1"], "empty": FORM + " one"}), on_duplicate="replace")
        assert (made.get("form").role, made.get("letter").role) == ("base", "document")
        assert (made.base_texts(), made.info()["base_texts"], len(made)) == (["form"], 1, 3)
        assert made.search("form7").found == 3
        assert made.compare("letter", "empty").measures["resemblance"] == 0
        assert made.compare("letter", "empty", ignore=["own1x0 " * 9]).measures["shared"] == 0
        with pytest.raises(InputError):
            made.compare("letter", "empty", ignore="x")
        assert made.remove("form") == 1
        assert (made.base_texts(), made.check()) == ([], [])
        assert made.search("SIMILAR:letter_50").found == 1


def test_wrong_calls_are_refused(path: Path) -> None:
    with Collection(path) as made:
        assert_refused(
            (SettingError, "role is 'x'", lambda: made.add(["a"], role="x")),  # type: ignore[arg-type]
            (SettingError, r"near .* boilerplate", lambda: made.add(["a"], role="base", near=0.8)),
        )
        made.add(table({"form": FORM}), role="base")
        made.add(table({"letter": FORM + " dear"}))
        for id, role, is_now in (("form", "document", "boilerplate"), ("letter", "base", "an ordinary document")):
            with pytest.raises(InputError, match=f"The document '{id}' is {is_now}"):
                made.add(table({id: "new"}), on_duplicate="replace", role=role)  # type: ignore[arg-type]
            assert made.add(table({id: "new"}), on_duplicate="skip", role=role).skipped == 1  # type: ignore[arg-type]
        with pytest.raises(InputError, match="in no group"):
            made.decide("form", "letter", "duplicate")
        assert made.get("form").text == FORM
        made.add(table({"form": FORM + " dear"}), on_duplicate="replace", role="base")
        with pytest.raises(QueryError, match=r"boilerplate.*not count"):
            made.search("SIMILAR:letter")


def test_base_texts_cannot_change_while_there_are_groups(path: Path) -> None:
    with Collection(path) as made:
        made.add(table({"form": FORM}), role="base")
        made.add(table({"a": LETTERS["letter 1"], "b": LETTERS["letter 1"]}), near=0.8, on_near="link")
        before = made.info()
        for change in (
            lambda: made.add(table({"other": "text"}), role="base"),
            lambda: made.add(table({"form": "text"}), role="base", on_duplicate="replace"),
            lambda: made.remove(["form", "a"]),
        ):
            with pytest.raises(InputError, match=r"cannot change: it has 1 group\..*a new collection"):
                change()
        assert made.info() == before
        made.remove("a")  # which ends the group
        assert made.remove("form") == 1
        assert made.check() == []


def test_a_page_counted_with_other_base_texts_has_no_next_one(path: Path) -> None:
    with Collection(path) as made:
        made.add(table(LETTERS))
        page = made.search('SIMILAR:"letter 1"_50', limit=5)
        made.add(table({"form": "some other text that is in no letter"}), role="base")
        with pytest.raises(InputError):
            made.search('SIMILAR:"letter 1"_50', limit=5, after=page.next)


ADDS_BASE_AND_DIES = """
import os, sys
import pyarrow as pa
from neardup.collection import Collection
made = Collection(sys.argv[1])
made.add(pa.table({"id": ["form"], "text": [sys.argv[2]]}), role="base")
os._exit(9)
"""


def add_in_another_process(path: Path) -> None:
    done = forked.run(ADDS_BASE_AND_DIES, path, FORM)
    assert done.returncode == 9, done.stderr


def test_a_base_text_of_another_process_is_seen(path: Path) -> None:
    with Collection(path) as made:
        made.add(table(LETTERS))
        assert made.search('SIMILAR:"letter 1"_50').found == 59
        add_in_another_process(path)
        assert made.search('SIMILAR:"letter 1"_50').found == 0
        made.add(table({"form": "another form"}), on_duplicate="replace", role="base")
        assert made.search('SIMILAR:"letter 1"_50').found == 59
    with Collection(path) as made:
        assert (made.base_texts(), made.check()) == (["form"], [])
        made.compact()
    with Collection(path, readonly=True) as made:
        assert made.base_texts() == ["form"]


def test_a_file_left_by_a_killed_process_has_its_base_text(path: Path) -> None:
    """The transaction that makes the table also names the state before, so the log belongs to the file."""
    with Collection(path) as made:
        made.add(table({"letter": LETTERS["letter 1"]}))
    add_in_another_process(path)
    assert path.with_name(path.name + "-wal").stat().st_size
    with Collection(path) as made:
        assert (made.base_texts(), made.check()) == (["form"], [])


def test_the_first_base_text_changes_the_version_of_the_file(path: Path) -> None:
    """An earlier program, which would count the base text, refuses the file by its version."""

    def version() -> int:
        with closing(sqlite3.connect(path)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])

    with Collection(path) as made:
        made.add(table(LETTERS))
        assert version() == schema.FORMAT_VERSION
        with made.together():
            made.put_prepared(made.prepare(["form"], [FORM], [{}]), role="base")
        assert version() == schema.WITH_BASE_TEXTS
        made.remove("form")
        assert version() == schema.WITH_BASE_TEXTS


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE base_texts SET document = 2", "the role of document number 2 was changed"),
        ("UPDATE base_texts SET mark = 'x'", "the role of document number 1 was changed"),
        ("PRAGMA user_version = 4", "its tables are not those of a collection"),
        ("DROP TABLE base_texts", "its tables are not those of a collection"),
        ("CREATE TRIGGER t AFTER DELETE ON base_texts BEGIN DELETE FROM texts; END", "its tables are not those"),
    ],
)
def test_a_damaged_role_is_refused(path: Path, damage: str, said: str) -> None:
    with Collection(path) as made:
        made.add(table({"form": FORM}), role="base")
        made.add(table({"letter": LETTERS["letter 1"]}))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(damage)
    with pytest.raises(FormatError, match=said), Collection(path) as made:
        made.search("SIMILAR:letter_50")


def test_check_finds_a_role_without_a_document(path: Path) -> None:
    with Collection(path) as made:
        made.add(table({"form": FORM}), role="base")
        row = (7, 1)
        with made.store.writing():
            connection = made.store._connection()  # type: ignore[attr-defined]
            connection.execute("INSERT INTO base_texts VALUES (?, ?, ?)", (*row, schema.seal(row)))
        assert any("without a document" in fault or "lack their row" in fault for fault in made.check())
