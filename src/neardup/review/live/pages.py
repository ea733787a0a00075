"""The pages to read: each is a function of a desk and a request; and the two sides of a pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from neardup.comparison.alignment import ROW_KINDS, Alignment
from neardup.comparison.kinds import KINDS
from neardup.comparison.result import ComparisonRecord
from neardup.comparison.show.page import ComparisonBody, TextRows, escaped
from neardup.comparison.show.words import (
    WORDS,
    common_sentence,
    differences_sentence,
    notes_on,
    rows_that_differ,
    value_of,
)
from neardup.display import number, tail
from neardup.errors import QueryError
from neardup.review.live.requests import Download, LivePage, ReviewRequest
from neardup.review.source import ORDERS, QUEUES, PairView, Question, Queue

if TYPE_CHECKING:
    from neardup.review.desk.desk import Desk

LINES = 50
"""Groups, pairs or actions on a page."""
MEMBERS = 30
"""Members on a page, besides the representative."""
NEAREST_ACTIONS = 20
"""Actions to look through for the last one that can be undone."""
ORDER_WORDS = {
    "undecided": "undecided first",
    "stake": "most text at stake",
    "size": "largest",
    "similarity": "least similar",
    "place": "as in the result",
}
QUEUE_WORDS = {
    "undecided": "Undecided",
    "threshold": "Closest to the threshold",
    "missed": "Missed, found by the audit",
    "tags": "Tagged differently",
    "outside": "Just outside a group",
}
VIEWS = ("sides", "list")
FORMS = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "dat": "application/octet-stream",
}
EXPORTS = ("groups", "decisions", "tags")


def question_of(asked: ReviewRequest) -> Question:
    """Return the list that an address names."""
    order = asked.one_of("order", ORDERS, ORDERS[0])
    return Question(asked.text("filter").strip(), order, asked.text("after"), LINES)


def came_from(asked: ReviewRequest) -> dict[str, Any]:
    """Return the filter and the order of the list the reader came from, for addresses; none if they are usual."""
    order = asked.one_of("order", ORDERS, ORDERS[0])
    return {"filter": asked.text("filter").strip(), "order": "" if order == ORDERS[0] else order}


def groups(desk: Desk, asked: ReviewRequest) -> LivePage:
    """The list of groups."""
    question, error, found = question_of(asked), None, None
    try:
        found = desk.groups(question)
    except QueryError as mistake:
        error = mistake
    values = {"list": found, "question": question, "error": error, "orders": ORDER_WORDS}
    return LivePage("groups.html", {**values, "came": came_from(asked)}, 400 if error else 200)


def group(desk: Desk, asked: ReviewRequest) -> LivePage:
    """A group."""
    view = desk.group(asked.path["group"], question_of(asked))
    first = next((member for member in view.members if member.representative), view.members[0])
    others = [member for member in view.members if member is not first]
    begin = asked.whole("from") or 0
    end = begin + MEMBERS
    values = {
        "first": first,
        "shown": [first, *others[begin:end]],
        "begin": begin or "",
        "following": end if end < len(others) else None,
        "came": came_from(asked),
    }
    return LivePage("group.html", {"group": view, **values})


def pair(desk: Desk, asked: ReviewRequest) -> LivePage:
    """Two documents side by side, or their differences as a list."""
    keys: tuple[int, int] = asked.path["a"], asked.path["b"]
    queue = queue_of(asked)
    how = {"ignore_numbers": True} if asked.text("numbers") == "off" else {}
    view = desk.pair(*keys, queue, **how)
    swapped, shown = asked.text("swap") == "1", view
    if swapped:
        shown = desk.pair(*keys[::-1], queue, **how)
    mode = asked.one_of("view", VIEWS, "sides")
    options = {
        "view": "list" if mode == "list" else "",
        "numbers": "off" if how else "",
        "swap": "1" if swapped else "",
        "full": "1" if asked.text("full") == "1" else "",
    }
    sides = both_sides(shown, full=bool(options["full"]), linear=mode == "list")
    keep = {**came_from(asked), "queue": queue or ""}
    return LivePage("pair.html", {"pair": view, "shown": shown, "sides": sides, "options": options, "keep": keep})


def queue_of(asked: ReviewRequest) -> Queue | None:
    """Return the queue the reader came from."""
    return asked.one_of("queue", QUEUES) if asked.text("queue") else None


def queue(desk: Desk, asked: ReviewRequest) -> LivePage:
    """A list of pairs."""
    name = ReviewRequest(query={"queue": asked.path["queue"]}).one_of("queue", QUEUES)
    found = desk.queue(name, asked.text("after"), LINES)
    return LivePage("queue.html", {"queue": name, "queues": QUEUE_WORDS, "list": found})


def threshold(desk: Desk, asked: ReviewRequest) -> LivePage:
    """The effect of other thresholds, and pairs to label around one."""
    value = asked.share("value")
    view = desk.threshold(value)
    at = desk.about().threshold if value is None else value
    return LivePage("threshold.html", {"view": view, "at": at, "seen": last_number(desk)})


def kinds(desk: Desk, asked: ReviewRequest) -> LivePage:
    """The pairs of one kind of difference, with samples; or all kinds."""
    kind = asked.text("kind")
    sample = desk.sample_of_kind(kind, asked.text("filter").strip()) if kind else None
    values = {"kinds": KINDS, "kind": kind, "sample": sample, "seen": last_number(desk)}
    return LivePage("kinds.html", {**values, "came": came_from(asked)})


def history(desk: Desk, asked: ReviewRequest) -> LivePage:
    """All actions, the latest first."""
    actions = desk.history(asked.whole("before"), LINES)
    before = actions[-1].number if len(actions) == LINES else None
    return LivePage("history.html", {"actions": actions, "before": before})


def export(desk: Desk, asked: ReviewRequest) -> LivePage:
    """The files to save."""
    return LivePage("export.html", {})


def saved(desk: Desk, asked: ReviewRequest) -> Download:
    """A file to save."""
    given = ReviewRequest(query=asked.path)
    what, form = given.one_of("what", EXPORTS), given.one_of("form", tuple(FORMS))
    return Download(f"{what}.{form}", FORMS[form], desk.export(what, form))  # type: ignore[arg-type]


def keys(desk: Desk, asked: ReviewRequest) -> LivePage:
    """The keys."""
    return LivePage("keys.html")


def last_number(desk: Desk) -> int:
    """Return the number of the last action, 0 before the first."""
    actions = desk.history(limit=1)
    return actions[0].number if actions else 0


LISTED = 1000
"""Most differences in the list."""
_AROUND = 60
"""Characters of equal text quoted before a difference."""


@dataclass(frozen=True)
class MeasureLine:
    """A measure of two documents: its name, its value, the 95 % interval of an estimate, its kind, a sentence."""

    name: str
    value: str
    interval: str
    kind: str
    sentence: str


@dataclass(frozen=True)
class Sides:
    """The parts: the texts as a table or as a list of differences, sentences about them, the measures."""

    texts: Markup
    alike: str
    common: str
    differ: str
    notes: tuple[str, ...]
    measures: tuple[MeasureLine, ...]
    proven: bool


def both_sides(pair: PairView, *, full: bool, linear: bool) -> Sides:
    """Return the parts for a pair. ``full`` unfolds long equal passages; ``linear`` lists the differences."""
    found = pair.comparison
    if linear:
        parts = _listed(pair)
    else:
        parts = ComparisonBody(found, (str(pair.a.id), str(pair.b.id)), full, "", 2).texts()
    lines = [MeasureLine(name, *value_of(value), kind, said) for name, value, kind, said in found.described()]
    return Sides(
        Markup("".join(parts)),
        alike_sentence(found),
        common_sentence(found),
        differing_sentence(found.alignment),
        tuple(notes_on(found)),
        tuple(lines),
        found.proven,
    )


def alike_sentence(found: ComparisonRecord) -> str:
    """Return resemblance and both containments in words."""
    of = {name: value_of(found.measures[name])[0] for name in ("resemblance", "containment_a", "containment_b")}
    return (
        f"Resemblance {of['resemblance']}, containment {of['containment_a']} of A in B and "
        f"{of['containment_b']} of B in A"
    )


def differing_sentence(alignment: Alignment) -> str:
    """Return the number of rows that differ, and how, in a sentence."""
    rows, _, kinds = differences_sentence(alignment).partition(": ")
    return f"{rows} {'row differs' if rows == '1' else 'rows differ'} ({kinds})" if kinds else "No row differs"


def _listed(pair: PairView) -> Iterator[str]:
    """Yield the differences one after the other, each with its number, its side, and the equal text before it."""
    alignment = pair.comparison.alignment
    rows, texts = rows_that_differ(alignment), TextRows(pair.comparison, "")
    yield '<section aria-labelledby="texts"><h2 id="texts">The differences</h2>'
    if not len(rows):
        yield "<p>There is no difference.</p>"
    yield '<ol class="linear">'
    for at, row in enumerate(rows[:LISTED].tolist(), 1):
        kind = ROW_KINDS[alignment.table.kinds[row]]
        yield f'<li id="d{at}"><h3>Difference {number(at)} of {number(len(rows))}, {WORDS[kind][0]}</h3>'
        begin = int(alignment.table.a.spans_of_rows[row, 0])
        if before := tail(" ".join(alignment.text_a[max(0, begin - 4 * _AROUND) : begin].split()), _AROUND):
            yield f'<p class="quiet">after <q dir="auto" lang="">{escaped(before)}</q></p>'
        for which, letter in enumerate("AB"):
            content = texts.content(row, which)
            if content:
                yield f'<p class="side"><b>{letter}</b> <span dir="auto" lang="">{content}</span></p>'
            elif way := texts.elsewhere(row, which):
                yield f'<p class="side"><b>{letter}</b> {way}</p>'
        yield "</li>"
    yield "</ol>"
    if len(rows) > LISTED:
        yield f"<p>The first {number(LISTED)} of {number(len(rows))}; side by side, all are shown.</p>"
    yield "</section>"
