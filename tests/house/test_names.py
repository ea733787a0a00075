"""A class name means one thing: no two public classes of the package have the same name."""

import ast
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from support.statements import statements

SOURCE = Path(__file__).parents[2] / "src" / "neardup"
TESTS = Path(__file__).parents[1]


def test_no_two_public_classes_have_one_name() -> None:
    files = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in statements(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(path.relative_to(SOURCE).as_posix())
    assert not {name: where for name, where in files.items() if len(where) > 1}


def test_the_opening_line_of_a_module_names_a_thing() -> None:
    asking = re.compile(r"(What|Which|How|Where|Whether|When|Who)\b")
    lines = {path: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCE.rglob("*.py")}
    assert not [path.name for path, text in lines.items() if asking.match(text or "")]


def test_the_published_schema_has_all_answers_and_nothing_that_it_lacks(tmp_path: Path) -> None:
    answers = pytest.importorskip("neardup.service.answers", reason="the extra service is not installed")
    made_service = pytest.importorskip("support.made_service")
    with made_service.serving(tmp_path / "mail.neardup") as service:
        api = service("GET", "/openapi.json").json
    schemas = api["components"]["schemas"]
    assert {name for name in vars(answers) if name.endswith("Answer")} <= schemas.keys()
    described = json.dumps(api)
    assert set(re.findall(r"#/components/schemas/(\w+)", described)) == schemas.keys()
    for methods in api["paths"].values():
        for operation in methods.values():
            for answer in operation["responses"].values():
                assert answer["content"]["application/json"]["schema"]["$ref"]


def test_no_two_test_files_have_one_name() -> None:
    """Test folders are no packages, so that pytest could import only one of them."""
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, files in names.items() if files > 1] == []
