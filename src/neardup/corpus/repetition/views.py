"""The account of repeated passages: lines for a terminal, a page, and a fragment of it for notebooks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.display import counted, number, percent, printable
from neardup.display.pictures import ChartBar, Picture, columns, text
from neardup.display.view import facts, heading, page_of_sections, paragraph, table, view
from neardup.tables import Int64s

LISTED = 1000
"""The most files that a page lists."""
PICTURED = 8
"""The most files with pictures of their own: those with most repeated tokens."""
SHOWN = 25
"""The passages in most documents that a page shows."""
_LOOKED_AT = 10
"""Passages that are looked at for each one that is listed."""
_KNOWN_BY = 60
"""Characters at the beginning of a passage by which it is found in another."""
_WIDTH, _HEIGHT, _MARGIN = 560, 190, 12


@dataclass(frozen=True, eq=False)
class PassagesAccount:
    """The parts of a result that people see: its account (see ``run.json``), and the table of passages."""

    account: Mapping[str, Any]
    passages: pa.Table

    @property
    def counts(self) -> Mapping[str, int]:
        """The counts of the account."""
        counts: Mapping[str, int] = self.account["counts"]
        return counts

    @property
    def unit(self) -> str:
        """The repeated unit: passage, line, paragraph or sentence."""
        return str(self.account["rules"]["unit"])

    @property
    def share(self) -> str:
        """The share of the corpus that is repetition."""
        return percent(self.counts["repeated_tokens"], self.counts["tokens"] or 1)

    def sources(self) -> list[Mapping[str, Any]]:
        """The files, those with most repeated tokens first."""
        return sorted(self.account["sources"], key=lambda row: (-row["repeated"], row["source"]))

    def top(self, most: int) -> tuple[list[dict[str, Any]], int]:
        """The passages in most documents, longer ones first, and how many were left out between them.

        Left out are those that share text with one before them, such as a footer with the line above it.
        """
        order = [("documents", "descending"), ("tokens", "descending"), ("passage", "ascending")]
        numbers = self.passages.select([name for name, _ in order])
        rows, skipped = list[dict[str, Any]](), 0
        for place in pc.select_k_unstable(numbers, most * _LOOKED_AT, order).to_pylist():
            # a row at a time: taking from a table would copy the samples of all passages
            [row] = self.passages.slice(place, 1).to_pylist()
            if any(_share_text(row["sample"], one["sample"]) for one in rows):
                skipped += 1
            elif len(rows) < most:
                rows.append(row)
        return rows, skipped


def lines_of(shown: PassagesAccount, most: int = 5) -> Iterator[str]:
    """The account for people: the share of repetition, that of each file, and the passages in most documents."""
    counts, rules = shown.counts, shown.account["rules"]
    passages, places = counted(counts["passages"], f"repeated {shown.unit}"), counted(counts["places"], "place")
    yield f"{passages} of at least {rules['length']} tokens, in {places}"
    sources = shown.sources()
    files = f", in {number(sum(row['repeated'] > 0 for row in sources))} of {counted(len(sources), 'file')}"
    yield f"{shown.share} of {counted(counts['tokens'], 'token')} are in them" + files * (len(sources) > 1)
    if 2 * rules["graphemes"] > counts["tokens"]:
        words = round(rules["length"] / rules["graphemes_of_word"])
        yield (
            f"most tokens are graphemes of scripts without spaces, {rules['graphemes_of_word']} to a word: "
            f"{rules['length']} are about {words} words"
        )
    if not rules["nested"]:
        yield "passages that lie within longer ones everywhere are not listed: they have too many places"
    for row in sources[:most] if len(sources) > 1 else []:
        share = percent(row["repeated"], row["tokens"] or 1)
        yield f"{printable(row['source'])}: {share} of {counted(row['tokens'], 'token')}"
    if len(sources) > most:
        yield f"and {counted(len(sources) - most, 'more file')}: run.json has them all"
    rows, skipped = shown.top(most)
    for row in rows:
        yield f"  {counted(row['tokens'], 'token')}, {_places(row)}, first in {printable(row['id'])}"
        yield f"    {printable(excerpt(row['sample']))}"
    if skipped:
        yield f"{counted(skipped, 'passage')} with text of these left out here: passages.parquet has them"


def _share_text(sample: str, other: str) -> bool:
    """Whether the beginning of one passage is in the sample of the other."""
    return sample[:_KNOWN_BY] in other or other[:_KNOWN_BY] in sample


def _places(row: Mapping[str, Any]) -> str:
    return f"{counted(row['times'], 'time')} in {counted(row['documents'], 'document')}"


def excerpt(passage: str, most: int = 100) -> str:
    """The beginning of a passage, on one line."""
    line = " ".join(passage.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def doubling_intervals(values: Int64s, least: int) -> list[tuple[int, int, int]]:
    """Count values in intervals that double: (first, last, number of values), from ``least`` to the largest one.

    >>> doubling_intervals(np.array([50, 99, 100, 500]), 50)
    [(50, 99, 2), (100, 199, 1), (200, 399, 0), (400, 799, 1)]
    """
    if not len(values):
        return []
    steps = int(max(int(values.max()), least) // least).bit_length()
    edges = least << np.arange(steps + 1)
    counts = np.histogram(values, edges)[0]
    # the last interval of numpy includes its end, which no value reaches
    return [
        (int(low), int(high) - 1, int(count)) for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]


def picture(intervals: Sequence[tuple[int, int, int]], title: str, axis: str) -> Picture:
    """Draw counts in intervals as columns; a bar of each, with its number."""
    most = max((count for *_, count in intervals), default=0) or 1
    bars = [
        ChartBar(number(low) if low < 10_000 else f"{low // 1000:,}k", count, count / most, False)
        for low, _, count in intervals
    ]
    in_words = ", ".join(f"{low:,} to {high:,}: {count:,}" for low, high, count in intervals) or "none"
    base = _HEIGHT - 44
    parts = (
        text(_MARGIN, 18, title, kind="named"),
        *columns(bars, _MARGIN, _WIDTH - _MARGIN, base, base - 56),
        text(_MARGIN, _HEIGHT - 8, axis, kind="small"),
    )
    return Picture(_WIDTH, _HEIGHT, title, f"{title}. {in_words}.", parts)


def pictures(passages: pa.Table, unit: str, length: int, where: str = "") -> list[Picture]:
    """Draw the passages by length, and by the number of their places."""
    noun = f"Repeated {unit}s{where}"
    tokens, times = (passages[name].to_numpy() for name in ("tokens", "times"))
    return [
        picture(doubling_intervals(tokens, length), f"{noun}, by length", "tokens, from this to the next"),
        picture(doubling_intervals(times, 2), f"{noun}, by count", "times that one occurs, from this to the next"),
    ]


def as_page(shown: PassagesAccount) -> str:
    """A self-contained page: the account, pictures of all files and of each, the passages in most documents."""
    return page_of_sections("Repeated passages", _sections(shown, inline=False), "neardup passages")


def as_fragment(shown: PassagesAccount) -> str:
    """The account, the pictures of all files, and the passages in most documents, for a notebook."""
    return view(*_sections(shown, inline=True))


def _sections(shown: PassagesAccount, inline: bool) -> Iterator[str]:
    counts, rules = shown.counts, shown.account["rules"]
    yield facts(
        [
            ("documents", number(counts["documents"])),
            (f"repeated {shown.unit}s", f"{number(counts['passages'])} of at least {rules['length']:,} tokens"),
            ("places", number(counts["places"])),
            (
                "repeated tokens",
                f"{number(counts['repeated_tokens'])} of {number(counts['tokens'])} ({shown.share})",
            ),
        ]
    )
    if shown.passages.num_rows:
        for drawn in pictures(shown.passages, shown.unit, rules["length"]):
            yield drawn.figure()
    yield heading("Files")
    sources = shown.sources()
    rows = [
        (
            printable(row["source"]),
            number(row["documents"]),
            number(row["tokens"]),
            percent(row["repeated"], row["tokens"] or 1),
        )
        for row in sources[:LISTED]
    ]
    yield table(("file", "documents", "tokens", "repeated"), rows, frozenset((1, 2, 3)), inline=inline)
    yield heading(f"The {shown.unit}s in most documents")
    most = [
        (
            number(row["documents"]),
            number(row["times"]),
            number(row["tokens"]),
            printable(row["id"]),
            excerpt(row["sample"], 300),
        )
        for row in shown.top(SHOWN)[0]
    ]
    head = ("documents", "times", "tokens", "first in", "text")
    yield table(head, [[printable(cell) for cell in row] for row in most], frozenset((0, 1, 2)), inline=inline)
    if inline or len(sources) < 2:
        return
    yield heading("Each file")
    yield paragraph(
        f"The {shown.unit}s whose first place is in the file, for the files with most repeated tokens."
    )
    for row in sources[:PICTURED]:
        sizes = shown.passages.select(["tokens", "times"])  # without the samples, which are far larger
        of_source = sizes.filter(pc.equal(shown.passages["source"], row["source"]))
        if of_source.num_rows:
            for drawn in pictures(of_source, shown.unit, rules["length"], f" first in {printable(row['source'])}"):
                yield drawn.figure()
