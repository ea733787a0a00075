"""The sample: the first documents of an input, held in memory, their shingle sets, and all pairs of a part of it.

Only a bounded part is looked at by several kinds of shingles: every pair of it is counted, also the pairs of
strangers, which no join below a threshold returns.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.join.base_documents import BaseDocuments, read_texts
from neardup.deduplication.pairs import EVERYONE, Related, families_of, most_documents
from neardup.deduplication.results import Found
from neardup.deduplication.runs import asked_columns, relations_of
from neardup.display import counted, number
from neardup.io.inputs import Chosen, Documents, Problem, ReadRows, join_ids
from neardup.kernels.join import count_all
from neardup.runtime import Progress
from neardup.settings import Cleaning, JoinSettings, Relations, Settings, Shingles, TextSettings
from neardup.tables import Bools, Floats, Int64s, one_array
from neardup.text.keys import process_key
from neardup.text.sketch import (
    NO_BASE_TEXT,
    BaseText,
    ShingleSets,
    base_text_of,
    clean_texts,
    left_sets,
    shingle_sets,
    sign,
)

MOST_DOCUMENTS = 100_000
MOST_BYTES = {"word": 200_000_000, "char": 40_000_000}
"""Bytes at which the adviser stops, by unit: the exact join needs 16 bytes per shingle (token or character)."""

MOST_LOOKED_AT, MOST_BYTES_LOOKED_AT, MOST_WORK = 2000, 24_000_000, 24_000_000_000
"""More documents than this, or with more bytes, are not looked at together, nor more documents times bytes."""

FAMILIES = 0.75
"""The share of a part that whole families of documents may take."""

BLOCK = 40
"""Documents without a known relative are taken in blocks, because relatives are often neighbours in the input."""

TRIED_BYTES = 20_000_000
"""Common text is learned from the first documents."""


def _no_texts() -> pa.Array:
    return pa.array([], pa.large_binary())


@dataclass(frozen=True, eq=False)
class SampledTexts:
    """Texts (large_binary[n]) with their display names (string[n]).

    ``columns`` are those that the settings name, ``base`` the base texts (large_binary[m]) that do not count.
    """

    texts: pa.Array
    ids: pa.Array
    complete: bool
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    base: pa.Array = field(default_factory=_no_texts)

    @property
    def sizes(self) -> Int64s:
        """The bytes of each text, int64[n]; 0 for a missing one."""
        return _lengths(self.texts)

    def first(self, most_bytes: int) -> "SampledTexts":
        """Return the sample of the first texts, of at most ``most_bytes`` bytes together, but at least one."""
        n = max(1, int(np.searchsorted(np.cumsum(self.sizes), most_bytes, side="right")))
        columns = {name: values.slice(0, n) for name, values in self.columns.items()}
        return replace(self, texts=self.texts.slice(0, n), ids=self.ids.slice(0, n), columns=columns)

    def counted(self, settings: Settings) -> "tuple[SampledTexts, Settings]":
        """Return the sample without the text that the settings leave out, and settings that leave out no more."""
        clean, base = clean_texts(self.texts, settings), clean_texts(self.base, settings)
        return replace(self, texts=clean.texts, base=base.texts), replace(settings, cleaning=Cleaning())

    def related(self, relations: Relations) -> Related:
        """Return which of the documents may be pairs."""
        return relations_of(self.columns, relations, process_key())


def take(
    documents: Documents, columns: Chosen, settings: Settings, base: BaseDocuments | None, progress: Progress
) -> SampledTexts:
    """Read the documents up to the limits of the adviser, and all base texts."""
    extra = asked_columns(settings.keep, settings.relations)
    names = list(dict.fromkeys(name for name in (columns.text, columns.id, *extra) if name))
    texts, ids = [_no_texts()], [pa.array([], pa.large_string())]
    columns_of: dict[str, list[pa.Array]] = {name: [] for name in extra}
    problems: list[Problem] = []
    room, rows_left, complete = MOST_BYTES[settings.shingles.unit], MOST_DOCUMENTS, True
    with progress.stage("read", documents.size_bytes, "bytes") as advance:
        for chunk in documents.chunks(None, names):
            rows = chunk.read(names)
            problems.extend(rows.problems)
            values = one_array(rows.table.column(columns.text).cast(pa.large_binary()))
            totals = np.cumsum(_lengths(values))
            fits = min(int(np.searchsorted(totals, room, side="right")), rows_left)
            if len(values) and not fits and rows_left == MOST_DOCUMENTS:
                fits = 1  # one huge document is better than an empty sample
            texts.append(values.slice(0, fits))
            ids.append(_names(rows, columns, chunk.source, documents.format == "arrow").slice(0, fits))
            for name in extra:
                columns_of[name].append(one_array(rows.table.column(name)).slice(0, fits))
            read = int(totals[fits - 1]) if fits else 0
            room, rows_left = room - read, rows_left - fits
            advance(read)
            if fits < len(values):
                complete = False
                break
    together = pa.concat_arrays(ids)
    notes = (*columns.notes, *documents.findings.reading_notes(), *_repeated(together))
    ignored = pa.concat_arrays([_no_texts(), *(read_texts(base) if base else ())])
    of_columns = {name: one_array(join_ids(arrays)) for name, arrays in columns_of.items() if arrays}
    return SampledTexts(pa.concat_arrays(texts), together, complete, tuple(problems), notes, of_columns, ignored)


def _names(rows: ReadRows, columns: Chosen, source: str, in_memory: bool) -> pa.Array:
    """Return the ids of the rows; without an id column source#row, or only the row number for data in memory."""
    if columns.id:
        names = pc.fill_null(pc.cast(rows.table.column(columns.id), pa.large_string()), "")
        return one_array(names)
    prefix = "" if in_memory else f"{source}#"
    return pa.array([f"{prefix}{row}" for row in rows.row_numbers.tolist()], pa.large_string())


