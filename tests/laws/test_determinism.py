"""Same input, same settings → same bytes out, however many threads and however the rows are cut up."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.run.find import run
from neardup.deduplication.run.save import save
from neardup.deduplication.run.stages.records import Inputs
from neardup.io.readers import choose_columns, open_documents
from neardup.unicode import tokens
from support import shared_data
from support.full_run import FULL
from support.made_texts import Writer, edited, punctuated

TABLES = ("pairs.parquet", "groups.parquet", "copies.parquet", "ranks.parquet", "not_judged.parquet")
ROWS = tuple[tuple[int, str, float], ...]


@cache
def made_rows() -> ROWS:
    """Return texts in families of edits, a crowd of 120 forms, copies, short and empty texts; shuffled."""
    writer = Writer(seed=5)
    texts = ["", " . ", "one two", "One, two!", "7 7 7 7 7 7 7"]
    for _ in range(60 if FULL else 25):
        words = writer.words(writer.random.randint(60, 300))
        texts.append(punctuated(words))
        texts += [punctuated(edited(words, writer.random.uniform(0.7, 1), writer)) for _ in range(3)]
    page = writer.words(120)
    texts += [punctuated([*page[:60], f"number{k}", *page[60:]]) for k in range(120)]
    texts += writer.random.choices(texts, k=60)
    return scored(texts, seed=6)


@cache
def real_rows() -> ROWS:
    """Return every third text of three real sets and of our own; families stand together, so members stay.

    Without the real sets, all texts of our own.
    """
    names = shared_data.here(("own", "license_texts", "site_policy", "irplag_java"))
    step = 3 if len(names) > 1 else 1
    return scored([text for name in names for text in list(shared_data.documents(name).values())[::step]], seed=7)


def scored(texts: list[str], seed: int) -> ROWS:
    choose = random.Random(seed)
    choose.shuffle(texts)
    scores = choose.sample(range(10 * len(texts)), len(texts))
    return tuple(zip(range(len(texts)), texts, map(float, scores), strict=True))


CORPORA: dict[str, Callable[[], ROWS]] = {"made": made_rows, "real": real_rows}


@pytest.fixture(params=CORPORA)
def rows(request: pytest.FixtureRequest) -> ROWS:
    return CORPORA[request.param]()


def as_table(rows: ROWS) -> pa.Table:
    numbers, texts, scores = zip(*rows, strict=True)
    return pa.table({"id": pa.array(numbers), "text": pa.array(texts), "score": pa.array(scores)})


def written(inputs: object, out: Path, chunk_bytes: int | None = None, **settings: Any) -> dict[str, bytes]:
    """Return the files that deduplicating ``inputs`` writes, by name."""
    documents = open_documents(inputs) if chunk_bytes is None else open_documents(inputs, chunk_bytes=chunk_bytes)
    columns = choose_columns(documents, None, None)
    chosen = nd.Settings.of(**{"threshold": 0.7, **settings})
    outcome = run(Inputs(documents, columns, chosen, action="dedup"))
    save(outcome, out, action="dedup")
    return {path.name: path.read_bytes() for path in out.iterdir()}


def of_tables(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: files[name] for name in TABLES}


def kept_files(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name.startswith("kept")}


@pytest.mark.part(2)
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_threads_change_no_byte(rows: ROWS, form: str, tmp_path: Path) -> None:
    source = tmp_path / f"rows.{form}"
    write(rows, source)
    results = [
        written(source, tmp_path / f"out{threads}", chunk_bytes=20_000, threads=threads) for threads in (1, 2, 8)
    ]
    one, *others = results
    assert kept_files(one)
    assert len(pq.read_table(tmp_path / "out1" / "pairs.parquet")) > 100
    for other in others:
        assert of_tables(other) == of_tables(one)
        assert kept_files(other) == kept_files(one)
        assert without_costs(other["run.json"]) == without_costs(one["run.json"])


def write(rows: ROWS, path: Path, row_group_size: int | None = None) -> None:
    if path.suffix == ".parquet":
        pq.write_table(as_table(rows), path, row_group_size=row_group_size)
    else:
        lines = [json.dumps({"id": id, "text": text, "score": score}) for id, text, score in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def without_costs(run_file: bytes) -> dict[str, Any]:
    """Return the account of a run without what may differ: time, memory, the number of threads."""
    account = json.loads(run_file)
    del account["seconds"], account["peak_memory_bytes"], account["settings"]["threads"]
    return account


@pytest.mark.part(2)
def test_the_cut_and_the_container_change_no_byte(rows: ROWS, tmp_path: Path) -> None:
    """The tables are the same bytes for every input that holds the same rows; the kept rows are the same."""
    parquet, jsonl = tmp_path / "rows.parquet", tmp_path / "rows.jsonl"
    small_groups, table = tmp_path / "small.parquet", as_table(rows)
    write(rows, parquet)
    write(rows, small_groups, row_group_size=7)
    write(rows, jsonl)
    batches = [batch for k in range(0, len(rows), 13) for batch in table.slice(k, 13).to_batches()]
    inputs: dict[str, tuple[object, int | None]] = {
        "list of texts": ([text for _, text, _ in rows], None),
        "Arrow table": (table, None),
        "Arrow table, small chunks": (table, 5_000),
        "Arrow table of many slices": (pa.Table.from_batches(batches), None),
        "iterator of batches": (iter(batches), 5_000),
        "large strings": (table.set_column(1, "text", table["text"].cast(pa.large_string())), 5_000),
        "Parquet": (parquet, None),
        "Parquet of small row groups": (small_groups, 5_000),
        "JSONL": (jsonl, None),
        "JSONL, small chunks": (jsonl, 5_000),
        "JSONL, large chunks of two threads": (jsonl, 1 << 20),
    }
    results = {
        name: written(source, tmp_path / f"out{k}", chunk_bytes)
        for k, (name, (source, chunk_bytes)) in enumerate(inputs.items())
    }
    first = of_tables(results["Parquet"])
    for name, files in results.items():
        assert of_tables(files) == first, name
    kept = {
        name: [row["text"] for row in kept_rows(tmp_path / f"out{k}")]
        for k, name in enumerate(inputs)
        if name != "list of texts"
    }
    groups = pq.read_table(tmp_path / "out6" / "groups.parquet").to_pylist()
    removed = {row["id"] for row in groups if not row["kept"]}
    assert removed
    for name, texts in kept.items():
        assert texts == [text for id, text, _ in rows if id not in removed], name


def kept_rows(out: Path) -> list[dict[str, Any]]:
    path = next(out.glob("kept.*"))
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.part(3)
@pytest.mark.parametrize("groups", ["principal", "components", "complete"])
def test_the_order_of_the_rows_changes_neither_pairs_nor_groups(rows: ROWS, groups: str) -> None:
    """With unique scores no tie is left to the order. Exact copies stand for each other: a text is its number."""
    number: dict[str, int] = {}
    text_of = {id: number.setdefault(" ".join(tokens(text)), len(number)) for id, text, _ in rows}
    results = []
    for seed in range(3):
        shuffled = list(rows)
        if seed:
            random.Random(seed).shuffle(shuffled)
        table = as_table(tuple(shuffled))
        found = nd.find(table, threshold=0.7, keep="max:score", groups=groups)
        results.append((pairs_by_text(found, text_of), groups_by_id(found), found.run.counts))
    assert len(results[0][0]) > 100
    assert results[0] == results[1] == results[2]


def pairs_by_text(found: nd.Found, text_of: dict[int, int]) -> dict[frozenset[int], tuple[int, frozenset[Any]]]:
    pairs = {}
    for row in found.pairs.to_pylist():
        a, b = text_of[row["id_a"]], text_of[row["id_b"]]
        pairs[frozenset((a, b))] = (row["shared"], frozenset({(a, row["size_a"]), (b, row["size_b"])}))
    return pairs


def groups_by_id(found: nd.Found) -> dict[int, frozenset[tuple[int, float]]]:
    members: dict[int, set[tuple[int, float]]] = {}
    for row in found.groups.to_pylist():
        members.setdefault(row["group"], set()).add((row["id"], row["similarity"]))
    return {group: frozenset(of_group) for group, of_group in members.items()}


def test_a_second_run_in_the_same_process_is_the_same(rows: ROWS) -> None:
    first, second = (nd.find(as_table(rows), threshold=0.6) for _ in range(2))
    assert first.pairs.equals(second.pairs)
    assert first.groups.equals(second.groups)
    signatures = [nd.MinHash().sketch([text for _, text, _ in rows]) for _ in range(2)]
    assert np.array_equal(*signatures)
