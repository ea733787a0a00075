"""The parts of a stream: each window is in one part, also those of a long document."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.corpus.repetition.stream import CorpusTokens, DocumentRows


@pytest.mark.parametrize("sizes", [[1_300_000], [10, 0, 700_000, 5, 270_000, 3], [0], [2, 1]])
def test_each_window_is_in_one_part(sizes: list[int]) -> None:
    length, ends = 4, np.cumsum(sizes)
    tokens = np.arange(ends[-1], dtype=np.uint64)
    rows = DocumentRows(np.zeros(len(sizes), np.int64), np.arange(len(sizes)), {0: "made"}, None)
    found = np.zeros(ends[-1], np.int64)
    for begin, of_part, ends_there in CorpusTokens(tokens, ends, rows, ()).parts(length):
        assert of_part.tolist() == list(range(begin, begin + len(of_part)))
        first = 0
        for end in ends_there.tolist():
            found[begin + first : begin + max(first, end - length + 1)] += 1
            first = end
    expected = np.zeros(ends[-1], np.int64)
    for end, size in zip(ends.tolist(), sizes, strict=True):
        expected[end - size : max(end - size, end - length + 1)] = 1
    assert (found == expected).all()
