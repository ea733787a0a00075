"""The option --engine: its values, and the options that a cluster does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from neardup.cli.option import options_of
from neardup.cli.options.on_files import DedupOptions
from neardup.cli.runs import ALL_OPTIONS, Engine, LocalEngine, SavedEngine, run_on
from neardup.cli.spark_engine import SparkEngine
from neardup.errors import SettingError
from support.command_line import ROWS, Run, write_rows


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--engine", "ray"), "engine is 'ray'"),
        (("--master", "local[2]"), "--master"),
        (("--engine", "spark", "--dry-run"), "--dry-run"),
        (("--engine", "spark", "--ignore", "x.txt", "--resume"), "--ignore, --resume"),
        (("--engine", "spark", "--annotate"), "one machine"),
        (("--engine", "spark", "--decisions", "x"), "--decisions"),
    ],
)
def test_an_option_that_does_not_fit_is_refused_before_the_work(
    run: Run, tmp_path: Path, given: tuple[str, ...], named: str
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", ROWS)
    out = tmp_path / "out"
    refused = run("dedup", rows, "-o", out, *given)
    assert refused.status == 2
    assert named in " ".join(refused.err.split())
    assert not out.exists()


@pytest.mark.parametrize(
    "engine", [LocalEngine(), SavedEngine([]), SparkEngine()], ids=["local", "saved", "spark"]
)
def test_every_option_is_supported_or_refused_by_its_name(engine: Engine) -> None:
    assert engine.supported <= ALL_OPTIONS
    for option in options_of(DedupOptions):
        if option.name not in engine.supported:
            given = DedupOptions(inputs=["x.jsonl"], explicit=frozenset({option.name}))
            with pytest.raises(SettingError) as refused:
                run_on(engine, "dedup", given)
            assert refused.value.given == f"{option.spelling[-1]} cannot be given {engine.where}"


def test_a_cluster_needs_an_output_and_an_input(run: Run, tmp_path: Path) -> None:
    assert "No folder" in run("dedup", "x.parquet", "--engine", "spark").err
    assert run("dedup", "--engine", "spark", "-o", tmp_path / "out").status == 2


def test_the_local_engine_may_be_named(run: Run, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", ROWS)
    assert run("dedup", rows, "-o", tmp_path / "out", "--engine", "local").status == 0
