"""Environments that hold the built package, the extras that a page names, and nothing else.

They are made in one folder for all processes of a test run, which ``tests/conftest.py`` removes at its end: by
uv, of hard links to its cache, or by venv and pip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from support.paths import ROOT

FOLDER = "NEARDUP_JOURNEYS"
"""Variable: the folder of the environments."""
_PREFIX = "neardup-journeys-"
_KEPT = ("PATH", "LANG", "TMPDIR", "JAVA_HOME", "PYTHONHASHSEED")
"""Variables of this process that a reader has too."""


def make_folder() -> None:
    """Choose the folder, once for this process and those that it starts."""
    if FOLDER not in os.environ:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix=_PREFIX)


def remove_folder() -> None:
    """Remove all environments, unless somebody has named a folder to keep them in."""
    if Path(os.environ[FOLDER]).name.startswith(_PREFIX):
        shutil.rmtree(os.environ.pop(FOLDER), ignore_errors=True)


@cache
def python_with(extras: frozenset[str] = frozenset(), others: frozenset[str] = frozenset()) -> Path:
    """Return the interpreter of the environment with these extras and other packages; skips without a registry."""
    made = Path(os.environ[FOLDER]) / "-".join(["env", *sorted(extras), *sorted(others)])
    with _locked(f"{made.name}.lock"):
        if not (made / "ready").exists():
            _install(made, extras, others)
            (made / "ready").touch()
    return made / "bin" / "python"


def environment_of(python: Path, folder: Path) -> dict[str, str]:
    """Return the variables of a reader who works in ``folder`` with this interpreter on the path."""
    found = {name: os.environ[name] for name in _KEPT if name in os.environ}
    found["PATH"] = f"{python.parent}{os.pathsep}{found.get('PATH', '')}"
    return {**found, "HOME": str(folder.parent / "home"), "COLUMNS": "80"}


def _install(made: Path, extras: Iterable[str], others: Iterable[str]) -> None:
    wheel = _wheel()
    wanted = [f"{wheel}[{','.join(sorted(extras))}]" if extras else str(wheel), *sorted(others)]
    python, uv = str(made / "bin" / "python"), _uv()
    if uv is None:
        subprocess.run([sys.executable, "-m", "venv", str(made)], check=True, capture_output=True)
        ways = [[python, "-m", "pip", "install", *wanted]]
    else:
        subprocess.run([uv, "venv", "--python", sys.executable, str(made)], check=True, capture_output=True)
        install = [uv, "pip", "install", "--python", python, *wanted]
        ways = [[*install, "--offline"], install]  # to ask for newer versions costs more than to link the files
    for way in ways:
        done = subprocess.run(way, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
    shutil.rmtree(made, ignore_errors=True)
    if "onnect" in done.stderr and "CI" not in os.environ:
        pytest.skip("packages cannot be installed without a network")
    raise RuntimeError(f"{' '.join(way)}\n{done.stdout}{done.stderr}")


def _wheel() -> Path:
    """The wheel of this state of the repository, built once in a run."""
    folder = Path(os.environ[FOLDER]) / "wheel"
    with _locked("wheel.lock"):
        if not (folder / "ready").exists():
            build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
            subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
            (folder / "ready").touch()
    [wheel] = folder.glob("*.whl")
    return wheel


def _uv() -> str | None:
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.exists() else shutil.which("uv")


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Hold the lock of this name among the processes of a run."""
    import fcntl  # Windows has none, and no journeys

    with (Path(os.environ[FOLDER]) / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
