"""The share of the documents of each input file, and of each source, that goes; and the limit on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.display import number, percent, printable
from neardup.errors import OutputError
from neardup.group.decisions import Decisions
from neardup.join.rows import Rows
from neardup.run.account import RemovedBy, RemovedShare, RunAccount
from neardup.tables import Bools, Int64s

LISTED = 1000
"""Files and sources that run.json lists, those with most documents first."""
SUSPICIOUS = (100, 0.5)
"""A file or source of at least this many documents that loses more than this share of them gets a warning."""


def removed_by(rows: Rows, decisions: Decisions, sources: str) -> RemovedBy:
    """Return the documents read and removed of each data file and of each source.

    Its ``files`` are data files; the documents of folders are one entry together. Its
    ``sources`` are the values of the column ``sources``, an empty list without one. Only the first LISTED of each.
    """
    gone, first = decisions.gone, rows.first_new
    removed = np.zeros(len(rows) - first, np.bool_)
    removed[gone[gone >= first] - first] = True
    by = RemovedBy(files=_listed(*_files(rows), removed), sources=[])
    values = rows.extra.get(sources)
    if values is not None:
        encoded = pc.cast(values, pa.string()).dictionary_encode()
        codes = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy().astype(np.int64)
        by.sources = _listed([*encoded.dictionary.to_pylist(), None], codes, removed)
    return by


def suspicious(shares: RemovedBy, most: float, *, referred: bool) -> list[str]:
    """Warn about files and sources that lose more than the share ``most`` or, if that is 1, half.

    A run over one file without a reference set (``referred``) has the same share in its summary.
    """
    least = 1
    if most == 1:
        least, most = SUSPICIOUS
        if not referred and len(shares.files) < 2 and not shares.sources:
            return []
    return [
        f"{_said(entry)} go; most_removed stops such a run before anything is written"
        for entry in _above(shares, most)
        if entry.read >= least
    ]


def require_most_removed(run: RunAccount) -> None:
    """Raise OutputError if more of a file or source would go than the setting ``most_removed`` allows."""
    limit = run.settings["most_removed"]
    beyond = list(_above(run.removed_by, limit)) if limit < 1 and run.removed_by is not None else []
    if beyond:
        more = f"; and too many of {len(beyond) - 3} more" if len(beyond) > 3 else ""
        raise OutputError(
            f"{'; '.join(map(_said, beyond[:3]))} would go{more}",
            f"At most {percent(limit, 1)} of each input file and source (most_removed)",
            "Look at the groups with --dry-run, then change the settings or most_removed; nothing was written",
        )


def _above(shares: RemovedBy, limit: float) -> Iterator[RemovedShare]:
    for entry in (*shares.files, *shares.sources):
        if entry.removed > limit * entry.read:
            yield entry


def _said(entry: RemovedShare) -> str:
    name = "documents without a source" if entry.name is None else printable(entry.name)
    share = percent(entry.removed, entry.read)
    return f"{number(entry.removed)} of {number(entry.read)} documents of {name} ({share})"


def _files(rows: Rows) -> tuple[list[str], Int64s]:
    """The names of the data files, and the number of the file of each new row."""
    corpus = rows.corpus
    part = corpus.parts[-1].documents
    pieces = [piece for piece in corpus.pieces if piece.part == rows.new_part]
    counts = [piece.count for piece in pieces]
    if part.format == "text":
        return [", ".join(part.names[:3])], np.zeros(sum(counts), np.int64)
    names = list(dict.fromkeys(piece.source for piece in pieces))
    place = {name: k for k, name in enumerate(names)}
    return names, np.repeat([place[piece.source] for piece in pieces], counts).astype(np.int64)


def _listed(names: Sequence[str | None], of_row: Int64s, removed: Bools) -> list[RemovedShare]:
    read = np.bincount(of_row, minlength=len(names))
    gone = np.bincount(of_row[removed], minlength=len(names))
    order = [k for k in np.argsort(-read, kind="stable").tolist() if read[k]]
    return [RemovedShare(names[k], int(read[k]), int(gone[k])) for k in order[:LISTED]]
