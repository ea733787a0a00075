"""The whole ``neardup dedup`` against the copy floor: pyarrow reading the file and writing it back."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq

from table import Report

COPY = """
import sys
import time
import pyarrow.parquet as pq
begin = time.perf_counter()
table = pq.read_table(sys.argv[1])
read = time.perf_counter() - begin
pq.write_table(table, sys.argv[2])
print(read, time.perf_counter() - begin)
"""
STREAM = """
import sys
import time
import pyarrow.parquet as pq
begin = time.perf_counter()
source = pq.ParquetFile(sys.argv[1])
with pq.ParquetWriter(sys.argv[2], source.schema_arrow) as out:
    for batch in source.iter_batches(batch_size=16384):
        out.write_batch(batch)
print(0, time.perf_counter() - begin)
"""
STAGES = """
import json
import resource
import sys
from contextlib import contextmanager
from neardup.cli import main
from neardup.deduplication.run import pipeline

spent, stage = {}, pipeline.Meter.stage


def now():
    used = resource.getrusage(resource.RUSAGE_SELF)
    moved = dict(line.split(": ") for line in open("/proc/self/io").read().splitlines())
    return [used.ru_utime + used.ru_stime, int(moved["rchar"]), int(moved["wchar"])]


@contextmanager
def measured(self, name, total, unit):
    before = now()
    with stage(self, name, total, unit) as advance:
        yield advance
    earlier = spent.get(name, [0, 0, 0])
    spent[name] = [a + b - c for a, b, c in zip(earlier, now(), before)]


pipeline.Meter.stage = measured
begin = now()
sys.argv = ["neardup", *sys.argv[1:]]
try:
    main()
finally:
    whole = [b - c for b, c in zip(now(), begin)]
    spent["the rest"] = [a - sum(of[k] for of in spent.values()) for k, a in enumerate(whole)]
    print(json.dumps(spent))
"""


def copy(script: str, corpus: Path, folder: Path) -> list[float]:
    """Seconds to read, and in all, of one copy in a process of its own (imports not counted)."""
    command = [sys.executable, "-c", script, str(corpus), str(folder / "copy.parquet")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def dedup(corpus: Path, folder: Path, options: Sequence[str] = ("--threshold", "0.8")) -> tuple[float, dict]:
    """Wall seconds of the command, imports counted, and its run.json; the result stays in ``folder / "out"``."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    begin = time.perf_counter()
    command = [sys.executable, "-m", "neardup", "dedup", str(corpus), "-o", str(out), *options]
    subprocess.run(command, check=True, capture_output=True)
    wall = time.perf_counter() - begin
    return wall, json.loads((out / "run.json").read_text())


def stages(corpus: Path, folder: Path, options: Sequence[str]) -> dict[str, list[float]]:
    """Processor seconds, bytes read and bytes written of each stage of a run, and of the rest of the command."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-c", STAGES, "dedup", str(corpus), "-o", str(out), *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(report: Report, corpus: Path, texts: Path | None, rounds: int) -> None:
    """Alternate copies and runs; report medians, the median of the ratios, and the stages."""
    with tempfile.TemporaryDirectory(dir=corpus.parent) as name:
        folder = Path(name)
        dedup(corpus, folder)  # compiles missing kernels, and warms the page cache
        copies, streams, walls, runs = [], [], [], []
        for _ in range(rounds):
            copies.append(copy(COPY, corpus, folder))
            streams.append(copy(STREAM, corpus, folder)[1])
            wall, run = dedup(corpus, folder)
            walls.append(wall)
            runs.append(run)
        spent = stages(corpus, folder, ("--threshold", "0.8"))
    floors = [total for _, total in copies]
    run = runs[0]
    text = run["bytes"]["text"]
    file = pq.ParquetFile(corpus)
    rows = [
        ["copy floor: pq.read_table, pq.write_table", median(floors), text / 1e6 / median(floors), 1.0, ""],
        ["… of it reading", median(read for read, _ in copies), "", "", ""],
        ["streamed copy: iter_batches", median(streams), text / 1e6 / median(streams), "", 1.0],
        [
            "neardup dedup, whole command",
            median(walls),
            text / 1e6 / median(walls),
            median(wall / floor for wall, floor in zip(walls, floors, strict=True)),
            median(wall / stream for wall, stream in zip(walls, streams, strict=True)),
        ],
    ]
    note = (
        f"{run['counts']['read']:,} documents, {text:,} bytes of text, {corpus.stat().st_size:,} bytes on disk, "
        f"{file.metadata.num_row_groups} row group(s); ratio = median of the ratios of {rounds} rounds."
    )
    names = ["", "seconds", "MB/s of text", "ratio", "ratio to the streamed copy"]
    report.table("Whole run against the copy floor", names, rows, note)
    seconds = {name: median(r["seconds"].get(name, 0.0) for r in runs) for name in run["seconds"]}
    by_stage = [
        [name, seconds.get(name, ""), used, read / 1e6, written / 1e6]
        for name, (used, read, written) in spent.items()
    ]
    names = ["stage", "seconds", "processor seconds", "MB read", "MB written"]
    note = (
        "Bytes as the system counts them, stored and not unpacked; the rest: imports, choosing columns, results."
    )
    report.table("Stages of the run", names, by_stage, note)
    peak = median(r["peak_memory_bytes"] for r in runs)
    allowed = text / 2 + 1e9
    rows = [["peak resident memory", peak / 1e6, allowed / 1e6, peak / allowed]]
    report.table("Memory", ["", "MB", "allowed (text / 2 + 1 GB)", "ratio"], rows)
    counts = run["counts"]
    names = ["read", "exact_copies", "candidates", "pairs", "groups", "removed"]
    report.table("What the run found", names, [[counts[name] for name in names]])
