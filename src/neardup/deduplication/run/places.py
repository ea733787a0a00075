"""A document of a stored result: found by its id, with its place in the input, where its row is read."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.join.criterion import similarity_of
from neardup.deduplication.run.records import SHINGLES, Id, Looked, ResultRecord, Shared
from neardup.deduplication.run.result_folder import StoredResult
from neardup.deduplication.run.tables import COUNTS, MEASURED
from neardup.deduplication.run.texts import LOCATED, MOST_DIGITS, InputTexts, other_columns, other_values
from neardup.display import counted, printable
from neardup.display.view import PlainData
from neardup.errors import InputError
from neardup.io.contents import ATTACHMENTS, Attachment, carried_by, differing_in, local_copies
from neardup.io.inputs import Discovered, Documents, as_text, find_files, open_sources, partition_of
from neardup.io.place import without_password
from neardup.io.sources import ChangedError, Recorded, RecordedFiles, Source, damaged_error, table_in
from neardup.runtime import Advance, report_nothing
from neardup.settings import LITERAL, MEASURES, Settings
from neardup.tables import PLACE_TABLES, Floats, Int64s, column, places_among


class StoredPlaces:
    """The files of the input of a stored result, and the rows of documents in them.

    The folder may come from anybody: a recorded file is read only if its digest is the recorded one. Raises
    ValueError if the tables ``places`` and ``located`` cannot be those of a result.
    """

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self._tables, self._files = tables, RecordedFiles(tables["places"])
        located = tables["located"]
        if located.schema.names != LOCATED.names or located.schema.types != LOCATED.types:
            raise ValueError("the columns of located are others")
        if any(column.null_count for column in located.columns):
            raise ValueError("values are missing in located")
        self._row, self._file, self._number = (column(located, name) for name in LOCATED.names)
        if not np.isin(self._file, self._files.numbers).all():
            raise ValueError("located names files that places does not")
        if (np.diff(self._row) <= 0).any() or (self._number < 0).any():
            raise ValueError("the rows of located are not in order")

    @classmethod
    def of(cls, stored: StoredResult) -> "StoredPlaces | None":
        """Return the places of a stored result, None if it has none. Raises InputError for impossible ones."""
        if stored.places.keys() < set(PLACE_TABLES):
            return None
        try:
            return cls(stored.places)
        except (ValueError, KeyError) as error:
            raise damaged_error(stored.folder, f"its places cannot be used: {error}") from error

    def tables(self, rows: Int64s) -> dict[str, pa.Table]:
        """Return the tables of all documents again."""
        return self._tables

    def of_rows(self, rows: Int64s) -> tuple[Int64s, Int64s]:
        """Return the numbers of the files of rows of the run, and of the rows in them; −1 where not recorded."""
        known, positions = places_among(rows, self._row)
        places = np.full((2, len(rows)), -1, np.int64)
        places[:, known] = self._file[positions[known]], self._number[positions[known]]
        return places[0], places[1]

    def of_row(self, row: int) -> tuple[str, int | None]:
        """Return the file of a document and its row there: "" if unknown, None for a file of one document."""
        ((number,), (place,)) = self.of_rows(np.array([row]))
        if number < 0:
            return "", row
        file = self._files[number]
        return file.path, None if file.format == "text" else int(place)

    def names(self) -> list[tuple[int, str]]:
        """Return the numbers and the names of all recorded files."""
        return [(number, self._files[number].name) for number in self._files.numbers.tolist()]

    def files(self) -> list[Recorded]:
        """Return all recorded files."""
        return [self._files[number] for number in self._files.numbers.tolist()]

    def file(self, number: int) -> Recorded:
        """Return a recorded file."""
        return self._files[number]

    def inputs(self, moved: Sequence[str]) -> list[Recorded]:
        """Return the files of the input, without the reference set, in their places of today.

        ``moved`` are files and folders that have moved. Raises InputError unless the files are the recorded ones:
        one that was not read has no digest, and its size must be the recorded one.
        """
        places = _Moved(moved) if moved else None
        files, opened = self.files(), []
        for file in files:
            if file.reference:
                continue
            now = file if places is None else replace(file, path=places.of(file, len(files)))
            _require_recorded(now, named=places is not None)
            opened.append(now)
        return opened


@contextmanager
def fetched_inputs(folder: Path, names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the names of inputs with copies here in place of URLs, for a program that reads only files here.

    Raises InputError unless the files at the URLs are in the states in which the run saw them.
    """
    if not any("://" in name for name in names):
        yield [*names]
        return
    try:
        places = StoredPlaces({name: table_in(folder, name) for name in PLACE_TABLES})
    except (OSError, ValueError, ChangedError) as error:
        raise damaged_error(folder, f"its places cannot be used: {error}") from error
    remote = [file.source.remote for file in places.inputs(names) if file.source.remote is not None]
    with local_copies(remote) as copies:
        yield [*(name for name in names if "://" not in name), *copies]


