"""How folders, patterns and lists resolve: to data or documents, and to files left aside."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.base import Documents
from neardup.io.readers.discovery import matching
from neardup.io.readers.folders import is_result
from support.messages import each_has_parts, has_parts
from support.reading import lines_of, read_all

TABLE = pa.table({"id": [1, 2], "text": ["one text", "another text"]})
CARD = b"# What this data is\n"


def write(folder: Path, name: str, content: bytes | pa.Table) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif name.endswith(".arrow"):
        with pa.ipc.new_stream(str(path), content.schema) as file:
            file.write_table(content)
    else:
        pq.write_table(content, path)


def aside(documents: Documents) -> dict[str, str]:
    return {item.name: item.why for item in documents.findings.aside}


def rows(documents: Documents) -> int:
    return sum(len(chunk.read(["text"]).row_numbers) for chunk in documents.chunks())


def test_twenty_parquet_files_and_a_readme_are_data(tmp_path: Path) -> None:
    for i in range(20):
        write(tmp_path, f"data/train-{i:05}-of-00020.parquet", TABLE)
    for name in ("README.md", "dataset_infos.json", ".gitattributes", "data/_SUCCESS", "plot.png"):
        write(tmp_path, name, CARD)
    documents = open_documents(tmp_path)
    assert (documents.format, rows(documents)) == ("parquet", 40)
    assert aside(documents) == {
        **dict.fromkeys(("README.md", "data/_SUCCESS", "dataset_infos.json", "plot.png"), "beside the data"),
        ".gitattributes": "hidden",
    }
    assert each_has_parts(
        documents.findings.notes,
        ("plot.png, README.md, data/_SUCCESS", "1 more", "beside the data", ".gitattributes (hidden)"),
    )
    assert choose_columns(documents, None, None).notes[0] == documents.findings.notes[0]


def test_a_snapshot_of_links_to_blobs_is_read(tmp_path: Path) -> None:
    hub = tmp_path / "datasets--a--b"
    write(hub, "blobs/1234", b"")
    pq.write_table(TABLE, hub / "blobs/1234")
    snapshot = hub / "snapshots" / "0abc"
    snapshot.mkdir(parents=True)
    (snapshot / "train.parquet").symlink_to("../../blobs/1234")
    (snapshot / "out.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    write(tmp_path, "elsewhere.parquet", TABLE)
    for folder in (snapshot, hub):
        documents = open_documents(folder)
        assert (documents.format, rows(documents)) == ("parquet", 2)
        assert [why for why in aside(documents).values() if has_parts(why, "link out of")]


def test_a_saved_dataset_is_read_without_its_caches(tmp_path: Path) -> None:
    for i in (0, 1):
        write(tmp_path, f"train/data-{i:05}-of-00002.arrow", TABLE)
    write(tmp_path, "train/cache-1234.arrow", TABLE)
    state = {"_data_files": [{"filename": f"data-{i:05}-of-00002.arrow"} for i in (0, 1)]}
    write(tmp_path, "train/state.json", json.dumps(state).encode())
    write(tmp_path, "train/dataset_info.json", b"{}")
    write(tmp_path, "dataset_dict.json", b'{"splits": ["train"]}')
    documents = open_documents(tmp_path)
    assert (documents.format, rows(documents)) == ("ipc", 4)
    assert aside(documents)["train/cache-1234.arrow"] == "state.json does not list it"


def test_parquet_beside_jsonl_is_one_input(tmp_path: Path) -> None:
    write(tmp_path, "a.parquet", TABLE)
    write(tmp_path, "b.jsonl", b'{"text": "a"}\n')
    documents = open_documents(tmp_path)
    assert (documents.format, rows(documents)) == ("mixed", 3)


def test_data_beside_as_many_documents_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, "a.parquet", TABLE)
    write(tmp_path, "a.txt", b"a")
    write(tmp_path, "b.txt", b"b")
    with pytest.raises(InputError, match=r"holds data \(1 Parquet .*and documents \(2: a\.txt, b\.txt\)"):
        open_documents(tmp_path)


def test_rows_among_many_documents_are_not_judged_and_this_is_said(tmp_path: Path) -> None:
    for i in range(20):
        write(tmp_path, f"{i:02}.txt", b"a letter " * 20)
    write(tmp_path, "list.csv", b"a,b\n")
    write(tmp_path, "part.jsonl", b'{"text": "a"}\n{"text": "b"}\n')
    write(tmp_path, "lines.json", b'{"text": "a"}\n{"text": "b"}\n')
    write(tmp_path, "array.json", b' [{"text": "a"}]')
    write(tmp_path, "package.json", b'{\n  "name": "boats",\n  "of": {\n    "wood": 1}\n}\n')
    documents = open_documents(tmp_path)
    assert (documents.format, rows(documents)) == ("text", 21)
    _, _, problems = read_all(documents, ["id", "text"])
    unread = {problem.file: problem.kind for problem in problems}
    assert unread == dict.fromkeys(("array.json", "lines.json", "list.csv", "part.jsonl"), "data file")
    [note] = documents.findings.notes
    assert has_parts(note, "list.csv", "part.jsonl", "*.jsonl")


UNREAD = ("t0.jsonl.br", "t1.parquet.zst", "t2.arc.gz", "t3.avro")


def test_files_that_are_not_read_do_not_make_rows_documents(tmp_path: Path) -> None:
    for k in range(3):
        write(tmp_path, f"s{k}.jsonl", b'{"text": "a letter"}\n' * 5)
    for name in UNREAD:
        write(tmp_path, name, b"\1\2\3" * 100)
    documents = open_documents(tmp_path)
    assert (documents.format, rows(documents)) == ("jsonl", 15)
    left = aside(documents)
    assert left.keys() == set(UNREAD)
    assert all(why.startswith("not read: ") for why in left.values())
    (tmp_path / "letter.txt").write_bytes(b"one" * 99)
    assert open_documents(tmp_path).format == "text", "as many bytes of documents as of data"


@pytest.mark.parametrize("name", UNREAD)
def test_a_named_file_that_is_not_read_is_refused_by_name(tmp_path: Path, name: str) -> None:
    write(tmp_path, f"data/{name}", b"\1\2\3")
    for named in (tmp_path / "data" / name, tmp_path / "data", f"{tmp_path}/data/*"):
        with pytest.raises(InputError, match=name) as error:
            open_documents(named)
        assert "not read" in error.value.given


def test_a_readme_among_documents_is_a_document(tmp_path: Path) -> None:
    write(tmp_path, "README.md", CARD)
    write(tmp_path, "a.txt", b"a")
    assert rows(open_documents(tmp_path)) == 2


def result(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"neardup_version": "0.1.0", "format": 2, "settings_digest": "x"}')
    for name in ("groups.parquet", "pairs.parquet", "kept.parquet"):
        pq.write_table(TABLE, folder / name)


def test_a_run_does_not_read_its_own_results(tmp_path: Path) -> None:
    write(tmp_path, "a.parquet", TABLE)
    result(tmp_path / "sub" / "cleaned")
    for named in (tmp_path, f"{tmp_path}/**/*.parquet"):
        documents = open_documents(named)
        assert rows(documents) == 2
        assert aside(documents) == {"sub/cleaned": "a result of neardup"}
    assert rows(open_documents(f"{tmp_path}/sub/*/kept.parquet")) == 2
    with pytest.raises(InputError, match=r"cleaned is the result.*cleaned/kept\.parquet"):
        open_documents(tmp_path / "sub" / "cleaned")


def test_the_run_json_of_another_program_hides_nothing(tmp_path: Path) -> None:
    result(tmp_path / "other")
    for content in (b"{}", b"[" * 100_000, b"no", b'{"neardup_version": 1}'):
        (tmp_path / "other" / "run.json").write_bytes(content)
        assert not is_result(str(tmp_path / "other"), ["run.json", "groups.parquet", "pairs.parquet"])
    assert not is_result(str(tmp_path / "other"), ["run.json"])


def test_files_that_programs_keep_for_themselves_are_no_documents(tmp_path: Path) -> None:
    junk = ("Thumbs.db", "~$letter.docx", "desktop.ini", ".DS_Store", ".git/config", "sub/THUMBS.DB")
    for name in (*junk, "letter.txt"):
        write(tmp_path, name, b"x")
    for named in (tmp_path, f"{tmp_path}/**"):
        assert rows(open_documents(named)) == 1
    assert len(aside(open_documents(tmp_path))) == len(junk)
    (tmp_path / "letter.txt").unlink()
    with pytest.raises(InputError, match=r"no files .*left aside: .*Thumbs\.db"):
        open_documents(tmp_path)


def test_names_of_files_in_a_list_are_not_taken_for_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.parquet", "b.parquet"):
        write(tmp_path, name, TABLE)
    (tmp_path / "letters").mkdir()
    for names in (["a.parquet", "b.parquet"], ["a.parquet", "a text"], ["letters"]):
        with pytest.raises(InputError, match=r"Give \[Path\(name\) for name in names\].*pyarrow\.array") as error:
            nd.find(names)
        assert names[0] in error.value.given
    assert rows(open_documents([Path("a.parquet"), Path("b.parquet")])) == 4
    for texts in (["c.parquet", "a text"], ["letters", "a text"], ["a\0.parquet", "\ud800.txt", "x" * 9999, ""]):
        assert open_documents(texts).format == "arrow"
    assert rows(open_documents(pa.array(["a.parquet", "b.parquet"]))) == 2


def test_partitions_in_the_names_of_folders_are_columns(tmp_path: Path) -> None:
    places = {"date=2024-01-01/n=1": 1, "date=2024-01-02/n=22": 22, "date=__HIVE_DEFAULT_PARTITION__/n=3": 3}
    for place in places:
        write(tmp_path, f"{place}/part.parquet", TABLE)
    for named in (tmp_path, f"{tmp_path}/*/*/*.parquet"):
        documents = open_documents(named)
        assert [column.name for column in documents.columns] == ["id", "text", "date", "n"]
        got, _, _ = read_all(documents, ["n", "date", "text"])
        assert [row["n"] for row in got] == [1, 1, 22, 22, 3, 3]
        assert [row["date"] for row in got[1:5:3]] == [b"2024-01-01", None]
        table = pa.concat_tables(chunk.read_native().table for chunk in documents.chunks())
        assert table["date"].to_pylist() == ["2024-01-01"] * 2 + ["2024-01-02"] * 2 + [None] * 2
    assert "date" not in [column.name for column in open_documents(next(tmp_path.rglob("*.parquet"))).columns]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_partitions_of_rows_are_written_with_them(tmp_path: Path, name: str) -> None:
    for lang in ("de", "en%20US"):
        content = b"id,text\n1,a\n2,b\n" if name == "a.csv" else b'{"id":1,"text":"a"}\n{"id":2,"text":"b"}\n'
        write(tmp_path, f"lang={lang}/{name}", content)
    documents = open_documents(tmp_path)
    if name == "a.csv":
        tables = [chunk.read_native().table for chunk in documents.chunks()]
        assert pa.concat_tables(tables)["lang"].to_pylist() == ["de", "de", "en US", "en US"]
    else:
        assert lines_of(documents)[1:3] == [
            b'{"id":2,"text":"b", "lang":"de"}\n',
            b'{"id":1,"text":"a", "lang":"en US"}\n',
        ]


def test_another_type_in_a_column_nobody_asked_for_refuses_nothing(tmp_path: Path) -> None:
    base = {"text": ["a", "b"], "id": pa.array([1, 2], pa.int32())}
    first = pa.table({**base, "n": pa.array([1, 2], pa.int32()), "x": [1, 2**60], "y": [[1], None], "z": [1, 2]})
    second = pa.table(
        {**base, "n": [2**40, 4], "x": [0.5, 1.5], "y": ["b", "c"], "z": pa.array([2**64 - 1, 1], pa.uint64())}
    )
    write(tmp_path, "1.parquet", first)
    write(tmp_path, "2.parquet", second)
    documents = open_documents(tmp_path)
    choose_columns(documents, "text", "id")
    table = pa.concat_tables(chunk.read_native().table for chunk in documents.chunks())
    assert table["n"].to_pylist() == [1, 2, 2**40, 4]
    assert table["x"].to_pylist() == ["1", str(2**60), "0.5", "1.5"]
    assert table["y"].to_pylist() == ["[1]", None, "b", "c"]
    assert table["z"].to_pylist() == ["1", "2", str(2**64 - 1), "1"]
    assert len(documents.findings.notes) == 4
    assert documents.findings.notes[0].endswith("read as int64")
    with pytest.raises(InputError, match=r'"y" is list.* in .*1\.parquet and string in .*2\.parquet'):
        documents.require("y", "id")


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_files_are_data(tmp_path: Path, kind: str) -> None:
    table = pa.table(
        {"id": range(1000), "text": [f"text {i} " * (i % 50) for i in range(1000)], "t": [["a"]] * 1000}
    )
    opened = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with opened(str(tmp_path / "a.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=300)
    for chunk_bytes in (2000, 1 << 20):
        documents = open_documents(tmp_path / "a.arrow", chunk_bytes=chunk_bytes)
        got, numbers, problems = read_all(documents, ["id", "text"])
        assert ([row["id"] for row in got], numbers, problems) == (list(range(1000)), list(range(1000)), [])
        assert pa.concat_tables(chunk.read_native().table for chunk in documents.chunks()).equals(table)
    content = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "a.arrow").write_bytes(content[: len(content) // 2])
    if kind == "file":
        with pytest.raises(InputError):
            open_documents(tmp_path / "a.arrow")
    else:
        _, numbers, problems = read_all(open_documents(tmp_path / "a.arrow"), ["id"])
        assert 0 < len(numbers) < 1000
        assert "file is lost" in problems[0].reason


def test_each_part_of_a_pattern_matches_one_folder_and_two_stars_any_number(tmp_path: Path) -> None:
    for name in ("a1/b.txt", "a1/c/b.txt", "a2/b.md", "z/b.txt", "b.txt"):
        write(tmp_path, name, b"x")

    def found(pattern: str) -> list[str]:
        names = matching(str(tmp_path), Path(pattern).parts, lambda path: "a2" not in path)
        return sorted(Path(name).relative_to(tmp_path).as_posix() for name in names)

    assert found("a*/b*") == ["a1/b.txt"]
    assert found("a*/*/b.txt") == ["a1/c/b.txt"]
    assert found("**/b.txt") == ["a1/b.txt", "a1/c/b.txt", "b.txt", "z/b.txt"]
