"""Programs in processes of their own, forked from one that has imported and loaded what most of them need.

A new interpreter takes seconds until the first document is added; a fork takes none. Where processes cannot be
forked, each program has an interpreter of its own. Run as a program, this module is the process that forks.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn


@dataclass
class Child:
    """A program under way; its standard output goes to the file ``out``, its errors to ``err``.

    It has the methods of ``subprocess.Popen`` that tests use.
    """

    folder: tempfile.TemporaryDirectory[str]
    pid: int
    out: Path
    err: Path
    own: subprocess.Popen[bytes] | None = None
    returncode: int | None = None

    def poll(self) -> int | None:
        """The status, negative if it was killed; None while it works."""
        if self.returncode is None:
            self.returncode = _ask({"poll": self.pid}) if self.own is None else self.own.poll()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises TimeoutExpired after ``timeout`` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                assert timeout is not None
                raise subprocess.TimeoutExpired("a forked program", timeout)
            time.sleep(0.002)
        return status

    def line(self) -> str:
        """Its first line, as soon as it is there; what it has printed when it ends before."""
        while (printed := self.out.read_text(encoding="utf-8")).find("\n") < 0 and self.poll() is None:
            time.sleep(0.002)
        return printed.partition("\n")[0] + "\n"

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it, and wait."""
        self.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        self.wait()

    def done(self, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
        """Wait for its end; the files of its output are removed."""
        status = self.wait(timeout)
        with self.folder:
            out, err = (path.read_text(encoding="utf-8") for path in (self.out, self.err))
        return subprocess.CompletedProcess([], status, out, err)


def start(code: str, *arguments: object, err: Path | None = None, loaded: Sequence[str] = ()) -> Child:
    """Start a program; ``arguments`` are its ``sys.argv[1:]``, ``loaded`` modules to import before the fork."""
    folder = tempfile.TemporaryDirectory()
    argv, out = [*map(str, arguments)], Path(folder.name, "out")
    err = err or Path(folder.name, "err")
    if hasattr(os, "fork"):
        pid = _ask({"code": code, "argv": argv, "out": str(out), "err": str(err), "loaded": list(loaded)})
        assert pid is not None
        return Child(folder, pid, out, err)
    with out.open("wb") as printed, err.open("wb") as errors:
        own = subprocess.Popen([sys.executable, "-c", code, *argv], stdout=printed, stderr=errors)
    return Child(folder, own.pid, out, err, own)


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return start(code, *arguments).done()


@cache
def _nursery() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True)
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


_asking = threading.Lock()


def _ask(said: dict[str, Any]) -> int | None:
    with _asking:
        process = _nursery()
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(said) + "\n")
        process.stdin.flush()
        answer: int | None = json.loads(process.stdout.readline())
        return answer


def _work(code: str, argv: list[str], out: str, err: str) -> NoReturn:
    status: Any = 1
    for number, name in enumerate((os.devnull, out, err)):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | (os.O_TRUNC if number else 0), 0o666), number)
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


def _status(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _main() -> None:
    from neardup.collection import Collection

    with tempfile.TemporaryDirectory() as folder, Collection(f"{folder}/x") as collection:
        collection.add(["so that children find everything imported and loaded"])
        collection.search("everything")
        collection.check()
    for line in sys.stdin:
        said = json.loads(line)
        if "poll" in said:
            print(json.dumps(_status(said["poll"])), flush=True)
            continue
        for name in said.pop("loaded"):
            import_module(name)
        for path in (said["out"], said["err"]):
            Path(path).touch()
        child = os.fork()
        if not child:
            _work(**said)
        print(child, flush=True)


if __name__ == "__main__":
    _main()
