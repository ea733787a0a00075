"""Repeated passages of real text against the suffix array of another library."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import neardup as nd
from neardup.tables import Int64s
from support.full_run import FULL

pydivsufsort = pytest.importorskip("pydivsufsort", reason="the group tests of pyproject.toml has it")
SIZE, LENGTH = (50_000_000, 50) if FULL else (1_000_000, 12)


def real_texts(size: int) -> Iterator[str]:
    """Sources and pages of the installed packages: text in ASCII, whose tokens a pattern finds."""
    for name in ("purelib", "stdlib"):
        for path in sorted(Path(sysconfig.get_path(name)).rglob("*")):
            if path.suffix in (".py", ".txt", ".md", ".rst") and path.is_file():
                text = path.read_bytes()
                if text.isascii():
                    yield text.decode()
                    size -= len(text)
            if size < 0:
                return


def token_numbers(texts: list[str]) -> tuple[Int64s, int]:
    """The tokens of all texts as numbers, with a number of its own after each text; the number of tokens."""
    names: dict[str, int] = {}
    numbers: list[int] = []
    for place, text in enumerate(texts):
        words = (word.strip("_") for word in re.findall(r"\w+", text.lower()))
        numbers += [names.setdefault(token, len(names)) for token in words if token]
        numbers.append(-1 - place)
    sequence = np.array(numbers, np.int64)
    sequence[sequence < 0] = len(names) - 1 - sequence[sequence < 0]
    return sequence, len(sequence) - len(texts)


def repeats_by_suffix_array(sequence: Int64s, least: int) -> set[tuple[int, int, int]]:
    """The maximal repeats of at least ``least`` symbols: (symbols, times, first place)."""
    order = pydivsufsort.divsufsort(sequence).astype(np.int64)
    common = np.concatenate(([0], pydivsufsort.kasai(sequence, order)[:-1], [0])).astype(np.int64)
    before = np.where(order > 0, sequence[order - 1], -1)
    changes = np.concatenate(([0], np.cumsum(before[1:] != before[:-1])))
    repeats: set[tuple[int, int, int]] = set()
    long = np.flatnonzero(common >= least)
    for run in np.split(long, np.flatnonzero(np.diff(long) > 1) + 1) if len(long) else []:
        stack: list[tuple[int, int]] = []
        for rank in [*run.tolist(), int(run[-1]) + 1]:
            length = int(common[rank]) if common[rank] >= least else 0
            begin = rank - 1
            while stack and stack[-1][0] > length:
                symbols, begin = stack.pop()
                if changes[rank - 1] > changes[begin]:
                    repeats.add((symbols, rank - begin, int(order[begin:rank].min())))
            if length and (not stack or stack[-1][0] < length):
                stack.append((length, begin))
    return repeats


@pytest.mark.skipif(sys.maxsize < 2**32, reason="needs a system of 64 bits")
def test_passages_are_those_of_a_suffix_array() -> None:
    texts = list(real_texts(SIZE))
    sequence, tokens = token_numbers(texts)
    expected = repeats_by_suffix_array(sequence, LENGTH)
    found = nd.passages(texts, length=LENGTH)
    assert (found.nested, len(found.stream.tokens)) == (True, tokens)
    places = found.places.to_pydict()
    document = np.array(places["row"])
    place = found.stream.begins_of(document) + np.array(places["first_token"]) + document  # separators count here
    first = np.searchsorted(places["passage"], np.arange(found.passages.num_rows))
    rows = zip(*(found.passages[name].to_pylist() for name in ("tokens", "times")), place[first], strict=True)
    assert {(length, times, int(begin)) for length, times, begin in rows} == expected
    assert found.places.num_rows == sum(times for _, times, _ in expected)
    assert len(expected) > 50
