"""A plugin of pytest: ``scripts/test --map`` makes with it the map from source lines to tests.

Each process of the run records the lines of ``src/neardup`` that each test function executes, in the process
itself (not in programs that it starts, and not in compiled kernels), and the processor time of each test function.
scripts/change.py reads the map.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

from support.paths import ROOT, SOURCE

FOLDER = Path(os.environ.get("NEARDUP_TEST_MAP", ROOT / ".testmap"))
"""The folder of the map, which git ignores."""
LINES, TIMES = FOLDER / "lines", FOLDER / "times.json"
_PART = f"times.{os.getpid()}.json"

_seconds: Counter[str] = Counter()
_coverage = coverage.Coverage(data_file=str(LINES), data_suffix=True, source=[str(SOURCE)], config_file=False)
# the process that hands out the tests executes none, and pytest makes errors of warnings
_coverage.set_option("run:disable_warnings", ["no-data-collected"])
_coverage.set_option("run:relative_files", True)  # the map can be copied to another clone


def processor_time() -> float:
    """Return the seconds of processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def pytest_configure() -> None:
    """Begin before a test file imports the package."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    _coverage.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record one test with its fixtures, under the name of its function."""
    name = item.nodeid.partition("[")[0]
    _coverage.switch_context(name)
    begin = processor_time()
    try:
        return (yield)
    finally:
        _seconds[name] += processor_time() - begin
        _coverage.switch_context("")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the records of this process; the process that ends last puts all of them together."""
    _coverage.stop()
    _coverage.save()
    (FOLDER / _PART).write_text(json.dumps(_seconds), encoding="utf-8")
    if hasattr(config, "workerinput"):
        return
    seconds: Counter[str] = Counter()
    for part in FOLDER.glob("times.*.json"):
        seconds.update(json.loads(part.read_text(encoding="utf-8")))
        part.unlink()
    LINES.unlink(missing_ok=True)
    combined = coverage.Coverage(data_file=str(LINES), config_file=False)
    combined.set_option("run:relative_files", True)
    combined.combine(data_paths=[str(FOLDER)], strict=True)
    combined.save()
    TIMES.write_text(json.dumps({"commit": _state(), "seconds": seconds}), encoding="utf-8")


def _state() -> str:
    """Return a commit with the files as they are now, without changing a branch."""
    git = ["git", "-C", str(ROOT)]
    stash = subprocess.run([*git, "stash", "create"], check=True, capture_output=True, text=True).stdout.strip()
    return (
        stash
        or subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    )
