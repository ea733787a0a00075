"""The same few documents in every type that holds or yields documents, and the rows that stay, known by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import dataset

FOX = "the quick brown fox jumps over the lazy dog and runs far away"
MOON = "the night is dark and the moon is red over the hills where the old mill stands"
TEXTS = [
    FOX,
    MOON,
    FOX + " today",  # a near copy of the first
    None,
    MOON,  # an exact copy of the second
    "nothing else resembles this sentence",
    "",
    MOON.upper(),  # the same words
]
STAYS = [True, True, False, True, False, True, True, False]
"""The rows that stay, if the first of each group does and documents without text do."""

ROWS = [{"text": text, "n": 10 * number, "mark": f"m{number}"} for number, text in enumerate(TEXTS)]
KEPT = [row for row, stays in zip(ROWS, STAYS, strict=True) if stays]
TABLE = pa.Table.from_pylist(ROWS)

OBJECTS = [1, "x", None, {"deep": [1]}, [2], 3.5, b"y", object]
"""Values for which Arrow has no common type."""

INDEX = ["b", "a", "b", "b", "c", "a", "a", "d"]


def pandas_frame(**index: Any) -> pd.DataFrame:
    """The rows with a column of objects, one of categories and one of dates."""
    frame = pd.DataFrame(ROWS, **index)
    frame["objects"] = pd.Series(OBJECTS, dtype=object, index=frame.index)
    frame["kind"] = pd.Categorical(["p", "q"] * 4)
    return frame.assign(day=pd.date_range("2026-01-01", periods=8, tz="UTC"))


def relation() -> Any:
    """A relation of DuckDB."""
    import duckdb

    return duckdb.from_arrow(TABLE)


def rows_of(data: Any) -> list[Any]:
    """The rows of any of these objects as dicts, or its texts."""
    if isinstance(data, pl.LazyFrame):
        return data.collect().to_dicts()
    if isinstance(data, pl.DataFrame):
        return data.to_dicts()
    if isinstance(data, pd.DataFrame):
        return data[["text", "n", "mark"]].astype(object).where(data.notna(), None).to_dict("records")
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all().to_pylist()
    if isinstance(data, dict):
        return [dict(zip(data, values, strict=True)) for values in zip(*data.values(), strict=True)]
    if hasattr(data, "fetchall"):
        return [dict(zip(data.columns, row, strict=True)) for row in data.fetchall()]
    if hasattr(data, "to_pylist"):
        return data.to_pylist()
    items = [item for part in data for item in (part.to_pylist() if hasattr(part, "to_pylist") else [part])]
    return [None if isinstance(item, float) else item for item in items]


TABLES: dict[str, Callable[[], Any]] = {
    "pandas": pandas_frame,
    "pandas, index not unique": lambda: pandas_frame(index=INDEX),
    "pandas, several levels": lambda: pandas_frame(index=pd.MultiIndex.from_product([[1, 2], INDEX[:4]])),
    "polars": lambda: pl.DataFrame(ROWS),
    "table": lambda: TABLE,
    "record batch": lambda: TABLE.to_batches()[0],
    "list of record batches": lambda: TABLE.to_batches(max_chunksize=3),
    "list of dict": lambda: list(ROWS),
    "tuple of dict": lambda: tuple(ROWS),
    "dict of lists": lambda: TABLE.to_pydict(),
    "dict of arrays": lambda: {name: np.array(values, object) for name, values in TABLE.to_pydict().items()},
    "lazy frame": lambda: pl.LazyFrame(ROWS),
    "relation": relation,
    "reader": lambda: TABLE.to_reader(max_chunksize=3),
    "generator of dict": lambda: (dict(row) for row in ROWS),
    "generator of batches": lambda: (batch for batch in TABLE.to_batches(max_chunksize=3)),
    "arrow data set": lambda: dataset.dataset(TABLE),
    "scanner": lambda: dataset.dataset(TABLE).scanner(),
}
"""Rows with columns."""

COLUMNS: dict[str, Callable[[], Any]] = {
    "list": lambda: list(TEXTS),
    "tuple": lambda: tuple(TEXTS),
    "array of objects": lambda: np.array(TEXTS, object),
    "series of pandas": lambda: pd.Series(TEXTS, index=INDEX),
    "series of objects": lambda: pd.Series(TEXTS, index=INDEX, dtype=object),
    "series of polars": lambda: pl.Series(TEXTS),
    "array": lambda: pa.array(TEXTS),
    "chunked array": lambda: pa.chunked_array([TEXTS[:3], TEXTS[3:]]),
    "generator": lambda: (text for text in TEXTS),
}
"""Texts alone."""

BACK = {
    "generator": "chain",
    "scanner": "RecordBatchReader",
    "arrow data set": "RecordBatchReader",
    "generator of dict": "chain",
    "generator of batches": "chain",
}
"""The types that come back where they differ from those that were given."""
