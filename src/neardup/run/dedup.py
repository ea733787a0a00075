"""Documents in, the documents that stay out, in the same type."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar, Unpack, cast

from neardup.run.asked_columns import FindKeywords
from neardup.run.fates import refuse_files
from neardup.run.find import find
from neardup.run.shares import require_most_removed
from neardup.runtime import Progress

Given = TypeVar("Given")


def dedup(
    documents: Given,
    *,
    text: str | None = None,
    id: str | None = None,
    against: object | None = None,
    ignore: object | None = None,
    decisions: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[FindKeywords],
) -> Given:
    """Return the documents that stay, in the type that was given, in their order and with all their columns.

    The arguments are those of :func:`neardup.find`, which also gives the reasons: this is
    ``find(documents, …).kept``. A pandas frame keeps its index. No columns are added; those of ``count`` and
    ``sources`` are in ``find(documents, …).groups``.

    Raises SettingError and InputError as ``find`` does, and InputError for names of files, whose documents
    ``neardup dedup`` writes; OutputError if more would go than ``most_removed`` allows.

    >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
    >>> dedup([{"id": 1, "text": text}, {"id": 2, "text": text + " today"}], keep="first")
    [{'id': 1, 'text': 'the quick brown fox jumps over the lazy dog and runs far away'}]
    """
    refuse_files(documents)
    found = find(
        documents,
        text=text,
        id=id,
        against=against,
        ignore=ignore,
        decisions=decisions,
        progress=progress,
        **settings,
    )
    require_most_removed(found.run)
    kept: Any = found.kept
    return cast(Given, kept)
