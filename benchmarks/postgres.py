"""The same documents in SQLite and in PostgreSQL: loading, adding, and searching, in one run.

    python benchmarks/postgres.py [--url postgresql://USER@HOST/DATABASE] [--documents 50000] [--queries 500]

Without --url it starts a server of its own, as the tests do, but with fsync. Documents have 300 words drawn from
a vocabulary by Zipf's law; a third begin with one header, a fifth repeat half of an earlier document. The queries
ask both stores in turn for FINGERPRINT:id_50_95 and _20_80. "processor" is the time of this process, and of the
server beside it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from neardup.collection import Collection

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.postgres_server import Server

WORDS, VOCABULARY, BATCH, BATCHES = 300, 200_000, 100, 20


def documents(count: int) -> Iterator[pa.RecordBatch]:
    """The documents, some thousand at a time."""
    draw = np.random.default_rng(7)
    words = np.array([f"w{k}" for k in range(VOCABULARY)])
    weights = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    header = " ".join(f"header{k}" for k in range(40))
    for first in range(0, count, 5_000):
        size = min(5_000, count - first)
        drawn = np.searchsorted(weights, draw.random((size, WORDS)) * weights[-1])
        repeats = np.flatnonzero(draw.random(size) < 0.2)[1:]
        drawn[repeats, : WORDS // 2] = drawn[(draw.random(len(repeats)) * repeats).astype(np.int64), : WORDS // 2]
        texts = [" ".join(row) for row in words[drawn].tolist()]
        texts = [f"{header} {text}" if (first + k) % 3 == 0 else text for k, text in enumerate(texts)]
        yield pa.RecordBatch.from_pydict({"id": [f"d{first + k}" for k in range(size)], "text": texts})


class Spent:
    """The seconds of the clock, of this process and of the server since the beginning."""

    def __init__(self, server: Server | None) -> None:
        self._server, self._began = server, self._now(server)

    def __str__(self) -> str:
        clock, own, other = (now - then for now, then in zip(self._now(self._server), self._began, strict=True))
        return f"{clock:7.2f} s, processor {own:6.2f} s here, {other:6.2f} s in the server"

    @property
    def clock(self) -> float:
        """The seconds of the clock."""
        return perf_counter() - self._began[0]

    @staticmethod
    def _now(server: Server | None) -> tuple[float, float, float]:
        return perf_counter(), process_time(), 0.0 if server is None else server.processor_time()


def load(collection: Collection, count: int, server: Server | None) -> None:
    """Load the documents, and add some more in batches."""
    collection.add(["compiles the kernels", "ä and their other half"])
    collection.remove(["#1", "#2"])
    parts = list(documents(count + BATCH * BATCHES))
    table = pa.Table.from_batches(parts)
    spent = Spent(server)
    collection.add(
        pa.RecordBatchReader.from_batches(table.schema, table.slice(0, count).to_batches()), text="text", id="id"
    )
    print(f"  load   {count / spent.clock:8.0f} documents/s  {spent}")
    spent = Spent(server)
    for begin in range(count, count + BATCH * BATCHES, BATCH):
        collection.add(table.slice(begin, BATCH), text="text", id="id")
    print(f"  add    {BATCH * BATCHES / spent.clock:8.0f} documents/s  {spent}  (batches of {BATCH})")
    print(f"  size   {collection.info()['bytes']['file'] / 1e6:8.1f} MB")


def search(stores: dict[str, Collection], form: str, count: int, queries: int) -> None:
    """Ask both stores in turn."""
    draw = np.random.default_rng(3)
    times: dict[str, list[float]] = {name: [] for name in stores}
    used = dict.fromkeys(stores, 0.0)
    differing = 0
    for k, document in enumerate(draw.integers(0, count, queries + 20).tolist()):
        answers = []
        for name, collection in stores.items():
            began, own = perf_counter(), process_time()
            page = collection.search(f"FINGERPRINT:d{document}_{form}", limit=20)
            if k >= 20:
                times[name].append(perf_counter() - began)
                used[name] += process_time() - own
            answers.append([hit.as_dict() for hit in page.hits])
        differing += answers[0] != answers[1]
    for name, seconds in times.items():
        p50, p99 = (1e3 * float(np.quantile(seconds, share)) for share in (0.5, 0.99))
        print(
            f"  {form} {name:10} p50 {p50:6.2f} ms  p99 {p99:6.2f} ms  "
            f"processor {1e3 * used[name] / queries:6.2f} ms"
        )
    ratio = np.median(times["postgres"]) / np.median(times["sqlite"])
    print(f"  {form} {differing} of {queries + 20} answers differ (each store draws its own sample)")
    print(f"  {form} p50 of PostgreSQL: {ratio:.2f} times that of SQLite")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url")
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=500)
    given = parser.parse_args()
    server = None if given.url else Server(fsync=True)
    url = given.url or server.url(f"bench{os.getpid()}")
    with tempfile.TemporaryDirectory() as folder:
        stores = {"sqlite": Collection(f"{folder}/bench.neardup"), "postgres": Collection(url)}
        for name, collection in stores.items():
            print(name)
            load(collection, given.documents, server if name == "postgres" else None)
        for form in ("50_95", "20_80"):
            search(stores, form, given.documents, given.queries)
        for collection in stores.values():
            collection.close()


if __name__ == "__main__":
    main()
