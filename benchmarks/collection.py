"""How fast a collection takes documents in, and how large it gets.

    python benchmarks/collection.py DOCUMENTS.jsonl... [--documents 20000] [--bytes 3000] [--scale N ...]

Documents are made of paragraphs of real ones, drawn at random (a fixed seed), so that shingles recur as they do in
practice. Prints one row a measurement. Loading is one call of ``add`` on a Parquet file.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.collection import Collection
from neardup.text import tokens

PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
BATCHES, SINGLES, LOOKUPS = 20, 300, 500


def paragraphs(files: list[Path]) -> list[str]:
    """All paragraphs of more than 80 characters of JSONL files with a field text."""
    texts = (json.loads(line)["text"] for file in files for line in file.open(encoding="utf-8"))
    return [part for text in texts for part in PARAGRAPH_END.split(text) if len(part) > 80]


def documents(parts: list[str], least: int) -> Iterator[str]:
    """Endless documents of at least ``least`` characters."""
    draw = random.Random(1)
    while True:
        chosen, size = [], 0
        while size < least:
            chosen.append(draw.choice(parts))
            size += len(chosen[-1]) + 2
        yield "\n\n".join(chosen)


def write(path: Path, made: Iterator[str], count: int) -> int:
    """A Parquet file of ``count`` documents named 0, 1, 2 …; their bytes."""
    schema = pa.schema([("id", pa.string()), ("text", pa.large_string())])
    total = 0
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, count, 10_000):
            texts = [next(made) for _ in range(min(10_000, count - begin))]
            total += sum(len(text.encode()) for text in texts)
            ids = [str(begin + place) for place in range(len(texts))]
            writer.write_table(pa.table({"id": ids, "text": texts}, schema=schema))
    return total


def rate(work: Callable[[], int], what: str) -> None:
    """Print how many documents a second, and the processor time of one."""
    began, used = perf_counter(), process_time()
    count = work()
    wall, used = perf_counter() - began, process_time() - used
    print(f"{what:34s}{count / wall:10,.0f} documents/s{1e6 * used / count:10.0f} µs of processor each")


def delay(work: Callable[[int], object], count: int, what: str) -> None:
    """Print the median and the 99th percentile of the time of one call."""
    times = []
    for number in range(count):
        began = perf_counter()
        work(number)
        times.append(perf_counter() - began)
    print(f"{what:34s}{1e3 * np.median(times):10.3f} ms median{1e3 * np.quantile(times, 0.99):10.3f} ms p99")


def measure(collection: Collection, source: Path, made: Iterator[str], count: int) -> None:
    """All measurements of one collection."""

    def batch(name: str, size: int) -> int:
        ids = [f"{name}.{place}" for place in range(size)]
        return collection.add(pa.table({"id": ids, "text": [next(made) for _ in ids]})).added

    collection.add(["compiles the kernels", "ä and their other half"])
    rate(lambda: collection.add(source).added, "load")
    rate(lambda: sum(batch(f"b{number}", 100) for number in range(BATCHES)), "batches of 100")
    delay(lambda number: batch(f"s{number}", 1), SINGLES, "one document, durable")
    asked = [tokens(collection.get(str(number * 7 % count)).text) for number in range(LOOKUPS)]
    delay(lambda number: collection.get(str(number * 7 % count)), LOOKUPS, "get")
    delay(lambda number: collection.store.containing(asked[number][7:12]), LOOKUPS, "five words in a row")
    hashes = [collection.settings.sample.of(" ".join(words)).hashes[:8] for words in asked]
    delay(lambda number: collection.store.holding(hashes[number]), LOOKUPS, "eight sampled shingles")
    rate(lambda: collection.remove(f"b{n}.{k}" for n in range(BATCHES) for k in range(100)), "remove")
    size = collection.info()["bytes"]
    shares = (f"{name} {size[name] / size['text']:.3f}" for name in ("file", "text_packed", "signatures"))
    print(f"bytes a byte of text: {', '.join(shares)}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--bytes", type=int, default=3000, dest="least")
    parser.add_argument("--scale", type=int, default=32)
    given = parser.parse_args()
    made = documents(paragraphs(given.files), given.least)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in.parquet")
        total = write(source, made, given.documents)
        print(f"{given.documents:,} documents of {total / given.documents:,.0f} bytes, scale {given.scale}")
        with Collection(Path(folder, "made.neardup"), scale=given.scale) as collection:
            measure(collection, source, made, given.documents)


if __name__ == "__main__":
    main()
