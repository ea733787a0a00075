from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.base import Documents
from neardup.io.readers.columns import find_column, offer_fields
from neardup.io.readers.jsonl import SAMPLE_ROWS
from neardup.io.readers.lines import with_keys
from support.reading import lines_of, read_all


def opened(path: Path, content: bytes, text: str | None = None, id: str | None = None) -> Documents:
    path.write_bytes(content)
    documents = open_documents(path, chunk_bytes=200)
    choose_columns(documents, text, id)
    return documents


def texts(documents: Documents, name: str = "text") -> list[bytes | None]:
    return [row[name] for row in read_all(documents, [name])[0]]


ROWS = [{"id": i, "text": f"text {i} " * (i % 9), "n": i / 2, "more": {"a": [i]}} for i in range(300)]
LINES = [json.dumps(row).encode() for row in ROWS]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_rows(tmp_path: Path, end: bytes, last: bool) -> None:
    content = end.join(LINES) + (end if last else b"")
    documents = opened(tmp_path / "a.jsonl", content)
    got, numbers, problems = read_all(documents, ["id", "text", "n"])
    assert got == [{"id": r["id"], "text": r["text"].encode(), "n": r["n"]} for r in ROWS]  # type: ignore[attr-defined]
    assert numbers == list(range(300))
    assert not problems
    assert b"".join(lines_of(documents)) == content


def test_columns_and_kinds(tmp_path: Path) -> None:
    documents = opened(
        tmp_path / "a.jsonl",
        b'{"text":"a","i":1,"n":1,"u":null,"b":true,"l":[]}\n{"text":null,"n":1.5,"z":"q"}',
    )
    kinds = {column.name: column.kind for column in documents.columns}
    assert kinds == {
        "text": "text",
        "i": "integer",
        "n": "number",
        "u": "text",
        "b": "truth",
        "l": "other",
        "z": "text",
    }


def test_bad_lines_are_problems_and_the_good_rows_stay(tmp_path: Path) -> None:
    lines = [
        b'{"text": "good 0", "id": 1}',
        b'{"text": "broken',
        b'{"text": 5}',
        b'{"id": 7}',
        b"[1, 2]",
        b'"text"',
        b'{"text": "a"} {"text": "b"}',
        b'{"text": "id of another type", "id": 1.5}',
        b'{"text": "id is true", "id": true}',
        b'{"text": null}',
        b"",
        b"   \t",
        b'{"text": "raw \x00 NUL"}',
        b'{"text": "good 13", "id": "x"}',
    ]
    documents = opened(tmp_path / "a.jsonl", b"\n".join([*lines, *([b'{"text": "more", "id": "y"}'] * 5)]))
    got, numbers, problems = read_all(documents, ["text", "id"])
    assert [row["text"] for row in got][:3] == [b"good 0", None, b"good 13"]
    assert numbers == [0, 9, 13, 14, 15, 16, 17, 18]
    assert [p.row for p in problems] == [1, 2, 3, 4, 5, 6, 7, 8, 12]
    reasons = {p.row: p.reason for p in problems}
    assert reasons[1].startswith("not JSON")
    assert "str" in reasons[2]
    assert "missing" in reasons[3]
    assert [p.raw for p in problems] == [lines[p.row or 0].decode() for p in problems]
    assert lines_of(documents)[:3] == [lines[0] + b"\n", lines[9] + b"\n", lines[13] + b"\n"]


def test_values_over_line_ends_are_not_taken_for_lines(tmp_path: Path) -> None:
    # As many values as lines, but not one per line.
    content = b'{"text":"a"}{"text":"b"}\n{"text":\n"c"}\n'
    documents = opened(tmp_path / "a.jsonl", b'{"text":"0"}\n' + content)
    assert read_all(documents, ["text"])[1] == [0]


