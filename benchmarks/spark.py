"""Deduplication on one Spark cluster in four ways, by time, processor time, shuffled bytes and recall; the table
goes to benchmarks/results/spark.md.

    python benchmarks/spark.py CORPUS.parquet [--documents 20000] [--only neardup,mllib,recipe,join]
        [--rounds 1] [--master cluster]

CORPUS has the columns id and text (``benchmarks/recombined.py`` makes one). The cluster is a master and two
workers of one core on this machine, or any --master. The ways are

- *neardup*: ``neardup.spark.dedup`` at the threshold, by LSH, with pairs verified on shingle sets;
- *mllib*: Spark's own ``MinHashLSH`` on hashed 5-grams of words, and its ``approxSimilarityJoin``;
- *recipe*: the published script of text-dedup for Spark, written again from its description: MinHash signatures of
  256 values, bands as keys of a groupBy, each bucket a star of edges, connected components, no verification;
- *join*: the same signatures and bands as a DataFrame that is joined with itself: distinct pairs, no verification.

Processor time is that of the driver, its Java process, the workers and their Pythons together; where others use
the machine, it says more than seconds. Each round runs all ways, each in a session of its own; the least counts.

Recall is that of the pairs of an exact run on one machine. For the recipe, which makes no pairs, a pair counts as
found if both documents are in one component. Each way first runs on 200 documents, which does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import neardup as nd
from table import Report

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from support import spark_cluster  # noqa: E402

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


def band_keys(name: str, text: str) -> Iterator[tuple[tuple[int, bytes], str]]:
    """The bands of a MinHash signature as keys, with the name of the document."""
    draw = np.random.default_rng(42)
    a = draw.integers(1, PRIME, PERMUTATIONS, dtype=np.uint64)
    b = draw.integers(0, PRIME, PERMUTATIONS, dtype=np.uint64)
    words = [word for word in _TOKENS.split(text.lower()) if word]
    grams = {" ".join(words[k : k + LENGTH]) for k in range(max(1, len(words) - LENGTH + 1))}
    hashes = np.array([zlib.crc32(gram.encode()) for gram in grams], np.uint64)
    with np.errstate(over="ignore"):
        values = (hashes[:, None] * a + b) % np.uint64(PRIME) & np.uint64(0xFFFF_FFFF)
    least = values.min(axis=0)
    for band in range(BANDS):
        yield (band, least[band * ROWS : (band + 1) * ROWS].tobytes()), name


def recipe_way(df: Any) -> tuple[Pairs, str]:
    """Pairs of documents in one component."""

    def star(bucket: Iterable[str]) -> Iterator[tuple[str, str]]:
        names = sorted(bucket)
        for name in names[1:]:
            yield name, names[0]

    rows = df.select("id", "text").rdd.map(tuple)
    buckets = rows.flatMap(lambda row: band_keys(*row)).groupByKey()
    edges = buckets.flatMap(lambda bucket: star(bucket[1])).distinct().collect()
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


def join_way(df: Any) -> tuple[Pairs, str]:
    """Pairs of documents with a band in common."""

    def keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = zip(batch["id"].to_pylist(), batch["text"].to_pylist(), strict=True)
            made = [(band.to_bytes(1) + key, name) for row in rows for (band, key), name in band_keys(*row)]
            columns = zip(*made, strict=True) if made else ((), ())
            kinds = (pa.binary(), pa.string())
            arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
            yield pa.record_batch(arrays, ["key", "id"])

    bands = df.select("id", "text").mapInArrow(keys, "key binary, id string").cache()
    both = bands.selectExpr("key", "id as a").join(bands.selectExpr("key", "id as b"), "key").where("a < b")
    found = both.select("a", "b").distinct().toArrow()
    bands.unpersist()
    return _ordered(found["a"].to_pylist(), found["b"].to_pylist()), ""


WAYS: dict[str, Callable[[Any], tuple[Pairs, str]]] = {
    "neardup": neardup_way,
    "mllib": mllib_way,
    "recipe": recipe_way,
    "join": join_way,
}


def _ordered(a: Iterable[str], b: Iterable[str]) -> Pairs:
    return {(min(pair), max(pair)) for pair in zip(a, b, strict=True)}


class Measured(NamedTuple):
    """What a way took, and what it found."""

    seconds: float
    processor: float
    start: float  # seconds of processor time for a session and a run on WARM documents
    tasks: int
    stages: int
    sent: dict[str, int]  # bytes shuffled by job
    pairs: Pairs
    remarks: str


class Log(NamedTuple):
    """The event log of a session: bytes shuffled by description of the job, and ends of tasks and stages."""

    sent: dict[str, int]
    tasks: int
    stages: int

    @classmethod
    def of(cls, folder: Path) -> Log:
        """Read the log in a folder."""
        of_stage: dict[int, str] = {}
        sent: dict[str, int] = defaultdict(int)
        ends: Counter[str] = Counter()
        for path in sorted(one for one in folder.rglob("*") if one.is_file()):
            for line in path.read_text().splitlines():
                event = json.loads(line)
                ends[event["Event"]] += 1
                if event["Event"] == "SparkListenerJobStart":
                    about = event.get("Properties", {}).get("spark.job.description", "")
                    of_stage |= {number: about for number in event["Stage IDs"] if number not in of_stage}
                if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                    written = event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                    sent[of_stage.get(event["Stage ID"], "")] += written
        return cls(sent, ends["SparkListenerTaskEnd"], ends["SparkListenerStageCompleted"])


def processor_seconds() -> float:
    """User and system time of this process and of all below it, also of those that have ended."""
    ticks = 0
    for pid in (os.getpid(), *spark_cluster.children(os.getpid())):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(name: str, corpus: Path, documents: int, master: str) -> Measured:
    """One way in a session of its own."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        at = held.enter_context(spark_cluster.cluster(folder)).master if master == "cluster" else master
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
        conf |= {"spark.sql.shuffle.partitions": "4", "spark.driver.memory": "3g"}
        used = processor_seconds()
        spark = spark_cluster.session(at, folder, quick=False, **conf)
        try:
            df = spark.read.parquet(str(corpus)).limit(documents).repartition(4).cache()
            df.count()
            WAYS[name](df.limit(WARM))
            spark.sparkContext.setJobDescription("counted")
            before, start = Log.of(log), processor_seconds() - used
            began, used = time.perf_counter(), processor_seconds()
            pairs, remarks = WAYS[name](df)
            seconds, used = time.perf_counter() - began, processor_seconds() - used
        finally:
            spark.stop()
        after = Log.of(log)
    sent = {job: more for job, count in after.sent.items() if (more := count - before.sent.get(job, 0))}
    tasks, stages = after.tasks - before.tasks, after.stages - before.stages
    return Measured(seconds, used, start, tasks, stages, sent, pairs, remarks)


