"""Files that a merge and the machines with the texts exchange: the rows it needs, and their shingle sets.

A *request* names rows of parts. The *answer* for one part has the keyed shingle sets of its rows. Both are one
Arrow IPC file, sealed by the key of the fingerprints.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from neardup.errors import InputError
from neardup.io.fingerprints.keys import seal_of
from neardup.io.readers.manifest import read_regular
from neardup.io.writers.access import EVERYBODY
from neardup.io.writers.file import OutputFile
from neardup.io.writers.stamp import stamped
from neardup.tables import Int64s, UInt64s

_ABOUT, _SEAL = b"neardup", b"neardup seal"
REQUEST, ANSWER = "request 1", "answer 1"


class ExchangeKind(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The kind of file, the features asked for, and the part of an answer by the seal of its manifest."""

    kind: str
    features: tuple[str, ...]
    part: str = ""


@dataclass(frozen=True, eq=False)
class Request:
    """The rows that a merge needs of each part, by the seal of its manifest, and the features of their texts."""

    features: tuple[str, ...]
    rows: Mapping[str, Int64s]


@dataclass(frozen=True, eq=False)
class Answer:
    """The sets of some ``rows`` (ascending) of a part: of each feature the hashes and the offsets of the sets."""

    part: str
    rows: Int64s
    sets: Mapping[str, tuple[UInt64s, Int64s]]


class ExchangeFile(OutputFile):
    """A request or an answer as a context manager: complete under its name, or absent."""

    kind = "a request or an answer"

    def is_own(self, path: Path) -> bool:
        """Return whether it is a file of this kind."""
        try:
            with pa.OSFile(os.fsencode(path)) as file:
                return _ABOUT in (pa.ipc.open_file(file).schema.metadata or {})
        except (OSError, pa.ArrowException):
            return False

    def write(self, table: pa.Table) -> None:
        """Write the table."""
        with pa.ipc.new_file(self._file, stamped(table.schema)) as writer:
            writer.write_table(table)


def write_request(
    path: Path, request: Request, secret: bytes, *, overwrite: bool, access: int = EVERYBODY
) -> None:
    """Write a request. Raises OutputError."""
    parts = [part for part, rows in request.rows.items() for _ in range(len(rows))]
    rows = np.concatenate([np.empty(0, np.int64), *request.rows.values()])
    table = pa.table({"part": pa.array(parts, pa.string()), "row": pa.array(rows)})
    _write(path, table, ExchangeKind(REQUEST, request.features), secret, overwrite, access)


def write_answer(path: Path, answer: Answer, secret: bytes, *, overwrite: bool, access: int = EVERYBODY) -> None:
    """Write an answer. Raises OutputError."""
    columns = {"row": pa.array(answer.rows)}
    for name, (hashes, offsets) in answer.sets.items():
        columns[name] = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(hashes))
    about = ExchangeKind(ANSWER, tuple(answer.sets), answer.part)
    _write(path, pa.table(columns), about, secret, overwrite, access)


def read_request(path: Path, secret: bytes) -> Request:
    """Read a request. Raises InputError for any other file, and one of another key."""
    about, table = _read(path, secret, REQUEST)
    found: dict[str, list[int]] = {}
    for part, row in zip(table["part"].to_pylist(), table["row"].to_pylist(), strict=True):
        found.setdefault(part, []).append(row)
    return Request(about.features, {part: np.array(rows, np.int64) for part, rows in found.items()})


def read_answer(path: Path, secret: bytes) -> Answer:
    """Read an answer. Raises InputError for any other file, and one of another key."""
    about, table = _read(path, secret, ANSWER)
    sets = {}
    for name in about.features:
        lists = _one(table[name])
        offsets = lists.offsets.to_numpy()
        sets[name] = lists.values.to_numpy()[offsets[0] : offsets[-1]], offsets - offsets[0]
    return Answer(about.part, table["row"].to_numpy(), sets)


def _write(path: Path, table: pa.Table, about: ExchangeKind, secret: bytes, overwrite: bool, access: int) -> None:
    told = msgspec.json.encode(about)
    sealed = table.replace_schema_metadata({_ABOUT: told, _SEAL: seal_of(told + _digest(table), secret)})
    with ExchangeFile(path, overwrite=overwrite, access=access) as file:
        file.write(sealed)


def _read(path: Path, secret: bytes, kind: str) -> tuple[ExchangeKind, pa.Table]:
    try:
        table = pa.ipc.open_file(pa.BufferReader(read_regular(path, path.lstat().st_size))).read_all()
        table.validate(full=True)
        told = (table.schema.metadata or {})[_ABOUT]
        seal = table.schema.metadata[_SEAL].decode("ascii")
        about = msgspec.json.decode(told, type=ExchangeKind)
    except (OSError, pa.ArrowException, ValueError, KeyError, msgspec.MsgspecError) as error:
        raise _unusable(path, kind, f"it is another file ({str(error).partition(chr(10))[0]})") from error
    if seal_of(told + _digest(table), secret) != seal:
        raise _unusable(path, kind, "it has been changed, or is of another key")
    if about.kind != kind:
        raise _unusable(path, kind, f"it is {about.kind.partition(' ')[0]!r}")
    return about, table


def _digest(table: pa.Table) -> bytes:
    """A digest of the values of a table, in the order of its columns."""
    state = hashlib.sha256()
    for name in table.column_names:
        state.update(f"{name}:{table.num_rows}:".encode())
        for values in _plain(_one(table[name])):
            state.update(values)
    return state.digest()


def _plain(array: Any) -> Sequence[bytes]:
    if pa.types.is_large_list(array.type):
        lengths = np.diff(array.offsets.to_numpy()).astype(np.int64)
        return lengths.tobytes(), array.flatten().to_numpy().tobytes()
    if pa.types.is_string(array.type):
        return ("\n".join(array.to_pylist()).encode(),)
    return (array.to_numpy().tobytes(),)


def _one(column: pa.ChunkedArray) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _unusable(path: Path, kind: str, why: str) -> InputError:
    name = "request" if kind == REQUEST else "answer"
    made_by = "neardup merge --wanted" if kind == REQUEST else "neardup shingles"
    return InputError(
        f"{path} cannot be used as {name}: {why}", f"A file that {made_by} has written", "Make it again"
    )
