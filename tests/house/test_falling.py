"""Counts that only fall: whoever lowers one lowers its limit in the table, which has all of them.

Modules and import lines alone may rise, by what a new feature needs that fits into no module.

A module has 100 to 700 lines and is named by a noun; few of its lines are imports, and constants come before the
first function, unless they are made of what the module defines; a local variable is named for what it holds. A
template makes HTML. An error names what was given, and what is allowed or to be done; a test compares the parts of
a message, and hands in what it replaces.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from neardup import errors
from neardup.errors import NeardupError

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "neardup"

LIMITS = {
    "modules": 432,
    "import lines": 6869,
    "modules below 100 lines": 11,
    "constants after the first function": 181,
    "modules named by a participle": 0,
    "functions named by one participle": 109,
    "locals named found": 285,
    "locals named at": 194,
    "locals named made": 41,
    "locals named asked": 45,
    "locals named said": 23,
    "locals named held": 44,
    "locals named told": 6,
    "tags outside templates": 2,
    "escapes outside templates": 0,
    "errors without a way out": 15,
    "sentences in assertions": 44,
    "patterns of messages": 267,
    "replaced attributes": 239,
    "attributes replaced by a string of their path": 3,
    "waits that evaluate code": 0,
}

LISTING = "# mypy: implicit-reexport"
SMALL = 100
"""Lines of a module below which it belongs into another one."""
KERNELS = SOURCE / "kernels"
"""Each of its modules is compiled on its own, so that a change compiles few of them again: small ones stay."""
IRREGULAR = re.compile(
    "asked|begun|bound|broken|built|drawn|found|given|gone|held|hidden|kept|known|left|lost|made|met|put|read|said|seen"
    "|sent|set|shown|spent|spread|split|stood|taken|thought|told|torn|understood|worn|written"
)
NOUNS = {
    "banding", "beginning", "cleaning", "everything", "hamming", "hashing", "heading", "matching", "meaning",
    "monitoring", "nothing", "setting", "shingling", "sorting", "string", "tiling",
}  # fmt: skip
"""Nouns that end as participles do."""
VERBS = {"need", "proceed"}
"""Verbs that end as participles do."""
IMPERATIVES = {"put", "read", "set", "split", "spread"}
"""Participles that are the verb, too: a function whose docstring begins with it is named for an act."""
DRAWING = SOURCE / "display" / "svg.py"
"""The one module that writes elements by hand: pictures, whose texts it escapes in one place."""
ENVIRONMENT = SOURCE / "display" / "view.py"
"""The module with the environment of all templates."""
CONSTANT = re.compile("_?[A-Z][A-Z0-9_]*")
TAG = re.compile(r'</[a-z]|<[a-z]+ [a-z-]+="')
PLAIN = re.compile(r"[A-Za-z][a-z]*(?:'[a-z]+)?")
ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, NeardupError)}
SENTENCE = 5
"""Plain words in a row from which on a string in an assertion is a sentence."""


def modules() -> list[Path]:
    """The modules that define something; a contract only lists names, and test_layers.py bounds their number."""
    return sorted(path for path in SOURCE.rglob("*.py") if LISTING not in path.read_text(encoding="utf-8"))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def is_participle(stem: str) -> bool:
    last = stem.rpartition("_")[2]
    return last not in NOUNS and (bool(IRREGULAR.fullmatch(last) or re.fullmatch(r"\w+(ed|ing)", last)))


def is_one_participle(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    word = function.name.strip("_")
    if "_" in word or word in VERBS or function.name.startswith("__"):
        return False
    acts = word in IMPERATIVES and (ast.get_docstring(function) or "").startswith(f"{word.capitalize()} ")
    return is_participle(word) and not acts


class Statements(NamedTuple):
    """What the syntax trees of a module have to say."""

    import_lines: int
    names: Counter[str]
    """Names that are bound: parameters, assignments, loops and comprehensions."""


@cache
def of_modules() -> dict[str, Statements]:
    return {name(path): of_module(path) for path in modules()}


def of_module(path: Path) -> Statements:
    imports, names = 0, Counter[str]()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports += (node.end_lineno or node.lineno) - node.lineno + 1
        elif isinstance(node, ast.arg):
            names[node.arg] += 1
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] += 1
    return Statements(imports, names)


def late_constants(path: Path) -> Iterator[str]:
    """The constants behind the first function or class of a module that nothing defined there is part of."""
    defined: set[str] = set()
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
            continue
        named = {inner for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        bound = {inner.id for inner in named if isinstance(inner.ctx, ast.Store)}
        constant = isinstance(node, ast.Assign | ast.AnnAssign) and all(map(CONSTANT.fullmatch, bound))
        if not defined or not bound:
            continue
        if constant and defined.isdisjoint({inner.id for inner in named} - bound):
            yield f"{name(path)}:{node.lineno}"
        else:
            defined |= bound


def longest_run(text: str) -> int:
    """Plain words in a row: no number, name of an option, quoted value, file or pattern between them."""
    longest = run = 0
    for word in text.split():
        run = run + 1 if PLAIN.fullmatch(word.strip('.,;:"()!?')) else 0
        longest = max(longest, run)
    return longest


def asserted(node: ast.AST) -> Iterator[str]:
    """The strings of an assertion, or the pattern of the message that is expected."""
    if isinstance(node, ast.Assert):
        parts: list[ast.expr] = [node.test]
    elif isinstance(node, ast.Call):
        parts = [keyword.value for keyword in node.keywords if keyword.arg == "match"]
    else:
        return
    for inner in (inner for part in parts for inner in ast.walk(part)):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def lacks_way_out(call: ast.Call) -> bool:
    """An error of ours that is made with what was given alone: not what is allowed, nor what to do."""
    kind = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    rest = [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg in ("allowed", "do"))]
    said = [part for part in rest if not isinstance(part, ast.Constant) or part.value]
    return kind in ERRORS and not said and not any(isinstance(part, ast.Starred) for part in call.args)


def compares_messages(call: ast.Call) -> bool:
    """An expected error with a pattern, or a table of them."""
    table = isinstance(call.func, ast.Name) and call.func.id == "assert_refused"
    return table or any(keyword.arg == "match" for keyword in call.keywords)


class Places(NamedTuple):
    """Places in the tests."""

    sentences: list[str]
    patterns: list[str]
    """Where the message of an expected error is compared."""
    replaced: list[str]
    by_path: list[str]
    evaluated: list[str]
    """Waits of a browser that evaluate code over and over, which the policy of our pages forbids: they fail where
    the first look is too early."""


@cache
def of_tests() -> Places:
    places = Places([], [], [], [], [])
    for path in files_of_tests():
        for node in ast.walk(tree(path)):
            places.sentences.extend(
                f"{name(path)}: {text}" for text in asserted(node) if longest_run(text) >= SENTENCE
            )
            if isinstance(node, ast.Call) and compares_messages(node):
                places.patterns.append(f"{name(path)}:{node.lineno}")
            if isinstance(node, ast.Attribute) and node.attr == "wait_for_function":
                places.evaluated.append(f"{name(path)}:{node.lineno}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
                places.replaced.append(f"{name(path)}:{node.lineno}")
                if isinstance(node.args[0], ast.Constant | ast.JoinedStr):
                    places.by_path.append(f"{name(path)}:{node.lineno}")
    return places


def files_of_tests() -> list[Path]:
    return [path for path in sorted((ROOT / "tests").rglob("*.py")) if path.parent != Path(__file__).parent]


def tags(path: Path) -> Iterator[str]:
    """The strings of a module with markup: parts of an f-string, too, and not those that stand by themselves."""
    nodes = list(ast.walk(tree(path)))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) and id(node) not in alone else None
        if isinstance(text, str) and TAG.search(text):
            yield f"{name(path)}:{node.lineno}"


def escapes(path: Path) -> Iterator[str]:
    """The imports of a function that escapes HTML."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module in ("html", "markupsafe", "xml.sax.saxutils"):
            yield from (f"{name(path)}:{node.lineno}" for alias in node.names if "escape" in alias.name)
        elif isinstance(node, ast.Import):
            yield from (f"{name(path)}:{node.lineno}" for alias in node.names if alias.name == "html")


