"""The service under load: requests of several kinds at a fixed rate, whether it keeps up or not.

    python benchmarks/service.py COLLECTION [--documents 20000] [--rate 200] [--seconds 30] [--warm 3]
        [--patience 10] [--workers 1] [--write]

COLLECTION may hold any documents. When there is none it is made of the sets of the tests (NEARDUP_SHARED_DATA),
their paragraphs recombined. It is copied first, for the load changes it. The server is ``neardup serve`` in a
process of its own, the load comes from a third one, so that neither waits for the other's interpreter.

The load is an open loop: request k is due at k / rate seconds and its time counts from then on, not from when a
connection became free; a server that falls behind is charged for the queue that it makes. 80 % are searches
(``FINGERPRINT:id_50_95``, and ``_20_80`` for one in four), 15 % additions of one document, 5 % replacements and
removals in turn; besides, /health is asked for 20 times a second. ``--write`` writes the table of results.

It ends however slow the server is: what has no answer ``--patience`` seconds after the last request was due is
counted as unanswered, with the time that it waited until then. Server start and stop have limits, too.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import multiprocessing
import os
import random
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, process_time, sleep
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import numpy as np

from neardup.collection import Collection

ROOT = Path(__file__).parent
RESULTS = ROOT / "results" / "service_load.md"
PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
CLIENTS = 64
LENGTH = re.compile(rb"content-length: *([0-9]+)", re.IGNORECASE)
PROBES = 20
"""Requests of /health a second, beside the rate."""
DOCUMENT_CHARACTERS = 2500
IDS = 20_000
"""The most documents that the load asks for: all where there are fewer."""
START_SECONDS, STOP_SECONDS = 180, 10
"""The first start compiles the inner loops. What is under way at the end is given up after ``STOP_SECONDS``."""
COPIED = 32 << 20
"""Bytes that are copied at a time."""


class Request(NamedTuple):
    """The request, and its time (seconds from the start)."""

    due: float
    kind: str
    method: str
    target: str
    body: bytes | None

    def content(self, host: str) -> bytes:
        """The bytes of the request."""
        head = f"{self.method} {self.target} HTTP/1.1\r\nHost: {host}\r\n"
        if self.body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(self.body)}\r\n"
        return f"{head}\r\n".encode() + (self.body or b"")


@dataclass
class Outcome:
    """What became of a request: seconds from when it was due, status (0: no answer), whether it was sent."""

    kind: str
    due: float
    seconds: float
    status: int
    sent: bool = True

    @property
    def answered(self) -> float:
        """When the answer came; never, if there was none."""
        return self.due + self.seconds if self.status else math.inf


def paragraphs() -> list[str]:
    """Paragraphs of more than 80 characters of the real documents of the tests."""
    default = ROOT.parents[1] / "shared" / "data"
    folder = Path(os.environ.get("NEARDUP_SHARED_DATA", default))
    files = sorted(folder.glob("*/documents.jsonl"))
    texts = (json.loads(line)["text"] for file in files for line in file.open(encoding="utf-8"))
    parts = [part for text in texts for part in PARAGRAPH_END.split(text) if 80 < len(part) < DOCUMENT_CHARACTERS]
    if not parts:
        raise SystemExit(f"There are no documents in {folder}; NEARDUP_SHARED_DATA names another folder.")
    return parts


def recombined(parts: list[str], draw: random.Random) -> Iterator[str]:
    """Endless documents of about 2.5 kB, so that shingles recur as they do in practice."""
    while True:
        chosen, size = [], 0
        while size < DOCUMENT_CHARACTERS:
            chosen.append(draw.choice(parts))
            size += len(chosen[-1]) + 2
        yield "\n\n".join(chosen)


def make(path: Path, parts: list[str], count: int) -> None:
    """A collection of ``count`` documents named 0, 1, 2 …"""
    made = recombined(parts, random.Random(1))
    with Collection(path) as collection:
        for begin in range(0, count, 5000):
            ids = [str(number) for number in range(begin, min(begin + 5000, count))]
            collection.put_prepared(collection.prepare(ids, [next(made) for _ in ids], [{}] * len(ids)))
            progress(f"{begin + len(ids):,} documents")
    print(file=sys.stderr)


def requests(parts: list[str], count: int, rate: float, ids: list[str]) -> list[Request]:
    """The whole load, drawn beforehand."""
    draw = random.Random(2)
    texts = recombined(parts, draw)
    found = []
    gone: set[str] = set()
    for number in range(count):
        share, due = draw.random(), number / rate
        known = next(id for id in iter(lambda: draw.choice(ids), None) if id not in gone)
        if share < 0.8:
            clause = "20_80" if draw.random() < 0.25 else "50_95"
            asked = f'FINGERPRINT:"{known}"_{clause}'
            target = f"/v1/search?limit=20&q={quote(asked)}"
            found.append(Request(due, f"search _{clause}", "GET", target, None))
        elif share < 0.95:
            body = {"documents": [{"id": f"new {number}", "text": next(texts)}]}
            found.append(Request(due, "add", "POST", "/v1/documents", json.dumps(body).encode()))
        elif number % 2:
            # those that are removed are searched for no more, so that every request can succeed
            gone.add(known)
            found.append(Request(due, "remove", "DELETE", f"/v1/documents?id={quote(known)}", None))
        else:
            body = {"text": next(texts)}
            found.append(
                Request(due, "replace", "PUT", f"/v1/documents?id={quote(known)}", json.dumps(body).encode())
            )
    found += [Request(k / PROBES, "health", "GET", "/health", None) for k in range(round(count / rate * PROBES))]
    return sorted(found, key=lambda request: request.due)


class Connection:
    """A socket without waiting, and the number of the request whose answer it receives; None if it is free."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.number: int | None = None
        self._answer, self._length = b"", 0

    def send(self, number: int, content: bytes) -> None:
        """Send a request. Raises OSError."""
        self.number, self._answer, self._length = number, b"", 0
        if self.socket.send(content) < len(content):  # far less than the buffer of a socket
            raise OSError("the server does not read")

    def status(self) -> int | None:
        """Read what has arrived; the status when the answer is complete. Raises OSError at an early end."""
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise OSError("closed")
        self._answer += piece
        if not self._length and (head := self._answer.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self._answer, 0, head)
            self._length = head + 4 + (int(length[1]) if length else 0)
        return int(self._answer[9:12]) if 0 < self._length <= len(self._answer) else None


