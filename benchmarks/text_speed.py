"""Texts to signatures on one core: one call of the fingerprint stage, nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.settings import Settings
from neardup.text.keys import new_key
from neardup.text.sketch.documents import fingerprint, sign
from table import Report, seconds

SAMPLE_BYTES = 100_000_000


def sample(corpus: Path, wanted: int = SAMPLE_BYTES) -> pa.Array:
    """The first documents of the corpus that are ASCII, about ``wanted`` bytes."""
    arrays, size = [], 0
    for batch in pq.ParquetFile(corpus).iter_batches(batch_size=8192, columns=["text"]):
        texts = batch.column(0)
        plain = texts.filter(pc.string_is_ascii(texts))
        arrays.append(plain)
        size += pc.sum(pc.binary_length(plain)).as_py()
        if size >= wanted:
            break
    return pa.concat_arrays(arrays)


def first_pass(texts: pa.Array, slots: int) -> None:
    """The work of a run on the texts in its first pass: signatures of this number of slots, and keyed streams."""
    signatures, streams = np.empty((len(texts), slots), np.uint32), np.empty((len(texts), 2), np.uint64)
    sign(texts, Settings(), signatures, streams, new_key())


def measure(report: Report, corpus: Path, texts: Path | None, rounds: int) -> None:
    """ASCII from the corpus; other scripts from JSONL files, one row a file."""
    batches = {"ASCII (corpus)": sample(corpus)}
    for path in sorted(texts.glob("*.jsonl")) if texts else []:
        lines = path.read_text(encoding="utf-8").splitlines()
        documents = [json.loads(line)["text"] for line in lines]
        batches[path.stem] = pa.array(documents * (20_000_000 // sum(map(len, documents)) + 1))
    rows = []
    for name, batch in batches.items():
        size = pc.sum(pc.binary_length(batch)).as_py()
        for sketch in ("one-permutation", "classic"):
            settings = Settings.of(sketch=sketch)
            taken = seconds(lambda batch=batch, settings=settings: fingerprint(batch, settings), rounds)
            rows.append([name, sketch, len(batch), size / len(batch), size / 1e6 / taken])
        for slots, method in ((128, "a run by LSH"), (0, "an exact run")):
            taken = seconds(lambda batch=batch, slots=slots: first_pass(batch, slots), rounds)
            rows.append(
                [name, f"first pass of {method}, copies keyed", len(batch), size / len(batch), size / 1e6 / taken]
            )
    columns = ["text", "sketch", "documents", "bytes a document", "MB/s on one core"]
    report.table("Text to signatures, one core", columns, rows)
