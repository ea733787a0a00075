"""The parameters of addresses, their faults, and their description."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.made_service import serving

WHOLE = [("1", 1), (" +02 ", 2), ("1_0", 10), ("3.00", 3)]
NO_WHOLE = ["", "x", "1.5", "1.", "_1", "1__0", "0x1", "1e3", "٣", "--1", "9" * 5000]


@pytest.mark.parametrize(("given", "number"), WHOLE)
def test_whole_numbers_are_read_as_people_write_them(tmp_path: Path, given: str, number: int) -> None:
    with serving(tmp_path / "mail.neardup") as service:
        service.add(**{f"id{place:02}": f"text {place}" for place in range(11)})
        page = service("GET", f"/v1/list?limit={given.replace('+', '%2B').replace(' ', '%20')}").json
    assert len(page["documents"]) == number


def test_faults_of_parameters_are_named_together(tmp_path: Path) -> None:
    with serving(tmp_path / "mail.neardup") as service:
        for given in NO_WHOLE:
            (field,) = service("GET", f"/v1/list?limit={given.encode().decode('latin-1')}").error["fields"]
            assert field["where"] == "query.limit"
        several = service("GET", "/v1/list?limit=0&after=-1&texts=perhaps").error
        assert [(one["where"], "0" in one["message"]) for one in several["fields"]] == [
            ("query.after", True),
            ("query.limit", False),
            ("query.texts", False),
        ]
        assert service("GET", "/v1/why-not").error["fields"] == [
            {"where": f"query.{name}", "message": "Field required"} for name in ("q", "id")
        ]
        assert service("GET", "/v1/groups/0/members?limit=x").error["fields"][0]["where"] == "path.group"
        many = service("GET", "/v1/search?limit=x&fields=x&partial=x&include_self=x&most_compared=x").error
        assert (len(many["fields"]), many["given"].endswith(" and 1 more")) == (5, True)


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=1&unknown=2", "LIMIT=1", "limit=1&=3"])
def test_unknown_and_repeated_parameters_are_refused(tmp_path: Path, query: str) -> None:
    with serving(tmp_path / "mail.neardup") as service:
        answer = service("GET", f"/v1/list?{query}")
    assert (answer.status, answer.error["allowed"]) == (422, "after, limit, texts")


def test_an_address_has_its_methods(tmp_path: Path) -> None:
    with serving(tmp_path / "mail.neardup") as service:
        answered: list[tuple[int, Any]] = []
        for method, path in (
            ("HEAD", "/v1/list"),
            ("DELETE", "/v1/groups/1"),
            ("HEAD", "/openapi.json"),
            ("GET", "/v1/list/"),
        ):
            answer = service(method, path)
            answered.append((answer.status, answer.headers.get("allow")))
        # a number is missing: the address of one group is tried last
        assert service("GET", "/v1/groups/pending").error["fields"][0]["where"] == "path.group"
        counted = service.executor.metrics.text().decode()
    assert answered == [(405, "GET"), (405, "GET"), (200, None), (404, None)]
    assert 'method="DELETE",route="/v1/groups/{group}",status="405"' in counted


def test_a_parameter_is_described_by_its_type(tmp_path: Path) -> None:
    with serving(tmp_path / "mail.neardup") as service:
        operation = service("GET", "/openapi.json").json["paths"]["/v1/groups/{group}/members"]["get"]
    group, after, limit = operation["parameters"]
    assert (group["in"], group["required"], group["schema"]["minimum"]) == ("path", True, 1)
    assert "previous page" in after["description"] == after["schema"]["description"]
    assert {one.get("maxLength") for one in after["schema"]["anyOf"]} == {1024, None}
    assert (limit["required"], limit["schema"]["default"], limit["schema"]["maximum"]) == (False, 100, 1000)
    assert operation["operationId"] == "members_v1_groups__group__members_get"
