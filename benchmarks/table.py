"""Measured figures as a Markdown file, and the one way figures are measured."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median


def seconds(work: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Median seconds of ``rounds`` calls by a ``clock``, after one that does not count."""
    work()
    times = []
    for _ in range(rounds):
        begin = clock()
        work()
        times.append(clock() - begin)
    return median(times)


def cpu_name() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown processor"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


class Report:
    """Tables under headings, printed as they come and written as one file."""

    def __init__(self, title: str, machine: str) -> None:
        cores = len(os.sched_getaffinity(0))
        self._lines = [f"# {title}", "", f"{cpu_name()}, {cores} cores, {machine}", ""]

    def table(
        self, heading: str, columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = ""
    ) -> None:
        """Add a table."""
        lines = [f"## {heading}", ""]
        lines.append("| " + " | ".join(columns) + " |")
        lines.append("|" + "---|" * len(columns))
        lines += ["| " + " | ".join(_shown(cell) for cell in row) + " |" for row in rows]
        lines += ["", *([note, ""] if note else [])]
        print("\n".join(lines), flush=True)
        self._lines += lines

    def write(self, path: Path) -> None:
        """Write the tables so far; what the file has under other headings stays as it is."""
        path.parent.mkdir(parents=True, exist_ok=True)
        head, *made = sections(self._lines)
        new = {lines[0]: lines for lines in made}
        old = sections(path.read_text().splitlines())[1:] if path.exists() else []
        end = next((at for at, lines in enumerate(old) if lines[0].startswith("# ")), len(old))
        kept = [new.pop(lines[0], lines) for lines in old[:end]]
        lines = [line for section in (head, *kept, *new.values(), *old[end:]) for line in section]
        path.write_text("\n".join(lines).rstrip() + "\n")


def sections(lines: Sequence[str]) -> list[list[str]]:
    """The lines of a Markdown file by heading, the title with what follows it first.

    A second heading of the highest level begins a part with older figures, which no run replaces.
    """
    found: list[list[str]] = [[]]
    for number, line in enumerate(lines):
        if line.startswith(("# ", "## ")) and number:
            found.append([])
        found[-1].append(line)
    for section in found:
        section[:] = [*section, ""] if section[-1:] != [""] else section
    return found


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