class Load:
    """An open loop over ``CLIENTS`` connections in one thread, so that it leaves the processors to the server."""

    def __init__(self, address: str, todo: list[Request]) -> None:
        split = urlsplit(address)
        self._address, self._todo = (split.hostname or "", split.port or 80), todo
        self._contents = [request.content(split.netloc) for request in todo]
        self._selector = selectors.DefaultSelector()
        self._free: deque[Connection] = deque()  # in turn, so that each worker receives its share
        for _ in range(CLIENTS):
            self._connect()
        self._sent = [False] * len(todo)
        self._outcomes: dict[int, Outcome] = {}
        self._begin = 0.0

    def _connect(self) -> None:
        connection = Connection(self._address)
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)
        self._free.append(connection)

    def _replace(self, connection: Connection) -> None:
        self._selector.unregister(connection.socket)
        connection.socket.close()
        with suppress(OSError):
            self._connect()

    def _done(self, number: int, status: int) -> None:
        request = self._todo[number]
        seconds = monotonic() - self._begin - request.due
        self._outcomes[number] = Outcome(request.kind, request.due, seconds, status)

    def _receive(self, connection: Connection) -> None:
        try:
            status = connection.status()
        except OSError:
            if connection.number is None:
                self._free.remove(connection)
            else:
                self._done(connection.number, 0)
            self._replace(connection)
            return
        if status and connection.number is not None:
            self._done(connection.number, status)
            connection.number = None
            self._free.append(connection)

    def run(self, patience: float) -> list[Outcome]:
        """Send every request when it is due; what became of each."""
        self._begin = monotonic() + 0.5
        end, next = self._begin + self._todo[-1].due + patience, 0
        while len(self._outcomes) < len(self._todo) and (now := monotonic()) < end:
            while next < len(self._todo) and self._free and self._begin + self._todo[next].due <= now:
                connection = self._free.popleft()
                self._sent[next] = True
                try:
                    connection.send(next, self._contents[next])
                except OSError:
                    self._done(next, 0)
                    self._replace(connection)
                next += 1
            due = self._begin + self._todo[next].due if next < len(self._todo) and self._free else end
            for key, _ in self._selector.select(max(0.0, due - monotonic())):
                self._receive(key.data)
        waited = monotonic() - self._begin
        return [
            self._outcomes.get(number)
            or Outcome(request.kind, request.due, waited - request.due, 0, self._sent[number])
            for number, request in enumerate(self._todo)
        ]


