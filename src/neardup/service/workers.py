"""Several processes that serve one collection behind one listening socket, and the one that keeps them running.

Every worker is a whole service: it reads, and it writes under the lock of the collection file, as any other
program does. A worker that dies takes its open connections with it and nothing else: SQLite undoes its
transaction, its counts stay in the files of the metrics, and the others accept the connections that wait.

A worker is a fresh interpreter, since a fork would copy the locks of threads. It receives its part on standard
input, whose end means that its supervisor is gone, and its event loop writes a byte to standard output every
second from when it accepts requests on: a worker that is silent for too long is replaced, too.

A client keeps its connections, and so their division among the workers is that of the load. Without a rule, the
worker that wakes first accepts all that wait: of 64 connections opened together, one had 43, and a queue.
"""

import asyncio
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, NoReturn

from neardup.collection import Collection
from neardup.errors import OutputError, SettingError
from neardup.io.files import make_numbers, remove_folder, shared_numbers
from neardup.io.outputs import scratch_folder
from neardup.io.place import Place
from neardup.runtime import Deadline
from neardup.service.executor import file_identity
from neardup.service.server import serve
from neardup.service.web import monitoring
from neardup.service.web.limits import Limits
from neardup.service.web.middleware import Tokens
from neardup.service.web.server import address_of

MOST = 64
_BEAT = 1.0
"""Seconds between two signs of life."""
_COUNTS = "connections"
"""The file with the number of open connections of each worker."""
GONE = (1 << 31) - 1
"""The number of connections of a worker that accepts none."""
YIELDS = 100
"""How often a connection is left to a worker with fewer, which may hang: some milliseconds."""


@dataclass(frozen=True)
class Pace:
    """Seconds of a supervisor."""

    steady: float = 60.0
    """After which the death of a worker is not one of a row."""
    shortest_pause: float = 1.0
    """Before the third start in a row; the pause doubles up to the longest one."""
    longest_pause: float = 30.0
    hung: float = 20.0
    """Without a sign of life, after which a worker that accepts requests is killed and replaced."""
    step: float = 0.5
    """The longest wait, so that a signal is noticed."""


PACE = Pace()


@dataclass(frozen=True)
class WorkerSettings:
    """What a worker needs: the collection, the identity of its file, and the descriptor of the socket.

    ``folder`` has the counts, and temporary files of the workers.
    """

    path: Place
    identity: tuple[int, int] | None
    readonly: bool
    wait: float
    tokens: Tokens
    limits: Limits
    listening: int
    folder: Path
    number: int = 0


def serve_in_workers(
    count: int,
    collection: Collection,
    wait: float,
    tokens: Tokens,
    limits: Limits,
    listening: socket.socket,
    started: Callable[[str], None],
) -> None:
    """Serve a collection in ``count`` processes until a signal arrives.

    ``started`` is called when all accept requests. Closes the collection first: each worker opens it for itself.
    Raises SettingError for the count, OutputError if a worker ends before all have started.
    """
    require_workers(count)
    monitoring.log_to_stderr()
    address = address_of(listening)
    fields = {"documents": len(collection), "tokens": bool(tokens), "workers": count}
    identity = file_identity(collection.path)
    collection.close()
    with scratch_folder() as folder:
        path = collection.path.absolute()
        readonly = collection.store.readonly
        part = WorkerSettings(path, identity, readonly, wait, tokens, limits, listening.fileno(), folder)
        supervisor = Supervisor(part, count, lambda: started(address), pace=PACE)
        monitoring.event("started", address=address, **fields)
        finished = supervisor.run()
    monitoring.event("stopped", finished=finished)


def require_workers(count: int) -> None:
    """Raise SettingError unless this system can run ``count`` workers."""
    if not 1 <= count <= MOST:
        raise SettingError(f"--workers is {count}", f"A whole number from 1 to {MOST}")
    if count > 1 and os.name == "nt":
        raise SettingError(f"--workers is {count}", "1 on Windows, where processes cannot inherit a socket")


