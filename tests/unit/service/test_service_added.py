"""The status of an addition, and several tokens in a request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from neardup.service.web.limits import RefusedError
from neardup.service.web.middleware import require_one_meaning
from support.made_service import Service, serving


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path / "mail.neardup") as made:
        yield made


def test_an_addition_that_stores_nothing_is_not_created(service: Service) -> None:
    body = {"documents": [{"id": "a", "text": "the harbour office"}], "on_duplicate": "skip"}
    statuses = [service("POST", "/v1/documents", body).status for _ in range(2)]
    assert statuses == [201, 200]
    assert service("POST", "/v1/documents", {**body, "on_duplicate": "replace"}).status == 201
    assert service("POST", "/v1/documents", {**body, "documents": []}).status in (200, 422)
    answers = service("GET", "/openapi.json").json["paths"]["/v1/documents"]["post"]["responses"]
    assert {"200", "201"} <= set(answers)


def test_two_tokens_are_refused() -> None:
    one = (b"authorization", b"Bearer " + b"t" * 20)
    require_one_meaning(Headers(raw=[one]))
    with pytest.raises(RefusedError) as refused:
        require_one_meaning(Headers(raw=[one, one]))
    assert refused.value.status == 400
