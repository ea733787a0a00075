"""The first words of documents of a result, for its views: read again where that is quick, and never an error."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from neardup.display.view import WORDS, excerpt
from neardup.errors import NeardupError
from neardup.run.records import Id, ResultRecord
from neardup.tables import column

QUICK = 64_000_000
"""Bytes of text up to which a view reads the input again unasked."""


def words_of(
    found: ResultRecord, ids: Collection[Id], *, unasked: bool = False, width: int = WORDS
) -> dict[Id, str]:
    """Return the first ``width`` characters of the documents with these ids, as far as they are unchanged.

    ``unasked``: only if the whole input has at most ``QUICK`` bytes. If the reference set and the new input have
    the same id, the document of the new input counts.
    """
    texts, ranks = found.texts, found.ranks
    if texts is None or not ids or "row" not in ranks.column_names:
        return {}
    if unasked and found.run.get("bytes", {}).get("text", 0) > QUICK:
        return {}
    try:
        wanted = pa.array(list(ids), ranks.schema.field("id").type)
        chosen = ranks.filter(pc.is_in(ranks["id"], value_set=wanted)).sort_by("row")
        known = {row["row"]: row for row in chosen.select(["row", "id", "bytes", "reference"]).to_pylist()}
        words: dict[Id, str] = {}
        for number, text in texts.each(column(chosen, "row")):
            row = known[number]
            if (row["bytes"] in (None, len(text))) and not (row["reference"] and row["id"] in words):
                words[row["id"]] = excerpt(text[: 16 * width].decode("utf-8", "replace"), width)
    except (NeardupError, OSError, pa.ArrowException, LookupError, ValueError):
        return {}  # the input has changed or is gone: a view does without
    return words
