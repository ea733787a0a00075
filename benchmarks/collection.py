"""A collection of a million documents: loading, adding, searching, its recall and its size.

    python benchmarks/collection.py CORPUS.parquet COLLECTION.neardup [SOURCE...] [--documents 1000000]
        [--writing] [--queries 1000] [--asked 40] [--complete 4] [--out benchmarks/results/collection.md]
    python benchmarks/collection.py CORPUS.parquet COLLECTION.neardup --short [--documents 1000000] [--queries 300]
    python benchmarks/collection.py CORPUS.parquet COLLECTION.neardup --tails [--queries 1000] [--warm 50]

CORPUS is made by recombined.py from the SOURCEs if it is not there, with 10 000 documents more, which are added
later. COLLECTION is loaded from it if it is not there; the rate of loading is kept next to it for later runs.
What is added here is removed again. Recall is counted against brute force: the shingles of --asked documents, of
those of overlap 100 of --complete, are looked for in every document of the corpus.

--writing measures the rates of loading and adding alone, and how long a document waits that is put while another
process adds 100 000.

--short measures FINGERPRINT:id, the form without numbers, alone: on documents of 60 words drawn from a vocabulary
by Zipf's law, of which a third begin with one header of 40 words, and a tenth repeat half of an earlier document.
Times are those of the querying thread.

--tails measures FINGERPRINT:id_20_80 and _50_95 after --warm queries, on documents of 300 to 600 words drawn
likewise: a tenth begin with one of 40 headers, so that thousands share just less or just more than a fifth.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import random
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time, sleep, thread_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numba import njit

import recombined
from neardup.collection import Collection
from neardup.collection.query import parse
from neardup.collection.query.plan import plan
from neardup.collection.search import Evaluation
from neardup.tables import Int64s, UInt64s
from neardup.text.sketch.documents import shingle_sets
from table import Report

SPARE, BATCHES, SINGLES, NEAR_BATCHES, WARM = 10_000, 40, 300, 20, 50
BESIDE = 100_000
"""Documents that another process adds while single ones are put."""
OVERLAPS, PROBABILITIES = (20, 50, 80), (80, 95, 100)
WANTED = {"50_95": "p50 ≤ 3, p99 ≤ 15", "20_80": "p99 ≤ 30"}
_FILTER = 24
SHORT, HEADER, VOCABULARY = 60, 40, 50_000
HEADERS, FEW_HITS, COMPARED = 40, 400, 400
TAILS = {"20_80": "p99 ≤ 30", "50_95": "p99 ≤ 6"}


def write_short(path: Path, n_documents: int) -> None:
    """Write short documents with ids d0, d1, …; those whose number is divisible by 3 begin with the header."""
    draw = np.random.default_rng(7)
    words = np.array([f"w{k:05}" for k in range(VOCABULARY)])
    weights = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    header = " ".join(f"header{k}" for k in range(HEADER))
    schema = pa.schema({"id": pa.string(), "text": pa.string()})
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, n_documents, 10_000):
            count = min(10_000, n_documents - first)
            drawn = np.searchsorted(weights, draw.random((count, SHORT)) * weights[-1])
            repeats = draw.random(count) < 0.1
            repeats[0] = False
            earlier = (draw.random(count) * np.arange(count)).astype(np.int64)
            drawn[repeats, : SHORT // 2] = drawn[earlier[repeats], : SHORT // 2]
            texts = [" ".join(row) for row in words[drawn].tolist()]
            ids = [f"d{first + k}" for k in range(count)]
            texts = [f"{header} {text}" if (first + k) % 3 == 0 else text for k, text in enumerate(texts)]
            writer.write_table(pa.table({"id": ids, "text": texts}, schema))


def write_headed(path: Path, n_documents: int) -> None:
    """Write documents of 300 to 600 words, ids d0, d1, …, of which a tenth share 40 headers of 60 to 110 words.

    A quarter are revisions of an earlier document of the same ten thousand, with .2 to 20 % of the words drawn
    anew; a tenth quote 10 to 90 % of one; a tenth begin with header k, with a weight of 1 / (k + 5).
    """
    draw = np.random.default_rng(7)
    weights = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    words = np.array(["".join(draw.choice(letters, 2 + int(np.log10(k + 1) * 1.6))) for k in range(VOCABULARY)])

    def drawn(count: int) -> Int64s:
        return np.searchsorted(weights, draw.random(count) * weights[-1])

    headers = [drawn(count) for count in draw.integers(60, 111, HEADERS)]
    shares = 1 / (np.arange(HEADERS) + 5)
    schema = pa.schema({"id": pa.string(), "text": pa.string()})
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, n_documents, 10_000):
            documents: list[Int64s] = []
            for kind in draw.random(min(10_000, n_documents - first)).tolist():
                earlier = documents[int(draw.integers(len(documents)))] if documents else drawn(300)
                if kind < 0.25:
                    document = earlier.copy()
                    changes = 1 + int(len(document) * 0.002 * 100 ** draw.random())
                    places = draw.integers(len(document), size=changes)
                    document[places] = drawn(len(places))
                else:
                    parts = [drawn(int(draw.integers(300, 601)))]
                    if kind < 0.35:
                        length = int(len(earlier) * draw.uniform(0.1, 0.9))
                        start = int(draw.integers(len(earlier) - length + 1))
                        parts = [earlier[start : start + length], parts[0][length:]]
                    if draw.random() < 0.1:
                        parts.insert(0, headers[int(draw.choice(HEADERS, p=shares / shares.sum()))])
                    document = np.concatenate(parts)[:600]
                documents.append(document)
            texts = [" ".join(words[document].tolist()) for document in documents]
            ids = [f"d{first + k}" for k in range(len(texts))]
            writer.write_table(pa.table({"id": ids, "text": texts}, schema=schema))


class Measurement:
    """One collection, its corpus, and the report."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.draw = given, random.Random(11)
        self.note = given.collection.with_suffix(".load.json")
        self.report = Report("Collections", f"{platform.machine()}, Python {platform.python_version()}")

    def load(self) -> None:
        """Make the missing files."""
        given = self.given
        if not given.corpus.exists() and given.short:
            write_short(given.corpus, given.documents)
        if not given.corpus.exists() and given.tails:
            write_headed(given.corpus, given.documents)
        if not given.corpus.exists():
            made = iter(recombined.Recombined(recombined.sources(given.sources)))
            recombined.write(given.corpus, made, given.documents + SPARE)
        if not given.collection.exists():
            with Collection(given.collection) as collection:
                collection.add(["compiles the kernels", "ä and their other half"])
                collection.remove(["#1", "#2"])
                began, used = perf_counter(), process_time()
                done = collection.add(self._first(), text="text", id="id")
                rate = {"seconds": perf_counter() - began, "processor": process_time() - used, "added": done.added}
            self.note.write_text(json.dumps(rate))

    def _first(self) -> pa.RecordBatchReader:
        """All documents of the corpus but the spare ones."""
        file = pq.ParquetFile(self.given.corpus)

        def batches() -> Iterator[pa.RecordBatch]:
            left = self.given.documents
            for batch in file.iter_batches(batch_size=10_000):
                if left > 0:
                    yield batch.slice(0, left)
                left -= len(batch)

        return pa.RecordBatchReader.from_batches(file.schema_arrow, batches())

    def spare(self) -> list[dict[str, str]]:
        """Documents that were not loaded."""
        file = pq.ParquetFile(self.given.corpus)
        groups = [
            file.read_row_group(k).to_pylist() for k in range(max(0, file.num_row_groups - 2), file.num_row_groups)
        ]
        return [row for rows in groups for row in rows][-SPARE:]

    def writing(self, collection: Collection) -> None:
        """Rates of loading and adding."""
        loaded = json.loads(self.note.read_text()) if self.note.exists() else None
        rows: list[list[object]] = []
        if loaded:
            each = 1e6 * loaded["processor"] / loaded["added"]
            rows.append(
                ["bulk load, documents/s", loaded["added"] / loaded["seconds"], "≥ 6 000", f"{each:.0f} µs"]
            )
        spare = iter(self.spare())
        before = len(collection)

        def add(count: int, **more: float) -> float:
            batch = [next(spare) for _ in range(count)]
            table = pa.table({"id": [f"new {row['id']}" for row in batch], "text": [row["text"] for row in batch]})
            began = perf_counter()
            collection.add(table, text="text", id="id", **more)
            return perf_counter() - began

        used = process_time()
        batches = [add(100) for _ in range(BATCHES)]
        used = (process_time() - used) / (100 * BATCHES)
        rate = 100 * BATCHES / sum(batches)
        rows.append([f"batches of 100, added to {before:,}, documents/s", rate, "≥ 1 000", f"{1e6 * used:.0f} µs"])
        rows.append(["… slowest batch, ms", 1e3 * max(batches), "", ""])
        singles = [add(1) for _ in range(SINGLES)]
        rows.append(["one document, durable, median ms", 1e3 * float(np.median(singles)), "≤ 5", ""])
        rows.append(["… 99th percentile, ms", 1e3 * float(np.quantile(singles, 0.99)), "", ""])
        add(100, near=0.8)
        used = process_time()
        near = [add(100, near=0.8) for _ in range(NEAR_BATCHES)]
        used = (process_time() - used) / (100 * NEAR_BATCHES)
        rate = 100 * NEAR_BATCHES / sum(near)
        name = "batches of 100, each asked what it repeats (near .8), documents/s"
        rows.append([name, rate, "≥ 2 000", f"{1e6 * used:.0f} µs"])
        rows.append(["… slowest batch, ms", 1e3 * max(near), "", ""])
        rows += self._beside(collection)
        new = [f"new {row['id']}" for row in self.spare()[: 100 * (BATCHES + 1 + NEAR_BATCHES) + SINGLES]]
        began = perf_counter()
        gone = collection.remove(new)
        rows.append(["remove, documents/s", gone / (perf_counter() - began), "", ""])
        self.report.table("Writing", ["", "measured", "wanted", "processor a document"], rows)

    def _beside(self, collection: Collection) -> list[list[object]]:
        """Times of single documents that are put while another process adds many; all are removed again."""
        waits: list[float] = []
        adding = multiprocessing.get_context("spawn").Process(
            target=add_again, args=(self.given.corpus, self.given.collection, BESIDE)
        )
        before = len(collection)
        adding.start()
        while len(collection) == before and adding.is_alive():
            sleep(0.01)
        while adding.is_alive():
            began = perf_counter()
            collection.put(f"beside {len(waits)}", f"a letter that comes in between, {len(waits)}")
            waits.append(perf_counter() - began)
            sleep(0.1)
        adding.join()
        done = len(collection) - before - len(waits)
        collection.remove([f"beside {k}" for k in range(len(waits))] + [f"again d{k}" for k in range(done)])
        name = f"one document while another process adds {done:,}, {len(waits):,} times, median ms"
        median, most = (1e3 * float(np.quantile(waits, q)) if waits else 0.0 for q in (0.5, 1))
        return [[name, median, "", ""], ["… slowest, ms", most, "≤ 1 000", ""]]

    def searching(self, collection: Collection) -> None:
        """Times of whole searches, the first page with its passages."""
        rows: list[list[object]] = []
        for numbers in ("50_95", "20_80", "80_95", "20_95"):
            times, used, found = [], [], []
            for k in range(WARM + self.given.queries):
                id = f"d{self.draw.randrange(self.given.documents)}"
                began, cpu = perf_counter(), process_time()
                page = collection.search(f'FINGERPRINT:"{id}"_{numbers}')
                if k >= WARM:
                    times.append(1e3 * (perf_counter() - began))
                    used.append(1e3 * (process_time() - cpu))
                    found.append(page.found or 0)
            quantiles = [float(np.quantile(times, q)) for q in (0.5, 0.9, 0.99, 1)]
            cpus = [float(np.quantile(used, q)) for q in (0.5, 0.99)]
            hits = [float(np.quantile(found, q)) for q in (0.5, 0.99)]
            rows.append([f"FINGERPRINT:id_{numbers}", *quantiles, *cpus, *hits, WANTED.get(numbers, "")])
        columns = ["query", "p50", "p90", "p99", "most", "processor p50", "p99", "found p50", "p99", "wanted"]
        note = f"Milliseconds over {self.given.queries:,} random documents; found: documents that fit."
        self.report.table("Searching", columns, rows, note)

    def plain(self, collection: Collection) -> None:
        """Times of the clause without numbers, of documents with the common header and of others."""
        rows: list[list[object]] = []
        for name, rest in (("without the header", 1), ("with the header", 0)):
            times, found = [], []
            for k in range(WARM + self.given.queries):
                id = f"d{3 * self.draw.randrange(self.given.documents // 3) + rest}"
                began = thread_time()
                page = collection.search(f'FINGERPRINT:"{id}"')
                if k >= WARM:
                    times.append(1e3 * (thread_time() - began))
                    found.append(page.found or 0)
            quantiles = [float(np.quantile(times, q)) for q in (0.5, 0.9, 0.99, 1)]
            rows.append([name, *quantiles, float(np.median(found)), "p50 ≤ 10"])
        columns = ["query document", "p50", "p90", "p99", "most", "found p50", "wanted"]
        note = (
            f"Milliseconds of processor time over {self.given.queries:,} random documents "
            f"among {self.given.documents:,}."
        )
        self.report.table("FINGERPRINT:id", columns, rows, note)

    def tails(self, collection: Collection) -> None:
        """Processor times of the slowest queries, of many candidates."""
        rows: list[list[object]] = []
        for numbers, compared in (("20_80", None), ("20_80", COMPARED), ("50_95", None)):
            used, everywhere, found = [], [], []
            for k in range(self.given.warm + self.given.queries):
                query = f'FINGERPRINT:"d{self.draw.randrange(self.given.documents)}"_{numbers}'
                own, both = thread_time(), process_time()
                page = collection.search(query, most_compared=compared)
                if k >= self.given.warm:
                    used.append(1e3 * (thread_time() - own))
                    everywhere.append(1e3 * (process_time() - both))
                    found.append(page.found or 0)
            quantiles = [float(np.quantile(used, q)) for q in (0.5, 0.9, 0.99, 1)]
            few = [time for time, hits in zip(everywhere, found, strict=True) if hits <= FEW_HITS]
            more = [float(np.quantile(times, 0.99)) for times in (everywhere, few)]
            bound = f", {compared} compared" if compared else ""
            rows.append([f"_{numbers}{bound}", *quantiles, *more, float(np.quantile(found, 0.99)), TAILS[numbers]])
        columns = ["query", "p50", "p90", "p99", "most", "p99 of all threads"]
        columns += [f"… at most {FEW_HITS} found", "found p99", "wanted"]
        note = (
            "Milliseconds of processor time, of the querying thread but for two columns, over "
            f"{self.given.queries:,} documents among {self.given.documents:,}, after {self.given.warm} others."
        )
        self.report.table("Many candidates below the overlap", columns, rows, note)

    def recall(self, collection: Collection) -> None:
        """The share that is found."""
        ids = sorted(self.draw.sample(range(self.given.documents), self.given.asked))
        began = perf_counter()
        sizes, shared, names = self._brute_force(collection, ids)
        note = f"Every document compared by brute force in {perf_counter() - began:.0f} s."
        rows: list[list[object]] = []
        for overlap in OVERLAPS:
            for probability in PROBABILITIES:
                asked = range(len(ids)) if probability < 100 else range(self.given.complete)
                true = found = false = 0
                promised, times = 1.0, []
                for k in asked:
                    fits = {int(n) for n in names[shared[k] * 100 >= overlap * sizes[k]]} - {int(names[ids[k]])}
                    began = perf_counter()
                    with collection.view() as view:
                        planned = plan(parse(f"FINGERPRINT:d{ids[k]}_{overlap}_{probability}"), view)
                        got = set(Evaluation(planned, view).documents().tolist())
                    times.append(1e3 * (perf_counter() - began))
                    promised = min(promised, planned.recall)
                    true, found, false = true + len(fits), found + len(got & fits), false + len(got - fits)
                rate = found / true if true else 1.0
                rows.append(
                    [f"_{overlap}_{probability}", len(asked), true, rate, promised, false, float(np.median(times))]
                )
        columns = ["query", "queries", "fit", "found", "promised at least", "false hits", "median ms"]
        self.report.table("Recall", columns, rows, note)

    def _brute_force(self, collection: Collection, ids: list[int]) -> tuple[Int64s, Int64s, Int64s]:
        """|A| of each query document, |A∩B| int32[query, document], and the numbers of the documents."""
        texts = [collection.get(f"d{k}").text for k in ids]
        sets = shingle_sets(
            pa.array(texts), np.arange(len(texts)), collection.settings.fingerprint, collection.settings.key
        )
        wanted, place = np.unique(sets.hashes, return_inverse=True)
        holders = np.zeros((len(ids), len(wanted)), np.bool_)
        holders[np.repeat(np.arange(len(ids)), np.diff(sets.offsets)), place] = True
        marked = np.zeros(1 << _FILTER, np.bool_)
        marked[(wanted & np.uint64((1 << _FILTER) - 1)).astype(np.int64)] = True
        shared = np.zeros((len(ids), self.given.documents), np.int32)
        begin = 0
        for batch in self._first():
            held = shingle_sets(
                batch.column("text"),
                np.arange(len(batch)),
                collection.settings.fingerprint,
                collection.settings.key,
            )
            _count(held.hashes, held.offsets, wanted, marked, holders, shared[:, begin : begin + len(batch)])
            begin += len(batch)
        numbers: list[int] = []
        for first in range(0, self.given.documents, 10_000):
            names = [f"d{k}" for k in range(first, min(first + 10_000, self.given.documents))]
            known = collection.store.numbers(names)
            numbers += [known[name] for name in names]
        return sets.sizes, shared, np.array(numbers, np.int64)

    def size(self, collection: Collection) -> None:
        """Bytes of each part of the file, a byte of text."""
        text = collection.info()["bytes"]["text"]
        signatures = collection.info()["bytes"]["signatures"]
        with sqlite3.connect(f"file:{self.given.collection}?mode=ro", uri=True) as connection:
            parts = dict(connection.execute("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name"))
        terms = sum(value for name, value in parts.items() if name.startswith("terms_"))
        sample = parts["postings"] + parts.get("segments", 0)
        rows = sum(value for name, value in parts.items() if "documents" in name) - signatures
        facts = sum(parts.get(name, 0) for name in ("facts", "keys"))
        index = terms + sample + rows + signatures + facts
        shown: list[list[object]] = [
            ["sampled shingles", sample / text, ""],
            ["signatures", signatures / text, ""],
            ["fingerprint: both", (sample + signatures) / text, "≤ 0.15"],
            ["full text: words", terms / text, ""],
            ["rows, ids, metadata", (rows + facts) / text, ""],
            ["all without the text", index / text, "≤ 0.25"],
            ["text, compressed", parts["texts"] / text, ""],
            ["file", self.given.collection.stat().st_size / text, ""],
        ]
        self.report.table("Size", ["part", "bytes a byte of text", "wanted"], shown)


