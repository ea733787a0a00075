"""Processor time of documents that are alike, or nearly: how it grows with their number.

    python benchmarks/crowds.py [--sizes 12500,25000,50000] [--only letters]...

Shapes: *letters* (60 words, two of them changed anywhere, at .7), *one word* (equal but for one word), *menus* (40
of the same 60 phrases, in order; no two are alike), *star* (one text and copies of it with ten own words). Every
run is a process of its own. Seconds are processor time of the whole command, with loading; the ratio is that of a
size over the one before. Times of a busy machine are too long, ratios hardly.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from string import ascii_lowercase

import pyarrow as pa
import pyarrow.parquet as pq

from table import Report

RESULTS = Path(__file__).parent / "results" / "crowds.md"
MOST_SECONDS = 600


def words(draw: random.Random, count: int) -> list[str]:
    """Words that hardly recur."""
    return ["".join(draw.choices(ascii_lowercase, k=draw.randint(4, 9))) for _ in range(count)]


def letters(draw: random.Random, count: int) -> Iterator[str]:
    """One template of 60 words, two of them changed."""
    template = words(draw, 60)
    for _ in range(count):
        made = list(template)
        for place in draw.sample(range(60), 2):
            made[place] = words(draw, 1)[0]
        yield " ".join(made)


def one_word(draw: random.Random, count: int) -> Iterator[str]:
    """Texts that are equal but for a word in the middle."""
    template = words(draw, 60)
    for _ in range(count):
        yield " ".join([*template[:30], *words(draw, 1), *template[31:]])


def menus(draw: random.Random, count: int) -> Iterator[str]:
    """40 phrases from a pool of 60, in order."""
    pool = [" ".join(words(draw, 8)) for _ in range(60)]
    for _ in range(count):
        yield " ".join(pool[k] for k in sorted(draw.sample(range(60), 40)))


def star(draw: random.Random, count: int) -> Iterator[str]:
    """A text, and copies of it that are nearer to it than to each other."""
    hub = words(draw, 54)
    yield " ".join(hub)
    for _ in range(count - 1):
        yield " ".join([*hub, *words(draw, 10)])


Make = Callable[[random.Random, int], Iterator[str]]
CASES: dict[str, tuple[Make, list[str]]] = {
    "letters": (letters, ["--threshold", "0.7"]),
    "letters, --memory 1GB": (letters, ["--threshold", "0.7", "--memory", "1GB"]),
    "letters by containment": (letters, ["--threshold", "0.7", "--measure", "containment"]),
    "letters by common text": (letters, ["--threshold", "0.7", "--measure", "chunk-union"]),
    "letters, components": (letters, ["--threshold", "0.7", "--groups", "components"]),
    "one word": (one_word, []),
    "one word, exact": (one_word, ["--method", "exact"]),
    "one word, containment": (one_word, ["--measure", "containment"]),
    "menus": (menus, []),
    "menus, exact": (menus, ["--method", "exact"]),
    "menus, --pairs all": (menus, ["--pairs", "all"]),
    "star, components": (star, ["--method", "lsh", "--groups", "components"]),
}
NOTES = {
    "menus": "At 50,000 about 9 s compare each document with those before it, 8 ns a pair; most of the others "
    "verify 5.7 million candidates.",
    "menus, exact": "At 50,000 about 10 s compare each document with those before it, 8 ns a pair, by the bits of "
    "its shingles: all share hundreds of shingles with all others and are about equally far from each other, so "
    "that no bound from a third document settles several pairs. It is quadratic still.",
}
"""The floor of a case, from a profile."""


def spent(path: Path, out: Path, options: list[str]) -> tuple[float, float, dict] | None:
    """Processor and elapsed seconds of one command, and its run.json; None if it takes too long."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "neardup", "dedup", str(path), "-o", str(out), *options]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    elapsed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, elapsed, json.loads((out / "run.json").read_text())


def main() -> None:
    """Measure the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="12500,25000,50000")
    parser.add_argument("--only", action="append", help="the beginning of a name; may be repeated")
    given = parser.parse_args()
    sizes, only = [int(size) for size in given.sizes.split(",")], tuple(given.only or [""])
    report = Report("Crowds", "processor time")
    columns = ["documents", "method", "pairs listed", "processor s", "ratio", "elapsed s"]
    with tempfile.TemporaryDirectory() as name:
        for case in filter(lambda case: case.startswith(only), CASES):
            report.table(
                case[0].upper() + case[1:], columns, measured(case, sizes, Path(name)), NOTES.get(case, "")
            )
            report.write(RESULTS)


def measured(case: str, sizes: list[int], folder: Path) -> list[list[object]]:
    """The rows of a case, up to the first size that takes too long."""
    (make, options), rows, last = CASES[case], [], 0.0
    for size in sizes:
        path = folder / "in.parquet"
        pq.write_table(pa.table({"text": list(make(random.Random(5), size))}), path)
        done = spent(path, folder / f"{list(CASES).index(case)}-{size}", options)
        if done is None:
            return [*rows, [size, "", "", "", "", f"more than {MOST_SECONDS}"]]
        used, elapsed, run = done
        rows.append(
            [size, run["choice"]["method"], run["counts"]["pairs"], used, used / last if last else "", elapsed]
        )
        last = used
    return rows


if __name__ == "__main__":
    main()
