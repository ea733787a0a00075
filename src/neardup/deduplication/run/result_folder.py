"""The folder of a finished run, read back: its tables, its account, the rows that were rejected.

Anyone may have made or changed the folder. Files are compared with the manifest before they are decoded; they are
read, not mapped; and all their content is checked before it is used.
"""

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from neardup.deduplication.join.criterion import at_least, criterion_of
from neardup.deduplication.run.account import Lost, RunAccount, decode_account, read_account
from neardup.deduplication.run.kinds import KIND, counts_of
from neardup.deduplication.run.lost_text import COLUMNS as LOST_COLUMNS
from neardup.deduplication.run.lost_text import lost_counts
from neardup.deduplication.run.tables import COUNTED, COUNTS, MEASURED, SOURCES
from neardup.display import WITHOUT_TEXT, printable
from neardup.errors import FormatError, InputError
from neardup.io.contents import ATTACHMENTS, ATTACHMENTS_TYPE, NOT_COMPARED
from neardup.io.inputs import Problem
from neardup.io.sources import (
    RUN_FILE,
    ChangedError,
    Manifest,
    damaged_error,
    decoded_table,
    read_manifest,
    read_regular,
    read_whole,
)
from neardup.settings import ALWAYS, MEASURES, SearchSettings
from neardup.tables import (
    FORMAT_VERSION,
    OLD_LEADS,
    OPTIONAL_TABLES,
    PLACE_TABLES,
    RESULT_TABLES,
    TEXTS_FILE,
    Int64s,
    column,
)

_ALLOWED = "A folder that neardup dedup or neardup group has written"

_MOST_BYTES = 1 << 30
"""Largest size of run.json; its lists (crowds, warnings) are short."""

_MOST = 1 << 40
"""A document has at most this many shingles or tokens: with more, 64 bits could not compare thresholds."""

_ID = "an id"
_COLUMNS: dict[str, dict[str, Any]] = {
    "pairs": {
        **dict.fromkeys(("id_a", "id_b"), _ID),
        **dict.fromkeys(COUNTS, pa.int64()),
        **dict.fromkeys(ALWAYS, pa.float64()),
    },
    "groups": {
        **dict.fromkeys(("id", "group"), _ID),
        **dict.fromkeys(("representative", "identical", "kept"), pa.bool_()),
        "similarity": pa.float64(),
        "reason": pa.string(),
        **LOST_COLUMNS,
        "size": pa.int64(),
    },
    "copies": {**dict.fromkeys(("id", "copy_of", "identical_to"), _ID), "difference": pa.string()},
    "ranks": {
        "id": _ID,
        **dict.fromkeys(("row", "first", "words", "identical", "rank"), pa.int64()),
        "reference": pa.bool_(),
        "bytes": pa.int64(),
    },
    "not_judged": {
        "id": _ID,
        **dict.fromkeys(("kind", "reason"), pa.string()),
        "bytes": pa.int64(),
        "kept": pa.bool_(),
    },
    "common": {"text": pa.string(), "documents": pa.int64(), "share": pa.float64()},
}
_COLUMNS["missed"] = _COLUMNS["pairs"]

_FULL = ("full_size_a", "full_size_b")

_OPTIONAL = {
    "pairs": {"attachments_differ": pa.bool_(), NOT_COMPARED: pa.string()},
    "copies": {KIND: pa.string()},
    "groups": {
        **dict.fromkeys(COUNTED, pa.int64()),
        SOURCES: pa.list_(pa.large_string()),
        ATTACHMENTS: ATTACHMENTS_TYPE,
        OLD_LEADS: pa.bool_(),
    },
    "ranks": {"across": pa.int64(), "source": pa.large_string(), ATTACHMENTS: ATTACHMENTS_TYPE},
}
"""Columns that a table has only under some settings, or if documents have something beside their text."""
_OPTIONAL["missed"] = _OPTIONAL["pairs"]

_NULLABLE = (
    "similarity",
    "identical_to",
    "difference",
    KIND,
    *LOST_COLUMNS,
    *_OPTIONAL["pairs"],
    *_OPTIONAL["groups"],
    "source",
)


@dataclass(frozen=True, eq=False)
class StoredResult:
    """The content of the folder except documents: each table by its name, ``run.json``, the rejected rows."""

    folder: Path
    tables: dict[str, pa.Table]
    run: RunAccount
    problems: tuple[Problem, ...]
    places: dict[str, pa.Table]
    texts: bool


