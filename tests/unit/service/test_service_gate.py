"""The gate before the endpoints: tokens, hosts, sizes, times, and the number of requests under way."""

import gc
import json
import random
import re
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import Headers

from neardup import collection
from neardup.errors import InputError, SettingError
from neardup.service.web import limits as web_limits
from neardup.service.web import middleware
from neardup.service.web.limits import ALLOWED, Limits, RefusedError
from neardup.service.web.middleware import Tokens, read_tokens, require_tokens
from support.full_run import FULL
from support.made_service import Service, serving
from support.messages import has_parts

READ, WRITE = "r" * 20, "w" * 20
TOKENS = f"# the office\nread {READ}\n\nwrite {WRITE}  # the importer\n"
MALFORMED, TOGETHER = 10_000 if FULL else 4_500, 50


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("guarded") / "mail.neardup", TOKENS) as made:
        yield made


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Bodies of 10 kB, two requests at a time, one thread."""
    limits = {"largest_body": 0.01, "requests": 2, "threads": 1, "most_hits": 3}
    with serving(tmp_path_factory.mktemp("small") / "mail.neardup", **limits) as made:
        yield made


def operations(service: Service) -> list[tuple[str, str]]:
    paths = service("GET", "/openapi.json").json["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def test_every_endpoint_asks_for_the_right_that_openapi_tells(guarded: Service) -> None:
    described = guarded("GET", "/openapi.json").json["paths"]
    posted = ("/v1/documents", "/v1/decisions", "/v1/remove", "/v1/groups/pending", "/v1/groups/regroup")
    posted += ("/v1/tags", "/v1/actions/undo")
    changing = {("POST", path) for path in posted} | {
        (method, path) for method in ("PUT", "PATCH", "DELETE") for path in ("/v1/documents", "/v1/documents/{id}")
    }
    assert len(operations(guarded)) > 15
    for method, path in operations(guarded):
        secured = "security" in described[path][method.lower()]
        without = guarded(method, path)
        reading = guarded(method, path, headers=bearer(READ))
        assert (without.status == 401) == secured
        assert (reading.status == 403) == ((method, path) in changing)
        assert guarded(method, path, headers=bearer(WRITE)).status not in (401, 403)
    assert guarded("GET", "/metrics").status == 401


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic " + READ, "Bearer " + READ[:-1], "Bearer " + READ + "x", READ]
)
def test_a_wrong_token_is_none(guarded: Service, header: str) -> None:
    refused = guarded("GET", "/v1/stats", headers={"authorization": header})
    assert refused.status == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert READ not in refused.content.decode()


def test_without_a_token_no_body_is_read(guarded: Service) -> None:
    refused = guarded("POST", "/v1/documents", body=iter([b"x" * 1000] * 50))
    assert (refused.status, refused.taken) == (401, 0)


def test_tokens_are_kept_as_hashes() -> None:
    tokens = Tokens.of(TOKENS)
    assert READ not in repr(tokens)
    assert READ not in repr(tokens.known)
    assert tokens.allow("write", WRITE)
    assert tokens.allow("read", WRITE)
    assert not tokens.allow("write", READ)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no token"),
        ("# nothing\n", "contains no token"),
        ("read short", "Line 1 of"),
        ("read " + READ + "\nadmin " + WRITE, "Line 2 of"),
        (READ, "Line 1 of"),
        ("read " + READ + " " + READ, "Line 1 of"),
        ("read " + "é" * 20, "Line 1 of"),
        ("read " + READ + " Ann " + WRITE, "Line 1 of"),
        ("read " + READ + " " + "Ann " * 30, "Line 1 of"),
        ("read " + READ + " Ann\x1b[2J", "Line 1 of"),
        ("read " + READ + " Ann Lee\nwrite " + WRITE + " Ann  Lee", "Line 2 of"),
    ],
)
def test_a_token_file_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as failure:
        Tokens.of(text)
    assert READ not in str(failure.value)


def test_a_name_of_the_file_belongs_to_one_token_and_any_other_is_marked_by_its_token() -> None:
    tokens = Tokens.of(f"write {WRITE} Ann Lee # the office\nread {READ}\nwrite {'o' * 20}")
    assert [one.name for one in tokens.known] == ["Ann Lee", "", ""]
    assert tokens.person(WRITE, "Bea") == "Ann Lee"
    claimed = [tokens.person(token, "Ann Lee") for token in (READ, "o" * 20)]
    assert len({*claimed, "Ann Lee"}) == 3
    digest = sha256(READ.encode()).hexdigest()
    assert claimed[0] == f"Ann Lee (token {digest[:6]})"
    assert tokens.person(READ, "").startswith("somebody (token ")


def test_with_a_named_token_every_decision_has_its_name(tmp_path: Path) -> None:
    with serving(tmp_path / "a.neardup", f"write {WRITE} Ann\nwrite {READ}") as service:
        service.headers["authorization"] = f"Bearer {WRITE}"
        for id in "ab":
            assert service("PUT", f"/v1/documents/{id}", {"text": "the quick brown fox"}).status == 200
        pair = {"a": "a", "b": "b", "verdict": "duplicate"}
        changes = [("/v1/decisions", pair), ("/v1/tags", {"tag": "x", "ids": ["a"]}), ("/v1/actions/undo", {})]
        for address, body in changes:
            refused = service("POST", address, {**body, "by": "Bea"})
            assert refused.status == 403
            assert has_parts(refused.json["error"]["message"], "Bea", "Ann")
        for address, body in changes:
            assert service("POST", address, body).status in (200, 201)
        assert service("POST", "/v1/decisions", {**pair, "by": "Ann"}).status in (200, 201)
        service.headers["authorization"] = f"Bearer {READ}"  # a program decides for people that it knows
        assert service("POST", "/v1/decisions", {**pair, "by": "Bea"}).status in (200, 201)
        names = [action["by"] for action in service("GET", "/v1/actions").json["actions"]]
        assert names == ["Bea", "Ann", "Ann", "Ann", "Ann"]


def test_a_token_file_that_others_can_read(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(TOKENS)
    path.chmod(0o644)
    assert "by other users" in read_tokens(path)[1]
    path.chmod(0o600)
    assert read_tokens(path)[1] == ""
    with pytest.raises(InputError):
        read_tokens(tmp_path / "none")


def test_beyond_this_machine_only_with_tokens() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.9.9.9"):
        assert require_tokens(host, Tokens())
    for host, words in {
        **dict.fromkeys(("0.0.0.0", "::", "192.0.2.1"), "without a token_file"),
        "a..b": "not an address",
    }.items():
        with pytest.raises(SettingError, match=words):
            require_tokens(host, Tokens())
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        assert not require_tokens(host, Tokens.of(TOKENS))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8321",
        "",
        "127.0.0.1.evil.example",
        "[::1",
        "10.0.0.1",
        "[::1].evil",
        "[::1].evil:80",
        "[::1]:80.evil",
        "localhost:",
        "localhost:x",
        "evil@localhost",
        "localhost.",
        "::1",
    ],
)
def test_without_tokens_it_answers_to_its_own_name_only(small: Service, host: str) -> None:
    assert small("GET", "/v1/stats", headers={"host": host}).error["code"] == "wrong_host"
    for own in ("localhost", "localhost:8321", "[::1]:8321", "LOCALHOST"):
        assert small("GET", "/v1/stats", headers={"host": own}).status == 200


def test_pages_of_other_sites_are_refused(small: Service) -> None:
    for origin in ("https://evil.example", "null", "file://", "http://[::1].evil", "http://localhost.evil:80"):
        assert small("GET", "/v1/stats", headers={"origin": origin}).status == 403
    assert small("GET", "/v1/stats", headers={"origin": "http://localhost:3000"}).status == 200
    both = Headers(
        raw=[(b"host", b"localhost"), *((b"origin", b"http://" + name) for name in (b"localhost", b"evil"))]
    )
    with pytest.raises(RefusedError):
        middleware.require_own_name(both)
    plain = {"content-type": "text/plain"}
    assert small("POST", "/v1/documents", body=b"{}", headers=plain).status == 415


def test_with_tokens_any_name_will_do(guarded: Service) -> None:
    headers = {**bearer(READ), "host": "archive.example", "origin": "https://archive.example"}
    assert guarded("GET", "/v1/stats", headers=headers).status == 200


def test_a_body_is_not_read_beyond_its_limit(small: Service) -> None:
    declared = small("PUT", "/v1/documents/a", body=iter([b"x" * 100]), headers={"content-length": "10001"})
    assert (declared.status, declared.headers["connection"]) == (413, "close")
    streamed = small("PUT", "/v1/documents/a", body=(b"x" * 100 for _ in range(1000)))
    assert (streamed.status, streamed.taken) == (413, 10_100)
    lying = small(
        "PUT", "/v1/documents/a", body=(b"x" * 100 for _ in range(1000)), headers={"content-length": "5"}
    )
    assert lying.status == 413
    just = json.dumps({"text": "x" * (10_000 - len(json.dumps({"text": ""})))}).encode()
    assert len(just) == 10_000
    assert small("PUT", "/v1/documents/a", body=just).status == 200
    assert small.app._bodies.taken == 0


def test_bodies_together_have_a_limit(small: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small.app, "_bodies", web_limits.Quota(150, "Too many", lambda _: None))
    refused = small("PUT", "/v1/documents/a", body=(b"x" * 100 for _ in range(9)))
    assert (refused.status, refused.error["code"]) == (503, "overloaded")
    assert refused.headers["retry-after"] == "1"
    assert small.app._bodies.taken == 0


def test_a_body_has_to_arrive_in_time(small: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "READING_SECONDS", 0.05)

    async def waits(*_: Any) -> Any:
        import asyncio

        await asyncio.sleep(5)

    async def asked() -> list[Any]:
        from support.made_service import JSON, LOCAL, scope_of

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await small.app(scope_of("PUT", "/v1/documents/a", {**LOCAL, **JSON}), waits, send)
        return sent

    assert small.runner.run(asked())[0]["status"] == 408


def test_more_hits_than_allowed(small: Service) -> None:
    assert small("GET", "/v1/search?q=a&limit=4").error["code"] == "invalid"
    assert small("GET", "/v1/search?q=a&limit=3").status == 200


@pytest.fixture
def a_fifth_of_a_second(small: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit of each request."""
    monkeypatch.setattr(small.executor, "limits", Limits.of(seconds=0.2))


