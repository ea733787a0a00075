"""The third table of docs/reference/inputs.md, cell by cell: objects of other libraries in Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as arrow_data
import pytest

import neardup as nd
from support.command_line import BASE, NEAR, OTHER, Run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "inputs.md"
ROWS = [
    {"text": text, "doc": {"body": text, "key": f"k{number}"}} for number, text in enumerate((BASE, NEAR, OTHER))
]
TABLE = pa.Table.from_pylist(ROWS)
COLUMNS = ("read", "nested columns", "comes back in its type", "looked at later")


def of_datasets(kind: str) -> Any:
    library = pytest.importorskip("datasets", reason="datasets is not installed")
    data = library.Dataset.from_list(ROWS)
    return data if kind == "Dataset" else data.to_iterable_dataset()


OBJECTS: dict[str, Callable[[], Any]] = {
    "DataFrame of pandas": lambda: pd.DataFrame(ROWS),
    "DataFrame of polars": lambda: pl.DataFrame(ROWS),
    "LazyFrame of polars": lambda: pl.LazyFrame(ROWS),
    "Table of pyarrow": lambda: TABLE,
    "RecordBatchReader of pyarrow": lambda: TABLE.to_reader(),
    "Dataset of pyarrow": lambda: arrow_data.dataset(TABLE),
    "DuckDBPyRelation of DuckDB": lambda: duckdb.from_arrow(TABLE),
    "Dataset of datasets": lambda: of_datasets("Dataset"),
    "IterableDataset of datasets": lambda: of_datasets("IterableDataset"),
    "ndarray of numpy": lambda: np.array([row["text"] for row in ROWS]),
    "list of dict": lambda: list(ROWS),
    "list of str": lambda: [row["text"] for row in ROWS],
}


def matrix() -> dict[str, list[str]]:
    """The cells of the table, by row."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## Objects")[2]
    lines = re.findall(r"^\| (.+) \|$", section, re.MULTILINE)
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    assert rows[0][1:] == list(COLUMNS)
    return {row[0].replace("`", ""): row[1:] for row in rows[1:]}


def test_the_page_has_all_objects() -> None:
    assert list(matrix()) == list(OBJECTS)


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_read_given_back_and_looked_at(name: str, run: Run, tmp_path: Path) -> None:
    read, nested, back, later = matrix()[name]
    given = OBJECTS[name]()
    found = nd.find(given, keep="first", **({} if isinstance(given, np.ndarray) else columns(given)))
    assert (read, found.mask().tolist()) == ("yes", [True, False, True])
    same = type(found.kept) is type(given)
    assert back == ("yes" if same else f"no: `{type(found.kept).__name__}`")
    found.save(tmp_path / "out")
    shown = run("show", tmp_path / "out", "1")
    assert shown.status == 0, shown.err
    refused = run("apply", tmp_path / "out", "-o", tmp_path / "final")
    assert (later, refused.status) == ("`show`; not `apply`", 2), refused.err
    if nested == "–":
        return
    deep = nd.find(OBJECTS[name](), text="doc.body", id="doc.key", keep="first")
    assert (nested, deep.removed["id"].to_pylist()) == ("yes", ["k1"])


def columns(given: Any) -> dict[str, str]:
    """The column of the texts, of rows with columns."""
    return {} if isinstance(given, list) and isinstance(given[0], str) else {"text": "text"}
