"""Find a document of a result by its id, and read its text again."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from neardup.display import counted, printable
from neardup.errors import InputError
from neardup.run.records import Id, Looked, ResultRecord


def looked(found: ResultRecord, id: Id) -> Looked:
    """Return a document of the input. Raises InputError if it cannot be read as it was."""
    if found.texts is None:
        raise InputError(
            "The result does not record where its documents are",
            "A result of documents in files, made by this version of neardup",
            "Make the result again from files",
        )
    row, size = _recorded(found, id)
    document = found.texts.look(id, row)
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


def _recorded(found: ResultRecord, id: Id) -> tuple[int | None, int | None]:
    """Return the row of a document and the size of its text, if the result has them.

    If a document of the reference set has the same id, the one of the new input counts.
    """
    try:
        key = pa.scalar(id, found.ranks.schema.field("id").type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
        return None, None
    rows = found.ranks.filter(pc.equal(found.ranks["id"], key)).select(["row", "bytes", "reference"]).to_pylist()
    rows.sort(key=lambda row: bool(row["reference"]))
    return (rows[0]["row"], rows[0]["bytes"]) if rows else (None, None)