def per_module(counts: dict[str, int]) -> tuple[int, object]:
    return sum(counts.values()), Counter(counts).most_common(10)


def counted(what: str) -> tuple[int, object]:
    """The number that a limit is about, and its places."""
    if what == "modules":
        return len(modules()), ""
    if what == "import lines":
        return per_module({file: of.import_lines for file, of in of_modules().items()})
    if what.startswith("locals named "):
        local = what.removeprefix("locals named ")
        return per_module({file: of.names[local] for file, of in of_modules().items()})
    places = {
        "modules below 100 lines": lambda: [
            name(path)
            for path in modules()
            if lines(path) < SMALL and not path.stem.startswith("__") and KERNELS not in path.parents
        ],
        "constants after the first function": lambda: [
            place for path in modules() for place in late_constants(path)
        ],
        "modules named by a participle": lambda: [name(path) for path in modules() if is_participle(path.stem)],
        "functions named by one participle": lambda: [
            f"{name(path)}:{node.lineno} {node.name}"
            for path in modules()
            for node in ast.walk(tree(path))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if "property" not in " ".join(map(ast.unparse, node.decorator_list))
            if is_one_participle(node)
        ],
        "tags outside templates": lambda: [place for path in modules() if path != DRAWING for place in tags(path)],
        "escapes outside templates": lambda: [
            place for path in modules() if path not in (DRAWING, ENVIRONMENT) for place in escapes(path)
        ],
        "errors without a way out": lambda: [
            f"{name(path)}:{node.lineno}"
            for path in modules()
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Call) and lacks_way_out(node)
        ],
        "sentences in assertions": lambda: of_tests().sentences,
        "patterns of messages": lambda: of_tests().patterns,
        "replaced attributes": lambda: of_tests().replaced,
        "attributes replaced by a string of their path": lambda: of_tests().by_path,
        "waits that evaluate code": lambda: of_tests().evaluated,
    }[what]()
    return len(places), places


@pytest.mark.parametrize("what", LIMITS)
def test_a_count_only_falls(what: str) -> None:
    count, places = counted(what)
    assert count <= LIMITS[what], f"{count} {what}, {LIMITS[what]} allowed: {places}"


def test_a_function_that_returns_an_error_ends_in_error() -> None:
    others = [
        f"{name(path)}:{node.lineno}: {node.name}"
        for path in modules()
        if KERNELS not in path.parents
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and re.fullmatch(
            r"(\w+\.)*(\w+Error|Exception|BaseException)", ast.unparse(node.returns or ast.Constant(0))
        )
        and not node.name.endswith("_error")
    ]
    assert not others, "name each for its error, as damaged_error:\n" + "\n".join(others)
