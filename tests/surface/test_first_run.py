"""A first run says that it compiles, and ``neardup warm`` does it before; nothing of it is on standard output."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neardup.cli import compilation
from neardup.kernels import compile_cache, precompilation
from neardup.kernels.compile_cache import READY, STARTED
from support.command_line import Run
from support.messages import has_parts
from support.paths import GOLDEN

NOWHERE = compile_cache.Folders((), None, ("no folder can keep compiled code: …",))
RECORD = """
import sys
from neardup.kernels import linker
from neardup.kernels.precompilation import line_of
seen, insert = [], linker.Kernel.add_overload
def add_overload(kernel, made):
    insert(kernel, made)
    seen.append(line_of(kernel, made.signature.args))
linker.Kernel.add_overload = add_overload
from neardup.cli import main
sys.argv = ["neardup", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
sys.stderr.write("".join("\\t".join(line) + "\\n" for line in seen))
sys.stderr.write("".join(f"loaded\\t{name}\\n" for name in sys.modules if name == "numba.np.arraymath"))
"""

SHORT_LIST = """
import pathlib, subprocess, sys
from neardup.cli import main
from neardup.kernels import precompilation
precompilation.files = lambda _: pathlib.Path({folder!r})
"""
START_HELPER = """
def start(commands, number):
    line = [sys.executable, helper, str(number), *commands]
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
precompilation._start = start
"""


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clock:
    """A first run that nobody helps, at a time that is set by hand."""
    made = Clock()
    monkeypatch.setattr(compilation, "monotonic", made)
    monkeypatch.setattr(compilation, "helped", lambda commands, helpers=None: precompilation.helped(commands, 0))
    monkeypatch.setattr(compile_cache, "folders", lambda: compile_cache.Folders((tmp_path,), tmp_path, ()))
    return made


def test_a_short_compilation_is_not_told(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    first = compilation.FirstRun("demo")
    for _ in range(3):
        first.watch(STARTED, "kernel")
        clock.now += 0.3
        first.watch(READY, "kernel")
        clock.now += 50  # the work itself
    first.close()
    assert capsys.readouterr() == ("", "")


def test_a_long_one_is_told_with_its_progress(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    first = compilation.FirstRun("demo")
    total = len(precompilation.entries_of(["demo"]))
    for _ in range(2):
        first.watch(STARTED, "kernel")
        clock.now += 1.1
        first.watch(STARTED, "part")
        clock.now += 10
        first.watch(READY, "kernel")
    first.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"compiling, once on this machine: 0 of {total} kernels",
        f"compiling, once on this machine: 1 of {total} kernels",
    ]


def test_what_it_costs_to_keep_nothing_is_told_once(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compile_cache, "folders", lambda: NOWHERE)
    first = compilation.FirstRun("unknown")
    for _ in range(2):
        first.watch(STARTED, "kernel")
        clock.now += 1.5
    first.close()
    assert capsys.readouterr().err.splitlines() == [f"warning: {NOWHERE.notes[0]}", "compiling"]


def test_bars_show_what_is_compiled(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    def command(options: None) -> int:
        for watch in compile_cache.watchers[-1:]:
            watch(STARTED, "kernel")
            clock.now += 2
            watch(STARTED, "part")
            assert compilation.compiling_now().startswith("compiling, once on this machine")
            watch(READY, "kernel")
        assert compilation.compiling_now() == ""
        return 0

    with compilation.shown_by_bars():
        assert compilation.watched(command)(None) == 0
    assert compilation.compiling_now() == ""
    assert capsys.readouterr().err == ""


def test_nothing_is_left_to_compile(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompilation, "missing", lambda entries: [])
    result = run("warm", "--all")
    assert result.status == 0
    assert has_parts(result.out, "nothing to compile", f"{compile_cache.folders().write}\n")


def test_warm_compiles_in_other_processes(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEARDUP_CACHE_DIR", str(tmp_path / "kept"))
    smallest = ("join.copies:enter_keys", "sets:shared_at_least")
    few = [entry for entry in precompilation.listed() if entry.kernel in smallest]
    assert few
    (tmp_path / "kernels").mkdir()
    lines = "".join(f"demo\t{entry.kernel}\t{entry.types}\n" for entry in few)
    (tmp_path / "kernels" / precompilation.LIST).write_text(lines + "demo\tgone:kernel\t(int64)\n")
    # the helpers compile the same short list, not the one of the package
    helper = tmp_path / "helper.py"
    short = SHORT_LIST.format(folder=str(tmp_path / "kernels"))
    helper.write_text(f"{short}precompilation.main()\n")
    code = f"{short}helper = {str(helper)!r}\n{START_HELPER}sys.argv = ['neardup', 'warm']\nmain()\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{len(few)} kernel")
    [folder] = (tmp_path / "kept").iterdir()
    assert len([path for path in folder.iterdir() if path.suffix != ".lock"]) >= len(few)


def test_warm_needs_a_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_cache, "folders", lambda: NOWHERE)
    result = run("warm")
    assert result.status == 2
    assert result.err.splitlines() == [
        "error: No folder can keep compiled code",
        "       Allowed: A folder of yours that others cannot write to",
        "       Try: Set NEARDUP_CACHE_DIR to one",
    ]


@pytest.fixture(scope="module")
def memos() -> Iterator[list[str]]:
    golden = GOLDEN
    return [str(golden / "memo_a.txt"), str(golden / "memo_b.txt")]


def called_by(command: str, memos: list[str]) -> tuple[set[tuple[str, ...]], list[str]]:
    """The kernels that a command calls in a process of its own, and whether it loads Numba's array functions."""
    line = [sys.executable, "-c", RECORD, command, *(memos if command == "compare" else [])]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    told = [tuple(line.split("\t")) for line in done.stderr.splitlines() if "\t" in line]
    return {line for line in told if line[0] != "loaded"}, [line[1] for line in told if line[0] == "loaded"]


@pytest.mark.parametrize("command", ["demo", "compare"])
def test_the_list_names_what_the_command_calls(command: str, memos: list[str]) -> None:
    """If it does not: scripts/kernels makes it again."""
    called, _ = called_by(command, memos)
    assert called == {(entry.kernel, entry.types) for entry in precompilation.entries_of([command])}


def test_kept_kernels_are_loaded_without_the_array_functions_of_numba(memos: list[str]) -> None:
    """These take a quarter of a second to import, and are needed only to compile."""
    called_by("compare", memos)  # compiles what is not kept yet
    assert called_by("compare", memos)[1] == []


def test_every_entry_of_the_list_can_be_read() -> None:
    from importlib import import_module

    from neardup.kernels.signatures import read, spelled

    for entry in precompilation.listed():
        module, _, name = entry.kernel.partition(":")
        kernel: Any = getattr(import_module(f"neardup.kernels.{module}"), name)
        types = read(entry.types)
        assert spelled(types) == entry.types
        assert len(types) == kernel.py_func.__code__.co_argcount, entry.kernel


def test_helpers_begin_at_different_places() -> None:
    entries = precompilation.listed()
    orders = [precompilation.share(entries, number) for number in range(precompilation.HELPERS)]
    assert len({order[0] for order in orders}) == precompilation.HELPERS
    assert all(sorted(order) == sorted(entries) for order in orders)


def test_what_takes_longest_is_not_left_at_the_end() -> None:
    for command in ("demo", "compare", "serve"):
        entries = precompilation.entries_of([command])
        longest = precompilation.share(entries, 0)[0]
        assert all(longest in precompilation.share(entries, number)[:2] for number in range(1, 5))
    assert longest.kernel == "sketch.documents:fingerprint"


def test_helpers_leave_what_shares_parts_with_the_longest_to_the_command() -> None:
    entries = precompilation.entries_of(["serve"])
    own, helping = (precompilation.share(entries, number) for number in (0, 1))
    akin = [entry.kernel for entry in own[1:4]]
    assert "sketch.documents:shingle_sets" in akin
    assert akin == [entry.kernel for entry in helping if entry.kernel in akin]
    assert all(entry.kernel not in akin for entry in helping[:10])


def test_an_entry_that_no_kernel_has_any_more_has_its_place() -> None:
    gone = precompilation.Entry("gone:kernel", "(int64)", frozenset(("demo",)))
    assert precompilation.share([gone], 0) == precompilation.share([gone], 1) == [gone]
    assert sorted(precompilation.share([gone, *precompilation.listed()], 1)) == sorted(
        [gone, *precompilation.listed()]
    )


def test_a_command_that_waits_compiles_what_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def compile_entry(entry: precompilation.Entry, wait: bool) -> bool:
        assert not wait
        asked.append(entry.kernel)
        return len(asked) != 1  # another process is at the first

    monkeypatch.setattr(precompilation, "compile_entry", compile_entry)
    spare = precompilation.Spare(["compare"])
    assert spare()
    wanted = [entry.kernel for entry in precompilation.share(precompilation.entries_of(["compare"]), 0)]
    assert asked == wanted[:2]
    while spare():
        pass
    assert asked == wanted


SLOW_HELPER = """#!{python}
import sys, time
from neardup.kernels import precompilation

def compile_share(number, commands, done):
    done("begun")
    time.sleep(120)

held = open({fifo!r}, "w")
held.write("begun")
held.flush()
precompilation.compile_share = compile_share
sys.argv = sys.argv[2:]
precompilation.main()
"""
HELPED = """
import os, signal
from neardup.kernels import precompilation
precompilation.sys.executable = {helper!r}
process = precompilation._start(["demo"], 1)
process.stdout.readline()
os.kill(os.getpid(), {number})
signal.pause()
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the pipe with a name is that of POSIX")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_helper_ends_with_the_process_that_it_helps(tmp_path: Path, name: str) -> None:
    helper, fifo = tmp_path / "helper", tmp_path / "fifo"
    os.mkfifo(fifo)
    helper.write_text(SLOW_HELPER.format(python=sys.executable, fifo=str(fifo)))
    helper.chmod(0o700)
    held = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        code = HELPED.format(helper=str(helper), number=int(getattr(signal, name)))
        ended = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, check=False)
        assert ended.returncode < 0
        said = [os.read(held, 100)]
        while said[-1]:  # its end comes when the helper is gone
            assert select.select([held], [], [], 60)[0]
            said.append(os.read(held, 100))
        assert b"".join(said) == b"begun"
    finally:
        os.close(held)
