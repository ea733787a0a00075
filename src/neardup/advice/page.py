"""``Advice`` as HTML for a notebook; all text is escaped, because ids and texts are those of the documents."""

from collections.abc import Iterator

from neardup.advice.plot import picture
from neardup.advice.record import AdviceRecord
from neardup.advice.section import AdviceSection
from neardup.advice.sections import sections
from neardup.display.view import heading, paragraph, preformatted, table, view


def html(advice: AdviceRecord) -> str:
    """Return all advice: the picture, the sections, the command."""
    body = "".join(part for section in sections(advice) for part in _section(section))
    return view(picture(advice).figure(), body, preformatted(advice.recommended.command))


def _section(section: AdviceSection) -> Iterator[str]:
    yield heading(section.title)
    yield from map(paragraph, section.before)
    if section.rows:
        marks = section.marks or ("",) * len(section.rows)
        head = (*section.head, *([""] if any(marks) else []))
        rows = [(*cells, *([mark] if any(marks) else [])) for cells, mark in zip(section.rows, marks, strict=True)]
        yield table(head, rows, frozenset(range(1, len(section.head))))
    yield from map(paragraph, section.after)
