"""The test items: each field of an item is a text to look for, found by its windows of tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_files
from neardup.io.readers.base import Chunk, Problem
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.text.keyed import Key
from neardup.run.pipeline import Meter
from neardup.settings import Settings
from neardup.sketch.documents import ShingleSets, WantedShingles, shingle_sets
from neardup.tables import Int64s, UInt64s, one_array

WHOLE = 10
"""Items with fewer tokens are looked for as a whole: a share of few shingles is a coincidence too often."""

SHORTEST = 4
"""Items with fewer tokens are not looked for: a text has them by chance."""

TOGETHER = "together"
"""The name of all fields of an item as one text."""


class ItemText(NamedTuple):
    """A text of the test side: its test set (the file), the id of its row, the field, and the text itself."""

    test_set: str
    id: str
    field: str
    text: str


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of ``length`` tokens of some items.

    ``items`` are their numbers. Window w of the k-th of them is ``hashes[offsets[k] + w]``, in the order of the
    text. ``distinct`` are the hashes, sorted, and ``sizes`` the number of distinct ones of each item.
    ``items_of[starts[h]:starts[h + 1]]`` are the places in ``items`` of those with ``distinct[h]``.
    """

    length: int
    items: Int64s
    hashes: UInt64s
    offsets: Int64s
    key: Key

    @cached_property
    def wanted(self) -> WantedShingles:
        """The distinct hashes, to be looked for in texts."""
        return WantedShingles(self.distinct, self.key)

    @cached_property
    def distinct(self) -> UInt64s:
        """The hashes, sorted."""
        return np.unique(self.hashes)

    @cached_property
    def _pairs(self) -> tuple[Int64s, Int64s]:
        """Each hash of each item once: the place of the hash, and that of the item; sorted by hash."""
        item = np.repeat(np.arange(len(self.items)), np.diff(self.offsets))
        place = np.searchsorted(self.distinct, self.hashes)
        pairs = np.unique(np.column_stack((place, item)), axis=0)
        return pairs[:, 0], pairs[:, 1]

    @property
    def items_of(self) -> Int64s:
        """The places of the items, by hash."""
        return self._pairs[1]

    @cached_property
    def starts(self) -> Int64s:
        """The beginning of each hash in ``items_of``; one more than there are hashes."""
        return np.searchsorted(self._pairs[0], np.arange(len(self.distinct) + 1))

    @cached_property
    def sizes(self) -> Int64s:
        """The number of distinct windows of each item."""
        return np.bincount(self._pairs[1], minlength=len(self.items))

    def of(self, place: int) -> UInt64s:
        """The hashes of the item at a place, in the order of the text."""
        return self.hashes[self.offsets[place] : self.offsets[place + 1]]


@dataclass(frozen=True, eq=False)
class TestItems:
    """All items, their tokens (hashed by ``key``), and their windows by length.

    Item i has ``tokens[offsets[i]:offsets[i + 1]]``. ``too_short`` of them are not looked for.
    """

    __test__ = False  # not a test of pytest

    items: Sequence[ItemText]
    tokens: UInt64s
    offsets: Int64s
    windows: Sequence[Windows]
    key: Key
    problems: Sequence[Problem]
    notes: Sequence[str]

    @property
    def sizes(self) -> Int64s:
        """The number of tokens of each item."""
        return np.diff(self.offsets)

    @property
    def too_short(self) -> int:
        """The number of items with fewer than SHORTEST tokens."""
        return int((self.sizes < SHORTEST).sum())

    def tokens_of(self, item: int) -> UInt64s:
        """The tokens of an item."""
        return self.tokens[self.offsets[item] : self.offsets[item + 1]]

    @cached_property
    def test_sets(self) -> list[str]:
        """The names of the test sets, in the order of the input."""
        return list(dict.fromkeys(item.test_set for item in self.items))

    def sets_with(self, windows: Windows) -> Int64s:
        """The number of test sets that have each distinct window; items with the same text count as one.

        An item that was copied into a second test set is no common phrase.
        """
        first: dict[bytes, int] = {}
        numbers = {name: number for number, name in enumerate(self.test_sets)}
        set_of = np.array([numbers[self.items[item].test_set] for item in windows.items.tolist()], np.int64)
        for place, item in enumerate(windows.items.tolist()):
            set_of[place] = set_of[first.setdefault(self.tokens_of(item).tobytes(), place)]
        hashes = np.repeat(np.arange(len(windows.distinct)), np.diff(windows.starts))
        pairs = np.unique(np.column_stack((hashes, set_of[windows.items_of])), axis=0)
        return np.bincount(pairs[:, 0], minlength=len(windows.distinct))


