"""The rows of one part: those that stay by a merged result, and the keys by which new documents are looked up.

The rows that stay are equal to the rows of that part that one run would keep. The keys are those of the bands of a
plan, in order for each part. Only saved documents that share a band or an exact copy with new ones take part in a
run of new documents against saved ones: two saved documents are never paired, so that a saved document without
such a partner changes nothing. New keys are looked up in the sorted keys of each part, in a time that depends on
the new documents and on the logarithm of the saved ones. A part whose keys are sorted for another plan is scanned,
one band at a time.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.run.fates import FileFates
from neardup.deduplication.run.findings import Found
from neardup.deduplication.run.places import StoredPlaces, no_places_error
from neardup.deduplication.run.save import flat, flat_schema
from neardup.deduplication.run.tables import COUNTED, SOURCES
from neardup.display import printable
from neardup.errors import InputError
from neardup.io.fingerprints import FingerprintFolder, ReadChunk, SavedFingerprints, SortedBands
from neardup.io.inputs import Chunk, Documents, NativeRows, as_text, formats_of, have_columns
from neardup.io.outputs import ChunkRows, OutputFolder, read_native, write_kept
from neardup.io.sources import Source
from neardup.kernels.lsh import band_keys
from neardup.runtime import Progress, Silent, ordered_map
from neardup.settings import Settings
from neardup.tables import FORMAT_VERSION, Int64s, UInt32s, UInt64s, column, places_among
from neardup.text.lsh.bands import Plan


@dataclass(frozen=True)
class KeptPart:
    """The number of documents read of a part, and of those kept."""

    read: int
    kept: int


def kept_of_part(
    documents: Documents, result: Found, name: str, folder: OutputFolder | None, progress: Progress | None = None
) -> KeptPart:
    """Write the rows of a part that a merged result keeps, in the format of the part; with no folder only count.

    ``name`` is that of the result. Raises InputError for a part with a file that is not among those of the result
    or has changed since, and names the file.
    """
    recorded = result.places
    if not isinstance(recorded, StoredPlaces):
        raise no_places_error()
    if result.run.against:
        raise InputError(
            f"{name} was compared with a reference set, and is not a merged result",
            "A result of neardup merge",
            "Write its rows with neardup apply",
        )
    sources: tuple[Source, ...] = getattr(documents, "sources", ())
    numbers = _files_of(sources, documents, recorded, name)
    file = recorded.file(numbers[0])
    if file.format not in formats_of(documents):
        raise _not_there_error(sources[0], name)
    documents.require(file.text, file.id)
    names = dict(zip(numbers, (source.name for source in sources), strict=True))
    fates = FileFates(result, recorded, documents, names)
    threads = Settings.of(**result.run.settings).work.threads
    if folder is None:
        natives = ((chunk, chunk.read_native) for chunk in documents.chunks(None, None))
        kept = [fates.kept(chunk, rows.row_numbers) for chunk, rows in ordered_map(read_native, natives, threads)]
        return KeptPart(sum(map(len, kept)), sum(int(rows.sum()) for rows in kept))
    counted = None  # text files have no place for the columns of --count
    if result.run.settings["count"] and have_columns(documents):
        counted = CountedRows(result, recorded, names, as_json="csv" in formats_of(documents))

    def rows_of(chunk: Chunk, native: NativeRows) -> ChunkRows:
        extra = counted.columns(chunk, native.row_numbers) if counted else None
        return ChunkRows(fates.kept(chunk, native.row_numbers), extra)

    schema = counted.schema if counted else None
    with (progress or Silent()).stage("write", None, "rows") as advance:
        written = write_kept(folder, documents, rows_of, threads, advance, extra=schema)
    part = KeptPart(written.read, written.kept)
    folder.write_json("run.json", account_of_part(documents, name, part))
    return part


def account_of_part(documents: Documents, name: str, part: KeptPart) -> dict[str, Any]:
    """Return the account of the rows of a part."""
    return {
        "neardup_version": version("neardup"),
        "format": FORMAT_VERSION,
        "action": "part",
        "inputs": list(documents.names),
        "merged": name,
        "counts": {"read": part.read, "kept": part.kept, "removed": part.read - part.kept},
    }


def _files_of(sources: tuple[Source, ...], documents: Documents, recorded: StoredPlaces, name: str) -> list[int]:
    """The numbers of the files of a part among the files of the result."""
    by_name: dict[str, list[int]] = {}
    for number, file_name in recorded.names():
        by_name.setdefault(os.path.basename(file_name), []).append(number)
    files = []
    for source in sources:
        alike = by_name.get(os.path.basename(source.name), [])
        if not alike:
            raise _not_there_error(source, name)
        files.append(_file_number(source, alike, documents, recorded, name))
    if not files or len(set(files)) != len(files):
        raise InputError("The part has several files that the result records as one", "The part as it was")
    return files


def _file_number(source: Source, alike: list[int], documents: Documents, recorded: StoredPlaces, name: str) -> int:
    """The number of the file with this name and content; of several with the same content the one of that path."""
    digest = source.digest()
    size = source.size
    same = [number for number in alike if _is_same(recorded, number, digest, size)]
    if source.remote is not None:
        same = [number for number in same if recorded.file(number).pin.is_of(source.remote.pin)]
    if not same:
        raise InputError(
            f"{printable(source.path)} has changed since it was fingerprinted for {name}",
            "The part as it was fingerprinted",
            "Fingerprint the part again, and merge again",
        )
    if len(same) == 1:
        return same[0]
    parents = {folder for one in documents.names for folder in ("", f"{one}{os.sep}")}
    exact = [number for number in same if recorded.file(number).name in {p + source.name for p in parents}]
    exact = exact or [number for number in same if recorded.file(number).path == source.path]
    if len(exact) == 1:
        return exact[0]
    raise InputError(
        f"{printable(source.path)} may be {len(same):,} files of {name}: they have the same name and content",
        "A part at the place where it was fingerprinted",
        "Name the part as it was named then",
    )


def _is_same(recorded: StoredPlaces, number: int, digest: bytes | None, size: int | None) -> bool:
    file = recorded.file(number)
    return file.size == size if file.digest is None or digest is None else file.digest == digest


def _not_there_error(source: Source, name: str) -> InputError:
    return InputError(
        f"{printable(source.path)} is not among the parts of {name}",
        "A part whose fingerprints were merged into that result",
        "Fingerprint it, and merge again",
    )


class CountedRows:
    """How many documents the rows of a part represent; rows outside groups represent themselves alone.

    ``names`` has the source of each file of the part, by its number in the result. With ``as_json`` the values of
    ``--sources`` are JSON, for formats without lists.
    """

    def __init__(self, result: Found, recorded: StoredPlaces, names: Mapping[int, str], as_json: bool) -> None:
        self._by: str = result.run.settings["sources"]
        listed = [(SOURCES, pa.list_(pa.large_string()))] if self._by else []
        self._schema = pa.schema([*((name, pa.int64()) for name in COUNTED), *listed])
        self._as_json = as_json
        kept = result.groups.filter(result.groups["kept"])
        self._known = kept.select(self._schema.names).cast(self._schema).combine_chunks()
        places = pc.index_in(kept["id"], value_set=result.ranks["id"].combine_chunks())
        files, numbers = recorded.of_rows(column(result.ranks, "row")[places.to_numpy()])
        self._at: dict[str, tuple[Int64s, Int64s]] = {}
        for number, source in names.items():
            mine = np.flatnonzero(files == number)
            mine = mine[np.argsort(numbers[mine])]
            self._at[source] = numbers[mine], mine

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return flat_schema(self._schema) if self._as_json else self._schema

    def columns(self, chunk: Chunk, rows: Int64s) -> pa.Table:
        """The columns of some ``rows`` of a chunk, by their numbers in the file."""
        numbers, place = self._at[chunk.source]
        places = np.minimum(np.searchsorted(numbers, rows), max(0, len(numbers) - 1))
        known = numbers[places] == rows if len(numbers) else np.zeros(len(rows), np.bool_)
        alone = pa.table([*[pa.array(np.zeros(len(rows), np.int64))] * 3, *self._own(chunk, rows)], self._schema)
        index = len(self._known) + np.arange(len(rows))
        index[known] = place[places[known]]
        values = pa.concat_tables([self._known, alone]).combine_chunks().take(pa.array(index))
        return flat(values) if self._as_json else values

    def _own(self, chunk: Chunk, rows: Int64s) -> list[pa.Array]:
        """The source of each row, as a list; nothing without sources."""
        if not self._by:
            return []
        read = chunk.read([self._by])
        values = as_text(read.table.column(0)).take(pa.array(np.searchsorted(read.row_numbers, rows)))
        given = values.is_valid().to_numpy(zero_copy_only=False)
        ends = np.concatenate(([0], np.cumsum(given))).astype(np.int32)
        return [pa.ListArray.from_arrays(pa.array(ends), values.drop_null().cast(pa.large_string()))]


def write_sorted_bands(target: FingerprintFolder, plan: Plan) -> None:
    """Sort the keys of all rows with text, band by band; the memory is that of one band."""
    target.write_sorted(plan.bands, _sorted_bands(target, plan))


def _sorted_bands(target: FingerprintFolder, plan: Plan) -> Iterator[tuple[UInt64s, UInt32s]]:
    seal_list = list(target.seals())
    with_text = np.flatnonzero(np.concatenate([np.empty(0, np.int64), *(units for units, _ in seal_list)]))
    rows, seals = with_text.astype(np.uint32), [seals for _, seals in seal_list]
    first = 0
    for band, count in enumerate(plan.bands):
        blocks = [keys_of(block, band) for block in target.slots(first, count)]
        yield _in_order(blocks, rows)
        first += count
    yield _in_order(seals, rows)


def keys_of(slots: UInt32s, band: int) -> UInt64s:
    """Return the keys uint64[n] of documents in a ``band`` from its slots, uint32[n, rows of the band]."""
    keys = np.empty(len(slots), np.uint64)
    band_keys(slots, 0, slots.shape[1], band, keys)
    return keys


def _in_order(blocks: list[UInt64s], rows: UInt32s) -> tuple[UInt64s, UInt32s]:
    keys = np.concatenate([np.empty(0, np.uint64), *blocks])[rows]
    order = np.argsort(keys, kind="stable")
    return keys[order], rows[order]


@dataclass(frozen=True, eq=False)
class NewKeys:
    """The distinct keys of new documents, ascending: of each band of the ``plan``, and of their seals."""

    plan: Plan
    bands: tuple[UInt64s, ...]
    seals: UInt64s

    @classmethod
    def of(cls, chunks: Sequence[ReadChunk], plan: Plan) -> "NewKeys":
        """The keys of fingerprinted chunks."""
        nothing, band_keys = np.empty(0, np.uint64), []
        for band, (first, count) in enumerate(_slots(plan)):
            keys = [
                keys_of(np.ascontiguousarray(chunk.signatures[chunk.units > 0, first : first + count]), band)
                for chunk in chunks
            ]
            band_keys.append(np.unique(np.concatenate([nothing, *keys])))
        seals = np.concatenate([nothing, *(chunk.keys[chunk.units > 0, 0] for chunk in chunks)])
        return cls(plan, tuple(band_keys), np.unique(seals))


def meeting_rows(part: SavedFingerprints, new: NewKeys) -> Int64s:
    """Return the rows of a part, ascending, that share a key with new documents."""
    meets = np.zeros(part.manifest.counts.rows, np.bool_)
    if part.manifest.bands == new.plan.bands:
        bands = SortedBands(part)
        for place, keys in enumerate((*new.bands, new.seals)):
            meets[bands.rows_with(place, keys)] = True
        return np.flatnonzero(meets)
    for keys, rows_found in zip(new.bands, _scan_keys(part, new.plan), strict=True):
        meets |= places_among(rows_found, keys)[0]
    seals: UInt64s = np.concatenate([np.empty(0, np.uint64), *(seal for _, seal in part.seals())])
    meets |= places_among(seals, new.seals)[0]
    return np.flatnonzero(meets)


def _scan_keys(part: SavedFingerprints, plan: Plan) -> Iterator[UInt64s]:
    """Yield the keys of all rows of a part, band by band."""
    for band, (first, count) in enumerate(_slots(plan)):
        blocks = [keys_of(block, band) for block in part.slots(first, count)]
        yield np.concatenate([np.empty(0, np.uint64), *blocks])


def _slots(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield the first slot and the number of slots of each band."""
    first = 0
    for count in plan.bands:
        yield first, count
        first += count