def test_what_other_programs_write(tmp_path: Path) -> None:
    lines = [
        b'{"text": "lone \\ud800 half", "id": 0}',
        b'{"text": "pair \\ud83d\\ude00", "id": 1}',
        b'{"text": "latin \xe9", "id": 2}',
        b'{"text": "NaN", "id": 3, "n": NaN}',
        b'{"text": "first", "text": "last", "id": 4}',
        b'{"id": 5, "te\\u0078t": "escaped key"}',
    ]
    documents = opened(tmp_path / "a.jsonl", b"\n".join(lines))
    wanted = ["lone � half", "pair 😀", "latin é", "NaN", "last", "escaped key"]
    assert [t.decode() for t in texts(documents) if t is not None] == wanted
    lines[2] = lines[2].decode("latin-1").encode()
    assert lines_of(documents) == [line + b"\n" for line in lines[:-1]] + lines[-1:]


def test_a_byte_order_mark(tmp_path: Path) -> None:
    documents = opened(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"text":"a"}\n{"text":"b"}\n')
    assert texts(documents) == [b"a", b"b"]


def test_ids_keep_their_type_as_far_as_a_chunk_allows(tmp_path: Path) -> None:
    content = b"".join(b'{"text":"%s","id":%s}\n' % (b"x" * 150, i) for i in (b"1", b'"two"', b"null", b"9" * 30))
    documents = opened(tmp_path / "a.jsonl", content)
    types = [chunk.read(["id"]).table["id"] for chunk in documents.chunks()]
    assert [t.type for t in types] == [pa.int64(), pa.large_string(), pa.int64(), pa.large_string()]
    assert [t.to_pylist() for t in types] == [[1], ["two"], [None], ["9" * 30]]


def test_a_line_of_50_megabytes(tmp_path: Path) -> None:
    long = "word " * 10_000_000
    content = b'{"text":"a"}\n' + json.dumps({"text": long}).encode() + b'\n{"text":"b"}\n'
    (tmp_path / "a.jsonl").write_bytes(content)
    documents = open_documents(tmp_path / "a.jsonl")
    choose_columns(documents, None, None)
    got = [t for chunk in documents.chunks() for t in chunk.read(["text"]).table["text"].to_pylist()]
    assert got == ["a", long, "b"]


def test_deep_nesting_is_a_problem(tmp_path: Path) -> None:
    levels = 2_000_000  # from Python 3.14 on, as many are read as the stack of the thread has room for
    deep = b'{"text":"x","y":' + b"[" * levels + b"]" * levels + b"}"
    documents = opened(tmp_path / "a.jsonl", b'{"text":"a"}\n' + deep + b"\n")
    _, numbers, problems = read_all(documents, ["text"])
    assert numbers == [0]
    assert [(p.row, p.reason, len(p.raw or "")) for p in problems] == [(1, "nested too deeply", 1000)]


