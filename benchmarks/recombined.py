"""Documents of 2 to 4 kB recombined from real texts, with overlaps of every size.

    python benchmarks/recombined.py OUT.parquet SOURCE... [--documents 1000000]

Sources are folders of text files (plain or .gz, no markup, such as /usr/share/doc), Parquet or JSONL files with a
column ``text``, or text files. The draw has a fixed seed. A paragraph of the sources is taken once, however often
and with whatever changes behind its first 50 letters it stands there, so that what recurs is what is drawn again.
Of the documents made

- 45 % are paragraphs as they follow one another in the sources,
- 20 % are single paragraphs drawn from anywhere,
- 10 % quote 10 to 90 % of an earlier document and continue with a source,
- 24 % are revisions of an earlier document, with .2 to 20 % of its words changed, left out or put in,
- 1 % are copies;

and 10 % of the first three kinds begin with one of 40 headers, which are the paragraphs of 120 to 250 characters
that recur most in the sources (licences, mostly): each is in thousands of a million documents.

When the sources are used up, they begin again with other words: each word of four letters or more becomes one of
about the same frequency, everywhere the same. That is new text with the vocabulary of the old, and what it has in
common with others is what the draw gives it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
SHORTEST, LONGEST = 2000, 4000
"""Characters of a document."""
LETTERS = re.compile(r"[^\W\d_]+")
WORD, NEIGHBOURS = re.compile(r"[^\W\d_]{4,}"), 50
BEGIN = 50
"""Letters by which paragraphs are taken for the same."""
MARKUP = {".html", ".htm", ".xhtml", ".xml", ".svg"}
HEADERS, HEADER_SHARE = 40, 0.1
REMEMBERED = 100_000
"""Earlier documents that later ones are made from, drawn anew all the time."""
_SCHEMA = pa.schema([("id", pa.string()), ("text", pa.large_string())])
_ROWS = 10_000


def sources(files: list[Path]) -> Iterator[str]:
    """The texts of the files; of folders, those of all their files that are text."""
    for file in files:
        if file.is_dir():
            parts = sorted(part for part in file.rglob("*") if part.is_file() and not part.is_symlink())
            yield from sources([part for part in parts if not MARKUP & set(part.suffixes)])
        elif file.suffix == ".parquet":
            for batch in pq.ParquetFile(file).iter_batches(columns=["text"]):
                yield from batch.column(0).to_pylist()
        elif file.suffix == ".jsonl":
            with file.open(encoding="utf-8") as lines:
                yield from (json.loads(line)["text"] for line in lines)
        else:
            yield from _text(file)


def _text(file: Path) -> Iterator[str]:
    try:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error):
        return
    if b"\0" not in data:
        yield data.decode("utf-8", "replace")


class Recombined:
    """An endless stream of documents."""

    def __init__(self, texts: Iterator[str], seed: int = 1) -> None:
        self._draw = random.Random(seed)
        counted: Counter[str] = Counter()
        first: dict[str, str] = {}
        self._sources = [found for text in texts if (found := _new_paragraphs(text, counted, first))]
        self._draw.shuffle(self._sources)
        self._headers = _headers(counted, first)
        self._earlier: list[str] = []
        self._following = self._walk()
        self._ranked = _ranked(self._sources)
        self._other: dict[str, str] = {}
        self._passes = 0

    def __iter__(self) -> Iterator[str]:
        while True:
            text = self._next()
            if len(text) < SHORTEST // 2:
                continue
            if len(self._earlier) < REMEMBERED:
                self._earlier.append(text)
            elif self._draw.random() < 0.5:
                self._earlier[self._draw.randrange(REMEMBERED)] = text
            yield text

    def _next(self) -> str:
        draw, kind = self._draw, self._draw.random()
        if kind < 0.25 and self._earlier:
            text = draw.choice(self._earlier)
            return text if kind < 0.01 else self._revised(text)
        wanted = draw.randrange(SHORTEST, LONGEST)
        begin = draw.choices(*self._headers)[0] + "\n\n" if draw.random() < HEADER_SHARE else ""
        if kind < 0.35 and self._earlier:
            text = draw.choice(self._earlier)
            length = int(len(text) * draw.uniform(0.1, 0.9))
            start = draw.randrange(len(text) - length + 1)
            begin += text[start : start + length] + "\n\n"
        if kind < 0.55:
            return self._filled(begin, wanted, lambda: self._reworded(draw.choice(draw.choice(self._sources))))
        return self._filled(begin, wanted, lambda: self._reworded(next(self._following)))

    def _walk(self) -> Iterator[str]:
        """All paragraphs, again and again."""
        while True:
            for paragraphs in self._sources:
                yield from paragraphs
            self._passes += 1
            self._other = _exchanged(self._ranked, self._passes)

    def _reworded(self, text: str) -> str:
        other = self._other
        return WORD.sub(lambda found: other.get(found[0], found[0]), text) if other else text

    def _filled(self, begin: str, wanted: int, more: object) -> str:
        assert callable(more)
        parts, size = [begin] if begin else [], len(begin)
        while size < wanted:
            parts.append(more())
            size += len(parts[-1]) + 2
        text = "\n\n".join(parts)
        return text[: max(text.rfind(" ", wanted - 100, wanted), wanted - 100)]

    def _revised(self, text: str) -> str:
        """Words changed, put in, left out: .2 to 20 % of them, evenly by the logarithm."""
        draw = self._draw
        words = text.split(" ")
        for _ in range(max(1, int(len(words) * 0.002 * 100 ** draw.random()))):
            at, what = draw.randrange(len(words)), draw.random()
            other = words[draw.randrange(len(words))]
            words[at] = other if what < 0.6 else "" if what < 0.8 else words[at] + " " + other
        return " ".join(words)[: LONGEST + 200]


def _ranked(sources: list[list[str]]) -> list[str]:
    """The words that occur more than once, the most frequent first."""
    counted = Counter(word for paragraphs in sources for part in paragraphs for word in WORD.findall(part))
    return [word for word, count in counted.most_common() if count > 1]


def _exchanged(ranked: list[str], turn: int) -> dict[str, str]:
    """Each word as another of about the same rank; another one each turn."""
    draw, other = random.Random(turn), list(ranked)
    for begin in range(0, len(other), NEIGHBOURS):
        part = other[begin : begin + NEIGHBOURS]
        draw.shuffle(part)
        other[begin : begin + NEIGHBOURS] = part
    return dict(zip(ranked, other, strict=True))


def _new_paragraphs(text: str, counted: Counter[str], first: dict[str, str]) -> list[str]:
    """The paragraphs of a text that begin otherwise than all before, by their first letters."""
    new = []
    for part in PARAGRAPH_END.split(text):
        if len(part) > 60:
            begin = "".join(LETTERS.findall(part[:300])).lower()[:BEGIN]
            first[begin] = first.get(begin, part)
            counted[begin] += 1
            if counted[begin] == 1:
                new.append(part)
    return new


def _headers(counted: Counter[str], first: dict[str, str]) -> tuple[list[str], list[float]]:
    """The paragraphs that recur most, and weights for drawing them."""
    recurring = (first[begin] for begin, _ in counted.most_common(2000))
    headers = [part for part in recurring if 120 <= len(part) <= 250][:HEADERS]
    return headers, [1 / (place + 5) for place in range(len(headers))]


def write(path: Path, made: Iterator[str], count: int) -> None:
    """A Parquet file of ``count`` documents named d0, d1, d2 …"""
    with pq.ParquetWriter(path.with_suffix(".part"), _SCHEMA) as writer:
        for begin in range(0, count, _ROWS):
            texts = list(islice(made, min(_ROWS, count - begin)))
            ids = [f"d{begin + place}" for place in range(len(texts))]
            writer.write_table(pa.table({"id": ids, "text": texts}, schema=_SCHEMA))
    path.with_suffix(".part").rename(path)


def main() -> None:
    """Make a corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    given = parser.parse_args()
    write(given.out, iter(Recombined(sources(given.sources))), given.documents)
    sizes = np.concatenate(
        [
            np.array([len(text.encode("utf-8", "replace")) for text in batch.column(0).to_pylist()])
            for batch in pq.ParquetFile(given.out).iter_batches(columns=["text"])
        ]
    )
    print(f"{len(sizes):,} documents of {sizes.mean():,.0f} bytes ({sizes.min():,} to {sizes.max():,})")


if __name__ == "__main__":
    main()
