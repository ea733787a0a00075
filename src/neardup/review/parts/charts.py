"""The histogram of pages: the picture of ``display``, as markup for templates."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from neardup.display.charts import PAIR, Histogram, Noun


def histogram(
    edges: Sequence[float], counts: Sequence[int], *, line: float | None, measure: str, noun: Noun = PAIR
) -> Markup:
    """Return a histogram as a figure: bars, a line at ``line`` (the threshold), and the numbers as a table.

    ``edges`` has one value more than ``counts``; the last interval includes its end.
    """
    return Markup(Histogram(edges, counts, line, measure, noun).figure())
