"""Windows and macOS: nothing is used that one system alone has, without a branch for the others."""

import subprocess
import sys
from pathlib import Path

import pytest

from neardup import runtime as memory
from support.paths import ROOT


def test_the_core_runs_without_what_windows_has_not(tmp_path: Path) -> None:
    """``import resource`` ended every command on Windows, and ``os.posix_fallocate`` an exact join on macOS."""
    line = [sys.executable, ROOT / "tests" / "support" / "other_system.py", tmp_path]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]
    assert done.stdout.endswith("The core ran.\n")


def test_memory_is_told_without_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = memory.peak_memory()
    assert told > 50_000_000
    monkeypatch.setattr(memory, "STATUS", tmp_path / "no such file")
    if sys.platform != "win32":
        assert 0.5 * told < memory.peak_memory() < 20 * told  # a process inherits it from the one that started it
