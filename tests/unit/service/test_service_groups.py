"""Documents, groups, decisions and tags over HTTP: what is refused, and answers that no client asks for.

That the answers are those of the collection says ``test_client.py``, whose calls go through the same service.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from neardup.collection.groups.methods import store_reviewing
from neardup.io.decisions.records import SecondReview
from support.made_service import Service, by_path, by_query, serving

BASE = " ".join(f"word{number}" for number in range(60))
NEAR = BASE.replace("word30", "other")
OTHER = " ".join(f"else{number}" for number in range(40))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The decisions hold three documents together."""
    with serving(tmp_path_factory.mktemp("groups") / "mail.neardup") as made:
        made.add(a=BASE, b=OTHER, c=OTHER)
        for a, b in ("ab", "bc"):
            made("POST", "/v1/decisions", {"a": a, "b": b, "verdict": "duplicate"})
        store_reviewing(made.executor.own, [SecondReview("a", "b", "bea")], by="max", what="draw")
        yield made


def added(id: str = "new", **more: Any) -> dict[str, Any]:
    return {"documents": [{"id": id, "text": NEAR}], **more}


def decided(a: str, b: str, verdict: str = "duplicate", **more: Any) -> dict[str, Any]:
    return {"a": a, "b": b, "verdict": verdict, **more}


MANY = {f"k{number}": number for number in range(1001)}
REFUSED: list[tuple[str, str, Any, int, str]] = [
    *(
        ("POST", "/v1/documents", added(**wrong), 422, "invalid")
        for wrong in (
            *({"near": near} for near in (0, 1.1, "x", 0.12345678)),
            *({"on_near": "link"}, {"on_near": "x", "near": 0.5}, {"role": "x"}),
        )
    ),
    ("POST", "/v1/documents", added(role="base"), 400, "bad_request"),  # there are groups
    ("POST", "/v1/documents", added(role="base", near=0.8), 400, "setting"),
    *(
        ("PUT", by_path("new"), {"text": NEAR, **wrong}, 422, "invalid")
        for wrong in ({"on_near": "link"}, {"recall": 1}, {"near": 80})
    ),
    *(
        ("PATCH", address("a"), body, 422, "invalid")
        for address in (by_path, by_query)
        for body in ({}, {"metadata": [1]}, {"metadata": {"k" * 2000: 1}}, {"metadata": {}, "text": "x"})
    ),
    *(("PATCH", address("x"), {"metadata": {}}, 404, "unknown_id") for address in (by_path, by_query)),
    ("PATCH", by_path("a"), {"metadata": MANY}, 422, "invalid"),
    *(
        ("GET", f"/v1/list?{wrong}", None, 422, "invalid")
        for wrong in ("limit=0", "limit=1001", "after=-1", "after=x", "texts=maybe", "page=2")
    ),
    *(
        ("POST", "/v1/remove", wrong, 422, "invalid")
        for wrong in ({"ids": []}, {"ids": ["a"] * 1001}, {"ids": [""]}, {"ids": ["a"], "missing": "x"})
    ),
    ("POST", "/v1/remove", {"ids": ["a", "x"]}, 404, "unknown_id"),
    *(
        ("POST", "/v1/groups/pending", wrong, 422, "invalid")
        for wrong in ({"near": 0}, {"near": "80"}, {"limit": 0}, {"limit": 1001}, {"after": -1}, {"recall": 2})
    ),
    *(
        ("POST", "/v1/groups/regroup", wrong, 422, "invalid")
        for wrong in ({}, {"near": 0}, {"near": 0.8, "limit": 0}, {"near": 0.8, "after": 1})
    ),
    *(("GET", f"/v1/groups{wrong}", None, 422, "invalid") for wrong in ("/0", "/x", f"/{2**63}", "?limit=101")),
    *(("GET", f"/v1/groups/999{more}", None, 404, "not_found") for more in ("", "/members")),
    *(("GET", wrong, None, 404, "unknown_id") for wrong in ("/v1/group-of?id=z", "/v1/groups/1/members?after=z")),
    ("POST", "/v1/decisions", decided("a", "a"), 422, "invalid"),
    ("POST", "/v1/decisions", decided("a", "z"), 404, "unknown_id"),
    ("POST", "/v1/decisions", decided("a", "c", "maybe"), 422, "invalid"),
    ("POST", "/v1/decisions", decided("a", "c", note="x" * 10_001), 422, "invalid"),
    ("POST", "/v1/decisions", decided("a", "c", "not alike"), 409, "contradiction"),
    *(
        ("POST", "/v1/decisions", decided("b", "a", verdict, by="bea"), 409, "second_review")
        for verdict in ("unsure", "undecided")
    ),
    ("POST", "/v1/actions/undo", {"by": "bea", "action": 1}, 409, "second_review"),
    ("POST", "/v1/tags", {"tag": "x"}, 400, "bad_request"),
    ("POST", "/v1/tags", {"tag": "a;b", "ids": ["a"]}, 400, "bad_request"),
    ("POST", "/v1/tags", {"tag": "x", "ids": ["a", "z"]}, 404, "unknown_id"),
    ("POST", "/v1/tags", {"tag": "x", "ids": [""]}, 422, "invalid"),
    ("POST", "/v1/tags", {"tag": "x", "ids": "a"}, 422, "invalid"),
    ("POST", "/v1/tags", {"tag": "x", "ids": ["a"] * 1001}, 422, "invalid"),
    ("POST", "/v1/tags", {"tag": "x", "group": 99}, 400, "bad_request"),
    ("POST", "/v1/tags", {"tag": "x", "query": "a AND ("}, 400, "query"),
    ("POST", "/v1/tags", {"tag": "x", "query": "FILE:/etc/passwd"}, 400, "query"),
    ("POST", "/v1/near", {"text": BASE, "where": "from:ann AND ("}, 400, "query"),
]


@pytest.mark.parametrize(("method", "target", "data", "status", "code"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_asked(
    shared: Service, method: str, target: str, data: Any, status: int, code: str
) -> None:
    asked = ("/v1/stats", "/v1/list", "/v1/decisions", "/v1/tags", "/v1/changes")
    before = [shared("GET", address).json for address in asked]
    refused = shared(method, target, data)
    assert (refused.status, refused.error["code"]) == (status, code)
    assert [shared("GET", address).json for address in asked] == before


def test_parameters_that_no_client_gives(shared: Service) -> None:
    assert [one["id"] for one in shared("GET", "/v1/groups/1/members?limit=1").json["members"]] == ["a"]
    assert shared("GET", "/v1/groups?after=1000").json == {"groups": [], "next": None}
    assert shared("POST", "/v1/groups/pending", {"recall": 1}).json["recall"] == 1.0
    last = shared("GET", "/v1/changes").json["changes"][-1]["number"]
    assert shared("GET", f"/v1/changes?after={last}").json == {"changes": []}
    shared("POST", "/v1/tags", {"tag": "x", "ids": ["a", "c"]})
    page = shared("GET", "/v1/tags?limit=1").json
    assert (page["tags"], shared("GET", f"/v1/tags?after={page['next']}").json["tags"]) == (
        {"a": ["x"]},
        {"c": ["x"]},
    )
    shared("POST", "/v1/actions/undo", {})
    with_warning = shared("POST", "/v1/near", {"text": BASE, "where": "FINGERPRINT:a_0.5"}).json
    assert with_warning["warnings"] == ["_0.5 means 0.5 per cent. Write _50 for 50 per cent, or else _0.5%"]
    assert len(shared("GET", "/v1/explain?q=FINGERPRINT:a_50_0.95").json["warnings"]) == 1
