"""What was tried against the service and held it up, or passed where it should not."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neardup import collection
from neardup.collection import entries, fields
from neardup.comparison import compare as measures
from neardup.comparison import matching
from neardup.errors import LimitError
from neardup.runtime import UNLIMITED
from neardup.service import endpoints
from neardup.service.app import largest_body
from neardup.service.web import limits, middleware, monitoring
from neardup.service.web.limits import Limits
from neardup.service.web.server import Job
from support.made_service import JSON, LOCAL, Service, scope_of, serving
from support.messages import has_parts

READ, OTHER, WRITE = "r" * 20, "o" * 20, "w" * 20
TOKENS = f"read {READ}\nread {OTHER}\nwrite {WRITE}\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("attacked") / "mail.neardup", TOKENS, requests=4) as made:
        made.headers["authorization"] = f"Bearer {WRITE}"
        made.add(a="one two three four five six", b="one two three four five seven")
        yield made


@pytest.mark.parametrize("id", ["%", "%zz", "a%", "%2", "%%41", "100%", "%C3%A9%"])
def test_a_percent_sign_that_begins_no_byte_is_no_id(service: Service, id: str) -> None:
    for method, data in (("GET", None), ("PUT", {"text": "x"}), ("DELETE", None)):
        for target in (f"/v1/documents/{id}", f"/v1/documents?id={id}"):
            refused = service(method, target, data)
            assert (refused.status, refused.error["code"]) == (400, "encoding")
            assert "%25" in refused.error["allowed"]
    assert service("PUT", "/v1/documents/%25zz", {"text": "x"}).status == 200
    assert service("GET", "/v1/documents?id=%25zz").json["id"] == "%zz"
    assert service("DELETE", "/v1/documents/%25zz").status == 200


@pytest.mark.parametrize("scope", [{}, {"raw_path": None}])
def test_a_server_that_keeps_no_raw_path_has_its_query_string_checked(scope: dict[str, Any]) -> None:
    middleware.require_unicode({**scope, "query_string": b"id=%25zz"})
    with pytest.raises(limits.RefusedError) as refused:
        middleware.require_unicode({**scope, "query_string": b"id=%zz"})
    assert (refused.value.status, refused.value.code) == (400, "encoding")


@pytest.mark.parametrize(
    ("method", "target", "most"),
    [
        ("POST", "/v1/search", 13_000_000),
        ("POST", "/v1/near", 13_000_000),
        ("POST", "/v1/compare", 500_000),
        ("POST", "/v1/decisions", 500_000),
        ("POST", "/v1/nowhere", 500_000),
        ("PUT", "/v1/groups", 500_000),
        ("PUT", "/v1/documents/a", 64_000_000),
    ],
)
def test_a_body_without_end_is_cut_where_its_address_allows_no_more(
    service: Service, method: str, target: str, most: int
) -> None:
    piece = b" " * 400_000
    refused = service(method, target, body=(piece for _ in range(400)))
    assert refused.status == 413
    assert f"{most:,} bytes" in refused.error["allowed"]
    assert refused.taken <= most + len(piece)


class Slow:
    """Requests whose bodies are sent on a signal."""

    def __init__(self, service: Service, token: str) -> None:
        self.service, self.token, self.sent = service, token, []
        self.goes_on = asyncio.Event()

    async def receive(self) -> Any:
        await self.goes_on.wait()
        self.goes_on = asyncio.Event()  # nothing more comes
        return {"type": "http.request", "body": b'{"query": "one"}', "more_body": False}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def ask(self) -> int:
        headers = {**LOCAL, **JSON, "authorization": f"Bearer {self.token}"}
        await self.service.app(scope_of("POST", "/v1/search", headers), self.receive, self.send)
        return int(self.sent[0]["status"])


def test_bodies_that_do_not_arrive_take_no_place_of_those_that_have(service: Service) -> None:
    """Four places, and five bodies that are sent a byte at a time."""

    async def attacked() -> tuple[list[int], list[int]]:
        slow = [Slow(service, READ) for _ in range(5)]
        tasks = [asyncio.create_task(each.ask()) for each in slow]
        while service.app._arriving.taken < 3:
            await asyncio.sleep(0)
        headers = {"authorization": f"Bearer {OTHER}"}
        asked = [
            await service.ask("GET", "/v1/search?q=one", headers={"authorization": f"Bearer {READ}"}),
            await service.ask("POST", "/v1/search", {"query": "one"}, headers=headers),
            await service.ask("GET", "/v1/documents/a", headers=headers),
        ]
        for each in slow:
            each.goes_on.set()
        return [answer.status for answer in asked], sorted(await asyncio.gather(*tasks))

    quick, slow = service.runner.run(attacked())
    assert quick == [200, 200, 200]
    assert slow == [200, 200, 200, 503, 503]
    assert service.app._arriving.taken == service.app._under_way.taken == 0


def test_a_body_that_comes_byte_by_byte_is_given_up(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "GRACE_SECONDS", 0.02)
    slow = Slow(service, READ)
    assert service.runner.run(slow.ask()) == 408
    error = json.loads(slow.sent[1]["body"])["error"]
    assert "20,000 bytes a second" in error["allowed"]


def test_one_of_several_tokens_has_no_more_than_its_share() -> None:
    seen: list[int] = []
    some = limits.Quota(4, "Too many requests{} are under way", seen.append, 2)
    for _ in range(3):
        some.take(1, 0)
    with pytest.raises(Exception, match="with this token"):
        some.take(1, 0)
    some.take(1, 1)
    with pytest.raises(Exception, match="Too many requests are"):
        some.take(1, 1)
    some.give_back(1, 0)
    some.take(1, 1)
    assert (some.taken, seen) == (4, [1, 2, 3, 4, 3, 4])
    only = limits.Quota(4, "", seen.append, 1)
    for _ in range(4):
        only.take(1, 0)


def test_limits_of_bodies_are_those_of_the_page() -> None:
    assert largest_body(Limits.of(largest_body=0.01), "/v1/search") == 10_000
    assert limits.LEAST_RATE * limits.READING_SECONDS > 1_000_000
    assert limits.READING_SECONDS > limits.GRACE_SECONDS


def test_comparisons_that_take_long_keep_nobody_from_reading(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two took both threads that read, long after their requests had been answered."""
    begun, ends = threading.Event(), threading.Event()

    def endless(*_: Any, **__: Any) -> Any:
        begun.set()
        ends.wait(60)
        raise LimitError("It takes too long")

    monkeypatch.setattr(endpoints, "compared_texts", endless)

    async def attacked() -> tuple[list[int], list[int]]:
        pair, read_token = {"a": "a", "b": "b"}, {"authorization": f"Bearer {READ}"}
        asked = [service.ask("POST", "/v1/compare", pair, headers=read_token) for _ in range(3)]
        compared = [asyncio.create_task(each) for each in asked]
        while not begun.is_set():
            await asyncio.sleep(0)
        read = [await service.ask("GET", target) for target in ("/v1/documents/a", "/v1/search?q=one")]
        ends.set()
        return [answer.status for answer in read], [(await task).status for task in compared]

    assert service.runner.run(attacked()) == ([200, 200], [503, 503, 503])


