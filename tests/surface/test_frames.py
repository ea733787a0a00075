"""Documents of any type go in, and the rows that stay come back in that type."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.io.plugins import register_io_source
from pyarrow import dataset

import neardup as nd
from neardup.errors import InputError, SettingError
from neardup.io.decisions.records import FateOf
from neardup.io.decisions.store import DecisionStore
from support.made_frames import (
    BACK,
    COLUMNS,
    FOX,
    INDEX,
    KEPT,
    MOON,
    ROWS,
    STAYS,
    TABLE,
    TABLES,
    TEXTS,
    pandas_frame,
)
from support.made_frames import rows_of as rows
from support.messages import assert_refused

FIRST = {"keep": "first", "threshold": 0.7}


@pytest.mark.parametrize("name", TABLES)
def test_rows_with_columns_come_back_in_their_type(name: str) -> None:
    given = TABLES[name]()
    found = nd.find(given, text="text", **FIRST)
    assert found.mask().tolist() == STAYS
    kept = found.kept
    assert type(kept).__name__ == BACK.get(name, type(given).__name__)
    assert rows(kept) == KEPT
    assert rows(found.kept) == KEPT, "again from the first row"
    assert found.removed["reason"].to_pylist()[0].startswith("near copy of 0")


@pytest.mark.parametrize("name", COLUMNS)
def test_texts_come_back_in_their_type(name: str) -> None:
    given = COLUMNS[name]()
    kept = nd.dedup(given, **FIRST)
    assert type(kept).__name__ == BACK.get(name, type(given).__name__)
    assert rows(kept) == [row["text"] for row in KEPT]


@pytest.mark.parametrize("name", [name for name in TABLES if not name.startswith("pandas")])
def test_a_result_is_arrow_data(name: str) -> None:
    assert pa.table(nd.find(TABLES[name](), text="text", **FIRST)).to_pylist() == KEPT


def test_frames_of_pandas_keep_index_and_types() -> None:
    for frame in (pandas_frame(index=INDEX), pandas_frame(index=pd.MultiIndex.from_product([[1, 2], INDEX[:4]]))):
        found = nd.find(frame, text="text", **FIRST)
        pd.testing.assert_frame_equal(found.kept, frame.iloc[np.flatnonzero(STAYS)])
        pd.testing.assert_frame_equal(found.kept, frame[found.mask()])
        assert pd.Series(found.mask(), index=frame.index).index.equals(frame.index)


def test_series_of_pandas_keep_their_index() -> None:
    series = pd.Series(TEXTS, index=INDEX, name="body")
    pd.testing.assert_series_equal(nd.dedup(series, **FIRST), series[np.array(STAYS)])


def test_columns_without_a_name_and_columns_of_numbers_as_names() -> None:
    frame = pd.DataFrame({0: TEXTS, 1: range(8)})
    assert nd.dedup(frame, text="0", id="1", **FIRST)[1].tolist() == [0, 1, 3, 5, 6]


def test_frames_of_polars_keep_their_types() -> None:
    frame = pl.DataFrame(ROWS).with_columns(
        kind=pl.Series(["p", "q"] * 4, dtype=pl.Enum(["q", "p"])),
        group=pl.Series(["p", "q"] * 4, dtype=pl.Categorical),
        lists=[[1], [], None, [2, 3], [4], [], None, [5]],
        day=pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 1, 8), eager=True),
    )
    expected = frame.filter(STAYS)
    assert nd.dedup(frame, text="text", **FIRST).equals(expected)
    back = nd.dedup(frame.lazy(), text="text", **FIRST)
    assert back.collect_schema() == frame.schema
    assert back.collect().equals(expected)
    assert pl.DataFrame(nd.find(frame, text="text", **FIRST))["mark"].to_list() == expected["mark"].to_list()


def test_a_lazy_frame_is_executed_once_and_comes_back_lazy() -> None:
    executed = []

    def scan(columns: Any, predicate: Any, most: Any, batch_size: Any) -> Iterator[pl.DataFrame]:
        executed.append(1)
        yield from pl.DataFrame(ROWS).select(columns or ["text", "n", "mark"]).iter_slices(3)

    back = nd.dedup(register_io_source(scan, schema=pl.DataFrame(ROWS).schema), text="text", **FIRST)
    assert back.select("n").filter(pl.col("n") > 10).head(1).collect().rows() == [(30,)]
    assert back.head(2).collect()["n"].to_list() == [0, 10]
    assert back.tail(1).collect()["n"].to_list() == [60]
    assert len(executed) == 1


def test_the_same_records_come_back() -> None:
    records = [dict(row, own=object()) for row in ROWS]
    kept = nd.dedup(records, text="text", **FIRST)
    assert all(one is other for one, other in zip(kept, np.array(records)[STAYS], strict=True))


def test_records_may_lack_keys_and_have_ids_of_two_types() -> None:
    records = [{"id": 1, "text": FOX}, {"id": "b", "text": FOX + " today", "lang": "en"}, {"id": 3}]
    found = nd.find(records, **FIRST)
    assert (found.removed["id"].to_pylist(), found.not_judged["id"].to_pylist()) == (["b"], ["3"])
    assert found.kept == [records[0], records[2]]


def test_values_of_a_generator_come_back_as_they_were() -> None:
    strange = {"big": 1 << 80, "set": {1, 2}, "lone": "\ud800", "nothing": None}
    assert list(nd.dedup(iter([{"text": FOX, **strange}, {"text": FOX}]), **FIRST)) == [{"text": FOX, **strange}]


def test_a_text_that_is_no_text_is_refused_by_its_place() -> None:
    rows, columns = [{"text": FOX}, {"text": 5}], {"text": [FOX, 5]}
    for given in (rows, iter(rows), columns, pd.DataFrame(columns, dtype=object)):
        with pytest.raises(InputError, match='"text" holds int'):
            nd.find(given, text="text")


def test_columns_that_arrow_cannot_hold_are_refused_only_where_they_are_used() -> None:
    frame = pandas_frame()
    assert len(nd.dedup(frame, text="text", **FIRST)) == 5
    with pytest.raises(InputError):
        nd.find(frame, text="text", within="objects")
    with pytest.raises(InputError, match='"objects" cannot be used'):
        pa.table(nd.find(frame, text="text"))


@pytest.mark.parametrize("name", ["pandas", "lazy frame", "list of dict", "generator of dict", "arrow data set"])
def test_columns_of_any_frame_decide_what_stays(name: str) -> None:
    found = nd.find(TABLES[name](), text="text", keep="max:n", threshold=0.7, empty="drop", count=True)
    assert [row["n"] for row in rows(found.kept)] == [20, 50, 70]
    assert found.mask().tolist() == [False, False, True, False, False, True, False, True]


def test_a_reference_set_of_another_type() -> None:
    found = nd.find(pl.DataFrame(ROWS), text="text", against=[{"text": FOX}], **FIRST)
    assert found.mask().tolist() == [False, *STAYS[1:]]
    assert [row["n"] for row in found.kept.to_dicts()] == [10, 30, 50, 60]
    assert nd.dedup([FOX, FOX], against=iter([MOON]), **FIRST) == [FOX]


def test_base_texts_and_decisions(tmp_path: Path) -> None:
    (tmp_path / "form.txt").write_text(MOON, encoding="utf-8")
    forms = [f"{MOON} {name} pays the whole fee by friday" for name in ("Ann", "Bob")]
    assert len(nd.dedup(forms, threshold=0.6)) == 1
    assert len(nd.dedup(forms, threshold=0.6, ignore=tmp_path / "form.txt")) == 2

    nd.find(TABLE, text="text", **FIRST).save(tmp_path / "result")
    with DecisionStore(tmp_path / "result") as store:
        store.act((FateOf(2, "keep"),), by="Ann", what="decided in a test")
    kept = nd.dedup(TABLE, text="text", decisions=tmp_path / "result", **FIRST)
    assert kept["n"].to_pylist() == [0, 10, 20, 30, 50, 60]


def test_a_stricter_threshold_keeps_more() -> None:
    found = nd.find(TABLE, text="text", **FIRST)
    stricter = found.at(0.95)
    assert stricter.mask().tolist() == [True, True, True, True, False, True, True, False]
    assert stricter.kept["n"].to_pylist() == [0, 10, 20, 30, 50, 60]


def test_a_loaded_result_has_a_mask_and_no_rows(tmp_path: Path) -> None:
    nd.find(TABLE, text="text", empty="drop", **FIRST).save(tmp_path / "numbered")
    loaded = nd.load(tmp_path / "numbered")
    assert loaded.mask().tolist() == [True, True, False, False, False, True, False, False]
    nd.find(TABLE, text="text", id="mark", empty="drop", **FIRST).save(tmp_path / "named")
    nd.find(TABLE, text="text", against=[FOX], **FIRST).save(tmp_path / "against")
    assert_refused(
        (InputError, r"no rows.*found.mask\(\)", lambda: loaded.kept),
        (InputError, r"no rows.*found.mask\(\)", lambda: pa.table(loaded)),
        (InputError, "without text", nd.load(tmp_path / "named").mask),
        (InputError, "a reference set", nd.load(tmp_path / "against").mask),
    )


def test_files_have_a_mask_and_those_with_types_are_arrow_data(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "rows.parquet", row_group_size=3)
    found = nd.find(tmp_path / "rows.parquet", text="text", **FIRST)
    assert found.mask().tolist() == STAYS
    assert pa.table(found).to_pylist() == KEPT
    (tmp_path / "rows.jsonl").write_text('{"text": "one text"}\n', encoding="utf-8")
    untyped = nd.find(tmp_path / "rows.jsonl")
    names: tuple[Any, ...] = (tmp_path / "nowhere", [tmp_path / "nowhere"], "nowhere.parquet")
    for ask in (lambda: found.kept, lambda: pa.table(untyped), *(partial(nd.dedup, name) for name in names)):
        with pytest.raises(InputError, match=r"are in files.*neardup dedup"):
            ask()


def test_a_list_that_changed_is_refused() -> None:
    given = [FOX, FOX + " today", MOON]
    found = nd.find(given, **FIRST)
    given.append("more")
    with pytest.raises(InputError, match=r"3 rows.* 4"):
        _ = found.kept


def test_an_arrow_data_set_that_changed_is_refused(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "rows.parquet")
    found = nd.find(dataset.dataset(tmp_path / "rows.parquet"), text="text", **FIRST)
    pq.write_table(TABLE.slice(0, 5), tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="The data set"):
        found.kept.read_all()


def test_a_frame_of_spark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(nw.Implementation.POLARS), "is_spark_like", lambda self: True)
    with pytest.raises(InputError, match=r"a frame of Spark.*neardup\.spark\.dedup"):
        nd.dedup(pl.LazyFrame(ROWS), text="text")


def test_other_collections_of_texts_come_back_as_lists() -> None:
    assert nd.dedup({1: FOX, 2: FOX}.values(), **FIRST) == [FOX]
    assert nd.dedup(deque([{"text": FOX}, {"text": FOX}]), **FIRST) == [{"text": FOX}]


def test_nothing_in_nothing_out() -> None:
    assert nd.dedup([]) == []
    assert nd.dedup(pd.DataFrame({"text": pd.Series([], dtype=object)})).empty
    assert list(nd.dedup(iter(()))) == []
    assert nd.dedup(pl.DataFrame(schema={"text": pl.String})).is_empty()
    with pytest.raises(InputError, match=r"no rows.*no columns"):
        nd.dedup({})


def test_a_misspelt_setting_is_refused_with_the_near_name() -> None:
    with pytest.raises(SettingError):
        nd.dedup([FOX], treshold=0.8)  # type: ignore[call-arg]
