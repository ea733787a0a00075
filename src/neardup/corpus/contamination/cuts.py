"""Passages of test items in a training text, and the text without them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from neardup.corpus.contamination.evidence import Weights
from neardup.corpus.contamination.matches import decode_text, valid_text
from neardup.errors import SettingError
from neardup.io.inputs import Chosen, Documents, NativeRows
from neardup.io.outputs import have_one_column, with_texts
from neardup.kernels.shingles import shingle_hashes
from neardup.tables import Bools, Int64s, UInt64s
from neardup.text.units import words

MARKER = "[…]"
"""The text in the place of a passage, unless another is given."""

Passage = tuple[int, int]
"""The characters of a passage in its text: begin and end."""


@dataclass(frozen=True, eq=False)
class Cutter:
    """Cuts the passages of items out of training texts, with a ``marker`` in their place.

    A passage is a run of tokens that windows of the items cover, at least one of them not common; runs with fewer
    tokens between them than a shingle has (``length``) are one. It begins and ends with whole tokens.
    """

    weights: Weights
    length: int
    marker: str = MARKER

    def passages(self, text: str, items: Iterable[int]) -> list[Passage]:
        """The passages of the items in a text, in order; they do not overlap."""
        read = words(text, self.weights.items.key)
        covered, weighty = self._covered_tokens(read.hashes, sorted(set(items)))
        edges = np.flatnonzero(np.diff(np.concatenate(([0], covered.astype(np.int8), [0]))))
        runs: list[list[int]] = []
        for begin, end in edges.reshape(-1, 2).tolist():
            if runs and begin - runs[-1][1] < self.length:
                runs[-1][1] = end
            else:
                runs.append([begin, end])
        return [_whole(read.spans, begin, end) for begin, end in runs if weighty[begin:end].any()]

    def cut(self, text: str, passages: Iterable[Passage]) -> str:
        """The text with the marker in the place of each passage."""
        pieces, done = [], 0
        for begin, end in passages:
            pieces += [text[done:begin], self.marker]
            done = end
        return "".join((*pieces, text[done:]))

    def _covered_tokens(self, tokens: UInt64s, items: list[int]) -> tuple[Bools, Bools]:
        """Which tokens the windows of the items cover, and which of them are in windows that are not common."""
        known, common = self.weights.items, self.weights.common
        hashes = np.concatenate((known.wanted.shingles, known.wanted.whole))
        covered, weighty = np.zeros(len(tokens), np.bool_), np.zeros(len(tokens), np.bool_)
        for length in np.unique(known.lengths[items]).tolist():
            if len(tokens) < length:
                continue
            in_text = np.empty(len(tokens), np.uint64)
            in_text = in_text[: shingle_hashes(tokens, len(tokens), length, known.key.shingles, in_text)]
            numbers = np.unique(np.concatenate([known.windows_of(k) for k in items if known.lengths[k] == length]))
            of_items = np.isin(in_text, hashes[numbers])
            heavy = np.isin(in_text, hashes[numbers[~common[numbers]]])
            for offset in range(length):
                covered[offset : offset + len(in_text)] |= of_items
                weighty[offset : offset + len(in_text)] |= heavy
        return covered, weighty


def _whole(spans: Int64s, begin: int, end: int) -> Passage:
    """The characters of some tokens, with the tokens that share a character with them: ½ has two."""
    while begin > 0 and spans[begin - 1, 1] > spans[begin, 0]:
        begin -= 1
    while end < len(spans) and spans[end, 0] < spans[end - 1, 1]:
        end += 1
    return int(spans[begin, 0]), int(spans[end - 1, 1])


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def require_one_column(documents: Documents, columns: Chosen) -> None:
    """Raise SettingError if passages cannot be cut out of the documents."""
    if not have_one_column(documents, columns.text):
        raise SettingError(
            "cut changes texts, and these are files of their own, or joined from several fields",
            "Data files with one column of texts",
            "Use --tag or --drop",
        )


@dataclass(frozen=True, eq=False)
class CutRows:
    """The rows of a chunk without the passages, and the passages: row, begin and end in bytes, text."""

    native: NativeRows
    passages: list[tuple[int, int, int, str]]


def ids_of(matches: pa.Table) -> dict[tuple[str, int], str]:
    """Return the ids of the documents of a table of matches (MATCHES), by file and row."""
    ids, sources, rows = (matches[name].to_pylist() for name in ("id", "source", "row"))
    return dict(zip(zip(sources, rows, strict=True), ids, strict=True))


def cut_rows(native: NativeRows, column: str, hits: Mapping[int, Sequence[int]], cutter: Cutter) -> CutRows:
    """Cut the passages of items out of rows; ``hits`` has the items by row number. Other values stay the same."""
    passages: list[tuple[int, int, int, str]] = []

    def cut(data: bytes, number: int) -> bytes:
        text = decode_text(data)
        places = cutter.passages(text, hits[number])
        for begin, end in places:
            before, cut = (_encode(part) for part in (text[:begin], text[begin:end]))
            passages.append((number, len(before), len(before) + len(cut), valid_text(text[begin:end])))
        return _encode(cutter.cut(text, places))

    return CutRows(with_texts(native, column, hits.keys(), cut), passages)
