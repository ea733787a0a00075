"""A result as HTML for a notebook: its summary, its similarities as a histogram, its first groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neardup.display import counted
from neardup.display.charts import Histogram, bars
from neardup.display.view import facts, heading, name_of, paragraph, table, view
from neardup.measures import LITERAL, MEASURES
from neardup.run.first_words import words_of
from neardup.run.looking import similarities
from neardup.run.show import summary
from neardup.run.views import HEAD, NUMBERS, SHOWN_MEMBERS, rows_of

if TYPE_CHECKING:
    from neardup.run.records import Group, Id, ResultRecord


def html(found: ResultRecord, groups: Sequence[Group]) -> str:
    """Return the view of a result with its first ``groups``; ids and texts come from the documents."""
    run = found.run
    parts = [facts(summary(run)), *(paragraph(f"Warning: {text}") for text in run["warnings"])]
    if found.pairs.num_rows:
        parts.append(_histogram(found))
    if groups:
        shown = [member.id for group in groups for member in group.members[:SHOWN_MEMBERS]]
        parts += [heading("First groups"), _groups(groups, words_of(found, shown, unasked=True))]
    left = run["counts"]["groups"] - len(groups)
    if groups and left > 0:
        parts.append(paragraph(f"… and {counted(left, 'more group')}"))
    return view(*parts)


def _histogram(found: ResultRecord) -> str:
    settings = found.run["settings"]
    edges, counts = bars(similarities(found, found.pairs), settings["threshold"])
    measure = MEASURES[settings["measure"]].in_words(settings.get("matching", LITERAL))
    return Histogram(edges, counts, settings["threshold"], measure).figure()


def _groups(groups: Sequence[Group], words: dict[Id, str]) -> str:
    rows = []
    for group in groups:
        for place, row in enumerate(rows_of(group.rows(), SHOWN_MEMBERS)):
            said = words.get(group.members[place].id, "") if place < min(len(group.members), SHOWN_MEMBERS) else ""
            name = "" if place else name_of(group.id)
            rows.append((name, row.name, row.fate, row.similarity, *([said] if words else []), row.evidence))
    head = ("group", *HEAD[:3], *(["first words"] if words else []), HEAD[3])
    return table(head, rows, frozenset(number + 1 for number in NUMBERS))
