"""What the tasks of a cluster compute, on batches in this process: the answer is that of one machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import neardup as nd
from neardup.corpus.decontamination import Cutter
from neardup.settings import Settings
from neardup.spark import decontamination
from neardup.spark.dedup import GONE
from neardup.spark.files import LINE, _parse
from neardup.spark.groups import IS_CLOSED, IS_HUB, PAIR, ROW, _decide, tables_of
from neardup.spark.job import OWN
from neardup.spark.pairs import _fingerprint
from neardup.text.keys import new_key
from support.made_results import documents

OLD = 9
"""Documents of a reference set."""


def texts() -> pa.Table:
    rows = documents()
    return pa.table({name: [row[name] for row in rows] for name in ("id", "text")})


def as_rows(table: pa.Table, names: list[str]) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in names) for row in table.select(names).to_pylist()), key=repr)


@pytest.mark.parametrize("against", [False, True])
@pytest.mark.parametrize("mark", [0, IS_CLOSED, IS_HUB])
@pytest.mark.parametrize("groups", ["principal", "complete", "components"])
def test_a_component_is_decided_as_a_run_on_one_machine(groups: str, mark: int, against: bool) -> None:
    """Its pairs are given, all pairs of a small family are compared, or its documents are joined exactly."""
    given: dict[str, Any] = {"method": "exact", "threshold": 0.4, "groups": groups, "keep": "longest"}
    every, old = texts(), OLD if against else 0
    found = nd.find(
        every.slice(old), text="text", id="id", against=every.slice(0, old) if against else None, **given
    )
    row = np.arange(len(every)) * 3 + 7  # the numbers of rows have gaps
    (batch,) = every.add_column(0, "row", [row]).to_batches()
    settings, key = Settings.of(**given), SimpleNamespace(value=new_key())
    (made,) = _fingerprint(settings, None, key, iter([batch]))  # type: ignore[arg-type]
    first: dict[tuple[int, int], int] = {}
    lines = []
    for one in made.to_pylist():
        own = one["row"] if not one["units"] else first.setdefault((one["key_a"], one["key_b"]), one["row"])
        lines.append((0, ROW, one["row"], own, one["units"], one["bytes"], mark, one["key_a"], one["characters"],
                      one["id"], one["shingles"] if own == one["row"] else None))  # fmt: skip
    place = dict(zip(every["id"].to_pylist(), row.tolist(), strict=True))
    for one in [] if mark else found.pairs.to_pylist():
        ends = (place[one["id_a"]], place[one["id_b"]])
        counts = (one[name] for name in ("shared", "size_a", "size_b"))
        lines.append((0, PAIR, *ends, *counts, None, None, None, None))
    lines.sort(key=lambda line: line[:4])
    names = ["part", "kind", "x", "y", "n1", "n2", "n3", "words", "characters", "id", "shingles"]
    columns = [pa.array(column) for column in zip(*lines, strict=True)]
    first_new = int(row[old]) if old else 0
    wide = pa.Table.from_batches(
        _decide(settings, key, first_new, iter([pa.record_batch(columns, names)]))  # type: ignore[arg-type]
    )
    assert found.groups.num_rows > 9
    for name, kinds in tables_of("resemblance", against).items():
        chosen = [column for column in kinds if column != "reason"]  # differences of characters are not named
        of_table = wide.filter(pa.compute.equal(wide["of"], name)).select([f"{name}_{one}" for one in chosen])
        assert as_rows(of_table.rename_columns(chosen), chosen) == as_rows(getattr(found, name), chosen), name


class Frame:
    """Rows of a cluster, and its session: a task runs when its rows are collected."""

    def __init__(self, *batches: pa.RecordBatch) -> None:
        self.batches, self.sparkSession, self.sparkContext = batches, self, self
        self.shared: list[SimpleNamespace] = []

    def broadcast(self, value: object) -> SimpleNamespace:
        self.shared.append(SimpleNamespace(value=value, dropped=False))
        self.shared[-1].unpersist = lambda: self.shared[-1].__dict__.update(dropped=True)
        return self.shared[-1]

    def mapInArrow(self, task: Any, schema: str) -> Frame:  # noqa: N802
        return Frame(*(made for batch in self.batches for made in task(iter([batch]))))

    def collect(self) -> list[dict[str, Any]]:
        return [row for batch in self.batches for row in batch.to_pylist()]

    def createDataFrame(self, rows: list[tuple[Any, ...]], schema: str) -> list[tuple[Any, ...]]:  # noqa: N802
        return rows


def test_test_items_are_scanned_weighed_and_cut(tmp_path: Path) -> None:
    """Every third text has an item."""
    questions = [" ".join(f"item{k}word{n}" for n in range(20)) for k in range(5)]
    training = [f"before {questions[k % 5]} é {k}" if k % 3 == 0 else f"own text {k} " * 9 for k in range(40)]
    test = tmp_path / "test.jsonl"
    test.write_text("".join(json.dumps({"question": one}) + "\n" for one in questions))
    ids = [f"t{k}" for k in range(40)]
    frame = Frame(*pa.table({"row": range(3, 43), "id": ids, "text": training}).to_batches(max_chunksize=16))
    search = decontamination._search(test, [], None, {})
    of_frame = decontamination._Training(frame, frame, "id", "text", ["id", "text"])  # type: ignore[arg-type]
    result = decontamination._run(of_frame, search, "report", "#")
    expected = nd.decontaminate(pa.table({"id": ids, "text": training}), against=test, text="text", id="id")
    assert result.matches.drop_columns(["source", "row"]).equals(expected.matches.drop_columns(["source", "row"]))
    assert result.matches["row"].to_pylist() == [k + 3 for k in range(0, 40, 3)]
    assert result.account["counts"]["documents"] == 40
    assert [one.dropped for one in frame.shared] == [True], "executors keep no test set"

    cutter = SimpleNamespace(value=Cutter(result.contamination.weights, search.settings.shingles.length, "#"))
    lines = [json.dumps({"body": text, "text": 2}, ensure_ascii=False) for text in training[:4:3]]
    for field, given in ((None, training[:4:3]), ("body", lines)):
        batch = pa.record_batch([["t0", "t3"], [[0], [3]], pa.array(given)], [GONE, "items", "text"])
        (cut,) = decontamination._cut_texts(cutter, field, iter([batch]))  # type: ignore[arg-type]
        changed = [value.decode() for value in cut["changed"].to_pylist()]
        rows = [json.loads(line) for line in changed] if field else [{"body": text, "text": 2} for text in changed]
        assert rows == [{"body": f"before # é {k}", "text": 2} for k in (0, 3)]
        assert [one["text"] for some in cut["cuts"].to_pylist() for one in some] == [questions[0], questions[3]]


def test_lines_are_tagged_and_read() -> None:
    lines = ['{"id": 1, "text": "a"}', '{"id": 2, "text": null}', '{"id": "x", "text": "b"}', '{"id": 3}', "{torn",
             '{"text": "c"}', '{"id": 4, "text": 5}', "[]"]  # fmt: skip

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([lines, range(len(lines))], [LINE, f"{OWN}row"])

    (read,) = _parse("text", "id", True, batches())
    assert [(row["id"], row["text"]) for row in read.to_pylist()] == [(1, "a"), (2, None), (3, None)]
    (named,) = _parse("text", "id", False, batches())
    assert [(row["id"], row["text"]) for row in named.to_pylist()] == [("x", "b")]
    tags = pa.record_batch([lines[:2], [["t.jsonl"], None]], [LINE, "contaminated_by"])
    (tagged,) = decontamination._tag_lines(iter([tags]))
    assert [json.loads(line) for line in tagged[LINE].to_pylist()] == [
        {"id": 1, "text": "a", "contaminated_by": ["t.jsonl"]}, {"id": 2, "text": None, "contaminated_by": None}
    ]  # fmt: skip
