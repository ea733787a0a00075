"""The cost of the most similar pairs, and how it grows; the tables go to benchmarks/results/top_pairs.md.

    python benchmarks/top_pairs.py corpus.parquet [--sizes 10000,100000] [--bytes 1200] [--tables against]

The corpus is cut into documents of about 1,200 bytes, as ``growth.cut`` does it. The table *against* has
10,000 new documents beside reference sets of each size; *apart* takes 100,000 of the documents that an
exact run at 0.3 keeps, so that no two of them are close, beside 100,000 of any. Each row is a process of its own:
``neardup pairs --top 100``; beside it ``neardup dedup --method exact`` at the similarity of its last pair, which a
user without it would have to guess. Processor time is that of the process (user and system), memory its peak.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq

from table import Report

TOP = 100
HERE = Path(__file__).parent


def spent(command: list[str]) -> tuple[dict, float, float]:
    """The JSON that a command prints, its processor seconds and its peak MB."""
    with subprocess.Popen([sys.executable, "-m", "neardup", *command], stdout=subprocess.PIPE) as process:
        printed = json.load(process.stdout)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    if status:
        sys.exit(f"{' '.join(command)} ended with {status}")
    return printed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cut(corpus: Path, path: Path, wanted: int, size: int) -> int:
    """Write documents of a size; another process does it, since a peak begins with that of the parent."""
    files = f"P({str(corpus)!r}), P({str(path)!r})"
    program = f"from pathlib import Path as P; import growth; print(growth.cut({files}, {wanted}, {size}))"
    return int(subprocess.check_output([sys.executable, "-c", program], text=True, cwd=HERE))


def measure(report: Report, corpus: Path, size: int, sizes: list[int], options: list[str]) -> None:
    """Add the table for these sizes."""
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory(dir=corpus.parent) as folder:
        for wanted in sizes:
            path = Path(folder, f"{wanted}.parquet")
            documents = cut(corpus, path, wanted, size)
            found, seconds, peak = spent(["pairs", str(path), "--top", str(TOP), "--json", *options])
            last = found["pairs"][-1]["similarity"]
            shown = [documents, len(found["pairs"]), last, seconds, peak]
            if not options:
                at = f"{math.floor(last * 10000) / 10000}"
                _, run, of_run = spent(
                    ["group", str(path), "--threshold", at, "--method", "exact", "--dry-run", "--json"]
                )
                shown += [run, of_run]
            rows.append(shown)
            path.unlink()
    steps = [math.log(float(b[3]) / float(a[3])) / math.log(int(b[0]) / int(a[0])) for a, b in pairwise(rows)]
    note = (
        f"Exponents of processor time over documents, from row to row: {', '.join(f'{one:.2f}' for one in steps)}."
    )
    heading = f"The {TOP} most similar pairs{' with ' + ' '.join(options) if options else ''}"
    columns = ["documents", "pairs", "similarity of the last", "processor s", "peak MB"]
    beside = [] if options else ["exact run at that threshold, processor s", "peak MB"]
    report.table(heading, columns + beside, rows, note)


NEW, APART, NEAREST, CLOSE = 10_000, 100_000, 3, "0.3"


def measure_against(report: Report, corpus: Path, size: int, sizes: list[int]) -> None:
    """Add the table of new documents beside reference sets of these sizes."""
    rows = []
    with tempfile.TemporaryDirectory(dir=corpus.parent) as folder:
        path, new, reference = (Path(folder, name) for name in ("all.parquet", "new.parquet", "reference.parquet"))
        cut(corpus, path, max(sizes) + NEW, size)
        table = pq.read_table(path)
        pq.write_table(table.slice(0, NEW), new)
        for wanted in sizes:
            pq.write_table(table.slice(NEW, wanted), reference)
            command = ["pairs", str(new), "--against", str(reference), "--top", str(NEAREST), "--json"]
            for measure in ("resemblance", "containment"):
                found, seconds, _ = spent([*command, "--measure", measure])  # the peak is that of this process
                of_search = found["seconds"]["nearest"]
                rows.append([measure, NEW, wanted, len(found["pairs"]), of_search, seconds])
    columns = ["measure", "new documents", "reference set", "pairs", "search alone, elapsed s", "processor s"]
    report.table(f"The {NEAREST} nearest of each new document (`--against`)", columns, rows, "")


def measure_apart(report: Report, corpus: Path, size: int) -> None:
    """Add the table of documents without close pairs, beside any documents."""
    rows = []
    with tempfile.TemporaryDirectory(dir=corpus.parent) as folder:
        path, kept = Path(folder, "all.parquet"), Path(folder, "kept")
        cut(corpus, path, 3 * APART, size)
        spent(["dedup", str(path), "-o", str(kept), "--threshold", CLOSE, "--method", "exact", "--json"])
        for name, source in (("any", path), (f"none above {CLOSE}", next(kept.glob("kept*")))):
            pq.write_table(pq.read_table(source, columns=["text"]).slice(0, APART), Path(folder, "some.parquet"))
            found, seconds, peak = spent(["pairs", str(Path(folder, "some.parquet")), "--top", str(TOP), "--json"])
            best, last = (found["pairs"][at]["similarity"] for at in (0, -1))
            rows.append([name, APART, len(found["pairs"]), best, last, seconds, peak])
    columns = ["pairs in the documents", "documents", "pairs", "first", "last", "processor s", "peak MB"]
    report.table(f"The {TOP} most similar pairs where none is close", columns, rows, "")


def main() -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "top_pairs.md")
    parser.add_argument("--bytes", type=int, default=1200)
    parser.add_argument("--tables", default="resemblance,containment,against,apart")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    report = Report("The most similar pairs", f"{platform.machine()}, Python {platform.python_version()}")
    tables = {
        "resemblance": lambda: measure(report, given.corpus, given.bytes, sizes, []),
        "containment": lambda: measure(report, given.corpus, given.bytes, sizes, ["--measure", "containment"]),
        "against": lambda: measure_against(report, given.corpus, given.bytes, sizes),
        "apart": lambda: measure_apart(report, given.corpus, given.bytes),
    }
    for name in given.tables.split(","):
        tables[name]()
        report.write(given.out)


if __name__ == "__main__":
    main()
