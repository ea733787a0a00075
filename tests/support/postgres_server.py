"""A PostgreSQL server of this test process: in a folder of its own, at a socket, gone when the process ends."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest

USER = "neardup"
_FLAGS = "-c listen_addresses='' -c shared_buffers=64MB -c max_connections=60 -c log_min_messages=fatal "


def programs() -> Path | None:
    """The folder of initdb and pg_ctl: that of the path, or of Debian's newest version."""
    named = shutil.which("initdb")
    folders = (
        [Path(os.path.realpath(named)).parent]
        if named
        else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    )
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


_QUICK = "-c fsync=off -c full_page_writes=off -c autovacuum=off "


@cache
def missing() -> str:
    """Why there is no server; empty if there can be one."""
    if os.name == "nt":
        return "the server of the tests has a Unix socket"
    if programs() is None:
        return "PostgreSQL is not installed (apt install postgresql)"
    try:
        import psycopg_pool  # noqa: F401
    except ImportError:
        return "psycopg is not installed (pip install 'neardup[postgres]')"
    if os.getuid() == 0 and _account() is None:
        return "root may not run PostgreSQL, and there is no user postgres"
    return ""


def _account() -> str | None:
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return None


class Server:
    """A running server; ``folder`` has its data and its socket."""

    def __init__(self, *, fsync: bool = False) -> None:
        self._flags = _FLAGS + ("" if fsync else _QUICK)
        self.folder = Path(tempfile.mkdtemp(prefix="neardup-pg-"))
        self._as_user: list[str] = []
        if os.getuid() == 0:  # which the server refuses
            account = str(_account())
            shutil.chown(self.folder, account, account)
            self._as_user = ["setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups"]
        self._run("initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        self.start()
        atexit.register(self.remove)

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        flags = f"{self._flags} -c unix_socket_directories={self.folder}"
        self._run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "-o", flags, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")

    def kill(self) -> None:
        """Kill the server and all its processes, as a loss of power would."""
        pid = int(Path(self.data, "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGSTOP)  # it must not start others meanwhile
        children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        all_of_them = (*children, pid)
        for one in all_of_them:
            os.kill(one, signal.SIGKILL)
        while any(map(_is_running, all_of_them)):
            time.sleep(0.02)
        for file in (Path(self.data, "postmaster.pid"), *self.folder.glob(".s.PGSQL.*")):
            file.unlink()  # they name a process, and it may be a zombie

    def processor_time(self) -> float:
        """The seconds of processor time of all processes so far."""
        pid = Path(self.data, "postmaster.pid").read_text().split()[0]
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
        ticks = sum(map(int, parent))
        for one in children:
            with contextlib.suppress(OSError):  # it has ended meanwhile
                ticks += sum(map(int, Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def remove(self) -> None:
        if Path(self.data, "postmaster.pid").exists():
            with contextlib.suppress(subprocess.CalledProcessError):
                self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, schema: str, database: str = "postgres") -> str:
        return f"postgresql://{USER}@/{database}?host={self.folder}&schema={schema}"

    def tablespace(self, folder: Path) -> str:
        """The name of a new tablespace in a new folder."""
        folder.mkdir()
        if os.getuid() == 0:
            shutil.chown(folder, str(_account()), str(_account()))
        self._run(
            "psql", "-h", self.folder, "-U", USER, "-c", f"CREATE TABLESPACE disk LOCATION '{folder}'", "postgres"
        )
        return "disk"

    def _run(self, program: str, *arguments: object) -> None:
        folder = programs()
        assert folder is not None
        with open(self.folder.with_suffix(".out"), "wb") as out:
            subprocess.run(
                [*self._as_user, str(folder / program), *map(str, arguments)],
                check=True,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                cwd="/",
            )
        self.folder.with_suffix(".out").unlink()


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@cache
def server() -> Server:
    """The server of this process; skips the test where there can be none."""
    if missing():
        pytest.skip(missing())
    return Server()


def url_for(folder: Path, **more: str) -> str:
    """The URL of a collection: a schema for each folder."""
    schema = "s" + hashlib.blake2b(os.fsencode(folder), digest_size=12).hexdigest()
    return server().url(schema) + "".join(f"&{name}={value}" for name, value in more.items())
