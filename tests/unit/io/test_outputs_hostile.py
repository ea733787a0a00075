"""Other users write into the output's folder: the files they plant are not followed, trusted or deleted."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from neardup.errors import OutputError
from neardup.io.readers.base import Problem
from neardup.io.writers import OutputFolder, OutputImage, OutputPage, ProblemList, filesystem
from neardup.io.writers.filesystem import WorkingPlace
from neardup.io.writers.output import stamped_page
from support import forked

fcntl = pytest.importorskip("fcntl", reason="other locks, and no signals to kill by")

PAGE = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="x">\n'
    '<meta name="generator" content="neardup 1">'
)
DEAD = 2**22 + 1
"""No process has this number."""


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def result(path: Path, value: int, *, overwrite: bool = False) -> None:
    with OutputFolder(path, overwrite=overwrite) as folder:
        folder.path("kept").mkdir()
        folder.path("kept/a").write_text("a")
        folder.write_json("run.json", value)


def killed(target: Path, *, aside: bool = False) -> Path:
    """Kill a process while it writes (with ``aside``, between two renames) and return the folder it leaves."""
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom neardup.io.writers.filesystem import WorkingPlace\n"
        f"place = WorkingPlace(Path({str(target)!r}))\nplace.open()\nplace.new.mkdir()\n"
        f"if {aside}: place.set_aside()\nprint(place.new.parent)\nsys.stdout.flush()\nos.kill(os.getpid(), 9)\n"
    )
    done = forked.run(program)
    assert done.returncode == -9, done.stderr
    return Path(done.stdout.strip())


# --- temporary names


def test_a_planted_link_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".page.html.partial-{os.getpid()}").symlink_to(victim)
    with OutputPage(tmp_path / "page.html") as page:
        page.write(PAGE)
    assert victim.read_text() == "precious"
    assert (tmp_path / "page.html").read_text() == stamped_page(PAGE)
    assert not (tmp_path / "page.html").is_symlink()


def test_temporary_names_cannot_be_foreseen_and_exist_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["0" * 16, "1" * 16])
    monkeypatch.setattr(filesystem.secrets, "token_hex", lambda count: next(names))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f".out.partial-{'0' * 16}").symlink_to(tmp_path / "elsewhere")
    result(tmp_path / "out", 1)
    assert entries(tmp_path / "elsewhere") == []
    assert entries(tmp_path) == [f".out.partial-{'0' * 16}", "elsewhere", "out"]


def test_a_planted_old_result_does_not_become_the_result(tmp_path: Path) -> None:
    for name in (f".out.old-{DEAD}", f".out.partial-{DEAD}", ".out.partial-" + "0" * 16):
        result(tmp_path / "made", 1)
        planted = tmp_path / name
        planted.mkdir()
        os.rename(tmp_path / "made", planted / "old")
        (planted / "run.json").write_text("1")
        (planted / "lock").write_text('{"target":"out","token":"1"}')
    with OutputFolder(tmp_path / "out") as folder:
        assert not (tmp_path / "out").exists()
        folder.write_json("run.json", 2)
    assert (tmp_path / "out" / "run.json").read_text() == "2\n"
    assert len(entries(tmp_path)) == 4  # and no file of other users is removed


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_folder_of_another_user_is_left_alone(tmp_path: Path) -> None:
    left = killed(tmp_path / "out")
    for mode, owner in ((0o700, 12345), (0o755, 0)):
        left.chmod(mode)
        os.chown(left, owner, -1)
        result(tmp_path / "out", 1, overwrite=True)
        assert (left / "new").exists()


def test_two_outputs_whose_names_begin_alike(tmp_path: Path) -> None:
    names = ["n" * 200 + str(k) for k in range(2)]
    with OutputFolder(tmp_path / names[0]) as first, OutputFolder(tmp_path / names[1]) as second:
        for folder in (first, second):
            folder.write_json("run.json", 1)
    assert entries(tmp_path) == names


# --- locks


@contextmanager
def writing(target: Path) -> Iterator[Path]:
    """Another process that writes the same output, as one in another container would."""
    program = (
        "import sys\nfrom pathlib import Path\nfrom neardup.io.writers import OutputFolder\n"
        f"with OutputFolder(Path({str(target)!r})) as folder:\n"
        "    folder.write_json('run.json', 1)\n    print(folder.path('x').parent.parent, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield Path(process.stdout.readline().strip())
        process.stdin.close()


def test_a_run_that_lives_keeps_its_folder_whatever_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another container its process number differs, or belongs to no process."""

    def nobody(pid: int, number: int) -> None:
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", nobody)
    with writing(tmp_path / "out") as place:
        with pytest.raises(OutputError):
            result(tmp_path / "out", 2)
        assert entries(place) == ["lock", "new"]
    assert (tmp_path / "out" / "run.json").read_text() == "1\n"
    assert entries(tmp_path) == ["out"]


