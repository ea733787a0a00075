"""Deduplication on one Spark cluster in three ways, by time, shuffled bytes and recall; the table goes to
benchmarks/results/spark.md.

    python benchmarks/spark.py CORPUS.parquet [--documents 20000] [--only neardup,mllib,recipe] [--master cluster]

CORPUS has the columns id and text (``benchmarks/recombined.py`` makes one). The cluster is a master and two
workers of one core on this machine, or any --master. The ways are

- *neardup*: ``neardup.spark.dedup`` at the threshold, by LSH, with pairs verified on shingle sets;
- *mllib*: Spark's own ``MinHashLSH`` on hashed 5-grams of words, and its ``approxSimilarityJoin``;
- *recipe*: the published script of text-dedup for Spark, written again from its description: MinHash signatures of
  256 values, bands as keys of a groupBy, each bucket a star of edges, connected components, no verification.

Recall is that of the pairs of an exact run on one machine. For the recipe, which makes no pairs, a pair counts as
found if both documents are in one component. Each way first runs on 200 documents, which does not count.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import neardup as nd
from table import Report

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

THRESHOLD, LENGTH = 0.8, 5
HASH_TABLES = 3
"""With one hash a table, three tables find a pair at .8 with probability .992."""
PERMUTATIONS, BANDS, ROWS = 256, 25, 10
"""The recipe's optimal parameters for its default of 256 permutations at about .7."""
PRIME = (1 << 61) - 1
WARM = 200
_TOKENS = re.compile(r"\W+")

Pairs = set[tuple[str, str]]


def neardup_way(df: Any) -> tuple[Pairs, str]:
    """Pairs, and the seconds of the stages."""
    from neardup.spark import dedup

    made = dedup(df, text="text", id="id", threshold=THRESHOLD, method="lsh")
    made.kept.count()
    found = made.pairs.select("id_a", "id_b").toArrow()
    stages = ", ".join(f"{name} {spent:.1f}" for name, spent in made.job.seconds.items())
    made.release()
    return _ordered(found["id_a"].to_pylist(), found["id_b"].to_pylist()), f"{made.counts}; seconds: {stages}"


def mllib_way(df: Any) -> tuple[Pairs, str]:
    """Pairs of approxSimilarityJoin."""
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer

    tokens = RegexTokenizer(inputCol="text", outputCol="tokens", pattern=r"\W+").transform(df)
    grams = NGram(n=LENGTH, inputCol="tokens", outputCol="grams").transform(tokens).where("size(grams) > 0")
    vectors = HashingTF(inputCol="grams", outputCol="features", numFeatures=1 << 20, binary=True).transform(grams)
    vectors = vectors.select("id", "features").cache()
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=HASH_TABLES, seed=1).fit(vectors)
    joined = model.approxSimilarityJoin(vectors, vectors, 1 - THRESHOLD + 1e-9).where("datasetA.id < datasetB.id")
    found = joined.selectExpr("datasetA.id as a", "datasetB.id as b").toArrow()
    vectors.unpersist()
    return _ordered(found["a"].to_pylist(), found["b"].to_pylist()), f"{HASH_TABLES} tables"


def recipe_way(df: Any) -> tuple[Pairs, str]:
    """Pairs of documents in one component."""
    draw = np.random.default_rng(42)
    a = draw.integers(1, PRIME, PERMUTATIONS, dtype=np.uint64)
    b = draw.integers(0, PRIME, PERMUTATIONS, dtype=np.uint64)

    def keys(row: tuple[str, str]) -> Iterator[tuple[tuple[int, bytes], str]]:
        name, text = row
        words = [word for word in _TOKENS.split(text.lower()) if word]
        grams = {" ".join(words[k : k + LENGTH]) for k in range(max(1, len(words) - LENGTH + 1))}
        hashes = np.array([zlib.crc32(gram.encode()) for gram in grams], np.uint64)
        with np.errstate(over="ignore"):
            values = (hashes[:, None] * a + b) % np.uint64(PRIME) & np.uint64(0xFFFF_FFFF)
        least = values.min(axis=0)
        for band in range(BANDS):
            yield (band, least[band * ROWS : (band + 1) * ROWS].tobytes()), name

    def star(bucket: Iterable[str]) -> Iterator[tuple[str, str]]:
        names = sorted(bucket)
        for name in names[1:]:
            yield name, names[0]

    rows = df.select("id", "text").rdd.map(tuple)
    edges = rows.flatMap(keys).groupByKey().flatMap(lambda item: star(item[1])).distinct().collect()
    root: dict[str, str] = {}

    def top(name: str) -> str:
        while root.setdefault(name, name) != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for x, y in edges:
        low, high = sorted((top(x), top(y)))
        root[high] = low
    members = defaultdict(list)
    for name in root:
        members[top(name)].append(name)
    found = {(x, y) for names in members.values() for y in names for x in names if x < y}
    return found, f"{len(members):,} components, the largest of {max(map(len, members.values()), default=0):,}"