class EvenListener(socket.socket):
    """A listening socket of several workers, each of which accepts a connection only if no other one has fewer.

    ``counts`` has the open connections of each worker, ``place`` is the number of this worker.
    """

    def __init__(self, descriptor: int, counts: "memoryview[int]", place: int) -> None:
        super().__init__(fileno=descriptor)
        self._counts, self._place, self._open, self._yielded = counts, place, 0, 0

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises BlockingIOError if there is none, or if it is another worker's turn."""
        self._count(0)  # here first: while a new worker loads its kernels, the others do not wait for it
        if self._open > min(self._counts) and self._yielded < YIELDS:
            self._yielded += 1
            raise BlockingIOError
        self._yielded = 0
        connection, address = super().accept()
        self._count(1)
        return _Counted(connection, lambda: self._count(-1)), address

    def _count(self, more: int) -> None:
        self._open += more
        self._counts[self._place] = self._open


class _Counted(socket.socket):
    """An accepted connection; ``closed`` is called once, when it is closed."""

    def __init__(self, connection: socket.socket, closed: Callable[[], None]) -> None:
        super().__init__(connection.family, connection.type, connection.proto, fileno=connection.detach())
        self._when_closed: Callable[[], None] | None = closed

    def close(self) -> None:
        """Close the connection."""
        closed, self._when_closed = self._when_closed, None
        super().close()
        if closed is not None:
            closed()


