"""Makes the corpus of the speed benchmark: the text files of a source tree, cut into documents of 4–5 kB.

    python benchmarks/corpus.py TREE OUT.parquet [--max-bytes N]

TREE is for example Debian's linux-source-6.1, unpacked. Files are taken in sorted order, cut at line ends,
and written with pyarrow's own defaults (Snappy, row groups of 1 Mi rows), columns id and text.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DOCUMENT_BYTES = 4500


def documents(tree: Path) -> Iterator[tuple[str, bytes]]:
    """(id, text) of every piece of every text file, in sorted order."""
    for folder, subfolders, names in os.walk(tree):
        subfolders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_symlink() or not path.is_file():
                continue
            content = path.read_bytes()
            if b"\0" in content:
                continue
            yield from pieces(str(path.relative_to(tree)), content)


def pieces(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """A file cut at the first line end behind every 4 500 bytes."""
    begin = part = 0
    while begin < len(content):
        cut = content.find(b"\n", begin + DOCUMENT_BYTES) + 1
        end = cut if 0 < cut < len(content) else len(content)
        yield f"{name}#{part}", content[begin:end]
        begin, part = end, part + 1


def build(tree: Path, out: Path, max_bytes: int) -> tuple[int, int]:
    """Write the corpus; (documents, bytes of text)."""
    ids, texts, total = [], [], 0
    for name, content in documents(tree):
        text = content.decode("utf-8", errors="replace")
        ids.append(name)
        texts.append(text)
        total += len(content)
        if total >= max_bytes:
            break
    table = pa.table({"id": pa.array(ids), "text": pa.chunked_array([texts], pa.large_string())})
    pq.write_table(table.cast(pa.schema([("id", pa.string()), ("text", pa.large_string())])), out)
    return len(ids), total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--max-bytes", type=int, default=1 << 40)
    given = parser.parse_args()
    n, size = build(given.tree, given.out, given.max_bytes)
    print(f"{n:,} documents, {size:,} bytes of text, {given.out.stat().st_size:,} bytes on disk")
