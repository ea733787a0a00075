"""Pairs of a result with the first words of both texts, for the prompt and for a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.display import counted, shortened, similarity
from neardup.display.view import name_of, paragraph, table, view
from neardup.run.first_words import words_of
from neardup.run.looking import similarities
from neardup.run.records import Id, ResultRecord

WIDTH = 80
"""Columns of a line of text."""
_NAME = 24


@dataclass(frozen=True)
class PairWords:
    """The ids of a pair, its similarity, and the first words of both; "" where a text cannot be read."""

    id_a: Id
    id_b: Id
    similarity: float
    words_a: str
    words_b: str


@dataclass(frozen=True, repr=False)
class ShownPairs:
    """Some of the ``total`` pairs of a result: prints as text and renders in a notebook."""

    pairs: tuple[PairWords, ...]
    total: int

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[PairWords]:
        return iter(self.pairs)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        rows = [
            (name_of(pair.id_a), name_of(pair.id_b), similarity(pair.similarity), pair.words_a, pair.words_b)
            for pair in self.pairs
        ]
        listed = table(("A", "B", "similarity", "first words of A", "first words of B"), rows, frozenset((2,)))
        return view(listed if rows else "", paragraph(self._counted()))

    def _lines(self) -> Iterator[str]:
        ends = [
            (name_of(id), words)
            for pair in self.pairs
            for id, words in ((pair.id_a, pair.words_a), (pair.id_b, pair.words_b))
        ]
        width = min(max((len(name) for name, _ in ends), default=0), _NAME)
        for place, (name, words) in enumerate(ends):
            value = "" if place % 2 else similarity(self.pairs[place // 2].similarity)
            line = f"{value:<5}  {shortened(name, width):<{width}}  {words}"
            yield shortened(line.rstrip(), WIDTH)
            if place % 2:
                yield ""
        yield self._counted()

    def _counted(self) -> str:
        if len(self.pairs) == self.total:
            return counted(self.total, "pair")
        return f"{counted(len(self.pairs), 'pair')} of {self.total:,}"


def shown_pairs(found: ResultRecord, limit: int | None, *, lowest: bool) -> ShownPairs:
    """Return the most similar pairs of a result, or the least similar ones; ties in the order of the table."""
    values = similarities(found, found.pairs)
    order = np.argsort(values if lowest else -values, kind="stable")[:limit]
    rows = found.pairs.select(["id_a", "id_b"]).take(order).to_pylist()
    words = words_of(found, {row[end] for row in rows for end in ("id_a", "id_b")})
    pairs = tuple(
        PairWords(row["id_a"], row["id_b"], value, words.get(row["id_a"], ""), words.get(row["id_b"], ""))
        for row, value in zip(rows, values[order].tolist(), strict=True)
    )
    return ShownPairs(pairs, found.pairs.num_rows)
