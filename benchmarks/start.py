"""Processor time and memory of the start: commands that have almost nothing to do; benchmarks/results/start.md.

    python benchmarks/start.py [--rounds 5]

Each figure is the median of rounds, after one that fills the file cache. Nothing is compiled at the start, so the
first command on a machine is like the others.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from table import Report

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "src" / "neardup" / "cli" / "demo_documents" / "documents.jsonl"
PATIENCE = 600
ROWS = 10
SENTENCES = (
    "Please hand in your travel costs for March, with all receipts, to the office upstairs by Friday noon.",
    "Please hand in your travel costs for March, with all receipts, to the office upstairs by Thursday noon.",
)


class Cost(NamedTuple):
    """What a process took: processor time in seconds, its largest resident size in MB."""

    seconds: float
    megabytes: float


def environment() -> dict[str, str]:
    """The environment of a process that keeps bytecode, as usual."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def started(line: list[str]) -> subprocess.Popen[str]:
    """Start a program of Python."""
    return subprocess.Popen(
        [sys.executable, *line],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )


def ended(process: subprocess.Popen[str], expected: int = 0) -> Cost:
    """Wait for the end of a process, and return its cost."""
    assert process.stdout is not None
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == expected, process.args
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3))


def serving(place: Path) -> Cost:
    """The cost of a service until ``/ready`` answers."""
    process = started(["-m", "neardup", "serve", str(place / "a.neardup"), "--create", "--port", "0"])
    assert process.stdout is not None
    address = urlsplit(process.stdout.readline().removeprefix("listening at ").strip())
    assert address.hostname
    _until(address.hostname, address.port, "/ready")
    process.kill()
    return ended(process, -9)


def _until(host: str, port: int | None, target: str) -> None:
    """Ask until it answers 200."""
    end = time.perf_counter() + PATIENCE
    while time.perf_counter() < end:
        connection = HTTPConnection(host, port, timeout=PATIENCE)
        connection.request("GET", target)
        if connection.getresponse().status == 200:
            return
        connection.close()
        time.sleep(0.05)
    raise TimeoutError(target)


def sentences(place: Path) -> list[str]:
    """Two files of a sentence each."""
    paths = [place / "a.txt", place / "b.txt"]
    for path, sentence in zip(paths, SENTENCES, strict=True):
        path.write_text(sentence, encoding="utf-8")
    return [str(path) for path in paths]


def rows(place: Path) -> str:
    """A file of ten documents."""
    lines = SAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)[:ROWS]
    (place / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
    return str(place / "rows.jsonl")


def command(*words: str) -> Cost:
    """The cost of a command."""
    return ended(started(["-m", "neardup", *words]))


STARTS: dict[str, tuple[Callable[[Path], Cost], float, object]] = {
    "import neardup": (lambda _: ended(started(["-c", "import neardup"])), 0.05, "–"),
    "neardup --help": (lambda _: command("--help"), 0.15, "–"),
    "neardup compare, two sentences": (lambda place: command("compare", *sentences(place)), 0.6, 110),
    f"neardup dedup, {ROWS} rows": (
        lambda place: command("dedup", rows(place), "-o", str(place / "out")),
        0.9,
        "–",
    ),
    "neardup demo": (lambda _: command("demo"), 2.0, "–"),
    "neardup serve, until /ready": (serving, 1.2, "–"),
}
"""Each start with the allowed seconds of processor time, and megabytes."""


def measured(start: Callable[[Path], Cost], rounds: int) -> Cost:
    """The medians of the rounds after the first."""
    found = []
    for _ in range(rounds + 1):
        with tempfile.TemporaryDirectory() as place:
            found.append(start(Path(place)))
    return Cost(median(cost.seconds for cost in found[1:]), median(cost.megabytes for cost in found[1:]))


def measure(report: Report, corpus: Path | None, texts: Path | None, rounds: int) -> None:
    """Write the table; the sets of documents are for other measurements of ``speed.py``."""
    table: list[list[object]] = []
    for name, (start, seconds, megabytes) in STARTS.items():
        cost = measured(start, rounds)
        table.append([name, cost.seconds, seconds, round(cost.megabytes), megabytes])
    report.table("Start", ["", "processor s", "allowed", "peak MB", "allowed MB"], table)


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "start.md")
    given = parser.parse_args()
    machine = f"{platform.processor() or platform.machine()}, Python {platform.python_version()}"
    report = Report("Start", machine)
    measure(report, None, None, given.rounds)
    report.write(given.out)


if __name__ == "__main__":
    main()
