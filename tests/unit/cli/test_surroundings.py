"""What commands do with their surroundings: limits, logs, contradicting options; and the tables of a plan."""

from __future__ import annotations

import os
import resource
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from neardup.cli import messages, plan, servers, spark_engine
from neardup.cli.decontamination import decontaminate
from neardup.cli.options.on_collections import ServeOptions
from neardup.cli.options.on_files import DecontaminateOptions
from neardup.deduplication.pairs import plan as planned
from neardup.errors import SettingError
from neardup.io.place import place_of


def test_the_limit_of_memory_is_the_soft_one() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    if before != (resource.RLIM_INFINITY, resource.RLIM_INFINITY):
        pytest.skip("this process has a limit of its own")
    assert messages.limit() is None
    resource.setrlimit(resource.RLIMIT_AS, (1 << 60, before[1]))
    try:
        assert messages.limit() == 1 << 60
        assert "(ulimit -v)" in messages._limit_in_words()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("own", ["", "SPARK_CONF_DIR", "SPARK_HOME"])
def test_the_log_of_spark_is_that_of_its_user_or_ours(
    own: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "LOG4J_CONFIGURATION_FILE"):
        monkeypatch.delenv(name, raising=False)
    if own:
        monkeypatch.setenv(own, str(tmp_path))
        folder = tmp_path / ("conf" if own == "SPARK_HOME" else "")
        folder.mkdir(exist_ok=True)
        (folder / "log4j2.xml").touch()
    spark_engine._log_as_we_do()
    assert os.environ.get("LOG4J_CONFIGURATION_FILE") == (None if own else str(spark_engine.LOGGING))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        *((given, "") for given in ("path read_only", "path create page", "path workers", "shard read_only")),
        ("", "Neither"),
        ("path shard", "A collection and shard"),
        ("shard create", "create is given with shard"),
        ("shard page", "page is given with shard"),
        ("shard workers", "workers is given with shard"),
        ("path read_only create", "read_only is given with create"),
        ("path read_only page", "page is given with read_only"),
        ("path workers page", "page is given with workers 2"),
    ],
)
def test_options_of_a_service_fit_or_contradict_one_another(given: str, named: str) -> None:
    values: dict[str, Any] = {"path": place_of("mail.neardup"), "shard": ["a", "b"], "workers": 2}
    options = ServeOptions(**{name: values.get(name, True) for name in given.split()})
    with pytest.raises(SettingError) if named else nullcontext() as refused:
        servers._require_together(options)
    assert refused is None or named in str(refused.value)


def test_a_plan_shows_resemblances_up_to_one_and_marks_the_threshold() -> None:
    lines = [*plan._lines(planned(threshold=0.83, recall=0.95, slots=128))]
    rows = [line.split() for line in lines if line.startswith("       ")]
    assert [float(row[0]) for row in rows] == sorted([k / 20 for k in range(2, 21)] + [0.83])
    assert [row[0] for row in rows if "threshold" in row] == ["0.83"]
    assert rows[-1][1:] == ["1.0000", "#" * 40]


@pytest.mark.parametrize("dry", [False, True])
def test_rows_that_cannot_be_read_are_listed_where_there_is_an_output(
    dry: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "some words of a document"}\n{torn\n')
    out = str(tmp_path / "out")
    given = DecontaminateOptions(inputs=[str(rows)], against=[str(rows)], out=place_of(out), dry_run=dry)
    assert decontaminate(given) == messages.REJECTED
    said = " ".join(capsys.readouterr().err.split())
    assert ("run with -o DIR to list them" if dry else f"{out}/problems.jsonl says where and why") in said
