"""Texts of several columns and nested fields: the same from every format; errors name the nearest field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import neardup as nd
from neardup.cli.app import app
from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.fields import joined_name, paths_of

BODY = "the harbour office asks for the keys of the blue shed by noon"
ROWS: list[dict[str, Any]] = [
    {
        "title": "Keys",
        "body": BODY,
        "meta": {"body": BODY, "id": "a", "lines": ["one", None, "two"]},
        "messages": [{"role": "user", "content": "Where?"}, None, {"role": "bot", "content": BODY}],
        "number": 1,
        "a.b": "dotted",
        "c,d": "with a comma",
    },
    {
        "title": "Keys, again",
        "body": None,
        "meta": {"body": f"{BODY} today", "id": "b", "lines": []},
        "messages": [{"role": "user", "content": f"{BODY} today"}],
        "number": 2,
        "a.b": None,
        "c,d": "x",
    },
    {"title": None, "body": None, "meta": None, "messages": None, "number": 3, "a.b": None, "c,d": None},
]
TEXTS: list[tuple[str | list[str], list[str | None]]] = [
    ("title,body", [f"Keys\n{BODY}", "Keys, again", None]),
    ("body,title", [f"{BODY}\nKeys", "Keys, again", None]),
    ("meta.body", [BODY, f"{BODY} today", None]),
    ("meta.lines[]", ["one\ntwo", None, None]),
    ("messages[].content", [f"Where?\n{BODY}", f"{BODY} today", None]),
    (["title", "messages[].content"], [f"Keys\nWhere?\n{BODY}", f"Keys, again\n{BODY} today", None]),
    ("a.b", ["dotted", None, None]),
    ("c,d", ["with a comma", "x", None]),
    (["a.b", "c,d", "title"], ["dotted\nwith a comma\nKeys", "x\nKeys, again", None]),
]


@pytest.fixture(params=["jsonl", "parquet", "arrow", "table"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    table = pa.Table.from_pylist(ROWS)
    if request.param == "table":
        return table
    path = tmp_path / f"rows.{request.param}"
    if request.param == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    elif request.param == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    return path


def texts_of(source: Any, text: str | list[str], id: str | None = None) -> tuple[list[str | None], list[Any]]:
    documents = open_documents(source if isinstance(source, pa.Table) else str(source))
    chosen = choose_columns(documents, text, id)
    names = [chosen.text, *([chosen.id] if id else [])]
    texts: list[str | None] = []
    ids: list[Any] = []
    for chunk in documents.chunks(None, names):
        read = chunk.read(names)
        assert not len(read.problems)
        texts += [value.decode() if isinstance(value, bytes) else value for value in read.table[0].to_pylist()]
        ids += read.table[1].to_pylist() if id else []
    return texts, ids


@pytest.mark.parametrize(("text", "expected"), TEXTS, ids=lambda value: str(value)[:30])
def test_every_format_has_the_same_texts(source: Any, text: str | list[str], expected: list[str | None]) -> None:
    assert texts_of(source, text)[0] == expected


def test_an_id_may_be_in_a_record(source: Any) -> None:
    assert texts_of(source, "title", "meta.id")[1] == ["a", "b", None]


def test_columns_of_csv_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f'title,"a,b",body\nKeys,x,{BODY}\nLate,y,\n', encoding="utf-8")
    assert texts_of(path, "title,body")[0] == [f"Keys\n{BODY}", "Late\n"]
    assert texts_of(path, ["a,b", "title"])[0] == ["x\nKeys", "y\nLate"]
    assert texts_of(path, '"a,b",title')[0] == ["x\nKeys", "y\nLate"]


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("titel,body", r'no column "titel".*Did you mean "title"\?'),
        ("meta.bdy", r'no field "meta.bdy"\. Allowed: One of meta\.\w+.*Did you mean "meta.body"\?'),
        ("messages.content", r'"messages" is a list, .*messages\[\]\.content'),
        ("messages[].contnt", r'Did you mean "messages\[\].content"\?'),
        (
            "messages[]",
            r"its type is a record.*messages\[\]\.(role, messages\[\]\.content|content, messages\[\]\.role)",
        ),
        ("meta", r'"meta" cannot be the text.*or a field: meta\.body'),
        ("number.x", r'"number" holds no records or lists'),
        ("number,title", r'"number" cannot be the text: its kind is integer'),
        ("meta.lines[].x", "takes it for a record"),
        ("title,", "a part of it is empty"),
        ("title,title", "names a part twice"),
        ("meta..body", r"neither \.FIELD nor \[\]"),
        (".body", "begins with no column"),
        ("title" + "[]" * 20, "nested too deeply"),
    ],
)
def test_errors_name_the_nearest_field(source: Any, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        texts_of(source, text)


@pytest.mark.parametrize("id", ["messages[].role", "meta.id,title", "meta.lines"])
def test_an_id_is_one_value_a_row(source: Any, id: str) -> None:
    with pytest.raises(InputError, match="cannot be the id"):
        texts_of(source, "title", id)


def test_a_value_of_another_type_is_a_problem_of_its_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [{"m": {"b": BODY}}, {"m": {"b": 3}}, {"m": "text"}, {"other": 1}, {"m": {"b": f"{BODY} now"}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = nd.find(path, text="m.b")
    assert [problem.row for problem in found.problems] == [1, 2]
    assert found.run.counts.null == 1
    assert len(found.pairs) == 1


def test_a_shingle_reaches_across_parts_as_across_lines(tmp_path: Path) -> None:
    table = pa.table({"title": ["one two", "one two three"], "body": ["three four five six", "four five six"]})
    found = nd.find(table, text="title,body", length=3)
    assert [(row["copy_of"], row["id"]) for row in found.copies.to_pylist()] == [(0, 1)]


def test_the_parts_make_the_pairs_of_the_joined_text(source: Any, tmp_path: Path) -> None:
    found = nd.find(source, text=["title", "messages[].content"], threshold=0.5)
    expected = nd.find(["\n".join(filter(None, [text])) for text in TEXTS[5][1] if text], threshold=0.5)
    counts = ("shared", "size_a", "size_b")
    assert [[row[name] for name in counts] for row in found.pairs.to_pylist()] == [
        [row[name] for name in counts] for row in expected.pairs.to_pylist()
    ]
    if isinstance(source, pa.Table):  # documents in memory are not read again
        return
    found.save(tmp_path / "out")
    again = nd.load(tmp_path / "out")
    assert again.look(again.pairs["id_b"][0].as_py()).text == TEXTS[5][1][1]
    assert again.run.columns.text == "title,messages[].content"


def test_kept_rows_are_the_lines_of_the_input(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out"
    lines = [json.dumps(row) + " \n" for row in ROWS]
    path.write_text("".join(lines), encoding="utf-8")
    names = ["--text", "title", "--text", "messages[].content", "--id", "number", "--threshold", "0.5"]
    done = CliRunner().invoke(app, ["dedup", str(path), "-o", str(out), *names])
    assert done.exit_code == 0, done.output
    assert (out / "kept.jsonl").read_text(encoding="utf-8") == lines[1] + lines[2]


def test_real_names_come_first() -> None:
    assert paths_of("a.b", ["a", "a.b"]) is None
    assert [path.spelled for path in paths_of("a.b.c", ["a", "a.b"]) or ()] == ["a.b.c"]
    assert (paths_of("a.b.c", ["a", "a.b"]) or [None])[0].root == "a.b"  # type: ignore[union-attr]
    assert joined_name(["c,d", 'e"f', "g"]) == '"c,d","e""f",g'
