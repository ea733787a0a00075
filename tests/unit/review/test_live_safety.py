"""The live pages refuse strangers, and show hostile documents as text."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

import neardup as nd
from neardup.comparison.compare import Comparison
from neardup.deduplication.results import Looked, load
from neardup.errors import InputError
from neardup.review.desk import differences
from neardup.review.desk.desk import Desk
from neardup.review.desk.subjects import ResultSubject
from neardup.review.live import app
from neardup.review.live.app import Served, serve_review
from neardup.review.live.pages import LivePage, ReviewRequest
from neardup.review.source import Decide, PairView
from neardup.runtime import SoFar, Watched
from neardup.service.web import monitoring, server
from neardup.service.web.limits import Limits
from neardup.service.web.middleware import Tokens
from support.live_pages import OWN, Pages, live
from support.made_reviews import make_result
from support.messages import has_parts
from support.until_signal import asked

READ, WRITE = "r0123456789abcdef", "w0123456789abcdef"
TEXT = "the quick brown fox jumps over the lazy dog and runs far away into the dark and quiet wood"
TEXTS = {"one": TEXT, "two": TEXT + " 12", "three": TEXT[::-1], "four": TEXT[::-1] + " 13"}
DECISION = {"asked": "pair", "a": 1, "b": 0, "seen": 0, "verdict": "duplicate"}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_result(tmp_path_factory.mktemp("safety"), TEXTS, keep="first")


@pytest.fixture
def pages(desk: Desk) -> Iterator[Pages]:
    with live(desk) as made:
        yield made


@pytest.fixture
def guarded(desk: Desk) -> Iterator[Pages]:
    with live(desk, Served(tokens=Tokens.of(f"read {READ}\nwrite {WRITE}"))) as made:
        made.headers["host"] = "review.example.org"
        yield made


@pytest.mark.parametrize("address", ["/", "/pairs/1/0", "/nothing", "/groups/77", "/files/review.js"])
def test_every_answer_has_the_headers_that_keep_others_out(pages: Pages, address: str) -> None:
    headers = pages.get(address).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "same-origin"


def test_without_tokens_only_the_names_of_this_machine_are_answered(pages: Pages) -> None:
    assert pages.get("/", host="review.example.org").status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": OWN, "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_change_from_another_page_is_refused(pages: Pages, desk: Desk, headers: dict[str, str]) -> None:
    body = b"asked=pair&a=1&b=0&seen=0&verdict=duplicate"
    assert pages.send("POST", "/decide", body, headers).status == 403
    assert not desk.history()


def test_a_large_form_is_refused(pages: Pages) -> None:
    assert pages.post("/decide", {**DECISION, "note": "x" * 70_000}).status == 413


@pytest.mark.parametrize(
    "wrong",
    [
        {"verdict": "maybe"},
        {"asked": "everything"},
        {"seen": "x"},
        {"seen": ""},
        {"a": "-1"},
        {"asked": "above", "above": "2"},
        {"asked": "above", "above": ""},
        {"asked": "above", "above": "nan"},
        {"note": "x" * 2001},
        {"queue": "all"},
    ],
)
def test_a_form_with_a_wrong_value_is_refused_in_words(pages: Pages, desk: Desk, wrong: dict[str, str]) -> None:
    refused = pages.post("/decide", {**DECISION, **wrong})
    assert refused.status == 422
    assert "did not work" in refused.words
    assert not desk.history()


@pytest.mark.parametrize("address", ["/groups/x", "/pairs/1", "/queues/all", "/export/all.csv", "/files/app.py"])
def test_an_address_that_does_not_exist_is_refused_with_a_page(pages: Pages, address: str) -> None:
    refused = pages.get(address)
    assert refused.status in (404, 422)
    assert "<h1" in refused.text


def test_a_change_by_somebody_else_is_reported_and_kept(pages: Pages, desk: Desk, result: Path) -> None:
    pair = pages.get("/pairs/1/0")
    with closing(Desk.open(result)) as other:
        other.decide(Decide("pair", "keep both", "Bea", 0, pair=(1, 0)))
    conflict = pages.submit(pair, "/decide", ("verdict", "duplicate"), note="<b>same fee")
    assert conflict.status == 409
    assert has_parts(conflict.words, "Bea decided", "not stored: duplicate", "same fee", "by Ann")
    assert "<b>same" not in conflict.text
    assert 'href="/kinds"' in conflict.text  # pages of errors have the same navigation
    assert "as it is now" in conflict.words
    assert desk.pair(1, 0).verdict == "keep both"


def test_a_token_is_pasted_once_and_becomes_a_cookie(guarded: Pages, desk: Desk) -> None:
    closed = guarded.get("/pairs/1/0")
    assert closed.status == 401
    assert TEXT[:20] not in closed.text
    assert guarded.post("/decide", DECISION, origin="http://review.example.org").status == 401
    assert guarded.submit(closed, "/enter", token="x" * 20, by="Cy", origin="").status == 403
    guarded.headers["origin"] = "http://review.example.org"
    wrong = guarded.send("POST", "/enter", b"by=Cy&token=" + b"x" * 20, {})
    assert wrong.status == 401
    assert "unknown" in wrong.words
    assert not guarded.cookies
    entered = guarded.send("POST", "/enter", f"by=Cy&token={WRITE}".encode(), {})
    assert (entered.status, entered.to) == (303, "/")
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "secure" not in cookie
    assert WRITE not in cookie
    assert guarded.send("POST", "/decide", b"asked=pair&a=1&b=0&seen=0&verdict=duplicate", {}).status == 303
    assert desk.history()[0].by == f"Cy (token {hashlib.sha256(WRITE.encode()).hexdigest()[:6]})"
    left = guarded.send("POST", "/leave", b"", {})
    assert left.status == 200
    assert has_parts(left.words, "You have left", "Cy", "duplicate 1 2 1", "left")
    assert guarded.get("/sitting").status == 401
    assert guarded.send("POST", "/leave", b"", {}).to == "/"
    guarded.cookies.clear()
    assert guarded.get("/").status == 401


def test_nobody_decides_or_undoes_with_the_name_of_another_token(desk: Desk) -> None:
    other = "x0123456789abcdef"
    names = []
    with live(desk, Served(tokens=Tokens.of(f"write {WRITE} Ann Lee\nwrite {other}"))) as pages:
        pages.headers.update(host="review.example.org", origin="http://review.example.org")
        for token, by in ((WRITE, "Bea"), (other, "Ann Lee")):
            pages.cookies.clear()
            pages.send("POST", "/enter", f"by={by}&token={token}".encode(), {})
            seen = len(desk.history())
            body = f"asked=pair&a=1&b=0&seen={seen}&verdict=duplicate".encode()
            assert pages.send("POST", "/decide", body, {}).status == 303
            names.append(desk.history()[0].by)
            history = pages.get("/history")
            assert names[-1] in history.words
            assert f"you are {names[-1]}" in history.words
    assert names[0] == "Ann Lee"
    assert names[1] == f"Ann Lee (token {hashlib.sha256(other.encode()).hexdigest()[:6]})"


def test_the_cookie_is_secure_behind_https_and_a_forged_one_opens_nothing(guarded: Pages) -> None:
    guarded.headers["origin"] = "https://review.example.org"
    entered = guarded.send("POST", "/enter", f"by=Cy&token={READ}".encode(), {})
    assert "secure" in entered.headers["set-cookie"].lower()
    [(name, value)] = guarded.cookies.items()
    guarded.cookies[name] = value[:-2] + ("AA" if value[-2:] != "AA" else "BB")
    assert guarded.get("/").status == 401


def test_a_token_to_read_sees_everything_and_changes_nothing(guarded: Pages, desk: Desk) -> None:
    guarded.headers["origin"] = "http://review.example.org"
    guarded.send("POST", "/enter", f"by=Di&token={READ}".encode(), {})
    pair = guarded.get("/pairs/1/0")
    assert pair.status == 200
    assert 'action="/decide"' not in pair.text
    refused = guarded.send("POST", "/decide", b"asked=pair&a=1&b=0&seen=0&verdict=duplicate", {})
    assert refused.status == 403
    assert not desk.history()


HOSTILE = {
    "script": TEXT + " <script>alert(1)</script> <img src=x onerror=alert(1)> {{ 7*7 }} &lt;",
    "bidi": TEXT + " pay \u202e001\u202c now \u2066x\u2069 \u200b\u00ad end",
    "controls": TEXT + " \x00\x07\x1b[2J\x7f\x85 end",
    "long": "x" * 1_000_000 + " " + TEXT,
}


MARKS = {"script": "&lt;script&gt;", "bidi": r"\u202e", "controls": r"\x1b", "long": "xx"}


@pytest.mark.part(3)
@pytest.mark.parametrize("id", HOSTILE)
@pytest.mark.parametrize("view", ["", "?view=list"])
def test_a_hostile_document_is_text_with_visible_marks(tmp_path: Path, id: str, view: str) -> None:
    name = '"><script>x</script>\n\u202e' + id
    made = make_result(tmp_path, {"plain": TEXT, name: HOSTILE[id]}, keep="first", threshold=0.01)
    with closing(Desk.open(made)) as desk, live(desk) as pages:
        for address in (f"/pairs/1/0{view}", "/groups/0", "/"):
            seen = pages.get(address)
            assert seen.status == 200
            assert re.findall(r"<script[^>]*>[^<]*", seen.text) == [  # our own
                '<script src="/files/early.js">',
                '<script type="module" src="/files/review.js">',
            ]
            assert "onerror=alert" not in seen.text.replace("&lt;img src=x onerror=alert(1)&gt;", "")
            assert not set(seen.text) & set("\x00\x07\x1b\x7f\x85\u202e\u202c\u2066\u2069\u200b")
        assert MARKS[id] in pages.get(f"/pairs/1/0{view}").text


def test_a_mistake_of_ours_is_a_page_without_details(
    pages: Pages, desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(desk, "group", lambda *_: 1 // 0)
    failed = pages.get("/groups/0")
    assert failed.status == 500
    assert "an error in" in failed.words
    assert "ZeroDivision" not in failed.text
    assert [record.fields["error"] for record in caplog.records if record.message == "mistake"] == [
        "ZeroDivisionError"
    ]


def test_a_request_for_headers_alone_is_answered(guarded: Pages) -> None:
    guarded.headers["origin"] = "http://review.example.org"
    guarded.send("POST", "/enter", f"by=Di&token={READ}".encode(), {})
    assert guarded.send("HEAD", "/", None, {}).status == 200


def test_the_log_has_no_text_no_filter_and_no_id(pages: Pages, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger=monitoring.LOGGER.name):
        pages.get("/?filter=quick+brown")
        pages.submit(pages.get("/pairs/1/0"), "/decide", ("verdict", "duplicate"), note="secret")
    logged = json.dumps([record.__dict__.get("fields", {}) for record in caplog.records])
    assert '"route": "/pairs/{a:int}/{b:int}"' in logged
    for word in ("quick", "brown", "secret", "two", "filter"):
        assert word not in logged


def test_a_review_is_served_until_a_signal(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    warm = threading.Event()
    monkeypatch.setattr(desk, "wait_until_sorted", warm.set)
    served, listening = Served(by="Ann"), server.listen("127.0.0.1", 0)
    with asked(listening, ("GET", "/"), ("GET", "/groups/0")) as answers:
        assert serve_review(desk, served, listening)
    assert [status for status, _ in answers] == [200, 200]
    assert (listening.fileno(), warm.wait(10)) == (-1, True)


class SlowDesk(Desk):
    """Compares pairs when ``go_on`` is set."""

    def __init__(self, subject: Any) -> None:
        super().__init__(subject)
        self.go_on, self.compared, self.are_lost = threading.Event(), 0, False

    def pair(self, *pair: Any, **how: Any) -> PairView:
        self.compared += 1
        assert self.go_on.wait(60)
        if self.are_lost:
            raise InputError("The texts are lost")
        return super().pair(*pair, **how)


def test_a_long_comparison_shows_its_progress_and_then_the_page(result: Path) -> None:
    desk = SlowDesk(ResultSubject(load(result), result, read_only=False))
    with closing(desk), live(desk, Served(by="Ann", shown_after=0.05)) as pages:
        slow = ["/pairs/1/0", "/pairs/1/0?numbers=off"]
        for address in (*slow, *slow):
            working = pages.get(address)
            assert (working.status, "data-refresh" in working.text) == (200, True)
            assert has_parts(working.words, "Working", "seconds")
        assert desk.compared == 2
        assert pages.get("/pairs/3/2").status == 503
        assert pages.get("/keys").status == 200
        desk.go_on.set()
        for address in slow:
            while "data-refresh" in (shown := pages.get(address)).text:
                assert shown.status == 200
            assert has_parts(shown.words, "one", "two", "tokens")


class SlowSubject(ResultSubject):
    """Compares texts when ``go_on`` is set."""

    def __init__(self, folder: Path) -> None:
        super().__init__(load(folder), folder)
        self.go_on, self.compared = threading.Event(), list[tuple[str, str, dict[str, Any]]]()

    def compare(self, a: Looked, b: Looked, how: dict[str, Any]) -> Comparison:
        self.compared.append((str(a.id), str(b.id), how))
        assert self.go_on.wait(60)
        return super().compare(a, b, how)


def test_people_who_ask_for_one_pair_have_one_comparison_and_pages_of_their_own(tmp_path: Path) -> None:
    folder = make_result(tmp_path, TEXTS, keep="first")
    subject = SlowSubject(folder)
    tokens = Tokens.of(f"write {WRITE} Ann\nwrite {WRITE[::-1]} Bea")
    served = Served(tokens=tokens, shown_after=0.05)
    with closing(Desk(subject)) as desk, live(desk, served) as pages:
        pages.headers.update(host="review.example.org", origin="http://review.example.org")
        cookies = {}
        for name, token in (("Ann", WRITE), ("Bea", WRITE[::-1])):
            pages.cookies.clear()
            pages.send("POST", "/enter", f"by={name}&token={token}".encode(), {})
            cookies[name] = dict(pages.cookies)
        desk.decide(Decide("pair", "duplicate", "Ann", 0, pair=(1, 0), note="same fee"))
        asked = {"Ann": "/pairs/1/0", "Bea": "/second/1/0"}
        for name, address in (*asked.items(), *asked.items()):
            pages.cookies = dict(cookies[name])
            assert has_parts(pages.get(address).words, "Two long texts", "since", "seconds")
        for more in (
            "/pairs/1/0?view=list",
            "/pairs/0/1",
        ):  # they wait for the two that are made, without a thread
            assert has_parts(pages.get(more).words, "Two long texts", "since", "seconds")
        assert subject.compared == [("one", "two", {})]
        subject.go_on.set()
        shown = {}
        for name, address in asked.items():
            pages.cookies = dict(cookies[name])
            while "data-refresh" in (seen := pages.get(address)).text:
                assert seen.status == 200
            shown[name] = seen
        assert "same fee" in shown["Ann"].text
        assert has_parts(shown["Bea"].words, "one", "two", "tokens")
        assert "same fee" not in shown["Bea"].text  # a second verdict is given without the first one
        pages.get("/second/1/0?numbers=off")
        assert subject.compared[1:] == [("one", "two", {"ignore_numbers": True})]


def test_the_progress_of_a_comparison_counts_its_rows(pages: Pages, desk: Desk) -> None:
    watched = Watched()
    comparison = Future[Comparison]()
    desk._lines.comparisons._made[0, 1, ()] = comparison, watched
    with watched.stage("alignment", 1200, "rows") as advance:
        advance(1034)
        assert desk.comparison_so_far(1, 0) == SoFar("alignment", 1034, 1200, "rows")
        working = app._Live(desk, Served(shown_after=0.0))
        so_far = working._so_far(ReviewRequest(path={"a": 1, "b": 0}))
        page = working._html(ReviewRequest(), LivePage("working.html", {"seconds": 7, **so_far}), desk)
        working.workers.close(1)
        assert "Of 1,200 rows, 1,034 are compared." in bytes(page.body).decode()
    assert desk.comparison_so_far(0, 1) is None
    assert desk.comparison_so_far(0, 2) is None


def test_few_comparisons_are_kept_and_none_that_failed(desk: Desk) -> None:
    kept, asked = desk._lines.comparisons, list[tuple[str, str]]()

    def compare(a: Looked, b: Looked, how: dict[str, Any]) -> Comparison:
        asked.append((str(a.id), str(b.id)))
        if how:
            raise InputError("The texts are lost")
        return nd.compare(a.text, b.text)

    pairs = [(a, b) for a in range(4) for b in range(4) if a != b][: differences.COMPARED + 1]
    made = [kept.of(compare, a, b, {}) for a, b in pairs]
    assert kept.of(compare, *pairs[-1], {}) is made[-1]
    assert len(asked) == len(pairs) == len(kept._made) + 1
    assert kept.of(compare, *pairs[0], {}) is not made[0]
    for _ in range(2):
        with pytest.raises(InputError):
            kept.of(compare, 0, 1, {"length": 3})
    assert len(asked) == len(pairs) + 3
    desk._lines.forget()
    assert kept.of(compare, *pairs[-1], {}) is not made[-1]


def test_an_error_of_a_long_page_is_shown_as_that_error(result: Path) -> None:
    desk = SlowDesk(ResultSubject(load(result), result, read_only=False))
    with closing(desk), live(desk, Served(by="Ann", shown_after=0.05)) as pages:
        desk.are_lost = True
        assert "data-refresh" in pages.get("/pairs/1/0").text
        desk.go_on.set()
        while (shown := pages.get("/pairs/1/0")).status == 200:
            assert "data-refresh" in shown.text
        assert shown.status == 404
        assert "The texts are lost" in shown.words


def test_two_requests_at_once_wait_for_one_long_page() -> None:
    long, begun = app._LongPages(), list[asyncio.Task[Any] | None]()

    async def asked_at_once() -> None:
        go_on = asyncio.Event()

        async def work() -> Response:
            begun.append(asyncio.current_task())
            await go_on.wait()
            return Response()

        async with asyncio.timeout(60):
            asked = (long.answer("page", work, 0.01) for _ in range(3))
            assert [page for page, _ in await asyncio.gather(*asked)] == [None] * 3
            await asyncio.sleep(0)
            assert [task is not None and task.cancelled() for task in begun] == [False, True, True]
            go_on.set()
            assert (await long.answer("page", work, 60.0))[0] is not None
            assert (len(begun), long._made) == (3, {})

    asyncio.run(asked_at_once())


def test_a_long_page_that_nobody_fetches_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "KEPT", 0.0)
    long, made = app._LongPages(), list[Response]()

    async def made_twice() -> None:
        go_on = asyncio.Event()

        async def work() -> Response:
            await go_on.wait()
            made.append(Response())
            return made[-1]

        async with asyncio.timeout(60):
            assert (await long.answer("page", work, 0.0))[0] is None
            go_on.set()
            while long._made:
                await asyncio.sleep(0)
            assert (await long.answer("page", work, 60.0))[0] is made[1]

    asyncio.run(made_twice())


def test_a_slow_change_is_refused_in_words_and_a_slow_page_is_not(
    result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = SlowDesk(ResultSubject(load(result), result, read_only=False))
    monkeypatch.setattr(desk, "decide", lambda *_: desk.go_on.wait(20))
    monkeypatch.setattr(server, "GRACE", 0.0)
    limits = Limits.of(seconds=0.1, threads=3)
    with closing(desk), live(desk, Served(by="Ann", limits=limits, shown_after=0.1)) as pages:
        reading, changing = pages.get("/pairs/1/0"), pages.post("/decide", DECISION)
        assert (reading.status, changing.status) == (200, 503)
        assert "Working" in reading.words
        assert "stored later" in changing.words
        desk.go_on.set()
