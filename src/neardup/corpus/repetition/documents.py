"""Repetition within each document: the figures of published rules of quality, and of the passages found.

The rules are those of Gopher (Rae et al. 2021, "Scaling Language Models: Methods, Analysis & Insights from
Training Gopher", table A1), which later filters took over. The paper has no code; ``OwnRepetition`` states the
definitions.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.corpus.repetition.passages import RepeatedPassages
from neardup.deduplication.runs import Meter
from neardup.tables import Int64s, UInt64s

TOP, DUPLICATE = range(2, 5), range(5, 11)
"""The n of the figures for the most frequent n-gram, and of those for all repeated n-grams."""

DOCUMENTS = pa.schema(
    [
        ("id", pa.large_string()),
        ("source", pa.large_string()),
        ("row", pa.int64()),
        ("tokens", pa.int64()),
        ("repeated_tokens", pa.int64()),
        ("longest_own_passage", pa.int64()),
        ("repeated_lines", pa.float64()),
        ("repeated_line_characters", pa.float64()),
        ("repeated_paragraphs", pa.float64()),
        ("repeated_paragraph_characters", pa.float64()),
        *((f"top_{n}_gram", pa.float64()) for n in TOP),
        *((f"repeated_{n}_grams", pa.float64()) for n in DUPLICATE),
    ]
)
"""The columns of documents.parquet; ``longest_own_passage``: tokens of the longest passage that is there twice."""


class OwnRepetition(NamedTuple):
    """The share of a text that repeats other parts of it.

    ``lines`` and ``paragraphs``: of the lines with a text (or the parts between blank lines), the share that
    equals an earlier one, but for white space at the ends; and the share of the characters in them.
    ``top``: for n of TOP, the characters covered by the most frequent n-gram of tokens, if it occurs twice; of
    several, the one that covers most. ``duplicate``: for n of DUPLICATE, the characters covered by all n-grams
    that occur twice. An n-gram covers the text from its first token to its last, and characters count once.
    """

    lines: tuple[float, float]
    paragraphs: tuple[float, float]
    top: tuple[float, ...]
    duplicate: tuple[float, ...]


def own_repetition(text: str, tokens: UInt64s, spans: Int64s) -> OwnRepetition:
    r"""Measure a text; ``tokens`` are hashes, and ``spans`` (int64[n, 2]) their characters.

    >>> import numpy as np
    >>> spans = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    >>> own_repetition("a b\na b", np.array([1, 2, 1, 2], np.uint64), spans).lines
    (0.5, 0.42857142857142855)
    """
    whole = max(1, len(text))
    return OwnRepetition(
        _repeated_shares(text.splitlines(), whole),
        _repeated_shares(_paragraphs(text), whole),
        tuple(max(_covered_by(tokens, spans, n, True), default=0) / whole for n in TOP),
        tuple(sum(_covered_by(tokens, spans, n, False)) / whole for n in DUPLICATE),
    )


def _paragraphs(text: str) -> list[str]:
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1].append(line.strip())
        elif paragraphs[-1]:
            paragraphs.append([])
    return ["\n".join(lines) for lines in paragraphs]


def _repeated_shares(parts: Sequence[str], whole: int) -> tuple[float, float]:
    stripped = [part.strip() for part in parts if part.strip()]
    again = [(part, times - 1) for part, times in Counter(stripped).items() if times > 1]
    characters = sum(len(part) * times for part, times in again)
    return sum(times for _, times in again) / max(1, len(stripped)), characters / whole


def _covered_by(tokens: UInt64s, spans: Int64s, n: int, alone: bool) -> Iterator[int]:
    """The characters that repeated n-grams cover: of each of the most frequent ``alone``, or of all together."""
    count = len(tokens) - n + 1
    if count < 2:
        return
    grams = np.zeros(count, np.int64)
    for k in range(n):  # names of the n-grams, exactly: pairs of a name and a token get new names
        _, token = np.unique(tokens[k : k + count], return_inverse=True)
        _, grams = np.unique(grams * np.int64(count) + token, return_inverse=True)
    times = np.bincount(grams)
    if times.max() < 2:
        return
    begins, ends = spans[:count, 0], spans[n - 1 :, 1]
    order = np.flatnonzero(times[grams] == times.max() if alone else times[grams] > 1)
    if alone:
        order = order[np.argsort(grams[order], kind="stable")]
    begins, ends, grams = begins[order], ends[order], grams[order]
    before = np.concatenate((begins[:1], ends[:-1]))
    if alone:  # each n-gram by itself
        before[1:][grams[1:] != grams[:-1]] = 0
    fresh = (ends - np.maximum(begins, before)).clip(0)
    yield from np.bincount(grams, fresh).astype(np.int64).tolist()


def document_table(result: RepeatedPassages, meter: Meter) -> pa.Table:
    """Measure all documents again: a table DOCUMENTS."""
    stream = result.stream
    every = np.arange(len(stream.documents))
    measured: list[tuple[float, ...]] = []
    with meter.stage("documents", len(every), "documents") as advance:
        for read in result.read(every):
            begin, end = stream.begins_at(read.document), int(stream.ends[read.document])
            data = np.frombuffer(read.text, np.uint8)
            characters = np.concatenate((np.zeros(1, np.int64), np.cumsum((data & 0xC0) != 0x80)))
            own = own_repetition(
                read.text.decode("utf-8", "replace"), stream.tokens[begin:end], characters[read.tokens]
            )
            measured.append((*own.lines, *own.paragraphs, *own.top, *own.duplicate))
            advance(1)
    rows = stream.documents
    columns = [
        rows.ids_of(every),
        rows.sources_of(every),
        rows.rows,
        np.diff(stream.ends, prepend=0),
        result.repeated,
        _longest_own(result),
        *(zip(*measured, strict=True) if measured else ((),) * (len(DOCUMENTS) - 6)),
    ]
    return pa.table(
        [pa.array(column, kind.type) for column, kind in zip(columns, DOCUMENTS, strict=True)], schema=DOCUMENTS
    )


def _longest_own(result: RepeatedPassages) -> Int64s:
    """For each document the tokens of the longest passage with two places in it, or 0."""
    longest = np.zeros(len(result.stream.documents), np.int64)
    repeats, of_blocks = result.repeats, result.stream.documents_at(result.blocks.places)
    for low, high in repeats.slices():
        placed = repeats.places(low, high)
        passages, documents = placed.passages, of_blocks[placed.occurrences]
        again = np.flatnonzero((passages[1:] == passages[:-1]) & (documents[1:] == documents[:-1])) + 1
        np.maximum.at(longest, documents[again], repeats.tokens[passages[again]])
    return longest
