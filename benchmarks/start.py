"""Time until something happens: ``--help``, the first run on a machine (kernels compile), later runs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from table import Report


def wall(arguments: list[str], cache: str) -> float:
    """Seconds of one process that keeps compiled kernels in ``cache``."""
    begin = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run([sys.executable, "-m", "neardup", *arguments], check=True, capture_output=True, env=environment)
    return time.perf_counter() - begin


def measure(report: Report, corpus: Path, texts: Path | None, rounds: int) -> None:
    """The demo is a whole run on a hundred short documents: what it takes is start-up."""
    with tempfile.TemporaryDirectory() as cache:
        helps = [wall(["--help"], cache) for _ in range(rounds)]
        first = wall(["demo"], cache)
        later = [wall(["demo"], cache) for _ in range(rounds)]
    rows = [
        ["neardup --help", median(helps), 0.3],
        ["first run: neardup demo, all kernels compile", first, 30.0],
        ["later runs: neardup demo, from start to end", median(later), 1.5],
    ]
    report.table("Start", ["", "seconds", "allowed"], rows)
