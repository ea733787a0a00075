"""Exact joins of sets beside a C++ program and other packages; the table goes to benchmarks/results/set_joins.md.

    python benchmarks/set_joins.py [--number 20000]
    python benchmarks/set_joins.py --peers PYTHON,PYTHON
    python benchmarks/set_joins.py --weights

The sets are drawn by the recipe of Mann, Augsten and Bouros (2016, section 5): *uniform*: about 10 of 209 tokens;
*Zipf*: about 50 of 100,000; *pos*: about 6.5 of 1,657; *copies*: half of the sets are edited copies of the other
half, about 30 tokens by Zipf's law. All programs get the same tokens as strings, have one thread, and return the
pairs of Jaccard similarity. The C++ program (all_pairs.cpp, compiled here with -O3) counts from the opening of its
file, ``neardup.join`` and ``neardup.find`` from lists of str; each in processor seconds. With ``--peers`` other
packages are measured instead, each by an interpreter that has SetSimilaritySearch or py_stringsimjoin; the latter
joins a table with itself, which is twice the work. ``--weights`` measures the joins by weights of tf-idf instead,
beside the join without weights and the products of all rows of a sparse matrix of such weights.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse

import neardup as nd
from table import Report, seconds

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
ROUNDS = 9

PEER = """
import sys, time
from importlib.metadata import version
lines = open(sys.argv[1]).read().splitlines()
threshold = float(sys.argv[2])
try:
    from SetSimilaritySearch import all_pairs
    name, sets = "SetSimilaritySearch", [line.split() for line in lines]
    begin = time.process_time()
    pairs = [(min(a, b), max(a, b)) for a, b, _ in all_pairs(sets, "jaccard", threshold)]
except ImportError:
    import pandas, py_stringsimjoin, py_stringmatching
    name, table = "py_stringsimjoin", pandas.DataFrame({"id": range(len(lines)), "text": lines})
    cut = py_stringmatching.WhitespaceTokenizer(return_set=True)
    begin = time.process_time()
    joined = py_stringsimjoin.jaccard_join(
        table, table, "id", "id", "text", "text", cut, threshold, n_jobs=1, show_progress=False
    )
    pairs = [(a, b) for a, b in zip(joined["l_id"], joined["r_id"]) if a < b]
print(name, version(name), time.process_time() - begin)
for pair in pairs:
    print(*pair)
