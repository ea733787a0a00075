"""Whole command beside whole command, from one Parquet file to another: the table of speed in docs/evidence.md.

    python benchmarks/commands.py ENVIRONMENTS NAME=corpus.parquet ... [--megabytes 100] [--own NAME=whole.parquet]

ENVIRONMENTS is that of ``quality.py``. A corpus has the columns id and text; the first ``--megabytes`` of its text
are taken, since the slowest tool needs a minute for 100 MB. ``--own`` names files that neardup alone reads, whole.
Every tool runs on one processor and on two, with the settings of its own page, except that the threshold is .8 and
the shingles have five words where it has such options.

The figures are processor time, with that of child processes, and the peak of the largest process: other work on
the machine does not change them much. Money is processor time at the price of an hour of a core. Elapsed time is
written with ``--quiet``, when nothing else is at work.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from processes import spent
from table import Report

HERE = Path(__file__).parent
PRICE = 0.05
"""US dollars an hour of one core: about what virtual machines cost on demand."""

BEGIN, END = "<!-- commands -->", "<!-- end of commands -->"
"""The place of the rows for two processors in docs/evidence.md."""

TEXT_DEDUP = """
import subprocess, sys
source, out, cores = sys.argv[1:]
command = [sys.executable, "-m", "text_dedup.minhash", "--path", "parquet", "--data_files", source,
           "--split", "train", "--cache_dir", out + ".cache", "--output", out, "--column", "text",
           "--batch_size", "10000", "--num_proc", cores, "--threshold", "0.8", "--ngram", "5"]
sys.exit(subprocess.run(command).returncode)
"""

DATATROVE = """
import sys
from pathlib import Path
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import minhash as steps
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter
source, out, cores = sys.argv[1], sys.argv[2], int(sys.argv[3])
folder = str(Path(source).parent)
reader = lambda: ParquetReader(folder, glob_pattern=Path(source).name)
at = {name: f"{out}/{name}" for name in ("signed", "buckets", "clusters", "kept")}
config = steps.MinhashConfig(n_grams=5)
for number, (tasks, pipeline) in enumerate([
    (1, [reader(), steps.MinhashDedupSignature(at["signed"], config=config)]),
    (config.num_buckets, [steps.MinhashDedupBuckets(at["signed"], at["buckets"], config=config)]),
    (1, [steps.MinhashDedupCluster(at["buckets"], at["clusters"], config=config)]),
    (1, [reader(), steps.MinhashDedupFilter(at["clusters"]), ParquetWriter(at["kept"])]),
]):
    logs = f"{out}/logs{number}"
    LocalPipelineExecutor(pipeline=pipeline, tasks=tasks, workers=min(cores, tasks), logging_dir=logs).run()
"""
"""A file is a task of its signatures and of its filter, so the second processor works in the buckets alone."""


def command(tool: str, environments: Path, source: Path, out: Path, cores: int) -> list[str]:
    """The command line of a tool."""
    if tool.startswith("neardup"):
        method = ["--method", tool.removeprefix("neardup ").lower(), "--threads", str(cores)]
        where = ["-o", str(out), "--threshold", "0.8", "--id", "id", "--text", "text"]
        return [sys.executable, "-m", "neardup", "dedup", str(source), *where, *method]
    program = {"text-dedup": TEXT_DEDUP, "datatrove": DATATROVE}[tool]
    return [str(environments / f"env-{tool}" / "bin" / "python"), "-c", program, str(source), str(out), str(cores)]


def first(source: Path, most: int, out: Path) -> int:
    """Write the first documents of a corpus with ``most`` bytes of text; the bytes written."""
    total = 0
    with pq.ParquetFile(source) as file, pq.ParquetWriter(out, file.schema_arrow) as writer:
        for batch in file.iter_batches(2000):
            if total >= most:
                break
            total += sum(len(text.encode()) for text in batch.column("text").to_pylist())
            writer.write_table(pa.Table.from_batches([batch]))
    return total


def rows(
    name: str, source: Path, size: int, tools: Sequence[str], environments: Path, quiet: bool
) -> Iterator[tuple[object, ...]]:
    """A row for each tool and number of processors."""
    for tool in tools:
        for cores in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                words = command(tool, environments, source, Path(folder, "out"), cores)
                cost = spent(words, cores)
            if cost.error:
                print(f"{name}: {tool} did not run: {cost.error}", file=sys.stderr)
                continue
            megabytes = size / 1e6
            dollars = cost.seconds / 3600 * PRICE / (size / 1e12)
            by_the_clock = (megabytes / cost.elapsed,) if quiet else ()
            speeds = (megabytes / cost.seconds, *by_the_clock)
            yield name, f"{megabytes:,.0f}", tool, cores, cost.seconds, *speeds, cost.peak, dollars


def main() -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environments", type=Path)
    parser.add_argument("corpora", nargs="*", metavar="NAME=FILE")
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--own", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--quiet", action="store_true", help="nothing else is at work: write elapsed time too")
    given = parser.parse_args()
    own = ("neardup LSH", "neardup exact")
    found: list[tuple[object, ...]] = []
    for named in given.corpora:
        name, source = named.split("=", 1)
        with tempfile.TemporaryDirectory() as folder:
            part = Path(folder, "corpus.parquet")
            size = first(Path(source), int(given.megabytes * 1e6), part)
            tools = (*own, "text-dedup", "datatrove")
            found += rows(name, part, size, tools, given.environments, given.quiet)
    for named in given.own:
        name, source = named.split("=", 1)
        size = sum(len(one.encode()) for one in pq.read_table(source, columns=["text"])["text"].to_pylist())
        found += rows(f"{name}, whole", Path(source), size, own, given.environments, given.quiet)
    report = Report("Whole commands", f"{platform.machine()}, Python {platform.python_version()}")
    columns = (
        "text",
        "MB",
        "tool",
        "processors",
        "processor s",
        "MB a processor s",
        "MB/s",
        "peak MB",
        "dollars a TB",
    )
    note = (
        f"Dollars a TB of text: processor time at {PRICE} dollars an hour of a core. "
        "The peak is that of the largest process. "
        "duplodocus is on no package index: it is built from its repository, and was not measured. "
        f"Processors allowed by affinity, of {os.cpu_count()}."
    )
    report.table("From Parquet file to Parquet file", columns, found, note)
    report.write(HERE / "results" / "commands.md")
    page = HERE.parent / "docs" / "evidence.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    cells = [
        line
        for line in (HERE / "results" / "commands.md").read_text(encoding="utf-8").splitlines()
        if line[:1] == "|"
    ]
    lines = cells[:2] + [row for row in cells[2:] if row.split("|")[4].strip() == "2"]
    page.write_text(before + "\n".join([BEGIN, "", *lines, "", END]) + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
