"""Programs in processes of their own, forked from one that has imported and loaded what most of them need.

A new interpreter takes seconds until the first document is added; a fork takes none. Where processes cannot be
forked, each program has an interpreter of its own. Run as a program, this module is the process that forks.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn


@dataclass(frozen=True)
class Child:
    """A program under way; its output goes to two files."""

    folder: tempfile.TemporaryDirectory[str]
    pid: int
    own: subprocess.Popen[bytes] | None = None

    @property
    def out(self) -> str:
        return Path(self.folder.name, "out").read_text(encoding="utf-8")

    def wait(self) -> subprocess.CompletedProcess[str]:
        """Wait for its end; the status of one that was killed is negative. The files are removed."""
        status = _ask({"wait": self.pid}) if self.own is None else self.own.wait()
        with self.folder:
            err = Path(self.folder.name, "err").read_text(encoding="utf-8")
            return subprocess.CompletedProcess([], status, self.out, err)


def start(code: str, *arguments: object) -> Child:
    """Start a program; ``arguments`` are its ``sys.argv[1:]``."""
    folder = tempfile.TemporaryDirectory()
    argv = [*map(str, arguments)]
    if hasattr(os, "fork"):
        return Child(folder, _ask({"code": code, "argv": argv, "folder": folder.name}))
    with open(Path(folder.name, "out"), "wb") as out, open(Path(folder.name, "err"), "wb") as err:
        own = subprocess.Popen([sys.executable, "-c", code, *argv], stdout=out, stderr=err)
    return Child(folder, own.pid, own)


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return start(code, *arguments).wait()


@cache
def _nursery() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True)
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _ask(said: dict[str, Any]) -> int:
    process = _nursery()
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(said) + "\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def _work(code: str, argv: list[str], folder: str) -> NoReturn:
    status: Any = 1
    for number, name in enumerate((os.devnull, f"{folder}/out", f"{folder}/err")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o666), number)
    sys.argv = ["-c", *argv]
    try:
        exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})
        status = 0
    except SystemExit as stopped:
        status = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _main() -> None:
    from neardup.collection import Collection

    with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/x") as collection:
        collection.add(["so that children find everything imported and loaded"])
        collection.search("everything")
        collection.check()
    for line in sys.stdin:
        said = json.loads(line)
        if "wait" in said:
            print(os.waitstatus_to_exitcode(os.waitpid(said["wait"], 0)[1]), flush=True)
        else:
            child = os.fork()
            if not child:
                _work(**said)
            print(child, flush=True)


if __name__ == "__main__":
    _main()
