"""The application: addresses of pages and changes, each run in a thread, behind the checks of every server."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from jinja2 import Environment
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.display import columns, counted, distinct, duration, middle_cut, without_common
from neardup.display.pictures import Histogram
from neardup.errors import ChangedMeanwhileError, InputError, LimitError, NeardupError, OutputError, QueryError
from neardup.io.decisions import Action
from neardup.review.desk.batches import last_sitting, time_of
from neardup.review.desk.differences import NOT_YET
from neardup.review.desk.lines import marks_of
from neardup.review.desk.verdicts import reader
from neardup.review.live import acts, pages
from neardup.review.live.pages import Download, Elsewhere, LivePage, PageRules, ReviewAnswer, ReviewRequest
from neardup.review.parts import style, templates_of
from neardup.runtime import Deadline
from neardup.service.web import monitoring
from neardup.service.web.limits import Limits, RefusedError, internal_error, status_error, timeout_error
from neardup.service.web.middleware import Middleware, Tokens
from neardup.service.web.server import Workers, collect_less, run

if TYPE_CHECKING:
    from neardup.review.desk.desk import Desk

SAID = 90
"""Columns of the sentence in the status."""
_JOINTS = (" represents the group of ", " and ")
"""Words between two names of a sentence."""
LEAST_ACTIONS = 3
"""The actions of a sitting from which its speed is known."""

ROOM = "neardup.review.live"
FILES = {
    "review.css": "text/css; charset=utf-8",
    "review.js": "text/javascript; charset=utf-8",
    "early.js": "text/javascript; charset=utf-8",
    "keys.js": "text/javascript; charset=utf-8",
    "palette.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
Work: TypeAlias = "Callable[[Desk, ReviewRequest], ReviewAnswer]"
READ: dict[str, Work] = {
    "/": pages.groups,
    "/groups/{group:int}": pages.group,
    "/pairs/{a:int}/{b:int}": pages.pair,
    "/pairs/{a:int}/{b:int}/redline.docx": pages.tracked_changes,
    "/queues/{queue}": pages.queue,
    "/threshold": pages.threshold,
    "/kinds": pages.kinds,
    "/batches": pages.batches,
    "/second/{a:int}/{b:int}": pages.second,
    "/find": pages.find,
    "/history": pages.history,
    "/sitting": pages.last_sitting,
    "/export": pages.export,
    "/export/{what}.{form}": pages.saved_file,
    "/keys": pages.keys,
}
CHANGE: dict[str, Work] = {
    "/decide": acts.decide,
    "/represent": acts.represent,
    "/keep": acts.keep,
    "/tag": acts.tag,
    "/tag-group": acts.tag_group,
    "/hand-out": acts.hand_out,
    "/take-back": acts.take_back,
    "/draw-seconds": acts.draw_seconds,
    "/second": acts.decide_second,
    "/undo": acts.undo,
}

SHOWN_AFTER, MOST_LONG, LONGEST, KEPT = 2.0, 2, 600.0, 60.0
"""Seconds until a page that is being made answers with its progress; most such pages at once; seconds that one may
take; and seconds that a page which nobody fetches is kept."""

_WAIT = 0.5
"""Seconds before the answer to an unknown token."""
LATE = "timeout"


@dataclass(frozen=True)
class Served:
    """Settings of the pages. ``by`` is the name in the history of people who need no token.

    After ``shown_after`` seconds, a page that is still being made answers with its progress.
    """

    by: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    limits: Limits = field(default_factory=Limits)
    shown_after: float = SHOWN_AFTER


def serve_review(desk: Desk, served: Served, listening: socket.socket) -> bool:
    """Serve the pages until a signal arrives; return whether all threads that use the desk ended in time.

    Requests are logged only if other machines can send them.
    """
    monitoring.log_to_stderr()
    monitoring.LOGGER.setLevel(logging.INFO if served.tokens else logging.WARNING)
    app = review_app(desk, served)

    def settle() -> None:
        desk.wait_until_sorted()
        collect_less()

    try:
        run(app, served.limits, listening, threading.Thread(target=settle, name="settling", daemon=True).start)
    finally:
        ended = app.close(served.limits.stop_seconds)
        listening.close()
    return ended


@cache
def templates() -> Environment:
    """Return the templates, with everything that they call."""
    environment = templates_of(ROOM)
    environment.globals.update(
        histogram=Histogram,
        effects=pages.effects,
        orders=pages.ORDER_WORDS,
        queues=pages.QUEUE_WORDS,
        marks_of=marks_of,
        brief=brief,
        not_yet=NOT_YET,
        without_common=without_common,
    )
    environment.globals["commands"] = environment.get_template("commands.html").module
    return environment


@cache
def served_file(name: str) -> bytes:
    """Return a style sheet or a module."""
    if name == "keys.js":
        return templates().get_template(name).render().encode()
    own = files(ROOM).joinpath(name).read_text(encoding="utf-8")
    return (f"{style()}\n{own}" if name == "review.css" else own).encode()


class ReviewApp:
    """The pages of a review as an ASGI application, whose threads read the desk until it is closed."""

    def __init__(self, app: ASGIApp, workers: Workers) -> None:
        self._app, self._workers = app, workers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._app(scope, receive, send)

    def close(self, seconds: float) -> bool:
        """Stop the threads; return whether they all ended in time."""
        return self._workers.close(seconds)


def review_app(desk: Desk, served: Served) -> ReviewApp:
    """The pages of a review as an ASGI application."""
    live = _Live(desk, served)
    routes = [
        *(Route(path, live.page(path, show), methods=["GET"]) for path, show in READ.items()),
        *(Route(path, live.page(path, change), methods=["POST"]) for path, change in CHANGE.items()),
        Route("/enter", live.enter, methods=["POST"]),
        Route("/leave", live.leave, methods=["POST"]),
        Route("/files/{name}", live.file, methods=["GET"]),
    ]
    handlers: Any = {HTTPException: live.unknown, RefusedError: live.answer_refusal, Exception: live.mistaken}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    rules = PageRules(live.error_page)
    return ReviewApp(
        Middleware(pages.Sessions(app), rules, served.tokens, served.limits, monitoring.Metrics()), live.workers
    )


@dataclass(frozen=True)
class _Named:
    """The template of an address, for the log."""

    path_format: str


class _Live:
    """The answers to requests: work in threads, templates, and pages of errors."""

    def __init__(self, desk: Desk, served: Served) -> None:
        self._desk, self._served = desk, served
        self.workers = Workers(served.limits.threads + MOST_LONG)
        self._long = _LongPages()

    def page(self, path: str, work: Work) -> Any:
        """Return the endpoint of an address."""

        async def endpoint(request: Request) -> Response:
            request.scope["route"] = _Named(path)
            changing = request.method not in ("GET", "HEAD")
            form = _texts(await request.form()) if changing else {}
            question = self._review_request(request, form)
            if self._served.tokens and "right" not in request.session:
                return await self._run(lambda: self._html(question, LivePage("enter.html", {}, 401), None))
            if changing and not question.may_decide:
                raise RefusedError(403, "Your token lacks the right to write", "A token with the right to write")
            if not changing:
                # a browser saves what answers for a file: there is no page of its progress
                shown_after = LONGEST if "." in path else self._served.shown_after
                return await self._in_time(question, work, str(request.url), shown_after)
            try:
                return await self._run(lambda: self._answer(question, work))
            except RefusedError as refusal:
                raise late_error() if refusal.code == LATE else refusal from None

        return endpoint

    def _review_request(self, request: Request, form: dict[str, str]) -> ReviewRequest:
        session = request.session if self._served.tokens else {"by": self._served.by, "right": "write"}
        return ReviewRequest(
            request.path_params,
            dict(request.query_params),
            form,
            session.get("by", ""),
            session.get("right") == "write",
            request.scope.get("root_path", ""),
            tuple(one.name for one in self._served.tokens.known if one.right == "write" and one.name),
        )

    async def _in_time(self, question: ReviewRequest, work: Work, address: str, shown_after: float) -> Response:
        """Return a page, or its progress while it is being made: once, however often the reader asks."""

        def begin() -> Coroutine[Any, Any, Response]:
            return self.workers.run(lambda: self._answer(question, work), Deadline(LONGEST, slow_error))

        pair = frozenset(question.path[name] for name in "ab" if name in question.path)
        key = (address, question.by, question.may_decide, pair)
        answer, seconds = await self._long.answer(key, begin, shown_after)
        if answer is not None:
            return answer
        page = LivePage("working.html", {"pending": True, "seconds": round(seconds), **self._so_far(question)})
        return await self._run(lambda: self._html(question, page, self._desk))

    def _so_far(self, question: ReviewRequest) -> dict[str, Any]:
        """Return whether two texts are compared for a page, and how far that is."""
        pair = [question.path[name] for name in "ab" if name in question.path]
        return {"compares": bool(pair), "so_far": self._desk.comparison_so_far(*pair) if pair else None}

    async def _run(self, work: Callable[[], Response]) -> Response:
        return await self.workers.run(work, Deadline(self._served.limits.seconds, timeout_error))

    def _answer(self, request: ReviewRequest, work: Work) -> Response:
        try:
            reader.set(request.by)
            answer = work(self._desk, request)
            if isinstance(answer, Elsewhere):
                return RedirectResponse(answer.address, 303)
            if isinstance(answer, Download):
                headers = {"Content-Disposition": f'attachment; filename="{quote(answer.name)}"'}
                return StreamingResponse(self._pieces(answer.pieces), headers=headers, media_type=answer.media)
            return self._html(request, answer, self._desk)
        except NeardupError as error:
            return self._error(request, refusal_error(error, changing=bool(request.form)))

    async def _pieces(self, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Yield a file; each piece is made in a thread."""
        limits = self._served.limits
        while True:
            piece = await self.workers.run(lambda: next(pieces, None), Deadline(limits.seconds, timeout_error))
            if piece is None:
                return
            yield piece

    def _html(self, request: ReviewRequest, page: LivePage, desk: Desk | None) -> Response:
        frame: dict[str, Any] = {
            "asked": request,
            "root": request.root,
            "style_href": f"{request.root}/files/review.css",
        }
        frame.update(
            tokens=bool(self._served.tokens), about=None, progress=None, rest="", undoable=None, done=None, said=""
        )
        if desk is not None:
            reader.set(request.by)
            actions, about = desk.history(limit=pages.NEAREST_ACTIONS), desk.about()
            last, progress = done(actions, request), desk.progress()
            frame.update(
                progress=progress,
                rest=rest_in_words(actions, request.by, progress.undecided),
                about=about,
                undoable=undoable(actions, request.by),
                done=last,
                said=said_of(actions, last),
            )
        content = templates().get_template(page.template).render({**frame, **page.values})
        return Response(content.encode("utf-8", "replace"), page.status, media_type="text/html; charset=utf-8")

    def _error(self, request: ReviewRequest, refusal: RefusedError) -> Response:
        response = self._html(request, LivePage("error.html", {"error": refusal}, refusal.status), None)
        for name, value in refusal.headers().items():
            response.headers[name] = value
        return response

    def error_page(self, scope: Scope, refusal: RefusedError) -> Response:
        """Return the page of an error outside every endpoint."""
        return self._error(ReviewRequest(root=scope.get("root_path", "")), refusal)

    async def answer_refusal(self, request: Request, refusal: Any) -> Response:
        """Return the page of an error."""
        return self.error_page(request.scope, refusal)

    async def mistaken(self, request: Request, _: Exception) -> Response:
        """Return the page of an error of ours; the middleware logs it."""
        return self.error_page(request.scope, internal_error())

    async def unknown(self, request: Request, error: Any) -> Response:
        """Return the page for an address or a method that does not exist."""
        refusal = status_error(error.status_code)
        if error.status_code == 404:
            refusal.allowed = ""
        return self.error_page(request.scope, refusal)

    async def file(self, request: Request) -> Response:
        """Return a style sheet or the module."""
        request.scope["route"] = _Named("/files/{name}")
        name = request.path_params["name"]
        if name not in FILES:
            raise HTTPException(404)
        return Response(served_file(name), media_type=FILES[name])

    async def enter(self, request: Request) -> Response:
        """Begin a session with a token."""
        request.scope["route"] = _Named("/enter")
        form = ReviewRequest(form=_texts(await request.form()), root=request.scope.get("root_path", ""))
        token, by, tokens = form.text("token").strip(), form.text("by").strip(), self._served.tokens
        if not tokens.knows(token):
            await asyncio.sleep(_WAIT)
            page = LivePage("enter.html", {"wrong": True, "by": by}, 401)
            return await self._run(lambda: self._html(form, page, None))
        request.session.clear()
        right = "write" if tokens.allow("write", token) else "read"
        request.session.update(by=tokens.person(token, by), right=right)
        return RedirectResponse(form.to("/"), 303)

    async def leave(self, request: Request) -> Response:
        """End a session, and show the sitting that ends with it."""
        request.scope["route"] = _Named("/leave")
        question = self._review_request(request, {})
        request.session.clear()
        if not self._served.tokens or not question.by:
            return RedirectResponse(question.to("/"), 303)
        return await self._run(
            lambda: self._html(question, pages.last_sitting(self._desk, question, left=True), None)
        )


