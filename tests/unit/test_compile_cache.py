"""Compiled code is kept where nobody else can write, thrown away when it is damaged, and never needed to run."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import pytest
from numba import typeof

from neardup.kernels import compile_cache, linker
from neardup.kernels.compile_cache import READY, STARTED
from support.messages import has_parts

SOURCE = """
from neardup.kernels.compiler import njit

@njit
def twice(values, at):
    if at >= values.size:
        raise IndexError("no such place")
    return 2 * values[at]

@njit
def four_times(values, at):
    return twice(values, at) + twice(values, at)
"""
NUMBERS = np.arange(5)
OTHER_USER = 54_321

posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes are those of POSIX")


@pytest.fixture
def chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., compile_cache.Folders]]:
    """The folders that are chosen when a variable names this place, and there is nothing else."""

    def choose(place: Path | None = tmp_path / "kept", **more: str) -> compile_cache.Folders:
        for name in ("NUMBA_CACHE_DIR", "NEARDUP_CACHE_DIR", "TEMP", "TMP"):
            monkeypatch.delenv(name, raising=False)
        nowhere = str(Path(os.devnull, "none"))
        named = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "LOCALAPPDATA": nowhere, "TMPDIR": nowhere, **more}
        if place:
            named["NEARDUP_CACHE_DIR"] = str(place)
        for name, value in named.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(compile_cache, "_TEMPORARY", ())
        compile_cache.folders.cache_clear()
        return compile_cache.folders()

    yield choose
    monkeypatch.undo()
    compile_cache.folders.cache_clear()


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ModuleType]:
    """Two kernels, as in a process of their own: nothing of them is in memory, and no older bytecode is read."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "tiny_kernels.py"
    path.write_text(SOURCE)

    def load() -> ModuleType:
        spec = importlib.util.spec_from_file_location("tiny_kernels", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["tiny_kernels"] = module
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The reports that the watchers receive of the two kernels."""
    seen: list[tuple[str, str]] = []
    watcher = lambda what, name: seen.append((what, name.rpartition(":")[2]))  # noqa: E731
    monkeypatch.setattr(compile_cache, "watchers", [watcher])
    return seen


COLD = [(STARTED, "four_times"), (STARTED, "twice"), (READY, "four_times")]
WARM = [(READY, "four_times")]


def test_compiled_once_and_read_afterwards(chosen: Any, tiny: Any, told: list[tuple[str, str]]) -> None:
    chosen()
    assert [tiny().four_times(NUMBERS, 3) for _ in range(2)] == [12, 12]
    assert told == COLD + WARM


def test_a_part_that_python_calls_too_is_compiled_as_a_whole(chosen: Any, tiny: Any) -> None:
    chosen()
    kernels = tiny()
    assert kernels.four_times(NUMBERS, 3) == 12
    assert kernels.twice(NUMBERS, 3) == 6
    kernels = tiny()
    assert kernels.twice(NUMBERS, 3) == 6
    assert kernels.four_times(NUMBERS.astype(np.float64), 2) == 8.0
    assert kernels.four_times(NUMBERS, 2) == 8


def test_errors_of_a_part_are_raised_cold_and_warm(chosen: Any, tiny: Any) -> None:
    chosen()
    for _ in range(2):
        with pytest.raises(IndexError, match="no such place"):
            tiny().four_times(NUMBERS, 5)


def test_without_any_folder_kernels_are_compiled_in_memory(chosen: Any, tiny: Any, told: Any) -> None:
    found = chosen(None)
    assert (found.read, found.write) == ((), None)
    assert has_parts(found.notes[-1], "no folder", "compiles again", "NEARDUP_CACHE_DIR")
    assert [tiny().four_times(NUMBERS, 3) for _ in range(2)] == [12, 12]
    assert told == COLD + COLD


def test_the_order_of_the_folders(chosen: Any, tmp_path: Path) -> None:
    places = {name: str(tmp_path / name) for name in ("numba", "cache", "temporary")}
    (tmp_path / "temporary").mkdir()
    leaf = f"neardup-{compile_cache.state()}"
    every = {"NUMBA_CACHE_DIR": places["numba"], "XDG_CACHE_HOME": places["cache"]}
    assert chosen(tmp_path / "ours", **every).write == tmp_path / "ours" / leaf
    assert chosen(None, **every).write == tmp_path / "numba" / leaf
    if sys.platform not in ("win32", "darwin"):
        del every["NUMBA_CACHE_DIR"]
        assert chosen(None, **every).write == tmp_path / "cache" / "neardup" / leaf


def test_a_folder_that_was_named_and_cannot_be_made_is_told(chosen: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = chosen(tmp_path / "file" / "kept")
    assert found.write is None
    assert [note.partition(": ")[0] for note in found.notes[:-1]] == [
        f"{tmp_path / 'file' / 'kept'} (NEARDUP_CACHE_DIR) is not used for compiled code"
    ]


@posix
def test_the_temporary_folder_is_closed_to_others(chosen: Any, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir(mode=0o1777)
    found = chosen(None, TMPDIR=str(tmp_path / "temporary"))
    assert found.write is not None
    assert found.write.parent == tmp_path / "temporary" / f"neardup-{os.getuid()}"
    assert {path.stat().st_mode & 0o777 for path in (found.write, found.write.parent)} == {0o700}


@posix
def test_a_link_that_waits_in_the_temporary_folder_is_not_followed(chosen: Any, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "temporary" / f"neardup-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    assert chosen(None, TMPDIR=str(tmp_path / "temporary")).write is None
    assert list((tmp_path / "elsewhere").iterdir()) == []


@posix
@pytest.mark.parametrize("inside", [False, True])
def test_a_folder_that_others_can_write_to_is_not_used(chosen: Any, tmp_path: Path, inside: bool) -> None:
    place = tmp_path / "kept" / f"neardup-{compile_cache.state()}" if inside else tmp_path / "kept"
    place.mkdir(parents=True)
    place.chmod(0o777)
    found = chosen()
    assert found.write is None
    assert has_parts(
        found.notes[0], f"{tmp_path / 'kept'} (NEARDUP_CACHE_DIR) is not used", "others", "chmod go-w"
    )


@posix
def test_what_belongs_to_another_user_is_not_used(
    chosen: Any, tiny: Any, told: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = chosen().write
    tiny().four_times(NUMBERS, 3)
    [file] = [path for path in folder.iterdir() if path.suffix != ".lock"]
    if os.getuid() == 0:
        os.chown(file, OTHER_USER, OTHER_USER)
    else:
        monkeypatch.setattr(os, "getuid", lambda: OTHER_USER)
    assert compile_cache.load(file.name) is None
    if os.getuid() == 0:
        os.chown(folder, OTHER_USER, OTHER_USER)
    assert "another user" in chosen().notes[0]


def signed(payload: bytes) -> bytes:
    """A file with a right digest."""
    return compile_cache._HEAD + hashlib.sha256(payload).digest() + payload


class Unloadable:
    """Raises a failure when it is unpickled."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def __reduce__(self) -> Any:
        return fail, (self.failure,)


def fail(failure: Exception) -> NoReturn:
    raise failure


def damages(whole: bytes) -> dict[str, bytes]:
    """Ways in which a file can be wrong, the last three with a right digest."""
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    return {
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "garbage": bytes(range(256)) * 40,
        "one bit": bytes(flipped),
        "no pickle": signed(b"\x80\x04garbage"),
        "another pickle": signed(pickle.dumps(("tiny_kernels:four_times", {"not": "code"}))),
        "another kernel": signed(pickle.dumps(("tiny_kernels:twice", ()))),
    }


def test_damaged_files_are_thrown_away_and_compiled_anew(chosen: Any, tiny: Any, told: Any) -> None:
    folder = chosen().write
    tiny().four_times(NUMBERS, 3)
    [file] = [path for path in folder.iterdir() if path.suffix != ".lock"]
    whole = file.read_bytes()
    for what, content in damages(whole).items():
        told.clear()
        file.write_bytes(content)
        assert tiny().four_times(NUMBERS, 3) == 12, what
        assert told == COLD, what
        told.clear()
        assert tiny().four_times(NUMBERS, 4) == 16, what
        assert told == WARM, what


@pytest.mark.parametrize("failure", [MemoryError(), OSError(12, "Cannot allocate memory")])
def test_without_memory_to_load_it_kept_code_stays(chosen: Any, tiny: Any, told: Any, failure: Exception) -> None:
    """A process with a small limit of memory would take the code away from all others, and compile it itself."""
    folder = chosen().write
    tiny().four_times(NUMBERS, 3)
    [file] = [path for path in folder.iterdir() if path.suffix != ".lock"]
    told.clear()
    file.write_bytes(signed(pickle.dumps(Unloadable(failure))))
    before = file.read_bytes()
    with pytest.raises(type(failure)):
        tiny().four_times(NUMBERS, 3)
    assert told == []
    assert file.read_bytes() == before


def test_a_full_disk_is_no_reason_to_stop(chosen: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = chosen().write

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert tiny().four_times(NUMBERS, 3) == 12
    assert [path.suffix for path in folder.iterdir()] == [".lock"]


def test_a_changed_callee_makes_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "caller.py").write_text("one")
    (tmp_path / "callee.py").write_text("two")
    monkeypatch.setattr(compile_cache, "__file__", str(tmp_path / "compile_cache.py"))
    states = []
    for content in ("two", "three", "two"):
        (tmp_path / "callee.py").write_text(content)
        compile_cache.state.cache_clear()
        states.append(compile_cache.state())
    monkeypatch.undo()
    compile_cache.state.cache_clear()
    assert states[0] == states[2] != states[1]
    assert compile_cache.state() not in states


def test_a_changed_kernel_elsewhere_is_compiled_anew(chosen: Any, tiny: Any, tmp_path: Path) -> None:
    chosen()
    assert tiny().four_times(NUMBERS, 3) == 12
    (tmp_path / "tiny_kernels.py").write_text(SOURCE.replace("2 *", "5 *"))
    assert tiny().four_times(NUMBERS, 3) == 30


def test_two_processes_at_once_compile_once_and_agree(tiny: Any, tmp_path: Path) -> None:
    tiny()
    code = (
        "import sys, numpy as np; from neardup.kernels import compile_cache\n"
        "compile_cache.watchers.append(lambda *told: print(*told))\n"
        "sys.stdin.readline()\n"
        "import tiny_kernels; print(tiny_kernels.four_times(np.arange(5), 3))\n"
    )
    environment = {**os.environ, "NEARDUP_CACHE_DIR": str(tmp_path / "shared")}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", ""), *sys.path])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate()[0].splitlines() for process in processes]
    assert [lines[-1] for lines in outputs] == ["12", "12"]
    assert sum(line == "started tiny_kernels:four_times" for lines in outputs for line in lines) == 1


def test_a_lock_that_nobody_gives_back_is_not_waited_for_forever(chosen: Any) -> None:
    chosen()
    with compile_cache.locked("kernel") as first, compile_cache.locked("kernel", patience=0) as second:
        assert (first, second) == (True, False)
    with compile_cache.locked("kernel", patience=0) as again:
        assert again


def test_numba_0_61_takes_no_none_for_a_dictionary(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given, make = [], linker.CPUDispatcher.__init__

    def init(kernel: Any, function: Any, *arguments: Any) -> None:
        given.append(arguments[:2])
        make(kernel, function, *arguments)

    monkeypatch.setattr(linker.CPUDispatcher, "__init__", init)
    tiny()
    assert len(given) == 2
    assert all(isinstance(argument, dict) for arguments in given for argument in arguments)


def test_who_waits_for_another_process_compiles_something_else(
    chosen: Any, tiny: Any, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen()
    kernels = tiny()
    held = compile_cache.locked(kernels.four_times.file_name((typeof(NUMBERS), typeof(3))))

    def something_else() -> bool:
        assert kernels.twice(NUMBERS, 3) == 6
        held.__exit__(None, None, None)
        return True

    monkeypatch.setattr(compile_cache, "idle", [something_else])
    assert held.__enter__()
    assert kernels.four_times(NUMBERS, 3) == 12
    assert told == [(STARTED, "twice"), (READY, "twice"), (STARTED, "four_times"), (READY, "four_times")]


def test_who_has_nothing_else_to_do_waits(chosen: Any, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen()
    kernels = tiny()
    held = compile_cache.locked(kernels.four_times.file_name((typeof(NUMBERS), typeof(3))))
    timer = threading.Timer(0.1, held.__exit__, (None, None, None))

    def nothing() -> bool:
        timer.start()
        return False

    monkeypatch.setattr(compile_cache, "idle", [nothing])
    assert held.__enter__()
    assert kernels.four_times(NUMBERS, 3) == 12
    timer.join()
