"""``--predict`` prints the cost of a run and stops; ``--memory`` prints it before a run, and the truth after."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.json as pj
import pyarrow.parquet as pq
import pytest

from neardup.deduplication.join.method import Choice, choose
from neardup.deduplication.run.predict import (
    A_DOCUMENT,
    START,
    Amounts,
    RunCost,
    memory_bytes,
    predict,
    process_bytes,
    seconds,
)
from neardup.io.readers import choose_columns, open_files
from neardup.settings import Settings, Work
from neardup.settings.records import CHUNK, PROCESS
from support.command_line import Run

DOCUMENTS = 3000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    draw, path = random.Random(8), tmp_path / "documents.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for _ in range(DOCUMENTS):
            words = [f"word{draw.randrange(9000)}" for _ in range(20)]
            lines.write(json.dumps({"text": " ".join(words)}) + "\n")
    return path


def predicted(source: Path, **settings: Any) -> RunCost:
    documents = open_files([str(source)])
    return predict(documents, choose_columns(documents, None, None), Settings.of(**settings), None)


def test_predict_prints_one_line_and_makes_nothing(source: Path, run: Run) -> None:
    found = run("dedup", source, "--predict", "--method", "lsh", "--memory", "2GB")
    assert found.status == 0
    assert found.out.count("\n") == 1
    assert " documents, " in found.out
    assert " of working files" in found.out
    assert [path.name for path in source.parent.iterdir()] == [source.name]


def test_a_limited_run_says_the_prediction_and_the_truth(source: Path, run: Run) -> None:
    limited = run("dedup", source, "-o", source.parent / "limited", "--method", "lsh", "--memory", "2GB")
    before, after = limited.err.splitlines()
    assert before.startswith("predicted: about 3,")
    assert after.startswith("taken: 3,000 documents, ")
    assert run("dedup", source, "-o", source.parent / "free").err == ""


def test_the_working_files_are_predicted_to_the_byte(source: Path, tmp_path: Path) -> None:
    """A footer has the number of documents; the keys of the bands take 8 bytes each."""
    parquet = tmp_path / "documents.parquet"
    pq.write_table(pj.read_json(source), parquet)
    made = predicted(parquet, method="lsh", memory=2)
    assert made.documents == DOCUMENTS
    assert made.disk % (8 * DOCUMENTS) == 0
    waiting = made.memory - made.process - A_DOCUMENT * DOCUMENTS
    assert 3 <= waiting / pq.read_metadata(parquet).row_group(0).total_byte_size <= 9  # kept rows, by the threads
    assert PROCESS < made.process < 2 * PROCESS
    assert predicted(parquet, method="lsh").disk == 0
    assert predicted(source).documents == DOCUMENTS  # the names of fields count


FEW_BANDS = {"method": "lsh", "threshold": 0.95, "recall": 0.5}


@pytest.mark.parametrize(
    ("order", "options"),
    [("close by", FEW_BANDS), ("anywhere", FEW_BANDS), ("anywhere", {"sketch": "simhash", "distance": 6})],
)
def test_the_sets_of_candidates_that_do_not_fit_are_predicted(
    tmp_path: Path, order: str, options: dict[str, Any]
) -> None:
    """8 bytes for each shingle of the third of the documents that are near another, wherever that is."""
    draw, path = random.Random(9), tmp_path / "near.jsonl"
    texts = [" ".join(f"{draw.randrange(16**6):06x}" for _ in range(100)) for _ in range(1000)]
    texts += [f"{text} again" for text in texts[:200]]
    texts.sort() if order == "close by" else draw.shuffle(texts)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    made, fits = (predicted(path, memory=memory, **options) for memory in (0.001, 2))
    assert made.disk == pytest.approx(8 * 96 * 400, rel=0.05)
    assert fits.disk < made.disk


def test_the_sets_of_an_exact_join_that_do_not_fit_are_predicted(source: Path) -> None:
    """8 bytes for each of 16 shingles, and 16 for each entry of a prefix: a fifth of them and one."""
    made, fits = (predicted(source, method="exact", memory=memory, threshold=0.8) for memory in (0.001, 2))
    assert made.disk == pytest.approx((8 * 16 + 16 * (16 / 5 + 1)) * made.documents, rel=0.01)
    assert fits.disk == 0
    assert "bytes for each" in made.in_words


def test_a_limit_that_cannot_hold_is_named(source: Path, run: Run) -> None:
    assert predicted(source, memory=100).warning is None
    found = run("dedup", source, "-o", source.parent / "out", "--memory", "100MB")
    assert found.status == 2
    assert not (source.parent / "out").exists()
    least = re.search(r"--memory (\d+)MB or more", " ".join(found.err.split()))
    assert least
    held = run("dedup", source, "--predict", "--method", "lsh", "--memory", f"{least[1]}MB")
    assert (held.status, held.err) == (0, "")
    between = predicted(source, memory=(int(least[1]) - 1) / 1000)
    assert between.warning is None or f"{A_DOCUMENT} bytes each" in between.warning


def test_many_copies_are_predicted_as_one(source: Path, tmp_path: Path) -> None:
    """Only different documents have shingles."""
    copies = tmp_path / "copies.jsonl"
    copies.write_text(
        "".join(source.read_text(encoding="utf-8").splitlines(keepends=True)[:900] * 3), encoding="utf-8"
    )
    made, plain = (predicted(path, method="exact", memory=0.001) for path in (copies, source))
    assert made.documents == 2700
    assert made.disk == pytest.approx(plain.disk * 900 / DOCUMENTS, rel=0.01)


MILLION = Amounts(1_000_000, 10**9, 10**8)


def memory(**settings: Any) -> int:
    """The memory for a million documents of 100 shingles."""
    chosen = Settings.of(threads=2, **settings)
    choice = None if chosen.by_simhash else choose(chosen.search, MILLION.shingles, chosen.shingles.unit)
    return memory_bytes(MILLION, chosen, choice)


def test_the_parts_of_the_memory_add_up() -> None:
    """The process and four chunks in flight; documents; and what each method holds of them."""
    fixed = PROCESS + 4 * CHUNK
    assert process_bytes(MILLION, Work(2)) == fixed
    assert process_bytes(MILLION, Work(8)) == PROCESS + 10 * CHUNK
    assert PROCESS < process_bytes(Amounts(10, 1000, 100), Work(8)) < PROCESS + 10_000
    signatures = 4 * 128 * MILLION.documents
    assert memory(method="lsh") == fixed + 135 * MILLION.documents + signatures
    assert fixed + A_DOCUMENT * MILLION.documents <= memory(method="lsh", memory="1GB") < memory(method="lsh")
    assert memory(method="exact") <= fixed + 135 * MILLION.documents + 10**9  # a join in parts keeps to its room
    assert memory(method="exact", memory="1GB") < 1e9
    assert memory(sketch="simhash", distance=3) > memory(sketch="simhash", distance=3, memory="1GB")


def test_lists_take_memory_for_each_entry_and_sets_for_each_different_shingle() -> None:
    few, settings = Amounts(10_000, 10**7, 10**7, distinct=0.5), Settings.of()
    choice = choose(settings.search, few.shingles)

    def join(amounts: Amounts) -> int:
        return memory_bytes(amounts, settings, choice) - process_bytes(amounts, settings.work) - 135 * 10_000

    assert join(few) == 8 * 5 * 10**6 + 15 * 5 * 10**5  # the counts
    assert join(replace(few, entries=10**6)) == 8 * 5 * 10**6 + 90 * 10**6


def test_common_shingles_are_counted_in_sets_in_flight() -> None:
    """With a limit the sets of all do not fit: a thread has one chunk of 8 MB in work, and two wait."""
    amounts = Amounts(10_000, 10**8, 10**8)

    def more(threads: int = 2, **settings: Any) -> int:
        given = {"threads": threads, **settings}
        plain, common = (Settings.of(**given, **asked) for asked in ({}, {"ignore_common": 0.1}))
        choice = Choice("lsh", "lsh", "", amounts.shingles)
        return memory_bytes(amounts, common, choice) - memory_bytes(amounts, plain, choice)

    assert more(memory="500MB") == pytest.approx(8 * 4 * CHUNK / 4.4, rel=0.01)
    assert more(memory="500MB", threads=1) == pytest.approx(8 * 3 * CHUNK / 4.4, rel=0.01)


def test_time_is_that_of_the_stages() -> None:
    """8 s of processor time for the first pass, 2 for each time the texts are read; sets, lists and bands."""
    amounts, sets, drawn = Amounts(10**6, 10**9, 10**8, grouped=0), 60e-9 * 10**8, 1e-6 * 2**19

    def taken(method: str, threads: int = 1, entries: int = 0, **settings: Any) -> float:
        chosen, choice = Settings.of(threads=threads, **settings), Choice("auto", method, "", amounts.shingles)
        return seconds(replace(amounts, entries=entries), chosen, choice, "jsonl", 8.0, 2.0) - START

    for method, work in (("exact", 8 + 2 * 2 + 1.0), ("lsh", 8 + 3 * 2 + 0.6 + 0.3 * sets + drawn)):
        assert taken(method) == pytest.approx(0.7 + work)
        assert taken(method, threads=4) == pytest.approx(0.7 + work / 4)
    assert taken("exact", 4, 10**6) - taken("exact", 4) == pytest.approx(0.44)  # one thread sorts the lists
    assert taken("exact", memory="9GB") - taken("exact") == pytest.approx(
        2 + sets
    )  # they are made in a second pass
    assert taken("lsh", ignore_common=0.1) - taken("lsh") == pytest.approx(3 * (2 + sets))


def test_only_a_search_by_signatures_holds_them() -> None:
    """With few shingles the signatures of LSH are most of the memory; an exact join makes none."""
    amounts = Amounts(1_000_000, 10_000_000, 1_000_000)
    few, many = Settings.of(slots=128), Settings.of(slots=4096)
    for method, more in (("lsh", 4 * (4096 - 128) * amounts.documents), ("exact", 0)):
        choice = Choice("auto", method, "", amounts.shingles)
        assert memory_bytes(amounts, many, choice) == memory_bytes(amounts, few, choice) + more
