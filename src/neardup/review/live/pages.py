"""The pages to read: each is a function of a desk and a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neardup.comparison.alignment import Alignment
from neardup.comparison.kinds import KINDS
from neardup.comparison.result import ComparisonRecord
from neardup.comparison.show.page import ComparisonBody
from neardup.comparison.show.words import common_sentence, differences_sentence, value_of
from neardup.errors import QueryError
from neardup.review.live.requests import Download, LivePage, ReviewRequest
from neardup.review.source import ORDERS, QUEUES, Question, Queue

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
    found = shown.comparison
    values = {
        "pair": view,
        "shown": shown,
        "body": ComparisonBody(found, (str(shown.a.id), str(shown.b.id)), bool(options["full"]), "", 2),
        "sentences": (alike_sentence(found), common_sentence(found), differing_sentence(found.alignment)),
        "options": options,
        "keep": {**came_from(asked), "queue": queue or ""},
    }
    return LivePage("pair.html", values)


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
