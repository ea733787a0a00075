"""Components by contraction and by stars, on batches as a cluster hands them over."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from neardup.spark.groups import contract, large_star, small_star
from neardup.spark.job import batch_of, whole

Edges = list[tuple[int, int]]


def batches(edges: Edges, size: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(edges), size):
        part = np.array(edges[first : first + size], np.int64)
        yield batch_of(a=part[:, 0].copy(), b=part[:, 1].copy())


def edges_of(made: Iterator[pa.RecordBatch]) -> Edges:
    ends = ((whole(batch, "a").tolist(), whole(batch, "b").tolist()) for batch in made)
    return [pair for a, b in ends for pair in zip(a, b, strict=True)]


def by_hand(edges: Edges) -> dict[int, int]:
    """The smallest row that is connected with each row, by walking."""
    near: dict[int, set[int]] = {}
    for a, b in edges:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    least: dict[int, int] = {}
    for row in sorted(near):
        waiting = [row] if row not in least else []
        while waiting:
            at = waiting.pop()
            if at not in least:
                least[at] = row
                waiting += near[at]
    return least


def shapes() -> dict[str, Edges]:
    draw = random.Random(5)
    places = draw.sample(range(1 << 60), 400)
    path = list(pairwise(places))
    return {
        "a path in any order": path,
        "a star": [(7, k) for k in range(8, 200)],
        "random": [(draw.randrange(300) << 40, draw.randrange(300) << 40) for _ in range(250)],
        "a pair": [(2, 1)],
    }


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("shape", shapes())
def test_contraction_is_a_forest_of_the_components(shape: str, size: int) -> None:
    edges = shapes()[shape]
    expected = {row: least for row, least in by_hand(edges).items() if row != least}
    assert dict(edges_of(contract(batches(edges, size)))) == expected


@pytest.mark.parametrize("shape", shapes())
def test_stars_alternate_until_they_are_the_components(shape: str) -> None:
    edges = [(a, b) for a, b in shapes()[shape] if a != b]
    expected = {row: least for row, least in by_hand(edges).items() if row != least}
    rounds = 0
    while True:
        both = sorted({*edges, *((b, a) for a, b in edges)})
        down = sorted({(max(pair), min(pair)) for pair in edges_of(large_star(batches(both, 13)))})
        after = sorted(set(edges_of(small_star(batches(down, 13)))))
        if after == sorted(edges):
            break
        edges, rounds = after, rounds + 1
    assert dict(edges) == expected
    assert rounds <= 12, "the rounds grow with the logarithm"
