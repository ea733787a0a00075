"""Groups, members, decisions and documents as HTML for a notebook, from plain values. All text is escaped."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from neardup.display import counted, similarity
from neardup.display.pictures import heat_map
from neardup.display.view import excerpt, facts, heading, name_of, paragraph, table, view

SHOWN_MEMBERS = 8
"""Members of a group that the view of a result shows."""
LISTED_MEMBERS, DRAWN_MEMBERS = 100, 24
"""Members that the view of a group lists, and those in its heat map."""
SHOWN_TEXT = 2000
"""Characters of a document that its view shows."""
HEAD = ("document", "fate", "similarity", "evidence")
NUMBERS = frozenset((2,))
"""The columns of ``HEAD`` with numbers."""

Link = tuple[object, object, float]
"""The ids of a pair and its similarity."""


class ShownMember(NamedTuple):
    """A member of a group as a row: the similarity is "" for the representative, and where it is not known."""

    name: str
    fate: str
    similarity: str
    evidence: str


def row_of(id: object, fate: str, value: float | None, evidence: str) -> ShownMember:
    """Return a member as a row; ``value`` is None where no similarity is shown."""
    return ShownMember(name_of(id), fate, "" if value is None else similarity(value), evidence)


def rows_of(rows: Sequence[ShownMember], most: int) -> list[ShownMember]:
    """Return the first rows, and one with the number of those left."""
    left = len(rows) - most
    more = [ShownMember(f"… and {counted(left, 'more document')}", "", "", "")] if left > 0 else []
    return [*rows[:most], *more]


def group(id: object, rows: Sequence[ShownMember], ids: Sequence[object], links: Sequence[Link]) -> str:
    """Return the members of a group, and the similarities of their pairs as a heat map."""
    listed = table(HEAD, rows_of(rows, LISTED_MEMBERS), NUMBERS)
    return view(heading(f"Group {name_of(id)}"), listed, _heat_map(id, ids, links) if links else "")


def _heat_map(id: object, ids: Sequence[object], links: Sequence[Link]) -> str:
    drawn = list(ids[:DRAWN_MEMBERS])
    known: Mapping[frozenset[object], float] = {frozenset(link[:2]): link[2] for link in links}
    values = [[1.0 if a == b else known.get(frozenset((a, b))) for b in drawn] for a in drawn]
    says = f"The first {len(drawn)} of {counted(len(ids), 'document')}." if len(ids) > len(drawn) else ""
    title = f"Similarities in the group {name_of(id)}"
    return heat_map([name_of(one) for one in drawn], values, title, says).figure()


def member(row: ShownMember) -> str:
    """Return one member of a group."""
    return view(facts((label, value) for label, value in zip(HEAD, row, strict=True) if value))


def decision(id: object, fate: str, group: object, copy_of: object, sentences: Sequence[str]) -> str:
    """Return the decision on a document: its fate, where it belongs, and the reasons."""
    lines = [("document", name_of(id)), ("fate", fate)]
    lines += [("group", name_of(group))] if group is not None else []
    lines += [("exact copy of", name_of(copy_of))] if copy_of is not None else []
    return view(facts(lines), *map(paragraph, sentences))


def document_view(id: object, size: int, where: str, text: str) -> str:
    """Return a document with the beginning of its text."""
    lines = [("document", name_of(id)), ("size", counted(size, "byte")), ("place", where)]
    return view(facts(lines), paragraph(excerpt(text, SHOWN_TEXT)))