WAYS: dict[str, Callable[[Any], tuple[Pairs, str]]] = {
    "neardup": neardup_way,
    "mllib": mllib_way,
    "recipe": recipe_way,
}


def _ordered(a: Iterable[str], b: Iterable[str]) -> Pairs:
    return {(min(pair), max(pair)) for pair in zip(a, b, strict=True)}


def shuffled(folder: Path) -> dict[str, int]:
    """The shuffled bytes of each job by its description, from the event log in a folder."""
    of_stage: dict[int, str] = {}
    bytes_of: dict[str, int] = defaultdict(int)
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart":
                about = event.get("Properties", {}).get("spark.job.description", "")
                of_stage |= {number: about for number in event["Stage IDs"] if number not in of_stage}
            if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                written = event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                bytes_of[of_stage.get(event["Stage ID"], "")] += written
    return dict(bytes_of)


def measure(name: str, corpus: Path, documents: int, master: str) -> tuple[float, dict[str, int], Pairs, str]:
    """Seconds, shuffled bytes, pairs and remarks of one way."""
    from support.spark_cluster import cluster, session

    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        at = held.enter_context(cluster(folder)).master if master == "cluster" else master
        log = folder / "events"
        log.mkdir()
        conf = {
            f"spark.eventLog.{key}": value
            for key, value in (
                ("enabled", "true"),
                ("dir", log.as_uri()),
                ("compress", "false"),
                ("rolling.enabled", "false"),
            )
        }
        spark = session(at, folder, quick=False, **conf, **{"spark.sql.shuffle.partitions": "4"})
        try:
            df = spark.read.parquet(str(corpus)).limit(documents).repartition(4).cache()
            df.count()
            WAYS[name](df.limit(WARM))
            spark.sparkContext.setJobDescription("counted")
            before = shuffled(log)
            began = time.perf_counter()
            pairs, remarks = WAYS[name](df)
            spent = time.perf_counter() - began
        finally:
            spark.stop()
        after = {job: count - before.get(job, 0) for job, count in shuffled(log).items()}
    return spent, {job: count for job, count in after.items() if count}, pairs, remarks


def main() -> None:
    """Measure the ways asked for and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--only", default=",".join(WAYS))
    parser.add_argument("--master", default="cluster")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "spark.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.parquet"
        table = pq.read_table(given.corpus, columns=["id", "text"]).slice(0, given.documents)
        table = table.set_column(0, "id", table["id"].cast(pa.string()))
        pq.write_table(table.set_column(1, "text", table["text"].cast(pa.string())), corpus)
        began = time.perf_counter()
        exact = nd.find(table, text="text", id="id", threshold=THRESHOLD, method="exact")
        alone = time.perf_counter() - began
        true = _ordered(exact.pairs["id_a"].to_pylist(), exact.pairs["id_b"].to_pylist())
        first = dict(zip(exact.copies["id"].to_pylist(), exact.copies["copy_of"].to_pylist(), strict=True))
        text_bytes = sum(len(text.encode()) for text in table["text"].to_pylist())
        report = Report("Spark", f"Python {platform.python_version()}, {given.master}")
        rows: list[tuple[object, ...]] = [("one machine, exact", alone, 0, len(true), 1.0, "")]
        jobs: list[tuple[object, ...]] = []
        for name in given.only.split(","):
            spent, sent, pairs, remarks = measure(name, corpus, table.num_rows, given.master)
            # of exact copies, another one may be the first on a cluster
            named = {(first.get(a, a), first.get(b, b)) for a, b in pairs}
            pairs = {(min(pair), max(pair)) for pair in named if pair[0] != pair[1]}
            recall = len(pairs & true) / max(1, len(true))
            rows.append((name, spent, sum(sent.values()), len(pairs), recall, remarks))
            jobs += [
                (name, job or "counted", count, count / table.num_rows) for job, count in sorted(sent.items())
            ]
    about = f"{table.num_rows:,} documents, {text_bytes:,} bytes of text, threshold {THRESHOLD}; one run each"
    columns = ("way", "seconds", "bytes shuffled", "pairs", "recall", "remarks")
    report.table("Three ways on one cluster", columns, rows, about)
    report.table("Bytes shuffled by stage", ("way", "stage", "bytes", "bytes a document"), jobs)
    report.write(given.out)


if __name__ == "__main__":
    main()