class _LongPages:
    """The pages that take longer than readers wait: each is made once for the requests of one person."""

    def __init__(self) -> None:
        self._made: dict[Any, tuple[float, asyncio.Task[Response]]] = {}

    async def answer(
        self, key: Any, begin: Callable[[], Coroutine[Any, Any, Response]], shown_after: float
    ) -> tuple[Response | None, float]:
        """Return the page, or None while it is being made, and the seconds since it was begun.

        If as many others are being made, one of the same pair is awaited before the page is begun. Raises the
        error of its work, and RefusedError if none of these is of that pair.
        """
        if key not in self._made and (same := self._of_pair(key)) is not None:
            await asyncio.wait({same[1]}, timeout=shown_after)  # a thread for each who waits would be too many
            if not same[1].done():
                return None, monotonic() - same[0]
        begun, task = self._made.get(key) or (monotonic(), asyncio.ensure_future(begin()))
        await asyncio.wait({task}, timeout=shown_after)
        if task.done():
            self._made.pop(key, None)
            return task.result(), monotonic() - begun
        known = self._made.get(key)
        if known is not None and known[1] is not task:  # another request was first: its page is shown
            task.cancel()
            return None, monotonic() - known[0]
        if known is None and self._are_most():
            task.cancel()
            if (same := self._of_pair(key)) is not None:
                return None, monotonic() - same[0]
            raise RefusedError(
                503,
                f"{MOST_LONG} pages are being made that take long",
                "",
                "Repeat it when one of them is there",
                code="overloaded",
            )
        if known is None:
            self._made[key] = begun, task
            task.add_done_callback(lambda _: asyncio.get_running_loop().call_later(KEPT, self._forget, key, task))
        return None, monotonic() - begun

    def _are_most(self) -> bool:
        return sum(not one.done() for _, one in self._made.values()) >= MOST_LONG

    def _of_pair(self, key: Any) -> tuple[float, asyncio.Task[Response]] | None:
        """Return a page of the same pair that is being made, if no more are made at once."""
        same = (one for other, one in self._made.items() if key[-1] and other[-1] == key[-1] and not one[1].done())
        return next(same, None) if self._are_most() else None

    def _forget(self, key: Any, task: asyncio.Task[Response]) -> None:
        """Drop a page that nobody fetched, whose texts and verdicts may have changed since."""
        if self._made.get(key, (0.0, None))[1] is task:
            del self._made[key]
            if not task.cancelled():
                task.exception()  # else asyncio reports that nobody looked at it


