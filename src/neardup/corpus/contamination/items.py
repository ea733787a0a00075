"""The test items: each field of an item is a text to look for, found by its windows of tokens."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import pyarrow as pa

from neardup.deduplication.runs import Meter
from neardup.display import printable
from neardup.errors import InputError
from neardup.io.inputs import (
    EACH,
    Chunk,
    ColumnOptions,
    Documents,
    FieldPath,
    NativeLines,
    Problem,
    choose_columns,
    find_column,
    joined_name,
    open_files,
    paths_of,
    texts_in,
    types_of,
)
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sketch import HEAD, distinct_windows, number_windows
from neardup.kernels.text import Key
from neardup.runtime import release_memory
from neardup.settings import Settings
from neardup.tables import Bools, Int32s, Int64s, UInt64s, one_array
from neardup.text.keys import new_key
from neardup.text.sketch import ShingleSets, WantedWindows, shingle_sets

WHOLE = 10
"""Items with fewer tokens are looked for as a whole: a share of few shingles is a coincidence too often."""

SHORTEST = HEAD
"""Items with fewer tokens are not looked for: a text has them by chance."""

TOGETHER = "together"
"""The name of all fields of an item as one text."""

QUESTIONS = ("question", "query", "problem", "prompt", "instruction", "messages", "conversations")
"""The field of a test set for which none is named: its first one in this list, else the longest texts."""

ITEM_OPTIONS = ColumnOptions("--fields", "--against-id")

_AT_ONCE = 4096
"""Items that are objects at a time, between two tables."""

_LEAVES = ("content", "value", "text")
"""The fields of records that hold their text, in chats and in choices; the others have roles and labels."""

_COLUMNS = pa.schema(
    [
        ("test_set", pa.dictionary(pa.int32(), pa.large_string())),
        ("id", pa.large_string()),
        ("field", pa.dictionary(pa.int32(), pa.large_string())),
        ("text", pa.large_string()),
    ]
)


class ItemText(NamedTuple):
    """A text of the test side: its test set (the file), the id of its row, the field, and the text itself."""

    test_set: str
    id: str
    field: str
    text: str


@dataclass(frozen=True, eq=False)
class ItemTexts(Sequence[ItemText]):
    """The texts of all items as a table: a few bytes a word, where objects would take many times that."""

    table: pa.Table

    @classmethod
    def of(cls, items: Sequence[ItemText]) -> "ItemTexts":
        """The table of some items."""
        columns = zip(*items, strict=True) if items else ([] for _ in _COLUMNS)
        arrays = [pa.array(column, pa.large_string()) for column in columns]
        # pyarrow 18 makes no dictionaries of long strings from objects
        return cls(pa.Table.from_arrays(arrays, _COLUMNS.names).cast(_COLUMNS))

    @classmethod
    def concatenate(cls, parts: Sequence["ItemTexts"]) -> "ItemTexts":
        """All of the parts, one after the other."""
        tables = [cls.of([]).table, *(part.table for part in parts)]
        return cls(pa.concat_tables(tables).unify_dictionaries().combine_chunks())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @overload
    def __getitem__(self, index: int) -> ItemText: ...
    @overload
    def __getitem__(self, index: slice) -> "ItemTexts": ...
    def __getitem__(self, index: int | slice) -> "ItemText | ItemTexts":
        if isinstance(index, slice):
            return ItemTexts(self.table.take(pa.array(np.arange(len(self))[index])))
        return ItemText(*(column[index].as_py() for column in self.table.columns))

    def column(self, name: str) -> pa.Array:
        """One column, as one array."""
        return one_array(self.table.column(name))

    @property
    def test_sets(self) -> tuple[list[str], Int64s]:
        """The names of the test sets, in the order of the input, and the number of that of each item."""
        sets = self.column("test_set")
        numbers = sets.indices.to_numpy().astype(np.int64)
        used = list(dict.fromkeys(numbers.tolist()))
        rank = np.empty(len(sets.dictionary), np.int64)
        rank[used] = np.arange(len(used))
        return [sets.dictionary[number].as_py() for number in used], rank[numbers]


@dataclass(frozen=True, eq=False)
class TestItems:
    """All items, and their windows, hashed by ``key``.

    Item i has ``token_counts[i]`` tokens, and windows of ``lengths[i]`` tokens: its shingles, or the item as a
    whole if it is short; 0 if it is too short to be looked for. In the order of the text, they have the numbers
    ``windows[starts[i]:starts[i + 1]]``. The numbers are those of ``wanted``: shingles first, each in the order of
    their first place, so they do not depend on the key. ``sets_with`` are the test sets with each distinct window;
    items with the same text count as one, since an item that was copied into a second test set is no common
    phrase.
    """

    __test__ = False  # not a test of pytest

    items: ItemTexts
    token_counts: Int64s
    lengths: Int64s
    windows: Int32s
    starts: Int64s
    wanted: WantedWindows
    sets_with: Int32s
    problems: Sequence[Problem] = ()
    notes: Sequence[str] = ()

    @property
    def key(self) -> Key:
        """The key of the hashes."""
        return self.wanted.key

    @property
    def too_short(self) -> int:
        """The number of items with fewer than SHORTEST tokens."""
        return int((self.token_counts < SHORTEST).sum())

    @property
    def distinct(self) -> int:
        """The number of distinct windows."""
        return len(self.wanted.shingles) + len(self.wanted.whole)

    def windows_of(self, item: int) -> Int32s:
        """The numbers of the windows of an item, in the order of the text."""
        return self.windows[self.starts[item] : self.starts[item + 1]]

    @cached_property
    def sets(self) -> tuple[Int32s, Int64s]:
        """The distinct windows of each item, ascending: numbers, and offsets int64[items + 1]."""
        windows, offsets = distinct_windows(self.windows, self.starts)
        return windows, offsets

    @cached_property
    def sizes(self) -> Int64s:
        """The number of distinct windows of each item."""
        return np.diff(self.sets[1])

    @cached_property
    def test_sets(self) -> list[str]:
        """The names of the test sets, in the order of the input."""
        return self.items.test_sets[0]

    @cached_property
    def digest(self) -> str:
        """A name for the items, their windows and their order."""
        hasher = hashlib.blake2b(digest_size=16)
        hasher.update(self.windows.data)
        hasher.update(self.lengths.data)
        for item in self.items:
            hasher.update("\0".join(item).encode("utf-8", "replace"))
        return hasher.hexdigest()


def read_items(
    names: Sequence[str | Path],
    fields: Sequence[str],
    id: str | None,
    settings: Settings,
    meter: Meter,
    key: Key | None = None,
) -> TestItems:
    """Read the test items of files; each of several ``fields`` alone, and all together.

    Every file may have its own layout, and needs one of the fields at least. Without a ``key`` one is drawn.
    Raises InputError.
    """
    parts: list[ItemTexts] = []
    problems: list[Problem] = []
    notes: list[str] = []
    with meter.stage("items", None, "items") as advance:
        for name in names:
            choices, of_file = _choices(name, fields, id, settings)
            notes += [f"test items: {note}" for note in of_file if f"test items: {note}" not in notes]
            seen: set[bytes] = set()
            turns: list[ItemText] = []
            for label, columns in choices:
                opened = open_files([name], reading=settings.reading.of_references)
                chosen = choose_columns(opened, columns, id, ITEM_OPTIONS)
                label = label or chosen.text
                path = None if label == TOGETHER else _path_of_turns(opened, chosen.text)
                wanted = [chosen.text, *([chosen.id] if chosen.id else []), *([path.root] if path else [])]
                for chunk in opened.chunks(None, wanted):
                    turns += [] if path is None else _turns_of(chunk, path, chosen.id, label)
                    for items in _items_of(chunk, chosen.text, chosen.id, label, problems):
                        if len(choices) > 1:
                            digests = [_digest_of(item) for item in items]
                            if label == TOGETHER:  # of a row with one field, it is that field
                                pairs = zip(items, digests, strict=True)
                                items = [item for item, digest in pairs if digest not in seen]
                            seen.update(digests)
                        parts.append(ItemTexts.of(items))
                        advance(len(items))
            parts.append(ItemTexts.of(_without_repeats(turns)))
        items_of_all = ItemTexts.concatenate(parts)
        del parts
        release_memory()
        if not items_of_all:
            raise InputError("The test sets have no item with a text", "At least one item", "Check --fields")
        return items_with_windows(items_of_all, settings, key or new_key(), problems, notes)


def _digest_of(item: ItemText) -> bytes:
    """A name of an item without its field: 16 bytes, while a test set is read."""
    parts = "\0".join((item.test_set, item.id, item.text)).encode("utf-8", "replace")
    return hashlib.blake2b(parts, digest_size=16).digest()


Choice = tuple[str, str | None]
"""The label of a field, and the columns to read for it; none: the guess of the reader."""


def _choices(
    name: str | Path, fields: Sequence[str], id: str | None, settings: Settings
) -> tuple[list[Choice], list[str]]:
    """The fields to look for in a file, and remarks about guesses and missing fields."""
    opened = open_files([name], reading=settings.reading.of_references)
    columns = {column.name for column in opened.columns}
    if not fields:
        known = next((field for field in QUESTIONS if field in columns), None)
        if known is None:
            return [("", None)], list(choose_columns(opened, None, id, ITEM_OPTIONS).notes)
        spelled = _field_texts(opened, known)
        return [(known, spelled)], [
            f'"{printable(spelled)}" of {printable(str(name))} (guessed; --fields sets it)'
        ]
    there = [field for field in fields if _root_of(field, columns) in columns]
    if not there:
        find_column(opened, _root_of(fields[0], columns), "--fields")  # raises, with the columns
    choices: list[Choice] = [(field, _field_texts(opened, field)) for field in there]
    if len(choices) > 1:
        choices.append((TOGETHER, joined_name([column or "" for _, column in choices])))
    missing = [field for field in fields if field not in there]
    return choices, [f"{printable(str(name))} has no field {printable(field)}" for field in missing]


def _root_of(field: str, columns: set[str]) -> str:
    paths = paths_of(field, columns)
    return paths[0].root if paths else field


def _field_texts(opened: Documents, field: str) -> str:
    """The texts of a field; of a list or record those of its elements: their content, value or text, else all."""
    nested = texts_in(field, types_of(opened).get(field))
    if not nested or any(column.name == field and column.kind == "text" for column in opened.columns):
        return field
    leaves = {path: path.removesuffix("[]").rpartition(".")[2] for path in nested}
    texts = [path for path in nested if leaves[path] in _LEAVES]
    return joined_name(texts or nested) or field


def _items_of(
    chunk: Chunk, text: str, id: str | None, label: str, problems: list[Problem]
) -> Iterator[list[ItemText]]:
    """Yield the items of a chunk, a few thousand at a time."""
    rows = chunk.read([text, id] if id else [text])
    problems += [problem for problem in rows.problems if problem not in problems]
    texts = one_array(rows.table.column(text))
    for begin in range(0, len(texts), _AT_ONCE):
        some = slice(begin, begin + _AT_ONCE)
        if id:
            ids = rows.table.column(id)[some].to_pylist()
        else:
            ids = [f"{chunk.source}#{row}" for row in rows.row_numbers[some].tolist()]
        yield [
            ItemText(chunk.source, str(name), label, value.decode("utf-8", "replace"))
            for value, name in zip(texts[some].cast(pa.large_binary()).to_pylist(), ids, strict=True)
            if value
        ]


def _path_of_turns(opened: Documents, text: str) -> FieldPath | None:
    """The path to the texts of the turns, if the text is that of a chat: a list of records."""
    paths = paths_of(text, {column.name for column in opened.columns}) or ()
    [path] = paths if len(paths) == 1 else [None]
    is_chat = path is not None and len(path.steps) > 1 and path.steps[-2] is EACH and path.steps[-1] in _LEAVES
    return path if is_chat else None


def _turns_of(chunk: Chunk, path: FieldPath, id: str | None, label: str) -> list[ItemText]:
    """The turns of the chats of a chunk that have several, each as an item of its own."""
    rows = chunk.read([path.spelled, id] if id else [path.spelled])
    numbers = rows.row_numbers.tolist()
    names = rows.table.column(id).to_pylist() if id else [f"{chunk.source}#{number}" for number in numbers]
    name_of, turns = dict(zip(numbers, names, strict=True)), []
    for number, value in _values_of(chunk, path.root):
        texts = _texts_at(value, path.steps)
        for turn, text in enumerate(texts if number in name_of and len(texts) > 1 else ()):
            turns.append(ItemText(chunk.source, str(name_of[number]), f"{label}[{turn}]", text))
    return turns


def _values_of(chunk: Chunk, root: str) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a chunk, with the value of a column as lists and records."""
    native = chunk.read_native()
    if isinstance(native, NativeLines):
        for number, begin, end in zip(
            native.row_numbers.tolist(), native.starts.tolist(), native.ends.tolist(), strict=True
        ):
            yield number, json.loads(native.data[begin:end].decode("utf-8", "replace")).get(root)
        return
    rows = chunk.read([root])
    yield from zip(rows.row_numbers.tolist(), rows.table.column(root).to_pylist(), strict=True)


