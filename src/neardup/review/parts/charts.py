"""Charts as SVG with their numbers as a table; no script, and no style attribute."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from neardup.display import counted, number, similarity

WIDTH, HEIGHT = 560, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 12, 12, 44, 28
_LEAST = 2.0
"""Height of the smallest bar that is not zero: one pair is visible beside a million."""


def histogram(
    edges: Sequence[float],
    counts: Sequence[int],
    *,
    line: float | None,
    measure: str,
    noun: tuple[str, str] = ("pair", "pairs"),
    prefix: str = "",
) -> Markup:
    """Return a histogram as a figure: bars, a line at ``line`` (the threshold), and the numbers as a table.

    ``edges`` has one value more than ``counts``; the last interval includes its end. ``prefix`` makes ids unique.
    """
    if len(edges) != len(counts) + 1:
        raise ValueError("edges has one value more than counts")
    drawing = "".join(_drawing(edges, counts, line, noun))
    title = f"{noun[1].capitalize()} by {measure}"
    said = _description(edges, counts, line, noun)
    ids = f"{prefix}chart-title", f"{prefix}chart-text"
    return Markup(
        f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{ids[0]} {ids[1]}">'
        f'<title id="{ids[0]}">{escape(title)}</title><desc id="{ids[1]}">{escape(said)}</desc>{drawing}</svg>'
        f"<figcaption>{escape(said)}</figcaption>{_table(edges, counts, title, noun[1])}</figure>"
    )


def _drawing(
    edges: Sequence[float], counts: Sequence[int], line: float | None, noun: tuple[str, str]
) -> list[str]:
    low, high, most = edges[0], edges[-1], max(1, *counts, 1)
    span = (high - low) or 1.0
    floor = HEIGHT - _BOTTOM

    def across(value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (value - low) / span

    parts = []
    for begin, end, count in zip(edges, edges[1:], counts, strict=False):
        if count:
            tall = max(_LEAST, (floor - _TOP) * count / most)
            left, wide = across(begin) + 0.5, max(0.5, across(end) - across(begin) - 1)
            kind = "bar below" if line is not None and end <= line else "bar"
            place = f'x="{left:.2f}" y="{floor - tall:.2f}" width="{wide:.2f}" height="{tall:.2f}"'
            parts.append(f'<rect class="{kind}" {place}/>')
    parts.append(f'<path class="axis" d="M{_LEFT} {floor}H{WIDTH - _RIGHT}"/>')
    for value in _ticks(low, high):
        anchor = "start" if value == low else "end" if value == high else "middle"
        parts.append(
            f'<text x="{across(value):.2f}" y="{HEIGHT - 8}" text-anchor="{anchor}">{_short(value)}</text>'
        )
    if line is not None and low <= line <= high:
        at = across(line)
        side = "start" if at < WIDTH / 2 else "end"
        beside = at + 5 if side == "start" else at - 5
        parts.append(f'<path class="line" d="M{at:.2f} {_TOP - 10}V{floor}"/>')
        parts.append(
            f'<text class="named" x="{beside:.2f}" y="{_TOP - 12}" text-anchor="{side}">threshold {line:g}</text>'
        )
    parts.append(f'<text x="{_LEFT}" y="14">highest bar: {counted(max(counts, default=0), *noun)}</text>')
    return parts


def _ticks(low: float, high: float) -> list[float]:
    """Return the values to label: round ones from ``low`` to ``high``.

    >>> _ticks(0.6, 1.0), _ticks(0.1, 1.0)
    ([0.6, 0.7, 0.8, 0.9, 1.0], [0.2, 0.4, 0.6, 0.8, 1.0])
    """
    step = 1 if high - low <= 0.6 else 2
    return [tenth / 10 for tenth in range(0, 11, step) if low - 1e-9 <= tenth / 10 <= high + 1e-9]


def _description(edges: Sequence[float], counts: Sequence[int], line: float | None, noun: tuple[str, str]) -> str:
    total = sum(counts)
    if not total:
        return f"There are no {noun[1]}."
    at = max(range(len(counts)), key=lambda bar: counts[bar])
    said = f"{counted(total, *noun)} in {len(counts)} intervals; most, {number(counts[at])}, "
    said += f"from {_short(edges[at])} to {_short(edges[at + 1])}."
    return said + (f" The line is the threshold, {line:g}." if line is not None else "")


def _table(edges: Sequence[float], counts: Sequence[int], title: str, plural: str) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_short(begin)} to {_short(end)}</th><td class="number">{number(count)}</td></tr>'
        for begin, end, count in zip(edges, edges[1:], counts, strict=False)
    )
    head = f'<th scope="col">From, to</th><th scope="col" class="number">{escape(plural.capitalize())}</th>'
    return (
        '<details><summary>The numbers of the chart</summary><table class="numbers">'
        f"<caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></details>"
    )


def _short(value: float) -> str:
    """Return an edge with three digits or fewer.

    >>> _short(0.7), _short(0.725), _short(1)
    ('0.7', '0.725', '1')
    """
    return similarity(value + 1e-9).rstrip("0").rstrip(".")
