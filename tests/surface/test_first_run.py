"""The first command on a machine is like any other: it needs no compiler, and writes nothing beside its result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from neardup.kernels.compiler import INTERPRETED, JIT
from support.messages import has_parts
from support.paths import GOLDEN, ROOT

pytestmark = pytest.mark.skipif(INTERPRETED or JIT, reason="these kernels are not those of the library")

WITHOUT = """
import sys
for name in ("numba", "llvmlite", "kernelbuild"):
    sys.modules[name] = None
from neardup.cli import main
sys.argv = ["neardup", *sys.argv[1:]]
main()
"""
MEMOS = (str(GOLDEN / "memo_a.txt"), str(GOLDEN / "memo_b.txt"))
COMMANDS = (
    ("demo",),
    ("compare", *MEMOS, "--all"),
    ("group", str(GOLDEN), "-o", "result", "--method", "exact"),
    ("explain", "--example"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_command_needs_no_compiler_and_leaves_nothing(words: tuple[str, ...], tmp_path: Path) -> None:
    home, place = tmp_path / "home", tmp_path / "place"
    home.mkdir()
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words],
        env={"HOME": str(home), "PATH": "", "PYTHONPATH": str(ROOT / "src")},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "compil" not in done.stderr.lower()
    assert not list(home.iterdir())
    assert {path.name for path in place.iterdir()} <= {"result"}


NOWHERE = """
import sys
from pathlib import Path
from neardup.kernels import native
native.FOLDER = native.WORKING_COPY = Path(sys.argv[1])
from neardup.cli import main
sys.argv = ["neardup", "demo"]
main()
"""


def test_a_command_without_compiled_kernels_reports_it_in_three_parts(tmp_path: Path) -> None:
    line = [sys.executable, "-c", NOWHERE, str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    given, allowed, do = done.stderr.splitlines()[-3:]
    assert has_parts(given, "error: ", "no compiled kernels", str(tmp_path))
    assert allowed.strip().startswith("Allowed: ")
    assert has_parts(do, "Try: ", "--force-reinstall")


PART = """
import sys
sys.modules["numba"] = None
from neardup.kernels.text.hashing import hash_token
hash_token(0, 0)
"""


def test_a_part_that_python_calls_says_that_it_needs_numba() -> None:
    done = subprocess.run([sys.executable, "-c", PART], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: neardup.kernels.text.hashing:hash_token ")
    assert last.endswith("pip install numba")
