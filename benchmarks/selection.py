"""The cost of --lose, --count, --ignore-common and --within; the tables go to benchmarks/results/selection.md.

    python benchmarks/selection.py corpus.parquet [--rounds 3]

``corpus.parquet`` has columns id and text, as ``corpus.py`` writes them. Every run is a process of its own, and
the forms take turns; figures are the least processor time, user and system, since machines are shared.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from table import Report

RUN = """
import json
import resource
import sys
import neardup
form = json.loads(sys.argv[2])
neardup.find(["to load the code", "and the machine code"], **{**form, "within": ()})
used = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
begin = used()
found = neardup.find(sys.argv[1], **form)
counts = found.run.counts
print(json.dumps({"seconds": used() - begin, "pairs": counts["pairs"], "removed": counts["removed"]}))
"""

FORMS = {
    "plain": {},
    "--lose .02": {"lose": 0.02},
    "--count": {"count": True},
    "--ignore-common .01": {"ignore_common": 0.01},
    "all three": {"lose": 0.02, "count": True, "ignore_common": 0.01},
}
METHODS = ("auto", "exact", "lsh")
MOST, NOISE = 1.25, 1.05
"""Allowed times of the plain run: for all three options, and for within, which must not be slower."""


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    report = Report("Selection", f"Python {platform.python_version()}")
    size = f"{pq.read_metadata(given.corpus).num_rows:,} documents, {given.corpus.stat().st_size / 1e6:,.0f} MB"
    rows = []
    for method in METHODS:
        forms = {name: {**form, "method": method} for name, form in FORMS.items()}
        rows += _rows(method, given.corpus, forms, given.rounds, MOST)
    head = ("method", "options", "seconds", "times plain", "pairs", "removed", "allowed")
    report.table("The cost of the options", head, rows, f"{size}. Processor seconds, user and system.")
    with tempfile.TemporaryDirectory() as folder:
        mixed = _mixed(given.corpus, Path(folder))
        rows = []
        for method in METHODS:
            forms = {"plain": {"method": method}}
            forms |= {f"--within {name}": {"method": method, "within": name} for name in ("source", "even")}
            rows += _rows(method, mixed, forms, given.rounds, NOISE)
    note = (
        "source: half of the documents have one value, a quarter the next, and so on. even: twenty values of "
        "equal size. Both are spread evenly over the file."
    )
    report.table("--within is not slower", head, rows, note)
    report.write(Path(__file__).parent / "results" / "selection.md")


def _rows(
    method: str, corpus: Path, forms: dict[str, dict[str, object]], rounds: int, most: float
) -> list[tuple[object, ...]]:
    """Run each form ``rounds`` times, in turns; return a row each, the first is the plain run."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, form in forms.items():
            ran = [sys.executable, "-c", RUN, str(corpus), json.dumps(form)]
            found[name].append(json.loads(subprocess.run(ran, check=True, capture_output=True, text=True).stdout))
    least = {name: min(run["seconds"] for run in runs) for name, runs in found.items()}
    plain = next(iter(least.values()))
    return [
        (
            method,
            name,
            f"{seconds:.2f}",
            f"{seconds / plain:.2f}",
            f"{found[name][0]['pairs']:,.0f}",
            f"{found[name][0]['removed']:,.0f}",
            "" if name == "plain" else "yes" if seconds <= most * plain else "NO",
        )
        for name, seconds in least.items()
    ]


def _mixed(corpus: Path, folder: Path) -> Path:
    """Write the corpus with two more columns; return the path."""
    table = pq.read_table(corpus)
    drawn = np.random.default_rng(1)
    source = np.minimum(np.floor(-np.log2(1 - drawn.random(table.num_rows))), 12).astype(np.int64)
    table = table.append_column("source", pa.array([f"source {k}" for k in source.tolist()]))
    table = table.append_column("even", pa.array(drawn.integers(0, 20, table.num_rows)))
    pq.write_table(table, folder / "mixed.parquet")
    return folder / "mixed.parquet"


if __name__ == "__main__":
    main()