def require_result(folder: Path, *, of_any_command: bool = False) -> None:
    """Raise InputError for a folder without the account of a run; its tables are not read.

    ``of_any_command``: the outputs of ``passages`` and ``decontaminate``, which have no format, are results, too.
    """
    _run(folder, of_any_command=of_any_command)


def read_result(folder: Path) -> StoredResult:
    """Read a result folder.

    Raises InputError for a folder that is not a result or was changed, FormatError for another format version.
    """
    plain = _run(folder)
    try:
        manifest = read_manifest(folder)
        read_whole(folder, RUN_FILE, manifest)
        run, settings = read_account(plain)
        search = settings.search
        names = [*RESULT_TABLES, *(name for name in OPTIONAL_TABLES if f"{name}.parquet" in manifest.files)]
        files = {name: read_whole(folder, f"{name}.parquet", manifest) for name in names}
        tables = {name: _decode_table(name, data, search) for name, data in files.items()}
        _check_together(tables, run, search)
        places = {
            name: decoded_table(name, read_whole(folder, f"{name}.parquet", manifest))
            for name in PLACE_TABLES
            if f"{name}.parquet" in manifest.files
        }
        texts = _has_texts(folder, manifest)
        _check_kinds(tables["pairs"], run)
        problems = _problems(folder, manifest)
        if run.counts.rejected and not problems:
            raise ChangedError("run.json counts rejected rows, and problems.jsonl has none")
    except ChangedError as changed:
        raise damaged_error(folder, str(changed)) from changed
    return StoredResult(folder, tables, run, problems, places, texts)