def _repeated(ids: pa.Array) -> tuple[str, ...]:
    again = len(ids) - pc.count_distinct(ids, mode="all").as_py()
    if not again:
        return ()
    return (
        f"{counted(again, 'document has', 'documents have')} an id that another one has, of {number(len(ids))}",
    )


def _lengths(texts: pa.Array) -> Int64s:
    lengths: Int64s = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


@dataclass(frozen=True)
class RunKind:
    """Shingles to look by.

    Below the ``chance`` of each measure, a large group is a subject, a language or a form, and not one text.
    """

    unit: str
    length: int
    chance: float
    overlap_chance: float

    def settings(self, wanted: Settings) -> Settings:
        """Return the asked settings with these shingles."""
        return Settings.of(**{**wanted.as_dict(), "unit": self.unit, "length": self.length})


KINDS = (
    RunKind("word", 5, 0.1, 0.2),
    RunKind("word", 3, 0.1, 0.3),
    RunKind("char", 9, 0.125, 0.4),
    RunKind("char", 5, 0.5, 1.0),
)
"""The shingles tried, the preferred first."""


@dataclass(frozen=True, eq=False)
class SharedCounts:
    """``shared`` (int32[n, n]): the shingles any two documents share; ``sizes`` (int64[n]): those of each."""

    kind: RunKind
    shared: np.ndarray[tuple[int, int], np.dtype[np.int32]]
    sizes: Int64s

    def similar(self, measure: str) -> Floats:
        """Return float32[n, n]: the resemblance, or the overlap, of any two; 0 on the diagonal."""
        shared = self.shared.astype(np.float32)
        a, b = self.sizes[:, None].astype(np.float32), self.sizes[None, :].astype(np.float32)
        whole = np.minimum(a, b) if measure == "overlap" else a + b - shared
        similarities: Floats = shared / np.maximum(whole, 1)
        np.fill_diagonal(similarities, 0)
        return similarities


