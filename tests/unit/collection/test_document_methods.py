"""Documents of a collection as an application reads and changes them."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from neardup import (
    Collection,
    InputError,
    NeardupError,
    OutputError,
    QueryError,
    SettingError,
    UnknownIdError,
)
from neardup.collection import documents as documents_of
from support.messages import assert_refused, each_has_parts, has_parts

HARBOUR = "the harbour office is closed on Friday because of the storm"
TEXTS = {"a": HARBOUR, "b": HARBOUR + " and on Monday", "c": "pay the invoice of March by the end of the week"}


@pytest.fixture
def mails(tmp_path: Path) -> Iterator[Collection]:
    with Collection(tmp_path / "mail.neardup") as made:
        for year, (id, text) in enumerate(TEXTS.items(), 2020):
            made.put(id, text, {"year": year, "from": {"name": "ann"}})
        yield made


def test_a_collection_is_used_like_a_mapping(mails: Collection) -> None:
    assert (mails["a"], mails["a"].text, mails["a"].metadata["year"]) == (mails.get("a"), HARBOUR, 2020)
    assert "a" in mails
    assert 7 not in mails
    assert object() not in mails
    assert (len(mails), list(mails), dict.fromkeys(mails)) == (3, ["a", "b", "c"], dict.fromkeys("abc"))
    mails.put(7, "a whole number is an id, too")
    assert mails[7] == mails["7"]
    assert mails[7].as_dict()["id"] == "7"


def test_an_unknown_id_is_a_key_error_of_ours(mails: Collection) -> None:
    for error in (KeyError, InputError, UnknownIdError, NeardupError):
        with pytest.raises(error) as caught:
            mails["x"]
        assert str(caught.value).startswith("There is no document 'x' in ")
    for call in (mails.get, mails.remove, mails.group_of, lambda id: mails.compare("a", id)):
        with pytest.raises(UnknownIdError):
            call("x")
    with pytest.raises(UnknownIdError):
        mails.update_metadata("x", {})
    with pytest.raises(InputError, match="cannot be named"):
        mails[1.5]  # type: ignore[index]


def test_put_adds_or_replaces_and_again_changes_nothing(mails: Collection) -> None:
    new = mails.put("d", "a new text")
    again = [mails.put("d", "another text", {"n": 1}) for _ in range(2)]
    assert [(done.added, done.replaced) for done in (new, *again)] == [(1, 0), (0, 1), (0, 1)]
    assert (mails["d"].text, mails["d"].metadata, len(mails)) == ("another text", {"n": 1}, 4)
    near = mails.put("e", HARBOUR, near="80%", on_near="link")
    assert [(one.of, one.action) for one in near.near] == [("a", "linked")]
    assert_refused(
        (InputError, "not a record", lambda: mails.put("f", "text", ["no record"])),  # type: ignore[arg-type]
        (InputError, "a NoneType", lambda: mails.put("f", None)),  # type: ignore[arg-type]
    )
    assert "f" not in mails
    assert mails.check() == []


def test_records_are_added_with_any_json_as_metadata(mails: Collection) -> None:
    records: list[Any] = [
        {"id": "x", "text": "one text", "metadata": {"n": 1, "tags": ["p", 2, {"q": None}]}},
        {"id": 8, "text": "another text", "metadata": None},
        {"id": "y", "text": "third text", "metadata": {"n": "a string"}},
        {"id": "y2", "text": None},
    ]
    done = mails.add(iter(records))
    assert (done.added, done.rejected, done.notes) == (4, 0, ())
    assert [dict(mails[id].metadata) for id in ("x", "8", "y")] == [records[0]["metadata"], {}, {"n": "a string"}]
    assert [hit.id for hit in mails.search("n=1").hits] == ["x"]
    named = mails.add([{"doc_id": 1, "body": "first", "year": 2020, "more": 1}], metadata=["year"])
    assert mails["1"].metadata == {"year": 2020}
    assert each_has_parts(
        named.notes,
        ('"body"', "guessed; give text="),
        ('"doc_id"', "guessed; give id="),
        ("not stored: more", "metadata"),
    )
    assert mails.add([{"text": "without an id"}] * 2).added == 2
    assert list(mails)[-2:] == ["#9", "#10"]
    assert mails.check() == []


def test_records_that_cannot_be_kept_are_listed_by_their_row(tmp_path: Path) -> None:
    bad: list[Any] = [
        {"id": "a", "text": "kept"},
        {"id": "b"},
        ["no record"],
        {"id": None, "text": "no id"},
        {"id": "c", "text": 5},
        {"id": "", "text": "empty id"},
        {"id": "d", "text": "bad", "metadata": [1]},
        {"id": "e", "text": "kept, too"},
    ]
    seen: list[Any] = []
    with Collection(tmp_path / "made.neardup", on_problem=seen.append) as made:
        done = made.add(bad)
        assert (list(made), done.added, done.rejected) == (["a", "e"], 2, 6)
    assert [one.row for one in done.problems] == [2, 3, 4, 5, 6, 7]
    assert each_has_parts(
        [one.reason for one in done.problems],
        ("no text",),
        ("list, not a record",),
        ("id", "NoneType", "str or an int"),
        ("text", "int, not a str"),
        ("id is empty",),
        ("metadata", "list, not a record"),
    )
    assert seen == done.problems


def test_records_are_one_batch(mails: Collection) -> None:
    with pytest.raises(InputError):
        mails.add([{"id": "new", "text": "text"}] + [{"id": "a", "text": "text"}] * 600)
    assert "new" not in mails
    assert mails.add([{"id": "a", "text": "text"}], on_duplicate="skip").skipped == 1
    with pytest.raises(InputError, match=r"no text.*keys are n"):
        mails.add([{"n": 1}])
    assert mails.add(record for record in ()).added == 0


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ({}, {"year": 2020, "from": {"name": "ann"}}),
        ({"year": None}, {"from": {"name": "ann"}}),
        (
            {"from": {"age": 3}, "new": [1, None]},
            {"year": 2020, "from": {"name": "ann", "age": 3}, "new": [1, None]},
        ),
        ({"from": None, "missing": None}, {"year": 2020}),
        ({"from": "bob", "year": True}, {"year": True, "from": "bob"}),
        ({"year": {"of": {"birth": None}}}, {"year": {"of": {}}, "from": {"name": "ann"}}),
    ],
)
def test_metadata_is_merged(mails: Collection, changes: dict[str, Any], after: dict[str, Any]) -> None:
    mails.decide("a", "b", "duplicate")
    before = mails.groups().as_dict(), mails["a"].text, mails.changes()
    assert mails.update_metadata("a", changes) == dict(mails["a"].metadata) == after
    assert json.dumps(mails["a"].metadata, sort_keys=True) == json.dumps(after, sort_keys=True), "1 is not true"
    assert before == (mails.groups().as_dict(), mails["a"].text, mails.changes())
    assert mails.check() == []
    if "year" in after and after["year"] == 2020:
        assert [hit.id for hit in mails.search("year=2020").hits] == ["a"]
    else:
        assert "a" not in {hit.id for hit in mails.search("year=2020 OR year=2021").hits}


def test_metadata_beyond_the_limits_is_refused(mails: Collection) -> None:
    for changes in ({"k" * 2000: 1}, {"n": 10**400}, [1], {f"k{n}": n for n in range(1000)}):
        with pytest.raises(InputError):
            mails.update_metadata("a", changes)  # type: ignore[arg-type]
    assert mails["a"].metadata["year"] == 2020


def test_lists_go_on_while_documents_come_and_go(mails: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    mails.decide("a", "b", "duplicate")
    first = mails.list(limit=2)
    assert [(one.id, one.group, one.text, one.size) for one in first.documents] == [
        ("a", 1, None, len(TEXTS["a"])),
        ("b", 1, None, len(TEXTS["b"])),
    ]
    mails.remove("b")
    mails.put("d", "a new text")
    second = mails.list(first.next, 1, texts=True)
    last = mails.list(second.next)
    assert [one.text for one in second.documents] == [TEXTS["c"]]
    assert [one.id for one in last.documents] == ["d"]
    assert last.next is None
    assert mails.list(last.documents and 10**6).documents == ()
    monkeypatch.setattr(documents_of, "_TEXT_BYTES", len(TEXTS["a"]) + 5)
    pages = [mails.list(limit=10, texts=True)]
    while pages[-1].next is not None:
        pages.append(mails.list(pages[-1].next, texts=True))
    assert [[one.id for one in page.documents] for page in pages] == [["a"], ["c", "d"]]
    assert [one.as_dict() for one in mails.documents()] == [mails[id].as_dict() for id in mails]
    for limit in (0, 10_001, True):
        with pytest.raises(SettingError):
            mails.list(limit=limit)
    with pytest.raises(InputError):
        mails.list(after="a")  # type: ignore[arg-type]


def test_near_finds_by_shares_and_among_documents_that_fit(mails: Collection) -> None:
    quote = " ".join(HARBOUR.split()[:8])
    found = [hit.id for hit in mails.near(quote, overlap="80%").hits]
    assert found == [hit.id for hit in mails.near(quote, overlap=0.8).hits] == ["a", "b"]
    assert found == [hit.id for hit in mails.search(f'TEXT:"{quote}"_80').hits]
    page = mails.near(quote, overlap=0.8, probability="95%", where="year>2020 AND from.name=ann")
    assert [(hit.id, hit.evidence and hit.evidence.in_hit) for hit in page.hits] == [("b", 1.0)]
    assert page.query == f'FINGERPRINT:TEXT:"{quote}"_80_95 AND year>2020 AND from.name=ann'
    assert [hit.id for hit in mails.near(HARBOUR, overlap=0.9, measure="resemblance").hits] == ["a"]
    first = mails.near(quote, limit=1)
    assert [hit.id for hit in mails.near(quote, limit=1, after=first.next).hits] == ["b"]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"overlap": 80}, SettingError, "overlap is 80. .* Did you mean 0.8?"),
        ({"overlap": "0%"}, SettingError, "overlap is 0.0"),
        ({"probability": 0.9}, SettingError, "probability is given without overlap"),
        ({"measure": "cosine"}, SettingError, "measure is 'cosine'"),
        ({"where": "EXPLAIN year=2020"}, QueryError, "where begins with EXPLAIN"),
        ({"where": "colour=red"}, QueryError, "No document has metadata under this name"),
        ({"where": "year="}, QueryError, "Expected a value here"),
        ({"limit": 0}, SettingError, "limit = 0"),
    ],
)
def test_wrong_questions_are_refused(
    mails: Collection, given: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        mails.near(HARBOUR, **given)


def test_texts_without_words_point_at_no_place_of_where(mails: Collection) -> None:
    with pytest.raises(QueryError) as caught:
        mails.near("…", where="year=2020")
    assert has_parts(str(caught.value), "no word", "Allowed:")
    with pytest.raises(InputError):
        mails.near(5)  # type: ignore[arg-type]


def test_a_percent_sign_and_a_warning_where_a_half_is_meant(mails: Collection) -> None:
    assert [hit.id for hit in mails.search("FINGERPRINT:a_80%_95%").hits] == ["b"]
    assert str(mails.search('SIMILAR:"a"_50%').query) == 'SIMILAR:"a"_50'
    for query, said in (
        ("FINGERPRINT:a_0.5", "_0.5 means 0.5 per cent. Write _50 for 50 per cent, or else _0.5%"),
        ('FINGERPRINT:"a"_50_0.95', "_0.95 means 0.95 per cent. Write _95 for 95 per cent, or else _0.95%"),
        (f'year=2020 OR TEXT:"{HARBOUR}"_0.125', "_0.125 means 0.125 per cent. Write _12.5 for"),
    ):
        with pytest.warns(UserWarning, match=said.replace(".", r"\.")):
            page = mails.search(query)
        assert len(page.warnings) == len(page.as_dict()["warnings"]) == 1
    for query in ("FINGERPRINT:a_0.5%", "FINGERPRINT:a_1", "FINGERPRINT:a", "FINGERPRINT:a_50_95"):
        assert mails.search(query).warnings == ()
    mails.put("a_0.5", HARBOUR)
    with pytest.raises(QueryError, match="one meaning"):
        mails.search("FINGERPRINT:a_0.5")
    assert mails.search('FINGERPRINT:"a_0.5"').warnings == ()


def test_documents_are_exported_and_come_back(mails: Collection, tmp_path: Path) -> None:
    mails.decide("a", "b", "duplicate")
    mails.put("é\u2028", 'quotes " and\nline ends', {"deep": {"er": [1, 2.5, None, True]}})
    assert mails.export(tmp_path / "out.jsonl") == mails.export(tmp_path / "out.parquet") == 4
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").split("\n")[:-1]]
    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert rows == [{**row, "metadata": json.loads(row["metadata"])} for row in table]
    assert [(row["id"], row["role"], row["group"]) for row in rows[:3]] == [
        ("a", "document", 1),
        ("b", "document", 1),
        ("c", "document", None),
    ]
    with Collection(tmp_path / "again.neardup") as again:
        again.add(iter(rows))
        assert [one.as_dict() for one in again.documents()] == [one.as_dict() for one in mails.documents()]


def test_documents_that_stay_are_exported(tmp_path: Path) -> None:
    """Of a group the representative, and members that a person keeps; everything in no group."""
    with Collection(tmp_path / "made.neardup") as made:
        made.add([{"id": id, "text": f"{HARBOUR} {id}"} for id in "abcd"], near=0.5, on_near="link")
        made.add([{"id": id, "text": f"another text {id * 40}"} for id in "ef"])
        [group] = made.groups().groups
        assert {member.id for member in group.members} == set("abcd")

        def kept(*more: Any) -> list[str]:
            made.export(tmp_path / "kept.jsonl", overwrite=True, kept=True)
            listed = [one.id for one in made.list().documents if one.kept]
            exported = b"".join(made.exported(kept=True)).decode().splitlines()
            assert [json.loads(line)["id"] for line in exported] == listed
            assert (tmp_path / "kept.jsonl").read_text("utf-8").splitlines() == exported
            return listed

        assert kept() == ["a", "e", "f"]
        made.decide("b", "c", "keep both")
        assert kept() == ["a", "b", "c", "e", "f"]
        made.decide("b", "c", "duplicate")
        made.decide("a", "d", "not alike")
        assert kept() == ["a", "d", "e", "f"]
        made.decide("e", "f", "duplicate")
        assert kept() == ["a", "d", "e"]


def test_an_export_is_of_one_state(mails: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_of, "_PAGE", 1)
    listing, added = mails.list, []

    def slowly(*given: Any, **more: Any) -> Any:
        import threading

        worker = threading.Thread(target=lambda: mails.put(f"new {len(added)}", "text"))
        worker.start()
        worker.join()
        added.append(1)
        return listing(*given, **more)

    monkeypatch.setattr(mails, "list", slowly)
    assert mails.export(tmp_path / "out.jsonl") == 3
    assert len(mails) == 3 + len(added) > 3


def test_an_export_replaces_only_exports(mails: Collection, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    mails.export(out)
    with pytest.raises(OutputError):
        mails.export(out)
    mails.remove("a")
    assert mails.export(out, overwrite=True) == 2
    with pytest.raises(SettingError):
        mails.export(tmp_path / "out.csv")
    assert mails.export(tmp_path / "other", "jsonl") == 2
    mine = tmp_path / "mine.jsonl"
    mine.write_text("mine")
    with pytest.raises(OutputError):
        mails.export(mine, overwrite=True)
    assert mine.read_text() == "mine"
    with Collection(tmp_path / "empty.neardup") as empty:
        assert empty.export(tmp_path / "none.parquet") == 0
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0


def test_a_backup_opens_and_passes_check_and_is_as_private(mails: Collection, tmp_path: Path) -> None:
    mails.put("near", HARBOUR, near=0.8, on_near="link")
    mails.path.chmod(0o600)
    mails.backup(tmp_path / "copy.neardup")
    assert stat.S_IMODE((tmp_path / "copy.neardup").stat().st_mode) == 0o600
    mails.remove("a")
    with Collection(tmp_path / "copy.neardup") as copy:
        assert (list(copy), copy.check()) == (["a", "b", "c", "near"], [])
        assert copy.groups().groups[0].representative == "a"
        assert [hit.id for hit in copy.near(HARBOUR, overlap=1).hits] == ["a", "b", "near"]
        copy.put("more", "text")
    assert "more" not in mails
    with pytest.raises(OutputError, match="exists already"):
        mails.backup(tmp_path / "copy.neardup")


def test_changes_of_metadata_are_part_of_a_batch(mails: Collection) -> None:
    with mails.together():
        mails.put("d", "a new text", {"n": 1})
        mails.update_metadata("d", {"n": 2})
        with pytest.raises(UnknownIdError):
            mails.update_metadata("x", {"n": 2})
    assert mails["d"].metadata == {"n": 2}
    assert mails.check() == []
