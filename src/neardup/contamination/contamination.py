"""``decontaminate``: the training documents without those that contain test items, and a proof of each removal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.contamination.items import SHORTEST, TestItems, read_items
from neardup.contamination.matches import Evidence, ItemMatch, MatchRules, Scanned, Weights, scan
from neardup.display import counted, percent, printable
from neardup.errors import InputError, SettingError
from neardup.io.readers import choose_columns, open_documents
from neardup.io.readers.base import Chunk, Documents, NativeRows, Problem
from neardup.io.readers.columns import Chosen
from neardup.io.writers import ChunkRows, OutputFolder, write_kept
from neardup.run.pipeline import Meter
from neardup.runtime import Progress, Silent, ordered_map
from neardup.settings import SettingKeywords, Settings
from neardup.tables import Int64s, one_array
from neardup.text.keys import new_key
from neardup.text.units import words

CONTAMINATED_BY = "contaminated_by"
"""The column of ``tag``: the test sets of the items that a row contains, or null."""

Action: TypeAlias = Literal["drop", "tag"]

MATCHES = pa.schema(
    [
        ("id", pa.large_string()),
        ("source", pa.large_string()),
        ("row", pa.int64()),
        ("test_set", pa.large_string()),
        ("item", pa.large_string()),
        ("field", pa.large_string()),
        ("shared", pa.int64()),
        ("size", pa.int64()),
        ("share", pa.float64()),
        ("run", pa.int64()),
        ("evidence", pa.large_string()),
        ("rarest", pa.int64()),
        ("begin", pa.int64()),
        ("end", pa.int64()),
        ("passage", pa.large_string()),
    ]
)
"""The columns of matches.parquet and common.parquet; ``begin`` and ``end`` are characters of the training text."""


class ContaminationKeywords(SettingKeywords, total=False):
    """The rules of a match, and the settings of texts."""

    at: float
    run: int
    common: float


class TrainingChunk(NamedTuple):
    """A chunk of the training side, read and scanned."""

    chunk: Chunk
    ids: Sequence[Any]
    row_numbers: Int64s
    scanned: Scanned
    problems: Sequence[Problem]


class Place(NamedTuple):
    """A row of the training side: its id, file, row and chunk."""

    id: str
    source: str
    row: int
    chunk: int


@dataclass(frozen=True, eq=False)
class Contamination:
    """Which training documents contain which test items.

    ``matches`` has a row for each item and document with evidence, and ``common`` one for each that only has
    common text; ``phrases`` lists that text. Columns: see MATCHES.
    """

    matches: pa.Table
    common: pa.Table
    phrases: pa.Table
    documents: int
    items: TestItems
    rules: MatchRules
    problems: Sequence[Problem]
    notes: Sequence[str]
    rows: Mapping[int, Mapping[int, tuple[str, ...]]] = field(repr=False)
    """By chunk and row number: the test sets whose items the row contains."""

    @cached_property
    def contaminated(self) -> int:
        """The number of training documents with a match."""
        return sum(map(len, self.rows.values()))

    def by_test_set(self) -> list[dict[str, Any]]:
        """For each test set: its items, those found in training documents, and the documents that contain them."""
        table = self.matches.select(["test_set", "item", "source", "row"])
        rows = []
        for name in self.items.test_sets:
            of_set = table.filter(pc.equal(table["test_set"], name))
            documents = of_set.group_by(["source", "row"]).aggregate([])
            every = {item.id for item in self.items.items if item.test_set == name}
            hit = len(pc.unique(of_set["item"]))
            rows.append({"test_set": name, "items": len(every), "found": hit, "documents": documents.num_rows})
        return rows

    def by_source(self) -> list[dict[str, Any]]:
        """For each training file with a match: how many of its documents contain test items."""
        documents = self.matches.select(["source", "row"]).group_by(["source", "row"]).aggregate([])
        counts = documents.group_by("source").aggregate([("row", "count")]).sort_by("source")
        return [{"source": row["source"], "documents": row["row_count"]} for row in counts.to_pylist()]

    def as_dict(self) -> dict[str, Any]:
        """The account, as in ``run.json``."""
        return {
            "command": "decontaminate",
            "counts": {
                "documents": self.documents,
                "contaminated": self.contaminated,
                "items": len(self.items.items),
                "items_too_short": self.items.too_short,
                "matches": self.matches.num_rows,
                "only_common_text": self.common.num_rows,
                "common_shingles": self.phrases.num_rows,
                "rejected": len(self.problems),
            },
            "rules": {
                "at": float(self.rules.share),
                "run": self.rules.run,
                "common": float(self.rules.common),
                "most_documents": self.rules.most_documents(self.documents),
            },
            "test_sets": self.by_test_set(),
            "sources": self.by_source(),
            "notes": list(self.notes),
        }


def decontaminate(
    train: object,
    *,
    against: str | Path | Sequence[str | Path],
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    fields: Sequence[str] = (),
    against_id: str | None = None,
    progress: Progress | None = None,
    **settings: Unpack[ContaminationKeywords],
) -> Contamination:
    """Find the training documents that contain test items, with the evidence for each.

    ``train``: what :func:`neardup.find` accepts. ``against``: files with test items, one test set each; ``fields``
    names their columns with text. Each is looked for alone, and all of them together. An item is
    contained if ``at`` (.8) of its shingles are in a training document; of an item of fewer than ten tokens, the
    whole. A match needs text that is not common: see :class:`neardup.contamination.matches.MatchRules` for ``run``
    (13 tokens) and ``common`` (.001). The test side is held in memory, and the training side is read once, a few
    chunks at a time.

    Raises SettingError for settings out of range, and InputError for input that cannot be used.
    """
    rules = rules_of(settings.pop("at", 0.8), settings.pop("run", 13), settings.pop("common", 0.001))
    chosen = Settings.of(**cast(SettingKeywords, settings))
    if chosen.shingles.unit != "word" or chosen.cleaning.is_on:
        raise SettingError("decontaminate compares words as they are", "unit word, and no mask", "Leave it out")
    names = [against] if isinstance(against, str | Path) else list(against)
    if not names:
        raise InputError("No test set was given", "Files with test items", "Name them with --against")
    meter = Meter(progress or Silent())
    items = read_items(names, fields, against_id, chosen, new_key(), meter)
    documents = open_documents(train, reading=chosen.reading)
    columns = choose_columns(documents, text, id)
    return contamination_of(documents, columns, items, rules, chosen, meter)


def rules_of(share: float, run: int, common: float) -> MatchRules:
    """The rules of a match. Raises SettingError for values out of range."""
    if not 0 < share <= 1:
        raise SettingError(f"at is {share}", "a number above 0, to 1, or a percentage")
    if not 0 <= common <= 1:
        raise SettingError(f"common is {common}", "a number from 0 to 1, or a percentage")
    if run < 1:
        raise SettingError(f"run is {run}", "a whole number of tokens, from 1")
    return MatchRules(Fraction(str(share)), run, Fraction(str(common)))


def contamination_of(
    documents: Documents, columns: Chosen, items: TestItems, rules: MatchRules, settings: Settings, meter: Meter
) -> Contamination:
    """Scan the training documents, and weigh the matches by how common their shingles are."""
    weights = Weights(items)
    matches: list[tuple[Place, ItemMatch]] = []
    problems: list[Problem] = []
    with meter.stage("scan", None, "documents") as advance:
        names = [columns.text, *([columns.id] if columns.id else [])]
        scanning = partial(_scanned, columns=columns, items=items, settings=settings, rules=rules)
        for read in ordered_map(scanning, documents.chunks(None, names), settings.work.threads):
            weights.add(read.scanned)
            problems += read.problems
            matches += [(_place(read, match.row), match) for match in read.scanned.matches]
            advance(read.scanned.texts)
    with meter.stage("evidence", None, "matches"):
        matches.sort(key=lambda one: (one[0].chunk, one[0].row, _item(one[1], items)))
        judged = [(place, match, weights.evidence(match, rules)) for place, match in matches]
        proven = [one for one in judged if one[2] != "common"]
        rows: dict[int, dict[int, tuple[str, ...]]] = {}
        for place, match, _ in proven:
            of_chunk = rows.setdefault(place.chunk, {})
            test_set = items.items[_item(match, items)].test_set
            of_chunk[place.row] = tuple(sorted({*of_chunk.get(place.row, ()), test_set}))
        return Contamination(
            _table(proven, weights),
            _table([one for one in judged if one[2] == "common"], weights),
            _phrases(weights, rules),
            weights.texts,
            items,
            rules,
            problems,
            (*columns.notes, *items.notes),
            rows,
        )


def _scanned(
    chunk: Chunk, columns: Chosen, items: TestItems, settings: Settings, rules: MatchRules
) -> TrainingChunk:
    rows = chunk.read([columns.text, columns.id] if columns.id else [columns.text])
    texts = one_array(rows.table.column(columns.text))
    ids: Sequence[Any] = rows.table.column(columns.id).to_pylist() if columns.id else ()
    return TrainingChunk(chunk, ids, rows.row_numbers, scan(texts, items, settings, rules), rows.problems)


def _place(read: TrainingChunk, row: int) -> Place:
    number, source = int(read.row_numbers[row]), read.chunk.source
    return Place(str(read.ids[row]) if read.ids else f"{source}#{number}", source, number, read.chunk.index)


def _item(match: ItemMatch, items: TestItems) -> int:
    return int(items.windows[match.windows].items[match.place])


def _table(judged: Sequence[tuple[Place, ItemMatch, Evidence]], weights: Weights) -> pa.Table:
    items, rows = weights.items, []
    for place, match, evidence in judged:
        item = items.items[_item(match, items)]
        size = int(items.windows[match.windows].sizes[match.place])
        rows.append(
            (
                *place[:3],
                *item[:3],
                match.shared,
                size,
                match.shared / size,
                match.run,
                evidence,
                weights.rarest(match),
                match.begin,
                match.end,
                match.passage,
            )
        )
    columns = zip(*rows, strict=True) if rows else ([] for _ in MATCHES)
    return pa.table([pa.array(column, kind.type) for column, kind in zip(columns, MATCHES, strict=True)], MATCHES)


def _phrases(weights: Weights, rules: MatchRules) -> pa.Table:
    """The common shingles: the text of each, and how many training documents and test sets have it."""
    shown: list[tuple[str, int, int]] = []
    items = weights.items
    for number, windows in enumerate(items.windows):
        common, sets = weights.common(number, rules), weights.sets(number)
        for place, item in enumerate(windows.items.tolist()):
            hashes = windows.of(place)
            of_item = np.searchsorted(windows.distinct, hashes)
            if not common[of_item].any():
                continue
            strings = words(items.items[item].text, items.key).strings
            for begin in np.flatnonzero(common[of_item]).tolist():
                hash_place = int(of_item[begin])
                common[hash_place] = False  # each once
                tokens = " ".join(strings[begin : begin + windows.length])
                shown.append((tokens, int(weights.documents[number][hash_place]), int(sets[hash_place])))
    shown.sort(key=lambda row: (-row[1], -row[2], row[0]))
    texts, documents, sets_ = zip(*shown, strict=True) if shown else ((), (), ())
    return pa.table(
        {
            "shingle": pa.array(texts, pa.large_string()),
            "documents": pa.array(documents, pa.int64()),
            "test_sets": pa.array(sets_, pa.int64()),
        }
    )


def write_contamination(
    result: Contamination,
    documents: Documents,
    folder: OutputFolder,
    action: Action,
    meter: Meter,
    threads: int = 0,
) -> dict[str, Any]:
    """Write the documents that stay (``tag``: all, with CONTAMINATED_BY) and the tables; return the account.

    Raises InputError if the input has changed.
    """
    schema = pa.schema([(CONTAMINATED_BY, pa.list_(pa.large_string()))]) if action == "tag" else None

    def rows_of(chunk: Chunk, native: NativeRows) -> ChunkRows:
        hit = result.rows.get(chunk.index, {})
        sets = [hit.get(number) for number in native.row_numbers.tolist()]
        if schema is None:
            return ChunkRows(np.array([one is None for one in sets], np.bool_))
        column = pa.array([None if one is None else list(one) for one in sets], schema.field(0).type)
        return ChunkRows(np.ones(len(sets), np.bool_), pa.table([column], schema))

    with meter.stage("write", result.documents, "rows") as advance:
        written = write_kept(folder, documents, rows_of, threads, advance, extra=schema)
    expected = result.documents - (result.contaminated if action == "drop" else 0)
    if written.kept != expected:
        raise InputError(
            f"The input has changed while it was read: {written.kept:,} documents would stay, not {expected:,}",
            "Inputs that do not change during a run",
            "Start again when nothing writes to it",
        )
    folder.write_table("matches.parquet", result.matches)
    folder.write_table("common.parquet", result.common)
    folder.write_table("common_shingles.parquet", result.phrases)
    folder.write_jsonl("problems.jsonl", result.problems)
    account = {**result.as_dict(), "action": action, "kept_files": written.files, "seconds": meter.seconds}
    folder.write_json("run.json", account)
    return account


def lines_of(result: Contamination, most: int = 5) -> Iterator[str]:
    """The account for people: the direction, the items found of each test set, and the strongest matches."""
    rules = result.rules
    yield (
        "A training document contains a test item if it has "
        f"{percent(rules.share.numerator, rules.share.denominator)} of the shingles of the item."
    )
    for row in result.by_test_set():
        yield (
            f"{printable(row['test_set'])}: {row['found']:,} of {counted(row['items'], 'item')} in "
            f"{counted(row['documents'], 'training document')}"
        )
    for row in result.by_source():
        yield f"{printable(row['source'])}: {counted(row['documents'], 'document')} with test items"
    if result.common.num_rows:
        yield (
            f"{counted(result.common.num_rows, 'match', 'matches')} by common text alone, which remove nothing: "
            "common.parquet lists them"
        )
    if result.items.too_short:
        few = counted(result.items.too_short, "text")
        yield f"{few} of items with fewer than {SHORTEST} tokens: not looked for"
    strongest = result.matches.sort_by([("share", "descending"), ("run", "descending"), ("id", "ascending")])
    for match in strongest.slice(0, most).to_pylist():
        yield (
            f"  {printable(match['id'])} contains {printable(match['item'])} ({printable(match['field'])}): "
            f"{match['shared']} of {match['size']} shingles, {match['run']} tokens in a row"
        )
        yield f"    {printable(excerpt(match['passage']))}"


def excerpt(passage: str, most: int = 100) -> str:
    """The beginning of a passage, on one line."""
    line = " ".join(passage.split())
    return line if len(line) <= most else line[: most - 1] + "…"
