"""The register of docstrings, comments and pages: constructions that read as translated are rare.

docs/contributing/language.md lists them. Each limit is twice the highest count per 10,000 words among six
well-written packages: httpx, attrs, splink, sqlite-utils, stumpy and narwhals; of *that of* and *is there* it is
today's share, which only falls. The tests, the scripts and the
benchmarks have higher limits of their own, which only fall: whoever mends a file lowers them.
"""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from support.statements import statements

ROOT = Path(__file__).parents[2]
LIMITS = {
    "what as a noun": (
        r"\bwhat (?:is|was|does|did|are|were|has|had|have|can|cannot|could|may|must|stays|goes|comes|came|happens"
        r"|happened|follows|it|they|there|a|an|the|one|each|others|other|people|users|everything)\b",
        3.2,
    ),
    "of which, of these, of what": (r"\bof (?:which|these|those|what)\b", 6.6),
    "tell, told": (r"\b(?:tell|tells|told|telling)\b", 3.2),
    "stand in, at, there": (r"\b(?:stand|stands|stood|standing) (?:in|at|there|on|behind|before|beside)\b", 0.0),
    "is no X": (r"\b(?:is|are|was|were) no (?!longer\b|more than\b|less than\b|such\b)\w+", 5.0),
    "that of": (r"\bthat of\b", 5.0),
    "is there": (r"\bis there\b", 0.5),
    "so many, so much": (r"\bso (?:many|much|few|little)\b", 0.0),
}
OF_TESTS = {
    "what as a noun": 44.0,
    "of which, of these, of what": 15.0,
    "is no X": 6.5,
    "that of": 7.0,
    "is there": 2.1,
    "stand in, at, there": 1.0,
}
"""The limits of tests, scripts and benchmarks, where they are above LIMITS."""
EXEMPT = {"CHANGELOG.md", "language.md"}


def prose(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    parts = [
        node.value.value
        for node in statements(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join([*parts, *(token.string for token in tokens if token.type == tokenize.COMMENT)])


def messages(path: Path) -> str:
    """The texts in the code that a person may read: strings with a space, docstrings apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in statements(tree) if isinstance(node, ast.Expr)}
    return "\n".join(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in node.value
        and id(node) not in docstrings
    )


def counted(texts: dict[Path, str], pattern: str) -> tuple[float, list[tuple[str, int]]]:
    """How often a construction occurs in 10,000 words, and the files that have most of it."""
    found = {
        str(path.relative_to(ROOT)): len(re.findall(pattern, text, flags=re.IGNORECASE))
        for path, text in texts.items()
    }
    words = sum(len(re.findall(r"[A-Za-z]+", text)) for text in texts.values())
    worst = sorted(found.items(), key=lambda item: -item[1])[:5]
    return 10_000 * sum(found.values()) / words, worst


PAGES = [
    path
    for pattern in ("src/**/*.py", "docs/**/*.md", "*.md")
    for path in sorted(ROOT.glob(pattern))
    if path.name not in EXEMPT
]

OF_DEVELOPERS = [
    path
    for folder in ("tests", "scripts", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "data" not in path.relative_to(ROOT).parts
]


@cache
def all_prose() -> dict[Path, str]:
    return {path: re.sub(r"\s+", " ", prose(path)) for path in PAGES}


@cache
def prose_of_tests() -> dict[Path, str]:
    return {path: re.sub(r"\s+", " ", prose(path)) for path in OF_DEVELOPERS}


@cache
def all_messages() -> dict[Path, str]:
    return {path: re.sub(r"\s+", " ", messages(path)) for path in PAGES if path.suffix == ".py"}


@pytest.mark.parametrize("name", LIMITS)
def test_the_construction_is_rare(name: str) -> None:
    pattern, limit = LIMITS[name]
    share, worst = counted(all_prose(), pattern)
    assert share <= limit, f"{share:.1f} per 10,000 words, {limit} allowed; most in {worst}"


@pytest.mark.parametrize("name", LIMITS)
def test_the_construction_becomes_rare_in_tests(name: str) -> None:
    pattern, limit = LIMITS[name]
    share, worst = counted(prose_of_tests(), pattern)
    limit = max(limit, OF_TESTS.get(name, 0.0))
    assert share <= limit, f"{share:.1f} per 10,000 words, {limit} allowed; most in {worst}"


@pytest.mark.parametrize("name", sorted(LIMITS.keys() - {"is no X"}))  # "there is no folder x" is how errors begin
def test_the_construction_is_rare_in_messages(name: str) -> None:
    pattern, limit = (
        LIMITS[name][0],
        max(LIMITS[name][1], 3.2),
    )  # few words: one occurrence is nearly one in 10,000
    share, worst = counted(all_messages(), pattern)
    assert share <= limit, f"{share:.1f} per 10,000 words, {limit} allowed; most in {worst}"
