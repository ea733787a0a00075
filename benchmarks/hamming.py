"""SimHash and Hamming search: sketch, all pairs and index; the tables go to benchmarks/results/hamming.md.

    python benchmarks/hamming.py [--corpus FILE] [--rounds 3] [--sizes 1000000,10000000] [--only PARTS]

Parts: *sketch* (texts to fingerprints on one core; FILE is a Parquet file with a column text, without it made-up
words), *pairs* (all pairs within 3 bits of random fingerprints, a tenth of which are near another, in one thread
and two; memory of a process that does only that), *skew* (the same for fingerprints that are not random), *index*
(additions and queries). Machines are shared: the head of the page says how busy this one was.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import neardup as nd
import text_speed
from table import Report, seconds

DISTANCE = 3
TARGETS = {(1_000_000, 1): 1.0, (10_000_000, 2): 20.0}
"""(fingerprints, threads) → seconds allowed."""

SKETCH_TARGET = 150.0
"""MB/s on one core."""

MEMORY = """
import sys
import numpy as np
from neardup.runtime import peak_memory
from neardup.text.lsh.hamming import hamming_pairs
hamming_pairs(np.arange(3000, dtype=np.uint64), 3)  # what the code itself takes is not asked for
rows = np.random.default_rng(1).integers(0, 2**64, int(sys.argv[1]), dtype=np.uint64)
before = peak_memory()
hamming_pairs(rows, 3, int(sys.argv[2]))
print((peak_memory() - before) / 1e6)
"""


def main() -> None:
    """Measure the parts asked for and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", default="1000000,10000000")
    parser.add_argument("--only", default="sketch,pairs,skew,index")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "hamming.md")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    parts = {
        "sketch": partial(sketch, corpus=given.corpus, rounds=given.rounds),
        "pairs": partial(pairs, sizes=sizes, rounds=given.rounds),
        "skew": partial(skew, size=sizes[0], rounds=given.rounds),
        "index": partial(index, sizes=sizes),
    }
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    machine = f"{platform.machine()}, Python {platform.python_version()}, load {load} when it began"
    report = Report("SimHash and Hamming search", machine)
    for name in given.only.split(","):
        parts[name](report)
        report.write(given.out)


def sketch(report: Report, corpus: Path | None, rounds: int) -> None:
    """Texts to fingerprints, each family."""
    texts = text_speed.sample(corpus) if corpus else made_up(20_000)
    size = pc.sum(pc.binary_length(texts)).as_py()
    rows = []
    for bits in (64, 128):
        for features in ("char:4", "word", "shingle:5"):
            family = nd.SimHash(bits, features)
            taken = seconds(lambda family=family: family.sketch(texts), rounds)
            rows.append([bits, features, len(texts), size / len(texts), size / 1e6 / taken, SKETCH_TARGET])
    columns = ["bits", "features", "documents", "bytes a document", "MB/s on one core", "wanted"]
    report.table("Texts to fingerprints, ASCII", columns, rows)


def made_up(n: int) -> pa.Array:
    """Documents of 500 made-up words."""
    rng = np.random.default_rng(1)
    letters = rng.integers(97, 123, (5000, 10), dtype=np.uint8)
    words = [row[: 2 + k % 9].tobytes().decode() for k, row in enumerate(letters)]
    return pa.array([" ".join(words[k] for k in rng.integers(0, 5000, 500)) for _ in range(n)])


def random_rows(n: int) -> np.ndarray:
    """Random fingerprints; a tenth of them differ from another in one bit."""
    rng = np.random.default_rng(n)
    rows = rng.integers(0, 2**64, n, dtype=np.uint64)
    near = n // 10
    rows[n - near :] = rows[:near] ^ (np.uint64(1) << rng.integers(0, 64, near, dtype=np.uint64))
    return rows


def pairs(report: Report, sizes: list[int], rounds: int) -> None:
    """All pairs of random fingerprints, and the memory it takes."""
    table = []
    for size in sizes:
        rows, tables = random_rows(size), nd.hamming_plan(size).design.tables
        for threads in (1, 2):
            taken = seconds(lambda rows=rows, threads=threads: nd.hamming_pairs(rows, DISTANCE, threads), rounds)
            command = [sys.executable, "-c", MEMORY, str(size), str(threads)]
            memory = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            found = nd.hamming_pairs(rows, DISTANCE).pairs.num_rows
            table.append([size, threads, tables, found, taken, TARGETS.get((size, threads), ""), memory])
    columns = ["fingerprints", "threads", "tables", "pairs", "seconds", "allowed", "memory, MB"]
    report.table(f"All pairs within {DISTANCE} of 64 bits", columns, table)


def skew(report: Report, size: int, rounds: int) -> None:
    """The same for fingerprints that are not random."""
    rng = np.random.default_rng(2)
    rows = random_rows(size)
    crowd = rows.copy()
    crowd[size // 2 :] = rows[0]
    block = rows.copy()
    block[: size // 2] &= ~np.uint64(0xFFFF)
    centres = rows[: size // 100][rng.integers(0, size // 100, size)]
    flips = [np.uint64(1) << rng.integers(0, 64, size, dtype=np.uint64) for _ in range(4)]
    cases = {
        "random": rows,
        "half are equal": crowd,
        "half agree in 16 bits": block,
        "only 32 bits vary": rows & np.uint64(2**32 - 1),
        "clusters of 100, 4 bits around": centres ^ flips[0] ^ flips[1] ^ flips[2] ^ flips[3],
    }
    table = []
    for name, case in cases.items():
        taken = seconds(lambda case=case: nd.hamming_pairs(case, DISTANCE, 1), rounds)
        found = nd.hamming_pairs(case, DISTANCE)
        table.append([name, size, found.copies.num_rows, found.pairs.num_rows, taken])
    report.table("Skewed fingerprints, one thread", ["kind", "fingerprints", "copies", "pairs", "seconds"], table)


def index(report: Report, sizes: list[int]) -> None:
    """Additions at once and in parts, queries one by one and all at once."""
    table = []
    for size in sizes:
        rows = random_rows(size)
        made = nd.HammingIndex()
        added = once(lambda made=made, rows=rows: made.add(rows))
        grown = nd.HammingIndex()
        parts = np.array_split(rows, 1000)
        added_in_parts = once(lambda grown=grown, parts=parts: [grown.add(part) for part in parts])
        asked = rows[:: size // 10_000].tolist()
        speeds = []
        for kept in (made, grown):
            kept.query(asked[0])
            one_by_one = once(lambda kept=kept, asked=asked: [kept.query(query) for query in asked])
            together = once(lambda kept=kept, rows=rows: kept.neighbours(rows[:100_000]))
            speeds += [len(asked) / one_by_one, min(size, 100_000) / together]
        table.append([size, added, added_in_parts, *speeds])
    columns = [
        "fingerprints",
        "added at once, s",
        "in 1 000 parts, s",
        "queries a second",
        "many at once, a second",
        "grown: queries a second",
        "grown: many at once, a second",
    ]
    report.table(f"Index, distance {DISTANCE} of 64 bits", columns, table)


def once(work: Callable[[], object]) -> float:
    """Seconds of a single call."""

    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
