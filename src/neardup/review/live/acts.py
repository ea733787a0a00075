"""The changes: each stores something, and answers with the address to look at now."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from neardup.io.decisions.records import Fate, Verdict
from neardup.review.live.pages import Elsewhere, ReviewRequest, came_from, queue_of
from neardup.review.source import Acted, Asked, Decide
from neardup.web.limits import RefusedError

if TYPE_CHECKING:
    from neardup.review.desk.desk import Desk

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FATES: tuple[Fate, ...] = get_args(Fate)
WHOM: tuple[Asked, ...] = get_args(Asked)
CLEAR = "none"
"""The value of the button that withdraws a decision."""


def decide(desk: Desk, asked: ReviewRequest) -> Elsewhere:
    """Store a decision about a pair, a group, a part of it, or a kind."""
    given = asked.one_of("verdict", (*VERDICTS, CLEAR))
    whom = asked.one_of("asked", WHOM)
    above = asked.share("above") if whom == "above" else None
    if whom == "above" and above is None:
        raise RefusedError(422, "The least similarity is missing", "From 0 to 1", "Enter it, or choose all")
    done = desk.decide(
        Decide(
            whom,
            None if given == CLEAR else given,  # type: ignore[arg-type]
            asked.by,
            asked.need("seen"),
            asked.whole("group"),
            asked.pair("a", "b"),
            above,
            asked.text("kind"),
            asked.text("filter").strip(),
            asked.text("note").strip(),
            queue_of(asked),
        )
    )
    return Elsewhere(_after(asked, done))


def _after(asked: ReviewRequest, done: Acted) -> str:
    """Return the address of the next thing to decide, in the list the reader came from."""
    number, came, queue, following = done.action.number, came_from(asked), queue_of(asked), done.next
    if asked.text("then") == "threshold":
        return asked.to("/threshold", value=asked.share("value"), done=number)
    if asked.text("verdict") == CLEAR:
        following = asked.pair("a", "b")
    if asked.text("asked") == "pair" and following:
        views = {name: asked.text(name) for name in ("view", "numbers")}
        was = asked.pair("a", "b")
        views.update(zip(("was_a", "was_b"), map(str, was or ()), strict=False))
        return asked.to(f"/pairs/{following[0]}/{following[1]}", **came, queue=queue, **views, done=number)
    if queue:
        return asked.to(f"/queues/{queue}", done=number)
    group = asked.whole("group")
    return asked.to("/" if group is None else f"/groups/{group}", **came, done=number)


def represent(desk: Desk, asked: ReviewRequest) -> Elsewhere:
    """Make another member the representative."""
    group = asked.need("group")
    done = desk.represent(group, asked.need("document"), asked.by, asked.need("seen"))
    return _back_to_group(asked, done)


def keep(desk: Desk, asked: ReviewRequest) -> Elsewhere:
    """Store the fate of a document."""
    fate = asked.one_of("fate", (*FATES, CLEAR))
    document, seen = asked.need("document"), asked.need("seen")
    done = desk.keep(document, None if fate == CLEAR else fate, asked.by, seen)  # type: ignore[arg-type]
    return _back_to_group(asked, done)


def tag(desk: Desk, asked: ReviewRequest) -> Elsewhere:
    """Add a tag to a document, or take it away."""
    name = asked.text("tag").strip()
    if not name:
        raise RefusedError(422, "The tag is empty", "A word or a few", "Enter one")
    done = desk.tag(asked.need("document"), name, asked.text("on") != "no", asked.by, asked.need("seen"))
    return _back_to_group(asked, done)


def _back_to_group(asked: ReviewRequest, done: Acted) -> Elsewhere:
    came = {**came_from(asked), "from": asked.whole("from")}
    return Elsewhere(asked.to(f"/groups/{asked.need('group')}", **came, done=done.action.number))


def undo(desk: Desk, asked: ReviewRequest) -> Elsewhere:
    """Undo an action, and return to the page with the button; from a pair, to the pair that was decided."""
    done = desk.undo(asked.by, asked.whole("action"))
    number = None if done is None else done.action.number
    queue, came = queue_of(asked), came_from(asked)
    if asked.text("then") == "history":
        return Elsewhere(asked.to("/history", done=number))
    if asked.text("then") == "threshold":
        return Elsewhere(asked.to("/threshold", value=asked.share("value"), done=number))
    if here := asked.pair("a", "b"):
        pair = asked.pair("was_a", "was_b") or (done.next if done else None) or here
        views = {name: asked.text(name) for name in ("view", "numbers")}
        return Elsewhere(asked.to(f"/pairs/{pair[0]}/{pair[1]}", **came, queue=queue, **views, done=number))
    if queue:
        return Elsewhere(asked.to(f"/queues/{queue}", done=number))
    group = asked.whole("group")
    came["from"] = asked.whole("from")
    return Elsewhere(asked.to("/" if group is None else f"/groups/{group}", **came, done=number))