@pytest.mark.usefixtures("a_fifth_of_a_second")
def test_what_takes_too_long_is_stopped(small: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    small.add(slow="one two three four five six")
    from neardup.collection.view import View

    whole = View.everything

    def slow(view: View) -> Any:
        time.sleep(0.25)
        return whole(view)

    monkeypatch.setattr(View, "everything", slow)
    refused = small("GET", "/v1/search?q=NOT+a")
    assert (refused.status, refused.error["code"]) == (503, "timeout")
    monkeypatch.undo()
    assert small("GET", "/v1/search?q=NOT+a").status == 200


@pytest.mark.usefixtures("a_fifth_of_a_second")
def test_work_that_no_clock_stops_is_answered_and_what_waits_behind_it_is_not_begun(
    small: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    def endless(_: Any) -> dict[str, Any]:
        begun.append(1)
        time.sleep(1.2)
        return {}

    monkeypatch.setattr(collection.Collection, "info", endless)
    answers = small.all([("GET", "/v1/stats"), ("GET", "/v1/stats")])
    assert [answer.error["code"] for answer in answers] == ["timeout", "timeout"]
    assert len(begun) == 1
    time.sleep(0.8)


def test_more_requests_than_allowed_are_refused(small: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []
    whole = web_limits.overloaded_error

    def overloaded(what: str) -> Any:
        refused.append(what)
        return whole(what)

    def until_the_others_are_refused(_: Any) -> dict[str, int]:
        while len(refused) < 4:
            time.sleep(0.001)
        return {"documents": 0}

    monkeypatch.setattr(web_limits, "overloaded_error", overloaded)
    monkeypatch.setattr(collection.Collection, "info", until_the_others_are_refused)
    answers = small.all([("GET", "/v1/stats")] * 6 + [("GET", "/health")])
    assert sorted(answer.status for answer in answers) == [200, 200, 200, 503, 503, 503, 503]
    assert {answer.error["code"] for answer in answers if answer.status == 503} == {"overloaded"}
    assert small("GET", "/v1/stats").status == 200


def test_a_search_compares_so_many_documents_at_most(tmp_path: Path) -> None:
    with serving(tmp_path / "mail.neardup", most_candidates=2) as service:
        service.add(**dict.fromkeys("abcd", "one two three four five six"))
        assert service("GET", "/v1/search?q=FINGERPRINT:a").error["code"] == "query"


@pytest.mark.parametrize("name", ALLOWED)
def test_limits_are_checked(name: str) -> None:
    least, most = ALLOWED[name]
    assert getattr(Limits.of(**{name: least}), name) == least
    for wrong in (least - 1, most + 1, float("nan")):
        with pytest.raises(SettingError, match=f"{name} is"):
            Limits.of(**{name: wrong})
    if isinstance(getattr(Limits(), name), int):
        with pytest.raises(SettingError):
            Limits.of(**{name: least + 0.5})


def malformed(draw: random.Random, known: list[tuple[str, str]]) -> tuple[str, str, None, bytes, dict[str, str]]:
    """A request with something wrong in method, address, headers or body."""
    junk = bytes(draw.randrange(256) for _ in range(draw.randrange(40)))
    text = "".join(draw.choice("aZ%/?&=_\"'(){}[]<>\\;:.,*~|\x00\x1b\x7fé") for _ in range(draw.randrange(30)))
    methods = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "FROB", "HEAD")
    method, path = draw.choice(known)
    path = path.replace("{group}", draw.choice(["1", "0", "-1", "x", "9" * 30]))
    path = path.replace("{id}", draw.choice(["a", "%00", "%ff", "..%2f", text.encode().hex()]))
    kind = draw.randrange(5)
    if kind == 0:
        method = draw.choice(methods)
    query = "" if kind == 1 else "?" + draw.choice(["q=", "id=", "limit=", "after=", "include_self=", ""])
    query += draw.choice(
        ["", "%", "%zz", "FINGERPRINT:", "1'--", "999999999999999999999", "%00", "((((", "-1", "NaN"]
    )
    whole = json.dumps({"query": text, "id": text, "text": text, "limit": draw.choice([0, -1, "x", None, 1e300])})
    body = draw.choice(
        [junk, whole.encode(), whole.encode()[: draw.randrange(30)], b"[" * 500, b'{"documents":[{}]}']
    )
    headers = {
        "content-type": draw.choice(["application/json"] * 4 + ["text/xml", "", "application/json; charset=\xff"])
    }
    if kind == 2:
        headers["content-length"] = draw.choice(["-1", "x", "1e9", "99999999999", ""])
    if kind == 3:
        headers["x-request-id"] = draw.choice(["", "a b", "x" * 70, "\xff"])
    return method, path + query, None, body, headers


def blocks() -> int:
    """The blocks of memory that are in use."""
    gc.collect()
    return sys.getallocatedblocks()


def test_thousands_of_malformed_requests(tmp_path: Path) -> None:
    draw = random.Random(7)
    with serving(tmp_path / "mail.neardup", largest_body=0.01) as service:
        known = operations(service)
        service.add(keep="one two three four five six")
        asked = [malformed(draw, known) for _ in range(MALFORMED)]
        statuses: set[int] = set()
        held = 0
        for begin in range(0, MALFORMED, TOGETHER):
            part = asked[begin : begin + TOGETHER]
            for request, answer in zip(part, service.all(part), strict=True):
                statuses.add(answer.status)
                assert answer.status < 500, (request, answer.content)
                if answer.status >= 400:
                    assert answer.error
            if begin == MALFORMED // 2:  # by then each kind of answer has been given
                held = blocks()
        assert {400, 404, 405, 415, 422} <= statuses
        assert held
        # less than two a request: the metrics of a route and a status are made at its first answer
        assert blocks() - held < MALFORMED
        assert service.app._bodies.taken == 0
        assert service.executor._workers.waiting == service.executor._writer.waiting == 0
        assert service("GET", "/v1/documents/keep").status == 200
        assert service.executor.collection.check() == []


def test_the_page_of_the_service_describes_all_and_asks_for_a_token(guarded: Service) -> None:
    def basic(password: str) -> dict[str, str]:
        return {"authorization": f"Basic {b64encode(f'ann:{password}'.encode()).decode()}"}

    shown = guarded("GET", "/docs", headers=basic(READ))
    page = shown.content.decode()
    assert shown.status == 200
    assert all(f"<code>{method} {path}</code>" in page for method, path in operations(guarded))
    schemas = guarded("GET", "/openapi.json").json["components"]["schemas"]
    assert all(f'id="{name}"' in page for name, schema in schemas.items() if "properties" in schema)
    ids, links = re.findall(r' id="([^"]+)"', page), re.findall(r'href="#([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(links) <= set(ids)
    policy = dict(shown.headers)["content-security-policy"]
    style = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    assert [f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" in policy for one in style] == [True]
    assert "<script" not in page
    assert "style=" not in page
    assert guarded("GET", "/docs", headers=bearer(WRITE)).status == 200
    for wrong in ({}, basic("x" * 20), {"authorization": "Basic %"}):
        refused = guarded("GET", "/docs", headers=wrong)
        assert (refused.status, dict(refused.headers)["www-authenticate"]) == (401, 'Basic realm="neardup"')
    assert guarded("GET", "/v1/stats", headers=basic(READ)).status == 401
