"""Memory that is not enough is said as such: what was being done, how much there was, what to do."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pytest

from neardup import runtime as memory
from neardup.deduplication import runs
from neardup.deduplication.run import find
from neardup.display import size
from neardup.errors import InputError
from neardup.io.readers.base import failure_text
from support.command_line import Run
from support.messages import has_parts

resource = pytest.importorskip("resource", reason="this system has no limit of the address space")

MB = 1_000_000
PATIENCE = 300
"""Seconds after which a command that hangs is a failure of its test."""


def limited(megabytes: int, *arguments: object, program: str = "") -> subprocess.CompletedProcess[str]:
    """A command or a program in a process with this limit of the address space."""
    how = ("-c", program) if program else ("-m", "neardup")
    # set by the process itself: code between fork and exec is unsafe beside the threads of other tests
    limit = (
        "import os, resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({megabytes * MB},) * 2)\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
    )
    return subprocess.run(
        [sys.executable, "-c", limit, *how, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env={**os.environ, "MALLOC_ARENA_MAX": "2"},
    )


@pytest.mark.part(4)
@pytest.mark.parametrize("megabytes", [100, 200, 300, 400, 550, 1500, 3000])
def test_a_limit_of_the_address_space_is_said_as_such(mails: Path, tmp_path: Path, megabytes: int) -> None:
    done = limited(megabytes, "dedup", mails, "-o", tmp_path / "out")
    assert "Traceback" not in done.stderr
    assert "mistake in neardup" not in done.stderr
    assert done.returncode in (0, 2), done.stderr
    assert (tmp_path / "out").exists() == (done.returncode == 0)
    assert not list(tmp_path.glob(".*"))
    if done.returncode:
        # native code may print a line of its own before
        error = done.stderr[done.stderr.index("error: ") :].splitlines()
        assert "memory" in error[0]
        assert f"{size(megabytes * MB)} of address space" in error[1]
    assert done.returncode == 2 or megabytes > 300
    assert done.returncode == 0 or megabytes < 3000


@pytest.mark.parametrize(
    ("crash", "said"),
    [
        ("os.abort()", "A library needs more memory than is available for neardup dedup"),
        (
            "ctypes.string_at(0)",
            "A library failed, perhaps because there is not enough memory for neardup dedup",
        ),
    ],
)
def test_native_code_that_crashes_leaves_no_partial_output(
    mails: Path, tmp_path: Path, crash: str, said: str
) -> None:
    """As OpenBLAS does where memory is short, and C++ where nobody catches bad_alloc."""
    program = (
        "import ctypes, os, sys\nimport neardup.deduplication.runs as module\n"
        f"module.run = lambda *a, **k: {crash}\n"
        f"sys.argv = ['neardup', 'dedup', {str(mails)!r}, '-o', {str(tmp_path / 'out')!r}]\n"
        "from neardup.cli import main\nmain()\n"
    )
    done = limited(3000, program=program)
    assert done.returncode == 2
    assert has_parts(
        done.stderr,
        f"error: {said}\n",
        "3.0 GB of address space (ulimit -v)",
        "about 400.0 MB",
        "Try: Allow it more",
        "--threads\n",
    )
    assert list(tmp_path.iterdir()) == [mails]


def test_a_thread_that_gets_no_memory_before_its_first_line(mails: Path, tmp_path: Path) -> None:
    """Python itself would wait for this line for ever."""
    program = (
        "import sys, threading\nimport neardup.deduplication.run.find as module\n\n"
        "def bootstrap(thread):\n    raise MemoryError\n\n"
        "def run(*a, **k):\n    threading.Thread._bootstrap_inner = bootstrap\n"
        "    threading.Thread(target=print).start()\n\n"
        "module.run = run\n"
        f"sys.argv = ['neardup', 'dedup', {str(mails)!r}, '-o', {str(tmp_path / 'out')!r}]\n"
        "from neardup.cli import main\nmain()\n"
    )
    done = limited(3000, program=program)
    assert done.returncode == 2
    assert has_parts(done.stderr, "\nerror: ", "more memory", "neardup dedup\n")
    assert list(tmp_path.iterdir()) == [mails]


def test_other_failures_that_nobody_can_catch_are_reported_as_ever(mails: Path) -> None:
    program = (
        "import sys\nimport neardup.deduplication.run.find as module\n\n"
        "class Lost:\n    def __del__(self):\n        raise MemoryError('of no thread')\n\n"
        "real = module.run\n"
        "def run(*a, **k):\n    Lost()\n    return real(*a, **k)\n\n"
        "module.run = run\n"
        f"sys.argv = ['neardup', 'dedup', {str(mails)!r}, '--dry-run']\n"
        "from neardup.cli import main\nmain()\n"
    )
    done = limited(3000, program=program)
    assert done.returncode == 0, done.stderr
    assert "MemoryError: of no thread" in done.stderr


def no_thread(thread: threading.Thread) -> NoReturn:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    "failure",
    [
        MemoryError(),
        pa.ArrowMemoryError("malloc of size 64 failed"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("can't start new thread"),
        OSError(12, "Cannot allocate memory"),
        ImportError("x.so: failed to map segment from shared object"),
    ],
)
def test_however_a_library_says_it(
    run: Run, mails: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failure: Exception
) -> None:
    def failing(*documents: object, **settings: object) -> NoReturn:
        raise InputError("It cannot be read") from failure

    monkeypatch.setattr(find, "open_documents", failing)
    monkeypatch.setattr(runs, "run", failing)
    said = run("dedup", mails, "-o", tmp_path / "out")
    assert said.status == 2
    assert has_parts(said.err, "error: ", "not enough memory", "neardup dedup\n")
    assert not (tmp_path / "out").exists()


def test_the_stage_is_named(run: Run, mails: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    said = run("dedup", mails, "--dry-run")
    assert has_parts(said.err, "error: ", "not enough memory", "neardup dedup (fingerprint)\n")


def test_a_file_is_not_rejected_because_memory_was_short() -> None:
    with pytest.raises(MemoryError):
        failure_text(pa.ArrowMemoryError("malloc of size 64 failed"))
    assert failure_text(OSError("it is damaged")) == "it is damaged"
    assert not memory.is_memory_failure(ValueError("out of memory"))
