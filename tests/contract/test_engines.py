"""What every engine must do: one machine, and a cluster of a master and two workers, give the same answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import neardup as nd
from neardup.spark import components
from support import spark_cluster
from support.engine_cases import CASES, Case, documents, reference
from support.spark_cluster import Cluster, cluster, session

pytestmark = [
    pytest.mark.skipif(bool(spark_cluster.missing()), reason=spark_cluster.missing()),
    # Spark warns of pandas 3 and leaves sockets to the collector
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NOT_ON_SPARK = ("lost_units", "lost_passage")


class Tables(NamedTuple):
    """The tables of a result as sets of rows, and the counts that every engine makes."""

    pairs: set[Any]
    groups: set[Any]
    copies: set[Any]
    kept: set[Any]
    counts: dict[str, int]


class Started(NamedTuple):
    """The cluster, a session on it, and a folder."""

    cluster: Cluster
    spark: Any
    folder: Path


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    folder = tmp_path_factory.mktemp("spark")
    with cluster(folder) as running:
        spark = session(running.master, folder)
        try:
            yield Started(running, spark, folder)
        finally:
            spark.stop()


def rows_of(table: pa.Table) -> set[Any]:
    wanted = [name for name in table.column_names if name not in NOT_ON_SPARK]
    rows = [tuple(row.items()) for row in table.select(wanted).to_pylist()]
    assert len(set(rows)) == len(rows), "no row comes twice"
    return set(rows)


@cache
def on_one_machine(name: str) -> Tables:
    case = CASES[name]
    against = reference() if case.against else None
    found = nd.find(documents(), text="text", id="id", against=against, **case.settings)
    going = found.groups.filter(pa.compute.invert(found.groups["kept"]))["id"].to_pylist()
    aside = found.not_judged.filter(pa.compute.invert(found.not_judged["kept"]))["id"].to_pylist()
    kept = set(documents()["id"].to_pylist()) - {*going, *aside}
    counts = {one: found.run["counts"][one] for one in ("read", "pairs", "groups", "kept", "removed")}
    return Tables(rows_of(found.pairs), rows_of(found.groups), rows_of(found.copies), kept, counts)


def on_spark(spark: Any, case: Case, work: str | None = None) -> Tables:
    from neardup.spark import dedup

    against = spark.createDataFrame(reference()) if case.against else None
    made = dedup(
        spark.createDataFrame(documents()), text="text", id="id", against=against, work=work, **case.settings
    )
    tables = (rows_of(one.toArrow()) for one in (made.pairs, made.groups, made.copies))
    kept = made.kept.toArrow()
    assert kept.column_names == documents().column_names
    counts = {one: made.counts[one] for one in ("read", "pairs", "groups", "kept", "removed")}
    made.release()
    return Tables(*tables, set(kept["id"].to_pylist()), counts)


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_that_of_one_machine(started: Started, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if CASES[name].against:  # as if the edges did not fit in the driver
        monkeypatch.setattr(components, "IN_DRIVER", 0)
    work = str(started.folder / "work") if CASES[name].against else None
    found, expected = on_spark(started.spark, CASES[name], work), on_one_machine(name)
    assert found == expected
    assert found.pairs
    assert len(found.kept) < documents().num_rows


def test_a_worker_that_is_killed_changes_nothing(started: Started) -> None:
    case, found = CASES["lsh"], []
    work = str(started.folder / "killed")

    def run() -> None:
        found.append(on_spark(started.spark, case, work))

    job = threading.Thread(target=run)
    job.start()
    while not (Path(work) / "candidates" / "_SUCCESS").exists():
        assert job.is_alive()
        time.sleep(0.05)
    started.cluster.kill_a_worker()
    job.join()
    assert found == [on_one_machine("lsh")]
