"""``neardup dedup`` of shards with metadata and of short documents, against copies by pyarrow in the same run.

    python benchmarks/shards.py [--rounds N] [--rows N] [--short N] [--folder FOLDER] [--stages] [--out FILE]

The sets are made by a seed. *shards*: twenty files as polars writes them, with zstd and twelve columns: lists,
records, decimals, dictionaries, times. Their documents of about 10 kB have words by Zipf's law. 27 % are copies, a
fifth of these exact and the others with up to 3 % of the words replaced. *short*: one file of two columns with
documents of about 1 kB, of which 21 % are copies. The copy reads each file and writes it as compressed.
Times are of whole processes, imports included, and processor time is of all their threads.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

import copy_floor
from table import Report

COPY = """
import sys
from pathlib import Path
import pyarrow.parquet as pq
for file in sorted(Path(sys.argv[1]).glob("*.parquet")):
    pq.write_table(pq.read_table(file), Path(sys.argv[2]) / file.name, compression=sys.argv[3])
"""
METHODS = {"LSH": ("--method", "lsh"), "the default": ()}
"""Options of the runs."""
RESULTS = Path(__file__).parent / "results" / "shards.md"
VOCABULARY = 60_000
KINDS = ["article", "blog", "forum", "law", "mail"]


def vocabulary(chance: np.random.Generator) -> np.ndarray:
    """Return made words of 2 to 12 letters."""
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    weights = 1 / np.arange(2, 28)
    sizes = chance.integers(2, 13, VOCABULARY)
    drawn = chance.choice(letters, (VOCABULARY, 12), p=weights / weights.sum())
    return np.array(["".join(row[:size]) for row, size in zip(drawn, sizes, strict=True)], dtype=object)


def texts(rows: int, words: int, copies: float, chance: np.random.Generator) -> Iterator[str]:
    """Yield documents with about this number of words; a share of them are copies of earlier ones."""
    known = vocabulary(chance)
    of_rank = 1 / np.arange(10, VOCABULARY + 10)
    steps = np.cumsum(of_rank) / of_rank.sum()
    written: list[np.ndarray] = []
    for _ in range(rows):
        if written and chance.random() < copies:
            numbers = written[chance.integers(len(written))]
            if chance.random() > 0.2:
                share = chance.uniform(0, 0.03)
                numbers = numbers.copy()
                places = chance.integers(0, len(numbers), max(1, int(share * len(numbers))))
                numbers[places] = chance.integers(0, VOCABULARY, len(places))
        else:
            size = max(20, int(chance.lognormal(np.log(words), 0.4)))
            numbers = np.searchsorted(steps, chance.random(size)).astype(np.int32)
            written.append(numbers)
        yield " ".join(known[numbers])


def make_shards(folder: Path, rows: int) -> None:
    """Write twenty files with twelve columns."""
    chance = np.random.default_rng(41)
    source = texts(rows, 1500, 0.27, chance)
    begin = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    for shard, numbers in enumerate(np.array_split(np.arange(rows), 20)):
        frame = pl.DataFrame(
            {
                "id": [f"doc-{number:08}" for number in numbers],
                "text": [next(source) for _ in numbers],
                "url": [f"https://site-{number % 997}.example/{number:x}" for number in numbers],
                "date": [begin + datetime.timedelta(minutes=int(number)) for number in numbers],
                "kind": pl.Series([KINDS[number % 5] for number in numbers], dtype=pl.Categorical),
                "score": chance.random(len(numbers)),
                "price": pl.Series(
                    [decimal.Decimal(int(number)) / 100 for number in numbers], dtype=pl.Decimal(12, 2)
                ),
                "tags": [[f"tag{number % 13}", f"tag{number % 31}"] for number in numbers],
                "author": [{"name": f"author {number % 1009}", "age": int(number % 90)} for number in numbers],
                "links": [list(range(number % 7)) for number in numbers],
                "public": [bool(number % 3) for number in numbers],
                "language": [None if number % 11 == 0 else "en" for number in numbers],
            }
        )
        frame.write_parquet(folder / f"shard-{shard:02}.parquet", compression="zstd")


def make_short(folder: Path, rows: int) -> None:
    """Write one file of two columns."""
    source = texts(rows, 145, 0.21, np.random.default_rng(42))
    frame = pl.DataFrame({"id": np.arange(rows), "text": list(source)})
    frame.write_parquet(folder / "short.parquet", compression="zstd")


def spent(command: list[str]) -> tuple[float, float]:
    """Return the seconds and the processor seconds of a process."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"NEARDUP_PROGRESS": "0"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, used


def measure(report: Report, name: str, folder: Path, rounds: int, with_stages: bool) -> None:
    """Alternate copies and runs of one set."""
    seconds: dict[str, list[tuple[float, float]]] = {"copy": [], **{method: [] for method in METHODS}}
    accounts = {}
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        out = Path(place) / "out"
        for round_ in range(rounds + 1):  # the first one fills the page cache
            for method in seconds:
                shutil.rmtree(out, ignore_errors=True)
                if method == "copy":
                    out.mkdir()
                    command = [sys.executable, "-c", COPY, str(folder), str(out), "zstd"]
                else:
                    command = [sys.executable, "-m", "neardup", "dedup", str(folder), "-o", str(out)]
                    command += METHODS[method]
                if round_ or rounds == 0:
                    seconds[method].append(spent(command))
                elif method == "copy":
                    spent(command)
                if method != "copy" and out.exists():
                    accounts[method] = json.loads((out / "run.json").read_text())
    rows = []
    for method, measured in seconds.items():
        ratios = [
            (wall / copied[0], used / copied[1])
            for (wall, used), copied in zip(measured, seconds["copy"], strict=True)
        ]
        counts = accounts.get(method, {}).get("counts", {})
        rows.append(
            [
                method,
                median(wall for wall, _ in measured),
                median(used for _, used in measured),
                median(ratio for ratio, _ in ratios),
                median(ratio for _, ratio in ratios),
                accounts[method]["peak_memory_bytes"] / 1e6 if method in accounts else "",
                counts.get("removed", ""),
            ]
        )
    account = next(iter(accounts.values()))
    note = f"{account['counts']['read']:,} documents, {account['bytes']['text']:,} bytes of text, {rounds} rounds."
    names = ["", "seconds", "processor seconds", "ratio", "ratio of processor time", "peak MB", "removed"]
    report.table(name, names, rows, note)
    if with_stages:
        for method, options in METHODS.items():
            by_stage = copy_floor.stages(folder, folder.parent, options)
            shutil.rmtree(folder.parent / "out")
            lines = [[stage, used, read / 1e6, written / 1e6] for stage, (used, read, written) in by_stage.items()]
            report.table(
                f"{name}: stages of {method}", ["stage", "processor seconds", "MB read", "MB written"], lines
            )


def main() -> None:
    """Make the sets that are not there, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=40_629)
    parser.add_argument("--short", type=int, default=500_000)
    parser.add_argument("--folder", type=Path, default=Path("build/shards"))
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--machine", default="shared")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    report = Report("Shards with metadata, and short documents", given.machine)
    for name, rows, make in (("shards", given.rows, make_shards), ("short", given.short, make_short)):
        folder = given.folder / f"{name}-{rows}"
        if rows and not folder.exists():
            unfinished = folder.with_suffix(".part")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            make(unfinished, rows)
            unfinished.rename(folder)
        if rows:
            measure(report, name, folder, given.rounds, given.stages)
            report.write(given.out)


if __name__ == "__main__":
    main()
