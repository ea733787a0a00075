"""``Collection``: documents are added, replaced, removed and reported."""

import os
import threading
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import neardup as nd
from neardup.collection import Collection
from neardup.errors import FormatError, InputError, OutputError, SettingError, UnknownIdError
from neardup.unicode import tokens
from support import shared_data
from support.made_collections import write_documents

TEXTS = {"a": "the first text of all", "b": "a second text", "c": "and a third one"}


def table(texts: dict[str, str], **columns: list[object]) -> pa.Table:
    return pa.table({"id": list(texts), "text": list(texts.values()), **columns})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some mails %20?#.neardup"


@pytest.fixture
def collection(path: Path) -> Iterator[Collection]:
    with Collection(path) as made:
        yield made


def test_documents_are_kept_from_one_opening_to_the_next(path: Path) -> None:
    with nd.Collection(path, scale=4) as made:
        assert (made.add(table(TEXTS)).added, len(made), list(made)) == (3, 3, ["a", "b", "c"])
    with Collection(path) as again:
        assert {id: again.get(id).text for id in again} == TEXTS
        assert again.settings.scale == 4
        assert "a" in again
        assert "d" not in again
        assert None not in again
        assert again.check() == []
    assert sorted(os.listdir(path.parent)) == [path.name]


@pytest.mark.parametrize("kind", ["jsonl", "arrow", "batches", "pandas"])
def test_the_same_kinds_of_documents_as_find(collection: Collection, tmp_path: Path, kind: str) -> None:
    whole = table(TEXTS)
    documents = {
        "jsonl": write_documents(tmp_path / "in.jsonl", TEXTS),
        "arrow": whole,
        "batches": iter(whole.to_batches(max_chunksize=1)),
        "pandas": whole.to_pandas() if kind == "pandas" else None,
    }[kind]
    collection.add(documents)
    assert {id: collection.get(id).text for id in collection} == TEXTS


def test_documents_without_ids_are_named(collection: Collection, tmp_path: Path) -> None:
    collection.add(["one", "two"])
    collection.add(iter(["three"]))
    (tmp_path / "lines.jsonl").write_text('{"text": "four"}\n{"text": "five"}\n', encoding="utf-8")
    (tmp_path / "letter.txt").write_text("six", encoding="utf-8")
    collection.add(tmp_path / "lines.jsonl")
    collection.add(tmp_path / "letter.txt")
    *named, line, other, letter = collection
    assert named == ["#1", "#2", "#3"]
    assert line.endswith("lines.jsonl#0")
    assert other.endswith("lines.jsonl#1")
    assert letter.endswith("letter.txt")


def test_a_made_up_name_replaces_nobody(collection: Collection) -> None:
    collection.add(table({"#2": "the user's own"}))
    with pytest.raises(InputError):
        collection.add(["one"], on_duplicate="replace")
    assert collection.get("#2").text == "the user's own"


def test_ids_that_are_numbers_are_their_digits(collection: Collection) -> None:
    collection.add(pa.table({"id": [7, 2**60], "text": ["x", "y"]}))
    assert list(collection) == ["7", str(2**60)]
    assert collection.get(7) == collection.get("7")
    assert collection.remove([7, str(2**60)]) == 2


def test_an_id_that_is_there_is_an_error_and_adds_nothing(collection: Collection) -> None:
    collection.add(table(TEXTS))
    for wrong in ({"new": "x", "b": "other"}, {"new": "x"}):
        again = table(wrong) if "b" in wrong else pa.concat_tables([table(wrong), table(wrong)])
        with pytest.raises(InputError):
            collection.add(again)
        assert list(collection) == list(TEXTS)
    with pytest.raises(SettingError):
        collection.add(table(TEXTS), on_duplicate="merge")  # type: ignore[arg-type]


