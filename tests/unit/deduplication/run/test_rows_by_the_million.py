"""Rows that are not judged or rejected come by the million: they cost bytes, not Python objects."""

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from neardup.deduplication.run.exclusions import not_judged_table
from neardup.deduplication.run.find import find
from neardup.deduplication.run.stages import result
from neardup.io.readers import open_documents
from neardup.io.readers.base import Problem

ROWS = 100_000


def held_and_peak(made: Callable[[], Any]) -> tuple[Any, float, float]:
    """What was made, and the bytes a row that stay, and that were taken meanwhile; Arrow's own are not counted."""
    gc.collect()
    tracemalloc.start()
    try:
        found = made()
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return found, held / ROWS, peak / ROWS


def test_rows_without_text_cost_bytes_in_the_table_of_what_was_not_judged(monkeypatch: Any) -> None:
    """A million rows took 400 MB for two sentences: a Python object and three copies for each."""
    costs = []

    def measured(*given: Any) -> Any:
        table, _, peak = held_and_peak(lambda: not_judged_table(*given))
        costs.append(peak)
        return table

    monkeypatch.setattr(result, "not_judged_table", measured)
    table = find([""] * ROWS).not_judged
    assert [reason.partition(":")[0] for reason in table["reason"].unique().to_pylist()] == ["without text"]
    assert table["kind"].unique().to_pylist() == ["without text"]
    assert table.num_rows == ROWS
    assert costs[0] < 100


def test_a_million_rejected_lines_are_not_a_million_objects(tmp_path: Path) -> None:
    """A million lines without a text took 180 bytes each, three times over."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n' + "{}\n" * ROWS + '{"text": 1}\n')
    documents = open_documents(path)
    documents.require("text", None)
    chunk = next(iter(documents.chunks()))
    rows, held, peak = held_and_peak(lambda: chunk.read(["text"]))
    assert held < 40
    assert peak < 150
    reason = "Object missing required field `text`"
    assert len(rows.problems) == ROWS + 1
    assert rows.problems[0] == Problem(str(path), 1, reason, "{}")
    assert rows.problems[ROWS - 1] == Problem(str(path), ROWS, reason, "{}")
    assert rows.problems[-1].raw == '{"text": 1}'


def test_rejected_lines_of_many_files_are_listed_one_after_the_other(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        bad = "" if name == "b" else '{}\n{"text": 1}\n'
        (tmp_path / f"{name}.jsonl").write_text('{"text": "a"}\n' + bad + "{}\n" * (name == "c"))
    found = find(tmp_path)
    assert found.run.counts.rejected == len(found.problems) == 5
    assert [(Path(p.source).name, p.row) for p in found.problems] == [
        ("a.jsonl", 1),
        ("a.jsonl", 2),
        ("c.jsonl", 1),
        ("c.jsonl", 2),
        ("c.jsonl", 3),
    ]
    assert found.problems[1:3] == tuple(found.problems)[1:3]
    assert found.problems == tuple(found.problems)
    found.save(tmp_path / "out")
    listed = (tmp_path / "out" / "problems.jsonl").read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=Problem) for line in listed] == list(found.problems)