def test_a_comparison_ends_with_the_time_of_its_request(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    literal = matching.literal

    def slow(*given: Any) -> Any:
        done.append("literal")
        time.sleep(0.3)
        return literal(*given)

    monkeypatch.setattr(matching, "literal", slow)
    monkeypatch.setattr(matching, "information", lambda *_: done.append("information"))
    monkeypatch.setattr(service.executor, "limits", Limits.of(seconds=0.2))
    refused = service("POST", "/v1/compare", {"a": "a", "b": "b"})
    assert (refused.status, refused.error["code"]) == (503, "timeout")
    assert done == ["literal"]
    assert has_parts(refused.error["message"], "comparison", "shorter texts")
    with pytest.raises(LimitError):
        measures.compare("one two three", "one two", seconds=-1)


def test_a_comparison_that_waited_for_others_is_refused_in_words_of_its_own(tmp_path: Path) -> None:
    go_on = threading.Event()
    with serving(tmp_path / "mail.neardup", seconds=0.1) as service:
        for id in "ab":
            assert service("PUT", f"/v1/documents?id={id}", {"text": "the quick brown fox"}).status in (200, 201)
        service.executor._comparing._jobs.put(Job(lambda: go_on.wait(60), UNLIMITED))
        refused = service("POST", "/v1/compare", {"a": "a", "b": "b"})
        go_on.set()
    assert (refused.status, refused.error["code"]) == (503, "timeout")
    assert has_parts(refused.error["message"], "texts", "not compared", "Repeat", "--seconds")


def test_fingerprinting_ends_with_the_time_of_its_request(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    plain = entries._stream

    def slow(portion: bytes) -> Any:
        read.append(len(portion))
        time.sleep(0.3)
        return plain(portion)

    monkeypatch.setattr(entries, "_stream", slow)
    monkeypatch.setattr(service.executor, "limits", Limits.of(seconds=0.2))
    refused = service("PUT", "/v1/documents?id=large", {"text": "word " * 600_000})
    assert (refused.status, refused.error["code"]) == (503, "timeout")
    assert len(read) <= 1
    assert service("GET", "/v1/documents?id=large").status == 404


@pytest.mark.parametrize("step", ["read", "units", "of_codepoints"])
def test_every_step_of_a_comparison_looks_at_the_clock(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, done = [0.0], []
    room = measures.Reading if step == "units" else measures
    plain = getattr(room, step)

    def late(*given: Any, **named: Any) -> Any:
        done.append(step)
        clock[0] += 10
        return plain(*given, **named)

    monkeypatch.setattr(room, step, late)
    monkeypatch.setattr(measures, "monotonic", lambda: clock[0])
    with pytest.raises(LimitError):
        measures.compare("one two three", "one two", seconds=1)
    assert done == [step]


def test_more_documents_than_a_request_may_have(service: Service) -> None:
    documents = [{"id": str(k), "text": "x"} for k in range(1001)]
    refused = service("POST", "/v1/documents", {"documents": documents})
    assert (refused.status, refused.error["code"]) == (422, "invalid")
    assert "more than 1,000 documents" in refused.error["message"]
    documents[1:] = [{"id": "m", "text": "x", "metadata": {"a": [1] * 50_000}}]
    refused = service("POST", "/v1/documents", {"documents": documents})
    assert refused.status == 422
    assert refused.error["fields"][0]["where"] == "body.documents.1.metadata"
    assert "more than 10,000 values" in refused.error["message"]


SECRET = "secret-document-id"
ANYWHERE = [
    ("GET", f"/v1/documents/{SECRET}", None),
    ("PUT", f"/v1/documents/{SECRET}", {"text": SECRET, "metadata": {SECRET: SECRET}}),
    ("PUT", f"/v1/documents/{SECRET}", {SECRET: SECRET}),
    ("PATCH", f"/v1/documents/{SECRET}", None),
    ("HEAD", f"/v1/documents/{SECRET}", None),
    (SECRET.upper(), f"/v1/documents/{SECRET}", None),
    (SECRET, "/health", None),
    ("GET", f"/{SECRET}", None),
    ("GET", f"/v1/documents/{SECRET}/{SECRET}", None),
    ("GET", f"/v1/documents/%2e%2e/{SECRET}", None),
    ("GET", f"/v1/documents//{SECRET}", None),
    ("GET", f"/v1/documents?id={SECRET}", None),
    ("GET", f"/v1/groups/{SECRET}", None),
    ("GET", f"/v1/groups/{SECRET}/members?after={SECRET}", None),
    ("GET", f"/v1/groups/1/members?after={SECRET}", None),
    ("GET", f"/v1/group-of?id={SECRET}", None),
    ("GET", f"/health/{SECRET}", None),
    ("GET", f"/health?{SECRET}", None),
    ("GET", f"/metrics?{SECRET}={SECRET}", None),
    ("GET", f"/v1/search?q=FINGERPRINT:{SECRET}&after={SECRET}", None),
    ("GET", f"/v1/why-not?q={SECRET}&id={SECRET}", None),
    ("POST", "/v1/compare", {"a": SECRET, "b": SECRET}),
    ("POST", "/v1/decisions", {"a": SECRET, "b": "a", "verdict": "duplicate", "by": SECRET, "note": SECRET}),
    ("POST", "/v1/tags", {"tag": SECRET, "ids": [SECRET], "by": SECRET}),
    ("POST", "/v1/tags/look-up", {"ids": [SECRET]}),
    ("DELETE", f"/v1/documents/{SECRET}", None),
]


def test_no_id_is_in_logs_or_metrics(
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise KeyError(SECRET)

    given = [{}, {"x-request-id": SECRET}, {"user-agent": SECRET, "content-type": SECRET, "referer": SECRET}]
    with caplog.at_level("DEBUG"):
        for method, target, data in ANYWHERE:
            for headers in given:
                service(method, target, data, headers=headers)
        monkeypatch.setattr(collection.Collection, "info", fails)
        assert service("GET", "/v1/stats").status == 500
    written = monitoring.JsonLines()
    lines = [written.format(record) for record in caplog.records]
    assert len(lines) > len(ANYWHERE)
    assert not [line for line in lines if SECRET in line.lower()]
    assert SECRET not in service("GET", "/metrics").content.decode().lower()


def test_what_other_programs_log_is_cut_to_their_own_words() -> None:
    """The event loop writes the errors of forgotten tasks, and what they say, into its messages."""
    told = f"Task exception was never retrieved\nfuture: <Task exception=InputError('{SECRET}')>"
    with_values = ("Invalid %s", (SECRET,))
    for message, values in ((told, ()), with_values):
        record = logging.LogRecord("asyncio", logging.ERROR, "x.py", 1, message, values, None)
        line = monitoring.JsonLines().format(record)
        assert SECRET not in line
        assert json.loads(line)["event"] == "server"


def test_a_text_of_too_many_different_words_is_refused_before_it_is_stored(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "MOST_WORDS", 100)
    monkeypatch.setattr(fields, "FEW_WORDS", 500)
    refused = service("PUT", "/v1/documents/many", {"text": " ".join(f"w{n}" for n in range(300))})
    assert (refused.status, refused.error["code"]) == (422, "invalid")
    assert "different words" in refused.error["message"]
    assert service("GET", "/v1/documents/many").status == 404
