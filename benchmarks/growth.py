"""How cost grows with the number of documents: the same text cut into 10 thousand to 1 million documents."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from table import Report

SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
DOCUMENT_BYTES = 1200


def cut(corpus: Path, out: Path, wanted: int, size: int = DOCUMENT_BYTES) -> int:
    """Write the first ``wanted`` pieces of about ``size`` bytes of the corpus; their number."""
    pieces: list[str] = []
    with pq.ParquetWriter(out, pa.schema([("text", pa.large_string())])) as writer:
        written = 0
        # spread over the whole corpus, so that every size has the same mixture of texts
        table = pq.read_table(corpus, columns=["text"]).column(0)
        order = np.random.default_rng(7).permutation(len(table))
        for row in order:
            text = table[int(row)].as_py()
            pieces += [text[i : i + size] for i in range(0, len(text), size)]
            if len(pieces) > 50_000 or written + len(pieces) >= wanted:
                pieces = pieces[: wanted - written]
                writer.write_table(pa.table({"text": pa.array(pieces, pa.large_string())}))
                written += len(pieces)
                pieces = []
                if written == wanted:
                    break
    return written


def measure(report: Report, corpus: Path, texts: Path | None, rounds: int) -> None:
    """The growth of ``neardup dedup`` with its defaults."""
    grow(report, "Growth", corpus.parent, partial(cut, corpus), rounds)


def grow(
    report: Report,
    heading: str,
    folder: Path,
    make: Callable[[Path, int], int],
    rounds: int,
    sizes: Sequence[int] = SIZES,
    options: Sequence[str] = (),
) -> None:
    """Seconds, memory, and the exponent of seconds over documents (least squares on logarithms).

    ``make`` writes a file of that number of documents and gives their number; files lie in ``folder`` for a while.
    """
    rows = []
    with tempfile.TemporaryDirectory(dir=folder) as name:
        for wanted in sizes:
            path = Path(name, f"{wanted}.parquet")
            documents = make(path, wanted)
            runs = [run(path, Path(name, f"out{wanted}-{k}"), options) for k in range(min(rounds, 3))]
            spent = sorted(sum(done["seconds"].values()) for done in runs)[len(runs) // 2]
            last = runs[-1]
            rows.append([documents, last["bytes"]["text"] / 1e6, spent, last["peak_memory_bytes"] / 1e6])
            path.unlink()
    logs = [(math.log(row[0]), math.log(row[2])) for row in rows]
    slope = np.polyfit([x for x, _ in logs], [y for _, y in logs], 1)[0]
    upper = np.polyfit([x for x, _ in logs[2:]], [y for _, y in logs[2:]], 1)[0]
    note = (
        f"Exponent over all sizes {slope:.2f}; from {rows[2][0]:,} documents on, where fixed costs no longer "
        f"count, {upper:.2f}."
    )
    report.table(heading, ["documents", "MB of text", "seconds", "peak MB"], rows, note)


def run(path: Path, out: Path, options: Sequence[str]) -> dict:
    """The run.json of one dedup in a process of its own."""
    command = [sys.executable, "-m", "neardup", "dedup", str(path), "-o", str(out), *options]
    subprocess.run(command, check=True, capture_output=True)
    return json.loads((out / "run.json").read_text())