class _Moved:
    """Files and folders of today."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    @cached_property
    def _sources(self) -> tuple[Source, ...]:
        return find_files(self._names).sources

    def of(self, file: Recorded, files: int) -> str:
        """Return the file with the recorded name, else the only one with its last part; ``files`` are recorded."""
        same = [source for source in self._sources if source.name == file.name]
        last = _last_part(file.name)
        same = same or [source for source in self._sources if _last_part(source.name) == last]
        same = same or [source for source in self._sources if len(self._sources) == files == 1]
        if len(same) != 1:
            how = "no file" if not same else f"{len(same):,} files"
            raise InputError(
                f"The given inputs have {how} named {printable(last)}",
                f"The place of {printable(file.name)} as it was read",
                "Name the file itself, or the folder that holds it",
            )
        return same[0].path


def _require_recorded(file: Recorded, *, named: bool) -> None:
    """Raise InputError unless a file has the recorded digest, or has none and the caller ``named`` it."""
    if file.source.remote is not None:
        if not named:
            why = "it is a URL, which is not fetched unasked, and is stored without user, password and signature"
            raise _refused_error(file, why, "Give --inputs with the whole URL")
        _require_seen(file)
        return
    if file.format == "text" and file.digest is None:
        if _size_of(file) != file.size:
            raise _changed_error(file, "its size is another")
        return
    if file.digest is None and not named:
        raise _refused_error(file, "the result has no digest to recognise it by")
    try:
        same = file.digest is None or file.source.digest() == file.digest
    except FileNotFoundError:
        raise _refused_error(file, "it is not there") from None
    except OSError as error:
        raise _refused_error(file, error.strerror or str(error)) from error
    if not same:
        raise _changed_error(file, "its content is another")


def _require_seen(file: Recorded) -> None:
    """Raise InputError unless a file at a URL is in the state in which the run saw it first."""
    now = file.source.remote
    assert now is not None
    if not file.pin.is_of(now.pin):
        raise _changed_error(file, f"it has {now.pin} (it had {file.pin})")
    if file.digest is not None and file.source.digest() not in (None, file.digest):
        raise _changed_error(file, "its content is another")


def _changed_error(file: Recorded, how: str) -> InputError:
    return InputError(
        f"{printable(without_password(file.path))} changed since the result was made: {how}",
        "The input as the run read it",
        "Give --inputs with the place of the unchanged file, or make the result again",
    )


def _refused_error(file: Recorded, why: str, do: str = "Give --inputs with its place of today") -> InputError:
    return InputError(
        f"{printable(without_password(file.path))}, where the documents of the result were, cannot be used: {why}",
        "The input as the run read it",
        do,
    )


def _size_of(file: Recorded) -> int | None:
    try:
        return file.source.size_now()
    except OSError:
        return None


def _last_part(name: str) -> str:
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2]


def no_places_error() -> InputError:
    """Return the error for a result that does not say where its documents are."""
    return InputError(
        "The result does not record where its documents are: they were in memory or on standard input",
        "A result of documents in files",
        "Make the result again from files",
    )


def opened_input(files: Sequence[Recorded], result: ResultRecord) -> Documents:
    """Return the recorded files of the input as documents, as the run read them."""
    several, first = len(files) > 1 and files[0].format != "text", files[0]
    format = first.format if all(file.format == first.format for file in files) else "mixed"
    sources = tuple(replace(file.source, partition=partition_of(file.name) if several else ()) for file in files)
    name = result.run.inputs[0] if first.format == "text" else first.name
    documents = open_sources(Discovered(format, name, sources), Settings.of(**result.run.settings).reading)
    documents.require(first.text, first.id)
    documents.findings.roots[:] = result.run.reading.roots
    return documents


class InputDocument(NamedTuple):
    """A document of the input: the file that the run read, its attachments, and its other values, shortened."""

    id: Id
    path: str
    attachments: tuple[Attachment, ...]
    values: Mapping[str, str]


def input_documents(
    result: ResultRecord, moved: Sequence[str] = (), advance: Advance = report_nothing
) -> Iterator[InputDocument]:
    """Read the documents of the input of a stored result again, in input order, without the reference set.

    ``moved`` are files and folders that have moved. Raises InputError if the input is not the recorded one, has
    changed, or was in memory.
    """
    if not isinstance(result.places, StoredPlaces):
        raise no_places_error()
    documents = opened_input(result.places.inputs(moved), result)
    text, id = result.run.columns.text, result.run.columns.id
    others, whole = other_columns(documents, text, id), documents.format == "text"
    names = [text, *([id] if id else []), *others, *([ATTACHMENTS] if whole else [])]
    files, count = [file for file in result.places.files() if not file.reference], 0
    path_of = {file.name: file.path for file in files}
    for chunk in documents.chunks(None, names):
        rows = chunk.read(names)
        numbers, count = rows.row_numbers.tolist(), count + rows.table.num_rows
        advance(rows.table.num_rows)
        attachments = carried_by(rows.table[ATTACHMENTS].combine_chunks()) if whole else {}
        ids = as_text(rows.table[id]).to_pylist() if id else [f"{chunk.source}#{number}" for number in numbers]
        values = other_values(rows.table.select(others)) if others else repeat({}, len(numbers))
        for place, (number, name, of) in enumerate(zip(numbers, ids, values, strict=True)):
            path = files[number].path if whole else path_of[chunk.source]
            yield InputDocument(typed_id(result, name or ""), path, attachments.get(place, ()), of)
    if count != result.run.counts.read:
        raise InputError(
            f"The input has {count:,} documents, and the result records {result.run.counts.read:,}",
            "The input as the run read it",
            "Make the result again",
        )


def look_at(result: ResultRecord, id: Id) -> Looked:
    """Return a document of the input. Raises InputError if it cannot be read as it was."""
    if result.texts is None:
        raise no_texts_error()
    row, size = _stored_place(result, id)
    document = result.texts.look(id, row)
    if document is None:
        raise InputError(f"There is no document {printable(id)} in the input", "An id as it is in the input")
    if size is not None and document.size != size:
        raise InputError(
            f"{printable(id)} has changed since the result was made: it has {counted(document.size, 'byte')}, and "
            f"{size:,} were read ({printable(document.where)})",
            "The input as the run read it",
            "Make the result again",
        )
    return document


def fields_of(result: ResultRecord, id: Id) -> Mapping[str, Any]:
    """Return the other values of a document that the result holds, shortened; {} where it holds none."""
    row, _ = _stored_place(result, id)
    return {} if row is None or result.texts is None else result.texts.fields(row)


def no_texts_error() -> InputError:
    """Return the error for a result without texts."""
    return InputError(
        "The result holds no texts to show",
        "A result with stored texts",
        "Make it again without --no-store-texts, from documents or fingerprints whose texts are there",
    )


def places_of(result: ResultRecord, ids: Collection[Id]) -> Iterator[tuple[Id, str, int | None]]:
    """Yield documents of this run, not of a stored result, with their file and their row, None for a whole file.

    Documents in memory have no place.
    """
    if not isinstance(result.texts, InputTexts) or not ids:
        return
    wanted = pa.array(list(ids), result.ranks.schema.field("id").type)
    ranks = result.ranks.filter(pc.is_in(result.ranks["id"], value_set=wanted))
    places = result.texts.places(column(ranks, "row"))
    for id, (file, row) in zip(ranks["id"].to_pylist(), places, strict=True):
        if file:
            yield id, file, row


def _stored_place(result: ResultRecord, id: Id) -> tuple[int | None, int | None]:
    """Return the row of a document and the size of its text, if the result has them.

    If a document of the reference set has the same id, the one of the new input counts.
    """
    rows = result.ranks.filter(_is(result.ranks, id)).select(["row", "bytes", "reference"]).to_pylist()
    rows.sort(key=lambda row: bool(row["reference"]))
    return (rows[0]["row"], rows[0]["bytes"]) if rows else (None, None)


def is_known(result: ResultRecord, id: Id) -> bool:
    """Return whether a document is in the input, as far as the tables show or the input can be read again."""
    if result.ranks.num_columns and pc.any(_is(result.ranks, id)).as_py():
        return True
    try:
        look_at(result, id)
    except (InputError, OSError):
        return False
    return True


@dataclass(frozen=True)
class Outside(PlainData):
    """A document that is not in a group although it has a pair with a ``member``; ``group`` is its own, if any."""

    id: Id
    similarity: float
    member: Id
    group: Id | None


def outside(result: ResultRecord, id: Id, limit: int) -> tuple[Outside, ...]:
    """Return the nearest documents outside the group of a document, by the stored pairs of its members.

    Documents below the threshold are not among them, because their pairs are not stored. Exact copies are
    represented by the first of them.
    """
    inside = _with_group(result, id)
    first = first_copies(result, inside)
    firsts = pa.array(
        list({first.get(member, member) for member in inside}), result.pairs.schema.field("id_a").type
    )
    from_a, from_b = (pc.is_in(result.pairs[end], value_set=firsts) for end in ("id_a", "id_b"))
    crossing = pc.xor(from_a, from_b)
    from_a, pairs = from_a.filter(crossing), result.pairs.filter(crossing)
    member, other = (
        pc.if_else(from_a if begins else pc.invert(from_a), pairs["id_a"], pairs["id_b"])
        for begins in (True, False)
    )
    mine = pc.equal(member, pa.scalar(first.get(id, id), member.type))
    ends = pa.table(
        {
            "value": similarities(result, pairs),
            "mine": pc.cast(mine, pa.uint8()),  # Arrow cannot sort truth values
            "name": pc.cast(other, pa.large_string()),
            "member": member,
            "other": other,
        }
    )
    ends = ends.take(
        pc.sort_indices(ends, [("value", "descending"), ("mine", "descending"), ("name", "ascending")])
    )
    ends = ends.take(np.sort(np.unique(_codes(ends["other"]), return_index=True)[1])[:limit])
    group_of = _groups_of(result, ends["other"])
    shown = zip(*(ends[name].to_pylist() for name in ("other", "value", "member")), strict=True)
    return tuple(Outside(other, value, member, group_of.get(other)) for other, value, member in shown)


def _codes(ids: pa.ChunkedArray) -> Int64s:
    """A number for each id, the same for equal ones."""
    encoded = ids.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


def stored_pairs(
    result: ResultRecord, members: Iterable[Id], representatives: Iterable[Id], drawn: Iterable[Id]
) -> dict[tuple[Id, Id], Shared]:
    """Return the pairs of ``members`` with ``representatives``, and those among ``drawn``, from both sides.

    All are first documents of exact copies. There are as many objects as members, however many pairs they have.
    """
    kind = result.pairs.schema.field("id_a").type
    sets = [pa.array(list(ids), kind) for ids in (members, representatives, drawn)]
    (a_member, a_leads, a_drawn), (b_member, b_leads, b_drawn) = (
        [pc.is_in(result.pairs[end], value_set=ids) for ids in sets] for end in ("id_a", "id_b")
    )
    led = pc.or_(pc.and_(a_member, b_leads), pc.and_(a_leads, b_member))
    pairs = result.pairs.filter(pc.or_(led, pc.and_(a_drawn, b_drawn)))
    measured = "common" in pairs.column_names
    unit = MEASURES[result.run.settings["measure"]].unit_of(result.run.settings.get("matching", LITERAL))
    names = ("id_a", "id_b", *(MEASURED if measured else COUNTS))
    evidence = {}
    for a, b, shared, size_a, size_b in zip(*(pairs[name].to_pylist() for name in names), strict=True):
        evidence[a, b] = Shared(shared, size_a, size_b, unit if measured else SHINGLES)
        evidence[b, a] = Shared(shared, size_b, size_a, unit if measured else SHINGLES)
    return evidence


def similarities(result: ResultRecord, pairs: pa.Table) -> Floats:
    """Return the similarities of some pairs of a result by the measure of the run, in the better direction."""
    shared, *sizes = (column(pairs, name) for name in (MEASURED if "common" in pairs.column_names else COUNTS))
    return _similarities(result, shared, *sizes)


def links(
    result: ResultRecord,
    ids: Sequence[Id],
    first_of: Mapping[Id, Id],
    shared: Mapping[tuple[Id, Id], Shared],
) -> tuple[tuple[Id, Id, float], ...]:
    """Return the pairs of different ``ids`` that are in ``shared``, with their similarities.

    ``first_of`` has the first document of each exact copy, which represents it in ``shared``.
    """
    ends = {(a, b): (first_of.get(a, a), first_of.get(b, b)) for a, b in combinations(ids, 2)}
    pairs = [pair for pair, (a, b) in ends.items() if a == b or (a, b) in shared]
    counts = [
        (one.shared, one.size, one.other_size) if one is not None else (1, 1, 1)
        for one in (shared.get(ends[pair]) for pair in pairs)
    ]
    values = _similarities(result, *np.array(counts, np.int64).reshape(-1, 3).T)
    return tuple((a, b, value) for (a, b), value in zip(pairs, values.tolist(), strict=True))


def similarity_of_pair(result: ResultRecord, pair: Shared) -> float:
    """Return the similarity of a pair by the measure of the run, in the better direction."""
    counts = (np.array([count]) for count in (pair.shared, pair.size, pair.other_size))
    return float(_similarities(result, *counts)[0])


def _similarities(result: ResultRecord, shared: Int64s, size: Int64s, other: Int64s) -> Floats:
    formula = MEASURES[result.run.settings["measure"]].formula
    return np.maximum(similarity_of(shared, size, other, formula), similarity_of(shared, other, size, formula))


def fate(result: ResultRecord, id: Id) -> str:
    """Describe in a few words whether a document stays, and why."""
    rows = result.groups.filter(_is(result.groups, id)).to_pylist()
    if rows:
        return f"{'kept' if rows[0]['kept'] else 'removed'}: {rows[0]['reason']}"
    aside = result.not_judged.filter(_is(result.not_judged, id)).to_pylist()
    if aside:
        return f"{'kept' if aside[0]['kept'] else 'removed'}, not judged: {aside[0]['reason']}"
    return "kept: it is in no group"


def _is(table: pa.Table, id: Id) -> pa.ChunkedArray:
    """Return which rows of a table have an id."""
    kind = table["id"].type
    if isinstance(id, str) and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return pc.equal(table["id"], pa.scalar(id, kind))
    return pc.equal(pc.cast(table["id"], pa.large_string()), str(id))


def differing_parts(result: ResultRecord, a: Id, b: Id) -> tuple[str, ...]:
    """Return the kinds of parts beside their text in which two documents of pairs or copies differ."""
    ids = result.ranks["id"]
    of_a, of_b = (pc.index(ids, pa.scalar(id, ids.type)).as_py() for id in (a, b))
    return differing_in(result.ranks, of_a, of_b)


def typed_id(result: ResultRecord, typed: str) -> Id:
    """Return an id that was typed as the result has it: a number where its ids are numbers."""
    number = pa.types.is_integer(result.ranks.schema.field("id").type)
    digits = typed.removeprefix("-")
    return (
        int(typed) if number and digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS else typed
    )


def _with_group(result: ResultRecord, id: Id) -> set[Id]:
    """A document and the others of its group."""
    own = _groups_of(result, [id]).get(id, id)
    groups = result.groups
    near = groups.filter(pc.equal(groups["group"], pa.scalar(own, groups["group"].type)))["id"]
    # an id of the reference set may occur again; its last row counts
    return {member for member, group in _groups_of(result, near).items() if group == own} | {id}


def _groups_of(result: ResultRecord, ids: Iterable[Id] | pa.ChunkedArray) -> dict[Id, Id]:
    """The groups of those of some ``ids`` that are in one."""
    return _names_of(result.groups, "group", ids)


def first_copies(result: ResultRecord, ids: Iterable[Id]) -> dict[Id, Id]:
    """Return the first document of each exact copy among ``ids``; the table of pairs contains only that one."""
    return _names_of(result.copies, "copy_of", ids)


def _names_of(table: pa.Table, name: str, ids: Iterable[Id] | pa.ChunkedArray) -> dict[Id, Id]:
    wanted = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else list(ids)
    rows = table.filter(pc.is_in(table["id"], value_set=pa.array(wanted, table.schema.field("id").type)))
    return dict(zip(rows["id"].to_pylist(), rows[name].to_pylist(), strict=True))