def add_again(corpus: Path, path: Path, count: int) -> None:
    """Add the first documents of the corpus under other ids."""
    with Collection(path, wait=60) as collection:
        rows = pq.ParquetFile(corpus).iter_batches(batch_size=10_000, columns=["id", "text"])
        given = ({"id": f"again {row['id']}", "text": row["text"]} for batch in rows for row in batch.to_pylist())
        collection.add(islice(given, count), text="text", id="id")


@njit(cache=True, nogil=True)
def _count(
    hashes: UInt64s, offsets: Int64s, wanted: UInt64s, marked: object, holders: object, shared: object
) -> None:
    """Count each document's wanted shingles for every query that holds them."""
    low = np.uint64(marked.size - 1)
    for d in range(offsets.size - 1):
        for at in range(offsets[d], offsets[d + 1]):
            if marked[hashes[at] & low]:
                k = np.searchsorted(wanted, hashes[at])
                if k < wanted.size and wanted[k] == hashes[at]:
                    for q in range(holders.shape[0]):
                        shared[q, d] += holders[q, k]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("collection", type=Path)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--asked", type=int, default=40)
    parser.add_argument("--complete", type=int, default=4)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--writing", action="store_true")
    parser.add_argument("--tails", action="store_true")
    parser.add_argument("--warm", type=int, default=WARM)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "collection.md")
    given = parser.parse_args()
    measured = Measurement(given)
    measured.load()
    with Collection(given.collection) as collection:
        if given.short or given.tails:
            (measured.plain if given.short else measured.tails)(collection)
            measured.report.write(given.out)
            return
        if not given.writing:
            measured.size(collection)
            measured.searching(collection)
            measured.recall(collection)
        measured.writing(collection)
    measured.report.write(given.out)


if __name__ == "__main__":
    main()