def _run(folder: Path, *, of_any_command: bool = False) -> dict[str, Any]:
    """The account of a folder of this format."""
    try:
        plain = decode_account(read_regular(folder / RUN_FILE, _MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        why = "it has no run.json" if folder.is_dir() else "there is no such folder"
        raise InputError(f"{folder} is not a result of neardup: {why}", _ALLOWED) from None
    except OSError as error:
        raise damaged_error(folder, f"run.json cannot be read: {error.strerror or error}") from error
    except ChangedError as changed:
        raise damaged_error(folder, str(changed)) from changed
    if isinstance(plain, dict) and (command := plain.get("command")) in ("passages", "decontaminate"):
        if of_any_command:
            return plain
        given = f"{folder} is the output of neardup {command}, which has no groups and no pairs of documents"
        raise InputError(given, _ALLOWED, "Open its report.html, or read its tables")
    if not isinstance(plain, dict) or not {"neardup_version", "format"} <= plain.keys():
        raise InputError(f"{folder} is not a result of neardup: its run.json is another program's", _ALLOWED)
    if type(plain["format"]) is not int or plain["format"] != FORMAT_VERSION:
        raise FormatError(
            f"{folder} has format {printable(plain['format'])}, "
            f"written by neardup {printable(plain['neardup_version'])}",
            f"This program reads format {FORMAT_VERSION}",
            "Make the result again with this program",
        )
    return plain


def _has_texts(folder: Path, manifest: Manifest) -> bool:
    """Return whether the folder has stored texts. Raises ChangedError if they are not as long as those written."""
    written = manifest.files.get(TEXTS_FILE)
    if written is None:
        return False
    try:
        entry = (folder / TEXTS_FILE).lstat()
    except OSError:
        raise ChangedError(f"{TEXTS_FILE} is not there") from None
    if not stat.S_ISREG(entry.st_mode) or entry.st_size != written.bytes:
        raise ChangedError(f"{TEXTS_FILE} has {entry.st_size:,} bytes, and {written.bytes:,} were written")
    return True


def _problems(folder: Path, manifest: Manifest) -> tuple[Problem, ...]:
    lines = read_whole(folder, "problems.jsonl", manifest).split(b"\n")
    try:
        return tuple(msgspec.json.decode(line, type=Problem) for line in lines if line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ChangedError(f"problems.jsonl cannot be used: {error}") from error


def _decode_table(name: str, data: bytes, search: SearchSettings) -> pa.Table:
    """Decode a table of a result from the bytes of its file, each column with its type. Raises ChangedError."""
    table = decoded_table(name, data)
    expected = dict(_COLUMNS[name])
    if name in ("pairs", "missed"):
        expected.update(_of_measure(search))
        if "a_in_reference" in table.column_names:
            expected["a_in_reference"] = pa.bool_()
        expected.update({name: pa.int64() for name in _FULL if name in table.column_names})
        if KIND in table.column_names:
            expected[KIND] = pa.string()
    optional = _OPTIONAL.get(name, {}).items()
    expected.update((key, kind) for key, kind in optional if key in table.column_names)
    _check_columns(name, table, expected)
    return table


def _check_together(tables: dict[str, pa.Table], run: RunAccount, search: SearchSettings) -> None:
    """Raise ChangedError unless the tables and the counts are those of one run."""
    ranks, groups = tables["ranks"], tables["groups"]
    _check_ranks(ranks)
    _check_not_judged(tables["not_judged"])
    _check_ids(tables, ranks["id"])
    for name in ("pairs", "missed"):
        if name in tables:
            _check_pairs(name, tables[name], search)
    _check_groups(groups, _any(ranks["reference"]))
    for count, present in (
        ("pairs", tables["pairs"].num_rows),
        ("not_judged", tables["not_judged"].num_rows),
        ("exact_copies", tables["copies"].num_rows),
        ("groups", pc.sum(groups["representative"]).as_py() or 0),
    ):
        recorded: int = getattr(run.counts, count)
        _require(recorded == present, f"run.json counts {recorded:,} {count}, the tables {present:,}")
    _check_lost(groups, run.lost)


def _check_kinds(pairs: pa.Table, run: RunAccount) -> None:
    """Raise ChangedError unless the kinds of the pairs are those that the account of the run counts."""
    kinds = counts_of(pairs)
    known = kinds is None or sum(kinds.values()) == pairs.num_rows
    _require(known, "pairs has kinds of difference that do not exist")
    _require(kinds == run.kinds, "run.json counts other kinds of pairs than the table has")


def _of_measure(search: SearchSettings) -> dict[str, Any]:
    """The columns that a measure adds to the pairs."""
    measure = MEASURES[search.measure]
    added: dict[str, Any] = {} if measure.of_shingles else dict.fromkeys(MEASURED, pa.int64())
    if measure.column:
        added[measure.column] = pa.float64()
    return added


def _check_columns(name: str, table: pa.Table, expected: dict[str, Any]) -> None:
    missing = [key for key in expected if key not in table.column_names]
    if missing:
        raise ChangedError(f"{name}.parquet cannot be used: it lacks the columns {', '.join(missing)}")
    if len(set(table.column_names)) < table.num_columns:
        raise ChangedError(f"{name}.parquet cannot be used: two columns have one name")
    wrong = [key for key, kind in expected.items() if not _is_of(table.schema.field(key).type, kind)]
    if wrong:
        raise ChangedError(
            f"{name}.parquet cannot be used: of another type than they should be are {', '.join(wrong)}"
        )
    nullable = (*_NULLABLE, "bytes") if name == "not_judged" else _NULLABLE
    gaps = [key for key in expected if key not in nullable and table[key].null_count]
    if gaps:
        raise ChangedError(f"{name}.parquet cannot be used: values are missing in {', '.join(gaps)}")


def _is_of(kind_of: pa.DataType, kind: Any) -> bool:
    if isinstance(kind, pa.DataType):
        return bool(kind_of == kind)
    return bool(pt.is_integer(kind_of) or pt.is_string(kind_of) or pt.is_large_string(kind_of))


def _check_ids(tables: dict[str, pa.Table], ids: pa.ChunkedArray) -> None:
    """Refuse documents that ranks does not name; those of not_judged are in no other table, common names none."""
    named = [
        (name, key, table[key].drop_null())
        for name, table in tables.items()
        for key in ("id", "id_a", "id_b", "group", "copy_of", "identical_to")
        if name not in ("not_judged", "common", "ranks") and key in table.column_names
    ]
    for name, key, column_of in named:
        _require(column_of.type == ids.type, f"{key} in {name} is of another type than ids are")
    together = pa.chunked_array([chunk for _, _, ids_of in named for chunk in ids_of.chunks], ids.type)
    if not _all(pc.is_in(together, value_set=ids)):  # the ids are hashed once; which table it is matters only now
        for name, _, ids_of in named:
            _require(_all(pc.is_in(ids_of, value_set=ids)), f"{name} names documents that ranks does not")


def _check_ranks(ranks: pa.Table) -> None:
    row, first, rank, size = (column(ranks, name) for name in ("row", "first", "rank", "bytes"))
    old = ranks["reference"].to_numpy().astype(np.int8)
    _require(bool((np.diff(row) > 0).all()), "the rows in ranks are not in order")
    _require(
        _within(row, 0, _MOST) and _within(rank, 0, _MOST) and _within(size, 0, 1 << 53), "ranks is beyond bounds"
    )
    _require(bool(np.isin(first, row).all()), "ranks names first documents that it does not have")
    own = first[np.searchsorted(row, first)]
    _require(bool((first <= row).all() and (own == first).all()), "the first documents in ranks are copies")
    _require(bool((np.diff(np.sort(rank)) > 0).all()), "two documents in ranks have one rank")
    _require(bool((np.diff(old) <= 0).all()), "reference documents in ranks are not the first ones")


def _check_pairs(name: str, pairs: pa.Table, search: SearchSettings) -> None:
    shared, size_a, size_b = (column(pairs, key) for key in COUNTS)
    sane = _within(size_a, 1, _MOST) and _within(size_b, 1, _MOST) and bool((shared >= 0).all())
    _require(sane and bool((shared <= np.minimum(size_a, size_b)).all()), f"the counts in {name} are impossible")
    for key, whole in zip(ALWAYS, (size_a + size_b - shared, size_a, size_b), strict=True):
        _require(np.array_equal(pairs[key].to_numpy(), shared / whole), f"{key} in {name} contradicts its counts")
    counted = [shared, size_a, size_b]
    if not MEASURES[search.measure].of_shingles:
        counted = [column(pairs, key) for key in MEASURED]
        _require(all(_within(numbers, 0, _MOST) for numbers in counted), f"the counts in {name} are impossible")
    near = at_least(pa.table(counted, names=list(COUNTS)), criterion_of(search))
    _require(bool(near.all()), f"pairs in {name} are below the threshold")


def _check_groups(groups: pa.Table, reference: bool) -> None:
    known = pc.drop_null(groups["similarity"])
    similarity = known.to_numpy()
    _require(bool(((similarity >= 0) & (similarity <= 1)).all()), "similarities in groups are not between 0 and 1")
    has_sides = OLD_LEADS in groups.column_names and not groups[OLD_LEADS].null_count
    _require(not reference or has_sides, f"groups lacks the column {OLD_LEADS}, or values of it")
    ids, leaders = (pc.cast(groups[name], pa.large_string()) for name in ("id", "group"))
    if reference:  # a document of the reference set may have the same id as another one
        old, new, joint = (pa.scalar(mark, pa.large_string()) for mark in ("old", "new", " "))
        leaders = pc.binary_join_element_wise(pc.if_else(groups[OLD_LEADS], old, new), leaders, joint)
        own = pc.and_(groups["representative"], groups[OLD_LEADS])
        ids = pc.binary_join_element_wise(pc.if_else(own, old, new), ids, joint)
    leads = pc.equal(ids, leaders)
    _require(leads.equals(groups["representative"]), "representatives in groups do not lead their groups")
    _require(pc.count_distinct(ids).as_py() == groups.num_rows, "groups names a document twice")
    if groups.num_rows:
        of = pc.dictionary_encode(leaders.combine_chunks()).indices.to_numpy()
        right = bool((np.bincount(of)[of] == column(groups, "size")).all())
        _require(right, "sizes in groups are not those of the groups")


def _check_lost(groups: pa.Table, lost: Lost) -> None:
    """Refuse lost text of documents that stay, impossible counts, and totals that are not those of the table."""
    stays = groups.filter(groups["kept"])
    empty = all(stays[key].null_count == stays.num_rows for key in LOST_COLUMNS)
    _require(empty, "groups has lost text of documents that stay")
    for key in ("shingles", "lost_shingles", "lost_units"):
        known = column(groups.filter(pc.is_valid(groups[key])), key)
        _require(_within(known, 0, _MOST), f"{key} in groups is beyond bounds")
    _require(not _any(pc.greater(groups["lost_shingles"], groups["shingles"])), "groups loses more than there is")
    _require(lost == lost_counts(groups), "run.json counts another text that is lost than groups")


def _check_not_judged(table: pa.Table) -> None:
    sizes = pc.fill_null(table["bytes"], 0).to_numpy()
    _require(_within(sizes, 0, 1 << 53), "not_judged is beyond bounds")
    gone = table.filter(pc.invert(table["kept"]))["kind"]
    _require(_all(pc.equal(gone, WITHOUT_TEXT)), "documents in not_judged go that --empty does not remove")


def _within(numbers: Int64s, low: int, high: int) -> bool:
    return bool(((numbers >= low) & (numbers <= high)).all())


def _all(flags: pa.ChunkedArray) -> bool:
    return bool(pc.all(flags, min_count=0).as_py())


def _any(flags: pa.ChunkedArray) -> bool:
    return bool(pc.any(flags, min_count=0).as_py())


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ChangedError(f"its tables do not belong together: {otherwise}")
