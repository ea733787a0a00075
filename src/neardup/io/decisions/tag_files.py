"""Tags and decisions read from a file of another program: CSV, JSON Lines, Parquet, DAT, or a spreadsheet."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.display import printable
from neardup.display.view import PlainData
from neardup.errors import InputError
from neardup.io.decisions.log import BATCH, SECOND
from neardup.io.decisions.records import Action
from neardup.io.writers.exports import FORMS, QUOTE, SEPARATOR, unprotect_formula
from neardup.io.writers.spreadsheets import workbook_rows

_MOST_BYTES = 1 << 30
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}

WITHDRAWN = "none"
"""The word of a cell that withdraws a decision."""


@dataclass(frozen=True)
class Imported(PlainData):
    """The action that added tags or decisions (None if there was nothing to add), their numbers, and unknown ids.

    ``waiting`` counts decisions that were left out, since their pairs wait for the second verdict of the person;
    ``aside`` counts rows of batches and second reviews, which are not imported.
    """

    action: Action | None
    tags: int
    documents: int
    unknown: tuple[str, ...]
    decisions: int = 0
    waiting: int = 0
    aside: int = 0


@dataclass(frozen=True)
class DecisionRow:
    """A row of a table of groups that came back: an empty ``verdict`` or ``fate`` says nothing."""

    id: str
    group: str
    verdict: str
    fate: str
    note: str


@dataclass(frozen=True)
class ImportedRow:
    """A row of a file: an id as text, its tags, and its decision; None without the columns group and verdict."""

    id: str
    tags: tuple[str, ...]
    decision: DecisionRow | None


def read_rows(path: Path, form: str, id: str = "id", tags: str = "tags") -> Iterator[ImportedRow]:
    """Yield the rows of a file; ``id`` and ``tags`` name its columns, in upper or lower case.

    Several tags are separated by semicolons, or are a list. Raises InputError for a file that cannot be read.
    """
    for number, row in enumerate(_rows(path, form), 1):
        for name in (id, tags):
            if name.lower() not in row:
                raise InputError(
                    f'Row {number:,} of {path} has no column "{printable(name)}"',
                    f"Columns of the file: {', '.join(map(printable, row))}",
                    "Name the columns with --id and --tags",
                )
        document = _text(row[id.lower()])
        yield ImportedRow(document, tuple(_tags(row[tags.lower()])), _decision(document, row))


class PairRow(NamedTuple):
    """A decision about two documents: its word, "none" for one that is withdrawn, and its note."""

    id: str
    other: str
    decision: str
    note: str

    @property
    def reviewing(self) -> bool:
        """Whether the row is of a batch or a second review, which belong to their own review."""
        return self.decision.partition(" ")[0] in (BATCH, SECOND)


def read_pairs(path: Path, form: str) -> list[PairRow] | None:
    """Return the decisions of a file with the columns id, other and decision; None if it lacks one of these.

    Rows with an empty decision are left out. Raises InputError for a file that cannot be read.
    """
    pairs = []
    for row in _rows(path, form):
        if not {"id", "other", "decision"} <= row.keys():
            return None
        word = _word(_text(row["decision"]))
        if word:
            pairs.append(PairRow(_text(row["id"]), _text(row["other"]), word, _text(row.get("note")).strip()))
    return pairs


def _decision(document: str, row: Mapping[str, Any]) -> DecisionRow | None:
    if not {"group", "verdict"} <= row.keys():
        return None
    group, verdict, fate, note = (_text(row.get(name)) for name in ("group", "verdict", "fate", "note"))
    return DecisionRow(document, group, _word(verdict), _word(fate), note.strip())


def _rows(path: Path, form: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, with names in lower case. Raises InputError for a file that cannot be read."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} has {path.stat().st_size:,} bytes", f"At most {_MOST_BYTES:,}")
        for row in _ROWS_OF[form](path):
            yield {str(name).strip().lower(): value for name, value in row.items()}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", "A file that may be read") from error
    except (UnicodeError, csv.Error, msgspec.MsgspecError, pa.ArrowException, ValueError, RecursionError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{path} cannot be read as {form}: {reason}", f"One of {', '.join(FORMS)}") from error


def _word(text: str) -> str:
    return " ".join(text.casefold().split())


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _tags(value: Any) -> Iterator[str]:
    parts = value if isinstance(value, list) else _text(value).split(";")
    for part in parts:
        if tag := _text(part).strip():
            yield tag


def _decoded_text(path: Path) -> str:
    data = path.read_bytes()
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")
    return data.decode(encoding)


def _csv(path: Path) -> Iterator[Mapping[str, Any]]:
    for row in csv.DictReader(io.StringIO(_decoded_text(path), newline=""), strict=True):
        if None in row:
            raise ValueError("a row has more values than there are columns")
        yield {name: None if value is None else unprotect_formula(value) for name, value in row.items()}


def _jsonl(path: Path) -> Iterator[Mapping[str, Any]]:
    for line in _decoded_text(path).split("\n"):
        if line.strip():
            yield msgspec.json.decode(line, type=dict[str, Any])


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    with open(path, "rb") as file:
        for batch in pq.ParquetFile(file).iter_batches():
            yield from batch.to_pylist()


def _dat(path: Path) -> Iterator[Mapping[str, Any]]:
    names: list[str] = []
    for number, line in enumerate(_decoded_text(path).replace("\r\n", "\n").split("\n"), 1):
        if not line:
            continue
        if not (line.startswith(QUOTE) and line.endswith(QUOTE) and len(line) > 1):
            raise ValueError(f"line {number:,} does not begin and end with {QUOTE}")
        values = line[1:-1].split(f"{QUOTE}{SEPARATOR}{QUOTE}")
        if names and len(values) != len(names):
            raise ValueError(f"line {number:,} has {len(values):,} values, the first line {len(names):,}")
        if names:
            yield dict(zip(names, values, strict=True))
        else:
            names = values


_ROWS_OF = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet, "dat": _dat, "xlsx": workbook_rows}
