"""``Advice`` as HTML for notebooks: the image, then the sections; all text is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from neardup.advice.plot import svg
from neardup.advice.record import AdviceRecord
from neardup.advice.section import AdviceSection
from neardup.advice.sections import sections


def html(advice: AdviceRecord) -> str:
    """Return one ``div`` with all advice."""
    body = "".join(part for section in sections(advice) for part in _section(section))
    return f"<div>{svg(advice)}{body}<pre>{escape(advice.recommended.command)}</pre></div>"


def _section(section: AdviceSection) -> Iterator[str]:
    yield f"<h4>{escape(section.title)}</h4>"
    yield from (f"<p>{escape(text)}</p>" for text in section.before)
    if section.rows:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in section.head)
        marks = section.marks or ("",) * len(section.rows)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in (*cells, mark)) + "</tr>"
            for cells, mark in zip(section.rows, marks, strict=True)
        )
        yield f"<table><thead><tr>{head}<th></th></tr></thead><tbody>{rows}</tbody></table>"
    yield from (f"<p>{escape(text)}</p>" for text in section.after)
