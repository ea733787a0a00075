"""Speed and memory, side by side in one run; the table goes to benchmarks/results/speed.md.

    python benchmarks/corpus.py TREE corpus.parquet
    python benchmarks/speed.py corpus.parquet [--texts FOLDER] [--rounds 5] [--only copy,sketch,…]

Parts: *copy* (the whole ``neardup dedup`` against reading and writing the file with pyarrow), *text* (texts to
signatures, one core), *peers* (the same documents through other packages), *sketch* (the sketch stage alone),
*growth* (cost and number of documents), *start* (help, first run, later runs). FOLDER may hold JSONL files
greek/chinese/thai texts in a ``text`` field (``--texts``); without it these rows are left out. Every figure is the
median of several runs; machines are shared, so read the ratios first.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import copy_floor
import growth
import peers
import start
import text_speed
from table import Report

PARTS = {
    "copy": copy_floor.measure,
    "text": text_speed.measure,
    "peers": peers.measure,
    "sketch": peers.measure_sketch,
    "growth": growth.measure,
    "start": start.measure,
}


def main() -> None:
    """Measure the parts asked for and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--texts", type=Path, help="folder of JSONL files in other scripts")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "speed.md")
    given = parser.parse_args()
    report = Report("Speed", f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    for name in given.only.split(","):
        PARTS[name](report, given.corpus, given.texts, given.rounds)
        report.write(given.out)


if __name__ == "__main__":
    main()
