"""A Numba that the tests do not know is tried first; where its inside differs, kernels are compiled plainly.

Each test is a process of its own: how kernels are compiled is decided once in a process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

from neardup.kernels import compiler
from support.messages import has_parts

WITHOUT = "import numba.core.codegen; del numba.core.codegen.JITCodeLibrary\n"
NEWER = "import numba; numba.__version__ = '99.0.1'\n"
KERNELS = """
import numpy as np
from neardup.kernels import compile_cache, compiler
from neardup.kernels.compiler import njit
told = []
compile_cache.watchers.append(lambda what, name: told.append((what, name.rpartition(":")[2])))

@njit
def twice(values, at):
    if at >= values.size:
        raise IndexError("no such place")
    return 2 * values[at]

@njit(inline="always")
def added(one, two):
    return one + two

@njit
def four_times(values, at):
    return added(twice(values, at), twice(values, at))

numbers = np.arange(5)
assert [four_times(numbers, at) for at in range(5)] == [0, 4, 8, 12, 16]
try:
    four_times(numbers, 5)
except IndexError as error:
    assert str(error) == "no such place"
else:
    raise AssertionError
print(compiler.KEEPS, four_times.spelled, *(f"{what}:{name}" for what, name in told))
print(*compile_cache.folders().notes)
"""
TRIAL = "from neardup.kernels import trial; trial.main()\n"
PLAIN = "False __main__:four_times started:four_times started:twice ready:four_times"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of compiled code of a process."""
    monkeypatch.setenv("NEARDUP_CACHE_DIR", str(tmp_path / "kept"))
    paths = [os.environ.get("PYTHONPATH", ""), *sys.path]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    return tmp_path / "kept"


def run(*code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", "".join(code)], capture_output=True, text=True, check=False)


def lines_of(*code: str) -> list[str]:
    done = run(*code)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def verdicts(kept: Path) -> list[bytes]:
    """What trials found."""
    return [path.read_bytes().rpartition(b"\n")[2][32:] for path in kept.glob("*/trial")]


def test_this_numba_is_one_that_the_tests_know() -> None:
    """If it does not: run the whole suite with it, then raise ``NEWEST``."""
    assert compiler.KEEPS
    assert compiler._tested(numba.__version__)


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("0.61.0", True),
        ("{}.{}.9", True),
        ("{}.{}.0rc1", True),
        ("0.999.0", False),
        ("0.999.0dev0+12.gabc", False),
        ("1.0", False),
        ("unknown", False),
        ("", False),
    ],
)
def test_versions_that_are_known(version: str, known: bool) -> None:
    assert compiler._tested(version.format(*compiler.NEWEST)) == known


def test_without_what_they_build_on_kernels_are_compiled_plainly(kept: Path) -> None:
    first, note = lines_of(WITHOUT, KERNELS)
    assert first == PLAIN
    assert has_parts(note, f"Numba {numba.__version__}", "compiles again", f"numba<{compiler.FIRST_UNKNOWN}")
    assert not list(kept.rglob("*"))


def test_plain_kernels_of_neardup_give_the_same_results(kept: Path) -> None:
    call = (
        "import numpy as np\n"
        "from neardup.kernels.sets import shared_at_least\n"
        "rows = [np.arange(at, 400, at + 1, dtype=np.uint64) for at in range(6)]\n"
        "hashes, ends = np.concatenate(rows), np.cumsum([0, *map(len, rows)])\n"
        "runs = list(zip(ends[:-1], ends[1:]))\n"
        "counts = [int(shared_at_least(hashes, *a, *b, c)) for a in runs for b in runs for c in (1, 20, 90)]\n"
    )
    here: dict[str, Any] = {}
    exec(call, here)
    assert lines_of(WITHOUT, call, "print(counts)") == [str(here["counts"])]


def test_a_newer_numba_is_tried_once_and_used(kept: Path) -> None:
    first, note = lines_of(NEWER, KERNELS)
    assert first == PLAIN.replace("False", "True")
    assert note == ""
    assert verdicts(kept) == [b"passed"]
    not_again = "import subprocess; subprocess.run = None\n"
    assert lines_of(NEWER, not_again, KERNELS) == ["True __main__:four_times ready:four_times", ""]


@pytest.mark.parametrize(
    "outcome",
    [
        "return subprocess.CompletedProcess(line, -11)",  # wrong machine code
        "raise subprocess.TimeoutExpired(line, 1)",
    ],
)
def test_a_newer_numba_that_fails_its_trial_is_a_verdict(kept: Path, outcome: str) -> None:
    fails = f"import subprocess\ndef run(line, **_):\n    {outcome}\nwhole, subprocess.run = subprocess.run, run\n"
    assert lines_of(NEWER, fails, "from neardup.kernels import compiler; print(compiler.KEEPS)") == ["False"]
    assert verdicts(kept) == [b"failed"]


def test_a_newer_numba_that_failed_its_trial_compiles_plainly(kept: Path) -> None:
    fails = "import subprocess\nsubprocess.run = lambda line, **_: subprocess.CompletedProcess(line, 1)\n"
    assert lines_of(NEWER, fails, KERNELS)[0] == PLAIN
    assert verdicts(kept) == [b"failed"]
    assert lines_of(NEWER, "import subprocess; subprocess.run = None\n", KERNELS)[0] == PLAIN


def test_a_trial_that_cannot_begin_is_no_verdict(kept: Path) -> None:
    fails = "import subprocess\ndef run(line, **_):\n    raise OSError\nsubprocess.run = run\n"
    assert lines_of(NEWER, fails, KERNELS)[0] == PLAIN
    assert verdicts(kept) == []
    assert lines_of(NEWER, KERNELS)[0].startswith("True ")


@pytest.mark.parametrize(
    "change",
    [
        WITHOUT,
        "from numba.core.compiler import CompileResult; CompileResult._rebuild = None\n",
        "from numba.core.compiler import CompileResult; del CompileResult._reduce\n",
        "from neardup.kernels import linker; del linker._Part._optimize_final_module\n"
        "linker._Part._finalize_final_module = lambda library: 1 / 0\n",
        "from neardup.kernels import linker; linker._Whole.finalize = lambda library: None\n",
    ],
)
def test_the_trial_notices_another_inside(change: str) -> None:
    assert run(change, TRIAL).returncode != 0


def test_the_trial_passes_with_this_numba() -> None:
    assert run(TRIAL).returncode == 0


def test_warm_says_that_nothing_can_be_kept_with_this_numba(kept: Path) -> None:
    done = run(WITHOUT, "import sys; sys.argv = ['neardup', 'warm']; from neardup.cli import main; main()")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: Compiled code cannot be kept with this version of Numba",
        f"       Allowed: numba<{compiler.FIRST_UNKNOWN}, or a newer neardup",
        f"       Try: Install one of them: pip install 'numba<{compiler.FIRST_UNKNOWN}'",
    ]
