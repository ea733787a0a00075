"""The service under load: requests of several kinds at a fixed rate, whether it keeps up or not.

    python benchmarks/service.py COLLECTION [--documents 20000] [--rate 200] [--seconds 30] [--warm 3]
        [--patience 10] [--workers 1] [--write]

COLLECTION may hold any documents. When there is none it is made of the sets of the tests (NEARDUP_SHARED_DATA),
their paragraphs recombined. It is copied first, for the load changes it. The server is ``neardup serve`` in a
process of its own, the load comes from a third one, so that neither waits for the other's interpreter.

The load is an open loop: request k is due at k / rate seconds and its time counts from then on, not from when a
connection became free; a server that falls behind is charged for the queue that it makes. 80 % are searches
(``FINGERPRINT:id_50_95``, and ``_20_80`` for one in four), 15 % additions of one document, 5 % replacements and
removals in turn. ``--write`` writes benchmarks/results/service.md.

It ends however slow the server is: what has no answer ``--patience`` seconds after the last request was due is
counted as unanswered, with the time that it waited until then. Server start and stop have limits, too.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np

from neardup.collection import Collection

ROOT = Path(__file__).parent
RESULTS = ROOT / "results" / "service.md"
PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
CLIENTS = 64
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
    return found


def load(address: str, todo: list[Request], patience: float, answers: Any) -> None:
    """Send every request when it is due, and report the answers; run in a process of its own."""
    split = urlsplit(address)
    due: SimpleQueue[int] = SimpleQueue()
    done: SimpleQueue[tuple[int, Outcome]] = SimpleQueue()
    sent = [False] * len(todo)
    began = monotonic() + 0.5
    end = began + todo[-1].due + patience

    def client() -> None:
        connection = HTTPConnection(split.hostname or "", split.port, timeout=end - monotonic())
        while monotonic() < end:
            number = due.get()
            request, sent[number] = todo[number], True
            headers = {"Content-Type": "application/json"} if request.body else {}
            try:
                connection.request(request.method, request.target, request.body, headers)
                answer = connection.getresponse()
                answer.read()
                status = answer.status
            except (OSError, HTTPException):
                connection.close()
                status = 0
            done.put((number, Outcome(request.kind, request.due, monotonic() - began - request.due, status)))

    for _ in range(CLIENTS):
        threading.Thread(target=client, daemon=True).start()  # who still waits at the end is not waited for
    for number, request in enumerate(todo):
        sleep(max(0.0, began + request.due - monotonic()))
        due.put(number)
    found: dict[int, Outcome] = {}
    while len(found) < len(todo):
        try:
            number, outcome = done.get(timeout=max(0.0, end - monotonic()))
        except Empty:
            break
        found[number] = outcome
    waited = monotonic() - began
    answers.put(
        [
            found.get(number) or Outcome(request.kind, request.due, waited - request.due, 0, sent[number])
            for number, request in enumerate(todo)
        ]
    )


def measured(
    path: Path, todo: list[Request], threads: int, workers: int, patience: float
) -> tuple[list[Outcome], float, float]:
    """Serve a collection, send the load; the outcomes, processor seconds of the server, elapsed seconds."""
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
            tell(f"served at {address}; the load takes {lasting:.0f} s at most, to stop {3 * STOP_SECONDS} s")
            context = multiprocessing.get_context("spawn")
            answers = context.Queue()
            process = context.Process(target=load, args=(address, todo, patience, answers), daemon=True)
            process.start()
            used, began = _processor(server.pid), monotonic()
            found = answers.get(timeout=lasting + 30)  # a new interpreter has to start
            used, lasted = _processor(server.pid) - used, monotonic() - began
        finally:
            _stop(server)
    return found, used, lasted


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    timer = threading.Timer(START_SECONDS, server.kill)
    timer.start()
    address = server.stdout.readline().removeprefix("listening at ").strip()
    timer.cancel()
    if not address:
        raise SystemExit(f"The server did not start within {START_SECONDS} s.")
    return address


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


def report(found: list[Outcome], args: argparse.Namespace, documents: int, used: float, lasted: float) -> str:
    """The page."""
    counted = [one for one in found if one.due >= args.warm]
    statuses = Counter(o.status for o in counted if o.status)
    said = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items())) or "none"
    lines = [
        "# The service under load",
        "",
        "<!-- made by benchmarks/service.py --write -->",
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
        f"used {100 * used / lasted:.0f} % of one processor, {1000 * used / len(found):.1f} ms a request.",
        "",
        "Times count from when a request was due, and so include waiting for a free connection.",
    ]
    return "\n".join(lines) + "\n"


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
        found, used, lasted = measured(copy, todo, args.threads, args.workers, args.patience)
    page = report(found, args, documents, used, lasted)
    print(page)
    if args.write:
        RESULTS.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
