"""A collection in dicts and lists: it answers each look-up of a search by the plainest means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.collection.contract import Operator, Value
from neardup.collection.sets import NO_BASE
from neardup.collection.view import View
from neardup.kernels.text.hashing import Key
from neardup.settings import Settings
from neardup.tables import Int64s, UInt64s
from neardup.text.keys import PUBLIC
from neardup.text.sketch.documents import shingle_sets
from neardup.unicode import tokens

COMPARE = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True)
class Sampled:
    """Postings for hashes below 2⁶⁴ / scale, and for the ``floor`` smallest of each document."""

    scale: int
    floor: int
    length: int = 5
    key: Key = PUBLIC
    cleaner: None = None

    @property
    def limit(self) -> int:
        return (1 << 64) // self.scale


class MemoryCollection(View):
    """Documents by number, in the order they were added, with every look-up of a view."""

    sampling: Any = None  # attributes instead of the properties of the view
    base: Any = NO_BASE

    def __init__(
        self, documents: Mapping[str, str] | None = None, *, scale: int = 16, floor: int = 8, key: Key = PUBLIC
    ) -> None:
        self.sampling = Sampled(scale, floor, key=key)
        self.texts: list[str] = []
        self.names: list[str] = []
        self.metadata: list[Mapping[str, object]] = []
        self.tokens: list[list[str]] = []
        self.sets: list[UInt64s] = []
        self.numbers: dict[str, int] = {}
        self.postings: dict[int, set[int]] = {}
        self.held: dict[str, set[int]] = {}
        self.runs: dict[tuple[str, ...], set[int]] = {}
        self.asked: Counter[str] = Counter()
        if documents:
            self.add_all(documents)

    def add_all(self, documents: Mapping[str, str]) -> None:
        sets = shingle_sets(
            pa.array(list(documents.values())), np.arange(len(documents)), Settings(), self.sampling.key
        )
        for k, (name, text) in enumerate(documents.items()):
            self._add(name, text, {}, sets.hashes[sets.offsets[k] : sets.offsets[k + 1]])

    def add(self, name: str, text: str, **metadata: object) -> None:
        found = shingle_sets(pa.array([text], pa.string()), np.array([0]), Settings(), self.sampling.key)
        self._add(name, text, metadata, found.hashes)

    def _add(self, name: str, text: str, metadata: Mapping[str, object], hashes: UInt64s) -> None:
        number = self.numbers[name] = len(self.names)
        self.names.append(name)
        self.texts.append(text)
        self.metadata.append(metadata)
        self.tokens.append(tokens(text))
        self.sets.append(hashes)
        for word in set(self.tokens[-1]):
            self.held.setdefault(word, set()).add(number)
        length = self.sampling.length
        for start in range(len(self.tokens[-1]) - length + 1):
            self.runs.setdefault(tuple(self.tokens[-1][start : start + length]), set()).add(number)
        for rank, value in enumerate(hashes.tolist()):
            if value < self.sampling.limit or rank < self.sampling.floor:
                self.postings.setdefault(value, set()).add(number)

    def total(self) -> int:
        return len(self.names)

    def everything(self) -> Int64s:
        return np.arange(len(self.names))

    def numbered(self, ids: Sequence[str]) -> dict[str, int]:
        return {id: number for id in ids if (number := self.number(id)) is not None}

    def number(self, id: str) -> int | None:
        return self.numbers.get(id)

    def ids(self, documents: Int64s) -> list[str]:
        return [self.names[k] for k in documents]

    def known_shingles(self, document: int) -> None:
        """No document has been compared."""

    def text(self, document: int) -> str:
        return self.texts[document]

    def contents(self, documents: list[int]) -> list[str]:
        return [self.texts[k] for k in documents]

    def sizes(self, documents: Int64s) -> Int64s:
        return np.array([len(self.sets[k]) for k in documents], np.int64)

    def may_share(self, hashes: UInt64s, documents: Int64s, least: int) -> Int64s:
        return documents

    def shared(self, hashes: UInt64s, documents: Int64s) -> Int64s:
        self.asked["compared"] += len(documents)
        return np.array([_common(hashes, self.sets[k]) for k in documents], np.int64)

    def posting_counts(self, hashes: UInt64s) -> Int64s:
        return np.array([len(self.postings.get(value, ())) for value in hashes.tolist()], np.int64)

    def rarest(self, hashes: UInt64s, most: int) -> UInt64s:
        rarest = sorted(hashes.tolist(), key=lambda value: (len(self.postings.get(value, ())), value))
        while len(rarest) > 1 and sum(len(self.postings.get(value, ())) for value in rarest) > most:
            rarest.pop()
        return np.array(sorted(rarest), np.uint64)

    def holders(self, hashes: UInt64s, least: int = 1, among: Int64s | None = None) -> tuple[Int64s, Int64s]:
        self.asked["postings"] += len(hashes)
        hits = Counter(number for value in hashes.tolist() for number in self.postings.get(value, ()))
        documents = _sorted({number for number, count in hits.items() if count >= least}, among)
        return documents, np.array([hits[number] for number in documents.tolist()], np.int64)

    def word_counts(self, words: Sequence[str]) -> Int64s:
        return np.array([len(self.held.get(word, ())) for word in words], np.int64)

    def having(self, words: Sequence[str], among: Int64s | None = None) -> Int64s:
        self.asked["words"] += 1
        return _sorted(set.intersection(*(self.held.get(word, set()) for word in words)), among)

    def phrase(self, words: Sequence[str], among: Int64s | None = None) -> Int64s:
        self.asked["phrases"] += 1
        if len(words) == self.sampling.length:
            return _sorted(self.runs.get(tuple(words), set()), among)
        having = set.intersection(*(self.held.get(word, set()) for word in words))
        return _sorted({number for number in having if _has_run(self.tokens[number], list(words))}, among)

    def has_field(self, field: str) -> bool:
        return any(_values(metadata, field) for metadata in self.metadata)

    def compare(self, field: str, operator: Operator, value: Value, among: Int64s | None = None) -> Int64s:
        stored = [_values(metadata, field) for metadata in self.metadata]
        return _sorted({k for k, values in enumerate(stored) if _holds(values, operator, value)}, among)


def _common(hashes: UInt64s, of_one: UInt64s) -> int:
    """The number of hashes that are in a set, which is sorted and has no duplicates."""
    places = np.searchsorted(of_one, hashes)
    inside = places < len(of_one)
    return int((of_one[places[inside]] == hashes[inside]).sum())


def _values(metadata: Mapping[str, object], field: str) -> list[Any]:
    """The values of a field: of a list its elements; ``outer.inner`` is looked for in the record ``outer``."""
    outer, _, inner = field.partition(".")
    found = metadata.get(outer)
    if inner:
        return _values(found, inner) if isinstance(found, Mapping) else []
    values = found if isinstance(found, list) else [found]
    return [str(value).lower() if isinstance(value, bool) else value for value in values if value is not None]


def _holds(values: list[Any], compared: str, value: Value) -> bool:
    if compared == "!=":
        return bool(values) and value not in values
    alike = [stored for stored in values if isinstance(stored, str) == isinstance(value, str)]
    return any(COMPARE[compared](stored, value) for stored in alike)


def _sorted(documents: Iterable[int], among: Int64s | None) -> Int64s:
    found = np.array(sorted(documents), np.int64)
    return found if among is None else found[np.isin(found, among)]


def _has_run(held: list[str], wanted: list[str]) -> bool:
    return any(held[start : start + len(wanted)] == wanted for start in range(len(held) - len(wanted) + 1))
