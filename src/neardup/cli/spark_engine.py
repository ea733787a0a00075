"""``neardup dedup --engine spark``: the same command on a cluster."""

from __future__ import annotations

import json as notation
import os
import subprocess
import sys
import warnings
from importlib.util import find_spec
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli import show_pandas
from neardup.cli.messages import DONE, REJECTED
from neardup.cli.option import typed_text
from neardup.cli.options.on_files import DecontaminateOptions, DedupOptions, FindOptions
from neardup.errors import InputError, OutputError, SettingError, install
from neardup.io.place import without_secrets
from neardup.settings import FIELDS
from neardup.spark.job import LOGGING, OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from neardup.corpus.decontamination import Action as ContaminationAction
    from neardup.deduplication.runs import Action


DECONTAMINATED = frozenset(
    (
        *(
            "inputs",
            "against",
            "out",
            "text",
            "id",
            "fields",
            "against_id",
            "threshold",
            "run",
            "common",
            "length",
        ),
        *("drop", "tag", "cut", "marker", "report_only", "engine", "master", "json", "overwrite"),
    )
)
"""The options of ``neardup decontaminate`` that a run on Spark follows."""


class SparkEngine:
    """The engine of a cluster."""

    where = "with --engine spark"
    allowed = (
        "Input, -o, --text, --id, --against, --json, --overwrite and settings; or one machine, without --engine"
    )
    supported = OPTIONS

    def run(self, action: Action, options: FindOptions) -> int:
        """Run ``neardup dedup`` on a cluster, and print its counts."""
        assert isinstance(options, DedupOptions)  # group has no --engine
        if options.out is None:
            raise OutputError("No folder for the results was given", "", "Give -o DIR, on a file system of Spark")
        given = options.settings.read()
        settings = {name: getattr(given, name) for name in FIELDS}
        account = _run(_session(options.master), options, typed_text(options.out).rstrip("/"), settings)
        if options.json:
            typer.echo(_json(account))
        else:
            for name, number in account["counts"].items():
                typer.echo(f"{name.replace('_', ' '):<14} {number:>15,}")
            typer.echo(f"{'written':<14} {account['out']}: copies, groups, kept, pairs, run.json")
        return REJECTED if account["counts"]["rejected"] else DONE


def _run(spark: SparkSession, options: DedupOptions, out: str, settings: dict[str, Any]) -> dict[str, Any]:
    from neardup.io.inputs import joined_name
    from neardup.spark.dedup import dedup_files
    from neardup.spark.files import opened, remove, require_new, write

    require_new(spark, out, options.overwrite)
    text = joined_name(options.text)
    given = opened(spark, options.inputs, text, options.id)
    against = opened(spark, options.against, text, options.id) if options.against else None
    work = f"{out}/_work"
    try:
        job_result = dedup_files(given, against, work, settings)
        job_result.counts["rejected"] = given.rejected(job_result.counts["read"])
        account = {
            **job_result.account(),
            "inputs": [*map(without_secrets, options.inputs)],
            "out": without_secrets(out),
        }
        tables = {name: getattr(job_result, name) for name in ("groups", "pairs", "copies")}
        write(job_result.kept, tables, out, given, options.overwrite, {"run.json": _json(account)})
        job_result.release()
    finally:
        remove(spark, work)
    return account


def _json(account: dict[str, Any]) -> str:
    return notation.dumps(account, indent=2, ensure_ascii=False)


def decontaminate(options: DecontaminateOptions, action: ContaminationAction) -> int:
    """Run ``neardup decontaminate`` on a cluster, and print its account."""
    from neardup.io.inputs import joined_name, parts_of
    from neardup.spark.decontamination import decontaminate_files
    from neardup.spark.files import opened, require_new, write

    if options.out is None:
        raise OutputError("No folder for the results was given", "", "Give -o DIR, on a file system of Spark")
    if others := options.explicit - DECONTAMINATED:
        name = min(others).replace("_", "-")
        raise SettingError(
            f"--{name} cannot be given {SparkEngine.where}",
            "Items, rules, columns, outputs, --length",
            "Leave it out",
        )
    out, spark = typed_text(options.out).rstrip("/"), _session(options.master)
    require_new(spark, out, options.overwrite)
    given = opened(spark, options.inputs, joined_name(options.text), options.id)
    fields = [part for one in options.fields for part in parts_of(one)]
    settings = {
        "threshold": options.threshold,
        "run": options.run,
        "common": options.common,
        "length": options.settings.length,
    }
    result = decontaminate_files(
        given, options.against, fields, options.against_id, settings, action, options.marker
    )
    counts = result.account["counts"]
    counts["rejected"] += given.rejected(counts["documents"])
    tables = {"matches": result.matches, "common": result.common, "common_shingles": result.phrases}
    if action == "cut":
        tables["cuts"] = result.cuts
    frames = {name: spark.createDataFrame(table) for name, table in tables.items()}
    texts = {"report.html": result.page(), "run.json": _json(result.account)}
    kept = None if action == "report" else result.kept
    write(kept, frames, out, given, options.overwrite, texts)
    if options.json:
        typer.echo(_json(result.account))
    else:
        names = ", ".join([*(["kept"] if kept is not None else []), *tables, *texts])
        typer.echo(f"{result}\nwritten: {display.printable(out)}: {names}")
    result.release()
    return REJECTED if counts["rejected"] else DONE


def _session(master: str | None) -> SparkSession:
    show_pandas()
    for package in ("pyspark", "pandas"):  # PySpark makes tables with the latter
        if find_spec(package) is None:
            raise InputError(f"--engine spark needs the package {package}", "", install("spark"))
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    # the setting of this name does not reach the executors; the variable does
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    if SparkContext._active_spark_context is None:
        conf = SparkConf().setAppName("neardup dedup").set("spark.ui.showConsoleProgress", "false")
        # most of the processor time of a small run went into compiling Java for speed that it never used
        conf.setIfMissing("spark.driver.defaultJavaOptions", "-XX:TieredStopAtLevel=1")
        if master:
            conf.setMaster(master)
        _log_as_we_do()
        gateway = launch_gateway(conf, {"stderr": subprocess.PIPE})  # type: ignore[no-untyped-call]
        if gateway.proc is not None:  # spark-submit has started one
            Thread(target=_pass_on, args=(gateway.proc.stderr,), daemon=True).start()
        SparkContext(conf=conf, gateway=gateway)
    return SparkSession.builder.getOrCreate()


def _log_as_we_do() -> None:
    """Let Spark log what goes wrong, unless somebody has set up its log."""
    folders = [os.environ.get("SPARK_CONF_DIR"), os.path.join(os.environ.get("SPARK_HOME", ""), "conf")]
    names = [f"log4j2.{suffix}" for suffix in ("properties", "xml", "yaml", "json")]
    if not any(os.path.exists(os.path.join(folder, name)) for folder in folders if folder for name in names):
        os.environ.setdefault("LOG4J_CONFIGURATION_FILE", str(LOGGING))


def _pass_on(log: IO[bytes]) -> None:
    """Copy the log of the Java process without the notice of its start that no setting turns off."""
    for line in log:
        if not line.startswith(b"WARNING: Using incubator modules"):
            sys.stderr.write(line.decode(errors="replace"))
            sys.stderr.flush()