def alone(call: Callable[..., Measured], *given: object) -> Measured:
    """The result of a call in a process of its own: a second session would find its Java warm.

    It is forked, because the functions of this script go to the workers as those of the main module.
    """
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        return pool.submit(call, *given).result()


def main() -> None:
    """Measure the ways asked for and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--only", default=",".join(WAYS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--master", default="cluster")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "spark.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.parquet"
        table = pq.read_table(given.corpus, columns=["id", "text"]).slice(0, given.documents)
        table = table.set_column(0, "id", table["id"].cast(pa.string()))
        pq.write_table(table.set_column(1, "text", table["text"].cast(pa.string())), corpus)
        rounds = [
            {name: alone(measure, name, corpus, table.num_rows, given.master) for name in given.only.split(",")}
            for _ in range(given.rounds)
        ]
        began, used = time.perf_counter(), processor_seconds()
        exact = nd.find(table, text="text", id="id", threshold=THRESHOLD, method="exact")
        seconds, used = time.perf_counter() - began, processor_seconds() - used
        true = _ordered(exact.pairs["id_a"].to_pylist(), exact.pairs["id_b"].to_pylist())
        first = dict(zip(exact.copies["id"].to_pylist(), exact.copies["copy_of"].to_pylist(), strict=True))
        text_bytes = sum(len(text.encode()) for text in table["text"].to_pylist())
        report = Report("Spark", f"Python {platform.python_version()}, {given.master}")
        rows: list[tuple[object, ...]] = [("one machine, exact", seconds, used, 0, 0, 0, 0, len(true), 1.0, "")]
        jobs: list[tuple[object, ...]] = []
        for name in rounds[0]:
            made = min((one[name] for one in rounds), key=lambda one: one.processor)
            # of exact copies, another one may be the first on a cluster
            named = {(first.get(a, a), first.get(b, b)) for a, b in made.pairs}
            pairs = {(min(pair), max(pair)) for pair in named if pair[0] != pair[1]}
            recall = len(pairs & true) / max(1, len(true))
            spent = (made.seconds, made.processor, made.start, made.stages, made.tasks, sum(made.sent.values()))
            rows.append((name, *spent, len(pairs), recall, made.remarks))
            jobs += [
                (name, job or "counted", count, count / table.num_rows) for job, count in sorted(made.sent.items())
            ]
    about = f"{table.num_rows:,} documents, {text_bytes:,} bytes of text, threshold {THRESHOLD}, "
    about += f"rounds: {given.rounds}"
    columns = ("way", "seconds", "processor", "start", "stages", "tasks", "shuffled", "pairs", "recall", "remarks")
    report.table("Four ways on one cluster", columns, rows, about)
    report.table("Bytes shuffled by stage", ("way", "stage", "bytes", "bytes a document"), jobs)
    report.write(given.out)


if __name__ == "__main__":
    main()
