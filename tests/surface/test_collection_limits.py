"""A collection refuses input before anything is stored, in the same words from every way in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from neardup.collection import Collection, fields
from neardup.collection.fields import metadata_fault
from neardup.errors import InputError
from support.command_line import Run
from support.made_service import serving
from support.messages import has_parts


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def shared(levels: int) -> Any:
    """Few objects, but 2 to the power of ``levels`` values."""
    value: Any = 1
    for _ in range(levels):
        value = [value, value]
    return {"a": value}


CANNOT_BE = {
    "deep": (deep(900), "records of the metadata are nested more than 32 deep"),
    "a number of 1 000 digits": ({"n": 10**1000}, "a whole number of more than 300 digits"),
    "a negative one": ({"n": [-(10**1000)]}, "a whole number of more than 300 digits"),
    "names": ({f"k{n}": 1 for n in range(1001)}, "1,001 different names, more than 1,000"),
    "a million names": ({f"k{n}": 1 for n in range(1_000_000)}, "more than 10,000 values"),
    "values": ({"a": [1] * 10_001}, "more than 10,000 values"),
    "a long name": ({"n" * 1025: 1}, "a name in the metadata has 1,025 bytes, more than 1,024"),
    "a name made long by records": ({"n" * 600: {"m" * 600: 1}}, "has 1,201 bytes, more than 1,024"),
    "long strings": ({"a": ["x" * 600_000, "y" * 600_000]}, "have 1,200,003 bytes, more than 1,000,000"),
}


@pytest.mark.parametrize("name", CANNOT_BE)
def test_metadata_that_a_collection_cannot_keep(tmp_path: Path, name: str) -> None:
    metadata, fault = CANNOT_BE[name]
    assert fault in metadata_fault(metadata)
    with Collection(tmp_path / "x.neardup") as collection:
        with pytest.raises(InputError) as refusal:
            collection.prepare(["kept", "a"], ["some text", "other text"], [{}, metadata])
        assert "The document 'a' cannot be kept" in str(refusal.value)
        assert fault in str(refusal.value)
        assert len(collection) == 0


def test_what_is_within_the_limits_is_kept(tmp_path: Path) -> None:
    widest = {f"k{n}": n for n in range(fields.MOST_KEYS)}
    fine = [deep(32), {"n": 10**300 - 1, "m": 1 - 10**300}, widest, {"a": [1] * 9_999}, {"n" * 1024: "x"}]
    with Collection(tmp_path / "x.neardup") as collection:
        names = [str(k) for k in range(len(fine))]
        collection.put_prepared(collection.prepare(names, ["some text"] * len(fine), fine))
        assert [collection.get(name).metadata for name in names] == fine
        assert collection.check() == []


def test_lists_that_hold_one_another_are_counted_no_further_than_the_limit() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert "more than 10,000 values" in metadata_fault(shared(60))
    assert "nested more than" in metadata_fault({"a": ring})


@pytest.mark.parametrize(
    ("ids", "texts", "metadata", "said"),
    [
        (["a"], [7], [{}], "The text of document 'a' is a int. Allowed: A str"),
        (["a"], [None], [{}], "The text of document 'a' is a NoneType"),
        (["a"], [b"bytes"], [{}], "The text of document 'a' is a bytes"),
        (["a"], ["text"], [None], "the metadata is a NoneType, not a record"),
        (["a"], ["text"], [["x"]], "the metadata is a list, not a record"),
        (["a", "b"], ["text"], [{}], "These are 2 ids, 1 texts and 1 records of metadata"),
        (["x" * 1025], ["text"], [{}], "the id has 1025 bytes"),
    ],
)
def test_documents_that_are_none(tmp_path: Path, ids: Any, texts: Any, metadata: Any, said: str) -> None:
    with Collection(tmp_path / "x.neardup") as collection, pytest.raises(InputError) as refusal:
        collection.prepare(ids, texts, metadata)
    assert said in str(refusal.value)


def test_a_text_that_is_too_large_is_refused_the_same_way_everywhere(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "LARGEST_TEXT", 1000)
    said = "the text has 1,002 bytes, more than 1,000"
    text = "é" * 501
    with Collection(tmp_path / "x.neardup") as collection:
        with pytest.raises(InputError, match=said):
            collection.prepare(["a"], [text], [{}])
        rows = [{"id": "a", "text": text}, {"id": "b", "text": "short"}]
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        added = collection.add(tmp_path / "rows.jsonl")
        assert [problem.reason for problem in added.problems] == [said]
        assert list(collection) == ["b"]
    with serving(tmp_path / "served.neardup") as service:
        assert said in service("PUT", "/v1/documents/a", {"text": text}).error["message"]
    ran = run(
        "collection",
        "add",
        tmp_path / "typed.neardup",
        tmp_path / "rows.jsonl",
        "--problems",
        tmp_path / "problems",
    )
    assert ran.status == 1
    assert said in (tmp_path / "problems").read_text()


def test_a_text_of_too_many_different_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a row of the index: one text of millions would hold up all who write."""
    monkeypatch.setattr(fields, "MOST_WORDS", 100)
    monkeypatch.setattr(fields, "FEW_WORDS", 500)
    many, few = (" ".join(f"w{n % count}" for n in range(300)) for count in (101, 100))
    with Collection(tmp_path / "x.neardup") as collection:
        with pytest.raises(InputError, match="more than 1,000,000 different words"):
            collection.prepare(["a", "b"], [few, many], [{}, {}])
        collection.put_prepared(collection.prepare(["a"], [few], [{}]))
        assert collection.add([few, many]).rejected == 1


def test_rows_whose_metadata_cannot_be_kept_are_listed_and_the_others_added(tmp_path: Path) -> None:
    rows = pa.table({"id": ["a", "b"], "text": ["some text", "more"], "tags": [["x"] * 10_001, ["x"]]})
    with Collection(tmp_path / "x.neardup") as collection:
        added = collection.add(rows, metadata=["tags"])
        assert len(added.problems) == 1
        assert has_parts(added.problems[0].reason, "metadata", "10,000 values")
        assert list(collection) == ["b"]


def test_a_million_names_make_no_small_change_slow(tmp_path: Path) -> None:
    """Of the names that there are, a transaction reads those that it needs: not one statement reads them all."""
    with Collection(tmp_path / "x.neardup") as collection:
        collection.put_prepared(collection.prepare(["many"], ["text"], [{f"k{n}": n for n in range(1000)}]))
        statements: list[str] = []
        with collection.store.writing() as transaction:
            transaction._tables._connection.set_trace_callback(statements.append)  # type: ignore[attr-defined]
        collection.put_prepared(collection.prepare(["few"], ["other text"], [{"k7": 1, "new": 2}]))
        asked = [statement for statement in statements if "FROM keys" in statement]
        assert len(asked) == 3
        assert all("WHERE name = " in statement or "max(number)" in statement for statement in asked)
        assert collection.check() == []
