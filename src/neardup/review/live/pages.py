"""A request to the review, with its session and the rules for its origin, and the pages that answer it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.middleware.sessions import SessionMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.comparison.records import Alignment, ComparisonRecord, redline
from neardup.comparison.views import (
    ComparisonBody,
    characters_sentence,
    common_sentence,
    differences_sentence,
    value_of,
)
from neardup.display import distinct, duration, middle_cut, without_common
from neardup.display.pictures import CountCurves
from neardup.errors import QueryError
from neardup.io.outputs import for_spreadsheets
from neardup.review.alike import LINE_KINDS, AlikeFilter, AlikeKind
from neardup.review.desk.differences import MOST_LINES, shown_rows, sorted_by_place
from neardup.review.source import ORDERS, QUEUES, MemberLine, Question, Queue, ThresholdLine
from neardup.service.web.limits import Client, RefusedError
from neardup.service.web.middleware import SECURITY

if TYPE_CHECKING:
    from markupsafe import Markup

    from neardup.review.desk.desk import Desk


LONGEST = 2000
"""Characters of a filter, a note or a name."""

T = TypeVar("T", bound=str)

POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",  # the module fetches the next page after a decision
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
FORM_BYTES = 65_536

BODIES = 64
"""Forms of the largest size that all requests together may hold."""

HOURS = 12
"""Hours after which a session ends."""
COOKIE = "neardup-review"

LINES = 50
"""Groups, pairs or actions on a page."""

MEMBERS = 30
"""Members on a page, besides a representative from another one."""

FEW_MEMBERS = 8
"""Members whose table is unfolded below what differs."""

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
    "conflicts": "In conflict",
}

NAME_WIDTH = 40
"""Columns of a name in the head of a pair."""
VIEWS = ("sides", "list", "quotes")
CARRIED = ("view", "numbers", "ocr")
"""The choices of a pair that the next one has, too."""
CHOSEN = ("kind", "place", "lines", "rows", "sort")
"""The choices on the page of a group that a change leaves as they are."""

QUOTED = ("20", "50", "10")
"""The least tokens of a quoted passage: the usual number, and others."""
FORMS = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "dat": "application/octet-stream",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EXPORTS = ("groups", "decisions", "tags")


@dataclass(frozen=True)
class ReviewRequest:
    """A request: the values in its address and in its form, and the person who sends it.

    ``root`` is the beginning of all addresses; ``may_decide`` is False for readers.
    """

    path: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    may_decide: bool = True
    root: str = ""
    people: tuple[str, ...] = ()
    """The names of those who may decide, as far as the server knows them."""

    def text(self, name: str) -> str:
        """Return a value of the form or else of the address, "" if it is missing."""
        value = self.form.get(name, self.query.get(name, ""))
        if len(value) > LONGEST:
            raise RefusedError(422, f"{name} has more than {LONGEST:,} characters", "Less text")
        return value

    def whole(self, name: str) -> int | None:
        """Return a whole number from 0 on, or None if it is missing."""
        value = self.text(name)
        if not value:
            return None
        if not (value.isascii() and value.isdigit()) or len(value) > 18:
            raise RefusedError(422, f"{name} is not a whole number", "A number of this review")
        return int(value)

    def wholes(self, name: str) -> tuple[int, ...]:
        """Return whole numbers with commas between them."""
        parts = self.form.get(name, "").split(",")
        return tuple(
            number for part in parts if (number := ReviewRequest(form={name: part}).whole(name)) is not None
        )

    def place(self, name: str) -> tuple[int, int] | None:
        """Return two whole numbers with a full stop between them, or None if they are missing."""
        first, _, second = self.text(name).partition(".")
        numbers = ReviewRequest(query={"a": first, "b": second}).pair("a", "b")
        if self.text(name) and numbers is None:
            raise RefusedError(422, f"{name} is not a place", "Two whole numbers with a full stop between them")
        return numbers

    def share(self, name: str) -> float | None:
        """Return a number from 0 to 1, or None if it is missing."""
        value = self.text(name).strip().replace(",", ".")
        if not value:
            return None
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not isfinite(number) or not 0 <= number <= 1:
            raise RefusedError(422, f"{name} is not a similarity", "A number from 0 to 1")
        return number

    def one_of(self, name: str, allowed: tuple[T, ...], otherwise: T | None = None) -> T:
        """Return one of the allowed values; ``otherwise`` if it is missing."""
        value = self.text(name)
        if not value and otherwise is not None:
            return otherwise
        for each in allowed:
            if each == value:
                return each
        raise RefusedError(422, f"{name} has a value that does not exist", ", ".join(allowed))

    def pair(self, a: str, b: str) -> tuple[int, int] | None:
        """Return two keys, or None if one is missing."""
        keys = self.whole(a), self.whole(b)
        return None if keys[0] is None or keys[1] is None else (keys[0], keys[1])

    def need(self, name: str) -> int:
        """Return a whole number that the form must have."""
        value = self.whole(name)
        if value is None:
            raise RefusedError(422, f"{name} is missing", "A form of this review")
        return value

    def to(self, place: str, /, **values: Any) -> str:
        """Return an address of the review; values that are empty or None are left out."""
        given = {name: str(value) for name, value in values.items() if value is not None and value != ""}
        return f"{self.root}{place}{'?' if given else ''}{urlencode(given)}"


@dataclass(frozen=True)
class LivePage:
    """An answer: a template and its values."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True)
