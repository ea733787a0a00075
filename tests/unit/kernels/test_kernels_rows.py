"""Rows of two aligned texts, every step against its twin: breaks, words between tiles, cuts, pieces."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison.alignment import LIMITS, Alignment, Piece, aligned_units, breaks_of
from neardup.kernels.match.alignment import telling_runs, words_between
from neardup.text.units import words
from support import reference_rows as twin
from support.compared_texts import pairs
from support.strategies import any_text
from support.subsequence import subsequence_runs

Tokens = list[int]


def punctuated() -> st.SearchStrategy[str]:
    """Text in which all that ends lines and sentences stands next to each other."""
    parts = (
        "abc",
        "Ab",
        "A",
        "Dr",
        "I",
        "x1",
        "7",
        "Ǆ",
        "ª",
        "東",
        "_",
        " ",
        "\u3000",
        "\xa0",
        "\n",
        "\r\n",
        "\r",
        "\x85",
    )
    marks = (
        ".",
        "!",
        "?",
        "…",
        "؟",
        "।",
        ")",
        "]",
        '"',
        "’",
        "»",
        "。",
        "！",
        "」",
        "）",
        ",",
        "...",
        ". ",
        ".\n",
        "\u2028",
    )
    return st.lists(st.sampled_from((*parts, *marks)), max_size=25).map("".join)


@given(st.one_of(punctuated(), any_text()))
@example("Mr. Who said no. She left.)  Then?! »So« 5. 他说。7 不。")
def test_breaks_are_those_of_the_expressions(text: str) -> None:
    units = words(text)
    found, expected = breaks_of(units), twin.breaks(units)
    assert {
        k: (kind, place) for k, (kind, place) in enumerate(zip(found.kinds, found.places, strict=True)) if kind
    } == {k: at for k, at in expected.items() if at[0]}


def sequences() -> st.SearchStrategy[Tokens]:
    return st.integers(0, 6).flatmap(lambda most: st.lists(st.integers(0, most), max_size=90))


@given(sequences(), sequences())
def test_a_subsequence_is_the_one_that_is_read_off_the_table(a: Tokens, b: Tokens) -> None:
    first, second = np.array(a, np.int32), np.array(b, np.int32)
    runs = subsequence_runs(first, second)
    assert [tuple(run) for run in runs.tolist()] == twin.subsequence_runs(a, b)
    kept = [run for run, flag in zip(runs.tolist(), telling_runs(runs, len(a), len(b)), strict=True) if flag]
    assert list(map(tuple, kept)) == twin.telling_runs(twin.subsequence_runs(a, b), len(a), len(b))


@pytest.mark.parametrize("size", [63, 64, 65, 127, 128, 129, 300])
def test_subsequences_over_the_edges_of_words(size: int) -> None:
    chosen = random.Random(size)
    a, b = ([chosen.randrange(5) for _ in range(size + extra)] for extra in (0, 31))
    for first, second in ((a, b), (b, a), (a, a)):
        runs = subsequence_runs(np.array(first, np.int32), np.array(second, np.int32))
        assert [tuple(run) for run in runs.tolist()] == twin.subsequence_runs(first, second)


@st.composite
def tiled(draw: st.DrawFn) -> tuple[Tokens, Tokens, list[twin.Run], list[twin.Run]]:
    """Return two sequences with tiles in one order, and moved tiles between them."""
    token = st.integers(0, draw(st.integers(1, 12)))
    lengths = draw(st.lists(st.integers(1, 4), max_size=3))
    moved = draw(st.lists(st.integers(1, 4), max_size=2))
    gaps = [draw(st.lists(st.lists(token, max_size=14), min_size=8, max_size=8)) for _ in range(2)]
    places: list[list[tuple[int, int]]] = [[], []]
    texts: list[Tokens] = [[], []]
    for side in (0, 1):
        order = [*range(len(lengths))]
        blocks = [("spine", k) for k in order]
        for k in range(len(moved)):
            blocks.insert(draw(st.integers(0, len(blocks))), ("moved", k))
        found = {}
        for at, block in enumerate(blocks):
            texts[side] += gaps[side][at]
            length = lengths[block[1]] if block[0] == "spine" else moved[block[1]]
            found[block] = len(texts[side])
            texts[side] += [100 + (block[0] == "moved") * 50 + 10 * block[1] + k for k in range(length)]
        texts[side] += gaps[side][7]
        places[side] = [
            *((found["spine", k], k) for k in order),
            *((found["moved", k], k) for k in range(len(moved))),
        ]
    tiles = [(a, b, length) for (a, _), (b, _), length in zip(*places, [*lengths, *moved], strict=True)]
    return texts[0], texts[1], sorted(tiles[: len(lengths)]), sorted(tiles[len(lengths) :])


@given(tiled(), st.sampled_from([(1 << 22, 1 << 28), (60, 200), (20, 50), (0, 0)]))
def test_words_between_tiles(
    drawn: tuple[Tokens, Tokens, list[twin.Run], list[twin.Run]], limits: tuple[int, int]
) -> None:
    a, b, spine, moved = drawn
    arrays = (np.array(tiles, np.int64).reshape(-1, 3) for tiles in (moved, spine))
    runs, whole = words_between(np.array(a + b, np.int32), len(a), 200, *arrays, limits)
    assert [tuple(run) for run in runs.tolist()] == twin.words_between(a, b, moved, spine, limits)
    assert whole or limits != (1 << 22, 1 << 28)


def shown(alignment: Alignment) -> list[twin.Row]:
    def plain(pieces: tuple[Piece, ...]) -> tuple[twin.Piece, ...]:
        return tuple((p.kind, p.begin, p.end, p.match, p.opens) for p in pieces)

    return [(row.kind, plain(row.a), plain(row.b)) for row in alignment.rows]


@given(pairs(), st.sampled_from(["word", "char"]), st.integers(1, 6), st.integers(0, 80))
def test_rows_are_those_of_the_twin(texts: tuple[str, str], unit: str, length: int, most: int) -> None:
    found = nd.compare(*texts, unit=unit, length=length)
    limits = (most, LIMITS[1])
    alignment, _, _ = aligned_units(found.a, found.b, found.tiles, limits)
    tiles = [tuple(tile) for tile in found.tiles.tolist()]
    assert shown(alignment) == twin.rows(found.a, found.b, tiles, alignment.moved.tolist(), limits)
    counts = {kind: sum(row.kind == kind for row in alignment.rows) for kind in alignment.kinds}
    assert alignment.kinds == counts
    for match, spans in zip(alignment.matches, found.chunks(), strict=True):
        assert [list(match.a), list(match.b)] == [spans["span_a"], spans["span_b"]]
