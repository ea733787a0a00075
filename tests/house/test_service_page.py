"""docs/reference/service.md describes the service."""

import re
from pathlib import Path

import pytest

from neardup.cli.commands import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "service.md").read_text(encoding="utf-8")


def test_every_limit_has_its_default() -> None:
    limits = pytest.importorskip("neardup.service.web.limits", reason="the extra service is not installed")
    options = {option.name: option for option in COMMANDS["serve"].options}
    for name, allowed in limits.ALLOWED.items():
        default = getattr(limits.Limits(), name)
        assert options[name].default == default
        assert f"| `{options[name].spelling[0]}` | {default:g}" in PAGE
        assert allowed[0] <= default <= allowed[1]


def test_every_endpoint_is_listed(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="the extra service is not installed")
    from neardup.collection import Collection
    from neardup.service.app import Service
    from neardup.service.executor import Executor
    from neardup.service.web.limits import Limits

    executor = Executor(Collection(tmp_path / "mail.neardup"), Limits())
    paths = Service(executor).openapi["paths"]
    assert executor.close()
    described = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    listed = {line.partition("?")[0] for line in re.findall(r"`((?:GET|PUT|POST|PATCH|DELETE) /[^`]*)`", PAGE)}
    assert described == listed - {"GET /metrics", "GET /openapi.json", "GET /docs"}


def test_every_code_and_metric_is_listed() -> None:
    refusals = pytest.importorskip("neardup.service.web.limits", reason="the extra service is not installed")
    package = Path(refusals.__file__).parents[1]
    rooms = [*package.glob("web/*.py"), *package.glob("service/*.py")]
    source = "".join(path.read_text(encoding="utf-8") for path in rooms)
    codes = {*refusals.CODES.values(), *re.findall(r'code="(\w+)"', source)}
    assert len(codes) > 15
    assert not [code for code in codes if f"`{code}`" not in PAGE]
    metrics = re.findall(r'"(neardup_\w+)"', source)
    assert len(metrics) > 5
    assert not [name for name in metrics if f"`{name}" not in PAGE]


def test_the_rules_of_alerts_are_about_metrics_that_exist() -> None:
    rules = (Path(__file__).parents[2] / "docs" / "howto" / "years.md").read_text(encoding="utf-8")
    asked = {name.removesuffix("_bucket") for name in re.findall(r"\bneardup_\w+", rules)}
    assert len(asked) > 5
    assert not [name for name in asked if f"`{name}`" not in PAGE]
