"""The cost of a command as a whole: a process of its own, with those that it starts."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

LAUNCH = """
import os, resource, subprocess, sys
if int(sys.argv[1]):
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: int(sys.argv[1])]))
code = subprocess.call(sys.argv[2:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
"""A small process between: the peak of a process begins with that of the one that starts it."""


class Spent(NamedTuple):
    """The error of a command or nothing, its processor and elapsed seconds, and its peak MB."""

    error: str
    seconds: float
    elapsed: float
    peak: float


def spent(command: Sequence[str], processors: int = 0) -> Spent:
    """Run a command, on some ``processors`` or on all; its costs are those of its children, too."""
    begin = time.perf_counter()
    launched = [sys.executable, "-S", "-c", LAUNCH, str(processors), *command]
    done = subprocess.run(launched, capture_output=True, text=True, errors="replace", check=True)
    elapsed = time.perf_counter() - begin
    code, seconds, peak = done.stdout.split()
    lines = done.stderr.strip().splitlines() or [f"ended with {code}"]
    return Spent(lines[-1] if code != "0" else "", float(seconds), elapsed, float(peak))
