"""Chunks of text in the order of a retriever → those that do not repeat an earlier one."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.criterion import whole
from neardup.display import similarity
from neardup.display.view import PlainData, facts, table, view
from neardup.errors import InputError, SettingError
from neardup.kernels import sets
from neardup.settings import MEASURES, Settings, ratio
from neardup.tables import Int64s
from neardup.text.keys import process_key
from neardup.text.sketch import shingle_sets

T = TypeVar("T")

_MEASURES = ("containment", "resemblance", "overlap")
SHOWN = 20
"""Dropped chunks that a notebook shows."""


@dataclass(frozen=True)
class Repeat(PlainData):
    """A chunk that was dropped: its place, the place of the earlier chunk that it repeats, and the proof.

    ``shared``, ``size`` and ``size_of`` are whole numbers of shingles: |A∩B|, those of this chunk, and those of
    the earlier one. ``similarity`` is the measure that they give.
    """

    place: int
    of: int
    shared: int
    size: int
    size_of: int
    similarity: float

    def __str__(self) -> str:
        return (
            f"chunk {self.place} repeats chunk {self.of}: {self.shared:,} of its {self.size:,} shingles "
            f"are among the {self.size_of:,} of that one"
        )


@dataclass(frozen=True)
class Distinct(PlainData, Generic[T]):
    """The chunks that stay, in the order given, their places in it, and the chunks that were dropped."""

    kept: list[T]
    places: list[int]
    dropped: list[Repeat]

    def __len__(self) -> int:
        return len(self.kept)

    def __iter__(self) -> Iterator[T]:
        return iter(self.kept)

    def __repr__(self) -> str:
        return f"Distinct({len(self.kept):,} kept, {len(self.dropped):,} dropped)"

    def _repr_html_(self) -> str:
        rows = [
            (str(one.place), str(one.of), similarity(one.similarity), f"{one.shared:,} of {one.size:,}")
            for one in self.dropped[:SHOWN]
        ]
        head = ("dropped chunk", "repeats chunk", "similarity", "shingles")
        listed = table(head, rows, frozenset((0, 1, 2))) if rows else ""
        return view(facts([("kept", f"{len(self.kept):,}"), ("dropped", f"{len(self.dropped):,}")]), listed)


def distinct(
    chunks: Iterable[T],
    threshold: float = 0.8,
    *,
    measure: str = "containment",
    text: Callable[[T], str] | None = None,
    length: int = 5,
    unit: str = "word",
) -> Distinct[T]:
    """Drop each chunk that repeats an earlier one that stays, in the order given: the best chunk first.

    A chunk repeats another if ``measure`` is at least ``threshold``. With ``containment``, that is the share of
    its own shingles that the earlier chunk has: a chunk that adds text stays, and a part of an earlier chunk goes.
    The other measures are ``resemblance`` and ``overlap``. If several earlier chunks qualify, the most similar one
    is named, and of equals the first. ``text`` returns the text of a chunk that is not a str. A chunk without
    tokens is never dropped.

    All counts are exact, and they do not depend on hash values. The work grows with the shingles that chunks have
    in common: hundreds or thousands of chunks, not a corpus, for which ``find`` is made.

    Raises InputError for a chunk that is not a text, and SettingError for a setting out of range.

    >>> ranked = [
    ...     "Receipts for travel must be handed in by noon on the last Friday of the month.",
    ...     "Receipts for travel must be handed in by noon on the last Friday.",
    ...     "The canteen opens at eleven.",
    ... ]
    >>> found = distinct(ranked)
    >>> found.places, [(one.place, one.of) for one in found.dropped]
    ([0, 2], [(1, 0)])
    >>> print(found.dropped[0])
    chunk 1 repeats chunk 0: 9 of its 9 shingles are among the 12 of that one
    """
    if measure not in _MEASURES:
        raise SettingError(f"measure is {measure!r}", " or ".join(_MEASURES))
    settings = Settings.of(threshold=threshold, measure=measure, length=length, unit=unit)
    least, formula = ratio(threshold), MEASURES[measure].formula
    if isinstance(chunks, str):
        raise InputError("The chunks are one str", "A list of chunks")
    given = list(chunks)
    texts = pa.array([_text_of(place, chunk, text) for place, chunk in enumerate(given)], pa.large_binary())
    sets = shingle_sets(texts, np.arange(len(given)), settings, process_key())
    sizes = sets.sizes
    holders: dict[int, list[int]] = defaultdict(list)
    kept: list[int] = []
    dropped: list[Repeat] = []
    for place in range(len(given)):
        own = sets.hashes[sets.offsets[place] : sets.offsets[place + 1]].tolist()
        shared = Counter(holder for value in own for holder in holders.get(value, ()))
        repeat = _most_similar(place, shared, sizes, least, formula)
        if repeat is None:
            kept.append(place)
            for value in own:
                holders[value].append(place)
        else:
            dropped.append(repeat)
    return Distinct([given[place] for place in kept], kept, dropped)


def _most_similar(
    place: int, shared: Counter[int], sizes: Int64s, least: tuple[int, int], formula: int
) -> Repeat | None:
    """The earlier chunk with the largest measure, if that is at least ``least``, in whole numbers."""
    if not shared:
        return None
    of = np.array(sorted(shared), np.int64)
    common = np.array([shared[one] for one in of.tolist()], np.int64)
    parts = sets.part(common, formula)
    wholes = whole(common, np.full(len(of), sizes[place]), sizes[of], formula)
    best = 0
    for position in range(1, len(of)):
        if int(parts[position]) * int(wholes[best]) > int(parts[best]) * int(wholes[position]):
            best = position
    if int(parts[best]) * least[1] < least[0] * int(wholes[best]):
        return None
    similarity = int(parts[best]) / int(wholes[best])
    return Repeat(place, int(of[best]), int(common[best]), int(sizes[place]), int(sizes[of[best]]), similarity)


def _text_of(place: int, chunk: Any, text: Callable[[Any], str] | None) -> bytes:
    value = chunk if text is None else text(chunk)
    if not isinstance(value, str):
        raise InputError(
            f"The chunk at place {place} is a {type(value).__name__}",
            "Chunks of type str",
            "Pass text=, a function from a chunk to its text",
        )
    return value.encode("utf-8", "surrogatepass")  # lone surrogates are counted and replaced by the kernel
