"""Read and write WET and WARC files: processor time of each part, in one thread, beside warcio alone.

python benchmarks/web_archives.py FILE.warc.wet.gz ...
python benchmarks/web_archives.py --make 60  # a WET file of 60 MB of invented words, packed and plain
"""

import io
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from neardup.io.readers import choose_columns, open_documents
from neardup.io.writers import OutputFolder, open_kept

ROUNDS = 5
PAGE_WORDS = 800  # the mean of a WET record of Common Crawl is 5 kB


def made(folder: Path, size: int) -> list[Path]:
    """Write a WET file of about ``size`` MB by warcio, packed and plain."""
    from warcio.warcwriter import WARCWriter

    draw = random.Random(7)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(20_000)]
    paths = [folder / "made.warc.wet.gz", folder / "made.warc.wet"]
    with paths[0].open("wb") as packed, paths[1].open("wb") as plain:
        writers = [WARCWriter(packed, gzip=True), WARCWriter(plain, gzip=False)]
        for number in range(size * 1_000_000 // (PAGE_WORDS * 6)):
            text = " ".join(draw.choices(words, k=PAGE_WORDS)).encode()
            for writer in writers:
                record = writer.create_warc_record(
                    f"https://example.org/{number}",
                    "conversion",
                    payload=io.BytesIO(text),
                    warc_content_type="text/plain",
                    warc_headers_dict={
                        "WARC-Identified-Content-Language": "eng",
                        "WARC-Refers-To": "<urn:uuid:x>",
                    },
                )
                writer.write_record(record)
    return paths


def by_warcio(path: Path) -> int:
    """Read all records by warcio alone."""
    from warcio.archiveiterator import ArchiveIterator

    with path.open("rb") as file:
        return sum(len(record.content_stream().read()) for record in ArchiveIterator(file))


def read(path: Path) -> int:
    """Read the text and address of each record."""
    documents = open_documents(path)
    choose_columns(documents, "text", "url")
    names = ["text", "url"]
    return sum(chunk.read(names).table.nbytes for chunk in documents.chunks(None, names))


def written(path: Path) -> int:
    """Read, and write every second record, as ``dedup`` does."""
    documents = open_documents(path)
    choose_columns(documents, "text", "url")
    for chunk in documents.chunks(None, ["text"]):
        chunk.read(["text"])
    with (
        tempfile.TemporaryDirectory() as folder,
        OutputFolder(Path(folder) / "out") as out,
        open_kept(out, documents, threads=1) as writer,
    ):
        for _, native in writer.natives():
            rows = native()
            writer.write(rows, np.arange(len(rows.row_numbers)) % 2 == 0)
        writer.close()
    return 0


def speed(work: Callable[[Path], int], path: Path, text: int) -> float:
    """Return MB of text per second of processor time: the median of some rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work(path)
        times.append(time.process_time() - start)
    return text / 1e6 / median(times)


def main() -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as folder:
        given = sys.argv[1:]
        paths = made(Path(folder), int(given[1])) if given[:1] == ["--make"] else list(map(Path, given))
        print("| file | text | warcio alone | read | read and write half |\n|---|---|---|---|---|")
        for path in paths:
            text = by_warcio(path)
            rates = [f"{speed(work, path, text):,.0f} MB/s" for work in (by_warcio, read, written)]
            print(f"| {path.name} | {text / 1e6:,.0f} MB | {' | '.join(rates)} |")


if __name__ == "__main__":
    main()
