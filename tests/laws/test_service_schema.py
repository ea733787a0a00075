"""Every operation that OpenAPI describes, called with what it describes and with what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis.errors import Unsatisfiable  # noqa: E402

from support.full_run import FULL  # noqa: E402
from support.made_service import serving  # noqa: E402

TOKEN = "t" * 20
EXAMPLES = 15 if FULL else 5

# a value that fits the description can still be refused: an id that is not there, a query that cannot be read
UNDECIDABLE = (
    "positive_data_acceptance",
    "missing_required_header",
    "use_after_free",
    "ensure_resource_availability",
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("schema") / "mail.neardup"
    with serving(path, f"write {TOKEN}") as service:
        service.headers["authorization"] = f"Bearer {TOKEN}"
        service.add(a="one two three four five six", b="one two three four five seven")
        yield schemathesis.openapi.from_asgi("/openapi.json", service.app)
        assert service.executor.collection.check() == []


@pytest.mark.hypothesis  # for scripts/explore; Hypothesis sees no test within a test
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_every_operation_does_as_it_is_described(api: Any, mode: Any) -> None:
    """With what is described (positive) and with what is not (negative)."""
    checks = schemathesis.checks.CHECKS.get_all()
    excluded = [check for check in checks if check.__name__ in UNDECIDABLE]
    called = set()
    operations = [found.ok() for found in api.get_all_operations()]
    for operation in operations:

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def call(case: Any) -> None:
            called.add(case.operation.label)
            case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"}, excluded_checks=excluded)

        try:
            call()
        except Unsatisfiable:
            assert mode == schemathesis.GenerationMode.NEGATIVE  # what has no parameter cannot be called wrongly
    assert len(operations) > 20
    if mode == schemathesis.GenerationMode.POSITIVE:
        assert len(called) == len(operations)
    else:
        assert len(called) >= len(operations) - 4  # the front door, health, readiness and stats
