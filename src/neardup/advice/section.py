"""One section of the advice: sentences around a table, the same for terminal and notebook."""

from __future__ import annotations

from dataclasses import dataclass

from neardup.display import printable

NOUNS = {"word": "words", "char": "characters"}


@dataclass(frozen=True)
class AdviceSection:
    """A heading, text before and after a table, and the table with optional bars and marks.

    ``bars`` is, for each row, its share of the longest bar (0 to 1; above 1: too long to show in full); ``marks``
    follow the bars. Cells are plain text, not yet escaped.
    """

    title: str
    before: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    bars: tuple[float, ...] = ()
    marks: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def scale(counts: list[int], weighty: list[bool]) -> list[float]:
    """Return counts as shares of the largest ``weighty`` one, so that a crowd elsewhere does not flatten them.

    >>> scale([900, 20, 10], [False, True, True])
    [45.0, 1.0, 0.5]
    """
    top = max((count for count, weighs in zip(counts, weighty, strict=True) if weighs), default=0)
    return [count / (top or max(counts, default=0) or 1) for count in counts]


def cut(name: str, width: int = 36) -> str:
    """Return a name on one line; a long one loses its middle, because names differ at their ends."""
    name = printable(name)
    return name if len(name) <= width else f"{name[: width // 2 - 2]}…{name[-width // 2 + 1 :]}"
