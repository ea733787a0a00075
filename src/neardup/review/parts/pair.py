"""Two documents side by side, as a part of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from neardup.comparison.show.body import ComparisonBody

if TYPE_CHECKING:
    from neardup.comparison.result import ComparisonRecord


def comparison(
    found: ComparisonRecord,
    names: tuple[str, str],
    *,
    prefix: str,
    level: int = 3,
    full: bool = False,
    most: int | None = None,
    measures: bool = True,
) -> Markup:
    """Return the parts of a comparison as HTML: facts, list of differences, the two texts, the measures.

    ``prefix`` makes ids unique on the page; ``level`` is the level of its headings. ``full`` unfolds long equal
    passages. If the texts have more than ``most`` characters, equal passages are left out, and the page ends after
    that many.
    """
    if most is not None and len(found.a.text) + len(found.b.text) <= most:
        most = None
    body = ComparisonBody(found, names, full, prefix, level, most)
    parts = [*body.summary(), *body.differences(), *body.texts(), *(body.measures() if measures else ())]
    return Markup("".join(parts))