def load(address: str, todo: list[Request], patience: float, answers: Any) -> None:
    """Report what became of the requests, and the processor seconds of the load; run in a process of its own."""
    gc.disable()
    loop = Load(address, todo)
    begin = process_time()
    outcomes = loop.run(patience)
    answers.put((outcomes, process_time() - begin))


def measured(
    path: Path, todo: list[Request], threads: int, workers: int, patience: float
) -> tuple[list[Outcome], float, float, float]:
    """Serve a collection, send the load; the outcomes, processor seconds of server and load, elapsed seconds."""
    options = [
        "--port",
        "0",
        "--threads",
        str(threads),
        "--workers",
        str(workers),
        "--stop-seconds",
        str(STOP_SECONDS),
    ]
    line = [sys.executable, "-m", "neardup", "serve", str(path), *options]
    lasting = todo[-1].due + patience
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            address = _address(server)
            _wait_ready(address)
            tell(f"served at {address}; the load takes {lasting:.0f} s at most, to stop {3 * STOP_SECONDS} s")
            context = multiprocessing.get_context("spawn")
            answers = context.Queue()
            process = context.Process(target=load, args=(address, todo, patience, answers), daemon=True)
            process.start()
            used, began = _processor(server.pid), monotonic()
            found, sending = answers.get(timeout=lasting + 30)  # a new interpreter has to start
            used, lasted = _processor(server.pid) - used, monotonic() - began
        finally:
            _stop(server)
    return found, used, sending, lasted


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    timer = threading.Timer(START_SECONDS, server.kill)
    timer.start()
    address = server.stdout.readline().removeprefix("listening at ").strip()
    timer.cancel()
    if not address:
        raise SystemExit(f"The server did not start within {START_SECONDS} s.")
    return address


def _wait_ready(address: str) -> None:
    """Wait until the kernels are loaded, which would otherwise count as work for the load."""
    end = monotonic() + START_SECONDS
    while monotonic() < end:
        with suppress(HTTPError), urlopen(f"{address}/ready"):
            return
        sleep(0.1)


