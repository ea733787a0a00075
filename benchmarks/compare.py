"""Two documents compared, and many pairs verified by their common text.

    python benchmarks/compare.py [--rounds 5] [--out benchmarks/results/compare.md]

Texts are made of words with the frequencies of a natural language (Zipf) and a fixed seed.
"""

from __future__ import annotations

import argparse
import random
import sys
from itertools import accumulate
from pathlib import Path
from subprocess import DEVNULL, run
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np

import neardup as nd
from neardup.text.units import words
from support.chunk_counts import chunk_measures
from table import Report, seconds

VOCABULARY = 60_000
PAIRS = 2_000


class Author:
    """Writes words by Zipf's law, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))

    def words(self, count: int) -> list[str]:
        """That many words."""
        chosen = self.random.choices(range(VOCABULARY), cum_weights=self._weights, k=count)
        return [f"{'etaoinshr'[number % 9]}{number:x}" for number in chosen]

    def edited(self, text: list[str], edits: int) -> list[str]:
        """The text with this number of words replaced, left out, put in, or paragraphs moved."""
        text = list(text)
        for _ in range(edits):
            at = self.random.randrange(len(text))
            kind = self.random.randrange(4)
            if kind == 0:
                text[at : at + 1] = self.words(1)
            elif kind == 1:
                del text[at]
            elif kind == 2:
                text[at:at] = self.words(1)
            else:
                piece = text[at : at + 60]
                del text[at : at + 60]
                to = self.random.randrange(len(text))
                text[to:to] = piece
        return text


def whole(report: Report, author: Author, rounds: int) -> None:
    """``neardup.compare`` on pairs of several kinds."""
    long, other = author.words(20_000), author.words(170_000)
    cases = {
        "3 kB, 5 edits": (500, long[:500], author.edited(long[:500], 5)),
        "20,000 words, 200 edits": (20_000, long, author.edited(long, 200)),
        "170,000 words (1 MB), 2,000 edits": (170_000, other, author.edited(other, 2_000)),
        "170,000 words, nothing in common": (170_000, other, author.words(170_000)),
        "one word 20,000 times": (20_000, ["word"] * 20_000, ["word"] * 19_000),
        "1 MB of one letter and spaces": (500_000, ["x"] * 500_000, ["x"] * 400_000),
        "a sentence 25,000 times, each numbered": (150_000, numbered(0), numbered(10**6)),
    }
    rows = []
    for name, (size, a, b) in cases.items():
        text_a, text_b = " ".join(a), " ".join(b)
        taken = seconds(lambda text_a=text_a, text_b=text_b: nd.compare(text_a, text_b), rounds)
        by_characters = seconds(
            lambda text_a=text_a, text_b=text_b: nd.compare(text_a, text_b, unit="char"), rounds
        )
        found = nd.compare(text_a, text_b)
        share, proven = found.measures["chunk_longest_literal"], "yes" if found.proven else "no"
        rows.append([name, size, 1000 * taken, 1000 * by_characters, f"{share:.3f}", proven, len(found.caps)])
    columns = ["pair", "words", "ms", "ms by characters", "chunk-longest", "proven", "caps"]
    report.table("neardup.compare, every measure", columns, rows)


def command(report: Report, author: Author, rounds: int) -> None:
    """The whole command on two documents of a megabyte, from its start to the end of what it draws."""
    text = author.words(170_000)
    with TemporaryDirectory() as folder:
        a, b, page = Path(folder) / "a.txt", Path(folder) / "b.txt", Path(folder) / "page.html"
        a.write_text(" ".join(text))
        b.write_text(" ".join(author.edited(text, 2_000)))
        rows = []
        for name, more in (("terminal", []), ("page", ["--html", str(page), "--overwrite"])):
            typed = [sys.executable, "-m", "neardup", "compare", str(a), str(b), *more]
            taken = seconds(lambda typed=typed: run(typed, check=True, stdout=DEVNULL, stderr=DEVNULL), rounds)
            rows.append([name, taken])
    report.table("neardup compare, 1 MB, 2,000 edits, the whole command", ["drawn", "s"], rows)


def numbered(first: int) -> list[str]:
    """A sentence of five words over and over, with another number behind each."""
    return [word for k in range(25_000) for word in ("this", "is", "page", "number", "no", str(first + k))]


def bulk(report: Report, author: Author, rounds: int) -> None:
    """``chunk_measures`` on pairs of documents of about 3 kB."""
    documents = []
    for _ in range(PAIRS):
        text = author.words(500)
        documents += [text, author.edited(text, author.random.randrange(60))]
    hashes = [words(" ".join(document)).hashes for document in documents]
    offsets = np.cumsum([0, *map(len, hashes)])
    tokens, a = np.concatenate(hashes), np.arange(0, len(documents), 2)
    unlike = np.roll(a, 7) + 1
    rows = []
    for name, b in (("a document and its edited copy", a + 1), ("two different documents", unlike)):
        taken = seconds(lambda b=b: chunk_measures(tokens, offsets, a, b), rounds)
        rows.append([name, PAIRS, PAIRS / taken])
    report.table("chunk_measures, one core, 500 words a document", ["pair", "pairs", "pairs a second"], rows)


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--machine", default="idle", help="what else the machine was doing")
    chosen = parser.parse_args()
    report, author = Report("Comparing two documents", chosen.machine), Author(1)
    whole(report, author, chosen.rounds)
    command(report, author, chosen.rounds)
    bulk(report, author, chosen.rounds)
    if chosen.out:
        report.write(chosen.out)


if __name__ == "__main__":
    main()
