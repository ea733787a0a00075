"""A run in parts as processes: time, memory, disk and bytes moved of each stage.

    python benchmarks/parts.py FOLDER [--documents 10000000] [--parts 20] [--memory 4GB] [--seed 5]
        [--option=--threshold --option=.7] [--report FILE] [--keep]
    python benchmarks/parts.py FOLDER --clean

Makes Parquet shards of documents of about 3 kB by a seed (10 million are 30 GB of text), and runs
``neardup fingerprint`` on each, ``neardup merge`` once, and ``neardup part`` on each, one process at a time. About
15 % of the documents derive from an earlier one of any shard. The table has only measured figures: nothing is
extrapolated.

FOLDER/parts holds all files, and FOLDER/parts/measured.json each process that has ended. A benchmark that was
stopped goes on after the last of these; a process that was stopped is repeated from its start, so that its figures
are whole. The files of a stage are deleted as soon as no later one needs them, and the rest at the end, unless
``--keep`` is given. Linux only: bytes come from /proc.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# The process that starts the others imports no NumPy or Arrow: their peak memory counts from its own.

LEAST, SPREAD = 254, 420
"""Words of a document: 254 to 673, about 3 kB."""
BATCH = 5_000
"""Documents of a row group."""
NEEDED = 5_000
"""Bytes of disk a document: the shard, fingerprints, result, working files and the kept rows of one part."""
METHOD = ("--method", "lsh")
"""The search at this size; ``auto`` would join small trials exactly."""
STAGES = ("make", "fingerprint", "merge", "part")
MEASURES = ("seconds", "processor", "peak", "working", "read", "written", "disk_read", "disk_written", "output")
"""Figures of a process: seconds, and bytes."""


def make(path: Path, first: int, until: int, seed: int) -> None:
    """Write the documents ``first`` … ``until`` − 1 as a shard."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from scale import texts, vocabulary

    words = vocabulary(seed)
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for begin in range(first, until, BATCH):
            end = min(begin + BATCH, until)
            columns = [pa.array(np.arange(begin, end)), texts(begin, end, words, LEAST, SPREAD)]
            writer.write_table(pa.table(columns, schema=schema))


def unnamed(process: int) -> int:
    """The bytes of the working files of a process: those that it has open and that have no name."""
    sizes = {}
    try:
        for entry in os.scandir(f"/proc/{process}/fd"):
            status = os.stat(entry.path)
            if not status.st_nlink:
                sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    except OSError:
        pass
    return sum(sizes.values())


def measured(command: Sequence[str], lock: int) -> tuple[dict[str, float], str]:
    """Run a command; return its figures and its output. Exits if it fails.

    ``read`` and ``written`` count system calls, ``disk_read`` and ``disk_written`` blocks of the storage. A
    mapped file is in the second pair only; a file in the page cache is in the first only.
    """
    begin, working = time.perf_counter(), 0
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, stdout=printed, pass_fds=(lock,))
        try:
            while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                working = max(working, unnamed(process.pid))
                time.sleep(0.05)
            moved = dict(line.split(": ") for line in Path(f"/proc/{process.pid}/io").read_text().splitlines())
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read().decode()
    if process.returncode:
        raise SystemExit(f"ended with {process.returncode}: {' '.join(command)}\n{output}")
    figures = {
        "seconds": seconds,
        "processor": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * 1024,
        "working": working,
        "read": int(moved["rchar"]),
        "written": int(moved["wchar"]),
        "disk_read": int(moved["read_bytes"]),
        "disk_written": int(moved["write_bytes"]),
    }
    return figures, output


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files below a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(entry.stat().st_size for entry in path.rglob("*") if entry.is_file())