def _stop(server: subprocess.Popen[str]) -> None:
    server.terminate()
    try:
        server.wait(3 * STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        tell("the server did not stop in time and was killed")
    else:
        if server.returncode:
            tell(f"the server ended with status {server.returncode}: not everything was finished")


def _processor(process: int) -> float:
    """Seconds of processor time that a process and its workers have used (Linux)."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(_processor, map(int, children)))


def rows(found: list[Outcome]) -> Iterator[str]:
    """The table: a row for each kind and one for all."""
    yield "| | requests | errors | p50 ms | p90 ms | p99 ms | largest ms |"
    yield "|---|---|---|---|---|---|---|"
    kinds = sorted({one.kind for one in found})
    for kind in [*kinds, "all"]:
        chosen = [one for one in found if kind in (one.kind, "all")]
        times = 1000 * np.array([one.seconds for one in chosen])
        errors = sum(not 200 <= one.status < 300 for one in chosen)
        quantiles = " | ".join(f"{np.quantile(times, share):.1f}" for share in (0.5, 0.9, 0.99, 1))
        yield f"| {kind} | {len(chosen):,} | {errors:,} | {quantiles} |"


def report(
    found: list[Outcome], args: argparse.Namespace, documents: int, used: float, sending: float, lasted: float
) -> str:
    """The page."""
    counted = [one for one in found if one.due >= args.warm]
    statuses = Counter(o.status for o in counted if o.status)
    said = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items())) or "none"
    lines = [
        f"## {args.workers} {'process' if args.workers == 1 else 'processes'}",
        "",
        f"A collection of {documents:,} documents; {args.rate:g} requests a second in an open loop for "
        f"{args.seconds - args.warm:g} s, after {args.warm:g} s that do not count. Server and load share "
        f"{os.cpu_count()} processors.",
        "",
        *rows(counted),
        "",
        *behind(counted, args.warm, args.patience),
        "",
        f"Statuses: {said}. The server, of {args.workers} processes with {args.threads} reading threads each, "
        f"used {100 * used / lasted:.0f} % of one processor, {1000 * used / len(found):.1f} ms a request; "
        f"the load used {1000 * sending / len(found):.2f} ms a request.",
        "",
        "Times count from when a request was due, and so include waiting for a free connection.",
    ]
    return "\n".join(lines) + "\n"


def write(section: str) -> None:
    """Put the section of a number of processes in the place of the one before."""
    head, *sections = re.split(r"^(?=## )", RESULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    title = section.partition("\n")[0]
    kept = [f"{each.strip()}\n" for each in sections if each.partition("\n")[0] != title]
    RESULTS.write_text("\n".join([f"{head.strip()}\n", *sorted([*kept, section])]), encoding="utf-8")


def behind(found: list[Outcome], begin: float, patience: float) -> Iterator[str]:
    """Whether the server kept up: what it answered while requests came, and what was left then."""
    last = max(one.due for one in found)
    left = [one for one in found if one.answered > last]
    rate = (len(found) - len(left)) / (last - begin)
    yield f"Answered while requests came: {rate:.1f} a second."
    oldest = max(last - one.due for one in left)  # the last request is always one of them
    yield f"When the last request was due, {len(left):,} had no answer, the oldest for {oldest:.2f} s."
    lost = [one for one in found if not one.status]
    if lost:
        unsent = sum(not one.sent for one in lost)
        yield f"{len(lost):,} had none {patience:g} s later; {unsent:,} of them still waited to be sent."
    else:
        yield f"The last answer came {max(one.answered for one in found) - last:.2f} s later."


def copied(source: Path, target: Path) -> None:
    """A copy, all of it on the disk, so that nothing is left to be written while the load runs."""
    log = source.with_name(source.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise SystemExit(f"{source} is being written to, or was not closed: open and close it first.")
    size, free = source.stat().st_size, shutil.disk_usage(target.parent).free
    if free < 2 * size:
        raise SystemExit(f"A copy needs {2 * size:,} bytes with what the load adds; {target.parent} has {free:,}.")
    with source.open("rb") as old, target.open("wb") as new:
        while block := old.read(COPIED):
            before = new.tell()
            new.write(block)
            if 10 * new.tell() // size > 10 * before // size:  # each tenth
                progress(f"{new.tell() / 1e6:,.0f} of {size / 1e6:,.0f} MB copied")
        new.flush()
        os.fsync(new.fileno())
    print(file=sys.stderr)


def some_ids(collection: Collection) -> list[str]:
    """The ids of all documents, or of ``IDS`` that lie anywhere: of a million few are read."""
    count = len(collection)
    if count <= IDS:
        return list(collection)
    places = random.Random(3).sample(range(count), IDS)  # numbers are about 1 … count
    found = [collection.store.page(place, 1) for place in sorted(places)]
    return list(dict.fromkeys(id for page in found for _, id in page))


def progress(text: str) -> None:
    """Over the line before."""
    print(f"\r{text}", end="", file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """A line that is no result."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="The service under load.")
    parser.add_argument("collection", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--warm", type=float, default=3)
    parser.add_argument("--patience", type=float, default=10, help="seconds for answers after the last request")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if not 0 <= args.warm < args.seconds - 2 / args.rate or args.patience < 1:
        parser.error("--seconds must be more than --warm, and --patience 1 or more")
    # so that whoever stops it leaves no server and no copy behind
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    parts = paragraphs()
    if not args.collection.exists():
        make(args.collection, parts, args.documents)
    with tempfile.TemporaryDirectory(dir=args.collection.parent) as folder:
        copy = Path(folder) / "served.neardup"
        copied(args.collection, copy)
        with Collection(copy) as collection:
            documents, ids = len(collection), some_ids(collection)
        todo = requests(parts, round(args.rate * args.seconds), args.rate, ids)
        found, used, sending, lasted = measured(copy, todo, args.threads, args.workers, args.patience)
    page = report(found, args, documents, used, sending, lasted)
    print(page)
    if args.write:
        write(page)


if __name__ == "__main__":
    main()
