"""Values of pandas are read by position, whether Arrow found pandas or not when it first looked for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pytest

from neardup.io.frames.data_frames import arrow_array

ORDERS = {
    "pandas first": "import pandas",
    "neardup first": "import neardup",
    "not yet installed": """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)
missing = Missing()
sys.meta_path.insert(0, missing)
import neardup
neardup.find(["one two three", None])  # Arrow looks for pandas, and never again in this process
sys.meta_path.remove(missing)
""",
    "after the command": """
import contextlib, io, sys
from neardup.cli import main
given = sys.argv
sys.argv = ["neardup", sys.argv[1]]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
import pyarrow
assert pyarrow.table({"a": [1]}).to_pandas()["a"].tolist() == [1]
""",
}
PROGRAM = """
import datetime, json
import neardup as nd, pandas as pd, polars as pl
words = lambda k: " ".join(f"w{(k * 7919 + i * i) % 9973}" for i in range(60))
texts = [words(1), words(2), words(1) + " tail", words(3), words(4)]
rows = {"text": texts, "k": list("abcde")}
indexes = {"moved": [1, 2, 3, 4, 0], "repeated": [0, 0, 1, 1, 0], "names": list("vwxyz"), "plain": None,
    "levels": pd.MultiIndex.from_tuples([(1, 2), (1, 2), (0, 1), (5, 5), (2, 1)])}
days = [datetime.date(2026, 1, 1), pd.NaT, datetime.date(2026, 1, 3), None, datetime.date(2026, 1, 4)]
told = {}
for name, index in indexes.items():
    for dtype in ("object", "string", "category", "str"):
        frame = pd.DataFrame({**rows, "text": pd.Series(texts, dtype=dtype).array}, index=index)
        frame["id"] = pd.Categorical(["p", "q", "r", "s", "t"])
        frame["n"] = pd.array([10, None, 30, 40, 50], dtype="Int64")
        frame["at"] = pd.date_range("2026-01-01", periods=5, tz="Europe/Berlin").array
        found = nd.find(frame, text="text", id="id", keep="min:n", count=True, sources="at", threshold=0.8)
        told[f"frame {name} {dtype}"] = [found.kept["k"].tolist(), found.removed["id"].to_pylist()]
        found = nd.find(frame["text"])
        stay = [texts.index(text) for text in found.kept]
        told[f"series {name} {dtype}"] = [stay, found.removed["id"].to_pylist()]
told["polars"] = nd.find(pl.DataFrame(rows), text="text").kept["k"].to_list()
records = [{"text": text, "k": k, "day": day} for text, k, day in zip(texts, "abcde", days)]
told["records"] = [row["k"] for row in nd.find(records, text="text", keep="min:day").kept]
told["missing"] = len(nd.find([texts[0], pd.NA, None, float("nan"), texts[0]]).kept)
print(json.dumps(told))
"""


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_imports_changes_no_row(order: str, tmp_path: Path) -> None:
    held = tmp_path / "held.jsonl"
    held.write_text('{"text": "a b c d e f g"}\n')
    code = f"import sys\nsys.path[:0] = {sys.path!r}\n{ORDERS[order]}\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", code, str(held)], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    for name, found in told.items():
        if name.startswith("frame"):
            assert found == [["a", "b", "d", "e"], ["r"]], name
        elif name.startswith("series"):
            assert found == [[1, 2, 3, 4], [0]], name
    assert told["polars"] == ["b", "c", "d", "e"]
    assert told["records"] == ["a", "b", "d", "e"]
    assert told["missing"] == 4


SERIES = {
    "text": pd.Series(["a", None, "c"]),
    "objects": pd.Series(["a", None, "c"], dtype=object),
    "string": pd.Series(["a", None, "c"], dtype="string[python]"),
    "arrow": pd.Series(["a", None, "c"], dtype=pd.ArrowDtype(pa.large_string())),
    "lists": pd.Series([[1], None, [2, 3]], dtype=pd.ArrowDtype(pa.list_(pa.int32()))),
    "whole": pd.Series([1, 2, 3]),
    "small": pd.Series([1, 2, 3], dtype="uint8"),
    "nullable": pd.Series([1, None, 3], dtype="Int16"),
    "float": pd.Series([1.5, float("nan"), 3]),
    "nullable float": pd.Series([1.5, None, 3], dtype="Float32"),
    "truth": pd.Series([True, False, True]),
    "nullable truth": pd.Series([True, None, True], dtype="boolean"),
    "time": pd.Series(pd.to_datetime(["2026-01-01 10:00", None, "2026-03-01 00:00"])),
    "seconds": pd.Series(pd.to_datetime(["2026-01-01 10:00", None, "2026-03-01 00:00"])).dt.as_unit("s"),
    "zone": pd.Series(pd.to_datetime(["2026-01-01 10:00", None, "2026-07-01 00:00"])).dt.tz_localize(
        "Europe/Paris"
    ),
    "offset": pd.Series(pd.to_datetime(["2026-01-01 10:00+02:00", None])),
    "duration": pd.Series(pd.to_timedelta(["1h", None, "3s"])),
    "period": pd.Series(pd.period_range("2026-01", periods=3, freq="M")),
    "interval": pd.Series(pd.interval_range(0, 3)),
    "category": pd.Series(pd.Categorical(["a", None, "b"], ["b", "a"])),
    "ordered": pd.Series(pd.Categorical(["a", None, "b"], ["b", "a"], ordered=True)),
    "numbers as categories": pd.Series(pd.Categorical([3, 1, 3])),
    "dates as categories": pd.Series(pd.Categorical(pd.to_datetime(["2026-01-01", "2026-01-02"]))),
}


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("rows", [slice(None), slice(0, 0), slice(1, None)], ids=["all", "none", "some"])
def test_series_have_the_values_and_types_that_arrow_gives_them(name: str, rows: slice) -> None:
    series = SERIES[name][rows]
    expected = pa.Array.from_pandas(series)  # pandas is imported above: Arrow finds it
    found = arrow_array(nw.from_native(series.set_axis(range(len(series), 0, -1)), series_only=True))
    assert (found.type, found.to_pylist()) == (expected.type, expected.to_pylist())
