"""The service under load: requests of several kinds at a fixed rate, whether it keeps up or not.

    python benchmarks/service.py COLLECTION [--documents 20000] [--rate 200] [--seconds 30] [--warm 3] [--write]

COLLECTION may hold any documents. When there is none it is made of the sets of the tests (NEARDUP_SHARED_DATA),
their paragraphs recombined. It is copied first, for the load changes it. The server is ``neardup serve`` in a
process of its own, the load comes from a third one, so that neither waits for the other's interpreter.

The load is an open loop: request k is due at k / rate seconds and its time counts from then on, not from when a
connection became free; a server that falls behind is charged for the queue that it makes. 80 % are searches
(``FINGERPRINT:id_50_95``, and ``_20_80`` for one in four), 15 % additions of one document, 5 % replacements and
removals in turn. ``--write`` writes benchmarks/results/service.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
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


class Request(NamedTuple):
    """What is sent and when (seconds from the start)."""

    due: float
    kind: str
    method: str
    target: str
    body: bytes | None


@dataclass
class Outcome:
    """What became of a request: seconds from when it was due, status (0: no answer)."""

    kind: str
    due: float
    seconds: float
    status: int


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
            collection.put(collection.prepare(ids, [next(made) for _ in ids], [{}] * len(ids)))
            print(f"\r{begin + len(ids):,} documents", end="", file=sys.stderr, flush=True)
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


def load(address: str, todo: list[Request], answers: Any) -> None:
    """Send every request when it is due; run in a process of its own."""
    split = urlsplit(address)
    due: SimpleQueue[Request | None] = SimpleQueue()
    done: SimpleQueue[Outcome] = SimpleQueue()
    began = monotonic() + 0.5

    def client() -> None:
        connection = HTTPConnection(split.hostname or "", split.port, timeout=60)
        while (request := due.get()) is not None:
            headers = {"Content-Type": "application/json"} if request.body else {}
            try:
                connection.request(request.method, request.target, request.body, headers)
                answer = connection.getresponse()
                answer.read()
                status = answer.status
            except (OSError, HTTPException):
                connection.close()
                status = 0
            done.put(Outcome(request.kind, request.due, monotonic() - began - request.due, status))

    clients = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for one in clients:
        one.start()
    for request in todo:
        sleep(max(0.0, began + request.due - monotonic()))
        due.put(request)
    for _ in clients:
        due.put(None)
    for one in clients:
        one.join()
    found = []
    while True:
        try:
            found.append(done.get_nowait())
        except Empty:
            break
    answers.put(found)


def measured(path: Path, todo: list[Request], options: list[str]) -> tuple[list[Outcome], float]:
    """Serve a collection, send the load; the outcomes, and the processor seconds of the server a second."""
    line = [sys.executable, "-m", "neardup", "serve", str(path), "--port", "0", *options]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().removeprefix("listening at ").strip()
        if not address:
            raise SystemExit("The server did not start.")
        try:
            context = multiprocessing.get_context("spawn")
            answers = context.Queue()
            process = context.Process(target=load, args=(address, todo, answers))
            process.start()
            used, began = _processor(server.pid), monotonic()
            found = answers.get()
            used, lasted = _processor(server.pid) - used, monotonic() - began
            process.join()
        finally:
            server.terminate()
    if server.returncode:
        raise SystemExit(f"The server ended with status {server.returncode}.")
    return found, used / lasted


def _processor(process: int) -> float:
    """Seconds of processor time that a process has used (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def report(found: list[Outcome], args: argparse.Namespace, documents: int, processor: float) -> str:
    """The page."""
    counted = [one for one in found if one.due >= args.warm]
    last = max(one.due + one.seconds for one in counted)
    rate = len(counted) / (last - args.warm)
    statuses = ", ".join(
        f"{status}: {count:,}" for status, count in sorted(Counter(o.status for o in counted).items())
    )
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
        f"Achieved: {rate:.1f} requests a second. Statuses: {statuses}. "
        f"The server used {100 * processor:.0f} % of one processor.",
        "",
        "Times count from when a request was due, and so include waiting for a free connection.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="The service under load.")
    parser.add_argument("collection", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--warm", type=float, default=3)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    parts = paragraphs()
    if not args.collection.exists():
        make(args.collection, parts, args.documents)
    with tempfile.TemporaryDirectory(dir=args.collection.parent) as folder:
        copy = Path(folder) / "served.neardup"
        shutil.copy(args.collection, copy)
        with Collection(copy) as collection:
            ids = list(collection)
        todo = requests(parts, round(args.rate * args.seconds), args.rate, ids)
        found, processor = measured(copy, todo, ["--threads", str(args.threads)])
    page = report(found, args, len(ids), processor)
    print(page)
    if args.write:
        RESULTS.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
