"""The engine of Spark starts where nothing is installed but its extra."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import spark_cluster
from support.environments import environment_of, python_with
from support.messages import has_parts

TEXT = "the harbour office is closed on Friday because of the storm and the pier is being repaired"
ROWS = {"id": ["a", "b", "c"], "text": [TEXT, f"{TEXT} now", "a note about lunch at noon"]}


@pytest.mark.skipif(bool(spark_cluster.missing()), reason=spark_cluster.missing())
def test_the_command_runs_and_writes_to_a_url(tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    pq.write_table(pa.table(ROWS), folder / "d.parquet")
    python = python_with(frozenset({"spark"}))
    out = (folder / "out").as_uri()
    command = [str(python.parent / "neardup"), "dedup", "d.parquet", "--engine", "spark", "--master", "local[1]"]
    quick = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1", "SPARK_LOCAL_IP": spark_cluster.LOOPBACK}
    environment = environment_of(python, folder) | quick
    done = subprocess.run(
        [*command, "-o", out, "--json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["out"] == out
    assert pq.read_table(folder / "out" / "kept")["id"].to_pylist() == ["b", "c"]
    assert {path.name for path in folder.iterdir()} == {"d.parquet", "out"}
    again = subprocess.run(
        [*command, "-o", f"{out}/"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 2
    assert f"{out} exists already" in again.stderr


STOPPED = """
from pyspark.sql import SparkSession
from neardup import InputError
from neardup.spark import dedup
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.range(3).selectExpr("id", "'a text' as text")
spark.stop()
try:
    dedup(frame, text="text", id="id")
except InputError as error:
    print(error)
"""


@pytest.mark.skipif(bool(spark_cluster.missing()), reason=spark_cluster.missing())
def test_a_frame_of_a_stopped_session_is_refused(tmp_path: Path) -> None:
    python = python_with(frozenset({"spark"}))
    environment = environment_of(python, tmp_path) | {"SPARK_LOCAL_IP": spark_cluster.LOOPBACK}
    done = subprocess.run(
        [str(python), "-c", STOPPED], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert has_parts(done.stdout, "SparkSession of df", "stopped", "Allowed: "), done.stderr[-2000:]


def test_without_the_extra_the_command_names_it(tmp_path: Path) -> None:
    python = python_with()
    command = [str(python.parent / "neardup"), "dedup", "x.parquet", "--engine", "spark", "-o", "out"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment_of(python, tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pyspark" in done.stderr
    assert 'pip install ".[spark]"' in done.stderr