def slow_error() -> RefusedError:
    """Return the refusal for a page that was not made in the longest time that is allowed."""
    given = f"This page took more than {duration(LONGEST)}"
    return RefusedError(503, given, "", "Compare parts of the documents with neardup compare", code=LATE)


def late_error() -> RefusedError:
    """Return the refusal for a change that was not finished in time; its thread may still finish it."""
    return RefusedError(
        503,
        "The change took too long, and may be stored later",
        "",
        "Look at the history before you repeat it",
        code=LATE,
    )


def _texts(form: Any) -> dict[str, str]:
    """Return the values of a form; those of check boxes with one name are joined by commas."""
    values = {name: value for name, value in form.items() if isinstance(value, str)}
    return {**values, **({"member": ",".join(form.getlist("member"))} if "member" in values else {})}


def undoable(actions: tuple[Action, ...], by: str) -> Action | None:
    """Return the last action of a person that can be undone."""
    mine = (action for action in actions if action.by == by)
    return next((action for action in mine if action.undoes is None and action.undone_by is None), None)


def done(actions: tuple[Action, ...], request: ReviewRequest) -> Action | None:
    """Return the action that led to this page."""
    number = request.query.get("done", "")
    return next((action for action in actions if str(action.number) == number), None)


def rest_in_words(actions: tuple[Action, ...], by: str, undecided: int) -> str:
    """Return how fast a person decides by the last actions (the latest first), and the time for the rest.

    Verdicts that hold count, no tags and no notes; ``Desk.decide`` writes them first into the sentence of an
    action. "" for fewer than three of one sitting.
    """
    holding = (action for action in actions if action.undone_by is None)
    mine = last_sitting((one for one in holding if one.what.partition(":")[0] in acts.VERDICTS), by)
    seconds = time_of(mine[0]) - time_of(mine[-1]) if mine else 0.0
    if len(mine) < LEAST_ACTIONS or not undecided or not seconds:
        return ""
    rate = sum(action.changes for action in mine[:-1]) / seconds
    return f"{counted(round(3600 * rate), 'pair')} an hour, {duration(undecided / rate)} for the rest"


