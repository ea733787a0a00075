from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.columns import find_labels, join_ids
from support.messages import each_has_parts, has_parts


def documents(**columns: object) -> object:
    return open_documents(pa.table({name: pa.array(values) for name, values in columns.items()}))


def choose(docs: object, text: str | None = None, id: str | None = None) -> tuple[str, str | None]:
    chosen = choose_columns(docs, text, id)  # type: ignore[arg-type]
    return chosen.text, chosen.id


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["url", "body", "text"], "text"),
        (["title", "Content"], "Content"),
        (["title", "page", "message"], "message"),
        (["title"], "title"),
        (["RAW_CONTENT", "url"], "RAW_CONTENT"),
    ],
)
def test_the_text_is_guessed_by_name(names: list[str], text: str) -> None:
    assert choose(documents(**{name: ["x"] for name in names}))[0] == text


def test_a_named_column_of_another_kind_is_not_guessed() -> None:
    assert choose(documents(text=[1], body=["a"], other=["b"]))[0] == "body"


def test_else_the_longest_is_taken() -> None:
    docs = documents(lang=["en", "de"], story=["long " * 9, None], title=["short", "x"])
    chosen = choose_columns(docs, None, None)  # type: ignore[arg-type]
    assert chosen.text == "story"
    assert [has_parts(note, '"story"', "guessed", "--text") for note in chosen.notes] == [True]


@pytest.mark.parametrize("name", ["id", "doc_id", "UUID", "path", "url"])
def test_the_id_is_guessed_by_name(name: str) -> None:
    assert choose(documents(text=["a"], **{name: ["x"]})) == ("text", name)


def test_no_id() -> None:
    assert choose(documents(text=["a"], id=[1.5], lang=["en"])) == ("text", None)
    assert choose(documents(url=["a"])) == ("url", None)


def test_guesses_are_told_and_names_are_not() -> None:
    docs = documents(id=[1], text=["a"], body=["b"])
    assert each_has_parts(
        choose_columns(docs, None, None).notes,  # type: ignore[arg-type]
        ('text column: "text"', "guessed", "--text"),
        ('id column: "id"', "guessed", "--id"),
    )
    assert choose_columns(docs, "body", "id").notes == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "id", "message"),
    [
        ("txet", None, 'no column "txet".*One of id, text, tags, n.*Did you mean "text"'),
        ("zzz", None, "Choose one with text"),
        (None, "ID", 'Did you mean "id"'),
        ("n", None, "kind is number.*A column of strings: text"),
        ("id", None, "kind is integer"),
        ("tags", None, "kind is other"),
        ("text", "n", "cannot be the id"),
        ("text", "tags", "cannot be the id"),
    ],
)
def test_names_that_will_not_do(text: str | None, id: str | None, message: str) -> None:
    docs = documents(id=[1], text=["a"], tags=[["x"]], n=[1.5])
    with pytest.raises(InputError, match=message):
        choose(docs, text, id)


def test_ids_of_several_chunks_are_joined() -> None:
    integers, strings = pa.array([1, None]), pa.chunked_array([["a"], ["b"]])
    assert join_ids([integers, integers]).type == pa.int64()
    joined = join_ids([integers, strings.cast(pa.large_string())])
    assert joined.type == pa.large_string()
    assert joined.to_pylist() == ["1", None, "a", "b"]
    assert len(join_ids([])) == 0


@pytest.mark.parametrize(("values", "holds"), [([0.5, 2], "numbers"), ([["a"], ["b"]], "values of other types")])
def test_values_of_lines_that_are_no_labels_are_refused(values: list[object], holds: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": "a", "of": value, "is": "b"}) + "\n" for value in values))
    opened = open_documents(path)
    find_labels(opened, "is", "--by")
    with pytest.raises(InputError) as refused:
        find_labels(opened, "of", "--by")
    assert has_parts(str(refused.value), '"of"', holds)


def test_columns_of_several_kinds_are_conflicts_and_numbers_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a", "of": "x", "size": 1, "both": 2}\n')
    pq.write_table(pa.table({"text": ["b"], "of": ["y"], "size": [0.5], "both": ["z"]}), tmp_path / "b.parquet")
    opened = open_documents([tmp_path / "a.jsonl", tmp_path / "b.parquet"])
    assert {*opened.conflicts} == {"both"}  # type: ignore[attr-defined]
