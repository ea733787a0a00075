"""Files of data with changed bytes, and the end of a run over them: done, refused in words, a mistake, or a crash.

    python tests/changed_bytes.py --count 2500 --kind parquet

runs more of them than the tests do. Seeds are fixed: the same number always makes the same file.
"""

from __future__ import annotations

import argparse
import collections
import io
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

WORDS = "the harbour office pays for repairs of boats on friday noon when all receipts are there"


def table(seed: int, rows: int = 60) -> pa.Table:
    """Documents of which some repeat, with columns of several types."""
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(WORDS.split(), k=12)) for _ in range(rows // 2)] * 2
    return pa.table(
        {
            "id": [f"d{i}" for i in range(rows)],
            "text": texts,
            "n": pa.array([draw.randrange(1000) if i % 7 else None for i in range(rows)]),
            "tags": [[str(i % 3)] * (i % 4) for i in range(rows)],
            "kind": pa.array([("a", "b")[i % 2] for i in range(rows)]).dictionary_encode(),
        }
    )


ROWS = ("csv", "jsonl")


def rows(kind: str, made: pa.Table) -> str:
    """The documents as lines."""
    found = made.select(["id", "text", "n"]).to_pylist()
    if kind == "jsonl":
        return "".join(
            json.dumps(row | {"text": row["text"] + " für"}, ensure_ascii=False) + "\n" for row in found
        )
    lines = (f'{row["id"]},"{row["text"]} für",{row["n"]}\n' for row in found)
    return "id,text,n\n" + "".join(lines)


def whole(kind: str, seed: int) -> bytes:
    """A file that is not damaged yet, written in one of several ways."""
    out = io.BytesIO()
    made = table(seed % 5)
    if kind == "parquet":
        options = (
            {"compression": "none", "use_dictionary": False},
            {"compression": "snappy"},
            {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 20},
            {"compression": "gzip", "use_dictionary": False, "write_page_checksum": True},
            {"compression": "none", "store_schema": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
        )[seed % 5]
        if "column_encoding" in options:
            options["use_dictionary"] = False
        pq.write_table(made, out, **options)
    elif kind in ROWS:
        out.write(rows(kind, made).encode(("utf-8", "cp1252", "utf-16", "utf-8-sig", "utf-16-le")[seed % 5]))
    else:
        opened = pa.ipc.new_file if seed % 2 else pa.ipc.new_stream
        compression = (None, "lz4", "zstd")[seed % 3]
        with opened(out, made.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as file:
            file.write_table(made, max_chunksize=25)
    return out.getvalue()


def damaged(kind: str, seed: int) -> bytes:
    """A file with one to eight bytes changed, the last kilobytes, where footers are, more often than others."""
    content = bytearray(whole(kind, seed))
    draw = random.Random(seed)
    for _ in range(draw.choice((1, 1, 2, 4, 8))):
        place = draw.randrange(len(content))
        if draw.random() < 0.4:
            place = len(content) - 1 - draw.randrange(min(len(content), 2500))
        content[place] = draw.randrange(256) if draw.random() < 0.5 else content[place] ^ (1 << draw.randrange(8))
    return bytes(content)


def outcomes(kind: str, seeds: Sequence[int]) -> Iterator[tuple[int, str]]:
    """(seed, outcome) for each; runs in processes of their own, one after the other."""
    left = list(seeds)
    while left:
        command = [sys.executable, __file__, "--kind", kind, "--inside", json.dumps(left)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        told = [line.split("\t", 1) for line in process.stdout.splitlines() if "\t" in line]
        for seed, outcome in told:
            yield int(seed), outcome
        left = left[len(told) :]
        if left and process.returncode:
            yield left.pop(0), f"crash: status {process.returncode} {process.stderr.strip()[-200:]}"


def outcome(path: Path, folder: Path) -> str:
    """A whole run over a file."""
    from neardup.deduplication.run.find import run
    from neardup.deduplication.run.save import save
    from neardup.deduplication.run.stages.records import Inputs
    from neardup.errors import NeardupError
    from neardup.io.readers import choose_columns, open_files
    from neardup.settings import Settings

    try:
        documents = open_files([path])
        columns = choose_columns(documents, "text", None)
        found = run(Inputs(documents, columns, Settings.of(threads=1), action="dedup"))
        save(found, folder / "out", action="dedup", overwrite=True)
    except NeardupError as error:
        return f"refused: {str(error).splitlines()[0][:150]}"
    except Exception as error:
        import traceback

        place = traceback.extract_tb(error.__traceback__)[-1]
        return (
            f"mistake: {type(error).__name__}: {str(error)[:100]!r} at {Path(place.filename).name}:{place.lineno}"
        )
    return "done with problems" if found.found.problems else "done"


def inside(kind: str, seeds: Sequence[int]) -> None:
    """Print the outcome of each file, one a line, at once: the next may end the process."""
    with tempfile.TemporaryDirectory() as name:
        for seed in seeds:
            path = Path(name, f"a.{kind}")
            path.write_bytes(damaged(kind, seed))
            print(seed, outcome(path, Path(name)), sep="\t", flush=True)


def main() -> None:
    """Run the requested files and count their outcomes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=("parquet", "arrow", *ROWS), default="parquet")
    parser.add_argument("--count", type=int, default=2500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inside", type=json.loads)
    given = parser.parse_args()
    if given.inside is not None:
        inside(given.kind, given.inside)
        return
    counts: collections.Counter[str] = collections.Counter()
    for seed, told in outcomes(given.kind, range(given.first, given.first + given.count)):
        counts[told.partition(":")[0]] += 1
        if told.startswith(("mistake", "crash")):
            print(seed, told)
    print(dict(counts))


if __name__ == "__main__":
    main()