def remove(path: Path) -> None:
    """Remove a file or a folder, if it exists."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


class Benchmark:
    """The processes of one run in parts; those that ended are recorded, and not run again."""

    def __init__(self, given: argparse.Namespace, lock: int) -> None:
        self.given, self.lock = given, lock
        self.folder: Path = given.folder / "parts"
        self.record = self.folder / "measured.json"
        asked = {name: getattr(given, name) for name in ("documents", "parts", "memory", "seed", "option")}
        self.ended: dict[str, dict[str, Any]] = {}
        if self.record.exists():
            earlier = json.loads(self.record.read_text())
            if earlier["asked"] != asked:
                raise SystemExit(f"{self.folder} holds a run of {earlier['asked']}: go on with it, or --clean")
            self.ended = earlier["ended"]
        self._asked = asked
        width = len(str(given.parts - 1))
        self.names = [f"{number:0{width}}" for number in range(given.parts)]

    def run(self) -> None:
        """Run what has not run yet."""
        documents, parts, folder = self.given.documents, self.given.parts, self.folder
        shards = {name: folder / f"texts-{name}.parquet" for name in self.names}
        fingerprints, result = folder / "fingerprints", folder / "result"
        program = [sys.executable, "-m", "neardup"]
        end = ["--overwrite", "--json"]
        limited = ["--memory", self.given.memory, *end]
        fingerprints.mkdir(exist_ok=True)
        for number, name in enumerate(self.names):
            first, until = (documents * place // parts for place in (number, number + 1))
            span = ["--make", str(first), str(until), "--seed", str(self.given.seed)]
            self.step("make", name, shards[name], [sys.executable, __file__, str(shards[name]), *span])
        for name, shard in shards.items():
            out = fingerprints / f"part-{name}"
            self.step("fingerprint", name, out, [*program, "fingerprint", str(shard), "-o", str(out), *limited])
        merge = ["merge", str(fingerprints), "-o", str(result), *METHOD, *self.given.option]
        self.step("merge", "", result, [*program, *merge, *limited])
        if not self.given.keep:
            remove(fingerprints)
        for name, shard in shards.items():
            out = folder / f"kept-{name}"
            self.step("part", name, out, [*program, "part", str(shard), "--of", str(result), "-o", str(out), *end])
            if not self.given.keep:
                remove(out)
                remove(shard)

    def step(self, stage: str, name: str, out: Path, command: Sequence[str]) -> None:
        """Run a process, unless it has ended in an earlier run, and record its figures."""
        step = f"{stage} {name}".strip()
        if step in self.ended:
            return
        figures, output = measured(command, self.lock)
        figures["output"] = size_of(out)
        counts = json.loads(output) if output else {}
        wanted = ("counts", "bytes", "seconds", "choice", "recall")
        self.ended[step] = {"figures": figures, **{key: counts[key] for key in wanted if key in counts}}
        partial = self.record.with_suffix(".partial")
        partial.write_text(json.dumps({"asked": self._asked, "ended": self.ended}))
        partial.replace(self.record)
        print(f"{step}: {figures['seconds']:,.1f} s, {figures['peak'] / 1e6:,.0f} MB", file=sys.stderr, flush=True)

    def of_stage(self, stage: str) -> list[dict[str, Any]]:
        """The processes of a stage."""
        return [one for step, one in self.ended.items() if step.split()[0] == stage]

    def check(self) -> None:
        """Exit unless the parts together keep what the merge says."""
        counts = self.ended["merge"]["counts"]
        kept = sum(one["counts"]["kept"] for one in self.of_stage("part"))
        if (counts["read"], counts["kept"]) != (self.given.documents, kept):
            raise SystemExit(f"the merge read {counts['read']:,} and keeps {counts['kept']:,}; the parts {kept:,}")

    def report(self) -> None:
        """Print the tables, and write them to ``--report``."""
        from table import Report

        merged = self.ended["merge"]
        counts, text = merged["counts"], merged["bytes"]["text"]
        given = self.given
        report = Report("Runs in parts", f"Python {sys.version.split()[0]}, one process at a time")
        size = f"{given.documents:,} documents, {text / 1e9:.3g} GB of text"
        how = f"`--memory {given.memory}`, {given.parts} parts, seed {given.seed}."
        rows = []
        for stage in STAGES:
            figures = [one["figures"] for one in self.of_stage(stage)]
            total = {name: sum(one[name] for one in figures) for name in MEASURES}
            most = {name: max(one[name] for one in figures) for name in ("peak", "working")}
            megabytes = [{**total, **most}[name] / 1e6 for name in MEASURES[2:]]
            shown = stage if stage == "make" else f"`neardup {stage}`"
            rows.append([shown, len(figures), total["seconds"], total["processor"], *megabytes])
        report.table(
            size,
            [
                *("stage", "processes", "seconds", "processor s", "peak MB", "MB of working files"),
                *("MB read", "MB written", "MB read from disk", "MB written to disk", "MB of output"),
            ],
            rows,
            f"{how} Sums over the processes of a stage; peak memory and working files are those of the largest "
            "process. MB read and written count system calls, those for the program's own files included; a "
            "mapped file is not in them. A file in the page cache is not read from disk.",
        )
        names = ("documents", "candidates", "pairs", "groups", "exact copies", "near copies", "removed")
        keys = ("read", "candidates", "pairs", "groups", "exact_copies", "near_copies", "removed")
        report.table(f"What the run found, {size}", names, [[counts[key] for key in keys]])
        stages = merged["seconds"]
        report.table(f"Seconds of the stages of the merge, {size}", list(stages), [list(stages.values())])
        if given.report:
            report.write(given.report)


def main() -> None:
    """Run the benchmark, or make one shard."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--parts", type=int, default=20)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--seed", type=int, default=5, help="of the words, and by them of all texts")
    parser.add_argument("--option", action="append", default=[], help="a further option of neardup merge")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--keep", action="store_true", help="keep all files at the end")
    parser.add_argument("--clean", action="store_true", help="only remove the files of an earlier benchmark")
    parser.add_argument("--make", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.folder, *given.make, given.seed)
        return
    own = given.folder / "parts"
    own.mkdir(parents=True, exist_ok=True)
    lock = os.open(own, os.O_RDONLY)
    try:  # processes inherit the lock: one that outlived its benchmark still holds it
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(f"a benchmark, or a process of one, is at work in {own}") from None
    if given.clean:
        shutil.rmtree(own)
        return
    benchmark = Benchmark(given, lock)
    free, needed = shutil.disk_usage(own).free, given.documents * NEEDED
    if not benchmark.ended and free < needed:
        raise SystemExit(f"{own} has {free / 1e9:.1f} GB free; {needed / 1e9:.1f} GB are needed")
    benchmark.run()
    benchmark.check()
    benchmark.report()
    if not given.keep:
        shutil.rmtree(own)


if __name__ == "__main__":
    main()
