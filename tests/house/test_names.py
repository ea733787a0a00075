"""A class name means one thing: no two public classes of the package have the same name."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from support.statements import statements

SOURCE = Path(__file__).parents[2] / "src" / "neardup"


def test_no_two_public_classes_have_one_name() -> None:
    files = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in statements(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(path.relative_to(SOURCE).as_posix())
    assert not {name: where for name, where in files.items() if len(where) > 1}


def test_answers_and_their_parts_are_named_as_such_in_the_published_schema(tmp_path: Path) -> None:
    answers = pytest.importorskip("neardup.service.answers", reason="the extra service is not installed")
    made_service = pytest.importorskip("support.made_service")
    with made_service.serving(tmp_path / "mail.neardup") as service:
        api = service("GET", "/openapi.json").json
    models = {name for name in vars(answers) if name.endswith(("Answer", "Body"))} - {"CountsBody"}  # a base class
    assert models <= api["components"]["schemas"].keys()
    for path, methods in api["paths"].items():
        for method, described in methods.items():
            for status, answer in described["responses"].items():
                name = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                assert name.endswith("Answer"), (method, path, status)