def test_what_a_killed_run_left_is_removed_when_its_lock_can_be_taken(tmp_path: Path) -> None:
    left, other = killed(tmp_path / "out"), killed(tmp_path / "other")
    with open(left / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(OutputError):
            result(tmp_path / "out", 1)
        assert left.exists()
    result(tmp_path / "out", 1)
    assert entries(tmp_path) == [other.name, "out"]


@pytest.mark.parametrize("error", [MemoryError(), OSError(39, "Directory not empty")])
def test_a_partial_folder_goes_although_memory_is_short_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A run that ran out of memory left its partial folder, for removing it failed once."""
    errors, remove = [error, error], shutil.rmtree

    def failing(path: Path) -> None:
        if errors:
            raise errors.pop()
        remove(path)

    monkeypatch.setattr(filesystem.shutil, "rmtree", failing)

    def stopped() -> None:
        with OutputFolder(tmp_path / "out") as folder:
            folder.write_json("run.json", {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert not errors
    assert list(tmp_path.iterdir()) == []


def test_without_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = killed(tmp_path / "out")
    monkeypatch.setattr(filesystem, "fcntl", None)
    result(tmp_path / "out", 1)
    assert entries(tmp_path) == [left.name, "out"]


def test_windows_locks_a_byte_that_the_file_does_not_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked: set[int] = set()

    def locking(handle: int, how: int, count: int) -> None:
        inode, place = os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR)
        assert place > os.fstat(handle).st_size
        if inode in locked:
            raise OSError(errno.EACCES, "Permission denied")
        locked.add(inode)

    monkeypatch.setattr(filesystem, "fcntl", None)
    monkeypatch.setattr(filesystem, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    left = killed(tmp_path / "out")
    with OutputFolder(tmp_path / "out") as folder:
        assert not left.exists()
        folder.write_json("run.json", 1)
        with pytest.raises(OutputError):
            result(tmp_path / "out", 2)
    assert entries(tmp_path) == ["out"]


def test_a_result_set_aside_by_a_killed_run_comes_back(tmp_path: Path) -> None:
    result(tmp_path / "out", 1)
    left = killed(tmp_path / "out", aside=True)
    assert entries(tmp_path) == [left.name]
    with pytest.raises(OutputError):
        result(tmp_path / "out", 2)
    assert entries(tmp_path) == ["out"]
    assert (tmp_path / "out" / "run.json").read_text() == "1\n"


def test_a_result_set_aside_is_never_lost(tmp_path: Path) -> None:
    """Its name has been reused in the meantime."""
    result(tmp_path / "out", 1)
    left = killed(tmp_path / "out", aside=True)
    (tmp_path / "out").mkdir()
    result(tmp_path / "out", 2, overwrite=True)
    assert (left / "old" / "run.json").read_text() == "1\n"


def test_an_exception_between_the_renames_puts_the_old_result_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result(tmp_path / "out", 1)

    def stopped(place: WorkingPlace) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(WorkingPlace, "publish", stopped)
    with pytest.raises(KeyboardInterrupt):
        result(tmp_path / "out", 2, overwrite=True)
    assert (tmp_path / "out" / "run.json").read_text() == "1\n"
    assert entries(tmp_path) == ["out"]


# --- ownership


def foreign_run(folder: Path) -> None:
    (folder / "run.json").write_text('{"neardup_version": "0.1.0", "format": 2, "model": "precious"}')


def of_another_program(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    foreign_run(folder)


def added(folder: Path) -> None:
    (folder / "notes.txt").write_text("precious")


def added_to_kept(folder: Path) -> None:
    (folder / "kept" / "notes.txt").write_text("precious")


def replaced_by_a_link(folder: Path) -> None:
    (folder / "kept" / "a").unlink()
    (folder / "kept").rmdir()
    (folder / "kept").symlink_to(folder.parent)


def changed(folder: Path) -> None:
    (folder / "run.json").write_text("3\n")


def another_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"files": {"run.json": "main.js"}}')


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (added, "notes.txt in it was not written by neardup"),
        (added_to_kept, "the files in kept are not those that neardup has written"),
        (replaced_by_a_link, "kept in it was not written by neardup"),
        (changed, "run.json has been changed"),
        (another_manifest, "its manifest.json cannot be used"),
        (of_another_program, "it has no manifest.json"),
    ],
)
def test_overwrite_deletes_nothing_that_neardup_did_not_write(
    tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    result(tmp_path / "out", 1)
    change(tmp_path / "out")
    before = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}
    with pytest.raises(OutputError, match=f"out is not a result.*: {said}"):
        result(tmp_path / "out", 2, overwrite=True)
    assert {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_what_is_added_during_the_run_is_not_deleted(tmp_path: Path) -> None:
    result(tmp_path / "out", 1)

    def during() -> None:
        with OutputFolder(tmp_path / "out", overwrite=True) as folder:
            folder.write_json("run.json", 2)
            added(tmp_path / "out")

    with pytest.raises(OutputError):
        during()
    assert (tmp_path / "out" / "notes.txt").read_text() == "precious"
    assert entries(tmp_path) == ["out"]


def test_a_file_that_comes_during_the_run_is_not_replaced(tmp_path: Path) -> None:
    def during() -> None:
        with OutputPage(tmp_path / "x.html") as page:
            page.write(PAGE)
            (tmp_path / "x.html").write_text("precious")

    with pytest.raises(OutputError):
        during()
    assert (tmp_path / "x.html").read_text() == "precious"
    assert entries(tmp_path) == ["x.html"]


def test_files_of_others_are_not_replaced(tmp_path: Path) -> None:
    foreign = {
        "x.html": f"<p>{PAGE}</p>",
        "x.svg": '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
        "x.jsonl": json.dumps({"source": "a corpus", "text": "precious"}) + "\n",
    }
    for name, content in foreign.items():
        path = tmp_path / name
        path.write_text(content)
        kinds = {".html": lambda p: OutputPage(p, overwrite=True), ".svg": OutputImage, ".jsonl": ProblemList}
        with pytest.raises(OutputError), kinds[path.suffix](path):
            pass
        assert path.read_text() == content


def test_own_files_are_replaced(tmp_path: Path) -> None:
    for _ in range(2):
        with OutputPage(tmp_path / "x.html", overwrite=True) as page:
            page.write(PAGE)
        with ProblemList(tmp_path / "x.jsonl") as problems:
            problems.write(Problem("a", 1, "r"))
    assert entries(tmp_path) == ["x.html", "x.jsonl"]
    assert stat.S_IMODE((tmp_path / "x.html").stat().st_mode) & 0o600 == 0o600