class Elsewhere:
    """An answer: the address to look at now."""

    address: str


@dataclass(frozen=True)
class Download:
    """An answer: a file to save."""

    name: str
    media: str
    pieces: Iterator[bytes]


ReviewAnswer: TypeAlias = LivePage | Elsewhere | Download


class PageRules:
    """The rules of the pages; see ``middleware.Rules``. ``page`` makes the page of an error."""

    # no-referrer would make browsers send the Origin "null" with every form, and the check of it impossible
    headers: ClassVar[Mapping[str, str]] = {
        **SECURITY,
        "Content-Security-Policy": POLICY,
        "Referrer-Policy": "same-origin",
    }
    unlimited: frozenset[str] = frozenset()
    bodies = BODIES * FORM_BYTES

    def __init__(self, page: Callable[[Scope, RefusedError], ASGIApp]) -> None:
        self._page = page

    def client(self, scope: Scope, headers: Headers) -> Client:
        """Return None: a session is checked where the page is made."""
        return None

    def body_bytes(self, scope: Scope, headers: Headers) -> int | None:
        """Return the largest size of a form. Raises RefusedError for a change from another page."""
        if scope["method"] in ("GET", "HEAD"):
            return None
        require_own_page(headers)
        return FORM_BYTES

    def answer_refusal(self, scope: Scope, refusal: RefusedError, request_id: str) -> ASGIApp:
        """Return the page of an error."""
        return self._page(scope, refusal)


