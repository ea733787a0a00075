"""The endpoints of the service: their answers to good and to bad requests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import neardup as nd
from neardup.collection import Collection
from neardup.comparison import compare as measures
from support.made_service import Service, by_path, by_query, serving
from support.messages import has_parts

BASE = " ".join(f"word{number}" for number in range(60))
NEAR = BASE.replace("word30", "other")
OTHER = " ".join(f"else{number}" for number in range(40))


def done(added: int, replaced: int, skipped: int, text: str = "") -> dict[str, Any]:
    counts = {"added": added, "replaced": replaced, "skipped": skipped, "text_bytes": len(text.encode())}
    return {
        **counts,
        **dict.fromkeys(("left_out", "repeats", "linked", "base_only"), 0),
        "recall": None,
        "near": [],
    }


HOSTILE = [
    "a/b",
    "/",
    "a\n",
    "\n",
    "a\r\nb",
    "a\u2028",
    "..",
    ".",
    "../../etc/passwd",
    "a%2Fb",
    "%00",
    "a\0b",
    "\x1b[31m",
    " ",
    "a b+c",
    "a?b=c#d&id=e",
    "'; DROP TABLE documents; --",
    '" OR ""="',
    "é",
    "e\u0301",
    "名前",
    "\u202egpj.exe",
    "😀",
    "why-not",
    "\\",
    "x" * 1024,
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("shared") / "mail.neardup") as made:
        yield made


@pytest.fixture
def service(shared: Service) -> Service:
    """A service without documents."""
    shared.executor.collection.remove(list(shared.executor.collection))
    return shared


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("filled") / "mail.neardup") as made:
        made.add(a=BASE, b=NEAR, c=OTHER)
        assert made("PUT", "/v1/documents/d", {"text": NEAR, "metadata": {"from": "ann", "n": 3}}).status == 200
        yield made


def test_what_was_added_is_there(service: Service) -> None:
    documents = [{"id": "a", "text": BASE}, {"id": "b", "text": "é", "metadata": {"to": ["x", {"y": None}]}}]
    added = service("POST", "/v1/documents", {"documents": documents})
    assert (added.status, added.json) == (201, done(2, 0, 0, BASE + "é"))
    known = {"tokens": 1, "shingles": 1, "role": "document"}
    assert service("GET", "/v1/documents/b").json == {**documents[1], **known}
    assert service("GET", "/v1/stats").json["documents"] == 2
    assert "path" not in service("GET", "/v1/stats").json


def test_an_id_that_is_there(service: Service) -> None:
    service.add(a=BASE)
    again: dict[str, Any] = {"documents": [{"id": "new", "text": "x"}, {"id": "a", "text": OTHER}]}
    refused = service("POST", "/v1/documents", again)
    assert (refused.status, refused.error["code"]) == (409, "duplicate")
    assert service("GET", "/v1/documents/new").status == 404
    assert service("POST", "/v1/documents", {**again, "on_duplicate": "skip"}).json["skipped"] == 1
    assert service("GET", "/v1/documents/a").json["text"] == BASE
    replaced = service("POST", "/v1/documents", {**again, "on_duplicate": "replace"})
    assert replaced.json == done(0, 2, 0, "x" + OTHER)
    assert service("GET", "/v1/documents/a").json["text"] == OTHER
    twice = {"documents": [{"id": "q", "text": "x"}, {"id": "q", "text": "y"}]}
    assert service("POST", "/v1/documents", twice).status == 409


@pytest.mark.part(3)
@pytest.mark.parametrize("id", HOSTILE)
@pytest.mark.parametrize("address", [by_path, by_query])
def test_an_id_is_itself(service: Service, id: str, address: Any) -> None:
    service.add(a=OTHER, b=OTHER)
    before = service("GET", "/v1/stats").json["documents"]
    assert service("PUT", address(id), {"text": BASE}).json["added"] == 1
    assert service("GET", by_path(id)).json["id"] == service("GET", by_query(id)).json["id"] == id
    assert service("POST", "/v1/compare", {"a": id, "b": "a"}).json["a"] == id
    assert service("DELETE", address(id)).json == {"removed": 1}
    assert service("GET", "/v1/stats").json["documents"] == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(id=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40), text=st.text(max_size=60))
def test_any_id_and_text_come_back(service: Service, id: str, text: str) -> None:
    whole = text.encode("utf-8", "replace").decode()
    assert service("PUT", by_path(id), {"text": whole}).status == 200
    assert service("GET", by_query(id)).json["text"] == whole


@pytest.mark.parametrize("id", ["", "x" * 1025, "é" * 600])
def test_ids_that_cannot_be(service: Service, id: str) -> None:
    assert service("PUT", by_query(id), {"text": "x"}).status == 422
    assert service("PUT", by_path(id), {"text": "x"}).status == 422
    assert service("POST", "/v1/documents", {"documents": [{"id": id, "text": "x"}]}).status == 422


@pytest.mark.parametrize("target", ["/v1/documents/%ff", "/v1/documents?id=%C3", "/v1/search?q=%80"])
def test_addresses_that_are_no_utf_8(service: Service, target: str) -> None:
    refused = service("GET", target)
    assert (refused.status, refused.error["code"]) == (400, "encoding")


@pytest.mark.parametrize(
    "metadata",
    [
        {"n": 10**400},
        {"deep": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]},
        [],
        "x",
        None,
    ],
)
def test_metadata_that_cannot_be(service: Service, metadata: Any) -> None:
    assert service("PUT", "/v1/documents/a", {"text": "x", "metadata": metadata}).status == 422
    assert service("GET", "/v1/stats").json["documents"] == 0


@pytest.mark.parametrize(
    "metadata",
    [
        {"": ""},
        {"a\0": "b\0"},
        {"a.b": {"c": [1, "1", True, None, 1.5]}},
        {"n": 2**80, "m": -(2**63) - 1},
        {"é": []},
    ],
)
def test_odd_metadata_comes_back(service: Service, metadata: dict[str, Any]) -> None:
    assert service("PUT", "/v1/documents/a", {"text": "x", "metadata": metadata}).status == 200
    assert service("GET", "/v1/documents/a").json["metadata"] == metadata
    assert service("DELETE", "/v1/documents/a").status == 200
    assert service.executor.collection.check() == []


def test_half_a_surrogate_pair_is_no_text(service: Service) -> None:
    for body in (b'{"text": "\\ud800"}', b'{"text": "x", "metadata": {"a": "\\ud800"}}', b'{"\\ud800": 1}'):
        refused = service("PUT", "/v1/documents/a", body=body)
        assert (refused.status, refused.error["code"]) == (400, "json")


def test_search_finds_what_the_collection_finds(filled: Service) -> None:
    query = "FINGERPRINT:a_20_80 OR from:ann OR else3"
    wanted = filled.executor.collection.search(query, limit=2).as_dict()
    found = filled("GET", "/v1/search?limit=2&q=" + query.replace(" ", "+"))
    assert found.json == wanted
    assert filled("POST", "/v1/search", {"query": query, "limit": 2}).json == wanted
    rest = filled("POST", "/v1/search", {"query": query, "limit": 2, "after": wanted["next"]}).json
    assert [hit["id"] for hit in wanted["hits"] + rest["hits"]] == ["b", "d", "c"]
    with_self = filled("POST", "/v1/search", {"query": query, "include_self": True}).json
    assert [hit["id"] for hit in with_self["hits"]] == ["a", "b", "d", "c"]


def test_a_search_compares_as_few_documents_as_it_is_asked_to(service: Service) -> None:
    long = " ".join(f"word{number}" for number in range(2000))
    service.add(**{name: f"{long} {name}" for name in "abcd"})
    wanted = service.executor.collection.search("FINGERPRINT:a_50_80", most_compared=1).as_dict()
    assert (wanted["found"], wanted["uncompared"]) == (1, 2)
    assert service("GET", "/v1/search?most_compared=1&q=FINGERPRINT:a_50_80").json == wanted
    body = {"query": "FINGERPRINT:a_50_80", "most_compared": 1}
    assert service("POST", "/v1/search", body).json == wanted
    for wrong in (0, "x"):
        assert service("GET", f"/v1/search?most_compared={wrong}&q=FINGERPRINT:a_50_80").status == 422
        assert service("POST", "/v1/search", body | {"most_compared": wrong}).status == 422


def test_a_long_text_is_asked_about_in_a_body(filled: Service) -> None:
    found = filled("POST", "/v1/search", {"query": f'TEXT:"{BASE * 100}"'}).json
    assert {hit["id"] for hit in found["hits"]} == {"a", "b", "d"}
    assert all(len(hit["clause"]) < 210 for hit in found["hits"])


def test_fields_of_hits_in_an_address_and_in_a_body(filled: Service) -> None:
    found = filled("GET", "/v1/search?q=word15&fields=text,excerpt&limit=2").json["hits"]
    body = {"query": "word15", "fields": ["excerpt", "text"], "limit": 2}
    assert found == filled("POST", "/v1/search", body).json["hits"] != []
    for hit in found:
        assert hit["text"][hit["excerpt"]["begin"] :].startswith(hit["excerpt"]["text"])
        assert [hit["excerpt"]["text"][slice(*mark)] for mark in hit["excerpt"]["marks"]] == ["word15"]
    for wrong in ("body", "text,,excerpt", ""):
        assert filled("GET", f"/v1/search?q=word15&fields={wrong}").error["code"] == "invalid"
    assert filled("POST", "/v1/search", {"query": "word15", "fields": "text"}).error["code"] == "invalid"


@pytest.mark.parametrize(
    "asked",
    [
        {"text": ""},
        {"text": "a b " * 250_001},
        {"text": "a b", "overlap": 0},
        {"text": "a b", "overlap": 50},
        {"text": "a b", "overlap": "101%"},
        {"text": "a b", "overlap": 1e-9},
        {"text": "a b", "overlap": "50"},
        {"text": "a b", "overlap": True},
        {"text": "a b", "probability": 0.8},
        {"text": "a b", "where": ""},
        {"text": "a b", "measure": "lcs"},
        {"text": "a b", "limit": 0},
        {"text": "a b", "limit": 1001},
        {"text": "a b", "other": 1},
    ],
)
def test_questions_that_cannot_be(filled: Service, asked: dict[str, Any]) -> None:
    assert filled("POST", "/v1/near", asked).error["code"] == "invalid"


def test_comparison_is_that_of_the_texts(filled: Service) -> None:
    found = filled("POST", "/v1/compare", {"a": "a", "b": "b"}).json
    assert found["measures"] == measures.compare(BASE, NEAR).measures
    assert found["kind"] == measures.compare(BASE, NEAR).kind
    assert filled("POST", "/v1/compare", {"a": "a", "b": "z"}).error["code"] == "unknown_id"


def test_a_comparison_has_the_differences_and_the_parts_that_differ(service: Service) -> None:
    documents = {"minus": "the balance is -5 today", "plus": "the balance is 5 today"}
    service.add(**documents)
    parts = {"metadata": {"not_compared": {"images": "88d4", "comments": "1"}}}
    assert service("PUT", "/v1/documents/plus", {"text": documents["plus"], **parts}).status == 200
    found = service("POST", "/v1/compare", {"a": "minus", "b": "plus"}).json
    wanted = measures.compare(*documents.values()).as_dict()
    assert found["differences"] == wanted["differences"]
    assert [one["kind"] for one in found["differences"]["characters"]] == ["sign or operator"]
    assert found["not_compared"] == ["comments", "images"]
    assert has_parts(found["difference"], wanted["difference"], "not compared: comments, images")


def test_a_comparison_leaves_out_the_text_that_the_collection_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "masked.neardup"
    rules: dict[str, Any] = {"mask": [r"word\d5"], "ignore_numbers": True}
    with serving(path, left_out=rules) as service:
        service.add(a=BASE, b=f"{NEAR} 12 13")
        found = service("POST", "/v1/compare", {"a": "a", "b": "b"}).json
        assert found["measures"] == measures.compare(BASE, f"{NEAR} 12 13", **rules).measures
        assert found["left_out"]["b"] == {"masks": [5], "numbers": 2, "stop_words": 0}
        near = service("POST", "/v1/near", {"text": f"{BASE} 7", "overlap": "100%"}).json
        assert [hit["id"] for hit in near["hits"]] == ["a"]
        assert service("PUT", by_path("form"), {"text": BASE, "role": "base"}).json["added"] == 1
        assert service("POST", "/v1/compare", {"a": "a", "b": "b"}).json["measures"]["shared"] == 0


def test_passages_of_a_document(filled: Service) -> None:
    answer = filled("GET", "/v1/passages?id=a&length=10")
    assert answer.json == filled.executor.collection.passages("a", length=10).as_dict()
    assert {one["id"] for one in answer.json["passages"]} == {"b", "d"}
    assert filled("GET", "/v1/passages?id=a&length=10&most=1").json["uncompared"] == 1
    first = filled("GET", "/v1/passages?id=a&length=10&limit=1").json
    assert first["passages"] == answer.json["passages"][:1]
    assert (answer.json["omitted"], first["omitted"]) == (0, len(answer.json["passages"]) - 1)
    assert filled("GET", "/v1/passages?id=nothing").status == 404
    for wrong in ("length=4", "length=x", "most=0", "most=1001", "limit=0", "limit=1001"):
        assert filled("GET", f"/v1/passages?id=a&{wrong}").status == 422


def test_plans_and_reasons(filled: Service) -> None:
    plan = filled("GET", "/v1/explain?q=FINGERPRINT:a_20_80").json
    assert plan == filled("POST", "/v1/explain", {"query": "EXPLAIN FINGERPRINT:a_20_80"}).json
    assert plan["fingerprints"][0]["shingles"] == 56
    reason = filled("GET", "/v1/why-not?q=FINGERPRINT:a_99&id=b").json
    assert (reason["reason"], reason["causes"][0]["size_query"]) == ("below", 56)
    asked = {"query": "FINGERPRINT:a_99", "id": "b"}
    assert filled("POST", "/v1/why-not", asked).json == reason
    assert filled("GET", "/v1/search?q=EXPLAIN+budget").error["code"] == "query"


@pytest.mark.parametrize(
    ("query", "position"),
    [("a AND (b", 6), ("FINGERPRINT:zz", 0), ("a OR nofield>1", 5), ('"open', 0), ("a AND FILE:/etc/passwd", 6)],
)
def test_mistakes_of_a_query_have_a_place(filled: Service, query: str, position: int) -> None:
    for path in ("search", "explain", "shard/search", "why-not", "shard/why-not"):
        named = {"id": "a"} if path.endswith("why-not") else {}
        refused = filled("POST", f"/v1/{path}", {"query": query, **named})
        assert (refused.status, refused.error["code"], refused.error["position"]) == (400, "query", position), path
        assert "\n" not in refused.error["message"]


def test_a_token_of_another_search_is_refused(filled: Service) -> None:
    assert filled("POST", "/v1/search", {"query": "else3", "after": "x"}).status == 400


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("POST", "/", 405),
        ("GET", "/?x", 422),
        ("GET", "/v1", 404),
        ("GET", "/docs/", 404),
        ("GET", "/redoc", 404),
        ("GET", "/v1/search/", 404),
        ("GET", "/v1/search", 422),
        ("PATCH", "/v1/stats", 415),
        ("DELETE", "/v1/search", 405),
        ("TRACE", "/health", 405),
        ("GET", "/v1/search?q=a&limit=x", 422),
        ("GET", "/v1/documents", 422),
        ("GET", "/v1/search?q=a&q=b", 422),
        ("GET", "/v1/search?q=a&overlap=50", 422),
        ("GET", "/health?x", 422),
    ],
)
def test_one_error_body_for_everything(filled: Service, method: str, target: str, status: int) -> None:
    refused = filled(method, target)
    assert (refused.status, bool(refused.error["code"])) == (status, True)
    assert refused.headers["content-type"] == "application/json"


def test_the_front_door_says_what_this_is_and_where_to_go_on(filled: Service) -> None:
    answered = filled("GET", "/")
    assert (answered.json["name"], answered.json["version"]) == ("neardup", nd.__version__)
    paths = filled("GET", "/openapi.json").json["paths"]
    assert {*answered.json["links"].values()} <= {*paths, "/docs", "/openapi.json", "/metrics"}


def test_bodies_that_are_no_json(filled: Service) -> None:
    for body in (b"", b"{", b"\xff\xfe", b"[1", b'{"query": NaN}', b"[" * 100_000, b"null", b"9" * 5000, b'"x"'):
        refused = filled("POST", "/v1/search", body=body)
        assert refused.status in (400, 422, 413)
        assert refused.error["code"] in ("json", "bad_request", "invalid", "too_large")
    assert filled("POST", "/v1/search", body=b"q=x", headers={"content-type": "text/plain"}).status == 415


def test_every_answer_is_guarded(filled: Service) -> None:
    for answer in (filled("GET", "/health"), filled("GET", "/nowhere"), filled("GET", "/v1/documents/a")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "access-control-allow-origin" not in answer.headers
    proxied = "24af7d62-b161-46c0-b613-8cf9415e27bc"
    assert filled("GET", "/health", headers={"x-request-id": proxied}).headers["x-request-id"] == proxied
    for strange in ("a b", "abc-1", "an-id-of-a-document", proxied * 2):
        assert filled("GET", "/health", headers={"x-request-id": strange}).headers["x-request-id"] != strange


def test_nothing_of_the_machine_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "secret place.neardup"
    with serving(path) as service:
        service.add(a=BASE)
        with Collection(path) as other, other.store.writing():
            service.executor.collection.store._wait = 0.1  # type: ignore[attr-defined]
            service.executor.collection.store._writer.execute("PRAGMA busy_timeout = 100")  # type: ignore[attr-defined]
            refused = service("PUT", "/v1/documents/b", {"text": "x"})
        assert (refused.status, refused.error["code"]) == (503, "unwritable")
        assert refused.headers["retry-after"]
        assert str(tmp_path) not in refused.content.decode()
        assert "secret" not in refused.content.decode()


def test_a_mistake_of_ours_tells_nothing(filled: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("SELECT secret FROM /home")

    monkeypatch.setattr(Collection, "info", broken)
    refused = filled("GET", "/v1/stats")
    assert (refused.status, refused.error["code"]) == (500, "internal")
    assert b"secret" not in refused.content


def test_metrics_have_templates_and_no_ids(filled: Service) -> None:
    filled("GET", "/v1/documents/secret-id")
    text = filled("GET", "/metrics").content.decode()
    assert 'neardup_requests_total{method="GET",route="/v1/documents/{id}",status="404"}' in text
    assert "neardup_documents 4.0" in text
    assert "neardup_workers 1.0" in text
    assert "neardup_write_batch_requests_count" in text
    assert 'neardup_queue_requests{queue="write"} 0.0' in text
    assert "secret-id" not in text


def test_logs_say_what_happened_and_nothing_of_the_request(
    filled: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="neardup.service"):
        filled("POST", "/v1/search", {"query": "confidential"})
        filled("GET", "/v1/documents/confidential?x=confidential")
    found = [record.fields for record in caplog.records]  # type: ignore[attr-defined]
    assert [(one["route"], one["status"]) for one in found] == [("/v1/search", 200), ("/v1/documents/{id}", 422)]
    assert found[0]["bytes_in"] == len('{"query": "confidential"}')
    assert set(found[0]) == {"request", "method", "route", "status", "ms", "bytes_in", "bytes_out"}
    assert "confidential" not in repr(found)
