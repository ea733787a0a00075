"""The files of the documents of a result, and their rows there, without reading them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from neardup.review.desk.documents import ResultDocuments
from neardup.run.records import Texts
from neardup.tables import Int64s, column


class Whereabouts:
    """The file and the row of each document, as the result records them."""

    def __init__(self, documents: ResultDocuments, texts: Texts | None) -> None:
        self._documents, self._texts = documents, texts

    @cached_property
    def _files(self) -> tuple[Int64s, Int64s, dict[int, tuple[str, bool]]]:
        """Return the file and the row of each document, −1 if not recorded, and the path and form of each file."""
        rows = self._documents.rows
        nowhere: Int64s = np.full(len(rows), -1, np.int64)
        tables = {} if self._texts is None else self._texts.tables(rows)
        if not tables:
            return nowhere, nowhere, {}
        located = tables["located"]
        known, file, number = (column(located, name) for name in ("row", "file", "number"))
        at = np.minimum(np.searchsorted(known, rows), max(len(known) - 1, 0))
        same = known[at] == rows if len(known) else np.zeros(len(rows), np.bool_)
        places = tables["places"].select(["file", "path", "format"]).to_pylist()
        paths = {place["file"]: (place["path"], place["format"] == "text") for place in places}
        return np.where(same, file[at], -1), np.where(same, number[at], -1), paths

    def of(self, document: int) -> str:
        """Return the place of a document in words; "" if it is not recorded."""
        file, number, paths = self._files
        if file[document] < 0:
            return ""
        path, is_document = paths[int(file[document])]
        return path if is_document else f"row {int(number[document]):,} of {path}"

    def in_file(self, name: str) -> Int64s:
        """Return the documents in a file, named by its path or by the last parts of it."""
        file, _, paths = self._files
        wanted = "/" + name.replace("\\", "/").lstrip("/")
        same = [number for number, (path, _) in paths.items() if ("/" + path.replace("\\", "/")).endswith(wanted)]
        return np.flatnonzero(np.isin(file, same))
