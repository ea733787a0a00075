"""Lines, paragraphs and sentences that occur more than once, as whole units."""

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

import numpy as np

from neardup.comparison.records import LINE, NONE, breaks_of
from neardup.corpus.repetition.repeats import MaximalRepeats
from neardup.corpus.repetition.stream import CorpusTokens, DocumentText
from neardup.corpus.repetition.windows import RepeatedBlocks
from neardup.deduplication.runs import Meter
from neardup.errors import SettingError
from neardup.kernels.passages import are_equal_ranges, first_of_each, range_hashes
from neardup.kernels.sorting import equal_groups
from neardup.kernels.text import PRIME
from neardup.tables import Int64s
from neardup.text.keys import new_key
from neardup.text.units import words

Unit: TypeAlias = Literal["passage", "line", "paragraph", "sentence"]
"""What may occur more than once: any run of tokens, or whole units."""
LEAST_OF_UNIT = 5
"""The least number of tokens of a unit, unless another one is given."""
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n|\u2029|\f")


def unit_of(name: str) -> Unit:
    """Check the name of a unit. Raises SettingError."""
    for unit in get_args(Unit):
        if unit == name:
            checked: Unit = unit
            return checked
    raise SettingError(f"unit is {name}", f"one of {', '.join(get_args(Unit))}")


def repeated_units(
    stream: CorpusTokens, texts: Iterable[DocumentText], unit: Unit, least: int, meter: Meter
) -> RepeatedBlocks:
    """The lines, paragraphs or sentences of at least ``least`` tokens that occur more than once.

    ``texts`` are all documents of the stream, in order. Units are equal if their tokens are: hashes group them,
    and the tokens of each are compared with those of the first of its group. Each unit is a block of
    windows of one token.
    """
    begins, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    with meter.stage("units", len(stream.ends), "documents") as advance:
        for read in texts:
            edges = unit_edges(read.text.decode("utf-8", "replace"), unit) + stream.begins_at(read.document)
            begins.append(edges[:-1])
            ends.append(edges[1:])
            advance(1)
    begin, end = np.concatenate(begins), np.concatenate(ends)
    enough = end - begin >= max(1, least)
    begin, end = begin[enough], end[enough]
    first = _first_units(stream, begin, end)
    again = first >= 0
    _, numbers = np.unique(first[again], return_inverse=True)
    return RepeatedBlocks(1, begin[again], (end - begin)[again], numbers.astype(np.int64))


def unit_edges(text: str, unit: Unit) -> Int64s:
    r"""Return the tokens at which the units of a text begin, and the number of tokens at the end.

    Lines and sentences are those of ``neardup compare``: a line also ends a sentence, and lines without a token
    belong to no unit. A paragraph ends at a blank line.

    >>> [unit_edges("One. Two\nthree\n\nfour", unit).tolist() for unit in ("sentence", "line", "paragraph")]
    [[0, 2, 3, 4], [0, 2, 3, 4], [0, 3, 4]]
    """
    read = words(text)
    kinds = breaks_of(read).kinds
    starts = np.flatnonzero(kinds != NONE if unit == "sentence" else kinds == LINE)
    if unit == "paragraph":
        plain = [
            start
            for start in starts[1:-1].tolist()
            if _BLANK_LINE.search(re.sub(r"\r\n?", "\n", text[read.spans[start - 1, 1] : read.spans[start, 0]]))
        ]
        starts = np.array([0, *plain, len(read)])
    return np.unique(starts).astype(np.int64)


def _first_units(stream: CorpusTokens, begins: Int64s, ends: Int64s) -> Int64s:
    """For each unit, the first one with the same tokens, or -1 for one that occurs once."""
    hashes, first = np.empty(len(begins), np.uint64), np.empty(len(begins), np.int64)
    while True:
        point = np.uint64(2 + int(new_key().stream[0]) % (int(PRIME) - 2))
        range_hashes(stream.tokens, begins, ends, point, hashes)
        first[:] = -1
        first_of_each(*equal_groups(hashes), first)
        if are_equal_ranges(stream.tokens, begins, ends, first):
            return first


def unit_repeats(blocks: RepeatedBlocks) -> MaximalRepeats:
    """The units that occur more than once, with all their places."""
    order = np.argsort(blocks.numbers, kind="stable").astype(np.int32)
    times = np.bincount(blocks.numbers, minlength=blocks.count)
    ends = np.cumsum(times)
    first = order[ends - times].astype(np.int64)
    ranges = np.column_stack((ends - times, ends))
    numbers = blocks.numbers.astype(np.int32)
    one = np.ones(len(times), np.int64)
    return MaximalRepeats(blocks, blocks.windows[first], times, one, first, ranges, order, numbers, True)