class Sessions:
    """An ASGI application with sessions, whose cookie is for HTTPS only if the browser speaks it."""

    def __init__(self, app: ASGIApp) -> None:
        secret = token_urlsafe(32)  # a restart ends all sessions
        self._plain, self._secure = (
            SessionMiddleware(app, secret, COOKIE, HOURS * 3600, same_site="strict", https_only=https)
            for https in (False, True)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        app = self._secure if _over_https(scope, Headers(scope=scope)) else self._plain
        await app(scope, receive, send)


def require_own_page(headers: Headers) -> None:
    """Raise RefusedError unless a page of the same host sent the request, by the headers of the browser."""
    origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
    host = headers.get("host", "").lower()
    own = [_host_of(origin) == host for origin in origins] + [site == "same-origin" for site in sites]
    if not host or not own or not all(own):
        raise RefusedError(
            403,
            "The change did not come from a page of this review",
            "Forms of this review, with the header Origin of their own address",
            "Open the page again, and decide there",
        )


def _host_of(origin: str) -> str:
    parts = urlsplit(origin)
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""


def _over_https(scope: Scope, headers: Headers) -> bool:
    """Whether the browser speaks HTTPS, to this server or to a proxy before it.

    A false header only makes the cookie of its own sender stricter.
    """
    named = headers.get("x-forwarded-proto", ""), headers.get("origin", "").partition(":")[0]
    return "https" in (scope["scheme"], *named)


__all__ = ["COOKIE", "FORM_BYTES", "PageRules", "Sessions", "require_own_page"]


def question_of(request: ReviewRequest) -> Question:
    """Return the list that an address names."""
    order = request.one_of("order", ORDERS, ORDERS[0])
    return Question(request.text("filter").strip(), order, request.text("after"), LINES)


def came_from(request: ReviewRequest) -> dict[str, Any]:
    """Return the filter and the order of the list the reader came from, for addresses; none if they are usual."""
    order = request.one_of("order", ORDERS, ORDERS[0])
    return {"filter": request.text("filter").strip(), "order": "" if order == ORDERS[0] else order}


def groups(desk: Desk, request: ReviewRequest) -> LivePage:
    """The list of groups."""
    question, error, page = question_of(request), None, None
    try:
        page = desk.groups(question)
    except QueryError as mistake:
        error = mistake
    waiting = next((line.key for line in page.lines if line.decided < line.pairs), None) if page else None
    undecided = None if waiting is None else desk.next_undecided(waiting, Question())
    values = {"list": page, "question": question, "error": error, "orders": ORDER_WORDS, "undecided": undecided}
    return LivePage("groups.html", {**values, "came": came_from(request)}, 400 if error else 200)


def group(desk: Desk, request: ReviewRequest) -> LivePage:
    """A group."""
    chosen = AlikeFilter(kind_of_group(request), request.place("place"))
    view, sort = desk.group(request.path["group"], question_of(request), chosen), request.place("sort")
    if sort is not None:
        view = replace(view, alike=sorted_by_place(view.alike, *sort))
    first = next((member for member in view.members if member.representative), view.members[0])
    begin, after = request.whole("from") or 0, request.whole("lines") or 0
    end = begin + MEMBERS
    here = view.members[begin:end]
    ids = {row.members[0]: str(row.id) for line in view.alike for row in line.rows}
    ids |= {member.key: str(member.id) for member in view.members}
    folder, names = without_common(*ids.values())
    values = {
        "first": first,
        "sort": sort,
        "chosen": chosen,
        "choices": group_choices(request),
        "few": FEW_MEMBERS,
        "ways": shown_rows(view.alike, request.place("rows"), after),
        "after": after + MOST_LINES if after + MOST_LINES < len(view.alike) and not request.text("rows") else None,
        "shown": here if first in here else [first, *here],
        "shared": shared_values(view.members),
        "folder": folder,
        "heading": middle_cut(_name_of(first, view.members, folder), 2 * NAME_WIDTH),
        "short": dict(zip(ids, names, strict=True)),
        "apart": dict(zip(ids, distinct(names, NAME_WIDTH), strict=True)),
        "begin": begin or "",
        "following": end if end < len(view.members) else None,
        "came": came_from(request),
        "beside": desk.panes(view.key, question_of(request)),
        "undecided": desk.next_undecided(view.key, question_of(request)),
    }
    return LivePage("group.html", {"group": view, **values})


def kind_of_group(request: ReviewRequest) -> AlikeKind | None:
    """Return the kind of difference by which the page of a group is filtered."""
    return request.one_of("kind", LINE_KINDS) if request.text("kind") else None


def group_choices(request: ReviewRequest) -> dict[str, str]:
    """Return the choices on the page of a group, for addresses and forms."""
    return {name: request.text(name) for name in CHOSEN}


def _name_of(first: MemberLine, members: Sequence[MemberLine], folder: str) -> str:
    """Return the name of a representative without its folder, unless another member has the same name."""
    last = str(first.id).rpartition("/")[2]
    twins = sum(str(member.id).rpartition("/")[2] == last for member in members)
    return last if last and twins == 1 else str(first.id)[len(folder) :] or str(first.id)


def shared_values(members: Sequence[MemberLine]) -> list[tuple[str, str]]:
    """Return the values that all members have, for a place above them; none of a single member."""
    others = [set(member.metadata) for member in members[1:]]
    of_place = ("date", "size", "mtime", "folder", "name", "suffix")
    return [
        value
        for value in members[0].metadata
        if others and value[0] not in of_place and all(value in of for of in others)
    ]


def pair(desk: Desk, request: ReviewRequest) -> LivePage:
    """Two documents side by side, or their differences as a list."""
    queue, values = queue_of(request), _compared_values(desk, request)
    if values["pair"].waits:
        return _without_verdict(values)
    group, question = values["pair"].group, question_of(request)
    beside = {
        "beside": None if group is None else desk.panes(group, question),
        "undecided": desk.next_undecided(values["keys"], question, queue),
        "blind": False,
    }
    return LivePage("pair.html", {**values, **beside})


def second(desk: Desk, request: ReviewRequest) -> LivePage:
    """A pair for a second verdict: without the first one, its note, its reviewer and its effects."""
    return _without_verdict(_compared_values(desk, request))


def _without_verdict(values: dict[str, Any]) -> LivePage:
    shown = replace(values["pair"], group=None, verdict=None, note="", alike=None, two=None)
    shown = replace(shown, before=None, after=None, place="")
    blind = {"pair": shown, "beside": None, "undecided": None, "blind": True}
    return LivePage("pair.html", {**values, **blind})


def _compared_values(desk: Desk, request: ReviewRequest) -> dict[str, Any]:
    """Return the values of the page of a pair that come from its documents and their comparison."""
    keys: tuple[int, int] = request.path["a"], request.path["b"]
    queue, swap, mode = queue_of(request), request.text("swap") == "1", request.one_of("view", VIEWS, "sides")
    how = {"ignore_numbers": True} if request.text("numbers") == "off" else {}
    length = request.one_of("length", QUOTED, QUOTED[0])
    sides = desk.in_time(*keys)
    view = desk.pair(*(sides[::-1] if swap else sides), queue, **how)
    options = {
        "view": "" if mode == "sides" else mode,
        "length": "" if length == QUOTED[0] else length,
        "numbers": "off" if how else "",
        "swap": "1" if swap else "",
        "full": "1" if request.text("full") == "1" else "",
        "lines": "written" if request.text("lines") == "written" else "",
        "ocr": "hide" if request.text("ocr") == "hide" else "",
    }
    comparison, names = view.comparison, without_common(str(view.a.id), str(view.b.id))
    a_name, b_name = names[1]
    body = ComparisonBody(
        comparison,
        (a_name, b_name),
        bool(options["full"]),
        "",
        2,
        flowed=not options["lines"],
        hide_readings=bool(options["ocr"]),
    )
    return {
        "pair": view,
        "keys": keys,
        "body": body,
        "folder": names[0],
        "short": distinct(names[1], NAME_WIDTH),
        "sentences": (
            alike_sentence(comparison),
            common_sentence(comparison),
            differing_sentence(comparison.alignment),
        ),
        "options": options,
        "views": {name: options[name] for name in CARRIED},
        "quotes": desk.quotes(view.a.key, int(length)) if mode == "quotes" else None,
        "lengths": QUOTED,
        "length": length,
        "came": came_from(request),
        "keep": {
            **came_from(request),
            "queue": queue or "",
            "kind": kind_of_group(request) or "",
            "place": request.text("place"),
        },
    }


def tracked_changes(desk: Desk, request: ReviewRequest) -> Download:
    """A pair as a document of Word: the later document, with its differences from the earlier one tracked."""
    texts = desk.texts(*desk.in_time(request.path["a"], request.path["b"]))
    return Download("redline.docx", WORD, iter((redline(*texts, author=request.by or "neardup"),)))


def queue_of(request: ReviewRequest) -> Queue | None:
    """Return the queue the reader came from."""
    return request.one_of("queue", QUEUES) if request.text("queue") else None


def queue(desk: Desk, request: ReviewRequest) -> LivePage:
    """A list of pairs."""
    name = ReviewRequest(query={"queue": request.path["queue"]}).one_of("queue", QUEUES)
    pairs = desk.queue(name, request.text("after"), LINES)
    undecided = next(((line.a, line.b) for line in pairs.lines if line.verdict is None), None)
    return LivePage("queue.html", {"queue": name, "queues": QUEUE_WORDS, "list": pairs, "undecided": undecided})


def threshold(desk: Desk, request: ReviewRequest) -> LivePage:
    """The effect of other thresholds, and pairs to label around one."""
    value = request.share("value")
    view = desk.threshold(value)
    chosen = desk.about().threshold if value is None else value
    return LivePage("threshold.html", {"view": view, "at": chosen, "seen": last_number(desk)})


def effects(lines: Sequence[ThresholdLine], chosen: float) -> Markup:
    """The curves of groups, documents and removals over the threshold."""
    counts = {
        "documents": [line.documents for line in lines],
        "removed": [line.removed for line in lines],
        "groups": [line.groups for line in lines],
    }
    return CountCurves([line.threshold for line in lines], counts, chosen).picture().figure()


def kinds(desk: Desk, request: ReviewRequest) -> LivePage:
    """The pairs of one kind of difference, with samples; or all kinds with the number of their pairs."""
    kind, filter = request.text("kind"), request.text("filter").strip()
    values: dict[str, Any] = {"kind": kind, "seen": last_number(desk), "counts": None, "sample": None}
    values |= {"sample": desk.sample_of_kind(kind, filter)} if kind else {"counts": desk.kinds(filter)}
    return LivePage("kinds.html", {**values, "came": came_from(request)})


def find(desk: Desk, request: ReviewRequest) -> LivePage:
    """Groups and documents by words of their names."""
    words = request.text("q").strip()
    return LivePage("find.html", {"words": words, "finds": desk.find(words)})


def batches(desk: Desk, request: ReviewRequest) -> LivePage:
    """The batches of the people, and forms to hand groups out."""
    filter = request.text("filter").strip()
    people = desk.people() | set(request.people)
    values = {"batches": desk.batches(), "people": sorted(people), "filter": filter, "seen": last_number(desk)}
    return LivePage("batches.html", {**values, "seconds": desk.second_reviews()})


def history(desk: Desk, request: ReviewRequest) -> LivePage:
    """All actions, the latest first."""
    actions = desk.history(request.whole("before"), LINES)
    before = actions[-1].number if len(actions) == LINES else None
    conflicts: dict[int, list[Any]] = {}
    for line in desk.second_reviews().conflicts:
        for one in (line.first, line.second):
            conflicts.setdefault(one.action, []).append(line)
    return LivePage("history.html", {"actions": actions, "before": before, "conflicts": conflicts})


def last_sitting(desk: Desk, request: ReviewRequest, *, left: bool = False) -> LivePage:
    """The work of the person in the last sitting, and the rest; ``left``: the session has just ended."""
    done = desk.last_sitting(request.by)
    lasted = "" if done is None else duration(done.seconds)
    values = {"sitting": done, "lasted": lasted, "left": left, "rest_of": desk.progress()}
    return LivePage("sitting.html", values)


def export(desk: Desk, request: ReviewRequest) -> LivePage:
    """The files to save."""
    return LivePage("export.html", {})


def saved_file(desk: Desk, request: ReviewRequest) -> Download:
    """A file to save."""
    given = ReviewRequest(query=request.path)
    what, form = given.one_of("what", EXPORTS), given.one_of("form", tuple(FORMS))
    every = what == "groups" and request.text("all") == "1" and desk.about().marks
    pieces = desk.export(what, form, every=every)  # type: ignore[arg-type]
    return Download(
        f"{'all' if every else what}.{form}",
        FORMS[form],
        for_spreadsheets(pieces) if form == "csv" else pieces,
    )


def keys(desk: Desk, request: ReviewRequest) -> LivePage:
    """The keys."""
    return LivePage("keys.html")


def last_number(desk: Desk) -> int:
    """Return the number of the last action, 0 before the first."""
    actions = desk.history(limit=1)
    return actions[0].number if actions else 0


def alike_sentence(record: ComparisonRecord) -> str:
    """Return resemblance and both containments in words."""
    of = {name: value_of(record.measures[name])[0] for name in ("resemblance", "containment_a", "containment_b")}
    return (
        f"Resemblance {of['resemblance']}, containment {of['containment_a']} of A in B and "
        f"{of['containment_b']} of B in A"
    )


def differing_sentence(alignment: Alignment) -> str:
    """Return the number of rows that differ, and how, in a sentence."""
    rows, _, kinds = differences_sentence(alignment).partition(": ")
    characters = characters_sentence(alignment)
    in_characters = f"; other characters in equal words: {characters}" * bool(characters)
    differ = f"{rows} {'row differs' if rows == '1' else 'rows differ'} ({kinds})" if kinds else "No row differs"
    return f"{differ}{in_characters}"
