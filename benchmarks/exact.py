"""What ``--method exact`` costs over LSH, and how it grows; the tables go to benchmarks/results/exact.md.

    python benchmarks/exact.py corpus.parquet [--large FILE] [--rounds 5] [--only cost,missed,coverage,growth]

Ends with exit status 1 if a pair of LSH is none, or if fewer of the stated 95 % intervals hold the number of
missed pairs than chance explains with a probability of 1 %.

Parts: *cost* (the whole ``neardup dedup`` by both methods, seconds and memory, at .8 and .6), *missed* (all pairs
of both, and which LSH has not), *coverage* (how many of 40 intervals hold the missed pairs of a part of the
corpus, whose words are changed from draw to draw, so that LSH loses others), *growth* (seconds and number of
documents). Every run is a process of its own, and the methods take turns; machines are shared, so read the ratios
first. FILE has short documents in random order, as ``growth.cut`` writes them: where it is given, the sizes of
*growth* are its first rows; otherwise they are cut from the corpus.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from functools import partial
from math import comb
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import copy_floor
import growth
from table import Report

METHODS = ("lsh", "exact")
MOST_TIMES = {"0.8": 2.0, "0.6": 3.0}
"""Threshold → how many times the seconds of LSH are allowed."""

DRAWS = 40
LEAST_CHANCE = 0.01
"""The benchmark fails if intervals of 95 % hold as seldom by chance with a lower probability."""
OUTSIDE = " **outside**"
BYTES_A_SHINGLE = 16.0
EXPONENT = 1.15

FINGERPRINT = """
import json
import sys
import numpy as np
import neardup.deduplication.run.find  # the code of a whole run takes memory too
from neardup.deduplication.run.pipeline import Meter
from neardup.runtime import peak_memory
from neardup.deduplication.join.corpus import Corpus, Part
from neardup.deduplication.join.first_pass import fingerprint
from neardup.runtime import Silent
from neardup.io.readers import choose_columns, open_documents
from neardup.settings import Settings
documents = open_documents(sys.argv[1])
columns = choose_columns(documents, None, None)
corpus = Corpus((Part(documents, columns.text, columns.id),), Settings.of())
rows, _ = fingerprint(corpus, 0, Meter(Silent()))  # an exact run makes no signatures
peak = peak_memory()
shingles = 0
for some in np.array_split(rows.unique, 1 + len(rows.unique) // 50_000):
    room = np.empty(int(rows.units[some].sum()), np.uint64)
    shingles += int(rows.corpus.shingle_sets(some, room).sizes.sum())
print(json.dumps({"peak": peak, "documents": len(rows.unique), "shingles": shingles}))
"""
"""Fingerprints a file as every run does, and no more; then counts the shingles of the documents that differ."""


def main() -> None:
    """Measure the parts asked for and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--large", type=Path, help="Parquet file of short documents in random order, for growth")
    parser.add_argument("--part", default="drivers/gpu/drm/amd/", help="coverage: the rows with it in their id")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="cost,missed,coverage,growth")
    parser.add_argument("--sizes", default=",".join(map(str, growth.SIZES)), help="documents, for growth")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "exact.md")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    parts = {
        "cost": partial(cost, corpus=given.corpus, rounds=given.rounds),
        "missed": partial(missed, corpus=given.corpus),
        "coverage": partial(covered, corpus=given.corpus, part=given.part),
        "growth": partial(grown, source=given.large or given.corpus, short=bool(given.large), sizes=sizes),
    }
    report = Report("Exact method", f"{platform.machine()}, Python {platform.python_version()}")
    failures: list[str] = []
    for name in given.only.split(","):
        failures += parts[name](report) or []
        report.write(given.out)
    if failures:
        sys.exit("\n".join(failures))