@dataclass(eq=False)
class _Worker:
    """A place for a worker, with the process that has it now."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    begin: float = 0.0
    due: float = 0.0
    deaths: int = 0
    accepts: bool = False
    silence: float = 0.0


class Supervisor:
    """Starts the workers, replaces those that die or hang, and ends all at a signal; at a second one, at once."""

    def __init__(
        self,
        part: WorkerSettings,
        count: int,
        started: Callable[[], None],
        line: Sequence[str] = (sys.executable, "-P", "-m", "neardup.service.workers"),
        pace: Pace = PACE,
    ) -> None:
        self._part, self._tell, self._line, self._pace = part, started, line, pace
        self._workers = [_Worker(number) for number in range(count)]
        self._announced = self._stopping = False
        # the waiting requests, the threads, the thread that loads kernels, and some seconds to end the interpreter
        self._end = Deadline(None)
        make_numbers(part.folder / _COUNTS, count)
        self._connections = shared_numbers(part.folder / _COUNTS)
        self._patience = 2 * part.limits.stop_seconds + 5

    def run(self) -> bool:
        """Return, after a signal, whether every worker ended in time. Raises OutputError if one cannot start."""
        handlers = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            while not self._stopping or (self._running_processes() and not self._end.passed):
                for worker in self._workers:
                    if worker.process is None and not self._stopping and monotonic() >= worker.due:
                        self._start(worker)
                self._watch()
            return not self._running_processes()
        finally:
            self._kill()
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _running_processes(self) -> list[subprocess.Popen[bytes]]:
        return [worker.process for worker in self._workers if worker.process is not None]

    def _start(self, worker: _Worker) -> None:
        # in a session of its own, Ctrl-C in a terminal reaches the supervisor alone, which stops the workers
        process = subprocess.Popen(
            self._line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[self._part.listening],
            # its temporary files, too, disappear with the folder, even if it is killed
            env={**os.environ, "TMPDIR": str(self._part.folder)},
            start_new_session=True,
        )
        worker.process, worker.begin, worker.accepts, worker.silence = process, monotonic(), False, 0.0
        part = replace(self._part, number=worker.number)
        assert process.stdin is not None
        try:
            process.stdin.write(pickle.dumps(part))
            process.stdin.flush()
        except BrokenPipeError:  # it is gone already, as its output will show
            pass
        if self._stopping:  # the signal arrived while it was started
            process.terminate()

    def _watch(self) -> None:
        """Wait for a worker that accepts requests or ends, or for the next step."""
        outputs = {
            worker.process.stdout.fileno(): worker
            for worker in self._workers
            if worker.process is not None and worker.process.stdout is not None
        }
        begin = monotonic()
        ready, _, _ = select.select(list(outputs), [], [], self._pace.step)
        # if the supervisor, too, was stopped for a while, that is no silence of the workers
        waited = min(monotonic() - begin, 2 * self._pace.step)
        for output, worker in outputs.items():
            if output not in ready:
                worker.silence += waited
                self._require_life(worker)
            elif os.read(output, 64):
                worker.accepts, worker.silence = True, 0.0
            else:
                self._note_end(worker)
        if not self._announced and all(worker.accepts for worker in self._workers):
            self._announced = True
            self._tell()

    def _require_life(self, worker: _Worker) -> None:
        """Kill a worker that hangs; that its output ends is noticed in the next step."""
        hung = self._pace.hung
        if worker.process is not None and worker.accepts and worker.silence >= hung and not self._stopping:
            monitoring.event("worker_hung", worker=worker.number, process=worker.process.pid, seconds=hung)
            worker.silence = 0.0
            worker.process.kill()

    def _note_end(self, worker: _Worker) -> None:
        process, worker.process = worker.process, None
        assert process is not None
        status = process.wait()
        _close(process)
        monitoring.forget(self._part.folder, worker.number)
        self._connections[worker.number] = GONE
        if self._stopping:
            return
        if not self._announced:
            raise OutputError(
                f"Worker {worker.number} of the service could not start", "", "See its log lines above"
            )
        pace = self._pace
        worker.deaths = worker.deaths + 1 if monotonic() - worker.begin < pace.steady else 1
        doubled = pace.shortest_pause * 2 ** (worker.deaths - 2)
        pause = min(pace.longest_pause, doubled) if worker.deaths > 1 else 0.0
        worker.due = monotonic() + pause
        monitoring.event("worker_ended", worker=worker.number, process=process.pid, status=status, pause=pause)

    def _stop(self, number: int, _: FrameType | None) -> None:
        if self._stopping:
            self._kill()
            remove_folder(self._part.folder)
            os._exit(128 + number)  # everything acknowledged is on the disk
        self._stopping, self._end = True, Deadline(self._patience)
        for process in self._running_processes():
            process.terminate()

    def _kill(self) -> None:
        for process in self._running_processes():
            process.kill()
            process.wait()
            _close(process)


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):  # it ended before it had read its part
                pipe.close()


def main() -> None:
    """Run a worker: its part arrives on standard input."""
    part: WorkerSettings = pickle.load(sys.stdin.buffer)
    monitoring.log_to_stderr(part.number)
    alone = threading.Event()
    threading.Thread(target=_stop_with_supervisor, args=(alone,), daemon=True).start()
    try:
        monitoring.share(part.folder, part.number)
        ended = _serve(part)
    except Exception as error:
        monitoring.mistake(error, "")
        ended = False
    if alone.is_set():
        remove_folder(part.folder)
    _leave(0 if ended else 1)


def _serve(part: WorkerSettings) -> bool:
    collection = Collection(part.path, readonly=part.readonly, wait=part.wait)
    if file_identity(part.path) != part.identity:
        raise OutputError("Another file has the name of the collection")
    listening = EvenListener(part.listening, shared_numbers(part.folder / _COUNTS), part.number)
    return serve(collection, part.tokens, part.limits, listening, _report_running)


def _report_running(_: str) -> None:
    """Tell the supervisor, now and every second, that the event loop runs."""
    os.set_blocking(1, False)
    with suppress(OSError):  # the supervisor does not read, or is gone
        os.write(1, b".")
    asyncio.get_running_loop().call_later(_BEAT, _report_running, "")


def _stop_with_supervisor(alone: threading.Event) -> None:
    """Stop as after SIGTERM when standard input ends, however the supervisor ended."""
    while os.read(0, 64):
        pass
    alone.set()
    os.kill(os.getpid(), signal.SIGTERM)


def _leave(status: int) -> NoReturn:
    """End at once: a thread may still be in native code, and another one waits for standard input."""
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
