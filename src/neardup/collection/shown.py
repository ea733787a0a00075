"""Hits, documents and groups of a collection as HTML for a notebook, from plain values. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neardup.display import Line, counted, number, similarity, size
from neardup.display.view import excerpt, facts, heading, name_of, paragraph, table, view

SHOWN = 20
"""Rows of a table in a notebook."""
SHOWN_TEXT = 2000
"""Characters of a document that its view shows."""
_COUNTS = ("documents", "base_texts", "tokens", "shingles", "groups", "changes")
FIELDS = 20
"""Fields of metadata that the view of a document shows."""


def evidence_cells(
    counts: tuple[int, int, int] | None, score: float | None, passage: str | None
) -> tuple[str, ...]:
    """Return the score, the counts and the passage of a hit as cells; ``counts`` are |A∩B|, |A|, |B|."""
    if counts is None or score is None:
        return "", "", ""
    shared, a, b = counts
    return similarity(score), f"{number(shared)} of {number(a)} + {number(b)}", excerpt(passage or "")


def hits(rows: Iterable[tuple[str, tuple[str, ...]]], lines: Sequence[Line], warnings: Sequence[str]) -> str:
    """Return the hits of a page: (id, evidence cells) in each row."""
    cells = [(name_of(id), *evidence) for id, evidence in rows]
    head = ("document", "score", "shingles shared", "longest passage in common")
    listed = table(head, cells[:SHOWN], frozenset((1,))) if cells else ""
    return view(facts(lines), *(paragraph(f"Warning: {text}") for text in warnings), listed, _left(cells))


def document(id: str, text: str, metadata: Mapping[str, Any], lines: Sequence[Line]) -> str:
    """Return a document: its metadata, and the beginning of its text."""
    fields = [(excerpt(name, 30), excerpt(str(value))) for name, value in list(metadata.items())[:FIELDS]]
    return view(facts([("document", name_of(id)), *lines, *fields]), paragraph(excerpt(text, SHOWN_TEXT)))


def listed(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: frozenset[int], title: str) -> str:
    """Return a table of documents, members or groups."""
    cells = list(rows)
    return view(heading(title), table(head, cells[:SHOWN], numbers) if cells else "", _left(cells))


def collection(info: Mapping[str, Any]) -> str:
    """Return the counts and bytes of a collection, as ``Collection.info`` has them."""
    lines = [("file", str(info["path"]))]
    lines += [(name.replace("_", " "), number(info[name])) for name in _COUNTS if info.get(name)]
    lines += [("text", size(info["bytes"]["text"])), ("size of the file", size(info["bytes"]["file"]))]
    return view(heading("Collection"), facts(lines))


def closed(path: str, said: str) -> str:
    """Return a collection that cannot be read."""
    return view(heading("Collection"), facts([("file", path)]), paragraph(said))


def _left(cells: Sequence[object]) -> str:
    left = len(cells) - SHOWN
    return paragraph(f"… and {counted(left, 'more row')}") if left > 0 else ""