def test_replacing_and_skipping(collection: Collection) -> None:
    collection.add(table(TEXTS, year=[1, 2, 3]), metadata=["year"])
    twice = pa.concat_tables([table({"b": "new b", "d": "first d"}), table({"d": "last d"})])
    done = collection.add(twice, on_duplicate="skip")
    assert (done.added, done.replaced, done.skipped) == (1, 0, 2)
    assert (collection.get("b").text, collection.get("d").text) == (TEXTS["b"], "first d")
    done = collection.add(twice, on_duplicate="replace")
    assert (done.added, done.replaced, done.skipped) == (0, 3, 0)
    assert (collection.get("b").text, collection.get("d").text) == ("new b", "last d")
    assert (collection.get("a").metadata, collection.get("b").metadata) == ({"year": 1}, {})
    assert list(collection) == ["a", "b", "c", "d"]
    assert collection.check() == []


TEXT = st.text("ab .", max_size=8)
STEP = st.tuples(
    st.sampled_from(["replace", "skip", "remove", "compact"]),
    st.dictionaries(st.sampled_from("pqrs"), TEXT, min_size=1, max_size=3),
)


@given(st.lists(STEP, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_history_leaves_what_a_dict_would_hold(
    tmp_path: Path, steps: list[tuple[str, dict[str, str]]]
) -> None:
    path, known = tmp_path / "any.neardup", dict[str, str]()
    path.unlink(missing_ok=True)
    with Collection(path, scale=1, length=2) as made:
        for what, texts in steps:
            if what == "remove":
                assert made.remove(texts, missing="ignore") == len(set(texts) & set(known))
                known = {id: text for id, text in known.items() if id not in texts}
            elif what == "compact":
                made.compact()
            else:
                made.add(table(texts), on_duplicate=what)  # type: ignore[arg-type]
                known = {**known, **texts} if what == "replace" else {**texts, **known}
        assert {id: made.get(id).text for id in made} == known
        assert made.check() == []
        holding = {id for id, text in known.items() if "a" in tokens(text)}
        found = dict(made.store.page(0, 99))
        assert {found[number] for number in made.store.containing(["a"]).tolist()} == holding


def test_an_unknown_id_removes_nothing(collection: Collection) -> None:
    collection.add(table(TEXTS))
    with pytest.raises(InputError, match="no document 'x', 'y', 'z' and 1 more"):
        collection.remove(["a", "x", "y", "z", "zz"])
    assert len(collection) == 3
    assert collection.remove(["a", "x"], missing="ignore") == 1
    with pytest.raises(UnknownIdError):
        collection.get("a")


@pytest.mark.parametrize("id", ["", "x" * 1025, "ä" * 513, "\ud800"])
def test_names_that_cannot_be_kept(collection: Collection, id: str) -> None:
    with pytest.raises(InputError, match="cannot be named"):
        collection.get(id)
    assert id not in collection
    data = id.encode("utf-8", "surrogatepass")
    done = collection.add(pa.table({"id": [b"good", data], "text": ["x", "y"]}), id="id", text="text")
    assert (done.added, done.rejected, list(collection)) == (1, 1, ["good"])
    assert done.problems[0].row == 1


def test_rows_that_cannot_be_read_are_told(collection: Collection, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": "a", "text": "x"}\nnonsense\n{"id": "", "text": "x"}\n', encoding="utf-8")
    done = collection.add(path, text="text", id="id")
    assert (done.added, done.rejected) == (1, 2)
    assert {problem.row for problem in done.problems} == {1, 2}


def test_metadata_is_kept_as_json_has_it(collection: Collection) -> None:
    columns = {
        "day": [date(2020, 1, 31)],
        "at": [datetime(2020, 1, 31, 12, 30)],
        "price": [Decimal("1.50")],
        "bytes": [b"caf\xff"],
        "none": [None],
        "list": [["x", "y"]],
        "record": [{"name": "ann", "n": 3}],
    }
    collection.add(table({"a": "text"}, **columns), metadata=list(columns), text="text", id="id")
    assert collection.get("a").metadata == {
        "day": "2020-01-31",
        "at": "2020-01-31T12:30:00",
        "price": 1.5,
        "bytes": "caf\ufffd",
        "none": None,
        "list": ["x", "y"],
        "record": {"name": "ann", "n": 3},
    }
    assert collection.store.where("day", ">=", "2020").tolist() == [1]
    assert collection.store.where("record.n", "<", 4).tolist() == [1]
    assert collection.check() == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -np.inf, np.float32("nan"), Decimal("NaN")])
def test_numbers_that_json_lacks_are_refused_everywhere(collection: Collection, value: Any) -> None:
    metadata = {"year": 2020, "scores": {"first": [1, value]}}
    refused: list[Callable[[], object]] = [
        lambda: collection.put("a", "text", metadata),
        lambda: collection.prepare(["a"], ["text"], [metadata]),
        lambda: collection.update_metadata("known", {"scores": metadata["scores"]}),
    ]
    collection.put("known", "text", {"year": 2019})
    for act in refused:
        with pytest.raises(InputError, match=r"in 'scores.first', which JSON cannot represent"):
            act()
    assert collection["known"].metadata == {"year": 2019}
    done = collection.add(
        [{"id": "a", "text": "t", "metadata": metadata}, {"id": "b", "text": "t", "metadata": {}}]
    )
    assert (done.added, done.rejected) == (1, 1)
    assert "scores.first" in done.problems[0].reason
    rows = table({"c": "text", "d": "text"}, score=[float(value), 1.0])
    done = collection.add(rows, metadata=["score"], text="text", id="id")
    assert (done.added, done.rejected, "c" in collection) == (1, 1, False)


def test_columns_that_are_not_there(collection: Collection) -> None:
    with pytest.raises(InputError):
        collection.add(table(TEXTS, year=[1, 2, 3]), metadata=["yeer"])
    with pytest.raises(InputError, match="metadata is 'year'"):
        collection.add(table(TEXTS, year=[1, 2, 3]), metadata="year")


def test_nothing_to_add_is_accepted(collection: Collection) -> None:
    assert collection.add([]).added == 0
    assert collection.add(table({})).added == 0
    assert collection.remove([]) == 0
    assert bool(collection)


def test_info_counts(collection: Collection) -> None:
    collection.add(table(TEXTS))
    known = collection.info()
    assert known["documents"] == 3
    assert known["bytes"]["text"] == sum(len(text) for text in TEXTS.values())
    assert known["tokens"] == sum(len(tokens(text)) for text in TEXTS.values())
    assert known["settings"] == {"length": 5, "slots": 64, "scale": 5, "floor": 8}


def test_what_was_removed_is_in_no_byte_of_the_file(path: Path) -> None:
    secret = "xylophonesecret"
    with Collection(path) as made:
        made.add(shared_data_table(), on_duplicate="skip")
        made.add(table({secret + "id": f"the {secret} word " * 40}, name=[secret + "name"]), metadata=["name"])
        assert secret.encode() in everything(path)
        made.remove([secret + "id"])
        assert made.store.containing([secret]).tolist() == []
        made.compact()
        assert made.check() == []
        assert secret.encode() not in everything(path)


def shared_data_table() -> pa.Table:
    return table(dict(list(shared_data.documents(shared_data.or_own("site_policy")).items())[:20]))


def everything(path: Path) -> bytes:
    return b"".join(other.read_bytes() for other in sorted(path.parent.iterdir()))


def test_reading_only(path: Path) -> None:
    with pytest.raises(InputError):
        Collection(path, readonly=True)
    assert not path.exists()
    Collection(path).close()
    with Collection(path, readonly=True) as made:
        for change in (lambda: made.add(["x"]), lambda: made.remove("x"), made.compact):
            with pytest.raises(OutputError, match="reading only"):
                change()
        assert made.check() == []


def test_settings_are_those_of_the_file(path: Path) -> None:
    with pytest.raises(SettingError):
        Collection(path, scale=0)
    with pytest.raises(SettingError):
        Collection(path, wait=-1)
    assert not path.exists()
    Collection(path, scale=8, floor=2).close()
    Collection(path, scale=8).close()
    with pytest.raises(SettingError):
        Collection(path, scale=9, floor=3)
    with pytest.raises(SettingError):
        Collection(path, skale=9)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        Collection(tmp_path / "none" / "x.neardup")
    with pytest.raises((FormatError, InputError)):
        Collection(tmp_path)


def test_two_that_make_it_at_once_share_it(path: Path) -> None:
    made: list[Collection] = []
    threads = [threading.Thread(target=lambda: made.append(Collection(path))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6
    made[0].add(["one"])
    assert [len(one) for one in made] == [1] * 6
    for one in made:
        one.close()
    assert os.listdir(path.parent) == [path.name]
