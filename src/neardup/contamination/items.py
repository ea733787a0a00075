"""The test items: each field of an item is a text to look for, found by its windows of tokens."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_files
from neardup.io.readers.base import Chunk, Documents, Problem
from neardup.io.readers.columns import ColumnOptions, find_column, types_of
from neardup.io.readers.fields import joined, paths_of, texts_in
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sketch.windows import HEAD
from neardup.kernels.text.keyed import Key
from neardup.run.pipeline import Meter
from neardup.settings import Settings
from neardup.sketch.documents import ShingleSets, WantedWindows, shingle_sets
from neardup.tables import Bools, Int32s, Int64s, UInt64s, one_array
from neardup.text.units import words

WHOLE = 10
"""Items with fewer tokens are looked for as a whole: a share of few shingles is a coincidence too often."""

SHORTEST = HEAD
"""Items with fewer tokens are not looked for: a text has them by chance."""

TOGETHER = "together"
"""The name of all fields of an item as one text."""

QUESTIONS = ("question", "query", "problem", "prompt", "instruction", "messages", "conversations")
"""The field of a test set for which none is named: its first one in this list, else the longest texts."""

ITEM_OPTIONS = ColumnOptions("--fields", "--against-id")

_LEAVES = ("content", "value", "text")
"""The fields of records that hold their text, in chats and in choices; the others have roles and labels."""


class ItemText(NamedTuple):
    """A text of the test side: its test set (the file), the id of its row, the field, and the text itself."""

    test_set: str
    id: str
    field: str
    text: str


@dataclass(frozen=True, eq=False)
class TestItems:
    """All items, their tokens (hashed by ``key``), and their windows.

    Item i has the tokens ``tokens[offsets[i]:offsets[i + 1]]``, and windows of ``lengths[i]`` tokens: its
    shingles, or the item as a whole if it is short; 0 if it is too short to be looked for. In the order of the
    text, they have the numbers ``windows[starts[i]:starts[i + 1]]``. The numbers are those of ``wanted``: shingles
    first, each in the order of their first place, so they do not depend on the key.
    """

    __test__ = False  # not a test of pytest

    items: Sequence[ItemText]
    tokens: UInt64s
    offsets: Int64s
    lengths: Int64s
    windows: Int32s
    starts: Int64s
    wanted: WantedWindows
    problems: Sequence[Problem] = ()
    notes: Sequence[str] = ()

    @property
    def key(self) -> Key:
        """The key of the hashes."""
        return self.wanted.key

    @property
    def token_counts(self) -> Int64s:
        """The number of tokens of each item."""
        return np.diff(self.offsets)

    @property
    def too_short(self) -> int:
        """The number of items with fewer than SHORTEST tokens."""
        return int((self.token_counts < SHORTEST).sum())

    @property
    def distinct(self) -> int:
        """The number of distinct windows."""
        return len(self.wanted.shingles) + len(self.wanted.whole)

    def tokens_of(self, item: int) -> UInt64s:
        """The tokens of an item."""
        return self.tokens[self.offsets[item] : self.offsets[item + 1]]

    def windows_of(self, item: int) -> Int32s:
        """The numbers of the windows of an item, in the order of the text."""
        return self.windows[self.starts[item] : self.starts[item + 1]]

    def spans_of(self, item: int) -> Int64s:
        """The characters of each token of an item: int64[tokens, 2]."""
        if item not in self._spans:
            self._spans[item] = words(self.items[item].text, self.key).spans
        return self._spans[item]

    @cached_property
    def _spans(self) -> dict[int, Int64s]:
        return {}

    @cached_property
    def sets(self) -> tuple[Int32s, Int64s]:
        """The distinct windows of each item, ascending: numbers, and offsets int64[items + 1]."""
        item = np.repeat(np.arange(len(self.items)), np.diff(self.starts))
        pairs = _sorted_set(item * np.int64(self.distinct + 1) + self.windows)
        item, window = np.divmod(pairs, self.distinct + 1)
        return window.astype(np.int32), np.searchsorted(item, np.arange(len(self.items) + 1))

    @cached_property
    def sizes(self) -> Int64s:
        """The number of distinct windows of each item."""
        return np.diff(self.sets[1])

    @cached_property
    def test_sets(self) -> list[str]:
        """The names of the test sets, in the order of the input."""
        return list(dict.fromkeys(item.test_set for item in self.items))

    @cached_property
    def sets_with(self) -> Int64s:
        """The number of test sets that have each distinct window; items with the same text count as one.

        An item that was copied into a second test set is no common phrase.
        """
        first: dict[bytes, int] = {}
        numbers = {name: number for number, name in enumerate(self.test_sets)}
        set_of = np.array([numbers[item.test_set] for item in self.items], np.int64)
        for item in range(len(self.items)):
            set_of[item] = set_of[first.setdefault(self.tokens_of(item).tobytes(), item)]
        windows, _ = self.sets
        pairs = _sorted_set(windows * np.int64(len(numbers)) + np.repeat(set_of, self.sizes))
        return np.bincount(pairs // max(len(numbers), 1), minlength=self.distinct)

    @cached_property
    def digest(self) -> str:
        """A name for the items, their windows and their order."""
        hasher = hashlib.blake2b(digest_size=16)
        hasher.update(np.ascontiguousarray(self.windows).tobytes() + self.lengths.tobytes())
        for item in self.items:
            hasher.update("\0".join(item).encode("utf-8", "replace"))
        return hasher.hexdigest()


def read_items(
    names: Sequence[str | Path],
    fields: Sequence[str],
    id: str | None,
    settings: Settings,
    key: Key,
    meter: Meter,
) -> TestItems:
    """Read the test items of files; each of several ``fields`` alone, and all together.

    Every file may have its own layout, and needs one of the fields at least. Raises InputError.
    """
    items: list[ItemText] = []
    problems: list[Problem] = []
    notes: list[str] = []
    with meter.stage("items", None, "items") as advance:
        for name in names:
            choices, of_file = _choices(name, fields, id, settings)
            notes += [f"test items: {note}" for note in of_file if f"test items: {note}" not in notes]
            seen: set[tuple[str, str, str]] = set()
            for label, columns in choices:
                opened = open_files([name], reading=settings.reading)
                chosen = choose_columns(opened, columns, id, ITEM_OPTIONS)
                label = label or chosen.text
                wanted = [chosen.text, *([chosen.id] if chosen.id else [])]
                before = len(items)
                for chunk in opened.chunks(None, wanted):
                    for item in _items_of(chunk, chosen.text, chosen.id, label, problems):
                        same = (item.test_set, item.id, item.text)
                        if label != TOGETHER or same not in seen:  # together: with one field, it is that field
                            items.append(item)
                        seen.add(same)
                advance(len(items) - before)
        if not items:
            raise InputError("The test sets have no item with a text", "At least one item", "Check --fields")
        return items_with_windows(items, settings, key, problems, notes)


Choice = tuple[str, str | None]
"""The label of a field, and the columns to read for it; none: the guess of the reader."""


def _choices(
    name: str | Path, fields: Sequence[str], id: str | None, settings: Settings
) -> tuple[list[Choice], list[str]]:
    """The fields to look for in a file, and remarks about guesses and missing fields."""
    opened = open_files([name], reading=settings.reading)
    columns = {column.name for column in opened.columns}
    if not fields:
        known = next((field for field in QUESTIONS if field in columns), None)
        if known is None:
            return [("", None)], list(choose_columns(opened, None, id, ITEM_OPTIONS).notes)
        spelled = _spelled(opened, known)
        return [(known, spelled)], [
            f'"{printable(spelled)}" of {printable(str(name))} (guessed; --fields sets it)'
        ]
    there = [field for field in fields if _root_of(field, columns) in columns]
    if not there:
        find_column(opened, _root_of(fields[0], columns), "--fields")  # raises, with the columns
    choices: list[Choice] = [(field, _spelled(opened, field)) for field in there]
    if len(choices) > 1:
        choices.append((TOGETHER, joined([column or "" for _, column in choices])))
    missing = [field for field in fields if field not in there]
    return choices, [f"{printable(str(name))} has no field {printable(field)}" for field in missing]


def _root_of(field: str, columns: set[str]) -> str:
    paths = paths_of(field, columns)
    return paths[0].root if paths else field


def _spelled(opened: Documents, field: str) -> str:
    """The texts of a field; of a list or record those of its elements: their content, value or text, else all."""
    nested = texts_in(field, types_of(opened).get(field))
    if not nested or any(column.name == field and column.kind == "text" for column in opened.columns):
        return field
    leaves = {path: path.removesuffix("[]").rpartition(".")[2] for path in nested}
    texts = [path for path in nested if leaves[path] in _LEAVES]
    return joined(texts or nested) or field


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
    tokens = shingle_sets(texts, np.arange(len(items)), of_length(settings, 1), key, "tokens")
    sizes, length = tokens.sizes, settings.shingles.length
    whole = sizes < max(WHOLE, length)
    lengths = np.where(sizes < SHORTEST, 0, np.where(whole, sizes, length))
    counts = np.where(lengths > 0, sizes - lengths + 1, 0)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    hashes = _hashes(tokens, lengths, starts, key)
    short = np.repeat(whole, counts)
    windows = np.empty(len(hashes), np.int32)
    shingles, windows[~short] = _numbered(hashes[~short])
    wholes, numbers = _numbered(hashes[short])
    windows[short] = numbers + len(shingles)
    heads, of_lengths = _heads(tokens, np.flatnonzero(whole & (lengths > 0)), key)
    wanted = WantedWindows(shingles, wholes, heads, of_lengths, key)
    return TestItems(items, tokens.hashes, tokens.offsets, lengths, windows, starts, wanted, problems, notes)


def of_length(settings: Settings, length: int) -> Settings:
    """The settings with windows of this length."""
    return replace(settings, shingles=replace(settings.shingles, length=length))


def _hashes(tokens: ShingleSets, lengths: Int64s, starts: Int64s, key: Key) -> UInt64s:
    """The hashes of all windows, in the order of the items and their texts."""
    hashes = np.empty(int(starts[-1]), np.uint64)
    for item in np.flatnonzero(lengths).tolist():
        own = tokens.hashes[tokens.offsets[item] : tokens.offsets[item + 1]]
        shingle_hashes(own, len(own), int(lengths[item]), key.shingles, hashes[starts[item] : starts[item + 1]])
    return hashes


def _sorted_set(values: Int64s) -> Int64s:
    """The distinct values, ascending: np.unique, whose hash table takes ten times as long for millions of them."""
    values = np.sort(values)
    first: Bools = np.concatenate((np.ones(min(1, len(values)), np.bool_), values[1:] != values[:-1]))
    distinct: Int64s = values[first]
    return distinct


def _numbered(hashes: UInt64s) -> tuple[UInt64s, Int64s]:
    """The distinct hashes in the order of their first place, and the number of each hash."""
    distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[inverse]


def _heads(tokens: ShingleSets, short: Int64s, key: Key) -> tuple[UInt64s, UInt64s]:
    """The hashes of the first tokens of short items, and the lengths of the items with each, as bits."""
    hashes = np.empty(len(short), np.uint64)
    for k, item in enumerate(short.tolist()):
        begin = tokens.offsets[item]
        shingle_hashes(tokens.hashes[begin : begin + HEAD], HEAD, HEAD, key.shingles, hashes[k : k + 1])
    heads, numbers = _numbered(hashes)
    lengths = np.zeros(len(heads), np.uint64)
    np.bitwise_or.at(lengths, numbers, np.uint64(1) << tokens.sizes[short].astype(np.uint64))
    return heads, lengths
