"""The core of the program as Windows would run it; ``test_other_systems.py`` starts it in a process of its own.

Our modules, and only ours, see ``os``, ``signal``, ``socket`` and ``time`` without what Windows has not, and they
cannot import what it has not. What exists there but does something else is refused as it is there.
"""

from __future__ import annotations

import builtins
import errno
import os
import pkgutil
import signal
import socket
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

MISSING_MODULES = {"resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog"}
_OF_OS = """
chown chroot ctermid eventfd fchmod fchown fdatasync fork forkpty fstatvfs getegid geteuid getgid getgroups
getloadavg getpgid getpriority getuid getxattr initgroups killpg lchown listxattr lockf memfd_create mkfifo
mknod nice openpty pidfd_open pipe2 posix_fadvise posix_fallocate posix_spawn pread pwrite register_at_fork
sched_getaffinity sched_setaffinity sched_yield sendfile setgid setsid setuid setxattr statvfs sync sysconf
ttyname uname vfork wait wait3 wait4 O_CLOEXEC O_DIRECT O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_PATH O_SYNC
O_TMPFILE
"""
_OF_SIGNAL = """
SIGALRM SIGBUS SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 SIGXCPU alarm pthread_kill setitimer
"""
MISSING = {
    os: _OF_OS.split(),
    signal: _OF_SIGNAL.split(),
    socket: ["AF_UNIX", "SO_REUSEPORT"],
    time: ["CLOCK_MONOTONIC", "clock_gettime", "tzset"],
}


def without(module: ModuleType, **instead: Any) -> ModuleType:
    """The module as our code sees it."""
    seen = ModuleType(module.__name__)
    vars(seen).update({name: value for name, value in vars(module).items() if name not in MISSING[module]})
    vars(seen).update(instead)
    return seen


def kill(pid: int, number: int) -> None:
    raise AssertionError(f"os.kill({pid}, {number}) ends a process on Windows, whatever the number")


def open_file(path: Any, flags: int, *arguments: Any, **named: Any) -> int:
    if os.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    return os.open(path, flags, *arguments, **named)


def fsync(handle: int) -> None:
    import fcntl

    if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, "Bad file descriptor")
    os.fsync(handle)


def rename(source: Any, target: Any) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "File exists", str(target))
    os.rename(source, target)


def hide() -> None:
    """From now on our modules see another system."""
    seen = {
        "os": without(os, name="nt", kill=kill, open=open_file, fsync=fsync, rename=rename, O_BINARY=0),
        "msvcrt": SimpleNamespace(locking=lambda *_: None, LK_LOCK=1, LK_NBLCK=2, LK_UNLCK=0),
        **{module.__name__: without(module) for module in (signal, socket, time)},
    }
    whole = builtins.__import__

    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        ours = (globals or {}).get("__name__", "").partition(".")[0] == "neardup"
        if ours and name in MISSING_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return seen[name] if ours and name in seen else whole(name, globals, locals, fromlist, level)

    builtins.__import__ = imported


def check_everything_imports() -> None:
    import neardup

    for module in pkgutil.walk_packages(neardup.__path__, "neardup."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


def typed(*arguments: object) -> None:
    """Run a command as if it was typed."""
    from neardup.cli import main

    sys.argv = ["neardup", *map(str, arguments)]
    status: Any = 0
    try:
        main()
    except SystemExit as stopped:
        status = stopped.code
    assert not status, (arguments, status)


def check_the_core(folder: Path) -> None:
    import neardup as nd
    from neardup import runtime as memory
    from neardup.io.formats.extractor import Extractor
    from neardup.io.writers.scratch import scratch_array

    demo = Path(nd.__file__).parent / "cli" / "demo_documents" / "documents.jsonl"
    memory.STATUS = folder / "no such file"
    assert memory.peak_memory() == 0
    found = nd.find(demo)
    assert (found.run.counts.removed, found.run.peak_memory_bytes) == (20, 0)
    for overwrite in ([], ["--overwrite"]):
        typed("dedup", demo, "-o", folder / "result", *overwrite)
    assert nd.load(folder / "result").run.counts.kept == 84
    pages = folder / "pages"
    pages.mkdir()
    for name, more in (("a.html", ""), ("b.html", " and one more")):
        (pages / name).write_text(f"<p>{' '.join(f'word{n}' for n in range(60))}{more}", encoding="utf-8")
    typed("dedup", pages, "-o", folder / "kept", "--audit", 2)
    typed("compare", pages / "a.html", pages / "b.html", "--html", folder / "page.html")
    with Extractor() as extractor:
        assert extractor.extract(b"<p>one<p>two", "a.html") == "one\ntwo"
    with nd.Collection(folder / "mail.neardup") as mails:
        mails.add(["pay the harbour office by Friday noon or else", "pay nobody"])
        assert [hit.id for hit in mails.search("harbour").hits] == ["#1"]
        assert mails.check() == []
    typed("collection", "add", folder / "mail.neardup", demo, "--text", "text", "--id", "id")
    typed("collection", "search", folder / "mail.neardup", "committee")
    typed("plan", "--threshold", 0.7)
    room = scratch_array(1000)
    room[:] = 7
    assert int(room.sum()) == 7000
    memory.release_memory()


if __name__ == "__main__":
    hide()
    check_everything_imports()
    check_the_core(Path(sys.argv[1]))
    print("The core ran.")
