"""The total of the text that removed documents take with them, in numbers and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from neardup.display import counted, number, percent, printable


class Accounted(Protocol):
    """A result with an account."""

    @property
    def run(self) -> Mapping[str, Any]:
        """The content of ``run.json``."""


@dataclass(frozen=True)
class LostText:
    """The text that the removed documents of a result take with them, in total.

    Of the ``removed`` documents ``losing`` ones lose text; of ``unknown`` ones that is not known. Of the others
    that are not exact copies of documents that stay, ``shingles`` is the total, and ``lost`` is the number that is
    in no document of their group that stays.
    """

    removed: int
    losing: int
    unknown: int
    shingles: int
    lost: int

    @property
    def share(self) -> float:
        """The share of the shingles of removed near copies that is lost."""
        return self.lost / self.shingles if self.shingles else 0.0

    def __str__(self) -> str:
        if not self.removed:
            return "none"
        unknown = f"; unknown for {number(self.unknown)}" if self.unknown else ""
        if not self.losing:
            return ("none found" if self.unknown else "none: the documents that stay hold all of it") + unknown
        return (
            f"{number(self.losing)} of {counted(self.removed, 'removed document')} "
            f"{'loses' if self.losing == 1 else 'lose'} some: {number(self.lost)} of {number(self.shingles)} "
            f"shingles ({percent(self.lost, self.shingles)}){unknown}"
        )


def lost_text(found: Accounted) -> LostText:
    """The total of the text that is lost by a result: that of a run, or ``found.at(threshold)`` of a sample.

    At a stricter threshold it is known for groups of which only the representative stays; the other documents
    count as ``unknown``.
    """
    names = ("removed", "losing", "unknown", "shingles", "lost")
    return LostText(**{name: found.run["lost"][name] for name in names})


def shown(lost: Mapping[str, Any]) -> str:
    """The totals in a sentence, with the document that loses most."""
    said = str(LostText(**{name: lost[name] for name in LostText.__annotations__}))
    if not lost["most"]:
        return said
    worst = lost["most"][0]
    passage = "" if worst["lost_passage"] is None else f", for example “{printable(worst['lost_passage'])}”"
    which = f"; most: {printable(worst['id'])}, " if lost["losing"] > 1 else ": "
    return f"{said}{which}{number(worst['lost_shingles'])} of {number(worst['shingles'])}{passage}"