def read_items(
    names: Sequence[str | Path],
    fields: Sequence[str],
    id: str | None,
    settings: Settings,
    key: Key,
    meter: Meter,
) -> TestItems:
    """Read the test items of files; each of several ``fields`` alone, and all together.

    Without ``fields``, the text column is guessed, and the guess is among the notes. Raises InputError.
    """
    choices: list[Sequence[str] | None] = [[field] for field in fields] or [None]
    if len(fields) > 1:
        choices.append(list(fields))
    items: list[ItemText] = []
    problems: list[Problem] = []
    notes: list[str] = []
    with meter.stage("items", None, "items") as advance:
        for columns in choices:
            items += _items_of_columns(names, columns, id, settings, (problems, notes))
            advance(len(items))
        if not items:
            raise InputError("The test sets have no item with a text", "At least one item", "Check --fields")
        return items_with_windows(items, settings, key, problems, notes)


def _items_of_columns(
    names: Sequence[str | Path],
    columns: Sequence[str] | None,
    id: str | None,
    settings: Settings,
    remarks: tuple[list[Problem], list[str]],
) -> list[ItemText]:
    """The items of the text in these columns; adds problems and notes to the ``remarks``."""
    problems, notes = remarks
    opened = open_files(names, reading=settings.reading)
    chosen = choose_columns(opened, columns, id, "--against-")
    notes += [f"test items: {note}" for note in chosen.notes if f"test items: {note}" not in notes]
    label = TOGETHER if columns and len(columns) > 1 else chosen.text
    chunks = opened.chunks(None, [chosen.text, *([chosen.id] if chosen.id else [])])
    return [item for chunk in chunks for item in _items_of(chunk, chosen.text, chosen.id, label, problems)]


def _items_of(chunk: Chunk, text: str, id: str | None, label: str, problems: list[Problem]) -> Iterator[ItemText]:
    rows = chunk.read([text, id] if id else [text])
    problems += [problem for problem in rows.problems if problem not in problems]
    texts = one_array(rows.table.column(text)).cast(pa.large_binary()).to_pylist()
    ids = (
        rows.table.column(id).to_pylist() if id else [f"{chunk.source}#{row}" for row in rows.row_numbers.tolist()]
    )
    for value, name in zip(texts, ids, strict=True):
        if value:
            yield ItemText(chunk.source, str(name), label, value.decode("utf-8", "replace"))


def items_with_windows(
    items: Sequence[ItemText],
    settings: Settings,
    key: Key,
    problems: Sequence[Problem] = (),
    notes: Sequence[str] = (),
) -> TestItems:
    """Return the items with their tokens and windows, hashed by ``key``.

    The windows of an item are its shingles; of an item with fewer than WHOLE tokens, the one window is the item.
    """
    texts = pa.array([item.text for item in items], pa.large_string())
    every = np.arange(len(items))
    tokens = shingle_sets(texts, every, of_length(settings, 1), key, "tokens")
    sizes, length = tokens.sizes, settings.shingles.length
    looked_for = sizes >= SHORTEST
    whole = (sizes < WHOLE) | (sizes < length)
    windows = [_windows(tokens, every[looked_for & ~whole], length, key)]
    windows += [
        _windows(tokens, every[looked_for & whole & (sizes == size)], int(size), key)
        for size in np.unique(sizes[looked_for & whole])
    ]
    kept = [some for some in windows if len(some.items)]
    return TestItems(items, tokens.hashes, tokens.offsets, kept, key, problems, notes)


def of_length(settings: Settings, length: int) -> Settings:
    """The settings with windows of this length."""
    return replace(settings, shingles=replace(settings.shingles, length=length))


def _windows(tokens: ShingleSets, items: Int64s, length: int, key: Key) -> Windows:
    parts, ends = [np.empty(0, np.uint64)], [0]
    for item in items.tolist():
        own = tokens.hashes[tokens.offsets[item] : tokens.offsets[item + 1]]
        hashes = np.empty(len(own), np.uint64)
        count = shingle_hashes(own, len(own), length, key.shingles, hashes)
        parts.append(hashes[:count])
        ends.append(ends[-1] + count)
    return Windows(length, items, np.concatenate(parts), np.array(ends, np.int64), key)
