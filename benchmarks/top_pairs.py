"""The cost of the most similar pairs, and how it grows; the tables go to benchmarks/results/top_pairs.md.

    python benchmarks/top_pairs.py corpus.parquet [--sizes 10000,100000,1000000]

The corpus is cut into documents of about 1,200 bytes, as ``growth.cut`` does it. Each row is a process of its own:
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


def measure(report: Report, corpus: Path, sizes: list[int], options: list[str]) -> None:
    """Add the table for these sizes."""
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory(dir=corpus.parent) as folder:
        for wanted in sizes:
            path = Path(folder, f"{wanted}.parquet")
            # in a process of its own: the peak of a process begins with that of the one that starts it
            files = f"P({str(corpus)!r}), P({str(path)!r})"
            cut = f"from pathlib import Path as P; import growth; print(growth.cut({files}, {wanted}))"
            done = subprocess.run(
                [sys.executable, "-c", cut], check=True, capture_output=True, text=True, cwd=HERE
            )
            documents = int(done.stdout)
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


def main() -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "top_pairs.md")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    report = Report("The most similar pairs", f"{platform.machine()}, Python {platform.python_version()}")
    for options in ([], ["--measure", "containment"]):
        measure(report, given.corpus, sizes, options)
        report.write(given.out)


if __name__ == "__main__":
    main()
