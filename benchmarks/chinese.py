"""Corpora with Chinese text: manual pages recombined, and a mixture with source code.

    python benchmarks/chinese.py PAGES code.parquet FOLDER [--documents 40000]

PAGES is a folder of translated manual pages (Debian's manpages-zh, unpacked); lines that begin with a request of
the formatter are left out. ``recombined.py`` makes ``chinese.parquet`` of them, documents of about 5 kB.
``mixed.parquet`` has one document of it and one of the source code in turns.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def main() -> None:
    """Write both corpora."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=Path)
    parser.add_argument("code", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=40_000)
    given = parser.parse_args()
    source = given.folder / "chinese.jsonl"
    with source.open("w", encoding="utf-8") as out:
        for page in sorted(given.pages.rglob("*.gz")):
            if page.is_file() and not page.is_symlink():
                lines = gzip.decompress(page.read_bytes()).decode(errors="replace").split("\n")
                text = "\n".join("" if line.startswith((".", "'")) else line for line in lines)
                out.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    chinese = given.folder / "chinese.parquet"
    recombine = [sys.executable, Path(__file__).with_name("recombined.py"), chinese, source]
    subprocess.run([*recombine, "--documents", str(given.documents)], check=True)
    columns = [
        pq.read_table(file, columns=["text"])["text"].cast(pa.large_string()).slice(0, given.documents).to_pylist()
        for file in (given.code, chinese)
    ]
    texts = list(chain.from_iterable(zip(*columns, strict=False)))
    ids = [str(number) for number in range(len(texts))]
    pq.write_table(
        pa.table({"id": ids, "text": pa.array(texts, pa.large_string())}), given.folder / "mixed.parquet"
    )


if __name__ == "__main__":
    main()
