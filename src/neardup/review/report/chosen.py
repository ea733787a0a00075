"""The pairs that a report shows side by side: chosen in turn from its lists, read, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from markupsafe import Markup

from neardup.display import counted
from neardup.errors import LimitError
from neardup.review.parts.frame import NAME
from neardup.review.parts.pair import comparison
from neardup.settings import as_compared

if TYPE_CHECKING:
    from neardup.review.report.reading import TextReading
    from neardup.run.found import Found
    from neardup.run.records import Id

SHOWN = 20_000
"""Characters of the texts of one pair on the page."""
LONGEST = 1_000_000
"""Characters of both texts together from which a pair is not compared."""
SECONDS = 20.0
"""Time for the comparison of one pair."""

Ends: TypeAlias = tuple["Id", "Id"]


@dataclass(frozen=True)
class ChosenPair:
    """A pair to show: a member and its representative, or two documents. ``why`` is a sentence."""

    a: Id
    b: Id
    why: str


@dataclass
class ShownPair:
    """A pair on the page: its number, and its comparison as HTML, or the reason why there is none."""

    number: int
    chosen: ChosenPair
    body: Markup = field(default_factory=Markup)
    missing: str = ""

    @property
    def anchor(self) -> str:
        """The address of the pair on the page."""
        return f"#pair-{self.number}"


def choose(lists: Sequence[Iterable[ChosenPair]], most: int) -> list[ChosenPair]:
    """Return ``most`` different pairs, from each list in turn.

    >>> first = [ChosenPair(1, 2, "a"), ChosenPair(3, 4, "a")]
    >>> second = [ChosenPair(2, 1, "b"), ChosenPair(5, 6, "b")]
    >>> [(pair.a, pair.b) for pair in choose([first, second], 3)]
    [(1, 2), (5, 6), (3, 4)]
    """
    found: dict[frozenset[Id], ChosenPair] = {}
    waiting = [iter(pairs) for pairs in lists]
    while waiting and len(found) < most:
        for pairs in list(waiting):
            new = next((pair for pair in pairs if frozenset((pair.a, pair.b)) not in found), None)
            if new is None:
                waiting.remove(pairs)
            elif len(found) < most:
                found[frozenset((new.a, new.b))] = new
    return list(found.values())


def side_by_side(found: Found, chosen: Sequence[ChosenPair], reading: TextReading) -> Iterator[ShownPair]:
    """Read and compare pairs."""
    for number, pair in enumerate(chosen, 1):
        shown = ShownPair(number, pair)
        texts = reading.text(pair.a), reading.text(pair.b)
        if texts[0] is None or texts[1] is None:
            shown.missing = "A text of this pair cannot be read."
        elif len(texts[0]) + len(texts[1]) > LONGEST:
            size = counted(len(texts[0]) + len(texts[1]), "character")
            shown.missing = f"The two texts have {size}, which is too long for this page."
        else:
            _compare(found, shown, (texts[0], texts[1]))
        yield shown


def _compare(found: Found, shown: ShownPair, texts: tuple[str, str]) -> None:
    from neardup.comparison.compare import compare

    settings = found.run["settings"]
    names = tuple(str(id)[:NAME] for id in (shown.chosen.a, shown.chosen.b))
    try:
        made = compare(*texts, **as_compared(settings), seconds=SECONDS)
    except LimitError as error:
        shown.missing = f"{error.given}."
        return
    prefix = f"p{shown.number}-"
    shown.body = comparison(made, (names[0], names[1]), prefix=prefix, level=4, most=SHOWN, measures=False)
