"""The stretches of a stored document that other documents of the collection have, too, found by posting lists."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from neardup import display
from neardup.collection.fields import unknown_error
from neardup.collection.query.target import Target
from neardup.collection.view import View, batches
from neardup.comparison import matching
from neardup.display.view import PlainData
from neardup.errors import SettingError
from neardup.tables import Bools, Int64s
from neardup.text.units import Units

LENGTH = 50
"""The least number of tokens of a passage."""
MOST_BY_WORDS = 1000
"""The most shingles that are looked up by their words."""
MOST = 1000
"""The most documents that are compared."""
_SHOWN = 240
"""The most characters of a passage that are shown."""
_TOGETHER = 1 << 18
"""The most shingles of documents whose texts are read together."""


@dataclass(frozen=True)
class SharedPassage(PlainData):
    """A stretch of a document that the document ``id`` has, too, token by token.

    ``tokens`` is its length. It is from character ``begin`` up to ``end`` of the text asked about, and from
    ``begin_other`` up to ``end_other`` of the other one. ``text`` are its first 240 characters.
    """

    id: str
    tokens: int
    begin: int
    end: int
    begin_other: int
    end_other: int
    text: str


@dataclass(frozen=True)
class SharedPassages(PlainData):
    """The passages of at least ``length`` tokens that a document shares with others, in the order of its text.

    ``shared`` of its ``tokens`` are in a stretch of that length that another document has. ``compared`` documents
    were compared, and ``uncompared`` have a sampled shingle in common, too, but were beyond the limit. ``recall``
    is the least probability that a passage of exactly ``length`` tokens is found; 0 with uncompared documents.
    ``omitted`` passages come after these.
    """

    id: str
    length: int
    passages: tuple[SharedPassage, ...]
    shared: int
    tokens: int
    compared: int
    uncompared: int
    recall: float
    omitted: int = 0

    def first(self, most: int) -> "SharedPassages":
        """Return the same with the first ``most`` passages."""
        return replace(self, passages=self.passages[:most], omitted=max(0, len(self.passages) - most))

    def __str__(self) -> str:
        share = display.percent(self.shared, self.tokens)
        lines = [f"{share} of {self.id} ({self.shared:,} of {self.tokens:,} tokens) is in other documents, too"]
        for one in self.passages:
            lines += [f"{one.begin}-{one.end}: {one.tokens} tokens in {one.id}, {one.begin_other}-{one.end_other}"]
            lines += [f"  {one.text}"]
        sure = f"{self.compared:,} compared; recall of {self.length} tokens: "
        sure += "1" if self.recall == 1 else f"{display.similarity(self.recall, 4)} or more"
        if self.uncompared:
            sure = f"{self.compared:,} compared, {self.uncompared:,} with less in common were not"
        if self.omitted:
            lines.append(f"{display.counted(self.omitted, 'more passage')} in the order of the text")
        return "\n".join(map(display.printable, [*lines, f"documents: {sure}"]))


def shared_passages(view: View, id: str, length: int = LENGTH, most: int = MOST) -> SharedPassages:
    """Return the passages that a stored document shares with others, token by token.

    A passage of n tokens has n − w + 1 shingles of w tokens. The sampled shingles are looked up by their postings;
    where n − w + 1 in a row are not in the sample, the last of them is looked up by its words. So each document
    with a passage is found, unless there are more than ``MOST_BY_WORDS`` such places: then none of them is looked
    up, and a passage is found with probability 1 − (1 − 1 / scale)ⁿ⁻ʷ⁺¹ or more if its shingles are distinct. At
    most ``most`` documents are compared, first those that the most look-ups find.
    Between two documents, passages are the tiles of greedy string tiling: none is in two passages.

    Raises UnknownIdError, and SettingError for numbers that cannot be used.
    """
    sampling = view.sampling
    for name, value, least in (("length", length, sampling.length), ("most", most, 1)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise SettingError(f"{name} = {value!r} is not possible", f"A whole number from {least} on")
    number = view.number(id)
    if number is None:
        raise unknown_error([id])
    rule = sampling.length, sampling.key, view.base, sampling.cleaner
    target = Target(id, view.text(number), number, None, None, *rule)
    found, hits, recall = _holders(view, target, length)
    hits, found = hits[found != number], found[found != number]
    chosen = np.sort(found[np.argsort(-hits, kind="stable")[:most]])

    def others() -> Iterator[tuple[str, Units]]:
        for part in batches(view.sizes(chosen), _TOGETHER):
            some = chosen[part]
            for other, text in zip(view.ids(some), view.contents(some.tolist()), strict=True):
                yield other, target.units_of(text)

    uncompared = len(found) - len(chosen)
    shared = passages_with(others(), id, target.units, length)
    return replace(shared, uncompared=uncompared, recall=0.0 if uncompared else recall)


def passages_with(others: Iterable[tuple[str, Units]], id: str, own: Units, length: int) -> SharedPassages:
    """Return the passages that a document shares with the others, all of which are compared."""
    passages: list[SharedPassage] = []
    covered, compared = np.zeros(len(own), np.bool_), 0
    for other, units in others:
        passages += _common(own, other, units, length, covered)
        compared += 1
    passages.sort(key=lambda one: (one.begin, -one.tokens, one.id))
    counts = int(np.count_nonzero(covered)), len(covered), compared, 0
    return SharedPassages(id, length, tuple(passages), *counts, 1.0)


def _holders(view: View, target: Target, length: int) -> tuple[Int64s, Int64s, float]:
    """The documents that may have a passage, with the look-ups that find each, and the recall of ``length``."""
    sampling, units, run = view.sampling, target.units, length - view.sampling.length + 1
    below = int(np.searchsorted(target.hashes, np.uint64(sampling.limit - 1), side="right"))
    found, hits = view.holders(target.hashes[:below])
    places: list[int] = []
    if len(units) >= length:
        shingles = target.shingles_in_order(units)
        base = view.base.contains(shingles) if len(view.base) else np.zeros(len(shingles), np.bool_)
        unsampled = _unsampled_shingles(~base & (shingles <= np.uint64(sampling.limit - 1)), base, run)
        places = list({int(shingles[place]): place for place in unsampled}.values())  # each shingle once
    if len(places) > MOST_BY_WORDS:
        return found, hits, 1 - (1 - 1 / sampling.scale) ** run
    words = (dict.fromkeys(units.strings[place : place + sampling.length]) for place in places)
    every = np.concatenate([found, *map(view.having, map(tuple, words))])
    documents, which = np.unique(every, return_inverse=True)
    weights = np.concatenate([hits, np.ones(len(every) - len(hits), np.int64)])
    return documents, np.bincount(which, weights, len(documents)).astype(np.int64), 1.0


def _unsampled_shingles(sampled: Bools, base: Bools, run: int) -> list[int]:
    """Shingles such that each ``run`` in a row that are not all base text have one of them or a sampled one."""
    places, last = [], -1
    for place in [*np.flatnonzero(sampled).tolist(), len(sampled)]:
        while place - last > run:
            own = np.flatnonzero(~base[last + 1 : last + 1 + run])
            last = last + 1 + int(own[-1]) if len(own) else last + run
            places += [last] * bool(len(own))
        last = place
    return places


def _common(own: Units, id: str, other: Units, length: int, covered: Bools) -> list[SharedPassage]:
    """The passages that two documents share; their tokens are marked in ``covered``."""
    pair = matching.pair_of(own.hashes, other.hashes, (own.rank, other.rank))
    if min(len(own), len(other)) < length:
        return []
    covered |= pair.in_order(*pair.covered_tokens(length))[0]
    passages = []
    for a, b, tokens in matching.literal(pair, length).tiles.tolist():
        last_a, last_b = a + tokens - 1, b + tokens - 1
        begin, end = int(own.spans[a, 0]), int(own.spans[last_a, 1])
        there = int(other.spans[b, 0]), int(other.spans[last_b, 1])
        passages.append(SharedPassage(id, tokens, begin, end, *there, own.quote(a, a + tokens)[:_SHOWN]))
    return passages