def said_of(actions: tuple[Action, ...], last: Action | None) -> str:
    """Return a sentence on the action that led to this page; an undo names what it took back."""
    if last is None:
        return ""
    undone = next((action for action in actions if action.number == last.undoes), None)
    return f"Done: {brief(last.what)}." if undone is None else f"Undone: {brief(undone.what)}."


def brief(sentence: str, width: int = SAID) -> str:
    """Return the sentence of an action in ``width`` columns: without its folder, then with shorter names.

    >>> brief("duplicate: deed_v1.txt and deed_v2.txt in contracts/2403/", 50)
    'duplicate: deed_v1.txt and deed_v2.txt'
    >>> brief(f"duplicate: {'a' * 90}1 and {'a' * 90}2", 40)
    'duplicate: aaa…aaaaaa1 and aaa…aaaaaa2'
    """
    before, within, folder = sentence.rpartition(" in ")
    if columns(sentence) > width and within and folder.endswith(("/", "\\")):
        sentence = before
    if columns(sentence) <= width:
        return sentence
    head, colon, names = sentence.rpartition(": ")
    cuts = [(names.split(joint), joint) for joint in _JOINTS]
    pairs = [
        (joint.join(parts[:place]), joint, joint.join(parts[place:]))
        for parts, joint in cuts
        for place in range(1, len(parts))
    ]
    if not pairs or columns(head) > width // 3:
        return middle_cut(sentence, width)
    one, joint, other = min(pairs, key=lambda pair: abs(len(pair[0]) - len(pair[2])))
    room = width - columns(head + colon + joint)
    return head + colon + joint.join(distinct((one, other), room // 2))


def refusal_error(error: NeardupError, *, changing: bool) -> RefusedError:
    """Return an error of the desk as an answer."""
    status = 500
    if isinstance(error, ChangedMeanwhileError):
        status = 409
    elif isinstance(error, QueryError):
        status = 400
    elif isinstance(error, LimitError | OutputError):
        status = 503
    elif isinstance(error, InputError):
        status = 422 if changing else 404
    return RefusedError(status, error.given, error.allowed, error.do)
