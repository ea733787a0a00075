"""The decisions of people that a report follows: how many, by whom, which, and the tags."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from neardup.display import counted, number, printable
from neardup.review.report.lists import REASON, Row, Some
from neardup.review.report.reading import brief
from neardup.run.stored_review import later_action

if TYPE_CHECKING:
    from neardup.run.found import Found

LISTED = 50
"""Lines of the lists of decisions and tags."""
_PEOPLE = 10
_SHOWN = 200
"""Longest name of a person, folder or tag, in characters."""


class ReportDecisions:
    """The decisions behind a result. ``found`` follows them; ``run`` is the result of the run without them.

    Both are the same if the result was made to follow decisions, by ``neardup apply`` or ``--decisions``.
    """

    def __init__(self, found: Found, run: Found) -> None:
        self._made: dict[str, Any] = found.run["decisions"]
        self.only_reviewed = found is not run
        self._removed = run.run["counts"]["removed"], found.run["counts"]["removed"]
        self._action = run.run["action"]
        self._later = 0 if self.only_reviewed else later_action(run)

    @property
    def lead(self) -> str:
        """Their number, by whom they were made, and the last action that they include."""
        made = self._made
        people = sorted(made["by"].items(), key=lambda person: (-person[1], person[0]))
        if not made["last_action"]:
            return f"This result was made from {self._result}, about which nobody had decided."
        listed = [f"{number(count)} by {brief(printable(name), _SHOWN)}" for name, count in people]
        if len(listed) > _PEOPLE:
            listed[_PEOPLE:] = [f"the others by {counted(len(listed) - _PEOPLE, 'other person', 'other people')}"]
        by = f": {', '.join(listed)}" if listed else ""
        unsure = f"; {counted(made['unsure'], 'pair')} left as unsure" if made["unsure"] else ""
        follows = "page follows" if self.only_reviewed else "result follows"
        return (
            f"This {follows} {counted(made['applied'], 'decision')} of people{by}{unsure}. They are those of "
            f"{self._result} up to action {number(made['last_action'])}; later ones are not included."
        )

    @property
    def notes(self) -> list[str]:
        """Remarks on decisions that are not carried out yet, and on later ones."""
        notes = []
        if self._later:
            said = f"The review in {self._result} has gone on since, up to action {number(self._later)}"
            notes.append(f"{said}: this page is older than its decisions.")
        if self.only_reviewed:
            was, now = map(number, self._removed)
            files = f"The run by itself removed {was}; the files in the result are still those of the run"
            if self._action == "group":
                files = "The run by itself removed nothing"
            out = brief(printable(self._made["result"]), _SHOWN)
            notes.append(
                f"{files}. After the decisions {now} can go: neardup apply {out} -o DIR writes the others."
            )
        return notes

    @property
    def followed(self) -> Some:
        """The decisions, the latest first: the decision, its documents, the person, the time."""
        made = self._made
        return Some([_row(one) for one in made["followed"][:LISTED]], made["applied"])

    @property
    def not_applicable(self) -> Some:
        """The decisions that do not apply, each with the reason."""
        made = self._made
        rows = [(*_row(one)[:3], brief(one["reason"], REASON)) for one in made["listed"][:LISTED]]
        return Some(rows, made["not_applicable"])

    @property
    def tags(self) -> Some:
        """The documents with tags."""
        made = self._made
        rows: list[Row] = [(str(one["id"]), _tags(one["tags"]), "") for one in made["tags"][:LISTED]]
        return Some(rows, made["tagged"])

    @property
    def tag_counts(self) -> str:
        """The tags with the numbers of their documents, as far as they are recorded; "" if some are not."""
        made = self._made
        if made["tagged"] > len(made["tags"]):
            return ""
        counts = Counter(tag for one in made["tags"] for tag in one["tags"])
        return ", ".join(f"{brief(tag, _SHOWN)} {number(count)}" for tag, count in counts.most_common(_PEOPLE))

    @property
    def _result(self) -> str:
        return f"the review in {brief(printable(self._made['result']), _SHOWN)}"


def _row(decision: dict[str, Any]) -> tuple[str, str, str, str]:
    """A decision in the cells of a table: its documents, itself, the person, the time."""
    first, *others = (str(id) for id in decision["ids"])
    sort = decision["decision"]
    said = f"represents the group of {first}" if sort == "represents" else sort
    if sort == "represents":
        first, others = others[0] if others else first, []
    documents = f"{said} with {' and '.join(others)}" if others else said
    at = brief(decision["at"], _SHOWN)[:16].replace("T", " ")
    return first, brief(documents, REASON), brief(decision["by"], _SHOWN), f"{at} UTC"


def _tags(tags: list[str]) -> str:
    return brief(", ".join(tags), REASON)
