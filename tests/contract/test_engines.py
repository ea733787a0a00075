"""What every engine must do: one machine, and a cluster of a master and two workers, give the same answer."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.run.copy_differences import NO_TEXTS
from neardup.errors import OutputError
from neardup.spark import decontaminate, decontamination, groups
from neardup.spark.dedup import dedup_files
from neardup.spark.files import opened, require_new, write
from support import spark_cluster
from support.command_line import Result, Run, exit_status, run_json
from support.engine_cases import CASES, Case, documents, lines, reference
from support.made_columns import bystanders
from support.messages import assert_refused, has_parts
from support.spark_cluster import Cluster, cluster, session

pytestmark = [
    pytest.mark.skipif(bool(spark_cluster.missing()), reason=spark_cluster.missing()),
    # Spark warns of pandas 3 and leaves sockets to the collector
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NOTICE = "the harbour office is closed on Friday because of the storm"
COUNTS = ("read", "pairs", "groups", "kept", "removed")
NOT_ON_SPARK = ("lost_units", "lost_passage", "difference")
UNNAMED = f"same words, other characters ({NO_TEXTS})"
DIFFERENCE = re.compile("same words; .*” there")
"""The first difference of an exact copy, for which a run on one machine reads its text again."""


class Tables(NamedTuple):
    """The tables of a result as sets of rows, and the counts that every engine makes."""

    pairs: set[Any]
    groups: set[Any]
    copies: set[Any]
    kept: set[Any]
    counts: dict[str, int]

    def differences(self, other: Tables) -> dict[str, list[str]]:
        """A few rows of each table that only one has: to compare them line by line takes pytest minutes."""
        sides = zip(self._fields, self, other, strict=True)
        unlike = {name: (set(one), set(two)) for name, one, two in sides if one != two}
        counts = [str(self.counts), str(other.counts)]
        return {
            name: counts if name == "counts" else sorted(map(str, one ^ two))[:4]
            for name, (one, two) in unlike.items()
        }


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


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def typed(*arguments: object) -> Result:
        status = exit_status(*arguments)
        printed = capsys.readouterr()
        return Result(status, printed.out, printed.err)

    return typed


def rows_of(table: pa.Table) -> set[Any]:
    wanted = [name for name in table.column_names if name not in NOT_ON_SPARK]
    if "reason" in wanted:
        reasons = [DIFFERENCE.sub(UNNAMED, one) for one in table["reason"].to_pylist()]
        table = table.set_column(table.column_names.index("reason"), "reason", pa.array(reasons, pa.string()))
    rows = [tuple(row.items()) for row in table.select(wanted).to_pylist()]
    assert len(set(rows)) == len(rows), "no row comes twice"
    return set(rows)


@cache
def on_one_machine(case: str) -> Tables:
    settings, against = CASES[case]
    old = reference() if against else None
    found = nd.find(documents(), text="text", id="id", against=old, **settings)
    gone = {*_not_kept(found.groups), *_not_kept(found.not_judged)}
    counts = {one: getattr(found.run.counts, one) for one in COUNTS}
    kept = set(documents()["id"].to_pylist()) - gone
    return Tables(rows_of(found.pairs), rows_of(found.groups), rows_of(found.copies), kept, counts)


def _not_kept(table: pa.Table) -> list[str]:
    return [row["id"] for row in table.select(["id", "kept"]).to_pylist() if not row["kept"]]


def on_spark(spark: Any, case: Case, work: str | None = None) -> Tables:
    from neardup.spark import dedup

    against = spark.createDataFrame(reference()) if case.against else None
    made = dedup(
        spark.createDataFrame(documents()), text="text", id="id", against=against, work=work, **case.settings
    )
    tables = (rows_of(one.toArrow()) for one in (made.pairs, made.groups, made.copies))
    kept = made.kept.toArrow()
    assert kept.column_names == documents().column_names
    counts = {one: made.counts[one] for one in COUNTS}
    made.release()
    return Tables(*tables, set(kept["id"].to_pylist()), counts)


def test_the_answer_is_that_of_one_machine(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "IN_DRIVER", 0)  # as if the edges did not fit in the driver
    found, expected = on_spark(started.spark, CASES["against"]), on_one_machine("against")
    assert not found.differences(expected)
    assert len(found.kept) < documents().num_rows


def test_the_command_writes_the_answer_of_one_machine(started: Started, run: Run) -> None:
    folder, out = started.folder, started.folder / "out"
    files = [folder / "a.jsonl", folder / "b.jsonl"]
    for file, of_file in zip(files, lines(), strict=True):
        file.write_text("".join(of_file))
    settings = [f"--{name}={value}" for name, value in CASES["by the command"].settings.items()]
    command = ("dedup", *files, "--engine", "spark", "--master", started.cluster.master, "-o", out, "--json")
    made = run(*command, *settings)
    assert made.status == 1, "a line is rejected"
    account, expected = json.loads(made.out), on_one_machine("by the command")
    tables = (rows_of(pq.read_table(out / name)) for name in ("pairs", "groups", "copies"))
    written = [line for part in (out / "kept").glob("part-*") for line in part.read_text().splitlines()]
    counts = {one: account["counts"][one] for one in COUNTS}
    made_there = Tables(*tables, {json.loads(line)["id"] for line in written}, counts)
    assert not made_there.differences(expected)
    assert set(written) <= {line.rstrip("\n") for of_file in lines() for line in of_file}
    assert account["counts"]["rejected"] == 1
    assert sorted(one.name for one in out.iterdir() if one.suffix != ".crc") == [
        "copies", "groups", "kept", "pairs", "run.json"
    ]  # fmt: skip
    again = run(*command, *settings)
    assert again.status == 2
    assert "exists already" in again.err


@pytest.fixture
def with_items(started: Started, tmp_path: Path) -> tuple[Path, Path]:
    """Training documents in two files, some with test items, one without text; and the test set."""
    items = [" ".join(f"item{k}word{n}" for n in range(20)) for k in range(5)]
    test = tmp_path / "test.jsonl"
    test.write_text("".join(json.dumps({"question": item}) + "\n" for item in items))
    texts = [f"before {items[k % 5]} é after {k}" if k % 3 == 0 else f"own text {k} " * 9 for k in range(40)]
    train = tmp_path / "train"
    train.mkdir()
    for part, some in enumerate(([*texts[:25], None], texts[25:])):
        ids = [f"{part}-{k}" for k in range(len(some))]
        pq.write_table(pa.table({"id": ids, "text": pa.array(some, pa.string())}), train / f"{part}.parquet")
    return train, test


def test_test_items_are_found_as_on_one_machine(
    started: Started, run: Run, with_items: tuple[Path, Path], tmp_path: Path
) -> None:
    train, test = with_items
    one = nd.decontaminate(train, against=test, id="id")
    assert one.contaminated == 14
    frame = started.spark.read.parquet(str(train))
    result = decontaminate(frame, text="text", id="id", against=test)
    places = ["source", "row"]
    order = [("id", "ascending"), ("item", "ascending")]
    expected = one.matches.drop_columns(places).sort_by(order)
    assert result.matches.drop_columns(places).sort_by(order).equals(expected)
    assert result.phrases.equals(one.phrases)
    kept = {row["id"] for row in result.kept.collect()}
    gone = set(one.matches["id"].to_pylist())
    assert kept == {row["id"] for row in frame.collect()} - gone
    command = ("decontaminate", train, "--against", test, "--engine", "spark", "-o", tmp_path / "out")
    written = run(*command, "--master", started.cluster.master, "--json")
    assert written.status == 0, written.err
    assert json.loads(written.out)["counts"]["matches"] == one.matches.num_rows
    assert set(pq.read_table(tmp_path / "out" / "kept")["id"].to_pylist()) == kept
    assert pq.read_table(tmp_path / "out" / "matches").num_rows == one.matches.num_rows
    for wrong in (["--tag", "--cut"], ["--marker", "x"], ["--threads", "1"]):
        assert run(*command, *wrong, "--overwrite").status == 2
    assert run("decontaminate", train, "--against", test, "-o", "x", "--master", "local[1]").status == 2


@pytest.mark.parametrize("action", ["--tag", "--cut", "--drop", "--report-only"])
@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_rows_with_test_items_are_written_as_on_one_machine(
    started: Started, run: Run, with_items: tuple[Path, Path], tmp_path: Path, suffix: str, action: str
) -> None:
    train, test = with_items
    given = sorted(train.iterdir())
    if suffix == "jsonl":
        rows = [pq.read_table(file).to_pylist() for file in given]
        given = [file.with_suffix(".jsonl") for file in given]
        for file, some in zip(given, rows, strict=True):
            file.write_text("".join(json.dumps({"n": 1, **row, "z": [1, {}]}) + "\n" for row in some))
    command = ("decontaminate", *given, "--against", test, "--id", "id", action)
    assert run(*command, "-o", tmp_path / "one").status == 0
    spark = ("--engine", "spark", "--master", started.cluster.master)
    assert run(*command, *spark, "-o", tmp_path / "many").status == 0
    outs = [tmp_path / "one", tmp_path / "many"]
    kept, written = (_rows_written(out, suffix) for out in outs)
    assert written == kept
    assert len(kept) == {"--drop": 41 - 14, "--report-only": 0}.get(action, 41)
    for name in ("matches", "common", "common_shingles", *(["cuts"] if action == "--cut" else [])):
        one, many = pq.read_table(outs[0] / f"{name}.parquet"), pq.read_table(outs[1] / name)
        rows, others = one.to_pylist(), many.to_pylist()
        for row in (*rows, *others):  # Spark names files by their URLs
            row |= {"source": row["source"].rpartition("/")[2]} if "source" in row else {}
        if suffix == "jsonl":  # the number of a line is known to a local run alone
            rows, others = (
                [{**row, "row": 0} if "row" in row else row for row in some] for some in (rows, others)
            )
        assert sorted(map(str, others)) == sorted(map(str, rows))
    one_page, page = (re.findall("<h[1-6].*?</h", (out / "report.html").read_text(), re.DOTALL) for out in outs)
    assert page == one_page
    assert sum(" contains " in heading for heading in page) == 5, "the strongest match of each item"
    accounts = [run_json(out) for out in outs]
    same = ("counts", "rules", "test_sets", "action", *(["marker", "cuts"] if action == "--cut" else []))
    assert all(accounts[0][name] == accounts[1][name] for name in same)
    assert [one["documents"] for one in accounts[1]["sources"]] == [9, 5]


def _rows_written(out: Path, suffix: str) -> list[str]:
    """The kept rows, or the lines of JSON, in an order of their own."""
    if suffix == "jsonl":
        files = [*out.glob("kept*.jsonl"), *out.glob("kept/*.jsonl"), *out.glob("kept/part-*")]
        return sorted(line for file in files for line in file.read_text().splitlines())
    tables = [pq.read_table(file) for file in (*out.glob("kept*.parquet"), *out.glob("kept/*.parquet"))]
    return sorted(str(row) for table in tables for row in table.to_pylist())


def test_rows_of_a_frame_are_tagged_and_cut(started: Started, with_items: tuple[Path, Path]) -> None:
    train, test = with_items
    frame = started.spark.read.parquet(str(train))
    contaminated = set(nd.decontaminate(train, against=test, id="id").matches["id"].to_pylist())
    given = {"text": "text", "id": "id", "against": test}
    tagged = decontaminate(frame, **given, action="tag").kept.toArrow().to_pylist()
    assert {row["id"] for row in tagged if row["contaminated_by"] == [str(test)]} == contaminated
    result = decontaminate(frame, **given, action="cut", marker="#")
    texts = {row["id"]: row["text"] for row in result.kept.toArrow().to_pylist()}
    assert {id for id, text in texts.items() if text and "#" in text} == contaminated
    assert texts["0-0"] == "before # é after 0"
    assert result.cuts.num_rows == len(contaminated)
    result.release()
    with pytest.raises(OutputError, match="contaminated_by"):
        decontaminate(frame.withColumnRenamed("id", "contaminated_by"), text="text", id="contaminated_by",
                      against=test, action="tag")  # fmt: skip


def killed_at_first(name: str) -> Any:
    """A task of ``decontaminate`` whose process kills itself in the first attempt, with half of its work done."""

    def task(*given: Any) -> Iterator[Any]:  # on the executors, which have none of the tests
        import os
        import signal

        from pyspark import TaskContext

        from neardup.spark import decontamination

        work = getattr(decontamination, name)(*given)
        yield next(work)
        if not TaskContext.get().attemptNumber():
            os.kill(os.getpid(), signal.SIGKILL)
        yield from work

    return task


def test_a_killed_task_of_decontaminate_is_done_again(
    started: Started, with_items: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    train, test = with_items
    frame = started.spark.read.parquet(str(train)).repartition(3).cache()
    one = decontaminate(frame, text="text", id="id", against=test, action="cut", marker="#")
    for name in ("_scanned", "_cut_texts"):
        monkeypatch.setattr(decontamination, name, killed_at_first(name))
    again = decontaminate(frame, text="text", id="id", against=test, action="cut", marker="#")
    assert rows_of(again.kept.toArrow()) == rows_of(one.kept.toArrow())
    assert again.kept.count() == frame.count()
    assert again.matches.drop_columns(["row"]).to_pylist() == one.matches.drop_columns(["row"]).to_pylist()
    assert again.cuts.num_rows == one.cuts.num_rows


def all_types(folder: Path) -> pa.Table:
    """A column of each type that Arrow writes to Parquet and Spark carries, by odd names, beside near copies."""
    words = [" ".join(f"{name}{k}" for k in range(60)) for name in ("word", "other", "third")]
    texts = [words[0], words[1], words[0], words[2], f"{words[0]} end", None]
    table: dict[str, Any] = {"id": [f"i.{k}" for k in range(len(texts))], "text": texts}
    for name, column in bystanders(len(texts)).items():
        with suppress(pa.ArrowNotImplementedError):
            pq.write_table(pa.table({name: column}), pa.BufferOutputStream())
            table[name] = column
    assert len(table) > 70
    refused = [name for name in table if "decimal256" in name]
    for name in refused:  # more digits than Spark has
        path = folder / "refused.parquet"
        pq.write_table(pa.table({"id": ["a"], "text": ["b"], name: table.pop(name)[:1]}), path)
    assert len(refused) == 1
    return pa.table(table).replace_schema_metadata({"made": "by a test"})


def test_the_documented_command_keeps_all_types_and_logs_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process, with the documented pattern: its log once was the stack trace of a warning."""
    monkeypatch.chdir(tmp_path)
    table = all_types(tmp_path)
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "a [1].parquet"
    pq.write_table(table, file, compression="zstd")
    command = [sys.executable, "-m", "neardup", "dedup", "data/*.parquet", "--engine", "spark", "-o", "out"]
    command += ["--master", "local[1]", "--method", "lsh"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("written")
    assert run("dedup", file, "-o", "one", "--method", "lsh").status == 0
    local = pq.ParquetFile(tmp_path / "one" / "kept.parquet")
    (part,) = map(pq.ParquetFile, (tmp_path / "out" / "kept").glob("*.parquet"))
    assert part.schema_arrow.equals(local.schema_arrow, check_metadata=True)
    assert part.schema.equals(local.schema)
    codecs = [part.metadata.row_group(0).column(k).compression for k in range(part.metadata.num_columns)]
    assert {*codecs} == {"ZSTD"}
    kept, expected = (one.read() for one in (part, local))
    for name in table.column_names:
        assert kept[name].to_pylist() == expected[name].to_pylist(), name
    refused = run("dedup", tmp_path / "refused.parquet", "--engine", "spark", "-o", tmp_path / "other")
    assert refused.status == 2
    assert has_parts(refused.err, '"decimal256(50, 3)"', "up to 38 digits", "without --engine")
    assert not (tmp_path / "other").exists()


def require_refused(started: Started, path: Path, *parts: str) -> None:
    with pytest.raises(nd.InputError) as caught:
        opened(started.spark, [str(path)], None, None)
    assert has_parts(str(caught.value), *parts)


def test_timestamps_of_spark_stay_as_spark_writes_them(started: Started, tmp_path: Path) -> None:
    """INT96, beyond the years of nanoseconds too; of another program they may have more than Spark reads."""
    times = "timestamp'2020-01-01 00:00:00.123456' t, array(timestamp'9999-01-01', timestamp'0050-01-01') l"
    path = tmp_path / "lang=de"
    started.spark.sql(f"select 'x' id, 'words' text, {times}").write.parquet(str(path))
    given = opened(started.spark, [str(tmp_path)], None, None)
    write(given.table, {}, f"{tmp_path}/out", given, False, {})
    tables = [pq.read_table(one, coerce_int96_timestamp_unit="us") for one in (path, tmp_path / "out" / "kept")]
    assert tables[1].to_pylist() == [row | {"lang": "de"} for row in tables[0].to_pylist()]
    (part,) = (tmp_path / "out" / "kept").glob("*.parquet")
    assert [pq.ParquetFile(part).schema.column(k).physical_type for k in (2, 3)] == ["INT96", "INT96"]
    write(given.table.where("false"), {}, f"{tmp_path}/empty", given, False, {})
    assert pq.read_table(tmp_path / "empty" / "kept").schema.equals(pq.read_schema(part))
    other, mixed = tmp_path / "other.parquet", tmp_path / "mixed"
    frame = pa.table({"id": ["x"], "text": ["words"], "t": pa.array([1], pa.timestamp("ns"))})
    pq.write_table(frame, other, use_deprecated_int96_timestamps=True)
    require_refused(started, other, "INT96 of another program", "without")
    both = started.spark.sql("select 'x' id, '' text, timestamp'2020-01-01' t, timestamp_ntz'2020-01-01' n")
    both.write.parquet(str(mixed))
    require_refused(started, mixed, "as INT96, others as INT64")


def test_files_whose_columns_differ_are_one_table_or_refused(started: Started, tmp_path: Path) -> None:
    for name, more in (("a", {"n": pa.array([1], pa.uint8())}), ("b", {"m": ["m"]}), ("c", {"n": ["one"]})):
        pq.write_table(pa.table({"id": [name], "text": [name], **more}), tmp_path / f"{name}.parquet")
    given = opened(started.spark, [str(tmp_path / "[ab].parquet")], None, None)
    write(given.table, {}, f"{tmp_path}/out", given, False, {})
    assert pq.read_table(tmp_path / "out" / "kept").sort_by("id").to_pylist() == [
        {"id": "a", "text": "a", "n": 1, "m": None},
        {"id": "b", "text": "b", "n": None, "m": "m"},
    ]
    require_refused(started, tmp_path, "columns of several types", "Field n has")
    (tmp_path / "c.parquet").write_text("not Parquet at all")
    require_refused(started, tmp_path, "c.parquet is not Parquet")


ODD = ("a.b", "two`ticks", "plain", "gone", "row", "_row", "value")


@pytest.mark.parametrize(("text", "id"), [("a.b", "two`ticks"), ("gone", "row")])
def test_columns_of_any_name_are_columns(started: Started, text: str, id: str) -> None:
    """Dots and backticks are part of a name, and names of our own working columns are free."""
    from neardup.spark import dedup

    values = {text: [NOTICE, NOTICE, "lunch is at noon"], id: ["x", "y", "z"]}
    rows = pa.table({name: values.get(name, ["1", "2", "3"]) for name in ODD})
    path = started.folder / f"odd-{id.strip('`')}.parquet"
    pq.write_table(rows, path)
    given = opened(started.spark, [str(path)], text, id)
    in_memory = dedup(started.spark.createDataFrame(rows), text=text, id=id)
    of_files = dedup_files(given, None, str(started.folder / f"odd-work-{text}"), {})
    for made in (in_memory, of_files):
        kept = made.kept.toArrow().to_pydict()
        assert [*kept][: len(ODD)] == [*ODD]
        assert sorted(kept[id]) == ["x", "z"]
        made.release()


def test_a_column_that_two_columns_may_be_is_refused(started: Started, tmp_path: Path) -> None:
    from neardup.spark import dedup

    frame = started.spark.createDataFrame([("a", "b", "c")], "id string, text string, Text string")
    with pytest.raises(nd.InputError, match='"text" names 2 columns'):
        dedup(frame, text="text", id="id")
    path = tmp_path / "two.parquet"
    pq.write_table(pa.table([["a"], ["b"], ["c"]], ["id", "text", "Text"]), path)
    assert_refused(
        (nd.InputError, "Spark .*two.parquet", lambda: opened(started.spark, [str(path)], None, None)),
        (nd.InputError, "Spark .*nothing", lambda: opened(started.spark, ["nothing.parquet"], None, None)),
        (nd.InputError, 'no column "body"', lambda: dedup(frame, text="body", id="id")),
    )


@pytest.mark.parametrize(
    ("log", "file"),
    [
        ("_delta_log/00000000000000000000.json", "part-0.parquet"),
        ("_delta_log/00000000000000000000.json", "lang=de/year=2020/part-0.parquet"),
        ("metadata/v1.metadata.json", "data/part-0.parquet"),
        ("_versions/1.manifest", "data/part-0.parquet"),
    ],
)
def test_the_files_of_a_table_are_not_read_as_loose_parquet(
    started: Started, tmp_path: Path, log: str, file: str
) -> None:
    """They may have rows that were deleted since."""
    for name in (log, file):
        (tmp_path / "table" / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": ["a"], "text": ["some words"]}), tmp_path / "table" / file)
    (tmp_path / "table" / log).write_text("{}")
    for given in (tmp_path / "table" / file.partition("/")[0], tmp_path / "table" / file):
        with pytest.raises(nd.InputError) as caught:
            opened(started.spark, [str(given)], None, None)
        assert has_parts(str(caught.value), "/table", "log decides", "neardup.spark.dedup")
    loose = tmp_path / "loose" / "metadata"
    loose.mkdir(parents=True)
    pq.write_table(pa.table({"id": ["a"], "text": ["some words"]}), tmp_path / "loose" / "part-0.parquet")
    assert opened(started.spark, [str(tmp_path / "loose")], None, None).format == "parquet"


def test_a_file_system_that_spark_has_not_is_named(started: Started) -> None:
    """``-o hdfs:///clean`` without a configured name node was called an error in neardup."""
    for out in ("hdfs:///clean", "nowhere://host/clean"):
        with pytest.raises(OutputError) as caught:
            require_new(started.spark, out, overwrite=False)
        assert has_parts(str(caught.value), out, "file system")


@pytest.mark.parametrize("wrong", [[{"id": "a"}], pa.table({"id": ["a"]}), None])
def test_a_frame_of_another_kind_is_refused(started: Started, wrong: Any) -> None:
    from neardup.spark import dedup

    frame = started.spark.createDataFrame([("a", "b")], "id string, text string")
    with pytest.raises(nd.InputError, match=r"df is a .*A DataFrame of PySpark"):
        dedup(wrong, text="text", id="id")
    if wrong is not None:
        with pytest.raises(nd.InputError, match="against is a "):
            dedup(frame, text="text", id="id", against=wrong)


def test_a_worker_that_is_killed_changes_nothing(started: Started) -> None:
    found: list[Tables] = []
    work = str(started.folder / "killed")

    def run() -> None:
        found.append(on_spark(started.spark, CASES["killed"], work))

    job = threading.Thread(target=run)
    job.start()
    while not (Path(work) / "candidates" / "_SUCCESS").exists():
        assert job.is_alive()
        time.sleep(0.05)
    started.cluster.kill_a_worker()
    job.join()
    assert found == [on_one_machine("killed")]
