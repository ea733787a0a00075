"""Time until something happens, with nothing compiled and with all; the table goes to benchmarks/results/start.md.

    python benchmarks/start.py [--rounds 3]

Every cold row begins with an empty folder for compiled code, in each round. The machine must be quiet: a first run
uses two processors.
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
from urllib.parse import urlsplit

from table import Report

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "src" / "neardup" / "cli" / "demo_documents" / "documents.jsonl"
MEMOS = [str(ROOT / "tests" / "golden" / name) for name in ("memo_a.txt", "memo_b.txt")]
PATIENCE = 600


def environment(cache: str) -> dict[str, str]:
    """The environment of a process that keeps compiled code in ``cache``, and bytecode as usual."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**known, "NEARDUP_CACHE_DIR": cache}


def wall(arguments: list[str], cache: str) -> float:
    """Seconds of one process that keeps compiled code in ``cache``."""
    begin = time.perf_counter()
    line = [sys.executable, "-m", "neardup", *arguments]
    subprocess.run(line, check=True, capture_output=True, env=environment(cache))
    return time.perf_counter() - begin


def cold(make: Callable[[Path], list[str]]) -> float:
    """Seconds of a command with nothing compiled; ``make`` is given a folder of its own."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as place:
        return wall(make(Path(place)), cache)


def serving(cache: str) -> tuple[float, float]:
    """Seconds until ``/health`` answers, and until ``/ready`` says yes."""
    with tempfile.TemporaryDirectory() as place:
        begin = time.perf_counter()
        line = [sys.executable, "-m", "neardup", "serve", str(Path(place, "a.neardup")), "--create", "--port", "0"]
        process = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(cache)
        )
        try:
            assert process.stdout is not None
            address = urlsplit(process.stdout.readline().removeprefix("listening at ").strip())
            assert address.hostname
            _until(address.hostname, address.port, "/health")
            alive = time.perf_counter() - begin
            _until(address.hostname, address.port, "/ready")
            return alive, time.perf_counter() - begin
        finally:
            process.kill()
            process.communicate()


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


def measure(report: Report, corpus: Path | None, texts: Path | None, rounds: int) -> None:
    """The sample is a hundred short documents: what a command takes with it is start-up."""
    commands: list[tuple[str, Callable[[Path], list[str]], float]] = [
        ("neardup demo", lambda _: ["demo"], 12.0),
        ("neardup dedup", lambda place: ["dedup", str(SAMPLE), "-o", str(place / "out")], 12.0),
        ("neardup compare", lambda _: ["compare", *MEMOS], 15.0),
        ("neardup warm", lambda _: ["warm"], 60.0),
        ("neardup warm --all", lambda _: ["warm", "--all"], 120.0),
    ]
    rows: list[list[object]] = []
    for name, make, allowed in commands:
        rows.append([f"{name}, nothing compiled", median(cold(make) for _ in range(rounds)), allowed])
    started = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            started.append(serving(cache))
    rows.append(["neardup serve, nothing compiled: /health", median(alive for alive, _ in started), 2.0])
    rows.append(["neardup serve, nothing compiled: /ready", median(ready for _, ready in started), 20.0])
    with tempfile.TemporaryDirectory() as cache:
        helps = [wall(["--help"], cache) for _ in range(rounds)]
        wall(["warm"], cache)
        demos = [wall(["demo"], cache) for _ in range(rounds)]
        compares = [wall(["compare", *MEMOS], cache) for _ in range(rounds)]
        ready = [serving(cache)[1] for _ in range(rounds)]
    rows.append(["neardup --help", median(helps), 0.15])
    rows.append(["later runs: neardup demo", median(demos), 1.5])
    rows.append(["later runs: neardup compare", median(compares), 1.5])
    rows.append(["later runs: neardup serve: /ready", median(ready), 4.0])
    report.table("Start", ["", "seconds", "allowed"], rows)


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "start.md")
    given = parser.parse_args()
    machine = f"{platform.processor() or platform.machine()}, Python {platform.python_version()}"
    report = Report("Start", machine)
    measure(report, None, None, given.rounds)
    report.write(given.out)


if __name__ == "__main__":
    main()
