"""How memory and time grow to 10 million documents, with and without a memory limit.

    python benchmarks/scale.py FOLDER [--documents N …] [--memory 2GB] [--option=--method --option=lsh]

Makes a corpus of each size in FOLDER, runs ``neardup dedup`` on it in a process of its own, first without the
limit and then with it, and prints seconds, the largest resident memory and the exponent of the seconds over
documents. The results of both runs must be the same bytes. The larger corpora contain the smaller ones.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from table import Report

SIZES = (100_000, 1_000_000, 10_000_000)
BATCH = 20_000
SHARED = ("kept.parquet", "pairs.parquet", "groups.parquet", "copies.parquet")
"""Files of a result that do not depend on the limit."""

COPIES = 0.15
"""Share of the documents that derive from an earlier one; every tenth of them is an exact copy."""
EDITED = (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)
"""Share of the words that such a document replaces: its resemblance is from 1 down to about .2."""
LEAST, SPREAD = 90, 140
"""Words of a document: 90 to 229, about 1 kB."""

_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)


def mixed(values: np.ndarray) -> np.ndarray:
    """SplitMix64 of uint64 values: the only source of chance here, so that any document can be made alone."""
    z = values * _ODD + _ODD
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return z ^ (z >> np.uint64(31))


def vocabulary(seed: int = 5) -> pa.Array:
    """32,768 words of 3 to 8 letters."""
    drawn = np.random.default_rng(seed)
    letters = np.array(list("aaabcdeeefghiiiklmnnooprsstttuuvwyz"))
    lengths = drawn.integers(3, 9, 1 << 15)
    return pa.array(["".join(drawn.choice(letters, size)) for size in lengths])


def texts(first: int, until: int, words: pa.Array, least: int = LEAST, spread: int = SPREAD) -> pa.Array:
    """The documents ``first`` … ``until`` − 1, of ``least`` words and up to ``spread`` − 1 more; at most 1,024."""
    number = np.arange(first, until, dtype=np.uint64)
    chance = mixed(number)
    derived = (chance >> np.uint64(32)).astype(np.float64) / 2**32 < COPIES
    derived &= number > 0
    origin = np.where(derived, mixed(chance) % np.maximum(number, np.uint64(1)), number)
    edits = np.array(EDITED)[(chance % np.uint64(len(EDITED))).astype(np.int64)]
    sizes = (least + mixed(origin + np.uint64(1 << 40)) % np.uint64(spread)).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    place = (np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)).astype(np.uint64)
    word = mixed((np.repeat(origin, sizes) << np.uint64(10)) | place)
    own = mixed((np.repeat(number, sizes) << np.uint64(10)) | place | np.uint64(1 << 60))
    replaced = (own >> np.uint64(32)).astype(np.float64) / 2**32 < np.repeat(np.where(derived, edits, 0), sizes)
    word = np.where(replaced, mixed(own), word)
    # small numbers are frequent: two draws multiplied
    index = ((word & np.uint64(0x7FFF)) * ((word >> np.uint64(15)) & np.uint64(0x7FFF))) >> np.uint64(15)
    taken = words.take(pa.array(index.astype(np.int64)))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), taken), " ")


def make(path: Path, documents: int) -> None:
    """Write a corpus, unless it is there."""
    if path.exists():
        return
    partial, words = path.with_suffix(".partial"), vocabulary()
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    with pq.ParquetWriter(partial, schema, compression="snappy") as writer:
        for first in range(0, documents, BATCH):
            until = min(first + BATCH, documents)
            table = pa.table([pa.array(np.arange(first, until)), texts(first, until, words)], schema=schema)
            writer.write_table(table)
    partial.rename(path)


class Spent(NamedTuple):
    """One run: seconds by the clock, and the largest resident bytes of its processes."""

    seconds: float
    peak: int


def _measured(command: Sequence[str], channel: object) -> None:
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    # of the largest process that this child has waited for
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    channel.put(Spent(time.perf_counter() - begin, peak))  # type: ignore[attr-defined]


def run(path: Path, out: Path, options: Sequence[str]) -> Spent:
    """Run one dedup; a process in between keeps its peak apart from those of other runs."""
    shutil.rmtree(out, ignore_errors=True)
    spawn = get_context("spawn")
    channel = spawn.Queue()
    command = [sys.executable, "-m", "neardup", "dedup", str(path), "-o", str(out), *options]
    between = spawn.Process(target=_measured, args=(command, channel))
    between.start()
    between.join()
    if between.exitcode:
        raise SystemExit(f"failed: {' '.join(command)}")
    found: Spent = channel.get()
    return found


def same(one: Path, other: Path) -> bool:
    """Whether two results are the same bytes, besides the account of the run."""
    names = [name for name in os.listdir(one) if name.startswith(tuple(SHARED))]
    return not any(filecmp.cmpfiles(one, other, names, shallow=False)[1:])


def main() -> None:
    """Measure all sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, nargs="+", default=SIZES)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--option", action="append", default=[], help="a further option of neardup dedup")
    parser.add_argument("--without", action="store_true", help="only the runs without a limit")
    parser.add_argument("--limited", action="store_true", help="only the runs with the limit")
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    options = given.option or ["--method", "lsh"]
    rows, points = [], []
    for documents in given.documents:
        path = given.folder / f"{documents}.parquet"
        make(path, documents)
        free = held = None
        if not given.limited:
            free = run(path, given.folder / "free", options)
        if not given.without:
            held = run(path, given.folder / "held", [*options, "--memory", given.memory])
        alike = "" if None in (free, held) else str(same(given.folder / "free", given.folder / "held"))
        share = held.seconds and free.seconds / held.seconds if free and held else math.nan
        cells = [(spent.seconds, spent.peak / 1e6) if spent else ("", "") for spent in (free, held)]
        rows.append([documents, path.stat().st_size / 1e6, *cells[0], *cells[1], share, alike])
        points.append((math.log(documents), math.log((held or free).seconds)))
        told = json.loads((given.folder / ("held" if held else "free") / "run.json").read_text())
        print(documents, told["seconds"], told["counts"], file=sys.stderr)
    note = ""
    if len(points) > 1:
        note = f"Exponent of the seconds over documents: {np.polyfit(*zip(*points, strict=True), 1)[0]:.2f}."
    columns = ["documents", "MB on disk", "seconds", "peak MB"]
    report = Report("Scale", f"`{' '.join(options)}`, limit {given.memory}")
    report.table(
        "Documents of about 1 kB",
        [*columns, "seconds with the limit", "peak MB with the limit", "share of the throughput", "same bytes"],
        rows,
        note,
    )
    if given.report:
        report.write(given.report)


if __name__ == "__main__":
    main()
