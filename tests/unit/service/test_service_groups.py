"""Near documents on arrival, groups and decisions over HTTP: what the collection says, and what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.made_service import Service, serving

BASE = " ".join(f"word{number}" for number in range(60))
NEAR = BASE.replace("word30", "other")
OTHER = " ".join(f"else{number}" for number in range(40))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path / "mail.neardup") as made:
        made.add(a=BASE, c=OTHER)
        yield made


def add(service: Service, id: str, text: str, **more: Any) -> Any:
    return service("POST", "/v1/documents", {"documents": [{"id": id, "text": text}], **more})


def test_what_a_document_repeats_is_told(service: Service) -> None:
    kept = add(service, "b", NEAR, near=0.7).json
    [near] = kept["near"]
    assert (kept["added"], near["of"], near["action"], near["group"]) == (1, "a", "kept", None)
    assert near["resemblance"] == near["shared"] / (near["size"] + near["of_size"] - near["shared"])
    left_out = add(service, "d", NEAR, near=0.7, on_near="reject").json
    assert (left_out["added"], left_out["left_out"], left_out["near"][0]["action"]) == (0, 1, "rejected")
    assert service("GET", "/v1/documents/d").status == 404


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "wrong", [{"near": 0}, {"near": 1.1}, {"near": "x"}, {"on_near": "link"}, {"on_near": "x", "near": 0.5}]
)
def test_what_cannot_be_asked(service: Service, wrong: dict[str, Any]) -> None:
    assert add(service, "b", NEAR, **wrong).status == 422
    assert add(service, "b", NEAR, near=0.12345678).status == 422
    assert service("GET", "/v1/stats").json["documents"] == 2


def test_groups_and_their_members(service: Service) -> None:
    number = add(service, "b", NEAR, near=0.7, on_near="link").json["near"][0]["group"]
    page = service("GET", "/v1/groups").json
    assert page == service.executor.collection.groups().as_dict()
    assert [group["id"] for group in page["groups"]] == [number]
    assert service("GET", f"/v1/groups/{number}").json == page["groups"][0]
    assert service("GET", f"/v1/groups/{number}/members?limit=1").json["members"][0]["id"] == "a"
    assert [one["id"] for one in service("GET", f"/v1/groups/{number}/members?after=a").json["members"]] == ["b"]
    assert service("GET", "/v1/group-of?id=b").json["group"]["id"] == number
    assert service("GET", "/v1/group-of?id=c").json == {"group": None}
    assert service("GET", "/v1/groups?after=1000").json == {"groups": [], "next": None}
    assert service("GET", "/v1/stats").json["groups"] == 1
    for missing in ("/v1/groups/999", "/v1/groups/999/members"):
        assert service("GET", missing).error["code"] == "not_found"
    for missing in ("/v1/group-of?id=z", f"/v1/groups/{number}/members?after=z"):
        assert service("GET", missing).error["code"] == "unknown_id"
    for wrong in ("/v1/groups/0", "/v1/groups/x", f"/v1/groups/{2**63}", "/v1/groups?limit=101"):
        assert service("GET", wrong).status == 422


def test_decisions_are_acted_on_and_can_be_withdrawn(service: Service) -> None:
    same = {"a": "c", "b": "a", "verdict": "duplicate", "by": "ann", "note": "one letter"}
    made = service("POST", "/v1/decisions", same).json["decision"]
    assert (made["verdict"], made["by"], {made["a"], made["b"]}) == ("duplicate", "ann", {"a", "c"})
    assert service("GET", "/v1/decisions").json["decisions"] == [made]
    assert service("GET", "/v1/group-of?id=c").json["group"]["size"] == 2
    add(service, "b", OTHER)
    service("POST", "/v1/decisions", {"a": "b", "b": "c", "verdict": "duplicate"})
    refused = service("POST", "/v1/decisions", {"a": "b", "b": "a", "verdict": "not alike"})
    assert (refused.status, refused.error["code"]) == (409, "contradiction")
    withdrawn = {"a": "a", "b": "c", "verdict": "undecided"}
    assert service("POST", "/v1/decisions", withdrawn).json == {"decision": None, "withdrawn": True}
    assert service("POST", "/v1/decisions", withdrawn).json == {"decision": None, "withdrawn": False}
    changes = service("GET", "/v1/changes").json["changes"]
    assert changes == [change.as_dict() for change in service.executor.collection.changes()]
    last = changes[-1]["number"]
    assert service("GET", f"/v1/changes?after={last}").json == {"changes": []}
    assert service.executor.collection.check() == []


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"a": "a", "b": "a", "verdict": "duplicate"}, 422),
        ({"a": "a", "b": "z", "verdict": "duplicate"}, 404),
        ({"a": "a", "b": "c", "verdict": "maybe"}, 422),
        ({"a": "a", "b": "c", "verdict": "duplicate", "note": "x" * 10_001}, 422),
    ],
)
def test_decisions_that_cannot_be(service: Service, wrong: dict[str, Any], status: int) -> None:
    assert service("POST", "/v1/decisions", wrong).status == status
    assert service("GET", "/v1/decisions").json == {"decisions": []}


def test_tags_are_set_taken_away_and_undone(service: Service) -> None:
    add(service, "b", NEAR, near=0.7, on_near="link")
    group = service("GET", "/v1/group-of?id=b").json["group"]["id"]
    made = service("POST", "/v1/tags", {"tag": "near", "group": group, "by": "ann"}).json["action"]
    assert (made["by"], made["changes"]) == ("ann", 2)
    service("POST", "/v1/tags", {"tag": "else", "query": "else3", "ids": ["a"], "by": "ben"})
    tags = {"a": ["else", "near"], "c": ["else"], "b": ["near"]}
    assert service("GET", "/v1/tags").json == {"tags": tags, "next": None}
    assert {hit["id"] for hit in service("GET", "/v1/search?q=tag:near").json["hits"]} == {"a", "b"}
    body = {"query": "tag:else AND NOT tag:near"}
    assert [hit["id"] for hit in service("POST", "/v1/search", body).json["hits"]] == ["c"]
    pages, after = {}, 0
    while after is not None:
        page = service("GET", f"/v1/tags?limit=1&after={after}").json
        assert len(page["tags"]) == 1
        pages, after = pages | page["tags"], page["next"]
    assert list(pages.items()) == list(tags.items())
    assert service("POST", "/v1/tags/look-up", {"ids": ["c", "b"]}).json["tags"] == {"c": ["else"], "b": ["near"]}
    again = {"tag": "near", "ids": ["a"], "on": False, "seen": made["number"] - 1}
    refused = service("POST", "/v1/tags", again)
    assert (refused.status, refused.error["code"]) == (409, "changed")
    assert service("POST", "/v1/tags", {**again, "seen": made["number"]}).json["action"]["changes"] == 1
    assert service("POST", "/v1/tags", {"tag": "near", "ids": ["a"], "on": False}).json == {"action": None}
    undone = service("POST", "/v1/actions/undo", {"by": "ben"}).json["action"]
    assert undone == service("GET", "/v1/actions?limit=1").json["actions"][0]
    assert service("GET", "/v1/tags").json["tags"] == {"b": ["near"]}
    assert service.executor.collection.check() == []


@pytest.mark.parametrize(
    ("wrong", "status", "code"),
    [
        ({"tag": "x"}, 400, "bad_request"),
        ({"tag": "a;b", "ids": ["a"]}, 400, "bad_request"),
        ({"tag": "x", "ids": ["a", "z"]}, 404, "unknown_id"),
        ({"tag": "x", "ids": [""]}, 422, "invalid"),
        ({"tag": "x", "ids": "a"}, 422, "invalid"),
        ({"tag": "x", "ids": ["a"] * 1001}, 422, "invalid"),
        ({"tag": "x", "group": 99}, 400, "bad_request"),
        ({"tag": "x", "query": "a AND ("}, 400, "query"),
        ({"tag": "x", "query": "FILE:/etc/passwd"}, 400, "query"),
    ],
)
def test_tags_that_cannot_be(service: Service, wrong: dict[str, Any], status: int, code: str) -> None:
    refused = service("POST", "/v1/tags", wrong)
    assert (refused.status, refused.error["code"]) == (status, code)
    assert service("GET", "/v1/tags").json == {"tags": {}, "next": None}


def test_base_texts_count_in_no_document(tmp_path: Path) -> None:
    own = " ".join(f"own{number}" for number in range(9))
    with serving(tmp_path / "mail.neardup") as made:
        assert add(made, "form", BASE, role="base").json["added"] == 1
        for id, text in (("a", f"{BASE} {own}"), ("b", f"{BASE} {own} end"), ("c", f"{BASE} of another")):
            assert add(made, id, text).json["added"] == 1
        assert [made("GET", f"/v1/documents/{id}").json["role"] for id in ("form", "a")] == ["base", "document"]
        assert made("GET", "/v1/stats").json["base_texts"] == 1
        [hit] = made("POST", "/v1/search", {"query": "SIMILAR:a_50"}).json["hits"]
        sizes = [
            hit[name] for name in ("id", "shared", "size_query", "size_hit", "full_size_query", "full_size_hit")
        ]
        assert sizes == ["b", 9, 9, 10, 65, 66]
        found = made("POST", "/v1/near", {"text": f"{own} {BASE}", "overlap": 0.5}).json
        assert {hit["id"] for hit in found["hits"]} == {"a", "b"}
        counted = made("POST", "/v1/compare", {"a": "a", "b": "c"}).json["measures"]
        assert counted["shared"] == 0
        assert add(made, "d", f"{BASE} {own}", near=0.8, on_near="link").json["near"][0]["size"] == 9
        assert add(made, "form2", OTHER, role="base").status == 400
        assert add(made, "form2", OTHER, role="x").status == 422
        assert add(made, "x", OTHER, role="base", near=0.8).status == 400