def to_look_at(sample: SampledTexts, full: Bools, result: Found) -> Int64s:
    """Return the numbers of the documents to look at: without exact copies and empty ones, rising.

    If there are too many, whole families of the pairs in ``result`` are taken, so that relatives are not torn
    apart, and blocks of the others, both evenly spaced.
    """
    once = np.setdiff1d(np.flatnonzero(full), result.copies["id"].to_numpy())
    sizes = sample.sizes
    n, total = max(len(once), 1), max(int(sizes[once].sum()), 1)
    share = min(MOST_LOOKED_AT / n, MOST_BYTES_LOOKED_AT / total, (MOST_WORK / (n * total)) ** 0.5)
    if share >= 1:
        return once
    most, room = max(int(share * n), 1), int(share * total)
    parent = families_of(result.pairs["id_a"].to_numpy(), result.pairs["id_b"].to_numpy(), len(sizes))
    _, family, often = np.unique(parent[once], return_inverse=True, return_counts=True)
    known = np.flatnonzero(often > 1)
    step = max(1.0, float(often[known].sum()) / (FAMILIES * most))
    chosen = known[np.unique((np.arange(int(len(known) / step)) * step).astype(np.int64))]
    related = once[np.isin(family, chosen)]
    related = _fitting(related, sizes, int(FAMILIES * most), int(FAMILIES * room))
    single = once[often[family] == 1]
    blocks = np.arange(len(single)) // BLOCK
    wanted = max(1, -(-len(single) // max(1, most - len(related))))
    others = single[blocks % wanted == 0]
    rest = _fitting(others, sizes, most - len(related), room - int(sizes[related].sum()))
    return np.sort(np.concatenate((related, rest)))


def counts_of(
    texts: pa.Array, kind: RunKind, settings: Settings, base: BaseText = NO_BASE_TEXT, related: Related = EVERYONE
) -> SharedCounts:
    """Count the shingles of every text (large_binary[n]) and those any two share.

    Shingles of ``base`` do not count, and documents that are not ``related`` share none.
    """
    sets = sets_of(texts, kind.settings(settings), base)
    n = len(texts)
    order = np.argsort(sets.hashes, kind="stable")
    owners = np.repeat(np.arange(n, dtype=np.int32), sets.sizes)[order]
    hashes = sets.hashes[order]
    fresh = np.concatenate((np.ones(min(len(hashes), 1), np.bool_), hashes[1:] != hashes[:-1]))
    begin = np.concatenate((np.flatnonzero(fresh), [len(hashes)])).astype(np.int64)
    elements = np.empty(len(hashes), np.int32)
    elements[order] = np.cumsum(fresh) - 1
    shared = np.zeros((n, n), np.int32)
    count_all(elements, sets.offsets, owners, begin, shared)
    if related.restricts:
        a, b = np.divmod(np.arange(n * n), n)
        shared[~related.may_pair(a, b).reshape(n, n)] = 0
    return SharedCounts(kind, shared, sets.sizes)


def _fitting(numbers: Int64s, sizes: Int64s, most: int, room: int) -> Int64s:
    """Return the first of the documents, at most ``most`` and of at most ``room`` bytes."""
    return numbers[:most][np.cumsum(sizes[numbers[:most]]) <= room]


def unit_counts(texts: pa.Array, shingles: Shingles) -> Int64s:
    """Return int64[n]: the tokens (characters) of each text."""
    least = Settings.of(unit=shingles.unit, length=shingles.length, slots=1)
    units, _ = sign(texts, least, np.empty((len(texts), 1), np.uint32), np.empty((0, 2), np.uint64))
    return units


def sets_of(texts: pa.Array, settings: TextSettings, base: BaseText = NO_BASE_TEXT) -> ShingleSets:
    """Return the shingle set of every text, in order, without ``base``; empty for a text without a token."""
    rows = np.arange(len(texts))
    if len(base):
        return left_sets(texts, rows, settings, process_key(), "shingles", base)
    return shingle_sets(texts, rows, settings, process_key())


def base_of(sample: SampledTexts, settings: JoinSettings) -> BaseText:
    """Return the shingles of ``settings`` that do not count: of the base texts, and those that are too common.

    They are learned from the first documents of the sample, see TRIED_BYTES.
    """
    ignored = base_text_of(sample.base, settings, process_key()) if len(sample.base) else NO_BASE_TEXT
    if not settings.base.ignore_common:
        return ignored
    texts = sample.first(TRIED_BYTES).texts
    if not len(texts):
        return ignored
    once = pc.unique(texts)
    sets = sets_of(once, settings, ignored)
    hashes, documents = np.unique(sets.hashes, return_counts=True)
    different = int((unit_counts(once, settings.shingles) > 0).sum())
    return ignored | BaseText(
        hashes[documents > most_documents(settings.base.ignore_common, different)], np.empty(0, np.uint64)
    )