"""


def drawn(random: np.random.Generator, number: int, tokens: int, mean: float, skew: float) -> list[set[int]]:
    """Sets of a Poisson number of different tokens, of which the k-th most frequent has a weight of k^−skew."""
    ends = np.cumsum(np.arange(1, tokens + 1) ** -float(skew))
    sets = []
    for size in np.maximum(1, random.poisson(mean, number)).tolist():
        one: set[int] = set()
        while len(one) < min(size, tokens):
            one.update(np.searchsorted(ends, random.random(size - len(one)) * ends[-1]).tolist())
        sets.append(one)
    return sets


def with_copies(random: np.random.Generator, number: int) -> list[set[int]]:
    """Sets of about 30 tokens, and as many copies of them with up to seven tokens replaced."""
    sets = drawn(random, number // 2, 100_000, 30, 1)
    for _ in range(number - len(sets)):
        original = sorted(sets[random.integers(number // 2)])
        edits = int(random.integers(0, 8))
        lost = random.choice(len(original), min(edits, len(original) - 1), replace=False)
        sets.append({*np.delete(original, lost).tolist(), *random.integers(0, 100_000, edits).tolist()})
    return sets


def shapes(number: int) -> Iterator[tuple[str, list[set[int]]]]:
    """Yield the name of each kind of sets, and the sets."""
    random = np.random.default_rng(1)
    yield "uniform", drawn(random, number, 209, 10, 0)
    yield "Zipf", drawn(random, number, 100_000, 50, 1)
    yield "pos", drawn(random, number, 1657, 6.5, 0.8)
    yield "copies", with_copies(random, number)


def printed(command: list[str]) -> list[str]:
    """The words that a program prints."""
    return subprocess.check_output(command, text=True).split()


def of_peer(python: str, file: Path, sets: list[list[str]], threshold: float) -> list[object]:
    """A package, the true pairs, those that it lacks, the pairs that are not true, its seconds and ours."""
    table = nd.join(sets, threshold=threshold, threads=1)
    ours = seconds(lambda: nd.join(sets, threshold=threshold, threads=1), ROUNDS, time.process_time)
    true = set(zip(*(table[name].to_pylist() for name in table.column_names[:2]), strict=True))
    command = [python, "-c", PEER, str(file), str(threshold)]
    first, *lines = subprocess.check_output(command, text=True).splitlines()
    name, version, taken = first.split()
    theirs = {(int(a), int(b)) for a, b in map(str.split, lines)}
    times = float(taken) / ours
    return [f"{name} {version}", len(true), len(true - theirs), len(theirs - true), float(taken), ours, times]


def row_of(program: Path, file: Path, sets: list[list[str]], threshold: float) -> list[object]:
    """Seconds of the C++ program, of ours and their ratio, each a median of rounds of all, and the pairs.

    In each round one program follows the other, so that other work on the machine meets them all.
    """
    rounds: list[tuple[float, float, float, float]] = []
    table = nd.join(sets, threshold=threshold, threads=1)
    for _ in range(ROUNDS):
        pairs, whole, join_alone = map(float, printed([str(program), str(file), str(threshold)]))
        join = seconds(lambda: nd.join(sets, threshold=threshold, threads=1), 1, time.process_time)
        find = seconds(
            lambda: nd.find(sets=sets, threshold=threshold, threads=1, method="exact"), 1, time.process_time
        )
        rounds.append((whole, join_alone, join, find))
    whole, join_alone, join, find = map(median, zip(*rounds, strict=True))
    ratio = median(ours / theirs for theirs, _, ours, _ in rounds)
    same = "" if table.num_rows == pairs else f" ({int(pairs) - table.num_rows:+} in C++)"
    within = "yes" if find <= 1.5 * join + 0.1 else f"no: {1.5 * join + 0.1:.2f}"
    return [f"{table.num_rows:,}{same}", whole, join_alone, join, ratio, find, within]


def drawn_files(number: int, folder: Path) -> Iterator[tuple[str, list[list[str]], Path, float]]:
    """Yield each kind of sets with its name, its file and each threshold."""
    for shape, sets in shapes(number):
        words = [[f"t{token}" for token in sorted(one)] for one in sets]
        file = folder / f"{shape}.txt"
        file.write_text("".join(" ".join(one) + "\n" for one in words))
        for threshold in THRESHOLDS:
            yield shape, words, file, threshold


def beside_cpp(report: Report, number: int, folder: Path) -> None:
    """Add the table of the C++ program."""
    program, source = folder / "all_pairs", Path(__file__).parent / "all_pairs.cpp"
    if subprocess.run(["g++", "-O3", "-march=native", "-std=c++17", "-o", program, source]).returncode:
        sys.exit("all_pairs.cpp cannot be compiled: this benchmark needs g++")
    rows: list[list[object]] = []
    for shape, sets, file, threshold in drawn_files(number, folder):
        rows.append([shape, threshold, *row_of(program, file, sets, threshold)])
        print(rows[-1], flush=True)
    columns = ["sets", "threshold", "pairs", "C++, s", "its join alone, s", "`join`, s", "ratio to C++"]
    columns += ["`find`, s", "≤ 1.5 `join` + .1 s"]
    note = f"{number:,} sets a row, one thread, processor seconds, medians of {ROUNDS} rounds of all."
    report.table("join and find beside AllPairs in C++", columns, rows, note)


def beside_peers(report: Report, number: int, folder: Path, pythons: list[str]) -> None:
    """Add the table of other packages."""
    rows: list[list[object]] = []
    for shape, sets, file, threshold in drawn_files(number, folder):
        for python in pythons:
            rows.append([shape, threshold, *of_peer(python, file, sets, threshold)])
            print(rows[-1], flush=True)
    columns = ["sets", "threshold", "package", "true pairs", "missed", "wrong", "s", "`join`, s", "times `join`"]
    note = (
        f"{number:,} sets a row, one thread, processor seconds on a machine with other work: one run of a"
        f" package, the median of {ROUNDS} of `join`. *missed*: pairs that only `join` has; *wrong*: the reverse."
    )
    report.table("Other packages", columns, rows, note)


def by_products(sets: list[set[int]], threshold: float) -> int:
    """The pairs of a cosine by tf-idf, from the products of all rows, some rows at a time."""
    sizes = np.array([*map(len, sets)])
    tokens = np.fromiter((token for one in sets for token in one), np.int64, sizes.sum())
    idf = np.log((1 + len(sets)) / (1 + np.bincount(tokens))) + 1
    matrix = scipy.sparse.csr_matrix((idf[tokens], tokens, np.append(0, np.cumsum(sizes))))
    unit = scipy.sparse.diags(1 / np.sqrt(matrix.multiply(matrix).sum(axis=1).A1)) @ matrix
    reached = 0
    for first in range(0, len(sets), 500):
        product = (unit[first : first + 500] @ unit[first:].T).tocoo()
        reached += int(((product.data >= threshold) & (product.row < product.col)).sum())
    return reached


def rows_of_weights(shape: str, sets: list[set[int]]) -> Iterator[list[object]]:
    """Our seconds by tf-idf beside those without weights, and those of all products."""
    for threshold in (0.5, 0.8):
        of_each: list[object] = []
        ways: tuple[dict[str, Any], ...] = ({}, {"measure": "weighted-jaccard"}, {"measure": "weighted-cosine"})
        times = []
        for way in ways:
            chosen = {**way, "threshold": threshold, "threads": 1, **({"weights": "tf-idf"} if way else {})}
            pairs = nd.join(sets, **chosen).num_rows
            times.append(seconds(lambda: nd.join(sets, **chosen), ROUNDS, time.process_time))  # noqa: B023
            of_each += [f"{pairs:,}", times[-1], *([times[-1] / times[0]] if way else [])]
        begin = time.process_time()
        same = by_products(sets, threshold) - pairs
        taken = time.process_time() - begin
        yield [shape, threshold, *of_each, taken, taken / times[-1], f"{same:+}" if same else "the same"]


def by_weights(report: Report, number: int) -> None:
    """Add the table of the joins by weights."""
    rows = [row for shape, sets in shapes(number) for row in rows_of_weights(shape, sets)]
    columns = [
        "sets",
        "threshold",
        "pairs",
        "`join`, s",
        "pairs by resemblance",
        "s",
        "ratio",
        "pairs by cosine",
        "s",
    ]
    note = f"{number:,} sets a row, one thread, processor seconds, medians of {ROUNDS}; of all products one run."
    last = ["ratio", "all products, s", "ratio to cosine", "their pairs"]
    report.table("Joins by weights of tf-idf", [*columns, *last], rows, note)


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=20_000)
    parser.add_argument("--peers", default="")
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "set_joins.md")
    given = parser.parse_args()
    report = Report("Joins of sets", f"{platform.machine()}, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        if given.weights:
            by_weights(report, given.number)
        elif given.peers:
            beside_peers(report, given.number, Path(folder), given.peers.split(","))
        else:
            beside_cpp(report, given.number, Path(folder))
    report.write(given.out)


if __name__ == "__main__":
    main()