@pytest.mark.parametrize("content", [b"", b"\n\n\r\n  \n"])
def test_a_file_without_rows(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    documents = open_documents(tmp_path / "a.jsonl")
    assert read_all(documents, []) == ([], [], [])
    with pytest.raises(InputError):
        choose_columns(documents, "text", None)
    (tmp_path / "b.jsonl").write_bytes(b'{"text":"x"}')
    documents = open_documents(tmp_path)
    choose_columns(documents, None, None)
    assert texts(documents) == [b"x"]


@pytest.mark.parametrize("empty", [b"{}\n", b"{ }\r\n", b"\n{}\n"])
@pytest.mark.parametrize("times", [SAMPLE_ROWS, 11 * SAMPLE_ROWS, 1_000_000])
def test_columns_come_from_the_first_rows_that_have_any(tmp_path: Path, empty: bytes, times: int) -> None:
    """Rows without a key are problems; any number of them may come before the first document."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + empty * times + b'{"id": 7, "text": "the first"}\n{"id": 8, "text": "more"}'
    )
    documents = open_documents(path)
    chosen = choose_columns(documents, None, None)
    assert (chosen.text, chosen.id) == ("text", "id")
    assert [column.kind for column in documents.columns] == ["integer", "text"]
    if times > 10_000:  # more than the bytes of a sample; every row would be a problem
        return
    rows = [chunk.read(["id", "text"]) for chunk in documents.chunks(columns=["id", "text"])]
    assert [row for part in rows for row in part.table.to_pylist()] == [
        {"id": 7, "text": "the first"},
        {"id": 8, "text": "more"},
    ]
    assert sum(len(part.problems) for part in rows) == times


def test_files_of_rows_without_keys_show_no_columns(tmp_path: Path) -> None:
    for name, content in (("a", b"{}\n" * 2000), ("b", b"no JSON\n")):
        (tmp_path / f"{name}.jsonl").write_bytes(content)
    with pytest.raises(InputError, match="no column"):
        choose_columns(open_documents([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]), None, None)
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "one"}\n')
    documents = open_documents([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert choose_columns(documents, None, None).text == "text"


def test_one_json_array_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"text": "a"}, {"text": "b"}]))
    with pytest.raises(InputError, match="jq -c"):
        open_documents(tmp_path / "a.json")


def test_a_truncated_gzip_file_gives_its_rows_and_a_problem(tmp_path: Path) -> None:
    rows = [json.dumps({"text": f"{i} {hash((i, 1)):x} {hash((i, 2)):x}"}).encode() for i in range(20_000)]
    whole = gzip.compress(b"\n".join(rows))
    (tmp_path / "b.jsonl").write_bytes(b'{"text":"next file"}')
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: len(whole) * 3 // 4])
    documents = open_documents(tmp_path)
    choose_columns(documents, None, None)
    got, numbers, problems = read_all(documents, ["text"])
    assert 10_000 < len(got) < 20_000
    assert numbers[:-1] == list(range(len(got) - 1))
    assert got[-1] == {"text": b"next file"}
    assert [(p.source, p.row) for p in problems] == [(str(tmp_path / "a.jsonl.gz"), len(got) - 1)]


def test_files_of_pandas_and_polars(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": ["a\nb", "ü", '"'], "id": [1, 2, 3]})
    frame.to_json(tmp_path / "1.jsonl", orient="records", lines=True)
    pl.DataFrame(frame).write_ndjson(tmp_path / "2.jsonl")
    documents = open_documents(tmp_path)
    choose_columns(documents, None, None)
    assert texts(documents) == [t.encode() for t in ["a\nb", "ü", '"'] * 2]


def test_columns_that_do_not_fit_become_null(tmp_path: Path) -> None:
    misfits = b'{"text":"b","n":"two","s":3}\n{"text":"c","s":[]}\n{"text":"d","n":1e999}\n'
    documents = opened(tmp_path / "a.jsonl", b'{"text":"a","n":1,"s":"x"}\n' * SAMPLE_ROWS + misfits)
    got, _, problems = read_all(documents, ["n", "s"])
    assert not problems
    del got[: SAMPLE_ROWS - 1]
    assert [row["n"] for row in got] == [1, None, None, None]
    assert [row["s"] for row in got] == [b"x", b"3", None, None]


def test_a_key_that_cannot_be_asked_for_is_no_column(tmp_path: Path) -> None:
    documents = opened(tmp_path / "a.jsonl", b'{"text":"a","a\\"b":"c"}')
    assert [column.name for column in documents.columns] == ["text"]


def test_keys_are_added_without_touching_the_rest() -> None:
    assert with_keys(b'{"a":  1}\n', b'{"g":2}') == b'{"a":  1, "g":2}\n'
    assert with_keys(b' {"a":1 } \r\n', b'{"g":2}') == b' {"a":1, "g":2} \r\n'
    assert with_keys(b"{ }", b'{"g":2}') == b'{"g":2}\n'


def test_a_file_that_changes_between_passes(tmp_path: Path) -> None:
    documents = opened(tmp_path / "a.jsonl", b"\n".join(LINES))
    assert len(read_all(documents, ["text"])[0]) == 300
    (tmp_path / "a.jsonl").write_bytes(LINES[0])
    with pytest.raises(InputError):
        read_all(documents, ["text"])
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(InputError):
        read_all(documents, ["text"])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None], "text"),
        (["a"], "text"),
        (["a", 1], "text"),
        (["a", 1, 1], "text"),
        ([1], "integer"),
        ([1, 2.0], "number"),
        ([True], "truth"),
        ([[], {}, "a"], "other"),
    ],
)
def test_the_kind_of_a_column_is_that_of_most_values(tmp_path: Path, values: list[object], kind: str) -> None:
    lines = (json.dumps({"text": "a", "x": value}) for value in values)
    documents = opened(tmp_path / "a.jsonl", "\n".join(lines).encode())
    assert {column.name: column.kind for column in documents.columns} == {"text": "text", "x": kind}


@given(st.lists(st.binary(max_size=60).map(lambda b: b.replace(b"\n", b"")), max_size=20))
def test_any_bytes_are_rows_or_problems(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("any") / "a.jsonl"
    documents = opened(path, b'{"text":"a"}\n' + b"\n".join(lines))
    _, numbers, problems = read_all(documents, ["text"])
    blank = [i for i, line in enumerate(lines, 1) if not line.strip()]
    assert sorted([*numbers, *(p.row for p in problems if p.row is not None), *blank]) == list(
        range(len(lines) + 1)
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("closed", [True, False])
def test_an_array_with_one_object_a_line_is_read_as_rows(tmp_path: Path, end: str, closed: bool) -> None:
    rows = [{"id": k, "text": f"a [{k}] , b", "more": [k, {"x": "]"}]} for k in range(300)]
    lines = [json.dumps(row) for row in rows]
    body = ["[", *[f"{line}," for line in lines[:-1]], lines[-1], "]"]
    if closed:  # brackets on the lines of the first and the last one
        body = [f"[{lines[0]},", *[f" {line} ," for line in lines[1:-1]], f"{lines[-1]}]"]
    (tmp_path / "a.json").write_bytes(end.join(body).encode())
    for size in (1 << 20, 1000):
        documents = open_documents(tmp_path / "a.json", chunk_bytes=size)
        choose_columns(documents, "text", "id")
        for _ in range(2):
            kept, numbers, problems = read_all(documents, ["id", "text"])
            assert [row["text"].decode() for row in kept] == [row["text"] for row in rows]
            assert (numbers, problems) == ([k + (not closed) for k in range(300)], [])
    assert [json.loads(line) for line in lines_of(documents)] == rows


def test_a_byte_order_mark_amid_rows_is_no_part_of_a_row(tmp_path: Path) -> None:
    line = '{"id": %d, "text": "a \\ufeff b"}\n'
    parts = [(line % k).encode() for k in range(4)]
    (tmp_path / "a.jsonl").write_bytes(
        b"\xef\xbb\xbf" + parts[0] + parts[1] + b"\xef\xbb\xbf" + b"".join(parts[2:])
    )
    for size in (1 << 20, 40):
        documents = open_documents(tmp_path / "a.jsonl", chunk_bytes=size)
        choose_columns(documents, "text", "id")
        kept, numbers, problems = read_all(documents, ["text"])
        assert ([row["text"].decode() for row in kept], numbers, problems) == (
            ["a \ufeff b"] * 4,
            [0, 1, 2, 3],
            [],
        )


def test_a_column_that_appears_late_is_found_by_its_name(tmp_path: Path) -> None:
    rows = [
        {"id": k, "text": f"a {k}"} | ({"day": k, "meta": {"of": f"m{k}"}} if k > 250 else {}) for k in range(300)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    documents = open_documents(tmp_path / "a.jsonl")
    choose_columns(documents, "text", "id")
    assert [column.name for column in documents.columns] == ["id", "text"]
    assert find_column(documents, "day", "--keep").kind == "integer"
    assert find_column(documents, "meta.of", "--within").kind == "text"
    offer_fields(documents, ["meta.of"])
    kept, _, problems = read_all(documents, ["day", "meta.of"])
    assert [row["day"] for row in kept] == [row.get("day") for row in rows]
    assert [row["meta.of"] and row["meta.of"].decode() for row in kept] == [
        row.get("meta", {}).get("of") for row in rows
    ]
    assert not problems
    with pytest.raises(InputError):
        find_column(documents, "dax", "--keep")
