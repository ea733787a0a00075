"""Lists of documents, changes of their metadata, removal of several, and groups when asked, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.made_service import Service, by_path, by_query, serving

TEXT = " ".join(f"word{number}" for number in range(60))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("documents") / "mail.neardup") as made:
        yield made


@pytest.fixture
def service(shared: Service) -> Service:
    """A service with three documents."""
    shared.executor.collection.remove(list(shared.executor.collection))
    shared.add(**{"a": TEXT, "b/é": TEXT + " more", "c": "something else"})
    return shared


def test_documents_are_listed_page_by_page(service: Service) -> None:
    first = service("GET", "/v1/list?limit=2").json
    assert [one["id"] for one in first["documents"]] == ["a", "b/é"]
    assert (first["documents"][0]["text"], first["documents"][0]["size"]) == (None, len(TEXT))
    rest = service("GET", f"/v1/list?after={first['next']}&texts=true").json
    assert [(one["id"], one["text"]) for one in rest["documents"]] == [("c", "something else")]
    assert rest["next"] is None
    for wrong in ("limit=0", "limit=1001", "after=-1", "after=x", "texts=maybe", "page=2"):
        assert service("GET", f"/v1/list?{wrong}").status == 422


@pytest.mark.parametrize("address", [by_path, by_query])
def test_metadata_is_changed_and_nothing_else(service: Service, address: Any) -> None:
    service("PUT", address("b/é"), {"text": TEXT, "metadata": {"a": 1, "b": {"c": 2, "d": 3}}})
    before = service("GET", address("b/é")).json
    found = service("PATCH", address("b/é"), {"metadata": {"a": None, "b": {"c": None}, "new": [None]}})
    after = {"b": {"d": 3}, "new": [None]}
    assert (found.status, found.json) == (200, {"id": "b/é", "metadata": after})
    assert service("GET", address("b/é")).json == {**before, "metadata": after}
    assert service("PATCH", address("x"), {"metadata": {}}).error["code"] == "unknown_id"
    for wrong in ({}, {"metadata": [1]}, {"metadata": {"k" * 2000: 1}}, {"metadata": {}, "text": "x"}):
        assert service("PATCH", address("b/é"), wrong).status == 422
    many = {f"k{number}": number for number in range(999)}
    assert service("PATCH", address("b/é"), {"metadata": many}).status == 422, (
        "with those that are there, too many"
    )
    assert service("GET", address("b/é")).json["metadata"] == after


def test_several_documents_are_removed_or_none(service: Service) -> None:
    refused = service("POST", "/v1/remove", {"ids": ["a", "x"]})
    assert (refused.status, refused.error["code"]) == (404, "unknown_id")
    assert service("GET", by_path("a")).status == 200
    assert service("POST", "/v1/remove", {"ids": ["a", "x", "a"], "missing": "ignore"}).json == {"removed": 1}
    for wrong in ({"ids": []}, {"ids": ["a"] * 1001}, {"ids": [""]}, {"ids": ["a"], "missing": "x"}):
        assert service("POST", "/v1/remove", wrong).status == 422


def test_documents_in_no_group_are_grouped_when_asked(service: Service) -> None:
    first = service("POST", "/v1/groups/pending", {"near": "80%", "limit": 1}).json
    assert (first["compared"], first["linked"]) == (1, 0)
    done = service("POST", "/v1/groups/pending", {"near": "80%", "after": first["next"], "recall": 1}).json
    assert {name: done[name] for name in ("compared", "repeats", "linked", "recall", "next")} == {
        "compared": 2,
        "repeats": 1,
        "linked": 1,
        "recall": 1.0,
        "next": None,
    }
    assert [(one["id"], one["of"], one["action"]) for one in done["near"]] == [("b/é", "a", "linked")]
    assert service("GET", "/v1/group-of?id=a").json["group"]["size"] == 2
    assert service("POST", "/v1/groups/pending", {}).json["linked"] == 0
    for wrong in ({"near": 0}, {"near": "80"}, {"limit": 0}, {"limit": 1001}, {"after": -1}, {"recall": 2}):
        assert service("POST", "/v1/groups/pending", wrong).status == 422


def test_groups_are_brought_to_another_threshold(service: Service) -> None:
    service("POST", "/v1/groups/pending", {"near": "80%"})
    assert service("POST", "/v1/groups/regroup", {"near": 0.8}).json == {"regrouped": 0, "left": 0}
    assert service("POST", "/v1/groups/regroup", {"near": 1, "limit": 1}).json == {"regrouped": 1, "left": 0}
    assert service("GET", "/v1/changes").json["changes"][-1]["why"] == "regrouped"
    for wrong in ({}, {"near": 0}, {"near": 0.8, "limit": 0}, {"near": 0.8, "after": 1}):
        assert service("POST", "/v1/groups/regroup", wrong).status == 422


def test_near_among_documents_that_fit(service: Service) -> None:
    service("PUT", by_path("d"), {"text": TEXT, "metadata": {"from": "ann"}, "near": "90%", "recall": 1})
    found = service("POST", "/v1/near", {"text": TEXT, "overlap": "90%", "where": "from:ann"}).json
    assert ([hit["id"] for hit in found["hits"]], found["warnings"]) == (["d"], [])
    refused = service("POST", "/v1/near", {"text": TEXT, "where": "from:ann AND ("})
    assert (refused.status, refused.error["code"], refused.error["position"]) == (400, "query", 14)
    doubted = service("POST", "/v1/near", {"text": TEXT, "where": "FINGERPRINT:a_0.5"}).json
    assert doubted["warnings"] == ["_0.5 means 0.5 per cent. Write _50 for 50 per cent, or else _0.5%"]
    assert len(service("GET", "/v1/explain?q=FINGERPRINT:a_50_0.95").json["warnings"]) == 1
    assert len(service("GET", "/v1/search?q=FINGERPRINT:a_0.5").json["warnings"]) == 1


def test_a_document_is_put_as_it_is_added(service: Service) -> None:
    done = service("PUT", by_path("d"), {"text": TEXT, "near": 0.8, "on_near": "reject"}).json
    assert (done["left_out"], done["repeats"], done["recall"]) == (1, 1, 0.99)
    assert service("GET", by_path("d")).status == 404
    assert service("PUT", by_path("form"), {"text": "a form", "role": "base"}).json["added"] == 1
    assert service("GET", "/v1/base-texts").json == {"ids": ["form"]}
    for wrong in ({"on_near": "link"}, {"recall": 1}, {"near": 80}):
        assert service("PUT", by_path("d"), {"text": TEXT, **wrong}).status == 422