def cost(report: Report, corpus: Path, rounds: int) -> None:
    """Seconds and memory of the whole command by both methods, at each threshold."""
    alone = fingerprinted(corpus)
    seconds, memory = [], []
    with tempfile.TemporaryDirectory(dir=corpus.parent) as name:
        for threshold, allowed in MOST_TIMES.items():
            walls, runs = alternated(corpus, Path(name), threshold, rounds)
            ratios = [exact / lsh for lsh, exact in zip(walls["lsh"], walls["exact"], strict=True)]
            spent = [median(walls[method]) for method in METHODS]
            seconds.append([threshold, *spent, median(ratios), min(ratios), max(ratios), allowed])
            peaks = [median(run["peak_memory_bytes"] for run in runs[method]) for method in METHODS]
            above = [(peaks[1] - under) / alone["shingles"] for under in (alone["peak"], peaks[0])]
            memory.append(
                [threshold, alone["peak"] / 1e6, *(peak / 1e6 for peak in peaks), *above, BYTES_A_SHINGLE]
            )
    run = runs["exact"][0]
    note = (
        f"{run['counts']['read']:,} documents, {run['bytes']['text']:,} bytes of text; whole commands, with "
        f"imports and writing, medians of {rounds} rounds; ratio = median of the ratios of the rounds."
    )
    columns = ["threshold", "lsh, s", "exact, s", "ratio", "least", "greatest", "allowed"]
    report.table("Whole run, exact against LSH", columns, seconds, note)
    note = (
        f"{alone['shingles']:,} shingles in the sets of {alone['documents']:,} different documents. Bytes a "
        "shingle = (peak of exact − peak of a process that only fingerprints) / shingles; the next column is the "
        "same over the peak of LSH."
    )
    columns = [
        "threshold",
        "fingerprint only, MB",
        "lsh, MB",
        "exact, MB",
        "bytes a shingle",
        "over lsh",
        "allowed",
    ]
    report.table("Memory", columns, memory, note)


def alternated(
    corpus: Path, folder: Path, threshold: str, rounds: int
) -> tuple[dict[str, list[float]], dict[str, list[dict]]]:
    """(wall seconds, run.json) of each round by method; who goes first changes from round to round."""
    walls: dict[str, list[float]] = {method: [] for method in METHODS}
    runs: dict[str, list[dict]] = {method: [] for method in METHODS}
    for method in METHODS:  # compiles missing kernels, and warms the page cache
        copy_floor.dedup(corpus, folder, options(method, threshold))
    for number in range(rounds):
        for method in METHODS if number % 2 == 0 else METHODS[::-1]:
            wall, run = copy_floor.dedup(corpus, folder, options(method, threshold))
            walls[method].append(wall)
            runs[method].append(run)
    return walls, runs


def options(method: str, threshold: str) -> list[str]:
    """The arguments behind the file names."""
    return ["--method", method, "--threshold", threshold]


