from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.base import Documents
from neardup.io.readers.manifest import decoded_table
from support.reading import read_all

TEXTS = [f"text {i} " * (i % 9) for i in range(500)]
TABLE = pa.table({"id": range(500), "text": TEXTS})


def capsule_only(data: Any) -> Any:
    class Only:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return data.__arrow_c_stream__(requested_schema)

    return Only()


TABLES = {
    "table": TABLE,
    "reader": lambda: TABLE.to_reader(max_chunksize=77),
    "capsule": capsule_only(TABLE),
    "pandas": TABLE.to_pandas(),
    "polars": pl.DataFrame(TABLE),
    "batches": lambda: iter(TABLE.to_batches(max_chunksize=50)),
    "one batch": TABLE.combine_chunks().to_batches()[0],
    "records": TABLE.to_pylist(),
    "generator of records": lambda: iter(TABLE.to_pylist()),
    "columns": TABLE.to_pydict(),
    "lazy": pl.LazyFrame(TABLE),
    "scanner": lambda: dataset.dataset(TABLE).scanner(),
    "data set": dataset.dataset(TABLE),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    data = TABLES[name]() if callable(TABLES[name]) else TABLES[name]
    documents = open_documents(data, chunk_bytes=1000)
    chosen = choose_columns(documents, None, None)
    assert (chosen.text, chosen.id) == ("text", "id")
    got, numbers, problems = read_all(documents, ["text", "id"])
    assert got == [{"text": text.encode(), "id": i} for i, text in enumerate(TEXTS)]
    assert numbers == list(range(500))
    assert not problems
    assert len(list(documents.chunks())) > 5


COLUMNS = {
    "list": TEXTS,
    "tuple": tuple(TEXTS),
    "generator": lambda: (text for text in TEXTS),
    "array": pa.array(TEXTS),
    "chunked": pa.chunked_array([TEXTS[:100], TEXTS[100:]]),
    "views": pa.array(TEXTS, pa.string_view()),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "sliced": pa.array(["x", *TEXTS, "y"]).slice(1, 500),
    "sliced views": pa.array(["x", *TEXTS, "y"], pa.string_view()).slice(1, 500),
    "pandas": pd.Series(TEXTS),
    "polars": pl.Series(TEXTS),
    "categorical": pl.Series(TEXTS, dtype=pl.Categorical),
    "pandas objects": pd.Series(TEXTS, dtype=object, index=[7] * len(TEXTS)),
    "array of numpy": np.array(TEXTS),
    "array of objects": np.array(TEXTS, object),
    "array of strings": np.array(TEXTS, np.dtypes.StringDType()),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_texts(name: str) -> None:
    data = COLUMNS[name]() if callable(COLUMNS[name]) else COLUMNS[name]
    documents = open_documents(data, chunk_bytes=1000)
    chosen = choose_columns(documents, None, None)
    assert (chosen.text, chosen.id, chosen.notes) == ("text", None, ())
    assert [row["text"].decode() for row in read_all(documents, ["text"])[0]] == TEXTS
    assert len(list(documents.chunks())) > 5
    assert documents.names == ("input",)


NULLS = {
    "dictionary": pa.array(["a", None, ""]).dictionary_encode(),
    "list": ["a", None, ""],
    "not a number": ["a", float("nan"), ""],
    "not available": ["a", pd.NA, ""],
    "array": np.array(["a", None, ""], object),
    "generator": lambda: iter(["a", None, ""]),
    "pandas": pd.Series(["a", None, ""], dtype=object),
    "records": [{"text": "a"}, {"other": 1}, {"text": ""}],
}


@pytest.mark.parametrize("name", NULLS)
def test_nulls_stay(name: str) -> None:
    data = NULLS[name]() if callable(NULLS[name]) else NULLS[name]
    got, _, _ = read_all(open_documents(data), ["text"])
    assert [row["text"] for row in got] == [b"a", None, b""]


def test_half_surrogates_become_bytes_for_the_kernel() -> None:
    got, _, _ = read_all(open_documents(["a", "\ud800b"]), ["text"])
    assert [row["text"] for row in got] == [b"a", b"\xed\xa0\x80b"]


def test_chunks_copy_nothing() -> None:
    table = pa.table({"text": pa.array(TEXTS)})
    chunk = next(iter(open_documents(table, chunk_bytes=1000).chunks()))
    read = chunk.read(["text"]).table["text"].chunk(0)
    assert read.buffers()[2].address == table["text"].chunk(0).buffers()[2].address


def test_chunk_sizes() -> None:
    documents = open_documents(pa.table({"text": ["x" * 5_000_000, *[""] * 200_000, *["y" * 100] * 1000]}))
    sizes = [chunk.read(["text"]).table.num_rows for chunk in documents.chunks()]
    assert max(sizes) == 65536
    assert sum(sizes) == 201_001


def test_a_million_empty_strings() -> None:
    assert sum(len(c.read(["text"]).row_numbers) for c in open_documents([""] * 1_000_000).chunks()) == 1_000_000


@pytest.mark.parametrize("empty", [[], (), iter(()), pa.table({"text": pa.array([], pa.string())})])
def test_nothing(empty: object) -> None:
    documents = open_documents(empty)
    assert choose_columns(documents, None, None).text == "text"
    assert read_all(documents, ["text"]) == ([], [], [])


def test_documents_pass_through() -> None:
    documents: Documents = open_documents(TEXTS)
    assert open_documents(documents) is documents


def broken() -> Iterator[object]:
    yield "a"
    yield 5


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["a", 5], "int at position 1"),
        ([{"text": "a"}, "b"], "str at position 1, after dict"),
        ([{"text": "a"}, {5: "b"}], "key 5"),
        (broken(), "int at position 1"),
        ([b"a"], "bytes at position 0"),
        (5, "from int"),
        (None, "from NoneType"),
        ({"text": "a"}, 'holds str under "text"'),
        ({"text": ["a"], "n": [1, 2]}, "different lengths"),
        (np.array([1, 2]), r"The array is int64\[2\]"),
        (np.array([["a"]]), r"The array is <U1\[1, 1\]"),
        (np.array(["a", 5], object), "int at position 1"),
        (pa.array([1, 2]), "neither a table nor a column of strings"),
        (pd.Series([1, 2]), "neither a table nor a column of strings"),
        (pa.table([["a"], ["b"]], names=["t", "t"]), "more than once"),
        (pd.DataFrame([["a", "b"]], columns=["t", "t"]), "more than once"),
        (iter([pa.record_batch({"a": ["x"]}), pa.record_batch({"b": ["x"]})]), "do not fit"),
        (iter([pa.record_batch({"a": ["x"]}), "b"]), "str after record batches"),
        (iter([{"text": "a"}, 5]), "int at position 1, after dict"),
        (iter([{"text": lambda: 0}]), "must wait on disk"),
    ],
)
def test_what_holds_no_documents(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_documents(data)


def test_a_table_without_texts() -> None:
    documents = open_documents(pa.table({"n": range(100_000)}))
    assert sum(chunk.read(["n"]).table.num_rows for chunk in documents.chunks()) == 100_000
    with pytest.raises(InputError, match="no column of strings"):
        choose_columns(documents, None, None)


class Freed(bytes):
    """Bytes that record the thread in which they are freed."""

    threads: ClassVar[list[int]] = []

    def __del__(self) -> None:
        self.threads.append(threading.get_ident())


def test_no_thread_of_arrow_frees_bytes_of_python() -> None:
    """It would end the process with SIGABRT if the interpreter ended meanwhile; a third of plain reads do so."""
    table = pa.table({f"column {number}": range(200) for number in range(12)})
    file = pa.BufferOutputStream()
    pq.write_table(table, file)
    for _ in range(200):
        assert decoded_table("a", Freed(file.getvalue().to_pybytes())).equals(table)
    assert Freed.threads == [threading.get_ident()] * 200
