"""The prediction of memory, working files and time against runs of different shapes, each in a process of its own.

    python benchmarks/predictions.py FOLDER [--seed 2] [--size .6] [--share .3] [SHAPE …]

Makes the inputs in FOLDER, asks ``neardup dedup --predict`` about each, and runs it. The table has predicted and
taken amounts: the largest resident size of the process as the system reports it, the most bytes in its unnamed
files (on Linux, 100 times a second), and seconds of the clock. Ratios of memory and files must be from .8 to 1.25,
of files if either is 20 MB or more. Those of time count on a machine that does nothing else, and a run of 2 s is
mostly its start. A run with a limit must not exceed it by more than a quarter either. The constants were measured
with the first seed: other seeds, sizes and shares of derived texts, in other folders, show whether they hold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from table import Report

SHAPES: dict[str, tuple[str, list[str]]] = {
    "short texts": ("short.jsonl", []),
    "long texts": ("long.jsonl", []),
    "short texts, LSH": ("short.jsonl", ["--method", "lsh"]),
    "characters": ("half.jsonl", ["--unit", "char"]),
    "characters, LSH": ("middle.jsonl", ["--unit", "char", "--method", "lsh"]),
    "characters, 400 MB": ("half.jsonl", ["--unit", "char", "--memory", "400MB"]),
    "characters, common text, 400 MB": (
        "half.jsonl",
        ["--unit", "char", "--memory", "400MB", "--ignore-common", ".02"],
    ),
    "words, --lose, 500 MB": ("middle.jsonl", ["--memory", "500MB", "--lose", ".05"]),
    "words, --count, 500 MB": ("middle.jsonl", ["--memory", "500MB", "--count"]),
    "words, exact, 500 MB": ("middle.jsonl", ["--method", "exact", "--memory", "500MB"]),
    "Chinese": ("chinese.jsonl", ["--unit", "char"]),
    "many exact copies": ("copies.jsonl", []),
    "one family": ("family.jsonl", []),
    "Parquet, LSH, 500 MB": ("middle.parquet", ["--method", "lsh", "--memory", "500MB"]),
    "folder": ("folder", []),
    "long texts that resemble each other, 400 MB": ("revisions.parquet", ["--memory", "400MB"]),
    "long texts that resemble each other, LSH, 400 MB": (
        "revisions.parquet",
        ["--method", "lsh", "--memory", "400MB"],
    ),
    "long texts that resemble each other": ("revisions.parquet", []),
    "many short texts, LSH, 400 MB": ("many.parquet", ["--method", "lsh", "--memory", "400MB"]),
    "SimHash": ("middle.jsonl", ["--sketch", "simhash:64,5"]),
}
LEAST, MOST = 0.8, 1.25
OF_TIME = 0.35
SMALL = 20_000_000
"""Bytes of working files below which their ratio does not count."""


class Writer:
    """Texts of 30,000 words with the frequencies of prose; a ``share`` of them derive from earlier ones."""

    def __init__(self, seed: int = 1, share: float = 0.2) -> None:
        self.draw, self.share = np.random.default_rng(seed), share
        letters = list("abcdefghijklmnopqrstuvwxyz")
        sizes = self.draw.integers(3, 10, 30_000)
        self.words = np.array(["".join(self.draw.choice(letters, size)) for size in sizes])

    def text(self, size: int) -> str:
        """A text of this many words."""
        drawn = self.draw.zipf(1.15, 3 * size + 30)
        drawn = drawn[drawn < len(self.words)][:size]
        rest = self.draw.integers(1, len(self.words), size - len(drawn))
        return " ".join(self.words[np.concatenate((drawn, rest))])

    def near(self, text: str) -> str:
        """The text with one word in fifty replaced."""
        words = text.split(" ")
        for place in self.draw.integers(0, len(words), max(1, len(words) // 50)):
            words[place] = self.words[self.draw.integers(len(self.words))]
        return " ".join(words)

    def mixed(self, count: int, size: int) -> list[str]:
        """This many texts of about ``size`` words."""
        made: list[str] = []
        for _ in range(count):
            if made and self.draw.random() < self.share:
                made.append(self.near(made[self.draw.integers(len(made))]))
            else:
                made.append(self.text(max(3, int(self.draw.normal(size, size / 4)))))
        return made

    def chinese(self, count: int) -> Iterator[str]:
        """Texts of 300 characters each."""
        for _ in range(count):
            yield "".join(map(chr, 0x4E00 + self.draw.zipf(1.2, 300) % 3000))


def make(folder: Path, writer: Writer, size: float = 1.0) -> None:
    """Write the inputs that are not there yet, with ``size`` times as many documents."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "ready").exists():
        return
    _write(folder / "short.jsonl", writer.mixed(round(200_000 * size), 12))
    _write(folder / "long.jsonl", writer.mixed(round(4_000 * size), 2_500))
    middle = writer.mixed(round(40_000 * size), 150)
    _write(folder / "middle.jsonl", middle)
    _write(folder / "half.jsonl", middle[: len(middle) // 2])
    pq.write_table(
        pa.table({"id": range(len(middle)), "text": middle}), folder / "middle.parquet", row_group_size=5000
    )
    revisions = writer.mixed(round(12_000 * size), 2_000)
    pq.write_table(pa.table({"text": revisions}), folder / "revisions.parquet", row_group_size=2000)
    many = writer.mixed(round(600_000 * size), 40)
    pq.write_table(pa.table({"text": many}), folder / "many.parquet")
    _write(folder / "chinese.jsonl", list(writer.chinese(round(25_000 * size))))
    _write(
        folder / "copies.jsonl",
        [middle[place] for place in writer.draw.integers(0, len(middle) // 8, round(60_000 * size))],
    )
    letter = writer.text(200)
    _write(folder / "family.jsonl", [writer.near(letter) for _ in range(round(10_000 * size))])
    (folder / "folder").mkdir(exist_ok=True)
    for number, text in enumerate(middle[: len(middle) // 8]):
        (folder / "folder" / f"{number}.txt").write_text(text, encoding="utf-8")
    (folder / "ready").touch()


def _write(path: Path, texts: Sequence[str]) -> None:
    rows = (json.dumps({"id": k, "text": text}, ensure_ascii=False) + "\n" for k, text in enumerate(texts))
    path.write_text("".join(rows), encoding="utf-8")


def _command(given: Sequence[str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "neardup", "dedup", *given], capture_output=True, text=True, check=True
    )
    return done.stdout


def _taken(given: Sequence[str]) -> tuple[int, int, float]:
    """Run in a child of its own: its peak of memory, its peak of working files, and its seconds."""
    begin, files = time.perf_counter(), 0
    command = [sys.executable, "-m", "neardup", "dedup", *given]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            files = max(files, _unnamed(process.pid))
            time.sleep(0.01)
    seconds = time.perf_counter() - begin
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak, files, seconds


def _unnamed(process: int) -> int:
    """The bytes on the disk of files that a process has open and that have no name any more."""
    sizes = {}
    for entry in Path(f"/proc/{process}/fd").glob("*"):
        with suppress(OSError):  # closed meanwhile
            found = entry.stat()
            if stat.S_ISREG(found.st_mode) and not found.st_nlink:
                sizes[found.st_ino] = 512 * found.st_blocks
    return sum(sizes.values())


def main() -> None:
    """Measure the shapes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("shapes", nargs="*", default=[*SHAPES])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=float, default=1.0, help="times as many documents")
    parser.add_argument("--share", type=float, default=0.2, help="of the texts that derive from others")
    asked = parser.parse_args()
    make(asked.folder, Writer(asked.seed, asked.share), asked.size)
    rows, wrong = [], []
    for shape in asked.shapes:
        name, options = SHAPES[shape]
        given = [str(asked.folder / name), *options]
        predicted = json.loads(_command([*given, "--predict", "--json"]))
        out = asked.folder / f"out {os.getpid()}"
        with get_context("spawn").Pool(1) as pool:
            taken, files, seconds = pool.apply(_taken, ([*given, "-o", str(out)],))
        pairs = json.loads((out / "run.json").read_text())["counts"]["pairs"]
        shutil.rmtree(out)
        ratio, limit = predicted["memory"] / taken, predicted["limit"]
        disk = predicted["disk"] + predicted["a_pair"] * pairs
        of_files = disk / files if files else 1.0 if disk < SMALL else 2.0
        kept = limit is None or taken <= MOST * limit
        if not (LEAST <= ratio <= MOST and kept and (max(disk, files) < SMALL or LEAST <= of_files <= MOST)):
            wrong.append(shape)
        memory = [predicted["memory"] / 1e6, taken / 1e6, ratio, limit / 1e6 if limit else "none"]
        on_disk = [disk / 1e6, files / 1e6, of_files if max(disk, files) >= SMALL else ""]
        rows.append([shape, *memory, *on_disk, predicted["seconds"], seconds, predicted["seconds"] / seconds])
        print(rows[-1], file=sys.stderr, flush=True)
    report = Report("Predictions", f"{platform.machine()}, Python {platform.python_version()}")
    columns = ["shape", "memory predicted, MB", "taken, MB", "ratio", "limit, MB"]
    columns += ["files predicted, MB", "taken, MB", "ratio", "seconds predicted", "taken", "ratio"]
    close = sum(abs(row[-1] - 1) <= OF_TIME for row in rows)
    note = (
        f"A ratio from {LEAST} to {MOST} is allowed for memory and files. The files have the bytes for each pair "
        f"that the prediction names. The time of {close} is within {OF_TIME:.0%}."
    )
    report.table("Memory, working files and time of `dedup`, predicted and taken", columns, rows, note)
    if len(rows) == len(SHAPES) and (asked.seed, asked.size, asked.share) == (1, 1.0, 0.2):
        report.write(Path(__file__).parent / "results" / "predictions.md")
    if wrong:
        sys.exit(f"not within a quarter: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