def _texts_at(value: Any, steps: Sequence[str | None]) -> list[str]:
    """The strings at the end of the steps into a value, without those that are missing."""
    if not steps:
        is_text = isinstance(value, str)  # JSON may hold half surrogate pairs
        return [value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")] if is_text else []
    if steps[0] is EACH:
        return [text for one in value or () for text in _texts_at(one, steps[1:])]
    return _texts_at(value.get(steps[0]), steps[1:]) if isinstance(value, dict) else []


def _without_repeats(turns: Sequence[ItemText]) -> list[ItemText]:
    """The turns whose text is in one item alone: the others are prompts and greetings."""
    owners: dict[str, set[str]] = {}
    for turn in turns:
        owners.setdefault(turn.text, set()).add(turn.id)
    return [turn for turn in turns if len(owners[turn.text]) == 1]


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
    table = items if isinstance(items, ItemTexts) else ItemTexts.of(items)
    texts = table.column("text")
    tokens = shingle_sets(texts, np.arange(len(table)), of_length(settings, 1), key, "tokens")
    sizes, length = tokens.sizes, settings.shingles.length
    whole = sizes < max(WHOLE, length)
    lengths = np.where(sizes < SHORTEST, 0, np.where(whole, sizes, length))
    counts = np.where(lengths > 0, sizes - lengths + 1, 0)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    hashes = _hashes(tokens, lengths, starts, key)
    heads, of_lengths = _heads(tokens, np.flatnonzero(whole & (lengths > 0)), key)
    set_of = _first_sets(table, tokens)
    del tokens
    short, windows = np.repeat(whole, counts), np.empty(len(hashes), np.int32)
    shingles = number_windows(hashes, short, False, 0, windows)
    wholes = number_windows(hashes, short, True, len(shingles), windows)
    del hashes
    wanted = WantedWindows(shingles, wholes, heads, of_lengths, key)
    sets_with = np.zeros(len(shingles) + len(wholes), np.int32)
    for number in np.unique(set_of).tolist():
        sets_with[_sorted_set(windows[np.repeat(set_of == number, counts)])] += 1
    return TestItems(table, sizes, lengths, windows, starts, wanted, sets_with, problems, notes)


def _first_sets(items: ItemTexts, tokens: ShingleSets) -> Int64s:
    """The number of the first test set that has an item with the tokens of each item."""
    names, set_of = items.test_sets
    first: dict[bytes, int] = {}
    for item in range(len(items) if len(names) > 1 else 0):
        own = tokens.hashes[tokens.offsets[item] : tokens.offsets[item + 1]].data
        same = hashlib.blake2b(own, digest_size=16).digest()
        set_of[item] = set_of[first.setdefault(same, item)]
    return set_of


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


def _sorted_set(values: Int32s) -> Int32s:
    """The distinct values, ascending: np.unique, whose hash table takes ten times as long for millions of them."""
    values = np.sort(values)
    first: Bools = np.concatenate((np.ones(min(1, len(values)), np.bool_), values[1:] != values[:-1]))
    distinct: Int32s = values[first]
    return distinct


def _heads(tokens: ShingleSets, short: Int64s, key: Key) -> tuple[UInt64s, UInt64s]:
    """The hashes of the first tokens of short items, and the lengths of the items with each, as bits."""
    hashes = np.empty(len(short), np.uint64)
    for k, item in enumerate(short.tolist()):
        begin = tokens.offsets[item]
        shingle_hashes(tokens.hashes[begin : begin + HEAD], HEAD, HEAD, key.shingles, hashes[k : k + 1])
    numbers = np.empty(len(hashes), np.int32)
    heads = number_windows(hashes, np.ones(len(hashes), np.bool_), True, 0, numbers)
    lengths = np.zeros(len(heads), np.uint64)
    np.bitwise_or.at(lengths, numbers, np.uint64(1) << tokens.sizes[short].astype(np.uint64))
    return heads, lengths