def fingerprinted(corpus: Path) -> dict[str, int]:
    """Peak bytes of a process that only fingerprints; documents that differ; shingles in all their sets."""
    command = [sys.executable, "-c", FINGERPRINT, str(corpus)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def missed(report: Report, corpus: Path) -> list[str]:
    """All pairs by both methods: how many LSH lacks, and how many it stated that it would lack."""
    rows, failures = [], []
    with tempfile.TemporaryDirectory(dir=corpus.parent) as name:
        folder = Path(name)
        for threshold in MOST_TIMES:
            (exact, _), (lsh, run) = (all_pairs(corpus, folder, method, threshold) for method in METHODS[::-1])
            lost, made_up = without(exact, lsh), without(lsh, exact)
            failures += [f"At {threshold}, {made_up:,} pairs of LSH are none"] * bool(made_up)
            found, closed = 1 - lost / max(1, exact.num_rows), run["closed"]
            chains = f"{closed['found']:,} of {closed['compared']:,}; {closed['joined']:,} joined"
            row = [threshold, lsh.num_rows, exact.num_rows, lost, interval(run["recall"], lost), made_up]
            rows.append([*row, f"{found:.5f}", f"{run['recall']['planned']:g}", chains])
    columns = ["threshold", "lsh", "exact", "missed by LSH", "as LSH states, 95 %", "LSH alone (must be 0)"]
    columns += ["recall of LSH", "planned at the threshold", "found by chains"]
    note = (
        "One draw of LSH each. An interval of 95 % may lack the number, and says so here; the next table counts "
        "how often. *Found by chains*: pairs among those that only closing compared; documents of large families "
        "that were joined exactly."
    )
    report.table("Pairs (`--pairs all`)", columns, rows, note)
    return failures


def covered(report: Report, corpus: Path, part: str) -> list[str]:
    """How many of the stated intervals hold the missed pairs, each with the words of all texts changed alike."""
    table = pq.read_table(corpus, columns=["id", "text"])
    table = table.filter(pc.match_substring(table["id"], part))
    threshold, lost, outside, made_up = min(MOST_TIMES), list[int](), list[str](), 0
    with tempfile.TemporaryDirectory(dir=corpus.parent) as name:
        file = Path(name) / "part.parquet"
        pq.write_table(table, file)
        exact, _ = all_pairs(file, Path(name), "exact", threshold)
        for draw in range(DRAWS):
            texts = pc.replace_substring_regex(table["text"], r"(\w+)", rf"\1x{draw}")
            pq.write_table(table.set_column(1, "text", texts), file)
            pairs, run = all_pairs(file, Path(name), "lsh", threshold)
            made_up += without(pairs, exact)
            lost.append(without(exact, pairs))
            if OUTSIDE in (stated := interval(run["recall"], lost[-1])):
                outside.append(f"{lost[-1]:,} ({stated.removesuffix(OUTSIDE)})")
    holding = DRAWS - len(outside)
    chance = sum(comb(DRAWS, k) * 0.95**k * 0.05 ** (DRAWS - k) for k in range(holding + 1))
    row = [threshold, table.num_rows, exact.num_rows, DRAWS, holding, f"{chance:.2f}"]
    row += [f"{min(lost):,} to {max(lost):,}, median {median(lost):g}", "; ".join(outside) or "none"]
    columns = ["threshold", "documents", "pairs", "draws", "intervals that hold", "chance of as few"]
    columns += ["missed by LSH", "missed outside (stated)"]
    note = (
        f"The rows of `{part}`. In each draw, every word of all texts has another suffix: the pairs stay, and LSH "
        "loses others. *Chance of as few*: of intervals that hold with .95 each; below .01, the benchmark fails."
    )
    report.table("Draws of LSH whose 95 % interval holds the missed pairs", columns, [row], note)
    few = [f"{holding} of {DRAWS} intervals of 95 % hold the number of missed pairs"] * (chance < LEAST_CHANCE)
    return few + [f"In the draws, {made_up:,} pairs of LSH are none"] * bool(made_up)


def all_pairs(corpus: Path, folder: Path, method: str, threshold: str) -> tuple[pa.Table, dict]:
    """The ids of all pairs by a method, and its run.json."""
    _, run = copy_floor.dedup(corpus, folder, [*options(method, threshold), "--pairs", "all"])
    return pq.read_table(folder / "out" / "pairs.parquet", columns=["id_a", "id_b"]), run


def interval(stated: dict, lost: int) -> str:
    """The interval that a run states, marked if the pairs that were ``lost`` are outside."""
    low, high = stated["missed"]["low"], stated["missed"]["high"]
    shown = f"at most {high:,.0f}" if stated["at_least"] else f"{low:,.0f} to {high:,.0f}"
    return shown + OUTSIDE * (not low <= lost <= high)


def without(pairs: pa.Table, others: pa.Table) -> int:
    """How many pairs are not among the others."""
    return pairs.join(others, keys=["id_a", "id_b"], join_type="left anti").num_rows


def grown(report: Report, source: Path, short: bool, sizes: list[int]) -> None:
    """The growth of the exact method at .8."""
    make = partial(head if short else growth.cut, source)
    heading = f"Growth of the exact method (an exponent of at most {EXPONENT} is allowed)"
    growth.grow(report, heading, source.parent, make, 3, sizes, options("exact", "0.8"))


def head(source: Path, out: Path, wanted: int) -> int:
    """Write the texts of the first ``wanted`` rows of a file; their number."""
    written = 0
    with pq.ParquetWriter(out, pa.schema([("text", pa.large_string())])) as writer:
        for batch in pq.ParquetFile(source).iter_batches(columns=["text"]):
            part = pa.Table.from_batches([batch.slice(0, wanted - written)])
            writer.write_table(part.cast(writer.schema))
            written += part.num_rows
            if written == wanted:
                break
    return written


if __name__ == "__main__":
    main()
