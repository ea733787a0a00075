"""The changes: each stores something, and answers with the address to look at now."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

from neardup.io.decisions import Fate, Verdict
from neardup.review.live.pages import CARRIED, Elsewhere, ReviewRequest, came_from, group_choices, queue_of
from neardup.review.source import ORDERS, Acted, Asked, Decide, DrawSeconds, HandOut
from neardup.service.web.limits import RefusedError

if TYPE_CHECKING:
    from neardup.review.desk.desk import Desk

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FATES: tuple[Fate, ...] = get_args(Fate)
WHOM: tuple[Asked, ...] = get_args(Asked)
_SHARE = re.compile(r"[1-9]\d{0,5}")
CLEAR, NOTE = "none", "note"
"""The values of the buttons that withdraw a decision, and store a note alone."""


def decide(desk: Desk, request: ReviewRequest) -> Elsewhere:
    """Store a decision about a pair, a group, a part of it, or a kind."""
    given = request.one_of("verdict", (*VERDICTS, CLEAR, NOTE))
    whom = request.one_of("asked", WHOM)
    above = request.share("above") if whom == "above" else None
    if whom == "above" and above is None:
        raise RefusedError(422, "The least similarity is missing", "From 0 to 1", "Enter it, or choose all")
    if whom == "members" and not request.wholes("member"):
        raise RefusedError(422, "No member is checked", "One or more", "Check the boxes of the members first")
    done = desk.decide(
        Decide(
            whom,
            None if given in (CLEAR, NOTE) else given,  # type: ignore[arg-type]
            request.by,
            request.need("seen"),
            request.whole("group"),
            request.pair("a", "b"),
            above,
            request.text("kind"),
            request.text("filter").strip(),
            request.text("note").strip(),
            queue_of(request),
            request.wholes("member"),
            given == NOTE,
        )
    )
    return Elsewhere(_after(request, done))


def _after(request: ReviewRequest, done: Acted) -> str:
    """Return the address of the next thing to decide, in the list the reader came from."""
    number, came, queue, following = done.action.number, came_from(request), queue_of(request), done.next
    if request.text("then") == "threshold":
        return request.to("/threshold", value=request.share("value"), done=number)
    if request.text("verdict") in (CLEAR, NOTE):
        following = request.pair("a", "b")
    if request.text("asked") == "pair" and following:
        was = dict(zip(("was_a", "was_b"), request.pair("a", "b") or (), strict=False))
        return _to_pair(request, following, **came, queue=queue, **was, done=number)
    if queue:
        return request.to(f"/queues/{queue}", done=number)
    return _to_group(request, request.whole("group"), **came, done=number)


def represent(desk: Desk, request: ReviewRequest) -> Elsewhere:
    """Make another member the representative."""
    group = request.need("group")
    done = desk.represent(group, request.need("document"), request.by, request.need("seen"))
    return _back(request, done)


def keep(desk: Desk, request: ReviewRequest) -> Elsewhere:
    """Store the fate of a document."""
    fate = request.one_of("fate", (*FATES, CLEAR))
    document, seen = request.need("document"), request.need("seen")
    done = desk.keep(document, None if fate == CLEAR else fate, request.by, seen)  # type: ignore[arg-type]
    return _back(request, done)


def tag(desk: Desk, request: ReviewRequest) -> Elsewhere:
    """Add a tag to a document, or take it away."""
    name, on, seen = _tag_of(request), request.text("on") != "no", request.need("seen")
    return _back(request, desk.tag(request.need("document"), name, on, request.by, seen))


def tag_group(desk: Desk, request: ReviewRequest) -> Elsewhere:
    """Add a tag to all members of a group, or take it away."""
    name, on, seen = _tag_of(request), request.text("on") != "no", request.need("seen")
    return _back(request, desk.tag_group(request.need("group"), name, on, request.by, seen))


def _tag_of(request: ReviewRequest) -> str:
    name = request.text("tag").strip()
    if not name:
        raise RefusedError(422, "The tag is empty", "A word or a few", "Enter one")
    return name


def _back(request: ReviewRequest, done: Acted) -> Elsewhere:
    """Return to the pair whose page has the form, or to the group."""
    came, number = came_from(request), done.action.number
    if pair := request.pair("a", "b"):
        return Elsewhere(_to_pair(request, pair, **came, queue=queue_of(request), done=number))
    return Elsewhere(_to_group(request, request.need("group"), **came, done=number))


def _to_group(request: ReviewRequest, group: int | None, **values: Any) -> str:
    """Return the address of a group, with the choices of the reader; of the list of groups for None."""
    if group is None:
        return request.to("/", **values)
    return request.to(f"/groups/{group}", **{**group_choices(request), "from": request.whole("from"), **values})


def _to_pair(request: ReviewRequest, pair: tuple[int, int], **values: Any) -> str:
    """Return the address of a pair, with the view that the reader chose."""
    views = {name: request.text(name) for name in CARRIED}
    if set(pair) & set(request.pair("a", "b") or ()):  # the group of the pair that the form is about
        views |= {name: request.text(name) for name in ("kind", "place")}
    return request.to(f"/pairs/{pair[0]}/{pair[1]}", **{**views, **values})


def hand_out(desk: Desk, request: ReviewRequest) -> Elsewhere:
    """Hand groups to people."""
    return _handed_out(desk, request, tuple(map(_with_share, _people(request))))


def take_back(desk: Desk, request: ReviewRequest) -> Elsewhere:
    """Take groups back from the people who have them."""
    return _handed_out(desk, request, ())


def _handed_out(desk: Desk, request: ReviewRequest, people: tuple[tuple[str, float], ...]) -> Elsewhere:
    each, again = request.whole("each") or None, request.text("again") == "1"
    filter, order = request.text("filter").strip(), request.one_of("order", ORDERS, "stake")
    done = desk.hand_out(HandOut(filter, order, people, each, again, request.by, request.need("seen")))
    return Elsewhere(request.to("/batches", done=done.action.number))


def draw_seconds(desk: Desk, request: ReviewRequest) -> Elsewhere:
    """Hand a sample of the decided pairs to people for a second verdict."""
    people, percent, seed = _people(request), request.need("share"), request.need("seed")
    filter = request.text("filter").strip()
    done = desk.draw_seconds(DrawSeconds(people, percent, seed, request.by, request.need("seen"), filter))
    return Elsewhere(request.to("/batches", done=done.action.number))


def decide_second(desk: Desk, request: ReviewRequest) -> Elsewhere:
    """Store a second verdict, and go on to the next pair that waits for it."""
    pair, verdict = request.pair("a", "b"), request.one_of("verdict", get_args(Verdict))
    if pair is None:
        raise RefusedError(422, "The pair is missing", "A form of this review")
    note, seen = request.text("note").strip(), request.need("seen")
    done = desk.decide_second(pair, verdict, note, request.by, seen)
    place = f"/second/{done.next[0]}/{done.next[1]}" if done.next else "/batches"
    return Elsewhere(request.to(place, done=done.action.number))


def _people(request: ReviewRequest) -> tuple[str, ...]:
    """Return the people that a form names, with commas between them."""
    people = tuple(filter(None, map(str.strip, request.text("people").split(","))))
    if not people:
        raise RefusedError(422, "Nobody is named", "Names with commas between them", "Enter one or more")
    return people


def _with_share(person: str) -> tuple[str, float]:
    """Return a name and its share, 1 unless there is a number after a colon."""
    name, colon, share = person.rpartition(":")
    if colon and not _SHARE.fullmatch(share.strip()):
        given = f"The share of {name} is {share.strip()}"
        raise RefusedError(422, given, "A whole number, 1 to 999,999", "Enter Ann: 2, Bea: 1")
    return (name.strip(), float(share)) if colon else (person, 1.0)


def undo(desk: Desk, request: ReviewRequest) -> Elsewhere:
    """Undo an action, and return to the page with the button; from a pair, to the pair that was decided."""
    done = desk.undo(request.by, request.whole("action"))
    number = None if done is None else done.action.number
    queue, came = queue_of(request), came_from(request)
    if (then := request.text("then")) in ("history", "batches"):
        return Elsewhere(request.to(f"/{then}", done=number))
    if request.text("then") == "threshold":
        return Elsewhere(request.to("/threshold", value=request.share("value"), done=number))
    if here := request.pair("a", "b"):
        pair = request.pair("was_a", "was_b") or (done.next if done else None) or here
        return Elsewhere(_to_pair(request, pair, **came, queue=queue, done=number))
    if queue:
        return Elsewhere(request.to(f"/queues/{queue}", done=number))
    return Elsewhere(_to_group(request, request.whole("group"), **came, done=number))
