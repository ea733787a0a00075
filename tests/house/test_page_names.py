"""The names of modules, functions and files on the pages for contributors exist."""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOTS = {
    ROOT / "src" / "neardup": "neardup",
    ROOT / "kernelbuild": "kernelbuild",
    ROOT / "tests" / "support": "support",
}
PAGES = [
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs" / "contributing").rglob("*.md")),
]
CODE = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
DATA = re.compile(
    r".*\.(?:c|cff|csv|css|db|gz|html|ini|js|json|jsonl|key|lock|log|md|neardup|npz|parquet|pdf|so|svg|tar|toml|txt"
    r"|xlsx|yml|zst)"
)
"""Names of files of data, which results and users have."""


@cache
def names_by_module() -> dict[str, set[str]]:
    """Every name that a module or class defines, by its dotted name with a leading dot."""
    found: dict[str, set[str]] = {}
    for folder, package in ROOTS.items():
        for path in folder.rglob("*.py"):
            parts = (package, *path.relative_to(folder).with_suffix("").parts)
            module = "." + ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            found[module] = {name for node in nodes for name in bound(node)}
            for node in nodes:
                if isinstance(node, ast.ClassDef):
                    of_class = {name for child in ast.walk(node) for name in bound(child)}
                    found.setdefault(f"{module}.{node.name}", set()).update(of_class)
    return found


def bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.id if isinstance(node, ast.Name) else node.attr]
    return [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or something in one, of ours or of another package."""
    module, _, last = name.rpartition(".")
    ours = names_by_module()
    if any(known.endswith(f".{name}") for known in ours):
        return True
    if any(known.endswith(f".{module}") and last in names for known, names in ours.items()):
        return True
    first = name.partition(".")[0]
    return first != "neardup" and importlib.util.find_spec(first) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_dotted_names_exist(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    groups = (ROOT / "pyproject.toml").read_text(encoding="utf-8") + "neardup.extractors neardup.tokenizers"
    names = {name.removesuffix("()") for name in CODE.findall(text)}
    dotted = {name for name in names if DOTTED.fullmatch(name) and not DATA.fullmatch(name) and name not in groups}
    files = {name for name in dotted if name.endswith(".py")}
    paths = {"/" + path.relative_to(ROOT).as_posix() for path in ROOT.glob("*.py")}
    paths |= {"/" + path.relative_to(ROOT).as_posix() for path in tracked()}
    assert [name for name in sorted(files) if not any(path.endswith(f"/{name}") for path in paths)] == []
    assert [name for name in sorted(dotted - files) if not exists(name)] == []


def tracked() -> list[Path]:
    folders = ("src", "tests", "scripts", "benchmarks", "kernelbuild", "docs")
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
